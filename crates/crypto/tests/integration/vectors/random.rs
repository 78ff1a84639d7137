//! Packets of random keys, payloads and lengths, each sealed by an independent
//! library. As cases they go through all that the vectors go through: batches
//! of mixed suites, held and one-time keys, every tier, any alignment, flipped bits.

use weir_crypto::Suite;

#[cfg(not(target_arch = "aarch64"))]
use super::aws_lc;
use super::case::Case;
use super::oracle;
use super::shuffle::Shuffle;

/// Ciphertext and tag of a case; `None` where the library lacks its suite.
type Seal = fn(&Case) -> Option<(Vec<u8>, Vec<u8>)>;

/// The libraries, and the seed of the packets that each is given. AWS-LC needs
/// a C compiler, which the target of a cross build may lack.
const LIBRARIES: &[(&str, u64, Seal)] = &[
    ("RustCrypto", 41, oracle::seal),
    #[cfg(not(target_arch = "aarch64"))]
    ("AWS-LC", 43, aws_lc::seal),
];

pub const PACKETS_PER_SUITE: usize = 30;

/// The packets of every suite that a library has.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(library, seed, seal) in LIBRARIES {
        let mut shuffle = Shuffle::new(seed);
        for suite in Suite::all() {
            cases.extend(of_suite(suite, library, seal, &mut shuffle));
        }
    }
    cases
}

fn of_suite(suite: Suite, library: &str, seal: Seal, shuffle: &mut Shuffle) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for number in 0..PACKETS_PER_SUITE {
        let mut case = Case {
            source: format!("{library}, {suite}, packet {number}"),
            suite,
            key: shuffle.bytes(suite.key_bytes() + suite.salt_bytes()),
            integrity_key: shuffle.bytes(suite.integrity_key_bytes()),
            aad: aad(suite, shuffle),
            esn_high: None,
            iv: shuffle.bytes(suite.iv_bytes()),
            payload: payload(suite, number, shuffle),
            sealed: Vec::new(),
            tag: Vec::new(),
            is_authentic: true,
        };
        if case.aad.len() == 8 {
            case.esn_high = [None, Some(shuffle.below(1 << 32) as u32)][shuffle.below(2)];
        }
        // Some keys protect several packets.
        if let Some(before) = cases.last().filter(|_| number % 3 == 2) {
            case.key.clone_from(&before.key);
            case.integrity_key.clone_from(&before.integrity_key);
        }
        let Some((sealed, tag)) = seal(&case) else {
            return Vec::new();
        };
        case.sealed = sealed;
        case.tag = tag;
        cases.push(case);
    }
    cases
}

/// Most often what ESP authenticates before the IV, at times more.
fn aad(suite: Suite, shuffle: &mut Shuffle) -> Vec<u8> {
    let mut aad = match shuffle.below(4) {
        0 => shuffle.some_bytes(200),
        1 => shuffle.bytes(12),
        _ => shuffle.bytes(8),
    };
    aad.truncate(suite.max_aad_bytes());
    aad
}

/// Many lengths about the kernels' steps, some as on a wire, a jumbo frame and
/// the longest packet that there is.
fn payload(suite: Suite, number: usize, shuffle: &mut Shuffle) -> Vec<u8> {
    let bytes = match number {
        0 => 65_535,
        1 => 9_000 + shuffle.below(16),
        _ if number.is_multiple_of(3) => shuffle.below(1_600),
        _ => shuffle.below(300),
    };
    let max_bytes = usize::try_from(suite.limits().payload_bytes.most).unwrap_or(usize::MAX);
    let bytes = bytes.min(max_bytes);
    shuffle.bytes(bytes / suite.block_bytes() * suite.block_bytes())
}
