//! NIST's messages and chains (SHAVS), and those of RFC 1321, in batches of all sizes.

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_simd::{Tier, for_each_tier};

use super::DigestJob;
use crate::digest::Digest;

/// The hash functions that NIST publishes vectors of, as its files are named.
const HASHES: [(&str, Digest); 5] = [
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

/// The values called `name` in a response file, in its order.
fn values(file: &str, name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/integration/vectors/nist")
        .join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let fields = text.lines().filter_map(|line| line.split_once('='));
    let fields = fields.map(|(name, value)| (name.trim(), value.trim()));
    fields
        .filter(|(known, _)| *known == name)
        .map(|(_, value)| value.into())
        .collect()
}

fn hex(digits: &str) -> Vec<u8> {
    crate::engine::unhex(digits).expect("hexadecimal")
}

/// A message and its whole digest.
type Answer = (Vec<u8>, Vec<u8>);

fn answers(name: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    for kind in ["ShortMsg", "LongMsg"] {
        let file = format!("{name}{kind}.rsp");
        let lengths = values(&file, "Len");
        let messages = values(&file, "Msg");
        let digests = values(&file, "MD");
        assert_eq!(
            [lengths.len(), messages.len()],
            [digests.len(); 2],
            "{file}"
        );
        for ((length, message), digest) in lengths.iter().zip(messages).zip(digests) {
            // The empty message is written as one zero byte of length 0.
            let mut message = hex(&message);
            message.truncate(length.parse::<usize>().expect("bits") / 8);
            answers.push((message, hex(&digest)));
        }
    }
    answers
}

/// A number below `end`.
fn below(random: &mut ChaCha8Rng, end: usize) -> usize {
    (random.next_u64() % end as u64) as usize
}

/// Hashes the messages in shuffled batches of 1 to 256, at all alignments; some digests are
/// cut, as those in tags are.
fn check(hash: Digest, answers: &[Answer]) {
    for_each_tier(|tier| {
        for round in 0..8 {
            let mut random = ChaCha8Rng::seed_from_u64(2000 + round);
            let mut order: Vec<usize> = (0..answers.len()).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, below(&mut random, i + 1));
            }
            let mut rest = &order[..];
            while !rest.is_empty() {
                let most = [256, 20][below(&mut random, 2)];
                let (batch, behind) = rest.split_at((1 + below(&mut random, most)).min(rest.len()));
                rest = behind;
                check_batch(hash, tier, answers, batch, &mut random);
            }
        }
    });
}

const GUARD: u8 = 0xa5;

fn check_batch(
    hash: Digest,
    tier: Tier,
    answers: &[Answer],
    batch: &[usize],
    random: &mut ChaCha8Rng,
) {
    let mut places: Vec<(Vec<u8>, usize, Vec<u8>, usize)> = batch
        .iter()
        .map(|&i| {
            let (message, digest) = &answers[i];
            let bytes = digest.len() - below(random, 2) * below(random, digest.len());
            let skipped = below(random, 64);
            let unaligned = [&vec![GUARD; skipped], &message[..]].concat();
            (unaligned, skipped, vec![GUARD; bytes + 8], bytes)
        })
        .collect();
    let mut jobs: Vec<DigestJob<'_>> = places
        .iter_mut()
        .map(|(message, skipped, digest, bytes)| DigestJob {
            message: &message[*skipped..],
            digest: &mut digest[..*bytes],
        })
        .collect();
    super::hash(hash, tier, &mut jobs);
    for (&i, (_, _, digest, bytes)) in batch.iter().zip(&places) {
        let (digest, guard) = digest.split_at(*bytes);
        let what = || format!("{hash:?} of {} bytes under {tier}", answers[i].0.len());
        assert!(answers[i].1.starts_with(digest), "{}", what());
        assert_eq!(guard, [GUARD; 8], "{}", what());
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

/// SHAVS section 6.4: each message is the last three digests. One chain runs
/// in all lanes of the widest kernel, which must agree.
#[test]
fn chains_of_digests_end_as_published_in_all_lanes() {
    const LANES: usize = 16;
    for (name, hash) in HASHES {
        let file = format!("{name}Monte.rsp");
        let start = hex(&values(&file, "Seed")[0]);
        let points: Vec<Vec<u8>> = values(&file, "MD").iter().map(|md| hex(md)).collect();
        assert_eq!(points.len(), 10, "{name}");
        for_each_tier(|tier| {
            // One lane shows as much as many of a kernel that has one.
            let lanes = if tier == Tier::Scalar { 1 } else { LANES };
            let mut seed = start.clone();
            for point in &points {
                seed = last_digest(hash, tier, &seed, lanes);
                assert_eq!(seed, *point, "{name} under {tier}");
            }
        });
    }
}

fn last_digest(hash: Digest, tier: Tier, seed: &[u8], lanes: usize) -> Vec<u8> {
    const STEPS: usize = 1000;
    let bytes = seed.len();
    let mut messages = vec![seed.repeat(3); lanes];
    let mut digests = vec![vec![0; bytes]; lanes];
    for _ in 0..STEPS {
        let mut jobs: Vec<DigestJob<'_>> = messages
            .iter()
            .zip(&mut digests)
            .map(|(message, digest)| DigestJob { message, digest })
            .collect();
        super::hash(hash, tier, &mut jobs);
        for (message, digest) in messages.iter_mut().zip(&digests) {
            message.copy_within(bytes.., 0);
            message[2 * bytes..].copy_from_slice(digest);
        }
    }
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "{hash:?} under {tier}: lanes differ"
    );
    digests.swap_remove(0)
}
