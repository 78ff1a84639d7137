//! The packets of RFC 9001, appendix A.

use weir_crypto::header::{HeaderKey, HeaderProtector, apply_mask, remove_mask};
use weir_crypto::{Descriptor, Layout, NonceRule};

use super::quic::Keys;
use super::{open, opener, seal, sealer, suite, unhex};

const TAG_BYTES: usize = 16;

/// A packet of the appendix.
struct Sample {
    suite: &'static str,
    keys: Keys,
    /// Without header protection.
    header: &'static str,
    number: u64,
    number_bytes: usize,
    payload: Vec<u8>,
    protected: Vec<u8>,
}

fn samples() -> [Sample; 3] {
    let mut client_payload = unhex(include_str!("rfc9001/client-initial.payload"));
    client_payload.resize(1162, 0);
    let keys = |secret, bytes| Keys::of(&unhex(secret), bytes);
    [
        // A.2, whose secret is in A.1.
        Sample {
            suite: "aes-128-gcm-16",
            keys: keys(
                "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea",
                16,
            ),
            header: "c300000001088394c8f03e5157080000449e00000002",
            number: 2,
            number_bytes: 4,
            payload: client_payload,
            protected: unhex(include_str!("rfc9001/client-initial.packet")),
        },
        // A.3.
        Sample {
            suite: "aes-128-gcm-16",
            keys: keys(
                "3c199828fd139efd216c155ad844cc81fb82fa8d7446fa7d78be803acdda951b",
                16,
            ),
            header: "c1000000010008f067a5502a4262b50040750001",
            number: 1,
            number_bytes: 2,
            payload: unhex(include_str!("rfc9001/server-initial.payload")),
            protected: unhex(include_str!("rfc9001/server-initial.packet")),
        },
        // A.5.
        Sample {
            suite: "chacha20-poly1305",
            keys: keys(
                "9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b",
                32,
            ),
            header: "4200bff4",
            number: 654_360_564,
            number_bytes: 3,
            payload: vec![1],
            protected: unhex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb"),
        },
    ]
}

/// A.1.
#[test]
fn keys_are_those_of_the_appendix() {
    let [client, server, short] = samples().map(|sample| sample.keys);
    assert_eq!(client.key, unhex("1f369613dd76d5467730efcbe3b1a22d"));
    assert_eq!(client.iv[..], unhex("fa044b2f42a3fd3b46fb255c"));
    assert_eq!(client.header, unhex("9f50449e04a0e810283a1e9933adedd2"));
    assert_eq!(server.key, unhex("cf3a5331653c364c88f0f379b6067e37"));
    assert_eq!(server.iv[..], unhex("0ac1493ca1905853b0bba03e"));
    assert_eq!(server.header, unhex("c206b8d9b9f0f37644430b490eeaa314"));
    assert_eq!(
        short.header,
        unhex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4")
    );
}

#[test]
fn packets_are_protected_and_unprotected() {
    for sample in samples() {
        let suite = suite(sample.suite);
        let keys = &sample.keys;
        let header = unhex(sample.header);
        let number_at = header.len() - sample.number_bytes;
        let mut protector = HeaderProtector::new();
        let header_key = protector.add(HeaderKey::new(suite, &keys.header).expect("a key"));
        let mut packet = Descriptor {
            layout: Layout {
                aad_bytes: header.len() as u16,
                payload_bytes: sample.payload.len() as u32,
                ..Layout::default()
            },
            ..Descriptor::default()
        };
        let mut buffer = [&header[..], &sample.payload, &[0; TAG_BYTES]].concat();

        let (mut sealer, id) = sealer(suite, &keys.key, NonceRule::Xor(keys.iv), 0);
        packet.key = id;
        seal(&mut sealer, &mut buffer, &[(packet, sample.number)]);
        let mut batch = protector.batch(&buffer);
        batch.push(header_key, number_at as u32 + 4).expect("taken");
        let mask = batch.run()[0];
        let (first_byte, rest) = buffer.split_at_mut(1);
        let number = &mut rest[number_at - 1..][..sample.number_bytes];
        apply_mask(&mut first_byte[0], number, &mask);
        assert_eq!(buffer, sample.protected);

        let mut batch = protector.batch(&buffer);
        batch.push(header_key, number_at as u32 + 4).expect("taken");
        let mask = batch.run()[0];
        let (first_byte, rest) = buffer.split_at_mut(1);
        let bytes = remove_mask(&mut first_byte[0], &mut rest[number_at - 1..], &mask);
        assert_eq!(bytes, sample.number_bytes);
        assert_eq!(buffer[..header.len()], header);
        let (mut opener, id) = opener(suite, &keys.key, NonceRule::Xor(keys.iv));
        packet.key = id;
        assert!(open(&mut opener, &mut buffer, &[(packet, sample.number)]).all_good());
        assert_eq!(
            buffer[header.len()..][..sample.payload.len()],
            sample.payload
        );
    }
}

/// A.4: the tag of a Retry packet, over AAD alone under a published key and nonce (section 5.8).
#[test]
fn a_retry_packet_has_its_integrity_tag() {
    let key = unhex("be0c690b9f66575a1d766b54e368c84e");
    let nonce = unhex("461599d35d632bf2239825bb");
    let rule = NonceRule::Xor(nonce.try_into().expect("12 bytes"));
    let connection_id = unhex("08 8394c8f03e515708");
    let retry = unhex("ff000000010008f067a5502a4262b5746f6b656e");
    let pseudo_packet = [connection_id, retry].concat();
    let mut buffer = [&pseudo_packet[..], &[0; TAG_BYTES]].concat();
    let (mut sealer, key) = sealer(suite("aes-128-gcm-16"), &key, rule, 0);
    let packet = Descriptor {
        key,
        layout: Layout {
            aad_bytes: pseudo_packet.len() as u16,
            ..Layout::default()
        },
        ..Descriptor::default()
    };
    seal(&mut sealer, &mut buffer, &[(packet, 0)]);
    assert_eq!(
        buffer[pseudo_packet.len()..],
        unhex("04a265ba2eff4d829058fb3f0f2496ba")
    );
}
