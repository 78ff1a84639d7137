//! What becomes of packets that would not fit once they are protected.

use std::time::{Duration, Instant};

use weir_ipsec::{DropReason, NewKeys, Running, Sequences};
use weir_packet::wire::build::{self, IpHeader};
use weir_packet::wire::protocol::{ICMP, ICMPV6, UDP};
use weir_packet::wire::views::Icmp;
use weir_packet::wire::{FlowKey, Headers, LinkType};
use weir_port::{FrameLayout, FramePool, Frames, Outgoing, Rx, Tx, memory_queue};
use weir_stream::{Egress, Live, LivePort, StageError};

use crate::common::load;

const PATIENCE: Duration = Duration::from_secs(60);

/// Outer IPv4 header, ESP header, IV and ICV: an MTU of 1,500 leaves 1,448 bytes of plaintext, of
/// which two are the trailer.
const INNER_MTU_BYTES: u32 = 1446;

/// Sends frames through a gateway whose cipher side has an MTU of 1,500 bytes, and waits until the
/// last one has left: what leaves on both sides, and how many packets were dropped by reason.
fn through_gateway(sa_mtu: &str, frames: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>, [u64; 2]) {
    let file = load(&format!(
        "[[sa]]\nname = \"out\"\nspi = 0x1000\nsuite = \"aes-128-gcm-16\"\n\
         key = \"00112233445566778899aabbccddeeff 01020304\"\nmode = \"tunnel\"\n\
         tunnel = {{ source = \"198.18.0.1\", destination = \"198.18.0.2\" }}\n{sa_mtu}\n\
         [[policy]]\naction = \"protect\"\nsa = \"out\"\n"
    ));
    let ledger = tempfile::tempdir().expect("a folder");
    let sequences = Sequences::Ledger {
        path: ledger.path().join("ledger"),
        new_keys: NewKeys::All,
        reserve: 1 << 12,
    };
    let ipsec = Running::new(file, Some(sequences), None, 1);
    let pool = FramePool::new(FrameLayout::default()).expect("memory");
    let (mut to_plain, plain_rx) = memory_queue(&pool, 256, 9000);
    let (plain_tx, mut from_plain) = memory_queue(&pool, 256, 9000);
    let (cipher_tx, mut from_cipher) = memory_queue(&pool, 256, 1500);
    let live = Live::new(1, move |worker, _path| {
        let error = |error| StageError::new("ipsec", error);
        Ok(vec![
            Box::new(ipsec.classify_outbound().map_err(error)?),
            Box::new(ipsec.protect(worker).map_err(error)?),
        ])
    })
    .port(LivePort {
        name: "plain".into(),
        rx: vec![Box::new(plain_rx)],
        tx: vec![Box::new(plain_tx)],
        keeps_flows: true,
    })
    .port(LivePort {
        name: "cipher".into(),
        rx: Vec::new(),
        tx: vec![Box::new(cipher_tx)],
        keeps_flows: true,
    })
    .path(0, Egress::port(1))
    .start()
    .expect("a gateway");

    let mut buffer = Frames::default();
    let outgoing: Vec<Outgoing<'_>> = frames
        .iter()
        .map(|frame| Outgoing::from(&frame[..]))
        .collect();
    assert_eq!(to_plain.send(&mut buffer, &outgoing), frames.len());
    let started = Instant::now();
    while live.meters().snapshot().expect("balanced").packets() < frames.len() as u64 {
        assert!(started.elapsed() < PATIENCE, "packets are not taken");
        std::thread::sleep(Duration::from_millis(1));
    }
    live.stop_flag().stop();
    let statistics = live.join().expect("a run").statistics;
    let mut received = |rx: &mut dyn Rx| {
        let mut packets = Vec::new();
        while rx.fill(&mut buffer, 256) > 0 {
            packets.extend(buffer.packets().map(|packet| packet.bytes.to_vec()));
            buffer.clear();
        }
        packets
    };
    let drops = [DropReason::FragmentationNeeded, DropReason::TooLong];
    let drops = drops.map(|reason| statistics.drops(reason));
    (received(&mut from_plain), received(&mut from_cipher), drops)
}

const FROM_HOST: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
const TO_HOST: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

