//! WireGuard: Weir with the handshake of snow at one end, boringtun at the other.

use std::time::{SystemTime, UNIX_EPOCH};

use blake2::digest::consts::U16;
use blake2::digest::{Digest, KeyInit, Mac};
use blake2::{Blake2s256, Blake2sMac};
use boringtun::noise::{Tunn, TunnResult};
use boringtun::x25519::{PublicKey, StaticSecret};
use snow::{Builder, HandshakeState};
use weir_crypto::{BATCH_PACKETS, Descriptor, KeyId, Layout, NonceRule, Opener, Sealer};

use super::{open, opener, payload, seal, sealer, suite};

/// Of the WireGuard paper, section 5.4.
const CONSTRUCTION: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
const IDENTIFIER: &[u8] = b"WireGuard v1 zx2c4 Jason@zx2c4.com";
const LABEL_MAC1: &[u8] = b"mac1----";

const OUR_INDEX: u32 = 0x0102_0304;
const OUR_SECRET: [u8; 32] = [0x11; 32];
const THEIR_SECRET: [u8; 32] = [0x22; 32];
const PRESHARED_KEY: [u8; 32] = [0x33; 32];

/// Type, receiver index and counter: section 5.4.6.
const HEADER_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const DATA: u32 = 4;
const PACKETS: u64 = 10_000;
const MAX_PAYLOAD_BYTES: usize = 1420;

/// Both ends after the handshake.
struct Session {
    boringtun: Tunn,
    their_index: u32,
    sealing_key: [u8; 32],
    opening_key: [u8; 32],
}

fn boringtun() -> Tunn {
    let our_key = PublicKey::from(&StaticSecret::from(OUR_SECRET));
    let their_secret = StaticSecret::from(THEIR_SECRET);
    Tunn::new(their_secret, our_key, Some(PRESHARED_KEY), None, 1, None)
}

fn noise() -> Builder<'static> {
    Builder::new(CONSTRUCTION.parse().expect("a name"))
        .prologue(IDENTIFIER)
        .and_then(|noise| noise.psk(2, &PRESHARED_KEY))
        .and_then(|noise| noise.local_private_key(&OUR_SECRET))
        .expect("parameters")
}

fn public_key(secret: [u8; 32]) -> [u8; 32] {
    PublicKey::from(&StaticSecret::from(secret)).to_bytes()
}

/// Appends mac1 under the receiver's public key, and mac2, which is zeros: section 5.4.4.
fn add_macs(message: &mut Vec<u8>, receiver: [u8; 32]) {
    let key = Blake2s256::new()
        .chain_update(LABEL_MAC1)
        .chain_update(receiver)
        .finalize();
    let mut mac = <Blake2sMac<U16> as KeyInit>::new_from_slice(&key).expect("a key");
    mac.update(message);
    message.extend(mac.finalize().into_bytes());
    message.extend([0; 16]);
}

/// A Noise message with a payload.
fn noise_message(noise: &mut HandshakeState, payload: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 256];
    let bytes = noise.write_message(payload, &mut message).expect("written");
    message.truncate(bytes);
    message
}

/// The time as TAI64N, in the label of which the leap seconds of 1970 are.
fn timestamp() -> [u8; 12] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("after 1970");
    let mut timestamp = [0; 12];
    timestamp[..8].copy_from_slice(&((1 << 62) + 10 + now.as_secs()).to_be_bytes());
    timestamp[8..].copy_from_slice(&now.subsec_nanos().to_be_bytes());
    timestamp
}

fn word(message: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*message[at..].first_chunk().expect("four bytes"))
}

fn sent<'a>(result: TunnResult<'a>) -> &'a [u8] {
    match result {
        TunnResult::WriteToNetwork(message) => message,
        other => panic!("{other:?}"),
    }
}

/// Weir's end begins: messages of sections 5.4.2 and 5.4.3.
fn initiate() -> Session {
    let mut boringtun = boringtun();
    let their_key = public_key(THEIR_SECRET);
    let mut noise = noise()
        .remote_public_key(&their_key)
        .and_then(Builder::build_initiator)
        .expect("an initiator");
    let mut initiation = [1u32.to_le_bytes(), OUR_INDEX.to_le_bytes()].concat();
    initiation.extend(noise_message(&mut noise, &timestamp()));
    add_macs(&mut initiation, their_key);
    assert_eq!(initiation.len(), 148);

    let mut space = [0; 256];
    let response = sent(boringtun.decapsulate(None, &initiation, &mut space));
    assert_eq!((response.len(), word(response, 0)), (92, 2));
    assert_eq!(word(response, 8), OUR_INDEX);
    let empty = noise.read_message(&response[12..60], &mut []);
    assert_eq!(empty.expect("a valid response"), 0);
    let (ours, theirs) = noise.dangerously_get_raw_split();
    Session {
        their_index: word(response, 4),
        boringtun,
        sealing_key: ours,
        opening_key: theirs,
    }
}

