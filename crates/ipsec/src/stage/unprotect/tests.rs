//! What comes out of tunnels, against what was put in, and batches against their packets one by
//! one.

use std::path::Path;

use proptest::prelude::*;
use weir_crypto::{KeyMaterial, Sealer, SealingKey, Suite};
use weir_packet::wire::LinkType;

use super::super::SOFT_LIFETIME;
use super::*;
use crate::esp::Format;
use crate::report::Traffic;
use crate::{SaFile, Windows};
use crate::{ecn, header};

const SUITES: [&str; 4] = [
    "aes-128-gcm-16",
    "aes-256-gcm-16",
    "chacha20-poly1305",
    "aes-256-ctr+hmac-sha2-256-128",
];

/// Tunnels of all suites: of every two, one extends its numbers and may carry
/// anything for ever, the other may not.
fn sa_file() -> SaFile {
    let mut text: String = (0..2 * SUITES.len())
        .map(|number| {
            let suite = SUITES[number / 2];
            let (key, integrity) = keys(number);
            let hex = |bytes: &[u8]| -> String {
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            };
            let integrity = match integrity.as_slice() {
                [] => String::new(),
                bytes => format!("integrity_key = \"{}\"\n", hex(bytes)),
            };
            let limits = match number % 2 {
                0 => "esn = true\nwindow = 128\n".to_owned(),
                _ => {
                    "soft_lifetime = { packets = 4 }\nhard_lifetime = { packets = 9 }\n".to_owned()
                }
            };
            format!(
                "[[sa]]\nname = \"{number}\"\nspi = {spi}\nsuite = \"{suite}\"\nkey = \"{}\"\n\
                 {integrity}mode = \"tunnel\"\n\
                 tunnel = {{ source = \"198.18.0.1\", destination = \"198.18.0.2\" }}\n\
                 {limits}",
                hex(&key),
                spi = 0x1000 + number,
            )
        })
        .collect();
    text += "[[policy]]\ndirection = \"inbound\"\nsource = \"10.0.0.0/8\"\n\
             action = \"protect\"\nsa = [\"1\", \"3\", \"5\", \"7\"]\n\
             [[policy]]\ndirection = \"inbound\"\n\
             action = \"protect\"\nsa = [\"0\", \"2\", \"4\", \"6\"]\n";
    SaFile::parse(Path::new("sa.toml"), &text).expect("a right file")
}

fn suite(number: usize) -> Suite {
    Suite::parse(SUITES[number / 2]).expect("a suite")
}

/// Those of an association: cipher's and MAC's.
fn keys(number: usize) -> (Vec<u8>, Vec<u8>) {
    let suite = suite(number);
    let key = vec![number as u8 + 1; suite.key_bytes() + suite.salt_bytes()];
    (key, vec![number as u8 + 99; suite.integrity_key_bytes()])
}

/// What is inside a packet, and how it travels.
#[derive(Clone, Debug)]
struct Sent {
    association: usize,
    sequence: u64,
    /// Whether the outer header and the inner one are IPv6.
    is_ipv6: (bool, bool),
    traffic_class: (u8, u8),
    /// Of the inner source address.
    first_octet: u8,
    contents_bytes: usize,
    /// Behind the inner packet, as padding against traffic analysis.
    more_bytes: usize,
    fault: Fault,
    link: LinkType,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    Padding,
    Dummy,
    NextHeader,
    OtherVersion,
    InnerLength,
    NothingInside,
    FlippedBit(usize),
    CutBytes(usize),
}

