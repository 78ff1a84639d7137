//! What the tests share: SA files, packets, and runs of the stages.

use std::path::Path;

use weir_crypto::{Descriptor, KeyMaterial, Layout, Sealer, SealingKey, Suite};
use weir_ipsec::{
    ClassifyInbound, ClassifyOutbound, DropReason, Output, Protect, SaFile, Sequences, Unprotect,
    Windows,
};
use weir_packet::wire::{LinkType, internet_checksum};
use weir_stream::{
    Batch, Context, DropReason as _, Event, MemorySource, Outcome, Pipeline, Stage, StageError,
    Statistics,
};

/// Bytes that stand for a key.
pub fn key(bytes: usize, start: u8) -> Vec<u8> {
    (0..bytes)
        .map(|index| start.wrapping_add((index as u8).wrapping_mul(7)))
        .collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|character| !character.is_whitespace())
        .map(|digit| digit.to_digit(16).expect("a hex digit") as u8)
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// `[[sa]]` with the tests' keys; `more` are further lines of it.
pub fn association(name: &str, spi: u32, suite: &str, mode: &str, more: &str) -> String {
    keyed_association(name, spi, suite, mode, more, 1)
}

/// `[[sa]]` with a cipher key (and salt) of its own, `key(_, start)`, and the
/// integrity key `key(_, start + 100)`.
pub fn keyed_association(
    name: &str,
    spi: u32,
    suite: &str,
    mode: &str,
    more: &str,
    start: u8,
) -> String {
    let parsed = Suite::parse(suite).expect("a suite");
    let cipher_key = key(parsed.key_bytes() + parsed.salt_bytes(), start);
    let integrity_key = key(parsed.integrity_key_bytes(), start + 100);
    let mut text = format!("[[sa]]\nname = {name:?}\nspi = {spi}\nsuite = {suite:?}\n");
    if !cipher_key.is_empty() {
        text += &format!("key = \"{}\"\n", hex(&cipher_key));
    }
    if !integrity_key.is_empty() {
        text += &format!("integrity_key = \"{}\"\n", hex(&integrity_key));
    }
    text + &format!("mode = {mode:?}\n{more}\n")
}

pub const TUNNEL4: &str = r#"tunnel = { source = "198.18.0.1", destination = "198.18.0.2" }"#;
pub const TUNNEL6: &str = r#"tunnel = { source = "fd00::1", destination = "fd00::2" }"#;
/// Lets a file name every suite.
pub const ANY_SUITE: &str =
    "allow_legacy = true\nlegacy_encrypt = true\nallow_private_use = true\n";

/// An SA file with one association, 0x1001, that protects everything.
pub fn one(suite: &str, mode: &str, more: &str) -> String {
    ANY_SUITE.to_owned()
        + &association("one", 0x1001, suite, mode, more)
        + "[[policy]]\naction = \"protect\"\nsa = \"one\"\n"
}

pub fn load(text: &str) -> SaFile {
    SaFile::parse(Path::new("test.toml"), text).expect("a right SA file")
}

/// Keeps what reaches it.
#[derive(Default)]
pub struct Collector {
    pub records: Vec<Vec<u8>>,
    pub events: Vec<Event>,
}

impl Stage for Collector {
    fn name(&self) -> &str {
        "collector"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.events.extend_from_slice(batch.events());
        for index in batch.live() {
            self.records.push(batch.record(index).to_vec());
        }
        Ok(())
    }
}

/// A finished run.
pub struct Run {
    pub records: Vec<Vec<u8>>,
    pub events: Vec<Event>,
    pub statistics: Statistics,
    pub outcome: Outcome,
}

impl Run {
    fn of(outcome: Outcome) -> Run {
        let collector = outcome.stages::<Collector>().next().expect("a collector");
        Run {
            records: collector.records.clone(),
            events: collector.events.clone(),
            statistics: outcome.statistics.clone(),
            outcome,
        }
    }

    /// Reasons of drops and their numbers.
    pub fn drops(&self) -> Vec<(DropReason, u64)> {
        let of_crate = |(word, count)| {
            let mut reasons = DropReason::ALL.iter();
            let reason = reasons.find(|reason| reason.word() == word);
            (*reason.expect("a reason of this crate"), count)
        };
        self.statistics.drops_by_reason().map(of_crate).collect()
    }
}

pub fn protect_with(
    file: SaFile,
    sequences: &Sequences,
    link: LinkType,
    records: &[Vec<u8>],
) -> Run {
    let classify = ClassifyOutbound::new(file.databases().clone());
    let mut stages = file
        .protect(sequences, Output::Capture, 1)
        .expect("usable keys");
    Run::of(
        Pipeline::new(MemorySource::new(link, records))
            .stage(classify)
            .stage(stages.remove(0))
            .sink(Collector::default())
            .run()
            .expect("a run"),
    )
}

pub fn protect(text: &str, link: LinkType, records: &[Vec<u8>]) -> Run {
    protect_with(load(text), &Sequences::RepeatableInsecure, link, records)
}

pub fn unprotect(text: &str, link: LinkType, records: &[Vec<u8>]) -> Run {
    unprotect_with(load(text), &Windows::Empty, link, records)
}

