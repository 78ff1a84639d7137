//! ESP packets that come in: records, each with its length in two bytes in
//! front, through classifier and unprotection of a gateway.
//!
//! Sealed packets of every association are known here, and so is what is in
//! them. The promises of [`weir_ipsec`]: whatever is done to them, nothing
//! leaves the gateway that was not sealed; nothing leaves twice; every record
//! is forwarded or dropped for a reason.

mod seeds;

use std::path::Path;
use std::sync::LazyLock;

use weir_ipsec::{
    ClassifyInbound, ClassifyOutbound, Output, SaFile, Sequences, Unprotect, Windows,
};
use weir_packet::wire::build::{self, TcpHeader, flags};
use weir_packet::wire::{FlowKey, Headers, LinkType, protocol};
use weir_stream::{Batch, Context, MemorySource, Outcome, Pipeline, Stage, StageError};

pub use seeds::{WORDS, seeds};

/// Most records of an input.
const MAX_RECORDS: usize = 64;

/// Panics where a promise of the inbound gateway is broken.
pub fn check(input: &[u8]) {
    let records = records(input);
    let (left, unprotected) = unprotect(&records);
    assert_eq!(left.len() as u64, unprotected, "nothing may pass by");
    let mut seen = vec![false; GATEWAY.authentic.len()];
    for record in &left {
        let part = authentic_part(record);
        let known = GATEWAY.authentic.iter().position(|known| *known == part);
        let Some(known) = known else {
            panic!("a packet left that was never sealed: {record:02x?}");
        };
        assert!(!seen[known], "a packet left twice: {record:02x?}");
        seen[known] = true;
    }
}

/// Associations, packets that were sealed by them, and what was in these.
struct Gateway {
    file: SaFile,
    sealed: Vec<Vec<u8>>,
    authentic: Vec<AuthenticPart>,
}

static GATEWAY: LazyLock<Gateway> = LazyLock::new(|| {
    let originals = originals();
    let authentic = originals.iter().map(|packet| authentic_part(packet));
    Gateway {
        file: associations(),
        authentic: authentic.collect(),
        sealed: protect(&originals),
    }
});

/// What ESP vouches for in both modes: the protocol, and what follows the IP
/// header. The header itself may come from outside (in transport mode), and
/// takes marks of congestion and the like from there (in tunnel mode).
type AuthenticPart = (u8, Vec<u8>);

fn authentic_part(packet: &[u8]) -> AuthenticPart {
    let headers = Headers::parse(LinkType::RawIp, packet);
    (headers.protocol, headers.transport(packet).to_vec())
}

fn associations() -> SaFile {
    let text = include_str!("esp/associations.toml");
    match SaFile::parse(Path::new("associations.toml"), text) {
        Ok(file) => file,
        Err(error) => panic!("{error}"),
    }
}

/// Three different packets for each association.
fn originals() -> Vec<Vec<u8>> {
    let destinations = [
        (4, 0xc612_0101),
        (4, 0xc612_0201),
        (4, 0xc612_0301),
        (4, 0xc612_0401),
        (6, 0xfd00_0005 << 96 | 1),
        (6, 0xfd00_0006 << 96 | 1),
        (6, 0xfd00_0007 << 96 | 1),
    ];
    let mut packets = Vec::new();
    for (number, (ip_version, destination)) in (0u16..).zip(destinations) {
        let key = FlowKey {
            source: match ip_version {
                4 => 0xc612_0001,
                _ => 0xfd00_0001 << 96 | 1,
            },
            destination,
            source_port: 40_000 + number,
            destination_port: 7000,
            protocol: protocol::UDP,
            ip_version,
        };
        let tcp = FlowKey {
            protocol: protocol::TCP,
            ..key
        };
        let header = TcpHeader {
            sequence: 1,
            flags: flags::SYN,
            ..TcpHeader::default()
        };
        packets.push(build::udp_packet(&key, b"a datagram of its own"));
        packets.push(build::tcp_packet(&tcp, &header, b""));
        packets.push(build::udp_packet(&key, &[0x5a; 77]));
    }
    packets
}

/// Seals packets, each by the association of its destination.
fn protect(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let file = associations();
    let classify = ClassifyOutbound::new(file.databases().clone());
    let mut shards = match file.protect(&Sequences::RepeatableInsecure, Output::Capture, 1) {
        Ok(shards) => shards,
        Err(error) => panic!("{error}"),
    };
    let pipeline = Pipeline::new(MemorySource::new(LinkType::RawIp, packets))
        .stage(classify)
        .stage(shards.remove(0))
        .stage(Collect::default());
    collected(&run(pipeline))
}

/// What leaves an inbound gateway that was just started, and how many packets
/// it says it unprotected.
fn unprotect(records: &[&[u8]]) -> (Vec<Vec<u8>>, u64) {
    let classify = ClassifyInbound::new(GATEWAY.file.databases().clone());
    let mut shards = match GATEWAY.file.unprotect(&Windows::Empty, 1) {
        Ok(shards) => shards,
        Err(error) => panic!("{error}"),
    };
    let pipeline = Pipeline::new(MemorySource::new(LinkType::RawIp, records))
        .stage(classify)
        .stage(shards.remove(0))
        .stage(Collect::default());
    let outcome = run(pipeline);
    let statistics = &outcome.statistics;
    let drops: u64 = statistics.drops_by_reason().map(|(_, count)| count).sum();
    assert_eq!(statistics.packets(), records.len() as u64);
    assert_eq!(statistics.packets(), statistics.forwarded() + drops);
    let unprotected = outcome.stages::<Unprotect>().map(Unprotect::unprotected);
    (collected(&outcome), unprotected.sum())
}

fn run(pipeline: Pipeline) -> Outcome {
    match pipeline.run() {
        Ok(outcome) => outcome,
        Err(error) => panic!("bad packets are no errors: {error}"),
    }
}

fn collected(outcome: &Outcome) -> Vec<Vec<u8>> {
    let collectors = outcome.stages::<Collect>();
    collectors.flat_map(|collect| collect.0.clone()).collect()
}

/// Keeps what arrives.
#[derive(Default)]
struct Collect(Vec<Vec<u8>>);

impl Stage for Collect {
    fn name(&self) -> &str {
        "collect"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let records = batch.live().map(|index| batch.record(index).to_vec());
        self.0.extend(records);
        Ok(())
    }
}

/// Takes an input apart; a length beyond its end takes what is there.
fn records(mut input: &[u8]) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while let [high, low, rest @ ..] = input
        && records.len() < MAX_RECORDS
    {
        let record_bytes = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (record, later) = rest.split_at(record_bytes);
        records.push(record);
        input = later;
    }
    records
}

/// Puts an input together.
fn join<'a>(records: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut input = Vec::new();
    for record in records {
        input.extend((record.len() as u16).to_be_bytes());
        input.extend(record);
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_leaves_once() {
        let sealed: Vec<&[u8]> = GATEWAY.sealed.iter().map(Vec::as_slice).collect();
        assert_eq!(sealed.len(), 21);
        let (left, unprotected) = unprotect(&[&sealed[..], &sealed[..]].concat());
        let parts: Vec<AuthenticPart> = left.iter().map(|packet| authentic_part(packet)).collect();
        assert_eq!(parts, GATEWAY.authentic);
        assert_eq!(unprotected, 21);
    }
}
