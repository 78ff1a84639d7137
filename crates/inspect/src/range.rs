//! Ranges of numbers.

/// A condition on a number, as of `dsize`, `urilen` or `itype`: a range, both ends included. `100<>300`
/// excludes both, as in Snort 3 and Suricata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberRange {
    /// The smallest.
    pub least: u32,
    /// The largest.
    pub most: u32,
    /// Whether the range is what must not be.
    pub negated: bool,
}

impl NumberRange {
    /// Whether the condition holds for a number.
    pub fn matches(&self, number: usize) -> bool {
        (self.least as usize <= number && number <= self.most as usize) != self.negated
    }
}
