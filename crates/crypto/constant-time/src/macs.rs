//! Batches of messages through every MAC, tagged and verified.

use weir_crypto::mac::{
    Algorithm, Material, TagJob, TaggingKey, VerifyJob, VerifyingKey, tag, verify,
};
use weir_crypto::memcheck;

use crate::Case;
use crate::secret::secret;

/// Lengths of message: none, short ones, parts of blocks, whole blocks, several.
const MESSAGES_BYTES: [usize; 8] = [0, 1, 33, 64, 200, 1024, 1500, 3000];

/// Messages of each length, so that lanes are filled and some left over.
const COPIES: usize = 5;

/// Keys, so that neighbours in lanes have different ones.
const KEYS: u8 = 5;

/// Which message arrives damaged.
const DAMAGED: usize = 3;

/// A case for each algorithm.
pub fn cases() -> Vec<Case> {
    Algorithm::all()
        .map(|algorithm| {
            Case::new(format!("{algorithm} by itself"), move || {
                tag_and_verify(algorithm);
            })
        })
        .collect()
}

fn material(algorithm: Algorithm, seed: u8) -> Material {
    let key = secret(algorithm.key_bytes(), seed);
    Material::new(algorithm, &key).expect("lengths are the algorithm's")
}

fn tag_and_verify(algorithm: Algorithm) {
    let materials = (0..KEYS)
        .map(|seed| (material(algorithm, seed), 1))
        .collect();
    let mut keys = TaggingKey::new_batch(materials).expect("keys");
    let messages: Vec<Vec<u8>> = (0..COPIES * MESSAGES_BYTES.len())
        .map(|i| secret(MESSAGES_BYTES[i % MESSAGES_BYTES.len()], i as u8))
        .collect();
    let key_of = |message: usize| message % usize::from(KEYS);
    let mut tickets = Vec::new();
    for message in 0..messages.len() {
        let key = &mut keys[key_of(message)];
        key.allow_until(u64::MAX);
        tickets.push(key.next_ticket().expect("values are reserved"));
    }
    let nonces: Vec<u64> = tickets.iter().map(|ticket| ticket.counter()).collect();
    let mut tags = vec![vec![0; algorithm.tag_bytes()]; messages.len()];
    let mut jobs: Vec<TagJob<'_>> = messages
        .iter()
        .zip(&mut tags)
        .zip(tickets)
        .enumerate()
        .map(|(index, ((message, tag), ticket))| {
            let (head, rest) = message.split_at(message.len().min(16) * (index % 2));
            TagJob {
                key: &keys[key_of(index)],
                ticket,
                parts: [head, rest, &[], &[]],
                tag,
            }
        })
        .collect();
    tag(&mut jobs).expect("lengths are the algorithm's");

    // What is sent is public.
    for tag in &mut tags {
        memcheck::publish(tag);
    }
    tags[DAMAGED][0] ^= 1;
    let materials: Vec<Material> = (0..KEYS).map(|seed| material(algorithm, seed)).collect();
    let keys = VerifyingKey::new_batch(&materials).expect("keys");
    let mut jobs: Vec<VerifyJob<'_>> = messages
        .iter()
        .zip(&tags)
        .zip(nonces)
        .enumerate()
        .map(|(index, ((message, tag), nonce))| VerifyJob {
            key: &keys[key_of(index)],
            nonce,
            parts: [message, &[], &[], &[]],
            tag,
            verified: false,
        })
        .collect();
    verify(&mut jobs);
    for (index, job) in jobs.iter().enumerate() {
        assert_eq!(
            job.verified,
            index != DAMAGED,
            "{algorithm}: message {index}"
        );
    }
}
