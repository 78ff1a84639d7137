//! Vectors as jobs of mixed batches.

use std::collections::HashMap;
use std::sync::LazyLock;
use weir_crypto::hazmat::{self, RawSealJob, RawSealingKey};
use weir_crypto::{
    IvSource, KeyPolicy, OpenJob, OpeningKey, SealJob, SealingKey, Suite, open, seal,
};
use weir_simd::tier;

use super::case::Case;
use super::packets::Packet;
use super::shuffle::Shuffle;
use super::{nist, random, rfc7253, wycheproof_sets};

/// Every vector there is, in the order of its document, and random packets.
pub static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let mut cases = wycheproof_sets::cases();
    cases.extend(nist::cases());
    cases.extend(rfc7253::cases());
    cases.extend(random::cases());
    cases
});

pub const POLICIES: [KeyPolicy; 4] = [
    KeyPolicy::Precomputed,
    KeyPolicy::Compact,
    KeyPolicy::ExpandedAhead,
    KeyPolicy::OnTheFly,
];

/// The key policy of a case in a round: after as many rounds as there are
/// policies it has had all of them, and every batch has some of each.
fn policy(case: usize, round: usize) -> KeyPolicy {
    POLICIES[(case + round) % POLICIES.len()]
}

/// Runs `test` with shuffled batches of the cases that `choose` takes, in as
/// many rounds as there are policies.
pub fn for_each_batch(
    choose: impl Fn(&Case) -> bool,
    mut test: impl FnMut(&mut Shuffle, &[usize], usize),
) {
    let chosen: Vec<usize> = (0..CASES.len()).filter(|&i| choose(&CASES[i])).collect();
    assert!(!chosen.is_empty());
    for round in 0..POLICIES.len() {
        let mut shuffle = Shuffle::new(round as u64);
        for batch in shuffle.batches(chosen.len()) {
            let batch: Vec<usize> = batch.into_iter().map(|i| chosen[i]).collect();
            test(&mut shuffle, &batch, round);
        }
    }
}

#[test]
fn vectors_seal_as_published_under_their_own_ivs() {
    for_each_batch(
        |case| case.is_authentic,
        |shuffle, batch, round| {
            let keys: Vec<RawSealingKey> = batch
                .iter()
                .map(|&i| {
                    RawSealingKey::with_policy(&CASES[i].material(), tier(), policy(i, round))
                        .expect("a raw key")
                })
                .collect();
            let mut packets: Vec<Packet> = batch
                .iter()
                .map(|&i| Packet::before_sealing(&CASES[i], shuffle))
                .collect();
            let mut jobs: Vec<RawSealJob<'_>> = keys
                .iter()
                .zip(&mut packets)
                .map(|(key, packet)| RawSealJob {
                    key,
                    prefix: packet.prefix.get(),
                    iv: packet.iv.get(),
                    text: packet.text.get_mut(),
                    suffix: packet.suffix.get(),
                    tag: packet.tag.get_mut(),
                    sealed: false,
                })
                .collect();
            hazmat::seal(tier(), &mut jobs).expect("a well-formed batch");
            for (&i, packet) in batch.iter().zip(&packets) {
                packet.expect_sealed(&CASES[i]);
            }
        },
    );
}

/// The counter value that gives a case its IV.
fn counter(case: &Case) -> Option<u64> {
    match <[u8; 8]>::try_from(&case.iv[..]) {
        Ok(iv) if case.suite.iv_is_counter() => Some(u64::from_be_bytes(iv)),
        Err(_) if case.iv.is_empty() => Some(1),
        _ => None,
    }
}

/// What ESP does: the key counts to the vector's IV. The last value of the
/// counter is never used, so vectors that have it are left to the test above.
#[test]
fn vectors_seal_as_published_under_counted_ivs() {
    for_each_batch(
        |case| case.is_authentic && counter(case).is_some_and(|first| first < u64::MAX),
        |shuffle, batch, round| {
            let mut keys: Vec<SealingKey> = Vec::new();
            let mut tickets = Vec::new();
            for &i in batch {
                let first = counter(&CASES[i]).expect("such cases were chosen");
                let mut key = SealingKey::with_policy(
                    CASES[i].material(),
                    first,
                    IvSource::Random,
                    policy(i, round),
                )
                .expect("a sealing key");
                key.allow_until(first + 1);
                tickets.push(key.next_ticket().expect("one is reserved"));
                keys.push(key);
            }
            let mut packets: Vec<Packet> = batch
                .iter()
                .map(|&i| Packet::before_sealing(&CASES[i], shuffle))
                .collect();
            for packet in &mut packets {
                packet.iv.get_mut().fill(0xee);
            }
            let mut jobs: Vec<SealJob<'_>> = keys
                .iter()
                .zip(tickets)
                .zip(&mut packets)
                .map(|((key, ticket), packet)| SealJob {
                    key,
                    ticket,
                    prefix: packet.prefix.get(),
                    iv: packet.iv.get_mut(),
                    text: packet.text.get_mut(),
                    suffix: packet.suffix.get(),
                    tag: packet.tag.get_mut(),
                })
                .collect();
            seal(&mut jobs).expect("a well-formed batch");
            for (&i, packet) in batch.iter().zip(&packets) {
                assert_eq!(packet.iv.get(), CASES[i].iv, "{}: IV", CASES[i].source);
                packet.expect_sealed(&CASES[i]);
            }
        },
    );
}

