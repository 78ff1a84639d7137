//! Time as RFC 3339 writes it.

use serde::Serializer;
use weir_packet::time::Timestamp;

/// Serialises nanoseconds since 1970 as `2026-01-31T23:59:59.123456789Z`.
pub(crate) fn serialize<S: Serializer>(
    timestamp_ns: &u64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&Timestamp(*timestamp_ns))
}
