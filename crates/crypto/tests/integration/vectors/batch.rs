//! Vectors as packets of mixed batches.

use std::collections::HashMap;
use std::sync::LazyLock;

use weir_crypto::{Descriptor, KeyId, OpenBatch, Opener, Sealer, SealingKey, Suite, hazmat};
use weir_simd::tier;

use super::case::Case;
use super::packets::{expect_opened, expect_sealed, lay_out_plain, lay_out_sealed};
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

/// How many times each case is processed, in other batches each time.
pub const ROUNDS: usize = 4;

/// Whether a case has a one-time key in a round: after two rounds it has had both kinds, and
/// every batch has some of each.
pub fn is_one_time(case: usize, round: usize) -> bool {
    (case + round) % 2 == 1
}

/// Runs `test` with shuffled batches of the cases that `choose` takes.
pub fn for_each_batch(
    choose: impl Fn(&Case) -> bool,
    mut test: impl FnMut(&mut Shuffle, &[usize], usize),
) {
    let chosen: Vec<usize> = (0..CASES.len()).filter(|&i| choose(&CASES[i])).collect();
    assert!(!chosen.is_empty());
    for round in 0..ROUNDS {
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
        |shuffle, batch, _| {
            let mut sealer = hazmat::sealer(tier());
            let mut laid = lay_out_plain(batch.iter().map(|&i| &CASES[i]), shuffle);
            let keys: Vec<KeyId> = batch
                .iter()
                .map(|&i| sealer.add(CASES[i].sealing_key()))
                .collect();
            let good = laid.seal(&mut sealer, |sealing, index, packet| {
                let case = &CASES[batch[index]];
                let key = keys[index];
                let packet = Descriptor { key, ..packet };
                hazmat::push_with_iv(sealing, packet, case.number(), &case.iv)
                    .unwrap_or_else(|refusal| panic!("{}: {refusal}", case.source));
            });
            assert!(good.into_iter().all(|good| good));
            expect_sealed(&laid, batch.iter().map(|&i| &CASES[i]));
        },
    );
}

/// The number under which a sealing key makes the packet: of its IV, and with extended sequence
/// numbers of the AAD, which agree in few vectors.
fn number(case: &Case) -> Option<u64> {
    let number = case.number();
    let counter = match case.iv.is_empty() {
        true => number,
        false => case.counter()?,
    };
    (counter == number && number < u64::MAX).then_some(number)
}

/// What ESP does: the key counts to the vector's IV. The last number is never used, so vectors
/// that have it are left to the test above.
#[test]
fn vectors_seal_as_published_under_counted_ivs() {
    for_each_batch(
        |case| case.is_authentic && number(case).is_some(),
        |shuffle, batch, round| {
            let mut sealer = Sealer::new();
            let mut laid = lay_out_plain(batch.iter().map(|&i| &CASES[i]), shuffle);
            let keys: Vec<KeyId> = batch
                .iter()
                .map(|&i| {
                    let first = number(&CASES[i]).expect("such cases were chosen");
                    let key = SealingKey::new(CASES[i].material(), first..first + 1);
                    sealer.add(key.expect("a sealing key"))
                })
                .collect();
            let good = laid.seal(&mut sealer, |sealing, index, packet| {
                let case = &CASES[batch[index]];
                let expected = number(case).expect("such cases were chosen");
                if is_one_time(batch[index], round) {
                    let key = sealing
                        .add_one_time_key(case.suite, &case.key, &case.integrity_key)
                        .expect("a key");
                    let pushed = sealing.push_numbered(Descriptor { key, ..packet }, expected);
                    assert_eq!(pushed, Ok(()), "{}", case.source);
                } else {
                    let key = keys[index];
                    let number = sealing.push(Descriptor { key, ..packet });
                    assert_eq!(number, Ok(expected), "{}", case.source);
                }
            });
            assert!(good.into_iter().all(|good| good));
            expect_sealed(&laid, batch.iter().map(|&i| &CASES[i]));
        },
    );
}

/// An opener with one key for all cases that have it, and the key of each case.
pub fn opener<'c>(cases: impl Iterator<Item = &'c Case>) -> (Opener, Vec<KeyId>) {
    let mut opener = Opener::new();
    let mut ids = HashMap::new();
    let keys = cases
        .map(|case| {
            *ids.entry(case.key_identity())
                .or_insert_with(|| opener.add(case.opening_key()))
        })
        .collect();
    (opener, keys)
}

/// Takes a case into a batch, under its held key or a one-time key.
pub fn push_to_open(
    opening: &mut OpenBatch<'_>,
    case: &Case,
    held: Option<KeyId>,
    packet: Descriptor,
) {
    let key = held.unwrap_or_else(|| {
        opening
            .add_one_time_key(case.suite, &case.key, &case.integrity_key)
            .unwrap_or_else(|error| panic!("{}: {error}", case.source))
    });
    let packet = Descriptor { key, ..packet };
    let pushed = match case.esn_high {
        None => opening.push(packet),
        Some(_) => opening.push_numbered(packet, case.number()),
    };
    assert_eq!(pushed, Ok(()), "{}", case.source);
}

#[test]
fn authentic_vectors_open_and_forged_ones_are_refused() {
    for_each_batch(
        |_| true,
        |shuffle, batch, round| {
            let (mut opener, keys) = opener(batch.iter().map(|&i| &CASES[i]));
            let mut laid = lay_out_sealed(batch.iter().map(|&i| &CASES[i]), shuffle);
            let good = laid.open(&mut opener, |opening, index, packet| {
                let i = batch[index];
                let held = (!is_one_time(i, round)).then_some(keys[index]);
                push_to_open(opening, &CASES[i], held, packet);
            });
            for (index, &i) in batch.iter().enumerate() {
                let case = &CASES[i];
                expect_opened(&laid, index, case, case.is_authentic, good[index]);
            }
            assert!(laid.is_guarded());
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
        // Each of the MAC and of the cipher.
        ("Wycheproof Aes128CbcHmacSha256 ", 2 * 67, 27),
        ("Wycheproof Aes192CbcHmacSha384 ", 2 * 67, 27),
        ("Wycheproof Aes256CbcHmacSha512 ", 2 * 67, 27),
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
        ("RustCrypto", 55 * random::PACKETS_PER_SUITE, 0),
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
    let esn = CASES.iter().filter(|case| case.esn_high.is_some());
    let (aeads, others): (Vec<&Case>, Vec<&Case>) =
        esn.partition(|case| matches!(case.suite, Suite::Aead(_)));
    assert!(
        aeads.len() > 100 && others.len() > 900,
        "{} {}",
        aeads.len(),
        others.len()
    );
}