fn sent() -> impl Strategy<Value = Sent> {
    let fault = prop_oneof![
        12 => Just(Fault::None),
        1 => Just(Fault::Padding),
        1 => Just(Fault::Dummy),
        1 => Just(Fault::NextHeader),
        1 => Just(Fault::OtherVersion),
        1 => Just(Fault::InnerLength),
        1 => Just(Fault::NothingInside),
        1 => (0usize..1000).prop_map(Fault::FlippedBit),
        1 => (1usize..60).prop_map(Fault::CutBytes),
    ];
    let sequence =
        prop_oneof![9 => 1u64..40, 1 => (1u64 << 32)..(1 << 32) + 9, 1 => 1u64 << 31..1 << 33];
    let link = prop_oneof![4 => Just(LinkType::Ethernet), 1 => Just(LinkType::RawIp), 1 => Just(LinkType::RawIpv4)];
    let classes = prop_oneof![2 => Just((0, 0)), 1 => any::<(u8, u8)>()];
    (
        (0..2 * SUITES.len(), sequence),
        (prop::bool::weighted(0.2), prop::bool::weighted(0.3)),
        classes,
        prop_oneof![4 => Just(10u8), 1 => Just(11)],
        (0usize..300, prop_oneof![3 => Just(0usize), 1 => 0usize..40]),
        fault,
        link,
    )
        .prop_map(
            |((association, sequence), is_ipv6, traffic_class, first_octet, bytes, fault, link)| {
                Sent {
                    association,
                    sequence,
                    is_ipv6,
                    traffic_class,
                    first_octet,
                    contents_bytes: bytes.0,
                    more_bytes: bytes.1,
                    fault,
                    link,
                }
            },
        )
}

fn ip_header(is_ipv6: bool, class: u8, protocol: u8, bytes: usize, first_octet: u8) -> Vec<u8> {
    if is_ipv6 {
        let mut header = vec![0x60 | class >> 4, class << 4, 0, 0];
        header.extend((bytes as u16).to_be_bytes());
        header.extend([protocol, 9]);
        header.extend([7; 32]);
        return header;
    }
    let mut header = vec![0x45, class];
    header.extend((bytes as u16 + 20).to_be_bytes());
    header.extend([0, 1, 0, 0, 9, protocol, 3, 3]);
    header.extend([first_octet, 0, 0, 1, 198, 18, 0, 2]);
    header
}

/// The frame that a sender would make of it.
fn frame(sent: &Sent) -> Vec<u8> {
    let suite = suite(sent.association);
    let (outer_is_ipv6, inner_is_ipv6) = sent.is_ipv6;
    let (outer_class, inner_class) = sent.traffic_class;
    let told_bytes = match sent.fault {
        Fault::InnerLength => sent.contents_bytes + sent.more_bytes + 1,
        _ => sent.contents_bytes,
    };
    let mut text = ip_header(inner_is_ipv6, inner_class, 59, told_bytes, sent.first_octet);
    text.extend(vec![0x5a; sent.contents_bytes + sent.more_bytes]);
    if sent.fault == Fault::NothingInside {
        text.clear();
    }
    let pad_bytes = (text.len() + 2).next_multiple_of(4) - text.len() - 2;
    text.extend(1..=pad_bytes as u8);
    if sent.fault == Fault::Padding
        && let Some(last) = text.last_mut()
    {
        *last ^= 0x80;
    }
    let next_header = match sent.fault {
        Fault::Dummy => 59,
        Fault::NextHeader => 6,
        fault if (fault == Fault::OtherVersion) == inner_is_ipv6 => 4,
        _ => 41,
    };
    text.extend([pad_bytes as u8, next_header]);

    let (key, integrity) = keys(sent.association);
    let material = KeyMaterial::new(suite, &key, &integrity).expect("lengths are the suite's");
    let sequence = sent.sequence;
    let key = SealingKey::new(material, sequence..=sequence).expect("a sealing key");
    let spi = 0x1000 + sent.association as u32;
    let mut esp = spi.to_be_bytes().to_vec();
    esp.extend((sequence as u32).to_be_bytes());
    esp.extend(vec![0; suite.iv_bytes()]);
    esp.extend(&text);
    esp.extend(vec![0; suite.tag_bytes()]);
    let format = Format::new(&sa_file().associations()[sent.association]);
    let mut sealer = Sealer::new();
    let key = sealer.add(key);
    let mut batch = sealer.batch(&mut esp);
    batch
        .push(format.descriptor(key, 0, text.len()))
        .expect("a well-formed packet");
    assert!(batch.run().all_good());

    let mut frame = match (sent.link, outer_is_ipv6) {
        (LinkType::Ethernet, true) => [vec![0xaa; 12], vec![0x86, 0xdd]].concat(),
        (LinkType::Ethernet, false) => [vec![0xaa; 12], vec![0x08, 0x00]].concat(),
        _ => Vec::new(),
    };
    let mut packet = ip_header(outer_is_ipv6, outer_class, 50, esp.len(), 198);
    packet.extend(esp);
    match sent.fault {
        Fault::FlippedBit(bit) => {
            let first = ip_header(outer_is_ipv6, 0, 0, 0, 0).len() + 8;
            let bit = bit % ((packet.len() - first) * 8);
            packet[first + bit / 8] ^= 1 << (bit % 8);
        }
        Fault::CutBytes(bytes) => packet.truncate(packet.len().saturating_sub(bytes)),
        _ => {}
    }
    frame.extend(packet);
    frame
}

