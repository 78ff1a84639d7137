//! What Weir promises: how many times as fast as others it is at which work.
//! Bars are raised, never lowered.

use std::fmt;

use crate::harness::{
    FEWER_CONTENTS, FLOOR, ONE_SHARD, ONE_WORD, PER_PACKET, SEALING, SHORT_KEYS, USUAL_TRAFFIC,
};

/// A promise.
pub struct Bar {
    work: &'static str,
    /// Any where none is named.
    bytes: Option<usize>,
    /// Any where none are named.
    keys: Option<&'static str>,
    /// Who Weir is compared with.
    pub against: Against,
    /// How many times as fast Weir is.
    pub at_least: f64,
}

/// Who Weir is compared with.
#[derive(Clone, Copy)]
pub enum Against {
    /// Whoever has the least median.
    BestPeer,
    /// The first subject whose name begins so.
    Named(&'static str),
    /// Of the subjects whose names begin so, the one with the least median.
    BestForm(&'static str),
    /// Not a subject but so many nanoseconds per packet, and how people say it.
    Limit(f64, &'static str),
}

impl fmt::Display for Against {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Against::BestPeer => "best peer",
            Against::Named(name) | Against::BestForm(name) | Against::Limit(_, name) => name,
        })
    }
}

impl Bar {
    /// So many times as fast as someone.
    pub const fn new(
        at_least: f64,
        against: Against,
        work: &'static str,
        bytes: Option<usize>,
        keys: Option<&'static str>,
    ) -> Bar {
        Bar {
            work,
            bytes,
            keys,
            against,
            at_least,
        }
    }

    const fn best(
        at_least: f64,
        work: &'static str,
        bytes: Option<usize>,
        keys: Option<&'static str>,
    ) -> Bar {
        Bar::new(at_least, Against::BestPeer, work, bytes, keys)
    }
}

const GCM: &str = "aes-128-gcm";
const GMAC: &str = "gmac-128";
const CBC_SHA1: &str = "aes-128-cbc+hmac-sha1-96";
const CBC_SHA256: &str = "aes-128-cbc+hmac-sha2-256-128";

/// As it configures itself, which is the form that is entered first.
const IPSEC_MB: Against = Against::Named("ipsec-mb");
/// In the better of its two ways.
const IPSEC_MB_GMAC: Against = Against::BestForm("ipsec-mb");
const OTHERS_GMAC: Against = Against::BestForm("GMAC, ipsec-mb");
const NETTLE: Against = Against::BestForm("Nettle");
const FOUR_WORDS: &str = "mmh-mac-128";
const OWN_SEALING: Against = Against::Named(SEALING);

const COUNT_MIN: &str = "count-min 4x27183";
const COUNT_MIN_8: &str = "count-min 8x27183";
const K_ARY: &str = "k-ary 5x32768";
const DATASKETCHES: Against = Against::Named("datasketches");
const EXACT_TABLE: Against = Against::Named("hashbrown");
const ADDS_ALONE: Against = Against::Named(FLOOR);
const SHORTER: Against = Against::Named(SHORT_KEYS);
const ONE_BY_ONE: Against = Against::Named(PER_PACKET);
const TENTH: Against = Against::Named(FEWER_CONTENTS);
const USUAL: Against = Against::Named(USUAL_TRAFFIC);
const ALONE: Against = Against::Named(ONE_SHARD);

const HYPERSCAN: Against = Against::Named("Hyperscan");
/// Where made contents have no counterpart among rules.
const RULES: &str = "30000 without NUL";