pub fn unprotect_with(file: SaFile, windows: &Windows, link: LinkType, records: &[Vec<u8>]) -> Run {
    let classify = ClassifyInbound::new(file.databases().clone());
    let mut stages = file.unprotect(windows, 1).expect("usable keys");
    Run::of(
        Pipeline::new(MemorySource::new(link, records))
            .stage(classify)
            .stage(stages.remove(0))
            .sink(Collector::default())
            .run()
            .expect("a run"),
    )
}

pub fn protect_stage(run: &Run) -> &Protect {
    run.outcome.stages::<Protect>().next().expect("a stage")
}

pub fn unprotect_stage(run: &Run) -> &Unprotect {
    run.outcome.stages::<Unprotect>().next().expect("a stage")
}

/// An ESP packet of a tunnel with extended numbers, under the tests' keys: made
/// with any number by a sender that never sent another.
pub fn seal_with_number(suite: &str, sequence: u64, inner: &[u8]) -> Vec<u8> {
    let suite = Suite::parse(suite).expect("a suite");
    let cipher_key = key(suite.key_bytes() + suite.salt_bytes(), 1);
    let integrity_key = key(suite.integrity_key_bytes(), 101);
    let material = KeyMaterial::new(suite, &cipher_key, &integrity_key).expect("keys");
    let unit = suite.block_bytes().max(4);
    let padding = (inner.len() + 2).next_multiple_of(unit) - inner.len() - 2;
    let mut text = inner.to_vec();
    text.extend(1..=padding as u8);
    text.extend([padding as u8, 4]);
    let mut packet = 0x1001u32.to_be_bytes().to_vec();
    packet.extend((sequence as u32).to_be_bytes());
    packet.extend(vec![0; suite.iv_bytes()]);
    packet.extend(&text);
    packet.extend(vec![0; suite.tag_bytes()]);
    let layout = Layout {
        payload_bytes: text.len() as u32,
        aad_bytes: 8,
        gap_bytes: 0,
        esn: true,
    };
    let key = SealingKey::new(material, sequence..=sequence).expect("a key");
    sealed(key, layout, packet)
}

/// The packet in this buffer, sealed.
fn sealed(key: SealingKey, layout: Layout, mut packet: Vec<u8>) -> Vec<u8> {
    let mut sealer = Sealer::new();
    let key = sealer.add(key);
    let mut batch = sealer.batch(&mut packet);
    let descriptor = Descriptor {
        key,
        layout,
        ..Descriptor::default()
    };
    batch.push(descriptor).expect("a packet");
    assert!(batch.run().all_good());
    packet
}

/// HMAC-SHA1-96 under the tests' integrity key: the ICV of a packet that only a
/// holder of the key can make. The NULL cipher serves as the MAC that it is.
pub fn hmac_sha1_96(bytes: &[u8]) -> Vec<u8> {
    let suite = Suite::parse("null+hmac-sha1-96").expect("a suite");
    let material = KeyMaterial::new(suite, &[], &key(20, 101)).expect("a key");
    let key = SealingKey::new(material, 1..).expect("a key");
    let layout = Layout {
        payload_bytes: bytes.len() as u32,
        ..Layout::default()
    };
    let packet = [bytes, &[0; 12]].concat();
    sealed(key, layout, packet).split_off(bytes.len())
}

/// An ESP packet of NULL and HMAC-SHA1-96 with any text at all.
pub fn null_esp(spi: u32, sequence: u32, text: &[u8]) -> Vec<u8> {
    let mut esp = spi.to_be_bytes().to_vec();
    esp.extend(sequence.to_be_bytes());
    esp.extend(text);
    esp.extend(hmac_sha1_96(&esp));
    esp
}

/// An IPv4 packet from 198.18.0.1 to 198.18.0.2.
pub fn between_gateways(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = ipv4(protocol, payload);
    packet[12..20].copy_from_slice(&[198, 18, 0, 1, 198, 18, 0, 2]);
    packet[10..12].fill(0);
    let checksum = internet_checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// An IPv4 packet from 198.18.1.1 to 198.18.2.2 with a right checksum.
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_to([198, 18, 2, 2], protocol, payload)
}

/// The same to another destination.
pub fn ipv4_to(destination: [u8; 4], protocol: u8, payload: &[u8]) -> Vec<u8> {
    let bytes = (20 + payload.len()) as u16;
    let mut packet = vec![0x45, 0xb8];
    packet.extend(bytes.to_be_bytes());
    packet.extend([0, 7, 0x40, 0, 63, protocol, 0, 0]);
    packet.extend([198, 18, 1, 1]);
    packet.extend(destination);
    let checksum = internet_checksum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(payload);
    packet
}

/// An IPv6 packet from fd00:1::1 to fd00:2::2.
pub fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x6b, 0x9a, 0xbc, 0xde];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next_header, 63]);
    for network in [1, 2] {
        packet.extend([
            0xfd, 0, 0, network, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, network,
        ]);
    }
    packet.extend(payload);
    packet
}

/// A UDP datagram between ports that mean nothing.
pub fn udp(destination_port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = vec![0x9c, 0x40];
    datagram.extend(destination_port.to_be_bytes());
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}
