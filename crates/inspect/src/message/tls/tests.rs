//! Handshakes in pieces.

use super::*;
use crate::buffer::Buffer;
use crate::message::{Derived, Part};
use Direction::{ToClient, ToServer};

fn record(messages: &[u8]) -> Vec<u8> {
    let mut record = vec![CONTENT_HANDSHAKE, 3, 1];
    record.extend((messages.len() as u16).to_be_bytes());
    record.extend_from_slice(messages);
    record
}

/// A message of the handshake behind its type and length.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind, 0, 0, body.len() as u8], body].concat()
}

fn client_hello(name: &[u8]) -> Vec<u8> {
    let mut body = [
        &[3, 3],
        &[7; 32][..],
        &[0, 0, 4, 0x13, 0x01, 0x0a, 0x0a, 1, 0],
    ]
    .concat();
    let length = name.len() as u8;
    let sni = [&[0, length + 3, 0, 0, length], name].concat();
    let extensions = [
        &[0, 0, 0, length + 5],
        &sni[..],
        &[0, 10, 0, 4, 0, 2, 0, 29, 0, 11, 0, 2, 1, 0],
    ]
    .concat();
    body.extend([0, extensions.len() as u8]);
    body.extend(extensions);
    message(1, &body)
}

fn part(bytes: &[u8], direction: Direction, buffer: Buffer, piece: usize) -> Option<Vec<u8>> {
    let (mut tls, mut found) = (Tls::default(), None);
    for bytes in bytes.chunks(piece) {
        tls.feed(direction, bytes, &mut |event| {
            let mut derived = Derived::default();
            if let Part::Here(text, true) = event.content.part(buffer, &mut derived) {
                found = Some(text.to_vec());
            }
        });
    }
    found
}

#[test]
fn empty_records_without_end_are_no_tls() {
    let hello = client_hello(b"a.example");
    let bytes = [record(b"").repeat(33), record(&hello)].concat();
    let found = part(&bytes, ToServer, Buffer::TlsServerName, bytes.len());
    assert_eq!(found, None);
}

#[test]
fn hellos_in_pieces_and_over_records() {
    let hello = client_hello(b"a.example");
    let two_records = [record(&hello[..20]), record(&hello[20..])].concat();
    let tiny_records = hello.chunks(1).map(record).collect::<Vec<_>>().concat();
    let empty_records = [record(b"").repeat(32), record(&hello)].concat();
    for bytes in [record(&hello), two_records, tiny_records, empty_records] {
        for piece in [1, 6, bytes.len()] {
            let part = |buffer| part(&bytes, ToServer, buffer, piece);
            assert_eq!(
                part(Buffer::TlsServerName).as_deref(),
                Some(&b"a.example"[..])
            );
            assert_eq!(
                part(Buffer::Ja3Text).as_deref(),
                Some(&b"771,4865,0-10-11,29,0"[..])
            );
            assert_eq!(part(Buffer::Ja3Hash).map(|hash| hash.len()), Some(32));
            assert_eq!(part(Buffer::TlsSubject), None);
        }
    }
    // A server does not send one.
    assert_eq!(
        part(&record(&hello), ToClient, Buffer::TlsServerName, 9),
        None
    );
    let server = [
        &[3, 3],
        &[7; 32][..],
        &[0, 0x13, 0x02, 0, 0, 4, 0, 43, 0, 0],
    ]
    .concat();
    let server = record(&message(2, &server));
    assert_eq!(
        part(&server, ToClient, Buffer::Ja3ServerHash, 9).map(|hash| hash.len()),
        Some(32)
    );
}

#[test]
fn certificates_that_make_no_sense_are_bytes() {
    let chain = [&[0, 0, 8, 0, 0, 5][..], b"never"].concat();
    let bytes = record(&message(11, &chain));
    let part = |buffer| part(&bytes, ToClient, buffer, 4);
    assert_eq!(
        part(Buffer::TlsCertificates).as_deref(),
        Some(&b"never"[..])
    );
    assert_eq!(part(Buffer::TlsIssuer), None);
}

#[test]
fn what_is_no_handshake_ends_it_and_memory_stays_bounded() {
    let mut tls = Tls::default();
    tls.feed(ToServer, b"GET / HTTP/1.1\r\n\r\n", &mut |_| {
        panic!("no event")
    });
    assert!(tls.client.is_over);
    let mut endless = message(1, b"");
    endless[1] = 0xff;
    for _ in 0..100 {
        tls.feed(
            ToClient,
            &record(&[&endless[..], &[0; 16_000]].concat()),
            &mut |_| (),
        );
        assert!(tls.memory_bytes() < 4 * MAX_HANDSHAKE_BYTES);
    }
    assert!(tls.server.is_over);
}
