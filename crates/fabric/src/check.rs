//! What a capture of InfiniBand or RoCEv2 holds, and what is wrong with it.
//!
//! [`Checker`] takes packet after packet: it counts operation codes, partition keys and queue pairs,
//! compares check values, and follows the packet numbers of connections. [`Report`] has the sums.
//! [`CheckStage`] does that to the packets of a pipeline. Memory is bounded: by
//! [`QUEUE_PAIRS_MAX`] and [`FINDINGS_MAX`], and by what 16 bits of partition key can name.
//!
//! ```
//! use weir_fabric::check::Checker;
//! use weir_packet::wire::{Headers, LinkType};
//!
//! let mut checker = Checker::default();
//! let record = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
//! let headers = Headers::parse(LinkType::RawIp, &record);
//! checker.check(1, &headers, LinkType::RawIp, &record);
//! assert_eq!(checker.report().other, 1);
//! ```

mod numbers;
mod queue_pairs;
mod report;
mod stage;

use std::collections::BTreeMap;

use weir_packet::wire::{Headers, LinkType};

use crate::wire::{Direction, Fault, Packet, Transport, Verdict};
use numbers::Observation;
use queue_pairs::{QueuePairKey, QueuePairs};

pub use report::{
    Finding, FindingKind, OpcodeRow, PacketNumbers, PartitionKeyRow, QueuePairRow, Report, Verdicts,
};
pub use stage::CheckStage;

/// The most queue pairs that are followed; packets of others are counted together.
pub const QUEUE_PAIRS_MAX: usize = 16_384;

/// The most findings of a kind that are kept, the first ones.
pub const FINDINGS_MAX: usize = 100;

/// The virtual lane of subnet management.
const MANAGEMENT_LANE: u8 = 15;

/// Counts what comes, and notes what is wrong.
pub struct Checker {
    rocev2: u64,
    infiniband: u64,
    other: u64,
    cut: u64,
    malformed: BTreeMap<&'static str, u64>,
    opcodes: Box<[Count; 256]>,
    /// A count for each partition key.
    partition_keys: Box<[u64]>,
    icrc: Verdicts,
    icrc_wrong_on_vl15: u64,
    vcrc: Verdicts,
    queue_pairs: QueuePairs,
    numbers: PacketNumbers,
    findings: Vec<Finding>,
    findings_by_kind: [u64; FindingKind::ALL.len()],
}

/// Packets, and their bytes from the LRH or the IP header to the ICRC.
#[derive(Clone, Copy, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Default for Checker {
    fn default() -> Checker {
        Checker {
            rocev2: 0,
            infiniband: 0,
            other: 0,
            cut: 0,
            malformed: BTreeMap::new(),
            opcodes: Box::new([Count::default(); 256]),
            partition_keys: vec![0; 1 << 16].into_boxed_slice(),
            icrc: Verdicts::default(),
            icrc_wrong_on_vl15: 0,
            vcrc: Verdicts::default(),
            queue_pairs: QueuePairs::default(),
            numbers: PacketNumbers::default(),
            findings: Vec::new(),
            findings_by_kind: [0; FindingKind::ALL.len()],
        }
    }
}

impl Checker {
    /// Takes the next packet into account: the record number `number`, with the headers that
    /// [`Headers::parse`] found in it.
    pub fn check(&mut self, number: u64, headers: &Headers, link: LinkType, record: &[u8]) {
        // One call each, so that what is known of a packet stays in registers.
        match link {
            LinkType::InfiniBand => {
                self.take(
                    number,
                    Packet::behind(headers, LinkType::InfiniBand, record),
                );
            }
            _ => self.take(number, Packet::behind(headers, link, record)),
        }
    }

    #[inline(always)]
    fn take(&mut self, number: u64, found: Result<Option<Packet<'_>>, Fault>) {
        match found {
            Ok(Some(packet)) => self.add(number, &packet),
            Ok(None) => self.other += 1,
            Err(fault) => self.refuse(number, fault),
        }
    }

