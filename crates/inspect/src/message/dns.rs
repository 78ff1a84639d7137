//! DNS (RFC 1035): the names that are queried.

use super::transaction::{DnsQuestion, DnsRecord, readable};
use super::{Event, EventContent, Memory, Told};
use crate::application::AppProtocol;
use crate::buffer::Buffer;
use crate::direction::Direction;

/// Most questions of a message that are looked at.
const MAX_QUESTIONS: usize = 16;
/// Longest name, with the lengths of its labels and of the root (RFC 1035, section 2.3.4).
const MAX_NAME_BYTES: usize = 255;
const HEADER_BYTES: usize = 12;

/// Calls `visit` with every name that is queried, its labels separated
/// by dots, until it ends or makes no sense. Names are written to `name`.
pub(crate) fn question_names(message: &[u8], name: &mut Vec<u8>, mut visit: impl FnMut(&[u8])) {
    questions(message, name, |name, _| visit(name));
}

/// The same, with the types that are queried.
fn questions(message: &[u8], name: &mut Vec<u8>, mut visit: impl FnMut(&[u8], u16)) {
    let Some(header) = message.first_chunk::<HEADER_BYTES>() else {
        return;
    };
    let is_answer = header[2] & 0x80 != 0;
    if is_answer {
        return;
    }
    let questions = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let mut at = HEADER_BYTES;
    for _ in 0..questions.min(MAX_QUESTIONS) {
        name.clear();
        let question = read_question(message, &mut at, |label| {
            if !name.is_empty() {
                name.push(b'.');
            }
            name.extend_from_slice(label);
        });
        let Some((kind, _)) = question else {
            return;
        };
        visit(name, kind);
    }
}

/// Type and class of the first question, if there is one whose name makes sense.
pub(crate) fn first_question(message: &[u8]) -> Option<(u16, u16)> {
    let header = message.first_chunk::<HEADER_BYTES>()?;
    let has_question = header[4..6] != [0, 0];
    let read = || read_question(message, &mut { HEADER_BYTES }, |_| ());
    has_question.then(read).flatten()
}

/// Reads the question at a place, and visits the labels of its name; the place is then behind it.
fn read_question(message: &[u8], at: &mut usize, visit: impl FnMut(&[u8])) -> Option<(u16, u16)> {
    *at = read_name(message, *at, visit)?;
    let fields: &[u8; 4] = message.get(*at..)?.first_chunk()?;
    *at += fields.len();
    let [kind_high, kind_low, class_high, class_low] = *fields;
    let (kind, class) = ([kind_high, kind_low], [class_high, class_low]);
    Some((u16::from_be_bytes(kind), u16::from_be_bytes(class)))
}

/// Reads a name, and returns the place behind it. A pointer must lead further back than the last one,
/// as servers ask for (RFC 1035, section 4.1.4), so that none leads in a circle.
fn read_name(message: &[u8], start: usize, mut visit: impl FnMut(&[u8])) -> Option<usize> {
    let (mut at, mut lowest, mut behind) = (start, start, None);
    let mut name_bytes = 1;
    loop {
        match message.get(at..)? {
            [0, ..] => return Some(behind.unwrap_or(at + 1)),
            [length @ 1..=63, rest @ ..] => {
                let label = rest.get(..usize::from(*length))?;
                visit(label);
                at += 1 + label.len();
                name_bytes += 1 + label.len();
            }
            [high, low, ..] if *high >= 0xc0 => {
                behind = behind.or(Some(at + 2));
                at = usize::from(u16::from_be_bytes([high & 0x3f, *low]));
                if at >= lowest {
                    return None;
                }
                lowest = at;
            }
            _ => return None,
        }
        if name_bytes > MAX_NAME_BYTES {
            return None;
        }
    }
}

/// What an alert says of a query.
pub(super) fn record(message: &[u8], number: u64) -> DnsRecord {
    let (id, opcode) = match message {
        [high, low, flags, ..] => (u16::from_be_bytes([*high, *low]), flags >> 3 & 0x0f),
        _ => (0, 0),
    };
    let mut query = Vec::new();
    questions(message, &mut Vec::new(), |name, kind| {
        query.push(DnsQuestion {
            kind: "query",
            id,
            rrname: readable(name),
            rrtype: type_name(kind),
            tx_id: number,
            opcode,
        });
    });
    DnsRecord { version: 2, query }
}

/// The name of a type in IANA's registry "Resource Record (RR) TYPEs"; its
/// number where it is not listed here.
fn type_name(kind: u16) -> String {
    const NAMES: [(u16, &str); 44] = [
        (1, "A"),
        (2, "NS"),
        (3, "MD"),
        (4, "MF"),
        (5, "CNAME"),
        (6, "SOA"),
        (7, "MB"),
        (8, "MG"),
        (9, "MR"),
        (10, "NULL"),
        (11, "WKS"),
        (12, "PTR"),
        (13, "HINFO"),
        (14, "MINFO"),
        (15, "MX"),
        (16, "TXT"),
        (17, "RP"),
        (18, "AFSDB"),
        (24, "SIG"),
        (25, "KEY"),
        (28, "AAAA"),
        (29, "LOC"),
        (33, "SRV"),
        (35, "NAPTR"),
        (36, "KX"),
        (37, "CERT"),
        (39, "DNAME"),
        (41, "OPT"),
        (43, "DS"),
        (44, "SSHFP"),
        (45, "IPSECKEY"),
        (46, "RRSIG"),
        (47, "NSEC"),
        (48, "DNSKEY"),
        (50, "NSEC3"),
        (51, "NSEC3PARAM"),
        (52, "TLSA"),
        (65, "HTTPS"),
        (99, "SPF"),
        (249, "TKEY"),
        (250, "TSIG"),
        (252, "AXFR"),
        (255, "ANY"),
        (256, "URI"),
    ];
    let known = NAMES.iter().find(|(number, _)| *number == kind);
    known.map_or_else(|| kind.to_string(), |(_, name)| (*name).to_owned())
}

