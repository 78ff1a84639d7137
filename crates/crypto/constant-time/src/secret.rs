//! Bytes that memcheck follows.

use weir_crypto::memcheck;

/// `count` secret bytes, which differ from one `seed` to the next.
pub fn secret(count: usize, seed: u8) -> Vec<u8> {
    let mut bytes = public(count, seed);
    memcheck::poison(&mut bytes);
    bytes
}

/// The same bytes for everyone to see.
pub fn public(count: usize, seed: u8) -> Vec<u8> {
    (0..count)
        .map(|i| {
            (i as u8)
                .wrapping_mul(29)
                .wrapping_add(seed)
                .wrapping_mul(101)
        })
        .collect()
}
