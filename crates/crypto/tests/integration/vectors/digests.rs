//! Digests of messages of all lengths, in mixed batches.

use weir_crypto::{Digest, DigestJob};
use weir_simd::{Tier, for_each_tier};

use super::nist::{self, Record};
use super::packets::Guarded;
use super::shuffle::Shuffle;

/// The hash functions that NIST publishes vectors of, as its files are named.
pub const HASHES: [(&str, Digest); 5] = [
    ("SHA1", Digest::Sha1),
    ("SHA224", Digest::Sha224),
    ("SHA256", Digest::Sha256),
    ("SHA384", Digest::Sha384),
    ("SHA512", Digest::Sha512),
];

/// RFC 1321 appendix A.5.
const MD5: [(&str, u128); 7] = [
    ("", 0xd41d8cd98f00b204e9800998ecf8427e),
    ("a", 0x0cc175b9c0f1b6a831c399e269772661),
    ("abc", 0x900150983cd24fb0d6963f7d28e17f72),
    ("message digest", 0xf96b697d7cb7938d525a2f31aaf161d0),
    (
        "abcdefghijklmnopqrstuvwxyz",
        0xc3fcd3d76192e4007dfb496cca67e13b,
    ),
    (
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        0xd174ab98d277d9f5a5611c2c9f419d9f,
    ),
    (
        "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
        0x57edf4a22be3c955ac49da2e2107b67a,
    ),
];

/// A message and its whole digest.
type Answer = (Vec<u8>, Vec<u8>);

fn answers(name: &str) -> Vec<Answer> {
    let read = |record: &Record| {
        // The empty message is written as one zero byte of length 0.
        let mut message = record.hex("Msg");
        message.truncate(record.number("Len") / 8);
        (message, record.hex("MD"))
    };
    ["ShortMsg", "LongMsg"]
        .iter()
        .flat_map(|kind| nist::records(&format!("{name}{kind}.rsp")))
        .map(|record| read(&record))
        .collect()
}

fn check(hash: Digest, answers: &[Answer]) {
    for_each_tier(|tier| {
        for round in 0..8 {
            let mut shuffle = Shuffle::new(2000 + round);
            for batch in shuffle.batches(answers.len()) {
                check_batch(hash, tier, answers, &batch, &mut shuffle);
            }
        }
    });
}

/// Some digests are asked for in part, as MACs are.
fn check_batch(
    hash: Digest,
    tier: Tier,
    answers: &[Answer],
    batch: &[usize],
    shuffle: &mut Shuffle,
) {
    let mut places: Vec<(Guarded, Guarded)> = batch
        .iter()
        .map(|&i| {
            let (message, digest) = &answers[i];
            let bytes = digest.len() - shuffle.below(2) * shuffle.below(digest.len());
            let unlike: Vec<u8> = digest[..bytes].iter().map(|byte| !byte).collect();
            (
                Guarded::new(message, shuffle),
                Guarded::new(&unlike, shuffle),
            )
        })
        .collect();
    let mut jobs: Vec<DigestJob<'_>> = places
        .iter_mut()
        .map(|(message, digest)| DigestJob {
            message: message.get(),
            digest: digest.get_mut(),
        })
        .collect();
    hash.hash(tier, &mut jobs).expect("no digest is too long");
    for (&i, (message, digest)) in batch.iter().zip(&places) {
        let at = || format!("{hash:?} of {} bytes under {tier}", answers[i].0.len());
        assert!(answers[i].1.starts_with(digest.get()), "{}", at());
        assert!(message.is_guarded() && digest.is_guarded(), "{}", at());
    }
}

#[test]
fn nist_messages_hash_as_published_in_batches_of_all_lengths() {
    for (name, hash) in HASHES {
        let answers = answers(name);
        assert!(answers.len() >= 69, "{name}");
        check(hash, &answers);
    }
}

#[test]
fn rfc_1321s_messages_hash_as_published_in_batches() {
    // Enough of them to fill all lanes.
    let answers: Vec<Answer> = MD5
        .iter()
        .cycle()
        .take(20 * MD5.len())
        .map(|(message, digest)| (message.as_bytes().into(), digest.to_be_bytes().into()))
        .collect();
    check(Digest::Md5, &answers);
}