const BARS: &[Bar] = &[
    Bar::new(2.0, HYPERSCAN, "match-traces", None, Some("300")),
    Bar::new(3.0, HYPERSCAN, "match-traces", None, Some("3000")),
    Bar::new(3.5, HYPERSCAN, "match-traces", None, Some("10000")),
    Bar::new(5.0, HYPERSCAN, "match-traces", None, Some("30000")),
    Bar::new(8.0, HYPERSCAN, "match-traces-http", None, Some("30000")),
    Bar::new(4.0, HYPERSCAN, "match-traces", None, Some(RULES)),
    Bar::new(3.3, HYPERSCAN, "match-traces-http", None, Some(RULES)),
    Bar::new(5.0, HYPERSCAN, "match-traces", None, Some("leading")),
    Bar::new(2.0, HYPERSCAN, "match-mixed", None, Some("300")),
    Bar::new(3.0, HYPERSCAN, "match-mixed", None, Some("3000")),
    Bar::new(3.5, HYPERSCAN, "match-mixed", None, Some("10000")),
    Bar::new(5.0, HYPERSCAN, "match-mixed", None, Some("30000")),
    Bar::new(8.0, HYPERSCAN, "match-http", None, Some("30000")),
    // Sixty-four packets a call are faster than one.
    Bar::new(1.1, ONE_BY_ONE, "match-traces-batch", None, None),
    Bar::new(1.1, ONE_BY_ONE, "match-mixed-batch", None, None),
    // Ten times the contents leave more than half of the rate.
    Bar::new(0.55, TENTH, "match-traces", None, Some("30000")),
    Bar::new(0.55, TENTH, "match-mixed", None, Some("30000")),
    // What hostile traffic leaves of the rate.
    Bar::new(1.0, USUAL, "match-zeros", None, None),
    Bar::new(0.25, USUAL, "match-near-misses", None, None),
    Bar::new(
        1.0,
        Against::Limit(0.3e9, "0.3 s"),
        "match-build",
        None,
        Some("30000"),
    ),
    Bar::new(6.5, DATASKETCHES, COUNT_MIN, None, Some("zipf")),
    Bar::new(6.5, DATASKETCHES, COUNT_MIN, None, Some("trains")),
    Bar::new(4.5, DATASKETCHES, COUNT_MIN, None, Some("uniform")),
    Bar::new(1.0 / 0.35, EXACT_TABLE, COUNT_MIN, None, Some("zipf")),
    Bar::new(0.9, ADDS_ALONE, COUNT_MIN, None, Some("zipf")),
    Bar::new(0.9, ADDS_ALONE, COUNT_MIN, None, Some("trains")),
    Bar::new(0.9, ADDS_ALONE, COUNT_MIN, None, Some("uniform")),
    Bar::new(8.0, DATASKETCHES, "count-min 4x1024", None, Some("zipf")),
    Bar::new(5.0, DATASKETCHES, "count-min 4x1048576", None, Some("zipf")),
    Bar::new(5.5, DATASKETCHES, COUNT_MIN_8, None, None),
    Bar::new(3.5, DATASKETCHES, K_ARY, None, Some("zipf")),
    Bar::new(3.5, DATASKETCHES, K_ARY, None, Some("trains")),
    Bar::new(3.0, DATASKETCHES, K_ARY, None, Some("uniform")),
    Bar::new(0.75, ADDS_ALONE, K_ARY, None, None),
    // What longer keys may cost.
    Bar::new(1.0 / 1.6, SHORTER, COUNT_MIN, None, Some("ipv6")),
    Bar::new(1.0 / 1.6, SHORTER, COUNT_MIN, None, Some("5-tuple")),
    Bar::new(1.0 / 2.2, SHORTER, "k-ary 4x27183", None, Some("ipv6")),
    Bar::new(1.0 / 2.2, SHORTER, "k-ary 4x27183", None, Some("5-tuple")),
    Bar::new(1.9, ALONE, "count-min 4x27183, two shards", None, None),
    Bar::best(6.5, GCM, Some(64), Some("new")),
    Bar::new(10.0, IPSEC_MB, GCM, Some(64), Some("new")),
    Bar::best(3.6, GCM, Some(256), Some("new")),
    Bar::best(2.2, GCM, Some(576), Some("new")),
    Bar::best(1.4, GCM, Some(1024), Some("new")),
    Bar::best(2.5, GCM, Some(64), Some("4096")),
    Bar::best(1.5, GCM, Some(576), Some("4096")),
    Bar::best(1.15, GCM, Some(1420), Some("4096")),
    Bar::best(1.0, GCM, Some(1420), Some("few")),
    Bar::best(1.0, GCM, Some(9000), Some("few")),
    Bar::best(3.0, "aes-128-gcm-imix", None, Some("new")),
    Bar::best(3.0, "aes-128-gcm-internet", None, Some("new")),
    Bar::best(6.0, "aes-128-ocb3", Some(64), None),
    Bar::best(3.5, "aes-128-ocb3", Some(1420), None),
    Bar::best(1.0, CBC_SHA1, Some(64), Some("64")),
    Bar::best(1.0, CBC_SHA1, Some(576), Some("64")),
    Bar::best(1.0, CBC_SHA1, Some(1420), Some("64")),
    Bar::best(1.0, CBC_SHA256, Some(64), Some("64")),
    Bar::best(1.0, CBC_SHA256, Some(576), Some("64")),
    Bar::best(1.0, CBC_SHA256, Some(1420), Some("64")),
    Bar::new(5.5, NETTLE, "umac-64", Some(64), None),
    Bar::new(3.3, NETTLE, "umac-64", Some(1420), None),
    Bar::new(3.2, NETTLE, "umac-64", Some(9000), None),
    Bar::new(3.0, OTHERS_GMAC, "umac-64", Some(64), None),
    Bar::new(1.8, OTHERS_GMAC, "umac-64", Some(256), None),
    Bar::new(1.4, OTHERS_GMAC, "umac-64", Some(576), None),
    Bar::new(5.0, NETTLE, "umac-128", Some(64), None),
    Bar::new(3.1, NETTLE, "umac-128", Some(1420), None),
    Bar::new(3.0, NETTLE, "umac-128", Some(9000), None),
    Bar::new(20.0, NETTLE, "umac-64-keys", None, None),
    Bar::new(
        1.0,
        Against::Limit(1536.0 / 20.0, "20 GB/s"),
        "mmh-mac-32",
        Some(1536),
        None,
    ),
    Bar::new(
        1.0,
        Against::Limit(1536.0 / 9.0, "9 GB/s"),
        FOUR_WORDS,
        Some(1536),
        None,
    ),
    Bar::new(
        1.0,
        Against::Limit(20.0, "20 ns"),
        FOUR_WORDS,
        Some(64),
        None,
    ),
    // Four words of tag cost at most two and a half times what one costs.
    Bar::new(1.0 / 2.5, Against::Named(ONE_WORD), FOUR_WORDS, None, None),
    Bar::new(1.5, IPSEC_MB_GMAC, GMAC, Some(64), None),
    Bar::new(1.0, IPSEC_MB_GMAC, GMAC, Some(1420), None),
    // Opening takes at most a tenth longer than sealing.
    Bar::new(1.0 / 1.1, OWN_SEALING, "aes-128-gcm-open", None, None),
];

/// The bars of a row.
pub fn of(work: &str, bytes: usize, keys: &str) -> impl Iterator<Item = &'static Bar> {
    BARS.iter().filter(move |bar| {
        bar.work == work
            && bar.bytes.is_none_or(|own| own == bytes)
            && bar.keys.is_none_or(|own| own == keys)
    })
}

/// A factor as people write it: `2.5`, `0.91`, `10`.
pub fn factor(factor: f64) -> String {
    let text = format!("{factor:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_written_without_zeros_at_their_end() {
        let texts = [10.0, 2.5, 1.15, 1.0 / 1.1].map(factor);
        assert_eq!(texts, ["10", "2.5", "1.15", "0.91"]);
    }

    #[test]
    fn a_row_finds_its_bars() {
        let bars: Vec<f64> = of("aes-128-gcm", 64, "new")
            .map(|bar| bar.at_least)
            .collect();
        assert_eq!(bars, [6.5, 10.0]);
        assert_eq!(of("aes-128-gcm", 64, "few").count(), 0);
        assert_eq!(of("aes-128-gcm-open", 1420, "4096").count(), 1);
    }
}
