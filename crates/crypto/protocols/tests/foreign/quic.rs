//! 1-RTT packets of QUIC. Two endpoints of rustls shake hands; their traffic secrets give Weir
//! the same keys.

use aws_lc_rs::hkdf::{HKDF_SHA256, HKDF_SHA384, KeyType, Prk};
use rustls::CipherSuite;
use rustls::quic::{
    ClientConnection, Connection, KeyChange, Keys as RustlsKeys, ServerConnection, Version,
};
use weir_crypto::header::{HeaderKey, HeaderProtector, apply_mask, remove_mask};
use weir_crypto::{BATCH_PACKETS, Descriptor, KeyId, Layout, NonceRule, Suite};

use super::endpoints::{SUITES, configs, server_name};
use super::{open, opener, payload, seal, sealer, suite};

const CONNECTION_ID: [u8; 8] = [0xc0, 0xff, 0xee, 1, 2, 3, 4, 5];
/// Where the packet number begins: behind the first byte and the connection ID.
const NUMBER_AT: usize = 1 + CONNECTION_ID.len();
const TAG_BYTES: usize = 16;
const PACKETS: u64 = 2000;

/// What QUIC derives from a traffic secret: RFC 9001, section 5.1.
pub struct Keys {
    pub key: Vec<u8>,
    pub iv: [u8; 12],
    pub header: Vec<u8>,
}

impl Keys {
    /// Keys of `key_bytes` from a secret, whose length says which hash function made it.
    pub fn of(secret: &[u8], key_bytes: usize) -> Keys {
        let iv = expand_label(secret, "quic iv", 12);
        Keys {
            key: expand_label(secret, "quic key", key_bytes),
            iv: iv.try_into().expect("12 bytes"),
            header: expand_label(secret, "quic hp", key_bytes),
        }
    }
}

struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label of RFC 8446, section 7.1, without context.
fn expand_label(secret: &[u8], label: &str, bytes: usize) -> Vec<u8> {
    let algorithm = match secret.len() {
        48 => HKDF_SHA384,
        _ => HKDF_SHA256,
    };
    let label = ["tls13 ", label].concat();
    let info = [
        &(bytes as u16).to_be_bytes()[..],
        &[label.len() as u8],
        label.as_bytes(),
        &[0],
    ]
    .concat();
    let mut expanded = vec![0; bytes];
    Prk::new_less_safe(algorithm, secret)
        .expand(&[&info], Bytes(bytes))
        .and_then(|expanded_key| expanded_key.fill(&mut expanded))
        .expect("a short key");
    expanded
}

/// The server's keys, and the client's as Weir derives them: those that it sends with, and
/// those that the server sends with.
fn connect(cipher_suite: CipherSuite, suite: Suite) -> (RustlsKeys, Keys, Keys) {
    let (client, server, secrets) = configs(cipher_suite);
    let client = ClientConnection::new(client, Version::V1, server_name(), vec![]);
    let server = ServerConnection::new(server, Version::V1, vec![]);
    let mut client = Connection::from(client.expect("a client"));
    let mut server = Connection::from(server.expect("a server"));
    let mut server_keys = None;
    while client.is_handshaking() || server.is_handshaking() || server_keys.is_none() {
        exchange(&mut client, &mut server);
        if let Some(keys) = exchange(&mut server, &mut client) {
            server_keys = Some(keys);
        }
    }
    let keys = |label| Keys::of(&secrets.of(label), suite.key_bytes());
    (
        server_keys.expect("1-RTT keys"),
        keys("CLIENT_TRAFFIC_SECRET_0"),
        keys("SERVER_TRAFFIC_SECRET_0"),
    )
}

/// Hands over what `from` has to send, and returns its 1-RTT keys where they come up.
fn exchange(from: &mut Connection, to: &mut Connection) -> Option<RustlsKeys> {
    let mut one_rtt = None;
    loop {
        let mut message = Vec::new();
        let change = from.write_hs(&mut message);
        to.read_hs(&message).expect("a valid message");
        match change {
            Some(KeyChange::OneRtt { keys, .. }) => one_rtt = Some(keys),
            Some(KeyChange::Handshake { .. }) => {}
            None if message.is_empty() => return one_rtt,
            None => {}
        }
    }
}

