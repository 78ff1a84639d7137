//! What code must not do with a secret.

#[cfg(target_arch = "x86_64")]
mod avx512;

use std::hint::black_box;

use crate::Case;
use crate::secret::secret;

/// A leak for each way in which time can depend on a secret.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("planted: a branch on a bit of the key", || {
            black_box(branch_on_bit(&secret(16, 1)));
        }),
        Case::new("planted: a table indexed by a byte of the key", || {
            black_box(look_up(&secret(16, 1)));
        }),
        Case::new(
            "planted: a loop that ends with the first wrong byte",
            || {
                black_box(compare(&secret(16, 1), &secret(16, 2)));
            },
        ),
    ]
}

/// Square-and-multiply in miniature: another way for each bit.
#[inline(never)]
fn branch_on_bit(key: &[u8]) -> u64 {
    key.iter().fold(1, |sum, byte| match byte & 1 {
        0 => sum,
        _ => black_box(sum * 3),
    })
}

/// An S-box in memory.
#[inline(never)]
fn look_up(key: &[u8]) -> u8 {
    let table: [u8; 256] = black_box(std::array::from_fn(|i| (7 * i + 3) as u8));
    key.iter()
        .fold(0, |sum, &byte| sum ^ table[usize::from(byte)])
}

/// The comparison whose time reveals how many bytes of a tag are right.
#[inline(never)]
fn compare(received: &[u8], computed: &[u8]) -> bool {
    for (a, b) in received.iter().zip(computed) {
        if black_box(a) != black_box(b) {
            return false;
        }
    }
    true
}
