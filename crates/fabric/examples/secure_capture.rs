//! What becomes of the packets of a capture when they are protected and restored:
//!
//! ```text
//! cargo run --release -p weir-fabric --example secure_capture -- CAPTURE
//! ```
//!
//! Without a capture, a packet of every operation of reliable connections is made, native and over IPv4.
//!
//! Keys are those of unlisted queue pairs, for every partition of the capture. Each secure packet is
//! also changed in every bit, one at a time and with a fresh receiver for each: it must be refused, or bring
//! the same message, as only fields that switches change are free. And it is sent with a cleared
//! identifier, as a plain packet. The example fails where one of that is not so.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use weir_fabric::secure::{
    Batch, DropReason, Places, PlainPolicy, Receiver, Secret, Sender, SessionRandom, TagLimits,
    Unlisted,
};
use weir_fabric::wire::{Bth, Lrh, Message, Opcode, Packet, Transport};
use weir_packet::file::Reader;
use weir_packet::wire::build::IpHeader;
use weir_packet::wire::{FlowKey, LinkType, protocol};
use weir_stream::DropReason as _;

const BATCH_RECORDS: usize = 256;
const BATCH_BYTES: usize = 1 << 20;

#[derive(Default)]
struct Counts {
    records: u64,
    drops: BTreeMap<&'static str, u64>,
    identical: u64,
    bits_refused: BTreeMap<&'static str, u64>,
    bits_free: u64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let records = match std::env::args_os().nth(1) {
        Some(path) => read(Path::new(&path))?,
        None => made()?,
    };
    let mut counts = Counts::default();
    let mut partitions = Vec::new();
    let (mut sender, mut receiver) = (new_sender(&[])?, new_receiver(&[])?);
    for (link, record) in &records {
        let link = *link;
        counts.records += 1;
        let packet = Packet::parse(link, record).ok().flatten();
        let partition = packet.map(|packet| packet.bth().partition_key & 0x7fff);
        if let Some(partition) = partition.filter(|one| !partitions.contains(one)) {
            partitions.push(partition);
            sender.add_unlisted(keys(partition)?, 1..2)?;
            receiver.add_unlisted(keys(partition)?, 1)?;
        }
        let secure = match pass(link, record, |batch| sender.protect(batch, 0)) {
            Ok(secure) => secure,
            Err(reason) => {
                *counts.drops.entry(reason.word().name).or_default() += 1;
                continue;
            }
        };
        let restored = pass(link, &secure, |batch| {
            receiver.unprotect(batch, 0);
        });
        if restored.as_ref() != Ok(record) {
            return Err(format!("record {} returns as {restored:?}", counts.records).into());
        }
        counts.identical += 1;
        change_every_bit(link, record, &secure, &partitions, &mut counts)?;
    }
    println!("records {}", counts.records);
    for (reason, packets) in &counts.drops {
        println!("not protected, {reason}: {packets}");
    }
    println!("restored byte for byte {}", counts.identical);
    for (reason, bits) in &counts.bits_refused {
        println!("bits changed and refused, {reason}: {bits}");
    }
    println!("bits changed in fields that are free {}", counts.bits_free);
    Ok(())
}

type Records = Vec<(LinkType, Vec<u8>)>;

fn read(path: &Path) -> Result<Records, Box<dyn Error>> {
    let mut reader = Reader::open(path)?;
    let (mut entries, mut records) = (Vec::new(), Records::new());
    while let Some(block) = reader.fill(BATCH_RECORDS, BATCH_BYTES, &mut entries)? {
        for entry in entries.drain(..) {
            let link = reader.interfaces()[entry.interface as usize].link;
            records.push((link, entry.bytes(&block).to_vec()));
        }
    }
    Ok(records)
}

