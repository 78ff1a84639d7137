//! Fragments follow the first one of their datagram (RFC 4301, section 7).
//!
//! Only the first fragment of a datagram shows its ports. What was decided about
//! it is remembered for the others; those that come before it are held until it
//! comes. All of this is bounded, in datagrams, records, bytes and time, and
//! divided by pairs of addresses under a secret hash, so that a sender who fills
//! its part leaves the others theirs.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use weir_packet::wire::{FlowKey, Fragment, Headers};
use weir_stream::{Batch, HeldRecord};

use crate::policy::Verdict;
use crate::reason::DropReason;

/// Parts of the memory; each pair of addresses has one.
const PARTS: usize = 128;

/// Datagrams that are remembered in each part; the oldest gives way.
const DATAGRAMS_PER_PART: usize = 64;

/// Records that are held in all, and in each part.
const HELD_RECORDS: usize = 1024;
const HELD_RECORDS_PER_PART: usize = 64;

/// Bytes of the records that are held.
const HELD_BYTES: usize = 4 << 20;

/// How long a datagram is remembered and its fragments are held, in time of
/// arrival.
const LIFETIME_NS: u64 = 10_000_000_000;

/// A datagram, by what its fragments have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Datagram {
    source: u128,
    destination: u128,
    identification: u32,
    /// 0 in IPv6, where the identification is of the two addresses alone.
    protocol: u8,
    ip_version: u8,
    vlan_tags: u8,
    /// Of the outermost tag.
    vlan: u16,
    interface: u16,
    /// The association that it came out of.
    association: Option<u32>,
}

impl Datagram {
    /// The datagram of a fragment; `None` for other packets.
    pub fn of(
        headers: &Headers,
        record: &[u8],
        interface: u16,
        association: Option<u32>,
    ) -> Option<Datagram> {
        let key = FlowKey::from_headers(headers, record)?;
        Some(Datagram {
            source: key.source,
            destination: key.destination,
            identification: headers.fragment_identification(record)?,
            protocol: if key.ip_version == 4 { key.protocol } else { 0 },
            ip_version: key.ip_version,
            vlan_tags: headers.vlan_tags,
            vlan: headers.vlan_tcis(record).next().unwrap_or(0) & 0x0fff,
            interface,
            association,
        })
    }
}

/// What was decided about a first fragment.
#[derive(Clone, Copy, Debug)]
struct Decided {
    datagram: Datagram,
    verdict: Verdict,
    at_ns: u64,
}

/// Fragments without their first one.
struct Waiting {
    records: Vec<HeldRecord>,
    since_ns: u64,
}

/// Decisions about first fragments, and the fragments that wait for one.
#[derive(Default)]
pub(crate) struct Fragments {
    /// By [part](Fragments::part); empty until there is a fragment.
    decided: Vec<VecDeque<Decided>>,
    waiting: HashMap<Datagram, Waiting>,
    /// Datagrams in the order in which they began to wait; some do no more.
    order: VecDeque<(u64, Datagram)>,
    /// Records with a verdict that wait for space in a batch.
    settled: VecDeque<(HeldRecord, Verdict)>,
    held_records: usize,
    held_bytes: usize,
    held_of_part: Vec<usize>,
    hash: RandomState,
}

