//! TLS handshakes (RFC 8446, section 4; RFC 5246, section 7.4): what is sent
//! before encryption begins.

mod certificate;
mod fields;
mod hello;

use super::{Event, EventContent, Memory, NamedParts, TlsRecord, Told};
use crate::application::AppProtocol;
use crate::direction::Direction;

/// Most bytes of the handshake that wait for the end of a message.
const MAX_HANDSHAKE_BYTES: usize = 64 << 10;

/// Most empty records in a row, as in OpenSSL.
const MAX_EMPTY_RECORDS: u32 = 32;

const RECORD_HEADER_BYTES: usize = 5;
const CONTENT_HANDSHAKE: u8 = 22;
const CONTENT_ALERT: u8 = 21;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const CERTIFICATE: u8 = 11;

/// Both directions of a connection.
#[derive(Debug, Default)]
pub(crate) struct Tls {
    client: Side,
    server: Side,
    record: TlsRecord,
}

/// Where the parts of a message go, and with them what is known of the
/// handshake.
type Tell<'a> = dyn FnMut(&TlsRecord, &NamedParts<'_>) + 'a;

/// One direction: records (RFC 8446, section 5.1), and the messages in them.
#[derive(Debug, Default)]
struct Side {
    /// The header of the record that is being read.
    header: Vec<u8>,
    /// Bytes of the record that are to come.
    left: usize,
    handshake: Vec<u8>,
    /// Empty records since the last one with bytes.
    empty_records: u32,
    /// Encryption began, or it is no TLS.
    is_over: bool,
    memory: Memory,
}

impl Tls {
    /// What an alert says of the handshake.
    pub(super) fn record(&self) -> &TlsRecord {
        &self.record
    }

    fn side(&mut self, direction: Direction) -> (&mut Side, &mut TlsRecord) {
        let side = match direction {
            Direction::ToServer => &mut self.client,
            Direction::ToClient => &mut self.server,
        };
        (side, &mut self.record)
    }

    pub(super) fn feed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        let (side, record) = self.side(direction);
        side.feed(direction, bytes, record, notify);
    }

    pub(super) fn stop(&mut self, direction: Direction) {
        self.side(direction).0.end();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let sides = [&self.client, &self.server];
        let of_side = |side: &Side| side.handshake.capacity() + side.memory.matched_bytes();
        sides.into_iter().map(of_side).sum()
    }
}

impl Side {
    fn end(&mut self) {
        self.is_over = true;
        self.handshake = Vec::new();
    }

    fn feed(
        &mut self,
        direction: Direction,
        mut bytes: &[u8],
        record: &mut TlsRecord,
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        while !bytes.is_empty() && !self.is_over {
            if self.left == 0 {
                let missing = RECORD_HEADER_BYTES - self.header.len();
                let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
                self.header.extend_from_slice(taken);
                bytes = rest;
                let [content, 3, _, high, low] = self.header[..] else {
                    if self.header.len() == RECORD_HEADER_BYTES {
                        self.end();
                    }
                    continue;
                };
                self.left = usize::from(u16::from_be_bytes([high, low]));
                if self.left == 0 {
                    self.empty_records += 1;
                    self.header.clear();
                } else {
                    self.empty_records = 0;
                }
                if self.empty_records > MAX_EMPTY_RECORDS
                    || !matches!(content, CONTENT_HANDSHAKE | CONTENT_ALERT)
                {
                    self.end();
                }
                continue;
            }
            let (taken, rest) = bytes.split_at(self.left.min(bytes.len()));
            self.left -= taken.len();
            bytes = rest;
            if self.header[0] == CONTENT_HANDSHAKE {
                self.handshake.extend_from_slice(taken);
                self.take_messages(direction, record, notify);
            }
            if self.left == 0 {
                self.header.clear();
            }
        }
    }

    /// Takes the whole messages out of what was collected.
    fn take_messages(
        &mut self,
        direction: Direction,
        record: &mut TlsRecord,
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        let mut at = 0;
        while let Some([kind, high, middle, low, rest @ ..]) = self.handshake.get(at..) {
            let length = u32::from_be_bytes([0, *high, *middle, *low]) as usize;
            let Some(body) = rest.get(..length) else {
                break;
            };
            at += 4 + length;
            let memory = &mut self.memory;
            let mut tell = |record: &TlsRecord, parts: &NamedParts<'_>| {
                // Rules about a hello may wait for the certificate.
                if *kind != CERTIFICATE {
                    memory.go_on();
                }
                notify(Event {
                    protocol: AppProtocol::Tls,
                    direction,
                    content: EventContent::Parts(parts, Told::Tls(record)),
                    memory,
                });
            };
            // A message that makes no sense tells nothing.
            let _ = match (*kind, direction) {
                (CLIENT_HELLO, Direction::ToServer) => hello::tell_client(body, record, &mut tell),
                (SERVER_HELLO, Direction::ToClient) => hello::tell_server(body, record, &mut tell),
                (CERTIFICATE, Direction::ToClient) => {
                    certificate::tell_chain(body, record, &mut tell)
                }
                _ => None,
            };
        }
        self.handshake.drain(..at);
        if self.handshake.len() > MAX_HANDSHAKE_BYTES {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests;
