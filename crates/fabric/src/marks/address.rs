//! Nodes as numbers, and as lists of coordinates.
//!
//! A node's number has its coordinates as digits, the first one the most significant, in the radices
//! of the topology.

/// The number of the node with the coordinates `digits`; none if their number is another than that of
/// the radices, or one is too large.
pub(super) fn number(digits: &[u64], radices: impl ExactSizeIterator<Item = u64>) -> Option<u64> {
    if digits.len() != radices.len() {
        return None;
    }
    let mut number = 0u64;
    for (&digit, radix) in digits.iter().zip(radices) {
        if digit >= radix {
            return None;
        }
        number = number.checked_mul(radix)?.checked_add(digit)?;
    }
    Some(number)
}

/// The coordinates of a node: the inverse of [`number`] for nodes of the topology.
pub(super) fn digits(number: u64, radices: impl DoubleEndedIterator<Item = u64>) -> Vec<u64> {
    let mut rest = number;
    let mut digits: Vec<u64> = radices
        .rev()
        .map(|radix| {
            let digit = rest % radix;
            rest /= radix;
            digit
        })
        .collect();
    digits.reverse();
    digits
}