/// One key for all cases that have it, each in the policy of its first case in
/// the batch.
pub fn opening_keys(batch: &[usize], round: usize) -> (Vec<OpeningKey>, Vec<usize>) {
    let mut keys = Vec::new();
    let mut places = HashMap::new();
    let key_of = batch
        .iter()
        .map(|&i| {
            *places.entry(CASES[i].key_identity()).or_insert_with(|| {
                keys.push(CASES[i].opening_key(policy(i, round)));
                keys.len() - 1
            })
        })
        .collect();
    (keys, key_of)
}

#[test]
fn authentic_vectors_open_and_forged_ones_are_refused() {
    for_each_batch(
        |_| true,
        |shuffle, batch, round| {
            let (keys, key_of) = opening_keys(batch, round);
            let mut packets: Vec<Packet> = batch
                .iter()
                .map(|&i| Packet::before_opening(&CASES[i], shuffle))
                .collect();
            let mut jobs: Vec<OpenJob<'_>> = packets
                .iter_mut()
                .zip(&key_of)
                .map(|(packet, &key)| packet.open_job(&keys[key]))
                .collect();
            open(&mut jobs);
            let verified: Vec<bool> = jobs.iter().map(|job| job.verified).collect();
            for ((&i, packet), verified) in batch.iter().zip(&packets).zip(verified) {
                let case = &CASES[i];
                match case.is_authentic {
                    true => packet.expect_opened(case, verified),
                    false => packet.expect_refused(case, verified),
                }
            }
        },
    );
}

/// A reader that loses a set would let everything else pass. The counts are
/// those of the vectors' present edition, which later ones add to.
#[test]
fn no_set_and_no_suite_is_left_out() {
    let count = |source: &str| {
        let of_source = CASES.iter().filter(|case| case.source.starts_with(source));
        let authentic = of_source.clone().filter(|case| case.is_authentic).count();
        (authentic, of_source.count() - authentic)
    };
    for (source, authentic, forged) in [
        ("Wycheproof AesGcm ", 116, 81),
        ("Wycheproof ChaCha20Poly1305 ", 256, 60),
        ("Wycheproof AesCcm ", 18, 0),
        ("Wycheproof Gmac ", 45, 162),
        ("Wycheproof Gmac in ESP ", 45, 162),
        ("Wycheproof Aes128CbcHmacSha256 ", 67, 27),
        ("Wycheproof Aes192CbcHmacSha384 ", 67, 27),
        ("Wycheproof Aes256CbcHmacSha512 ", 67, 27),
        ("Wycheproof AesCbcPkcs5 ", 72, 0),
        ("Wycheproof HmacSha1 ", 66, 90),
        ("Wycheproof HmacSha256 ", 66, 100),
        ("Wycheproof HmacSha384 ", 60, 100),
        ("Wycheproof HmacSha512 ", 60, 100),
        ("RFC 7253", 16 + 3 * 385, 0),
        ("NIST gcm", 557, 193),
        ("NIST CBC", 698, 0),
        ("NIST TCBC", 20, 0),
        ("NIST HMAC", 180, 0),
        ("RustCrypto", 49 * random::PACKETS_PER_SUITE, 0),
        #[cfg(not(target_arch = "aarch64"))]
        ("AWS-LC", 35 * random::PACKETS_PER_SUITE, 0),
    ] {
        let found = count(source);
        assert!(
            found.0 >= authentic && found.1 >= forged,
            "{source}: {found:?}, not {:?}",
            (authentic, forged)
        );
    }
    for suite in Suite::all() {
        let of_suite = CASES.iter().filter(|case| case.suite == suite);
        assert!(
            of_suite.filter(|case| case.is_authentic).count() > 2,
            "{suite}"
        );
    }
}
