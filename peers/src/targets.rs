//! The targets of Weir: at which work how fast it should be beside others.

use std::fmt;

use weir_bench::Target;
use weir_bench::Target::{SpeedAtLeast, TimeAtMost};

use crate::harness::{
    FEWER_PATTERNS, FLOOR, ONE_SHARD, ONE_WORD, PER_PACKET, PROTOTYPE, SEALING, SHORT_KEYS,
    USUAL_TRAFFIC,
};

/// A target of one work.
#[derive(Clone, Copy)]
pub struct Requirement {
    work: &'static str,
    /// Any where none is named.
    bytes: Option<usize>,
    /// Any where none is named.
    keys: Option<&'static str>,
    pub against: Against,
    pub target: Target,
    /// Whether the work depends on it; other targets are for the record.
    pub decides: bool,
}

/// What Weir is compared with.
#[derive(Clone, Copy)]
pub enum Against {
    /// The published peer with the least median; prototypes are none.
    BestPeer,
    /// The first candidate whose name begins so.
    Named(&'static str),
    /// Of the candidates whose names begin with one of these, the one with the least
    /// median.
    Fastest(&'static [&'static str]),
    /// A fixed number of nanoseconds per packet, and its name.
    Limit(f64, &'static str),
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Against::BestPeer => f.write_str("best peer"),
            Against::Named(name) | Against::Limit(_, name) => f.write_str(name),
            Against::Fastest(names) => f.write_str(&names.join(" or ")),
        }
    }
}

impl Requirement {
    pub const fn new(
        work: &'static str,
        bytes: Option<usize>,
        keys: Option<&'static str>,
        against: Against,
        target: Target,
    ) -> Requirement {
        Requirement {
            work,
            bytes,
            keys,
            against,
            target,
            decides: true,
        }
    }

    /// The same, for the record only.
    const fn for_the_record(self) -> Requirement {
        Requirement {
            decides: false,
            ..self
        }
    }
}

/// AES-128-GCM at one size.
const fn gcm(bytes: usize, keys: &'static str, against: Against, target: Target) -> Requirement {
    Requirement::new("aes-128-gcm", Some(bytes), Some(keys), against, target)
}

/// ChaCha20-Poly1305 at one size, whatever the keys.
const fn chacha(bytes: usize, against: Against, least: f64) -> Requirement {
    let target = SpeedAtLeast(least);
    Requirement::new("chacha20-poly1305", Some(bytes), None, against, target)
}

/// A work at any size, with any keys.
const fn any(work: &'static str, against: Against, target: Target) -> Requirement {
    Requirement::new(work, None, None, against, target)
}

/// A work at one size, with any keys.
const fn sized(work: &'static str, bytes: usize, against: Against, target: Target) -> Requirement {
    Requirement::new(work, Some(bytes), None, against, target)
}

/// Sketches and searches, whose rows differ by stream or patterns.
const fn keyed(
    work: &'static str,
    keys: &'static str,
    against: Against,
    target: Target,
) -> Requirement {
    Requirement::new(work, None, Some(keys), against, target)
}

const BEST: Against = Against::BestPeer;
const FIXED_LENGTH: Against = Against::Named("c-prototype, 64 bytes");
const ANY_LENGTH: Against = Against::Named("c-prototype, any length");
const LANES: Against = Against::Named(PROTOTYPE);
const IPSEC_MB: Against = Against::Fastest(&["ipsec-mb"]);
const RUST_CRYPTO: Against = Against::Fastest(&["RustCrypto"]);
const RING_OR_AWS_LC: Against = Against::Fastest(&["ring", "aws-lc-rs"]);
const OWN_SEALING: Against = Against::Named(SEALING);

const COUNT_MIN: &str = "count-min 4x27183";
const K_ARY: &str = "k-ary 5x32768";
const DATASKETCHES: Against = Against::Named("datasketches");
const EXACT_TABLE: Against = Against::Named("hashbrown");
const ADDS_ALONE: Against = Against::Named(FLOOR);
const SHORTER: Against = Against::Named(SHORT_KEYS);
const ALONE: Against = Against::Named(ONE_SHARD);

const HYPERSCAN: Against = Against::Named("Hyperscan");
const ONE_BY_ONE: Against = Against::Named(PER_PACKET);
const TENTH: Against = Against::Named(FEWER_PATTERNS);
const USUAL: Against = Against::Named(USUAL_TRAFFIC);
/// Patterns of rules only.
const RULES: &str = "30000 without NUL";