fn made() -> Result<Records, Box<dyn Error>> {
    let mut records = Records::new();
    let of_connections = |opcode: &Opcode| opcode.transport() == Some(Transport::Rc);
    for (opcode, psn) in Opcode::all().filter(of_connections).zip(1..) {
        let message = Message {
            bth: Bth {
                opcode,
                partition_key: 0x8001,
                destination_qp: 0x17,
                psn,
                ..Bth::default()
            },
            payload: match opcode.may_have_payload() {
                true => b"a payload with a pad",
                false => b"",
            },
            ..Message::default()
        };
        let lrh = Lrh {
            source_lid: 1,
            destination_lid: 2,
            ..Lrh::default()
        };
        let mut native = Vec::new();
        message.write_native(&mut native, lrh, None)?;
        let key = FlowKey {
            source: 0xc612_0001,
            destination: 0xc612_0002,
            source_port: 49_152,
            destination_port: 4791,
            protocol: protocol::UDP,
            ip_version: 4,
        };
        let mut routable = Vec::new();
        message.write_rocev2(&mut routable, &key, &IpHeader::default())?;
        records.extend([
            (LinkType::InfiniBand, native),
            (LinkType::RawIpv4, routable),
        ]);
    }
    Ok(records)
}

fn keys(partition_key: u16) -> Result<Unlisted, Box<dyn Error>> {
    let secret = Secret::new(b"a secret of 32 bytes for a test.".to_vec())?;
    Ok(Unlisted::new(
        partition_key,
        &secret,
        SessionRandom([1; 16]),
    ))
}

fn new_sender(partitions: &[u16]) -> Result<Sender, Box<dyn Error>> {
    let mut sender = Sender::new(PlainPolicy::default());
    for &partition in partitions {
        sender.add_unlisted(keys(partition)?, 1..2)?;
    }
    Ok(sender)
}

fn new_receiver(partitions: &[u16]) -> Result<Receiver, Box<dyn Error>> {
    let mut receiver = Receiver::new(PlainPolicy::default(), TagLimits::default());
    for &partition in partitions {
        receiver.add_unlisted(keys(partition)?, 1)?;
    }
    Ok(receiver)
}

fn pass(
    link: LinkType,
    record: &[u8],
    run: impl FnOnce(&mut Batch<'_>),
) -> Result<Vec<u8>, DropReason> {
    let mut buffer = record.to_vec();
    buffer.extend([0; Batch::SPACE_BYTES]);
    let mut places = Places::new();
    let mut batch = places.batch(&mut buffer);
    if !batch.push(link, 0..record.len()) {
        return Err(DropReason::NotRun);
    }
    run(&mut batch);
    batch.get(0).map(<[u8]>::to_vec)
}

fn change_every_bit(
    link: LinkType,
    plain: &[u8],
    secure: &[u8],
    partitions: &[u16],
    counts: &mut Counts,
) -> Result<(), Box<dyn Error>> {
    let message = |record: &[u8]| {
        let packet = Packet::parse(link, record).ok().flatten()?;
        let bth = packet.bth();
        let headers = record.get(packet.extended_range())?.to_vec();
        let bth = (bth.opcode, bth.partition_key, bth.destination_qp, bth.psn);
        Some((bth, headers, packet.payload().to_vec()))
    };
    let open = |record: &[u8]| -> Result<Result<Vec<u8>, DropReason>, Box<dyn Error>> {
        let mut receiver = new_receiver(partitions)?;
        Ok(pass(link, record, |batch| {
            receiver.unprotect(batch, 0);
        }))
    };
    for bit in 0..8 * secure.len() {
        let mut changed = secure.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        match open(&changed)? {
            Err(reason) => *counts.bits_refused.entry(reason.word().name).or_default() += 1,
            Ok(restored) if message(&restored) == message(plain) => counts.bits_free += 1,
            Ok(_) => return Err(format!("bit {bit} brings another message").into()),
        }
    }
    let identifier = Packet::parse(link, secure)?
        .ok_or("no packet")?
        .bth_range()
        .start
        + 4;
    let mut cleared = secure.to_vec();
    cleared[identifier] &= 0xc0;
    match open(&cleared)? {
        Err(DropReason::PlainRefused) => Ok(()),
        other => Err(format!("a cleared identifier: {other:?}").into()),
    }
}
