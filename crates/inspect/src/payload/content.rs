//! One string of bytes, searched for in a window of a payload.

use memchr::memmem::Finder;
use weir_match::Pattern;

/// The bytes of a `content` option.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// In lower case, where case does not matter.
    bytes: Box<[u8]>,
    /// The searcher, where case matters.
    exact: Option<Box<Finder<'static>>>,
}

impl Content {
    pub(crate) fn new(mut bytes: Vec<u8>, nocase: bool) -> Content {
        if nocase {
            bytes.make_ascii_lowercase();
        }
        Content {
            exact: (!nocase).then(|| Box::new(Finder::new(&bytes).into_owned())),
            bytes: bytes.into_boxed_slice(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// What a search for many contents at once looks for.
    pub(crate) fn pattern(&self) -> Pattern {
        match self.exact {
            Some(_) => Pattern::exact(&*self.bytes),
            None => Pattern::nocase(&*self.bytes),
        }
    }

    /// Place of the first occurrence.
    pub(crate) fn find(&self, text: &[u8]) -> Option<usize> {
        match &self.exact {
            Some(finder) => finder.find(text),
            None => self.find_in_any_case(text),
        }
    }

    fn find_in_any_case(&self, text: &[u8]) -> Option<usize> {
        let first = *self.bytes.first()?;
        let last_start = text.len().checked_sub(self.bytes.len())?;
        let mut start = 0;
        loop {
            let starts = text.get(start..=last_start)?;
            start += memchr::memchr2(first, first.to_ascii_uppercase(), starts)?;
            if text[start..start + self.bytes.len()].eq_ignore_ascii_case(&self.bytes) {
                return Some(start);
            }
            start += 1;
        }
    }
}
