//! What engines look for.

/// A string of bytes, and whether the case of its letters matters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    bytes: Vec<u8>,
    nocase: bool,
}

impl Pattern {
    /// The bytes as they are.
    pub fn exact(bytes: impl Into<Vec<u8>>) -> Pattern {
        Pattern {
            bytes: bytes.into(),
            nocase: false,
        }
    }

    /// The bytes with the letters A to Z in upper or lower case.
    pub fn nocase(bytes: impl Into<Vec<u8>>) -> Pattern {
        let mut bytes = bytes.into();
        bytes.make_ascii_lowercase();
        let nocase = bytes.iter().any(u8::is_ascii_lowercase);
        Pattern { bytes, nocase }
    }

    /// The bytes, in lower case where case does not matter.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether letters match in both cases. False where there are none.
    pub fn is_nocase(&self) -> bool {
        self.nocase
    }

    /// Whether this is the text at hand.
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        if self.nocase {
            text.eq_ignore_ascii_case(&self.bytes)
        } else {
            text == self.bytes
        }
    }

    /// Whether it occurs in a text: the definition that engines are held to.
    /// The empty string occurs nowhere.
    pub fn occurs_in(&self, text: &[u8]) -> bool {
        !self.bytes.is_empty()
            && text
                .windows(self.bytes.len())
                .any(|window| self.matches(window))
    }
}