/// What became of each record of a batch, what was noticed, and what came out of
/// the associations.
type Outcome = (
    Vec<Result<(Vec<u8>, Work), DropReason>>,
    Vec<weir_stream::Members>,
    Vec<(u32, u64, u64)>,
);

fn outcome(stage: &mut Unprotect, batches: &[Vec<(usize, LinkType, Vec<u8>)>]) -> Outcome {
    let words = Words::register(&mut Vocabulary::default()).expect("numbers");
    stage.words = Some(words);
    let (mut records, mut events) = (Vec::new(), Vec::new());
    for frames in batches {
        let mut batch = Batch::new(BatchLimits::default());
        for (number, link, frame) in frames {
            let bytes = frame.len() as u32;
            let arrival = RecordArrival {
                wire_bytes: bytes,
                link: *link,
                ..RecordArrival::default()
            };
            let block = Arc::new(Block::from(frame.clone()));
            batch
                .receive(&block, 0, [(0, bytes, arrival)])
                .expect("room");
            let index = batch.len() - 1;
            let work = batch
                .work(index)
                .with_argument(words.unprotect, *number as u32);
            batch.set_work(index, work);
        }
        stage
            .process(&mut batch, &mut Context::default())
            .expect("no defect");
        for index in 0..batch.len() {
            records.push(match batch.disposition(index) {
                Disposition::Drop(code) => Err(words
                    .reasons()
                    .reason(code)
                    .expect("a reason of this crate")),
                _ => {
                    assert!(batch.is_as_parsed(index));
                    Ok((batch.record(index).to_vec(), batch.work(index)))
                }
            });
        }
        for event in batch.events() {
            assert!(event.kind.is(&SOFT_LIFETIME));
            events.push(event.members.clone().expect("the SPI"));
        }
    }
    let traffic = stage.reports().into_iter().map(|report| {
        let Traffic { packets, bytes } = report.traffic;
        (report.association, packets, bytes)
    });
    let traffic = traffic.collect();
    (records, events, traffic)
}

fn stage() -> Unprotect {
    sa_file()
        .unprotect(&Windows::Empty, 1)
        .expect("keys")
        .remove(0)
}

/// A forged packet is refused by the window or the lifetime only once the packets before it are
/// verified, which within a batch is too late.
fn kind(record: &Result<(Vec<u8>, Work), DropReason>) -> Result<&[u8], DropReason> {
    match record {
        Ok((record, _)) => Ok(record),
        Err(DropReason::Replay | DropReason::LifetimeExpired) => Err(DropReason::IntegrityFailed),
        Err(reason) => Err(*reason),
    }
}

