//! One flipped bit in any vector, among vectors that are as they were.

use weir_crypto::Suite;

use super::batch::{CASES, ROUNDS, is_one_time, opener, push_to_open};
use super::case::Case;
use super::packets::{expect_opened, lay_out_sealed};
use super::shuffle::Shuffle;
use crate::support::laid::Laid;

/// Flips one bit of `bytes`.
fn flip(bytes: &mut [u8], shuffle: &mut Shuffle) {
    let bit = shuffle.below(bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// Flips a bit of what is received, in any part that has bytes. With an extended sequence
/// number, an AEAD authenticates the number that the receiver knows, and not its low half in
/// the packet.
fn damage(laid: &mut Laid, index: usize, case: &Case, shuffle: &mut Shuffle) {
    let is_aead = matches!(case.suite, Suite::Aead(_));
    let bytes = laid.parts(index).map(<[u8]>::len);
    let parts: Vec<usize> = (0..4).filter(|part| bytes[*part] > 0).collect();
    let part = parts[shuffle.below(parts.len())];
    let bytes = match (part, case.esn_high) {
        (0, Some(_)) if is_aead => 4,
        _ => bytes[part],
    };
    laid.flip(index, part, shuffle.below(bytes * 8));
}

/// The case under a key that differs in a bit: of an AEAD's key or salt, or of
/// the key of the MAC, which alone decides whether a packet is authentic.
fn with_another_key(case: &Case, shuffle: &mut Shuffle) -> Case {
    let mut other = case.clone();
    match case.suite {
        Suite::Aead(_) | Suite::Mac(_) => flip(&mut other.key, shuffle),
        Suite::EncryptThenMac(..) => flip(&mut other.integrity_key, shuffle),
    }
    other
}

/// The case with another high half of its number, if it has one.
fn with_another_number(case: &Case, shuffle: &mut Shuffle) -> Option<Case> {
    let high = case.esn_high? ^ 1 << shuffle.below(32);
    let mut other = case.clone();
    other.esn_high = Some(high);
    Some(other)
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    None,
    Packet,
    Key,
    Number,
}

const CHANGES: [Change; 4] = [Change::None, Change::Packet, Change::Key, Change::Number];

#[test]
fn one_flipped_bit_is_refused_and_its_neighbours_open() {
    let authentic: Vec<&Case> = CASES.iter().filter(|case| case.is_authentic).collect();
    for round in 0..ROUNDS {
        let mut shuffle = Shuffle::new(1000 + round as u64);
        for batch in shuffle.batches(authentic.len()) {
            let cases: Vec<&Case> = batch.iter().map(|&i| authentic[i]).collect();
            let mut laid = lay_out_sealed(cases.iter().copied(), &mut shuffle);
            let mut is_changed = vec![false; cases.len()];
            let mut received: Vec<Case> = Vec::new();
            for (index, &case) in cases.iter().enumerate() {
                let change = CHANGES[shuffle.below(CHANGES.len())];
                let other = match change {
                    Change::Key => Some(with_another_key(case, &mut shuffle)),
                    Change::Number => with_another_number(case, &mut shuffle),
                    Change::None | Change::Packet => None,
                };
                if change == Change::Packet {
                    damage(&mut laid, index, case, &mut shuffle);
                }
                is_changed[index] = change == Change::Packet || other.is_some();
                received.push(other.unwrap_or_else(|| case.clone()));
            }
            let (mut opener, keys) = opener(received.iter());
            let good = laid.open(&mut opener, |opening, index, packet| {
                let held = (!is_one_time(batch[index], round)).then_some(keys[index]);
                push_to_open(opening, &received[index], held, packet);
            });
            for (index, &case) in cases.iter().enumerate() {
                expect_opened(&laid, index, case, !is_changed[index], good[index]);
            }
            assert!(laid.is_guarded());
        }
    }
}
