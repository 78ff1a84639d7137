//! Stateful ingress filtering.

use super::partition::{KeySet, PartitionTable};
use super::{Verdict, judge_each, pass_all};

/// The stateful filter of one ingress port.
///
/// It is off, and costs nothing, until a trap of the subnet manager names a P_Key that the node behind
/// the port sends and must not ([`trap`](Self::trap)). Then that key is blocked, and with it every one
/// that is named later (the text's *Invalid_P_Key_Table*). When there would be more of them than the
/// node has valid keys, a look-up among the valid ones is the shorter one, and only those pass. A node
/// therefore cannot keep the subnet manager busy by ever new keys. Blocked packets are counted (the
/// *Ingress P_Key Violation Counter*); when the counter has not moved for the quiet time, the invalid
/// keys are forgotten, the counter is reset, and the filter is off again.
///
/// Whatever traps say, a packet that the node [may send](PartitionTable::may_send) passes: a receiver
/// also reports a P_Key of a partition that the sender rightly belongs to and the receiver does not, and a forged trap must not cut a node off from its own partitions. The filter never drops what
/// ingress filtering would pass.
///
/// Time is the caller's, in nanoseconds of a clock that does not go back; where it does, the quiet
/// time lasts longer. Memory: two tables of 8 KiB and fewer than 100 bytes of state, whatever arrives. Nothing is
/// allocated after [`new`](Self::new), but for the caller's verdicts.
#[derive(Clone, Debug)]
pub struct StatefulFilter {
    valid: PartitionTable,
    invalid: KeySet,
    invalid_keys: usize,
    state: State,
    quiet_ns: u64,
    /// When a packet was last blocked, or a key first named.
    last_violation_ns: u64,
    violations: u64,
    dropped: u64,
    lookups: u64,
}

/// What a stateful filter looks up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing: all packets pass.
    Off,
    /// Packets with an invalid P_Key, of those named by traps, are dropped.
    BlocksInvalid,
    /// Packets with a valid P_Key pass.
    PassesValid,
}

/// What a trap did to a stateful filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrapEffect {
    /// The key is blocked from now on.
    Registered,
    /// From now on only valid keys pass: there were as many invalid keys as valid ones.
    FellBack,
    /// The key was blocked before: the packet had been on its way.
    Known,
    /// The node may send this key: nothing changes.
    ValidKey,
}

impl StatefulFilter {
    /// A filter for a node with the P_Keys `valid`, which is switched off after `quiet_ns` without
    /// violations. With a quiet time of zero it never lasts until the next packet.
    #[must_use]
    pub fn new(valid: PartitionTable, quiet_ns: u64) -> StatefulFilter {
        StatefulFilter {
            valid,
            invalid: KeySet::new(),
            invalid_keys: 0,
            state: State::Off,
            quiet_ns,
            last_violation_ns: 0,
            violations: 0,
            dropped: 0,
            lookups: 0,
        }
    }

    /// The subnet manager says at `now_ns` that a packet with the invalid P_Key `p_key` came from the
    /// node behind this port.
    pub fn trap(&mut self, now_ns: u64, p_key: u16) -> TrapEffect {
        self.expire(now_ns);
        if self.valid.may_send(p_key) {
            return TrapEffect::ValidKey;
        }
        if self.state == State::PassesValid || self.invalid.contains(p_key) {
            return TrapEffect::Known;
        }
        self.last_violation_ns = now_ns;
        if self.invalid_keys == self.valid.entries() {
            self.state = State::PassesValid;
            return TrapEffect::FellBack;
        }
        self.invalid.insert(p_key);
        self.invalid_keys += 1;
        self.state = State::BlocksInvalid;
        TrapEffect::Registered
    }

    /// Judges packets that arrive at `now_ns`: `verdicts` becomes one verdict per P_Key.
    pub fn judge(&mut self, now_ns: u64, p_keys: &[u16], verdicts: &mut Vec<Verdict>) {
        self.expire(now_ns);
        let dropped = match self.state {
            State::Off => {
                pass_all(p_keys.len(), verdicts);
                return;
            }
            State::BlocksInvalid => {
                judge_each(p_keys, verdicts, |p_key| !self.invalid.contains(p_key))
            }
            State::PassesValid => judge_each(p_keys, verdicts, |p_key| self.valid.may_send(p_key)),
        };
        self.lookups += p_keys.len() as u64;
        if dropped > 0 {
            self.violations += dropped;
            self.dropped += dropped;
            self.last_violation_ns = now_ns;
        }
    }

    /// Switches the filter off if its quiet time is over at `now_ns`. [`trap`](Self::trap) and
    /// [`judge`](Self::judge) do so first; a caller does where it wants to report the state.
    pub fn expire(&mut self, now_ns: u64) {
        let quiet_ns = now_ns.saturating_sub(self.last_violation_ns);
        if self.state != State::Off && quiet_ns >= self.quiet_ns {
            self.switch_off();
        }
    }

    /// Gives the port other valid P_Keys, and switches the filter off: the keys that were named may be
    /// valid now.
    pub fn set_valid(&mut self, valid: PartitionTable) {
        self.valid = valid;
        self.switch_off();
    }

    fn switch_off(&mut self) {
        self.invalid.clear();
        self.invalid_keys = 0;
        self.violations = 0;
        self.state = State::Off;
    }

    /// What is looked up now.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// The number of invalid keys that are registered now, never more than the node has valid ones.
    #[must_use]
    pub fn invalid_keys(&self) -> usize {
        self.invalid_keys
    }

    /// The violation counter: packets dropped since the filter was last off.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// Packets dropped so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Packets that were looked up so far.
    #[must_use]
    pub fn lookups(&self) -> u64 {
        self.lookups
    }
}
