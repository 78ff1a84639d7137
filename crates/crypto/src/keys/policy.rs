//! What of a key is kept in memory between packets.

/// When the schedule of an AES-GCM key is computed, and so how much memory the
/// key takes; other suites' keys are always precomputed. All policies give the
/// same packets.
///
/// | policy | AES-128 | AES-192 | AES-256 | for |
/// | --- | --- | --- | --- | --- |
/// | `Precomputed` | 704 | 768 | 768 bytes | up to some thousand keys |
/// | `Compact` | 192 | 256 | 256 | many keys, short packets |
/// | `ExpandedAhead`, `OnTheFly` | 64 | 64 | 64 | keys by the million, or used once |
///
/// A packet touches all of that memory, or of a full schedule as much as its
/// length asks for; where keys do not fit the cache, less is faster.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum KeyPolicy {
    /// Round keys and 33 powers of the hash key, computed when the key is made.
    #[default]
    Precomputed,
    /// Round keys and the hash key, computed when the key is made; further
    /// powers are computed by packets long enough to need them.
    Compact,
    /// The key itself; the schedules of sixteen packets at a time are computed
    /// in lanes before those packets are processed.
    ExpandedAhead,
    /// The key itself; short packets share vectors, one lane each, and expand
    /// their keys in the registers that encrypt them. Long packets are
    /// processed as under [`KeyPolicy::ExpandedAhead`].
    OnTheFly,
}

impl KeyPolicy {
    /// Every policy.
    pub const ALL: [KeyPolicy; 4] = [
        KeyPolicy::Precomputed,
        KeyPolicy::Compact,
        KeyPolicy::ExpandedAhead,
        KeyPolicy::OnTheFly,
    ];
}