/// Messages over TCP, each behind its length (RFC 1035, section 4.2.2).
#[derive(Debug, Default)]
pub(crate) struct DnsStream {
    bytes: Vec<u8>,
    name: Vec<u8>,
    /// Messages so far, of both directions.
    messages: u64,
    answers: Frames,
    is_lost: bool,
    memory: Memory,
}

/// Messages behind their lengths that are counted, and not kept.
#[derive(Debug, Default)]
struct Frames {
    /// First byte of a length whose second has not come.
    high: Option<u8>,
    /// Bytes of the message at hand that are to come.
    left: usize,
}

impl Frames {
    /// How many messages begin in these bytes.
    fn count(&mut self, mut bytes: &[u8]) -> u64 {
        let mut count = 0;
        loop {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            let Some((byte, rest)) = bytes[skipped..].split_first() else {
                return count;
            };
            bytes = rest;
            match self.high.take() {
                None => self.high = Some(*byte),
                Some(high) => {
                    self.left = usize::from(u16::from_be_bytes([high, *byte]));
                    count += 1;
                }
            }
        }
    }
}

impl DnsStream {
    pub(super) fn feed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        if direction == Direction::ToClient {
            self.messages += self.answers.count(bytes);
            return;
        }
        if self.is_lost {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        let mut at = 0;
        while let Some([high, low, rest @ ..]) = self.bytes.get(at..) {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            let Some(message) = rest.get(..length) else {
                break;
            };
            at += 2 + length;
            let (memory, number) = (&mut self.memory, self.messages);
            self.messages += 1;
            question_names(message, &mut self.name, |name| {
                memory.clear();
                notify(Event {
                    protocol: AppProtocol::Dns,
                    direction,
                    content: EventContent::Parts(
                        &[(Buffer::DnsQuery, name)],
                        Told::Dns(message, number),
                    ),
                    memory,
                });
            });
        }
        self.bytes.drain(..at);
    }

    pub(super) fn stop(&mut self, direction: Direction) {
        self.is_lost |= direction == Direction::ToServer;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.name.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(message: &[u8]) -> Vec<String> {
        let (mut name, mut found) = (Vec::new(), Vec::new());
        question_names(message, &mut name, |name| {
            found.push(String::from_utf8_lossy(name).into_owned());
        });
        found
    }

    #[test]
    fn names_of_queries_alone() {
        let query = b"\0\x01\x01\0\0\x02\0\0\0\0\0\0\x03www\x02de\0\0\x01\0\x01\x01a\0\0\x1c\0\x01";
        assert_eq!(names(query), ["www.de", "a"]);
        for end in 0..query.len() {
            assert!(names(&query[..end]).len() < 2);
        }
        let mut answer = query.to_vec();
        answer[2] |= 0x80;
        assert!(names(&answer).is_empty());
    }

    #[test]
    fn pointers_lead_back() {
        // The second name ends with a part of the first, the third is the second.
        let query = b"\0\x01\x01\0\0\x03\0\0\0\0\0\0\x03www\x02de\0\0\x01\0\x01\
                      \x01a\xc0\x10\0\x01\0\x01\xc0\x18\0\x01\0\x01";
        assert_eq!(names(query), ["www.de", "a.de", "a.de"]);
        // To itself, forwards, and in a circle.
        for target in [0x22, 0x24, 0x18] {
            let mut circle = query.to_vec();
            circle[0x19 + 2 - 1] = target;
            assert_eq!(names(&circle)[..1], ["www.de"]);
            assert!(names(&circle).len() <= 2);
        }
    }

    #[test]
    fn alerts_say_what_was_asked() {
        let message =
            b"\x12\x34\x01\0\0\x02\0\0\0\0\0\0\x02\xff\x01\0\0\x1c\0\x01\x01a\0\xfd\xe9\0\x01";
        let json = serde_json::to_value(record(message, 3)).expect("JSON");
        let question = |rrname, rrtype| {
            serde_json::json!({
                "type": "query", "id": 0x1234, "rrname": rrname, "rrtype": rrtype, "tx_id": 3,
                "opcode": 0,
            })
        };
        assert_eq!(json["query"][0], question("\\xff\\x01", "AAAA"));
        assert_eq!(json["query"][1], question("a", "65001"));
    }

    #[test]
    fn messages_of_a_stream_in_pieces() {
        let message = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x03www\x02de\0\0\x01\0\x01";
        let framed = [&[0, message.len() as u8][..], message].concat().repeat(2);
        let (mut stream, mut numbers) = (DnsStream::default(), Vec::new());
        for direction in [
            Direction::ToServer,
            Direction::ToClient,
            Direction::ToServer,
        ] {
            for byte in &framed {
                stream.feed(direction, &[*byte], &mut |event| {
                    numbers.extend(event.content.transaction().map(|told| told.number));
                });
            }
        }
        assert_eq!(numbers, [0, 1, 4, 5]);
    }
}