/// The record that a packet without a fault becomes.
fn unwrapped(sent: &Sent) -> Vec<u8> {
    let (outer_class, inner_class) = sent.traffic_class;
    let mut packet = ip_header(
        sent.is_ipv6.1,
        inner_class,
        59,
        sent.contents_bytes,
        sent.first_octet,
    );
    packet.extend(vec![0x5a; sent.contents_bytes]);
    let ecn = ecn::decapsulated(inner_class, outer_class).expect("a markable packet");
    if ecn != inner_class & 3 {
        header::set_ecn(&mut packet, ecn);
    }
    let link_header = match (sent.link, sent.is_ipv6.1) {
        (LinkType::Ethernet, true) => [vec![0xaa; 12], vec![0x86, 0xdd]].concat(),
        (LinkType::Ethernet, false) => [vec![0xaa; 12], vec![0x08, 0x00]].concat(),
        _ => Vec::new(),
    };
    [link_header, packet].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn batches_are_unprotected_as_their_packets_are(
        batches in prop::collection::vec(prop::collection::vec(sent(), 1..14), 1..5),
    ) {
        // Batches have at most 16 blocks.
        let frames: Vec<Vec<_>> = (batches.iter())
            .map(|batch| batch.iter().map(|s| (s.association, s.link, frame(s))).collect())
            .collect();
        let one_by_one: Vec<Vec<_>> = (frames.iter().flatten())
            .map(|frame| vec![frame.clone()])
            .collect();
        let (records, events, traffic) = outcome(&mut stage(), &frames);
        let expected = outcome(&mut stage(), &one_by_one);
        prop_assert_eq!((events, traffic), (expected.1, expected.2));
        let kinds: Vec<_> = records.iter().map(kind).collect();
        prop_assert_eq!(kinds, expected.0.iter().map(kind).collect::<Vec<_>>());
        for (sent, record) in batches.iter().flatten().zip(&records) {
            // Where there is no padding, its fault is one of the contents.
            if let Ok((record, work)) = record && sent.fault != Fault::Padding {
                prop_assert_eq!(sent.fault, Fault::None);
                prop_assert_eq!(record, &unwrapped(sent));
                prop_assert_eq!(*work, Work::UNCLASSIFIED);
            }
        }
    }
}

/// The cases above would prove little if they did not occur.
#[test]
fn a_packet_of_each_fate() {
    let whole = Sent {
        association: 1,
        sequence: 1,
        is_ipv6: (false, false),
        traffic_class: (0, 0),
        first_octet: 10,
        contents_bytes: 40,
        more_bytes: 0,
        fault: Fault::None,
        link: LinkType::Ethernet,
    };
    let of = |change: fn(&mut Sent)| {
        let mut sent = whole.clone();
        change(&mut sent);
        let mut stage = stage();
        let first = [(sent.association, sent.link, frame(&sent))].to_vec();
        let (records, _, _) = outcome(&mut stage, &[first.clone(), first]);
        let again = match &records[0] {
            Err(reason @ (DropReason::IntegrityFailed | DropReason::PacketCut)) => *reason,
            _ => DropReason::Replay,
        };
        assert_eq!(
            records[1].as_ref().err(),
            Some(&again),
            "the same packet twice"
        );
        records[0]
            .as_ref()
            .map(|(record, _)| record.len())
            .map_err(|reason| *reason)
    };
    assert_eq!(of(|_| ()), Ok(14 + 60));
    assert_eq!(of(|sent| sent.more_bytes = 30), Ok(14 + 60));
    assert_eq!(
        of(|sent| sent.is_ipv6.1 = true),
        Err(DropReason::SelectorMismatch)
    );
    assert_eq!(
        of(|sent| sent.first_octet = 11),
        Err(DropReason::SelectorMismatch)
    );
    assert_eq!(
        of(|sent| sent.traffic_class = (3, 0)),
        Err(DropReason::CongestionUnmarkable)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::Padding),
        Err(DropReason::BadPadding)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::Dummy),
        Err(DropReason::DummyPacket)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::NextHeader),
        Err(DropReason::BadInnerPacket)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::OtherVersion),
        Err(DropReason::BadInnerPacket)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::InnerLength),
        Err(DropReason::BadInnerPacket)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::NothingInside),
        Err(DropReason::BadInnerPacket)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::FlippedBit(99)),
        Err(DropReason::IntegrityFailed)
    );
    assert_eq!(
        of(|sent| sent.fault = Fault::CutBytes(3)),
        Err(DropReason::PacketCut)
    );
}
