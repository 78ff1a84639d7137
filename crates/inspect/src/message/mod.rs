//! Messages of application protocols, in the parts that rules inspect.
//!
//! ```text
//!  stream, both directions ── Conversation ── Event: parts of one message
//!                             http  tls  dns          │ lazily, where a rule wants one
//!                                                     ▼
//!                                                  Derived: the text of a part
//! ```
//!
//! Parsers are lenient: what a server might still understand is a message, for
//! whoever writes messages that the sensor refuses would not be seen. Their
//! memory is bounded; what is longer than a bound is looked at as far as it
//! goes.

mod dns;
mod http;
mod tls;
mod transaction;

pub(crate) use dns::question_names;
pub(crate) use http::{Http, start as http_start};
pub(crate) use tls::Tls;
pub use transaction::{
    DnsQuestion, DnsRecord, HttpRecord, Ja3, TlsRecord, Transaction, TransactionRecord,
};

use std::ops::Range;

use crate::application::AppProtocol;
use crate::buffer::{BUFFERS, Buffer};
use crate::direction::Direction;
use dns::DnsStream;
pub(crate) use dns::first_question as first_dns_question;

/// Most rules that wait for the rest of a message.
const MAX_WAITING: usize = 64;

/// What is remembered of the rules for one message.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Numbers of the rules whose search content was found, and the rest not
    /// yet.
    pub(crate) waiting: Vec<u32>,
    /// Rules that matched.
    pub(crate) matched: Vec<u32>,
    /// The first of the rules that the last packet put off: its turn is next.
    pub(crate) turn: Option<u32>,
}

impl Memory {
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.matched.clear();
        self.turn = None;
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.matched.is_empty() && self.turn.is_none()
    }

    /// What it takes, itself included.
    fn memory_bytes(&self) -> usize {
        let rules = self.waiting.capacity() + self.matched.capacity();
        size_of::<Memory>() + rules * size_of::<u32>()
    }

    /// Another message of the same transaction: what matched stays so.
    pub(crate) fn go_on(&mut self) {
        self.waiting.clear();
        self.turn = None;
    }

    fn matched_bytes(&self) -> usize {
        self.matched.capacity() * size_of::<u32>()
    }

    /// Notes that a rule waits. Says whether there was no room.
    pub(crate) fn note_waiting(&mut self, rule: u32) -> bool {
        let is_known = self.waiting.contains(&rule);
        let is_full = self.waiting.len() >= MAX_WAITING;
        if !is_known && !is_full {
            self.waiting.push(rule);
        }
        !is_known && is_full
    }
}

/// A part of a message at the moment of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// The message does not have it.
    Absent,
    /// It may come.
    Later,
    /// What there is of it, and whether that is all.
    Here(&'a [u8], bool),
}

/// A message that began, or went on.
pub(crate) struct Event<'a> {
    pub(crate) protocol: AppProtocol,
    pub(crate) direction: Direction,
    pub(crate) content: EventContent<'a>,
    pub(crate) memory: &'a mut Memory,
}

/// Parts and their texts.
pub(crate) type NamedParts<'a> = [(Buffer, &'a [u8])];

/// What an event is about.
#[derive(Clone, Copy)]
pub(crate) enum EventContent<'a> {
    /// The head of an HTTP message, with the body as far as it is there.
    Http(http::View<'a>),
    /// Parts that are there at once, and the message that they are of.
    Parts(&'a NamedParts<'a>, Told<'a>),
}

/// A message that is there at once.
#[derive(Clone, Copy)]
pub(crate) enum Told<'a> {
    /// A message of DNS, and its place among those of its flow.
    Dns(&'a [u8], u64),
    /// A handshake so far.
    Tls(&'a TlsRecord),
}

impl Told<'_> {
    /// A part that an earlier message of the same handshake had, or that a later one will.
    fn elsewhere(&self, buffer: Buffer) -> Part<'_> {
        let Told::Tls(record) = self else {
            return Part::Absent;
        };
        let known = match buffer {
            Buffer::Ja3ServerHash => record.ja3s.as_ref().map(|ja3s| &ja3s.hash),
            Buffer::TlsSubject => record.subject.as_ref(),
            Buffer::TlsIssuer => record.issuerdn.as_ref(),
            Buffer::TlsSerial => record.serial.as_ref(),
            _ => None,
        };
        let is_of_certificate = matches!(
            buffer,
            Buffer::TlsSubject | Buffer::TlsIssuer | Buffer::TlsSerial | Buffer::TlsCertificates
        );
        match known {
            Some(text) => Part::Here(text.as_bytes(), true),
            None if is_of_certificate && record.fingerprint.is_none() => Part::Later,
            None => Part::Absent,
        }
    }

    fn transaction(self) -> Transaction {
        let (number, record) = match self {
            Told::Dns(message, number) => {
                (number, TransactionRecord::Dns(dns::record(message, number)))
            }
            Told::Tls(record) => (0, TransactionRecord::Tls(record.clone())),
        };
        Transaction {
            number,
            is_guessed: false,
            record,
        }
    }
}

impl<'a> EventContent<'a> {
    /// The place in a part from which on it is new, with this event; `None`
    /// where nothing of it is.
    pub(crate) fn new_from(&self, buffer: Buffer) -> Option<usize> {
        match self {
            EventContent::Http(view) => view.new_from(buffer),
            EventContent::Parts(parts, _) => {
                parts.iter().any(|(part, _)| *part == buffer).then_some(0)
            }
        }
    }

    /// Whether more of the message may come.
    pub(crate) fn goes_on(&self) -> bool {
        match self {
            EventContent::Http(view) => view.goes_on(),
            EventContent::Parts(..) => false,
        }
    }