/// One packet of a batch in its buffer.
struct Packet {
    number: u64,
    number_bytes: usize,
    offset: usize,
    payload: Vec<u8>,
}

impl Packet {
    /// Packets of all number lengths and many sizes, behind one another.
    fn batches() -> Vec<Vec<Packet>> {
        let numbers: Vec<u64> = (0..PACKETS).collect();
        let batches = numbers.chunks(BATCH_PACKETS).map(|numbers| {
            let mut offset = 0;
            let packets = numbers.iter().map(|number| {
                let number_bytes = 1 + (number % 4) as usize;
                // Packet number and payload have at least four bytes, so that there is a sample.
                let payload = payload(*number, 3 + (number * 37 % 1300) as usize);
                let packet = Packet {
                    number: *number,
                    number_bytes,
                    offset,
                    payload,
                };
                offset += packet.bytes();
                packet
            });
            packets.collect()
        });
        batches.collect()
    }

    /// RFC 9000, section 17.3.1.
    fn header(&self) -> Vec<u8> {
        let number = self.number.to_be_bytes();
        let first_byte = 0x40 | (self.number_bytes - 1) as u8;
        let number = &number[8 - self.number_bytes..];
        [&[first_byte], &CONNECTION_ID[..], number].concat()
    }

    fn bytes(&self) -> usize {
        NUMBER_AT + self.number_bytes + self.payload.len() + TAG_BYTES
    }

    fn descriptor(&self, key: KeyId, context: u32) -> Descriptor {
        Descriptor {
            key,
            context,
            offset: self.offset as u32,
            layout: Layout {
                aad_bytes: (NUMBER_AT + self.number_bytes) as u16,
                payload_bytes: self.payload.len() as u32,
                ..Layout::default()
            },
        }
    }

    fn sample_offset(&self) -> u32 {
        (self.offset + NUMBER_AT + 4) as u32
    }
}

/// The first byte of a packet, and what lies behind its connection ID.
fn masked(packet: &mut [u8]) -> (&mut u8, &mut [u8]) {
    let (first_byte, rest) = packet.split_first_mut().expect("a packet");
    (first_byte, &mut rest[CONNECTION_ID.len()..])
}

#[test]
fn rustls_opens_packets_of_weir() {
    for (cipher_suite, name) in SUITES {
        let suite = suite(name);
        let (rustls, keys, _) = connect(cipher_suite, suite);
        let (mut sealer, key) = sealer(suite, &keys.key, NonceRule::Xor(keys.iv), 0);
        let mut protector = HeaderProtector::new();
        let header_key = protector.add(HeaderKey::new(suite, &keys.header).expect("a key"));
        for batch in Packet::batches() {
            let mut buffer = Vec::new();
            for packet in &batch {
                buffer.extend(packet.header());
                buffer.extend(&packet.payload);
                buffer.extend([0; TAG_BYTES]);
            }
            let numbered: Vec<_> = batch
                .iter()
                .map(|packet| (packet.descriptor(key, 0), packet.number))
                .collect();
            seal(&mut sealer, &mut buffer, &numbered);
            let mut masks = protector.batch(&buffer);
            for packet in &batch {
                masks
                    .push(header_key, packet.sample_offset())
                    .expect("taken");
            }
            for (packet, mask) in batch.iter().zip(masks.run()) {
                let (first_byte, rest) = masked(&mut buffer[packet.offset..]);
                apply_mask(first_byte, &mut rest[..packet.number_bytes], mask);
            }

            for packet in &batch {
                let bytes = &mut buffer[packet.offset..][..packet.bytes()];
                let (first_byte, rest) = masked(bytes);
                let (number, sample) = rest.split_at_mut(4);
                let unmask = &rustls.remote.header;
                unmask
                    .decrypt_in_place(&sample[..unmask.sample_len()], first_byte, number)
                    .expect("unmasked");
                let (header, sealed) = bytes.split_at_mut(NUMBER_AT + packet.number_bytes);
                assert_eq!(*header, packet.header());
                let opened = rustls
                    .remote
                    .packet
                    .decrypt_in_place(packet.number, header, sealed)
                    .expect("an authentic packet");
                assert!(*opened == packet.payload, "{suite}");
            }
        }
    }
}

