//! RFC 4418, sections 3 to 5, written out: with the RFC's names, on whole
//! numbers, by division, for messages of any length.

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};

fn encipher(k: &[u8; 16], block: [u8; 16]) -> [u8; 16] {
    let mut block = block.into();
    Aes128::new(k.into()).encrypt_block(&mut block);
    block.into()
}

/// Section 3.2.1.
fn kdf(k: &[u8; 16], index: u64, numbytes: usize) -> Vec<u8> {
    let mut y = Vec::new();
    for i in 1..=numbytes.div_ceil(16) as u64 {
        let t = u128::from(index) << 64 | u128::from(i);
        y.extend_from_slice(&encipher(k, t.to_be_bytes()));
    }
    y.truncate(numbytes);
    y
}

/// Section 3.3.1.
fn pdf(k: &[u8; 16], nonce: &[u8], taglen: usize) -> Vec<u8> {
    let mut padded = [0; 16];
    padded[..nonce.len()].copy_from_slice(nonce);
    let mut index = 0;
    if taglen == 4 || taglen == 8 {
        let last = &mut padded[nonce.len() - 1];
        index = usize::from(*last) % (16 / taglen);
        *last ^= index as u8;
    }
    let k: [u8; 16] = kdf(k, 0, 16).try_into().expect("16 bytes");
    encipher(&k, padded)[taglen * index..][..taglen].to_vec()
}

fn str2uint(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |n, byte| n << 8 | u128::from(*byte))
}

fn zeropad(m: &[u8], n: usize) -> Vec<u8> {
    let mut m = m.to_vec();
    m.resize(m.len().next_multiple_of(n).max(n), 0);
    m
}

const PRIME_36: u128 = (1 << 36) - 5;
const PRIME_64: u128 = (1 << 64) - 59;
const PRIME_128: u128 = u128::MAX - 158;

/// Section 5.2.2.
fn nh(k: &[u8], m: &[u8]) -> u64 {
    let words =
        |bytes: &[u8]| -> Vec<u32> { bytes.chunks(4).map(|word| str2uint(word) as u32).collect() };
    let (k, m) = (words(k), words(m));
    let mut y = 0u64;
    for i in (0..m.len()).step_by(8) {
        for j in i..i + 4 {
            let a = u64::from(m[j].wrapping_add(k[j]));
            let b = u64::from(m[j + 4].wrapping_add(k[j + 4]));
            y = y.wrapping_add(a.wrapping_mul(b));
        }
    }
    y
}

/// Section 5.2.1.
fn l1_hash(k: &[u8], m: &[u8]) -> Vec<u8> {
    let mut y = Vec::new();
    let blocks: Vec<&[u8]> = match m.len() {
        0 => vec![&[]],
        _ => m.chunks(1024).collect(),
    };
    for block in blocks {
        let mut swapped = zeropad(block, 32);
        swapped.chunks_mut(4).for_each(<[u8]>::reverse);
        let number = nh(k, &swapped).wrapping_add(8 * block.len() as u64);
        y.extend_from_slice(&number.to_be_bytes());
    }
    y
}

/// A step of section 5.3.1 with words of 64 bits.
pub(super) fn poly_step(k: u128, y: u128, m: u128) -> u128 {
    if m >= (1 << 64) - (1 << 32) {
        let y = (k * y + (PRIME_64 - 1)) % PRIME_64;
        (k * y + (m - 59)) % PRIME_64
    } else {
        (k * y + m) % PRIME_64
    }
}

/// a·b + c modulo 2¹²⁸ - 159, bit by bit.
fn multiply_add_128(a: u128, b: u128, c: u128) -> u128 {
    let add = |a: u128, b: u128| {
        let (sum, carried) = a.overflowing_add(b);
        let sum = if carried { sum + 159 } else { sum };
        if sum >= PRIME_128 {
            sum - PRIME_128
        } else {
            sum
        }
    };
    let product = (0..128).rev().fold(0, |product, bit| {
        let doubled = add(product, product);
        if a >> bit & 1 == 1 {
            add(doubled, b)
        } else {
            doubled
        }
    });
    add(product, c)
}

/// Section 5.3.1 with words of 128 bits.
fn poly_128(k: u128, m: &[u8]) -> u128 {
    m.chunks(16).map(str2uint).fold(1, |y, m| {
        if m > u128::MAX - (1 << 96) {
            let y = multiply_add_128(k, y, PRIME_128 - 1);
            multiply_add_128(k, y, m - 159)
        } else {
            multiply_add_128(k, y, m)
        }
    })
}

/// Section 5.3.
fn l2_hash(k: &[u8], m: &[u8]) -> u128 {
    let k64 = str2uint(&k[..8]) & 0x01ff_ffff_01ff_ffff;
    let k128 = str2uint(&k[8..]) & 0x01ff_ffff_01ff_ffff_01ff_ffff_01ff_ffff;
    let (head, rest) = m.split_at(m.len().min(1 << 17));
    let y = head
        .chunks(8)
        .map(str2uint)
        .fold(1, |y, m| poly_step(k64, y, m));
    if rest.is_empty() {
        return y;
    }
    let rest = zeropad(&[rest, &[0x80]].concat(), 16);
    poly_128(k128, &[&y.to_be_bytes(), &rest[..]].concat())
}

/// Section 5.4.
fn l3_hash(k1: &[u8], k2: &[u8], m: u128) -> u32 {
    let digits = m.to_be_bytes();
    let y: u128 = (0..8)
        .map(|i| str2uint(&digits[2 * i..][..2]) * (str2uint(&k1[8 * i..][..8]) % PRIME_36))
        .sum();
    (y % PRIME_36) as u32 ^ str2uint(k2) as u32
}

/// Section 5.1.
fn uhash(k: &[u8; 16], m: &[u8], taglen: usize) -> Vec<u8> {
    let iterations = taglen / 4;
    let l1_key = kdf(k, 1, 1024 + (iterations - 1) * 16);
    let l2_key = kdf(k, 2, iterations * 24);
    let l3_key_1 = kdf(k, 3, iterations * 64);
    let l3_key_2 = kdf(k, 4, iterations * 4);
    (0..iterations)
        .flat_map(|i| {
            let a = l1_hash(&l1_key[i * 16..][..1024], m);
            let b = if m.len() <= 1024 {
                str2uint(&a)
            } else {
                l2_hash(&l2_key[i * 24..][..24], &a)
            };
            l3_hash(&l3_key_1[i * 64..][..64], &l3_key_2[i * 4..][..4], b).to_be_bytes()
        })
        .collect()
}

/// Section 4.
pub(super) fn umac(k: &[u8; 16], m: &[u8], nonce: &[u8], taglen: usize) -> Vec<u8> {
    let pad = pdf(k, nonce, taglen);
    let hash = uhash(k, m, taglen);
    hash.iter().zip(pad).map(|(a, b)| a ^ b).collect()
}
