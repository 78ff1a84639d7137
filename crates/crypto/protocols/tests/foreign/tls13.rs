//! Records of TLS 1.3. Two endpoints of rustls shake hands; then Weir takes one of them over.

use std::io::Read;

use rustls::{
    CipherSuite, ClientConnection, Connection, ConnectionTrafficSecrets, ServerConnection,
};
use weir_crypto::{Descriptor, Layout, NonceRule, Suite};

use super::endpoints::{SUITES, configs, server_name};
use super::{open, opener, payload, seal, sealer, suite};

const HEADER_BYTES: usize = 5;
const TAG_BYTES: usize = 16;
/// The content type of application data, which is also the visible one of every record.
const APPLICATION_DATA: u8 = 23;

/// Bytes of content of the records of one direction, in batches.
fn lengths() -> Vec<usize> {
    (0..256)
        .chain([1000, 1350, 1500, 4096, 16_383, 16_384])
        .collect()
}

#[test]
fn records_of_one_end_are_those_of_the_other() {
    for (cipher_suite, name) in SUITES {
        for weir_is_client in [true, false] {
            let (weir, mut rustls) = connect(cipher_suite, weir_is_client);
            let secrets = weir.dangerous_extract_secrets().expect("secrets");
            rustls_reads(suite(name), &mut rustls, secrets.tx);
            weir_reads(suite(name), &mut rustls, secrets.rx);
        }
    }
}

/// Two ends that have shaken hands; the first is the one that Weir takes over.
fn connect(suite: CipherSuite, weir_is_client: bool) -> (Connection, Connection) {
    let (client, server, _) = configs(suite);
    let client = ClientConnection::new(client, server_name()).expect("a client");
    let server = ServerConnection::new(server).expect("a server");
    let (mut client, mut server) = (Connection::from(client), Connection::from(server));
    while client.wants_write() || server.wants_write() {
        deliver(&written(&mut client), &mut server);
        deliver(&written(&mut server), &mut client);
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    match weir_is_client {
        true => (client, server),
        false => (server, client),
    }
}

fn written(from: &mut Connection) -> Vec<u8> {
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).expect("written");
    }
    bytes
}

/// Hands the bytes over and returns the content of their records.
fn deliver(mut bytes: &[u8], to: &mut Connection) -> Vec<u8> {
    let mut content = Vec::new();
    while !bytes.is_empty() {
        to.read_tls(&mut bytes).expect("read");
        to.process_new_packets().expect("authentic records");
        // The end is an error: the connection is open.
        let _ = to.reader().read_to_end(&mut content);
    }
    content
}

/// Suite, key and nonces of one direction.
fn keys(suite: Suite, secrets: &ConnectionTrafficSecrets) -> (&[u8], NonceRule) {
    let (name, key, iv) = match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => ("aes-128-gcm-16", key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => ("aes-256-gcm-16", key, iv),
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => ("chacha20-poly1305", key, iv),
        _ => panic!("a suite that is not of TLS 1.3"),
    };
    assert_eq!(suite.name(), name);
    let iv = iv.as_ref().try_into().expect("12 bytes");
    (key.as_ref(), NonceRule::Xor(iv))
}

/// A record at `offset` whose inner plaintext has `bytes`.
fn record(offset: usize, bytes: usize) -> Descriptor {
    Descriptor {
        offset: offset as u32,
        layout: Layout {
            aad_bytes: HEADER_BYTES as u16,
            payload_bytes: bytes as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    }
}

fn rustls_reads(
    suite: Suite,
    rustls: &mut Connection,
    (first, secrets): (u64, ConnectionTrafficSecrets),
) {
    let (key, rule) = keys(suite, &secrets);
    let (mut sealer, id) = sealer(suite, key, rule, first);
    let mut number = first;
    for lengths in lengths().chunks(100) {
        let (mut buffer, mut packets, mut sent) = (Vec::new(), Vec::new(), Vec::new());
        for bytes in lengths {
            let content = payload(number, *bytes);
            // Content, its type, and zeros as padding (RFC 8446, section 5.4).
            let padding = (number % 3) as usize * usize::from(*bytes < 16_000);
            let inner = [&content[..], &[APPLICATION_DATA], &vec![0; padding]].concat();
            packets.push((
                Descriptor {
                    key: id,
                    ..record(buffer.len(), inner.len())
                },
                number,
            ));
            let length = ((inner.len() + TAG_BYTES) as u16).to_be_bytes();
            buffer.extend([APPLICATION_DATA, 3, 3, length[0], length[1]]);
            buffer.extend(inner);
            buffer.extend([0; TAG_BYTES]);
            sent.extend(content);
            number += 1;
        }
        seal(&mut sealer, &mut buffer, &packets);
        assert!(deliver(&buffer, rustls) == sent, "{suite}");
    }
}

fn weir_reads(
    suite: Suite,
    rustls: &mut Connection,
    (first, secrets): (u64, ConnectionTrafficSecrets),
) {
    use std::io::Write;

    let (key, rule) = keys(suite, &secrets);
    let (mut opener, id) = opener(suite, key, rule);
    let mut number = first;
    for bytes in lengths() {
        let content = payload(number, bytes);
        rustls.writer().write_all(&content).expect("written");
        let mut buffer = written(rustls);
        let (mut at, mut packets) = (0, Vec::new());
        while let Some([_, _, _, high, low]) = buffer.get(at..).and_then(|rest| rest.first_chunk())
        {
            let bytes = usize::from(u16::from_be_bytes([*high, *low]));
            let packet = Descriptor {
                key: id,
                ..record(at, bytes - TAG_BYTES)
            };
            packets.push((packet, number));
            number += 1;
            at += HEADER_BYTES + bytes;
        }
        let mut damaged = buffer.clone();
        assert!(open(&mut opener, &mut buffer, &packets).all_good());
        let mut received: Vec<u8> = Vec::new();
        for (packet, _) in &packets {
            let at = packet.offset as usize + HEADER_BYTES;
            let inner = &buffer[at..][..packet.layout.payload_bytes as usize];
            let end = inner.iter().rposition(|byte| *byte != 0).expect("a type");
            assert_eq!(inner[end], APPLICATION_DATA);
            received.extend(&inner[..end]);
        }
        assert!(received == content, "{suite}");

        if let Some(last) = damaged.last_mut() {
            *last ^= 0x80;
            let verdicts = open(&mut opener, &mut damaged, &packets);
            assert_eq!(verdicts.good(), packets.len() - 1);
        }
    }
}
