//! One flipped bit in any vector, among vectors that are as they were.

use weir_crypto::{OpenJob, OpeningKey, Suite, open};

use super::batch::{CASES, POLICIES};
use super::case::Case;
use super::packets::{Guarded, Packet};
use super::shuffle::Shuffle;

/// Flips one bit of `bytes`.
fn flip(bytes: &mut [u8], shuffle: &mut Shuffle) {
    let bit = shuffle.below(bytes.len() * 8);
    bytes[bit / 8] ^= 1 << (bit % 8);
}

/// Flips a bit of what is received, in any part that has bytes.
fn damage(packet: &mut Packet, shuffle: &mut Shuffle) {
    let mut parts: Vec<&mut Guarded> = vec![
        &mut packet.prefix,
        &mut packet.iv,
        &mut packet.text,
        &mut packet.suffix,
        &mut packet.tag,
    ];
    parts.retain(|part| !part.get().is_empty());
    let part = shuffle.below(parts.len());
    flip(parts[part].get_mut(), shuffle);
}

/// The case under a key that differs in a bit: of an AEAD's key or salt, or of
/// the key of the MAC, which alone decides whether a packet is authentic.
fn with_another_key(case: &Case, shuffle: &mut Shuffle) -> Case {
    let mut other = case.clone();
    match case.suite {
        Suite::Aead(_) => flip(&mut other.key, shuffle),
        Suite::EncryptThenMac(..) => flip(&mut other.integrity_key, shuffle),
    }
    other
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    None,
    Packet,
    Key,
}

const CHANGES: [Change; 3] = [Change::None, Change::Packet, Change::Key];

#[test]
fn one_flipped_bit_is_refused_and_its_neighbours_open() {
    let authentic: Vec<&Case> = CASES.iter().filter(|case| case.is_authentic).collect();
    for round in 0..POLICIES.len() {
        let mut shuffle = Shuffle::new(1000 + round as u64);
        for batch in shuffle.batches(authentic.len()) {
            let mut packets: Vec<Packet> = Vec::new();
            let mut keys: Vec<OpeningKey> = Vec::new();
            let mut changes: Vec<Change> = Vec::new();
            for &i in &batch {
                let case = authentic[i];
                let policy = POLICIES[(i + round) % POLICIES.len()];
                let change = CHANGES[shuffle.below(CHANGES.len())];
                let mut packet = Packet::before_opening(case, &mut shuffle);
                if change == Change::Packet {
                    damage(&mut packet, &mut shuffle);
                }
                keys.push(match change {
                    Change::Key => with_another_key(case, &mut shuffle).opening_key(policy),
                    Change::None | Change::Packet => case.opening_key(policy),
                });
                packets.push(packet);
                changes.push(change);
            }
            let mut jobs: Vec<OpenJob<'_>> = packets
                .iter_mut()
                .zip(&keys)
                .map(|(packet, key)| packet.open_job(key))
                .collect();
            open(&mut jobs);
            let verified: Vec<bool> = jobs.iter().map(|job| job.verified).collect();
            for (j, &i) in batch.iter().enumerate() {
                match changes[j] {
                    Change::None => packets[j].expect_opened(authentic[i], verified[j]),
                    Change::Packet | Change::Key => {
                        packets[j].expect_refused(authentic[i], verified[j]);
                    }
                }
            }
        }
    }
}
