//! What a check found, as values that can be printed and written as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Checker, QUEUE_PAIRS_MAX};
use crate::wire::{Opcode, Verdict};

/// What a check found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Packets of RoCEv2.
    pub rocev2: u64,
    /// Packets of native InfiniBand.
    pub infiniband: u64,
    /// Packets of other networks.
    pub other: u64,
    /// Packets of RoCEv2 or InfiniBand whose headers cannot be read, by reason.
    pub malformed: BTreeMap<&'static str, u64>,
    /// Packets that were not captured to their ICRC.
    pub cut: u64,
    /// Packets by operation code.
    pub opcodes: Vec<OpcodeRow>,
    /// Verdicts on the ICRCs.
    pub icrc: Verdicts,
    /// Of the packets with a wrong ICRC, those on virtual lane 15: subnet management.
    pub icrc_wrong_on_vl15: u64,
    /// Verdicts on the VCRCs of native packets.
    pub vcrc: Verdicts,
    /// Packets by partition key.
    pub partition_keys: Vec<PartitionKeyRow>,
    /// What was sent to queue pairs, requests and responses apart; the largest first.
    pub queue_pairs: Vec<QueuePairRow>,
    /// The most of them that are followed.
    pub queue_pairs_max: usize,
    /// Packets of queue pairs beyond that number.
    pub queue_pairs_untracked: u64,
    /// What is wrong with the packet numbers of connections.
    pub packet_numbers: PacketNumbers,
    /// The first packets of each kind with which something is wrong.
    pub findings: Vec<Finding>,
    /// All of them.
    pub findings_total: u64,
}

/// Packets of an operation.
#[derive(Clone, Debug, Serialize)]
pub struct OpcodeRow {
    /// The code.
    pub opcode: u8,
    /// Its name; the code in hexadecimal where it is not known.
    pub name: String,
    /// Packets.
    pub packets: u64,
    /// Their bytes from the LRH or the IP header to the ICRC.
    pub bytes: u64,
}

/// Verdicts on a check value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// It is the packet's.
    pub good: u64,
    /// It is not.
    pub wrong: u64,
    /// The packet has none, or was cut.
    pub absent: u64,
}

impl Verdicts {
    #[inline]
    pub(super) fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Good => self.good += 1,
            Verdict::Wrong => self.wrong += 1,
            Verdict::Absent => self.absent += 1,
        }
    }
}

/// Packets of a partition.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionKeyRow {
    /// The key in hexadecimal.
    pub partition_key: String,
    /// Whether its highest bit says that senders are full members.
    pub full_member: bool,
    /// Packets.
    pub packets: u64,
}

/// What one source sent to one queue pair.
#[derive(Clone, Debug, Serialize)]
pub struct QueuePairRow {
    /// Address of the sender: IP address, GID, or `lid:` and a LID.
    pub source: String,
    /// Address of the receiver.
    pub destination: String,
    /// Queue pair of the receiver.
    pub queue_pair: u32,
    /// Queue pair of the sender, which only datagrams name.
    pub source_queue_pair: Option<u32>,
    /// Transport of the first packet.
    pub transport: Option<&'static str>,
    /// `request`, or `response`; neither is a congestion notification.
    pub direction: Option<&'static str>,
    /// Packets.
    pub packets: u64,
    /// Their bytes from the LRH or the IP header to the ICRC.
    pub bytes: u64,
    /// As in [`PacketNumbers`].
    pub gaps: u64,
    /// As in [`PacketNumbers`].
    pub missing: u64,
    /// As in [`PacketNumbers`].
    pub repeated: u64,
    /// As in [`PacketNumbers`].
    pub jumps: u64,
}

/// What is wrong with the packet numbers of reliable and unreliable connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PacketNumbers {
    /// Requests in front of which numbers are missing.
    pub gaps: u64,
    /// Numbers that are missing, at least.
    pub missing: u64,
    /// Packets with numbers that came before.
    pub repeated: u64,
    /// Packets with numbers more than 65,536 away from what was expected.
    pub jumps: u64,
}