const REQUIREMENTS: &[Requirement] = &[
    gcm(64, "new", FIXED_LENGTH, TimeAtMost(1.13)),
    gcm(64, "new", BEST, SpeedAtLeast(4.5)).for_the_record(),
    gcm(256, "new", ANY_LENGTH, TimeAtMost(1.1)),
    gcm(256, "new", BEST, SpeedAtLeast(3.2)).for_the_record(),
    gcm(576, "new", ANY_LENGTH, TimeAtMost(1.05)),
    gcm(576, "new", BEST, SpeedAtLeast(2.4)).for_the_record(),
    gcm(64, "4096", BEST, SpeedAtLeast(2.2)),
    gcm(576, "4096", BEST, SpeedAtLeast(1.6)),
    gcm(1420, "4096", BEST, SpeedAtLeast(1.25)),
    gcm(64, "few", BEST, SpeedAtLeast(1.8)),
    gcm(256, "few", BEST, SpeedAtLeast(1.0)),
    gcm(576, "few", BEST, SpeedAtLeast(1.0)),
    gcm(1024, "few", BEST, SpeedAtLeast(1.0)),
    gcm(1420, "few", BEST, SpeedAtLeast(1.08)),
    gcm(9000, "few", BEST, SpeedAtLeast(1.06)),
    any("aes-128-gcm-imix", BEST, SpeedAtLeast(3.0)),
    any("aes-128-gcm-internet", BEST, SpeedAtLeast(3.0)),
    any("aes-128-gcm-open", OWN_SEALING, TimeAtMost(1.1)),
    sized("aes-128-ocb3", 64, RUST_CRYPTO, SpeedAtLeast(2.0)),
    sized("aes-128-ocb3", 1420, RUST_CRYPTO, SpeedAtLeast(2.2)),
    chacha(64, RING_OR_AWS_LC, 4.0),
    chacha(64, IPSEC_MB, 1.5).for_the_record(),
    chacha(576, RING_OR_AWS_LC, 2.5),
    chacha(576, IPSEC_MB, 1.1).for_the_record(),
    chacha(1420, RING_OR_AWS_LC, 2.0),
    chacha(1420, IPSEC_MB, 1.0).for_the_record(),
    any("aes-128-cbc+hmac-sha1-96", BEST, SpeedAtLeast(0.98)),
    any("aes-128-cbc+hmac-sha2-256-128", BEST, SpeedAtLeast(0.98)),
    any("aes-128-ctr+hmac-sha2-256-128", BEST, SpeedAtLeast(0.98)),
    sized("umac-64", 64, LANES, TimeAtMost(1.25)),
    sized("umac-64", 1420, LANES, TimeAtMost(1.07)),
    sized("umac-64", 9000, LANES, TimeAtMost(1.05)),
    sized("umac-128", 64, LANES, TimeAtMost(1.25)),
    any("umac-64-keys", LANES, TimeAtMost(1.3)),
    any("umac-128-keys", LANES, TimeAtMost(1.3)),
    sized("gmac-128", 64, IPSEC_MB, SpeedAtLeast(1.0)),
    sized("gmac-128", 1420, IPSEC_MB, SpeedAtLeast(1.0)),
    sized(
        "mmh-mac-32",
        1536,
        Against::Limit(1536.0 / 20.0, "20 GB/s"),
        SpeedAtLeast(1.0),
    ),
    sized(
        "mmh-mac-128",
        1536,
        Against::Limit(1536.0 / 9.0, "9 GB/s"),
        SpeedAtLeast(1.0),
    ),
    sized(
        "mmh-mac-128",
        64,
        Against::Limit(20.0, "20 ns"),
        SpeedAtLeast(1.0),
    ),
    any("mmh-mac-128", Against::Named(ONE_WORD), TimeAtMost(2.5)),
    keyed(COUNT_MIN, "zipf", DATASKETCHES, SpeedAtLeast(6.5)),
    keyed(COUNT_MIN, "trains", DATASKETCHES, SpeedAtLeast(6.5)),
    keyed(COUNT_MIN, "uniform", DATASKETCHES, SpeedAtLeast(4.5)),
    keyed(COUNT_MIN, "zipf", EXACT_TABLE, TimeAtMost(0.35)),
    keyed(COUNT_MIN, "zipf", ADDS_ALONE, SpeedAtLeast(0.9)),
    keyed(COUNT_MIN, "trains", ADDS_ALONE, SpeedAtLeast(0.9)),
    keyed(COUNT_MIN, "uniform", ADDS_ALONE, SpeedAtLeast(0.9)),
    keyed("count-min 4x1024", "zipf", DATASKETCHES, SpeedAtLeast(8.0)),
    keyed(
        "count-min 4x1048576",
        "zipf",
        DATASKETCHES,
        SpeedAtLeast(5.0),
    ),
    any("count-min 8x27183", DATASKETCHES, SpeedAtLeast(5.5)),
    keyed(K_ARY, "zipf", DATASKETCHES, SpeedAtLeast(3.5)),
    keyed(K_ARY, "trains", DATASKETCHES, SpeedAtLeast(3.5)),
    keyed(K_ARY, "uniform", DATASKETCHES, SpeedAtLeast(3.0)),
    any(K_ARY, ADDS_ALONE, SpeedAtLeast(0.75)),
    // The cost of longer keys.
    keyed(COUNT_MIN, "ipv6", SHORTER, TimeAtMost(1.6)),
    keyed(COUNT_MIN, "5-tuple", SHORTER, TimeAtMost(1.6)),
    keyed("k-ary 4x27183", "ipv6", SHORTER, TimeAtMost(2.2)),
    keyed("k-ary 4x27183", "5-tuple", SHORTER, TimeAtMost(2.2)),
    any("count-min 4x27183, two shards", ALONE, SpeedAtLeast(1.9)),
    keyed("match-traces", "300", HYPERSCAN, SpeedAtLeast(2.0)),
    keyed("match-traces", "3000", HYPERSCAN, SpeedAtLeast(3.0)),
    keyed("match-traces", "10000", HYPERSCAN, SpeedAtLeast(3.5)),
    keyed("match-traces", "30000", HYPERSCAN, SpeedAtLeast(5.0)),
    keyed("match-traces-http", "30000", HYPERSCAN, SpeedAtLeast(8.0)),
    keyed("match-traces", RULES, HYPERSCAN, SpeedAtLeast(4.0)),
    keyed("match-traces-http", RULES, HYPERSCAN, SpeedAtLeast(3.3)),
    keyed("match-traces", "leading", HYPERSCAN, SpeedAtLeast(5.0)),
    keyed("match-mixed", "300", HYPERSCAN, SpeedAtLeast(2.0)),
    keyed("match-mixed", "3000", HYPERSCAN, SpeedAtLeast(3.0)),
    keyed("match-mixed", "10000", HYPERSCAN, SpeedAtLeast(3.5)),
    keyed("match-mixed", "30000", HYPERSCAN, SpeedAtLeast(5.0)),
    keyed("match-http", "30000", HYPERSCAN, SpeedAtLeast(8.0)),
    // Calls for 64 packets are faster than calls for one.
    any("match-traces-batch", ONE_BY_ONE, SpeedAtLeast(1.1)),
    any("match-mixed-batch", ONE_BY_ONE, SpeedAtLeast(1.1)),
    // Ten times the patterns leave more than half of the rate.
    keyed("match-traces", "30000", TENTH, SpeedAtLeast(0.55)),
    keyed("match-mixed", "30000", TENTH, SpeedAtLeast(0.55)),
    // What hostile traffic leaves of the rate.
    any("match-zeros", USUAL, SpeedAtLeast(1.0)),
    any("match-near-misses", USUAL, SpeedAtLeast(0.25)),
    keyed(
        "match-build",
        "30000",
        Against::Limit(0.3e9, "0.3 s"),
        SpeedAtLeast(1.0),
    ),
];

/// The requirements of a comparison.
pub fn of(work: &str, bytes: usize, keys: &str) -> impl Iterator<Item = &'static Requirement> {
    REQUIREMENTS.iter().filter(move |requirement| {
        requirement.work == work
            && requirement.bytes.is_none_or(|own| own == bytes)
            && requirement.keys.is_none_or(|own| own == keys)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_finds_its_requirements() {
        let targets = |bytes, keys| {
            let found = of("aes-128-gcm", bytes, keys);
            found
                .map(|it| (it.target, it.decides))
                .collect::<Vec<(Target, bool)>>()
        };
        assert_eq!(
            targets(64, "new"),
            [(TimeAtMost(1.13), true), (SpeedAtLeast(4.5), false)]
        );
        assert_eq!(targets(64, "few"), [(SpeedAtLeast(1.8), true)]);
        assert_eq!(targets(9000, "new"), []);
        assert_eq!(of("aes-128-gcm-open", 1420, "4096").count(), 1);
        assert_eq!(of("chacha20-poly1305", 64, "new").count(), 2);
    }
}