fn key(ip_version: u8, protocol: u8) -> FlowKey {
    let (source, destination) = match ip_version {
        4 => (0x0a00_0001, 0x0a00_0102),
        _ => (0xfd00 << 112 | 1, 0xfd00 << 112 | 2),
    };
    FlowKey {
        source,
        destination,
        source_port: 0,
        destination_port: 0,
        protocol,
        ip_version,
    }
}

/// A frame with an IP packet of this length. Its payload begins with `first`.
fn frame(key: &FlowKey, packet_bytes: usize, dont_fragment: bool, first: &[u8]) -> Vec<u8> {
    let header = IpHeader {
        dont_fragment,
        ..IpHeader::default()
    };
    let mut frame = FROM_HOST.to_vec();
    frame.extend(build::ether_type(key).to_be_bytes());
    build::ip(&mut frame, key, &header, |payload| {
        let header_bytes = if key.ip_version == 4 { 20 } else { 40 };
        let start = payload.len();
        payload.extend(first);
        payload.resize(start + packet_bytes - header_bytes, 7);
    });
    frame
}

/// What an error about a packet of the host says fits: it comes from the packet's destination.
fn mtu_bytes(error: &[u8], ip_version: u8) -> u32 {
    assert_eq!(error[..12], TO_HOST);
    let headers = Headers::parse(LinkType::Ethernet, error);
    assert_eq!(headers.fault, None);
    let found = FlowKey::from_headers(&headers, error).expect("a flow");
    let (about, protocol) = match ip_version {
        4 => (key(4, UDP), ICMP),
        _ => (key(6, UDP), ICMPV6),
    };
    assert_eq!(found.protocol, protocol);
    assert_eq!(
        (found.source, found.destination),
        (about.destination, about.source)
    );
    let message = Icmp::new(headers.transport(error)).expect("a message");
    let is_too_big = match ip_version {
        4 => (3, 4),
        _ => (2, 0),
    };
    assert_eq!((message.icmp_type(), message.code()), is_too_big);
    let bytes = headers.transport(error);
    u32::from_be_bytes(bytes[4..8].try_into().expect("four bytes"))
}

#[test]
fn senders_learn_what_fits_the_port_and_the_association() {
    let fits = INNER_MTU_BYTES as usize;
    for ip_version in [4, 6] {
        let key = key(ip_version, UDP);
        let frames = [
            frame(&key, fits, true, &[]),
            frame(&key, fits + 1, true, &[]),
            frame(&key, 1900, true, &[]),
        ];
        let (to_sender, protected, drops) = through_gateway("", &frames);
        assert_eq!(protected.iter().map(Vec::len).collect::<Vec<_>>(), [1514]);
        assert_eq!(drops, [2, 0]);
        let told: Vec<u32> = to_sender
            .iter()
            .map(|error| mtu_bytes(error, ip_version))
            .collect();
        assert_eq!(told, [INNER_MTU_BYTES; 2]);

        let (to_sender, protected, drops) = through_gateway("mtu = 1400", &frames[..1]);
        assert!(protected.is_empty());
        assert_eq!(drops, [1, 0]);
        assert_eq!(mtu_bytes(&to_sender[0], ip_version), INNER_MTU_BYTES - 100);
    }
}

#[test]
fn nothing_is_said_where_it_may_not_be_or_would_do_no_good() {
    let (v4, v6) = (key(4, UDP), key(6, UDP));
    let group = FlowKey {
        destination: 0xe000_0001,
        ..v4
    };
    let mut to_all = frame(&v4, 1500, true, &[]);
    to_all[..6].fill(0xff);
    let frames = [
        frame(&v4, 1500, false, &[]),
        frame(&group, 1500, true, &[]),
        to_all,
        // ICMP errors.
        frame(&key(4, ICMP), 1500, true, &[3, 1, 0, 0]),
        frame(&key(6, ICMPV6), 1500, true, &[1, 0, 0, 0]),
    ];
    let (to_sender, protected, drops) = through_gateway("", &frames);
    assert_eq!((to_sender.len(), protected.len(), drops), (0, 0, [0, 5]));
    // No sender of IPv6 makes packets of less than 1,280 bytes; nor are later fragments answered.
    let mut later = frame(&v4, 1250, true, &[]);
    later[14 + 7] = 1;
    let frames = [frame(&v6, 1250, true, &[]), later];
    let (to_sender, protected, drops) = through_gateway("mtu = 1200", &frames);
    assert_eq!((to_sender.len(), protected.len(), drops), (0, 0, [0, 2]));
}
