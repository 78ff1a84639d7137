//! Vectors as packets in one buffer, under kept keys and under keys used once.

use weir_crypto::{Aead, AesKeySize, OneTimeKeys, OpenAt, Suite, open_in, open_once, seal_once};

use super::batch::{CASES, for_each_batch, opening_keys};
use super::case::Case;
use super::shuffle::Shuffle;
use crate::support::laid::Laid;

/// Lays cases out: as received, or with their texts and no tag yet.
fn lay_out(batch: &[usize], shuffle: &mut Shuffle, is_sealed: bool) -> Laid {
    let mut laid = Laid::default();
    for &i in batch {
        let case = &CASES[i];
        let wrong: Vec<u8> = case.tag.iter().map(|byte| !byte).collect();
        let (text, tag) = match is_sealed {
            true => (&case.sealed, &case.tag),
            false => (&case.text, &wrong),
        };
        let (skipped, gap) = (shuffle.below(64), shuffle.below(9));
        laid.push(skipped, gap, [&case.prefix, &case.iv, text, tag]);
    }
    laid
}

/// Whether each packet came out as its case says.
fn expect_opened(batch: &[usize], laid: &Laid, verified: impl IntoIterator<Item = bool>) {
    assert!(laid.is_guarded());
    for ((index, &i), verified) in batch.iter().enumerate().zip(verified) {
        let Case {
            source,
            text,
            is_authentic,
            ..
        } = &CASES[i];
        assert_eq!(verified, *is_authentic, "{source}");
        let [_, _, opened, _] = laid.parts(index);
        match verified {
            true => assert_eq!(opened, &text[..], "{source}"),
            false => assert!(opened.iter().all(|byte| *byte == 0), "{source}"),
        }
    }
}

#[test]
fn vectors_in_a_buffer_open_or_are_refused() {
    for_each_batch(
        |case| case.suffix.is_empty(),
        |shuffle, batch, round| {
            let (keys, key_of) = opening_keys(batch, round);
            let mut laid = lay_out(batch, shuffle, true);
            let places = laid.places.iter().zip(key_of);
            let mut jobs: Vec<OpenAt> = places
                .map(|(place, key)| OpenAt {
                    key: key as u32,
                    place: *place,
                    verified: true,
                })
                .collect();
            open_in(&mut laid.buffer, &mut jobs, |key| keys.get(key as usize))
                .expect("a row of packets");
            expect_opened(batch, &laid, jobs.iter().map(|job| job.verified));
        },
    );
}

#[test]
fn gcm_vectors_seal_and_open_under_keys_used_once() {
    for size in AesKeySize::ALL {
        let suite = Suite::Aead(Aead::AesGcm16(size));
        let one_time_keys = |batch: &[usize]| {
            let mut keys = OneTimeKeys::new(size).expect("an engine");
            for &i in batch {
                keys.push(&CASES[i].key).expect("a key of its length");
            }
            keys
        };
        for_each_batch(
            |case| case.suite == suite,
            |shuffle, batch, _| {
                let mut laid = lay_out(batch, shuffle, true);
                let keys = one_time_keys(batch);
                let mut verified = Vec::new();
                open_once(&keys, &mut laid.buffer, &laid.places, &mut verified)
                    .expect("a row of packets");
                expect_opened(batch, &laid, verified);
            },
        );
        for_each_batch(
            |case| case.suite == suite && case.is_authentic,
            |shuffle, batch, _| {
                let mut laid = lay_out(batch, shuffle, false);
                let mut keys = one_time_keys(batch);
                seal_once(&mut keys, &mut laid.buffer, &laid.places).expect("a row of packets");
                assert!(laid.is_guarded());
                for (index, &i) in batch.iter().enumerate() {
                    let case = &CASES[i];
                    let parts = [&case.prefix, &case.iv, &case.sealed, &case.tag];
                    let expected = parts.map(|part| &part[..]);
                    assert_eq!(laid.parts(index), expected, "{}", case.source);
                }
            },
        );
    }
}
