//! Both ends of the tunnels, and packets for them.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use weir_crypto::BATCH_PACKETS;
use weir_ipsec::{
    ClassifyInbound, ClassifyOutbound, Output, Protect, SaFile, Sequences, Unprotect, Windows,
};
use weir_packet::file::Block;
use weir_packet::wire::{LinkType, internet_checksum};
use weir_stream::{Arrival, Batch, BatchLimits, Context, Stage, Vocabulary};

/// Permutations of `0..count`, the same ones in every run.
pub struct Shuffle {
    order: Vec<usize>,
    state: u64,
}

impl Shuffle {
    pub fn new(count: usize) -> Shuffle {
        Shuffle {
            order: (0..count).collect(),
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The next permutation (Fisher and Yates, by xorshift64*).
    pub fn next(&mut self) -> &[usize] {
        for last in (1..self.order.len()).rev() {
            self.state ^= self.state >> 12;
            self.state ^= self.state << 25;
            self.state ^= self.state >> 27;
            let random = self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
            self.order.swap(last, random as usize % (last + 1));
        }
        &self.order
    }
}

/// The end that protects.
pub struct Sender {
    classify: ClassifyOutbound,
    protect: Protect,
    batch: Batch,
    /// One for each association.
    frames: Vec<Vec<u8>>,
}

impl Sender {
    /// A sender with one packet for each of its associations.
    pub fn new(associations: usize, packet_bytes: usize) -> Sender {
        let file = sa_file(associations);
        let mut classify = ClassifyOutbound::new(file.databases().clone());
        let mut protect = file
            .protect(&Sequences::RepeatableInsecure, Output::Capture, 1)
            .expect("usable keys")
            .remove(0);
        register([&mut classify, &mut protect]);
        Sender {
            classify,
            protect,
            batch: Batch::new(BatchLimits::default()),
            frames: (0..associations)
                .map(|to| frame(to, packet_bytes))
                .collect(),
        }
    }

    /// Sends a packet through every association in this order, to `receive`;
    /// nanoseconds per packet of classification and of protection.
    pub fn round_ns(&mut self, order: &[usize], mut receive: impl FnMut(&[u8])) -> [f64; 2] {
        let mut ns = [0; 2];
        for of_batch in order.chunks(BATCH_PACKETS) {
            let frames = of_batch.iter().map(|to| self.frames[*to].as_slice());
            fill(&mut self.batch, frames);
            ns[0] += time(&mut self.classify, &mut self.batch);
            ns[1] += time(&mut self.protect, &mut self.batch);
            assert_eq!(self.batch.live().count(), of_batch.len(), "all go out");
            for index in self.batch.live() {
                receive(self.batch.record(index));
            }
        }
        ns.map(|ns| ns as f64 / order.len() as f64)
    }
}

/// The end that unprotects.
pub struct Receiver {
    classify: ClassifyInbound,
    unprotect: Unprotect,
    batch: Batch,
}

impl Receiver {
    pub fn new(associations: usize) -> Receiver {
        let file = sa_file(associations);
        let mut classify = ClassifyInbound::new(file.databases().clone());
        let mut unprotect = file
            .unprotect(&Windows::Empty, 1)
            .expect("usable keys")
            .remove(0);
        register([&mut classify, &mut unprotect]);
        Receiver {
            classify,
            unprotect,
            batch: Batch::new(BatchLimits::default()),
        }
    }

    /// Receives these frames; nanoseconds per packet of classification and of
    /// unprotection.
    pub fn round_ns(&mut self, frames: &[Vec<u8>]) -> [f64; 2] {
        let mut ns = [0; 2];
        for of_batch in frames.chunks(BATCH_PACKETS) {
            fill(&mut self.batch, of_batch.iter().map(Vec::as_slice));
            ns[0] += time(&mut self.classify, &mut self.batch);
            ns[1] += time(&mut self.unprotect, &mut self.batch);
            assert_eq!(self.batch.live().count(), of_batch.len(), "all verify");
        }
        ns.map(|ns| ns as f64 / frames.len() as f64)
    }
}

/// Gives the stages their words, as a pipeline does.
fn register(stages: [&mut dyn Stage; 2]) {
    let mut vocabulary = Vocabulary::default();
    for stage in stages {
        stage.register(&mut vocabulary).expect("words");
    }
}

fn time(stage: &mut impl Stage, batch: &mut Batch) -> u64 {
    let start = Instant::now();
    stage
        .process(batch, &mut Context::default())
        .expect("no defect");
    start.elapsed().as_nanos() as u64
}

/// Fills a batch as a source does, from a block of memory.
fn fill<'a>(batch: &mut Batch, frames: impl Iterator<Item = &'a [u8]>) {
    let mut bytes = Vec::new();
    let mut records = Vec::new();
    for frame in frames {
        let arrival = Arrival {
            wire_bytes: frame.len() as u32,
            link: LinkType::Ethernet,
            ..Arrival::default()
        };
        records.push((bytes.len() as u32, frame.len() as u32, arrival));
        bytes.extend_from_slice(frame);
    }
    batch.clear();
    batch
        .receive(&Arc::new(Block::from(bytes)), 0, records)
        .expect("an empty batch");
}

/// Association `n` protects what goes to 10.0.0.0 + n, in a tunnel of its own.
fn sa_file(associations: usize) -> SaFile {
    let mut text = String::new();
    for number in 0..associations {
        let [_, _, high, low] = (number as u32).to_be_bytes();
        writeln!(
            text,
            "[[sa]]\n\
             name = \"{number}\"\n\
             spi = {spi}\n\
             suite = \"aes-128-gcm-16\"\n\
             key = \"{number:08x}{number:08x}{number:08x}{number:08x}{number:08x}\"\n\
             mode = \"tunnel\"\n\
             tunnel = {{ source = \"198.18.{high}.{low}\", destination = \"198.19.{high}.{low}\" }}\n\
             [[policy]]\n\
             destination = \"10.0.{high}.{low}\"\n\
             action = \"protect\"\n\
             sa = \"{number}\"",
            spi = 0x1000 + number,
        )
        .expect("a string grows");
    }
    SaFile::parse(Path::new("bench.toml"), &text).expect("a right file")
}

/// An Ethernet frame with a packet for association `to`.
fn frame(to: usize, packet_bytes: usize) -> Vec<u8> {
    let [_, _, high, low] = (to as u32).to_be_bytes();
    let mut packet = vec![0x45, 0];
    packet.extend((packet_bytes as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend([192, 168, 0, 1, 10, 0, high, low]);
    let checksum = internet_checksum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend([0x12, 0x67, 0x12, 0x68]);
    packet.extend((packet_bytes as u16 - 20).to_be_bytes());
    packet.extend([0, 0]);
    packet.resize(packet_bytes, to as u8);
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend(packet);
    frame
}
