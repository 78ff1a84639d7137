//! When a batch closes, and what it keeps.

use std::sync::OnceLock;

/// The most records that a source puts into a batch.
const SOURCE_RECORDS: usize = 256;

/// The most records that a batch holds: behind those of the source there is room
/// for such as stages release or make.
pub const BATCH_RECORDS: usize = SOURCE_RECORDS + 64;

/// When a batch counts as full, and what it keeps of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchLimits {
    /// Records that a source adds, at most [`BATCH_RECORDS`].
    pub(super) records: usize,
    /// Bytes of all records.
    pub(super) bytes: usize,
    /// Whether flows are kept where headers are parsed.
    pub(super) keeps_flows: bool,
}

impl BatchLimits {
    /// Other limits; `records` is brought into `1..=`[`BATCH_RECORDS`], `bytes` is
    /// at least 1.
    pub fn new(records: usize, bytes: usize) -> BatchLimits {
        BatchLimits {
            records: records.clamp(1, BATCH_RECORDS),
            bytes: bytes.max(1),
            keeps_flows: false,
        }
    }

    /// Keeps the 5-tuples of IPv4 packets in a column
    /// ([`ipv4_flows`](super::Batch::ipv4_flows)), so that nobody need look into a
    /// record that has left the first-level cache since its headers were parsed. For batches
    /// whose flow keys are needed; a [`Pipeline`](crate::Pipeline) finds that out from its
    /// stages ([`Stage::wants_flow_keys`](crate::Stage::wants_flow_keys)).
    #[must_use]
    pub fn keep_flows(self, keeps_flows: bool) -> BatchLimits {
        BatchLimits {
            keeps_flows,
            ..self
        }
    }
}

impl Default for BatchLimits {
    /// 256 records that together stay in half of the L2 cache, so that the
    /// last stage finds them where the first one read them.
    fn default() -> BatchLimits {
        BatchLimits::new(SOURCE_RECORDS, l2_cache_bytes() / 2)
    }
}

/// Size of the L2 cache; 1 MiB where the system does not say.
fn l2_cache_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size")
            .ok()
            .and_then(|text| text.trim().strip_suffix('K')?.parse::<usize>().ok())
            .filter(|kib| *kib >= 64)
            .map_or(1 << 20, |kib| kib << 10)
    })
}