    /// What an alert says of the message; `None` where its place among those
    /// of the flow is not known.
    pub(crate) fn transaction(&self) -> Option<Transaction> {
        match self {
            EventContent::Http(view) => view.transaction(),
            EventContent::Parts(_, told) => Some(told.transaction()),
        }
    }

    /// A part, as a text of its own or in `derived`.
    pub(crate) fn part<'d>(&self, buffer: Buffer, derived: &'d mut Derived) -> Part<'d>
    where
        'a: 'd,
    {
        match *self {
            EventContent::Http(view) if buffer.grows() => view.body(buffer),
            EventContent::Http(view) => derived.part(buffer, |out| view.head_part(buffer, out)),
            EventContent::Parts(parts, told) => {
                let of_message = parts.iter().find(|(part, _)| *part == buffer);
                let of_message = of_message.map(|(_, text)| *text);
                let text = match (of_message, told.elsewhere(buffer)) {
                    (Some(text), _) | (None, Part::Here(text, _)) => Some(text),
                    (None, Part::Later) => return Part::Later,
                    (None, Part::Absent) => None,
                };
                derived.part(buffer, |out| {
                    text.map(|text| out.extend_from_slice(text)).is_some()
                })
            }
        }
    }
}

/// Texts of parts that do not lie in the message as they are asked for, made
/// once for each event.
#[derive(Debug)]
pub(crate) struct Derived {
    bytes: Vec<u8>,
    /// Where each lies, once it was asked for.
    parts: [Option<Option<Range<u32>>>; BUFFERS],
}

impl Default for Derived {
    fn default() -> Derived {
        Derived {
            bytes: Vec::new(),
            parts: std::array::from_fn(|_| None),
        }
    }
}

impl Derived {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.parts = std::array::from_fn(|_| None);
    }

    /// The text, made by `write` (which says whether there is one) if it is
    /// asked for the first time. A dot lies in front of it.
    fn part(&mut self, buffer: Buffer, write: impl FnOnce(&mut Vec<u8>) -> bool) -> Part<'_> {
        let Derived { bytes, parts } = self;
        let range = parts[buffer as usize].get_or_insert_with(|| {
            bytes.push(b'.');
            let start = bytes.len() as u32;
            write(bytes).then_some(start..bytes.len() as u32)
        });
        match range {
            Some(range) => Part::Here(&bytes[range.start as usize..range.end as usize], true),
            None => Part::Absent,
        }
    }

    /// A text that was made, with the dot in front of it.
    pub(crate) fn dotted(&self, buffer: Buffer) -> Option<&[u8]> {
        let range = self.parts[buffer as usize].as_ref()?.as_ref()?;
        self.bytes.get(range.start as usize - 1..range.end as usize)
    }
}

/// A tunnel through a proxy that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tunnel {
    /// Of the last bytes of each direction, how many are in it.
    pub(crate) bytes_to_server: usize,
    pub(crate) bytes_to_client: usize,
    /// Transactions in front of it.
    pub(crate) transactions: u64,
}

/// A flow whose protocol is known, seen as messages.
#[derive(Debug)]
pub(crate) enum Conversation {
    Http(Box<Http>),
    Tls(Box<Tls>),
    Dns(Box<DnsStream>),
}

impl Conversation {
    /// The parser for a protocol; `None` where only streams are looked at.
    /// Transactions are numbered from `transactions` on.
    pub(crate) fn new(protocol: AppProtocol, transactions: u64) -> Option<Conversation> {
        Some(match protocol {
            AppProtocol::Http => Conversation::Http(Box::new(Http::numbered_from(transactions))),
            AppProtocol::Tls => Conversation::Tls(Box::default()),
            AppProtocol::Dns => Conversation::Dns(Box::default()),
            _ => return None,
        })
    }

    /// Takes in the next bytes of one direction.
    pub(crate) fn feed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        match self {
            Conversation::Http(http) => http.feed(direction, bytes, notify),
            Conversation::Tls(tls) => tls.feed(direction, bytes, notify),
            Conversation::Dns(dns) => dns.feed(direction, bytes, notify),
        }
    }

    /// Whether what follows is a conversation of its own.
    pub(crate) fn tunnel(&self) -> Option<Tunnel> {
        match self {
            Conversation::Http(http) => http.tunnel(),
            Conversation::Tls(_) | Conversation::Dns(_) => None,
        }
    }

    /// Bytes of one direction are missing: it is read on from the next message
    /// that can be found.
    pub(crate) fn skip_gap(&mut self, direction: Direction, notify: &mut dyn FnMut(Event<'_>)) {
        match self {
            Conversation::Http(http) => http.skip_gap(direction, notify),
            Conversation::Tls(tls) => tls.stop(direction),
            Conversation::Dns(dns) => dns.stop(direction),
        }
    }

    /// One direction ended.
    pub(crate) fn stop(&mut self, direction: Direction, notify: &mut dyn FnMut(Event<'_>)) {
        match self {
            Conversation::Http(http) => http.stop(direction, notify),
            Conversation::Tls(tls) => tls.stop(direction),
            Conversation::Dns(dns) => dns.stop(direction),
        }
    }

    /// The newest transaction of which one direction said something, for a rule
    /// that matched its stream.
    pub(crate) fn newest(&self, direction: Direction) -> Option<Transaction> {
        let newest = match self {
            Conversation::Http(http) => http.newest(direction),
            Conversation::Tls(tls) => Some(Told::Tls(tls.record()).transaction()),
            Conversation::Dns(_) => None,
        };
        newest.map(|transaction| Transaction {
            is_guessed: true,
            ..transaction
        })
    }

    /// Heap memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Conversation::Http(http) => http.memory_bytes(),
            Conversation::Tls(tls) => tls.memory_bytes(),
            Conversation::Dns(dns) => dns.memory_bytes(),
        }
    }
}