/// Boringtun begins.
fn respond() -> Session {
    let mut boringtun = boringtun();
    let mut noise = noise().build_responder().expect("a responder");
    let mut space = [0; 256];
    let initiation = sent(boringtun.format_handshake_initiation(&mut space, false));
    assert_eq!((initiation.len(), word(initiation, 0)), (148, 1));
    let their_index = word(initiation, 4);
    let mut timestamp = [0; 12];
    let bytes = noise.read_message(&initiation[8..116], &mut timestamp);
    assert_eq!(bytes.expect("a valid initiation"), timestamp.len());

    let indices = [2, OUR_INDEX, their_index].map(u32::to_le_bytes);
    let mut response = indices.concat();
    response.extend(noise_message(&mut noise, &[]));
    add_macs(&mut response, public_key(THEIR_SECRET));
    assert_eq!(response.len(), 92);
    // The initiator confirms its keys with an empty packet.
    let confirmation = sent(boringtun.decapsulate(None, &response, &mut space));
    assert_eq!((confirmation.len(), word(confirmation, 0)), (32, DATA));
    let (theirs, ours) = noise.dangerously_get_raw_split();
    Session {
        boringtun,
        their_index,
        sealing_key: ours,
        opening_key: theirs,
    }
}

/// The packet at `offset`: nothing is authenticated beside the payload.
fn packet(key: KeyId, offset: usize, payload_bytes: usize) -> Descriptor {
    Descriptor {
        key,
        context: 0,
        offset: offset as u32,
        layout: Layout {
            payload_bytes: payload_bytes as u32,
            gap_bytes: HEADER_BYTES as u8,
            ..Layout::default()
        },
    }
}

/// An IPv4 packet with the payload of packet `number`, or nothing, which is a keepalive.
fn ip_packet(number: u64, bytes: usize) -> Vec<u8> {
    let mut packet = payload(number, bytes);
    if let Some(header) = packet.first_chunk_mut::<20>() {
        header[0] = 0x45;
        header[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    }
    packet
}

/// Lengths of the payloads: all up to the longest one, and again.
fn bytes_of(number: u64) -> usize {
    (number % (MAX_PAYLOAD_BYTES as u64 + 1)) as usize
}

/// Weir seals, boringtun opens. Boringtun hands out IP packets alone, so that payloads too short
/// for one are left out in this direction.
fn boringtun_opens(session: &mut Session, sealer: &mut Sealer, key: KeyId) {
    let packets: Vec<Vec<u8>> = (0..PACKETS)
        .map(|number| match bytes_of(number) {
            1..20 => ip_packet(number, 20),
            bytes => ip_packet(number, bytes),
        })
        .collect();
    let mut number = 0;
    for batch in packets.chunks(BATCH_PACKETS) {
        let (mut buffer, mut sealed) = (Vec::new(), Vec::new());
        for inner in batch {
            // Payloads are padded to 16 bytes.
            let padded_bytes = inner.len().next_multiple_of(16);
            sealed.push((packet(key, buffer.len(), padded_bytes), number));
            buffer.extend([DATA, session.their_index].map(u32::to_le_bytes).concat());
            buffer.extend(u64::to_le_bytes(number));
            buffer.extend(inner);
            buffer.resize(buffer.len() + padded_bytes - inner.len() + TAG_BYTES, 0);
            number += 1;
        }
        seal(sealer, &mut buffer, &sealed);
        for (inner, (packet, _)) in batch.iter().zip(&sealed) {
            let bytes = HEADER_BYTES + packet.layout.payload_bytes as usize + TAG_BYTES;
            let message = &buffer[packet.offset as usize..][..bytes];
            let mut space = [0; 2048];
            match session.boringtun.decapsulate(None, message, &mut space) {
                TunnResult::WriteToTunnelV4(opened, _) => assert!(opened == inner),
                TunnResult::Done => assert!(inner.is_empty()),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Boringtun seals, Weir opens, and refuses every ninth packet, which arrives damaged.
fn weir_opens(session: &mut Session, opener: &mut Opener, key: KeyId) {
    let numbers: Vec<u64> = (0..PACKETS).collect();
    for numbers in numbers.chunks(BATCH_PACKETS) {
        let (mut buffer, mut sealed) = (Vec::new(), Vec::new());
        for number in numbers {
            let mut space = [0; 2048];
            let inner = payload(*number, bytes_of(*number));
            let message = sent(session.boringtun.encapsulate(&inner, &mut space));
            assert_eq!((word(message, 0), word(message, 4)), (DATA, OUR_INDEX));
            let counter = u64::from_le_bytes(*message[8..].first_chunk().expect("eight bytes"));
            let payload_bytes = message.len() - HEADER_BYTES - TAG_BYTES;
            sealed.push((packet(key, buffer.len(), payload_bytes), counter));
            buffer.extend(message);
            if number % 9 == 0 {
                *buffer.last_mut().expect("a tag") ^= 0x40;
            }
        }
        let verdicts = open(opener, &mut buffer, &sealed);
        for ((number, (packet, _)), is_good) in numbers.iter().zip(&sealed).zip(verdicts.iter()) {
            let opened = &buffer[packet.offset as usize + HEADER_BYTES..];
            let opened = &opened[..packet.layout.payload_bytes as usize];
            assert_eq!(is_good, number % 9 != 0);
            match is_good {
                true => assert!(opened == payload(*number, bytes_of(*number))),
                false => assert!(opened.iter().all(|byte| *byte == 0)),
            }
        }
    }
}

#[test]
fn boringtun_and_weir_exchange_packets() {
    let suite = suite("chacha20-poly1305");
    for mut session in [initiate(), respond()] {
        let rule = NonceRule::LittleEndian;
        let (mut sealer, sealing_key) = sealer(suite, &session.sealing_key, rule, 0);
        let (mut opener, opening_key) = opener(suite, &session.opening_key, rule);
        boringtun_opens(&mut session, &mut sealer, sealing_key);
        weir_opens(&mut session, &mut opener, opening_key);
    }
}
