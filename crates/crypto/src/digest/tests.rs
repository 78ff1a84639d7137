//! Every kernel against the published digests and against other crates.

mod nist;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};
use weir_simd::{Tier, for_each_tier};

use super::kernel::Kernel;
use super::*;

/// One message to hash.
struct DigestJob<'a> {
    /// Of any length and alignment.
    message: &'a [u8],
    /// Output: the digest's first bytes, at most [`Digest::bytes`].
    digest: &'a mut [u8],
}

impl Message for &mut DigestJob<'_> {
    fn parts(&self) -> [&[u8]; PARTS] {
        [self.message, &[], &[]]
    }
}

/// Hashes messages with the kernels of `tier`.
fn hash(digest: Digest, tier: Tier, jobs: &mut [DigestJob<'_>]) {
    fn run<W: Word>(
        of: &'static Compression<W>,
        initial: &[W; 8],
        tier: Tier,
        jobs: &mut [DigestJob<'_>],
    ) {
        let mut room = Room::new();
        let mut scheduler = Scheduler::new(of, tier, jobs.len(), &mut room);
        let mut done = |job: &mut DigestJob<'_>, state: [W; 8]| of.write(&state, job.digest);
        let bytes = |job: &DigestJob<'_>| Some(job.message.len() as u64);
        longest_first(jobs, bytes, |_, job| {
            scheduler.submit(job, initial, 0, &mut done);
        });
        scheduler.finish(&mut done);
    }
    match digest.initial() {
        Initial::Narrow(of, state) => run(of, &state, tier, jobs),
        Initial::Wide(of, state) => run(of, &state, tier, jobs),
    }
}

/// Hashes `messages` with every kernel that `tier` includes, the scalar one
/// too, and hands each result to `check` with the kernel's name.
fn with_every_kernel(
    digest: Digest,
    tier: Tier,
    messages: &[&[u8]],
    mut check: impl FnMut(&str, &[Vec<u8>]),
) {
    fn run<W: Word>(
        of: &'static Compression<W>,
        initial: &[W; 8],
        (digest, tier): (Digest, Tier),
        messages: &[&[u8]],
        check: &mut impl FnMut(&str, &[Vec<u8>]),
    ) {
        let lanes = of.candidates.iter().filter_map(|c| c.under(tier));
        let kernels = lanes.map(|k| (k.name, Kernel::Lanes(k)));
        for (name, kernel) in kernels.chain([("scalar", Kernel::Scalar(of.scalar))]) {
            let mut digests = vec![vec![0xee; digest.bytes()]; messages.len()];
            let mut done = |job: &mut DigestJob<'_>, state: [W; 8]| of.write(&state, job.digest);
            let mut jobs: Vec<DigestJob<'_>> = messages
                .iter()
                .zip(&mut digests)
                .map(|(message, digest)| DigestJob { message, digest })
                .collect();
            let mut room = Room::new();
            let mut scheduler = Scheduler::with_kernel(of, tier, kernel, 1, &mut room);
            for job in &mut jobs {
                scheduler.submit(job, initial, 0, &mut done);
            }
            scheduler.finish(&mut done);
            drop(jobs);
            check(name, &digests);
        }
    }
    match digest.initial() {
        Initial::Narrow(of, initial) => run(of, &initial, (digest, tier), messages, &mut check),
        Initial::Wide(of, initial) => run(of, &initial, (digest, tier), messages, &mut check),
    }
}

fn by_crate(digest: Digest, message: &[u8]) -> Vec<u8> {
    match digest {
        Digest::Md5 => Md5::digest(message).to_vec(),
        Digest::Sha1 => Sha1::digest(message).to_vec(),
        Digest::Sha224 => Sha224::digest(message).to_vec(),
        Digest::Sha256 => Sha256::digest(message).to_vec(),
        Digest::Sha384 => Sha384::digest(message).to_vec(),
        Digest::Sha512 => Sha512::digest(message).to_vec(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 1321 appendix A.5, and the one- and two-block messages of FIPS 180-4's
/// example pages (SHA1.pdf, SHA224.pdf, SHA256.pdf, SHA384.pdf, SHA512.pdf).
const PUBLISHED: &[(Digest, &[u8], &str)] = &[
    (Digest::Md5, b"", "d41d8cd98f00b204e9800998ecf8427e"),
    (Digest::Md5, b"abc", "900150983cd24fb0d6963f7d28e17f72"),
    (
        Digest::Md5,
        b"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
        "57edf4a22be3c955ac49da2e2107b67a",
    ),
    (
        Digest::Sha1,
        b"abc",
        "a9993e364706816aba3e25717850c26c9cd0d89d",
    ),
    (
        Digest::Sha1,
        TWO_BLOCKS,
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
    ),
    (
        Digest::Sha224,
        b"abc",
        "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
    ),
    (
        Digest::Sha224,
        TWO_BLOCKS,
        "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525",
    ),
    (
        Digest::Sha256,
        b"abc",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ),
    (
        Digest::Sha256,
        TWO_BLOCKS,
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ),
    (
        Digest::Sha384,
        b"abc",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed\
         8086072ba1e7cc2358baeca134c825a7",
    ),
    (
        Digest::Sha384,
        TWO_LONG_BLOCKS,
        "09330c33f71147e83d192fc782cd1b4753111b173b3b05d22fa08086e3b0f712\
         fcc7c71a557e2db966c3e9fa91746039",
    ),
    (
        Digest::Sha512,
        b"abc",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
         2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
    (
        Digest::Sha512,
        TWO_LONG_BLOCKS,
        "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018\
         501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
    ),
];

const TWO_BLOCKS: &[u8] = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

const TWO_LONG_BLOCKS: &[u8] = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn\
hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";

#[test]
fn published_digests_come_out_of_every_lane() {
    for_each_tier(|tier| {
        for (digest, message, published) in PUBLISHED {
            let messages = vec![*message; 16];
            with_every_kernel(*digest, tier, &messages, |kernel, digests| {
                for (lane, bytes) in digests.iter().enumerate() {
                    assert_eq!(&hex(bytes), published, "{kernel} lane {lane}");
                }
            });
        }
    });
}

#[test]
fn every_length_up_to_three_blocks_agrees_with_the_crate() {
    let bytes: Vec<u8> = (0..400usize).map(|i| (i * 167 + i / 7) as u8).collect();
    let messages: Vec<&[u8]> = (0..=390).map(|n| &bytes[n % 9..n % 9 + n]).collect();
    for digest in Digest::ALL {
        let expected: Vec<Vec<u8>> = messages.iter().map(|m| by_crate(digest, m)).collect();
        for (message, expected) in messages.iter().zip(&expected) {
            let mut one = vec![0; digest.bytes()];
            digest.hash_one(message, &mut one);
            assert_eq!(one, *expected, "{digest:?}");
        }
        for_each_tier(|tier| {
            with_every_kernel(digest, tier, &messages, |kernel, digests| {
                assert!(digests == expected, "{digest:?} by {kernel}");
            });
        });
    }
}