#[test]
fn weir_opens_packets_of_rustls() {
    for (cipher_suite, name) in SUITES {
        let suite = suite(name);
        let (rustls, _, keys) = connect(cipher_suite, suite);
        let (mut opener, key) = opener(suite, &keys.key, NonceRule::Xor(keys.iv));
        let mut protector = HeaderProtector::new();
        let header_key = protector.add(HeaderKey::new(suite, &keys.header).expect("a key"));
        for batch in Packet::batches() {
            let mut buffer = Vec::new();
            for packet in &batch {
                let (header, mut sealed) = (packet.header(), packet.payload.clone());
                let sender = &rustls.local;
                let tag = sender
                    .packet
                    .encrypt_in_place(packet.number, &header, &mut sealed)
                    .expect("sealed");
                let mut bytes = [&header, &sealed, tag.as_ref()].concat();
                let (first_byte, rest) = masked(&mut bytes);
                let (number, sample) = rest.split_at_mut(4);
                sender
                    .header
                    .encrypt_in_place(
                        &sample[..sender.header.sample_len()],
                        first_byte,
                        &mut number[..packet.number_bytes],
                    )
                    .expect("masked");
                buffer.extend(bytes);
            }

            let mut masks = protector.batch(&buffer);
            for packet in &batch {
                masks
                    .push(header_key, packet.sample_offset())
                    .expect("taken");
            }
            for (packet, mask) in batch.iter().zip(masks.run()) {
                let (first_byte, rest) = masked(&mut buffer[packet.offset..]);
                assert_eq!(remove_mask(first_byte, rest, mask), packet.number_bytes);
                assert!(buffer[packet.offset..].starts_with(&packet.header()));
            }
            let numbered: Vec<_> = batch
                .iter()
                .map(|packet| (packet.descriptor(key, 0), packet.number))
                .collect();
            // Every ninth packet arrives damaged.
            let is_damaged = |packet: &Packet| packet.number.is_multiple_of(9);
            for packet in batch.iter().filter(|packet| is_damaged(packet)) {
                buffer[packet.offset + packet.bytes() - 1] ^= 1;
            }
            let verdicts = open(&mut opener, &mut buffer, &numbered);
            for (packet, is_good) in batch.iter().zip(verdicts.iter()) {
                let at = packet.offset + NUMBER_AT + packet.number_bytes;
                let opened = &buffer[at..][..packet.payload.len()];
                assert_eq!(is_good, !is_damaged(packet));
                match is_good {
                    true => assert!(*opened == packet.payload, "{suite}"),
                    false => assert!(opened.iter().all(|byte| *byte == 0), "{suite}"),
                }
            }
        }
    }
}

/// The path ID of multipath QUIC is the context of Weir's nonces.
#[test]
fn rustls_opens_packets_of_several_paths() {
    for (cipher_suite, name) in SUITES {
        let suite = suite(name);
        let (rustls, keys, _) = connect(cipher_suite, suite);
        let (mut sealer, key) = sealer(suite, &keys.key, NonceRule::Xor(keys.iv), 0);
        for path in [0, 1, 0x8000_0001] {
            let contexts = sealer.key_mut(key).expect("the key");
            contexts.add_context(path, 0..).expect("a context");
            let packet = Packet {
                number: 7,
                number_bytes: 2,
                offset: 0,
                payload: payload(path.into(), 333),
            };
            let mut buffer = [&packet.header(), &packet.payload, &[0; TAG_BYTES][..]].concat();
            seal(
                &mut sealer,
                &mut buffer,
                &[(packet.descriptor(key, path), 7)],
            );
            let (header, sealed) = buffer.split_at_mut(NUMBER_AT + 2);
            let opened = rustls
                .remote
                .packet
                .decrypt_in_place_for_path(path, 7, header, sealed);
            assert_eq!(opened.expect("authentic"), packet.payload, "{suite}");
        }
    }
}