impl Fragments {
    /// Whether nothing is held.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.held_records == 0
    }

    /// The verdict on a fragment by the first one of its datagram, which came out of
    /// `association` if of any; `verdict` is what its own headers say. `None` where it
    /// waits for the first one.
    pub fn follow_first(
        &mut self,
        batch: &mut Batch,
        index: usize,
        association: Option<u32>,
        verdict: Verdict,
    ) -> Option<Verdict> {
        let headers = *batch.headers(index);
        let arrival = *batch.arrival(index);
        let record = batch.record(index);
        let Some(datagram) = Datagram::of(&headers, record, arrival.interface, association) else {
            return Some(Verdict::Drop(DropReason::MalformedHeaders));
        };
        match (headers.fragment, verdict) {
            // It cannot be read, whatever the first one says.
            (
                Fragment::Later,
                Verdict::Drop(DropReason::MalformedHeaders | DropReason::ProtocolHidden),
            ) => Some(verdict),
            (Fragment::Later, _) => self.later(batch, index, datagram),
            _ => Some(self.first(datagram, arrival.clock_ns(), verdict)),
        }
    }

    /// Remembers what was decided about a first fragment, and lets those that
    /// wait for it go. Returns the decision: a datagram about which two first
    /// fragments disagree is dropped.
    fn first(&mut self, datagram: Datagram, at_ns: u64, verdict: Verdict) -> Verdict {
        let part = self.part(&datagram);
        self.decided.resize_with(PARTS, VecDeque::new);
        let Some(decided) = self.decided.get_mut(part) else {
            return Verdict::Drop(DropReason::FragmentLimit);
        };
        let known = decided
            .iter_mut()
            .find(|known| known.datagram == datagram && is_recent(known.at_ns, at_ns));
        let verdict = match known {
            Some(known) => {
                if known.verdict != verdict {
                    known.verdict = Verdict::Drop(DropReason::FragmentConflict);
                }
                known.verdict
            }
            None => {
                decided.retain(|known| known.datagram != datagram);
                if decided.len() == DATAGRAMS_PER_PART {
                    decided.pop_front();
                }
                decided.push_back(Decided {
                    datagram,
                    verdict,
                    at_ns,
                });
                verdict
            }
        };
        self.settle(&datagram, verdict);
        verdict
    }

    /// What was decided about the first fragment of a later one's datagram. Where
    /// it did not come yet, the record is held, and `None` returned, or dropped.
    fn later(&mut self, batch: &mut Batch, index: usize, datagram: Datagram) -> Option<Verdict> {
        let at_ns = batch.arrival(index).clock_ns();
        let part = self.part(&datagram);
        let known = self.decided.get(part).and_then(|decided| {
            decided
                .iter()
                .find(|known| known.datagram == datagram && is_recent(known.at_ns, at_ns))
        });
        if let Some(known) = known {
            return Some(known.verdict);
        }
        let bytes = batch.record(index).len();
        self.held_of_part.resize(PARTS, 0);
        let Some(held_of_part) = self.held_of_part.get_mut(part) else {
            return Some(Verdict::Drop(DropReason::FragmentLimit));
        };
        if self.held_records == HELD_RECORDS
            || *held_of_part == HELD_RECORDS_PER_PART
            || self.held_bytes + bytes > HELD_BYTES
        {
            return Some(Verdict::Drop(DropReason::FragmentLimit));
        }
        *held_of_part += 1;
        self.held_records += 1;
        self.held_bytes += bytes;
        let record = batch.hold(index);
        let order = &mut self.order;
        let waiting = self.waiting.entry(datagram).or_insert_with(|| {
            order.push_back((at_ns, datagram));
            Waiting {
                records: Vec::new(),
                since_ns: at_ns,
            }
        });
        waiting.records.push(record);
        None
    }

    /// Gives up on datagrams whose first fragment did not come in time, and puts
    /// records that were decided about back into the stream as far as the batch
    /// has space; `apply` carries out each verdict.
    pub fn release(
        &mut self,
        batch: &mut Batch,
        mut apply: impl FnMut(&mut Batch, usize, Verdict),
    ) {
        let last = batch.len().checked_sub(1);
        if let Some(now_ns) = last.map(|last| batch.arrival(last).clock_ns()) {
            while let Some((since_ns, datagram)) = self.order.front().copied()
                && !is_recent(since_ns, now_ns)
            {
                self.order.pop_front();
                self.give_up(since_ns, &datagram);
            }
        }
        while let Some((record, verdict)) = self.settled.pop_front() {
            let bytes = record.bytes().len();
            let of_part = Datagram::of(
                record.headers(),
                record.bytes(),
                record.arrival().interface,
                None,
            );
            match batch.release(record) {
                Ok(index) => {
                    self.let_go(of_part.map(|datagram| self.part(&datagram)), bytes);
                    apply(batch, index, verdict);
                }
                Err(record) => {
                    self.settled.push_front((record, verdict));
                    break;
                }
            }
        }
    }

    /// Gives up on all that wait: no more packets come.
    pub fn end(&mut self) {
        while let Some((since_ns, datagram)) = self.order.pop_front() {
            self.give_up(since_ns, &datagram);
        }
    }

    fn give_up(&mut self, since_ns: u64, datagram: &Datagram) {
        let waits =
            (self.waiting.get(datagram)).is_some_and(|waiting| waiting.since_ns == since_ns);
        if waits {
            self.settle(datagram, Verdict::Drop(DropReason::FirstFragmentMissing));
        }
    }

    fn settle(&mut self, datagram: &Datagram, verdict: Verdict) {
        if let Some(waiting) = self.waiting.remove(datagram) {
            let records = waiting.records.into_iter();
            self.settled.extend(records.map(|record| (record, verdict)));
            // The list of those that wait stays as short as they are few.
            if self.order.len() > 2 * HELD_RECORDS {
                let waiting = &self.waiting;
                self.order
                    .retain(|(_, datagram)| waiting.contains_key(datagram));
            }
        }
    }

    fn let_go(&mut self, part: Option<usize>, bytes: usize) {
        self.held_records = self.held_records.saturating_sub(1);
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
        if let Some(of_part) = part.and_then(|part| self.held_of_part.get_mut(part)) {
            *of_part = of_part.saturating_sub(1);
        }
    }

    /// The part of the memory that a datagram's pair of addresses has.
    fn part(&self, datagram: &Datagram) -> usize {
        let pair = (datagram.source, datagram.destination, datagram.ip_version);
        self.hash.hash_one(pair) as usize % PARTS
    }
}

/// Whether two fragments can be of one datagram, by their times of arrival.
fn is_recent(earlier_ns: u64, later_ns: u64) -> bool {
    earlier_ns.abs_diff(later_ns) <= LIFETIME_NS
}

#[cfg(test)]
mod tests;