    #[cold]
    fn refuse(&mut self, number: u64, fault: Fault) {
        *self.malformed.entry(fault.name()).or_default() += 1;
        self.note(FindingKind::Malformed, || Finding {
            reason: Some(fault.to_string()),
            ..Finding::new(number, FindingKind::Malformed)
        });
    }

    #[inline(always)]
    fn add(&mut self, number: u64, packet: &Packet<'_>) {
        match packet.carrier().is_rocev2() {
            true => self.rocev2 += 1,
            false => self.infiniband += 1,
        }
        self.cut += u64::from(packet.is_cut());
        let bth = packet.bth();
        let bytes = packet.packet_bytes() as u64;
        self.opcodes[usize::from(bth.opcode.0)].add(bytes);
        self.partition_keys[usize::from(bth.partition_key)] += 1;
        let key = QueuePairKey::of(packet);
        self.compare(number, packet, &key);
        let transport = bth.opcode.transport();
        let Some(row) = self.queue_pairs.row(&key, transport) else {
            return;
        };
        row.packets += 1;
        row.bytes += bytes;
        if !matches!(transport, Some(Transport::Rc | Transport::Uc)) {
            return;
        }
        let observation = match bth.opcode.direction() {
            Some(Direction::Request) => {
                let reth = packet.reth().filter(|_| !bth.opcode.may_have_payload());
                row.sequence
                    .request(bth.psn, reth.map(|reth| reth.dma_bytes))
            }
            Some(Direction::Response) => row.sequence.response(bth.psn),
            None => return,
        };
        let (kind, expected) = match observation {
            Observation::InOrder => return,
            Observation::Gap { expected, missing } => {
                self.numbers.gaps += 1;
                self.numbers.missing += u64::from(missing);
                row.gaps += 1;
                row.missing += u64::from(missing);
                (FindingKind::PsnGap, expected)
            }
            Observation::Repeated { expected } => {
                self.numbers.repeated += 1;
                row.repeated += 1;
                (FindingKind::PsnRepeated, expected)
            }
            Observation::Jump { expected } => {
                self.numbers.jumps += 1;
                row.jumps += 1;
                (FindingKind::PsnJump, expected)
            }
        };
        let found = bth.psn;
        self.note(kind, || key.finding(number, kind).values(expected, found));
    }

    /// Compares the check values.
    #[inline(always)]
    fn compare(&mut self, number: u64, packet: &Packet<'_>, key: &QueuePairKey) {
        let verdict = packet.check_icrc();
        self.icrc.add(verdict);
        if verdict == Verdict::Wrong {
            let lane = packet.lrh().map(|lrh| lrh.virtual_lane);
            self.icrc_wrong_on_vl15 += u64::from(lane == Some(MANAGEMENT_LANE));
            let values = packet.computed_icrc().zip(packet.icrc());
            let (expected, found) = values.unwrap_or_default();
            let kind = FindingKind::IcrcWrong;
            self.note(kind, || key.finding(number, kind).values(expected, found));
        }
        if packet.carrier().is_rocev2() {
            return;
        }
        let verdict = packet.check_vcrc();
        self.vcrc.add(verdict);
        if verdict == Verdict::Wrong {
            let values = packet.computed_vcrc().zip(packet.vcrc());
            let (expected, found) = values.unwrap_or_default();
            let kind = FindingKind::VcrcWrong;
            self.note(kind, || {
                key.finding(number, kind)
                    .values(expected.into(), found.into())
            });
        }
    }

    /// Keeps a finding if there are not too many of its kind.
    #[cold]
    #[inline(never)]
    fn note(&mut self, kind: FindingKind, finding: impl FnOnce() -> Finding) {
        let count = &mut self.findings_by_kind[kind as usize];
        *count += 1;
        if *count <= FINDINGS_MAX as u64 {
            self.findings.push(finding());
        }
    }
}

impl Count {
    fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

#[cfg(test)]
mod tests;