/// What can be wrong with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Its headers cannot be read.
    Malformed,
    /// Its ICRC is another one.
    IcrcWrong,
    /// Its VCRC is another one.
    VcrcWrong,
    /// Packet numbers are missing in front of it.
    PsnGap,
    /// Its packet number came before.
    PsnRepeated,
    /// Its packet number is far from the expected one.
    PsnJump,
}

impl FindingKind {
    /// All kinds, in order.
    pub const ALL: [FindingKind; 6] = [
        FindingKind::Malformed,
        FindingKind::IcrcWrong,
        FindingKind::VcrcWrong,
        FindingKind::PsnGap,
        FindingKind::PsnRepeated,
        FindingKind::PsnJump,
    ];

    /// A few words.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Malformed => "malformed",
            FindingKind::IcrcWrong => "wrong ICRC",
            FindingKind::VcrcWrong => "wrong VCRC",
            FindingKind::PsnGap => "packet numbers missing",
            FindingKind::PsnRepeated => "packet number repeated",
            FindingKind::PsnJump => "packet number jumps",
        }
    }
}

/// One packet with which something is wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Its number in the capture, from 1 on.
    pub packet: u64,
    /// What is wrong.
    pub kind: FindingKind,
    /// Address of the sender.
    pub source: Option<String>,
    /// Address of the receiver.
    pub destination: Option<String>,
    /// Queue pair of the receiver.
    pub queue_pair: Option<u32>,
    /// The check value or packet number that was expected.
    pub expected: Option<u32>,
    /// The one that was found.
    pub found: Option<u32>,
    /// What is wrong with the headers.
    pub reason: Option<String>,
}

impl Finding {
    pub(super) fn new(packet: u64, kind: FindingKind) -> Finding {
        Finding {
            packet,
            kind,
            source: None,
            destination: None,
            queue_pair: None,
            expected: None,
            found: None,
            reason: None,
        }
    }

    pub(super) fn values(self, expected: u32, found: u32) -> Finding {
        Finding {
            expected: Some(expected),
            found: Some(found),
            ..self
        }
    }
}

impl Report {
    /// Packets of RoCEv2 and InfiniBand, readable or not.
    pub fn fabric_packets(&self) -> u64 {
        self.rocev2 + self.infiniband + self.malformed.values().sum::<u64>()
    }
}

impl Checker {
    /// What was found so far.
    pub fn report(&self) -> Report {
        let opcodes = (0..=u8::MAX).map(Opcode).zip(self.opcodes.iter());
        let opcodes = opcodes.filter(|(_, count)| count.packets > 0);
        let partition_keys = (0..=u16::MAX).zip(&self.partition_keys);
        let partition_keys = partition_keys.filter(|(_, packets)| **packets > 0);
        Report {
            rocev2: self.rocev2,
            infiniband: self.infiniband,
            other: self.other,
            malformed: self.malformed.clone(),
            cut: self.cut,
            opcodes: opcodes
                .map(|(opcode, count)| OpcodeRow {
                    opcode: opcode.0,
                    name: opcode.to_string(),
                    packets: count.packets,
                    bytes: count.bytes,
                })
                .collect(),
            icrc: self.icrc,
            icrc_wrong_on_vl15: self.icrc_wrong_on_vl15,
            vcrc: self.vcrc,
            partition_keys: partition_keys
                .map(|(key, packets)| PartitionKeyRow {
                    partition_key: format!("0x{key:04x}"),
                    full_member: key & 0x8000 != 0,
                    packets: *packets,
                })
                .collect(),
            queue_pairs: self.queue_pairs.report(),
            queue_pairs_max: QUEUE_PAIRS_MAX,
            queue_pairs_untracked: self.queue_pairs.untracked(),
            packet_numbers: self.numbers,
            findings: self.findings.clone(),
            findings_total: self.findings_by_kind.iter().sum(),
        }
    }
}
