//! Packets of random keys, texts and lengths, each sealed by an independent
//! library. As cases they go through all that the vectors go through: batches
//! of mixed suites, every key policy and tier, any alignment, flipped bits.

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
            prefix: prefix(suite, shuffle),
            iv: shuffle.bytes(suite.iv_bytes()),
            text: text(suite, number, shuffle),
            sealed: Vec::new(),
            suffix: match suite {
                Suite::Aead(_) => Vec::new(),
                Suite::EncryptThenMac(..) => shuffle.some_bytes(5),
            },
            tag: Vec::new(),
            is_authentic: true,
        };
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
fn prefix(suite: Suite, shuffle: &mut Shuffle) -> Vec<u8> {
    let mut prefix = match shuffle.below(4) {
        0 => shuffle.some_bytes(200),
        1 => shuffle.bytes(12),
        _ => shuffle.bytes(8),
    };
    prefix.truncate(suite.most_prefix_bytes());
    prefix
}

/// Many lengths about the kernels' steps, some as on a wire, a jumbo frame and
/// the longest packet that there is.
fn text(suite: Suite, number: usize, shuffle: &mut Shuffle) -> Vec<u8> {
    let bytes = match number {
        0 => 65_535,
        1 => 9_000 + shuffle.below(16),
        _ if number.is_multiple_of(3) => shuffle.below(1_600),
        _ => shuffle.below(300),
    };
    let most_bytes = usize::try_from(suite.limits().text_bytes.most).unwrap_or(usize::MAX);
    let bytes = bytes.min(most_bytes);
    shuffle.bytes(bytes / suite.block_bytes() * suite.block_bytes())
}
