//! DNS (RFC 1035): the names that are asked for.

use super::{Event, EventContent, Memory};
use crate::buffer::Buffer;
use crate::flow::AppProtocol;
use crate::rule::Direction;

/// Most questions of a message that are looked at.
const MAX_QUESTIONS: usize = 16;

/// Calls `visit` with every name that a query asks for, its labels separated
/// by dots, until it ends or makes no sense. Names are written to `name`.
pub(crate) fn question_names(message: &[u8], name: &mut Vec<u8>, mut visit: impl FnMut(&[u8])) {
    let Some((header, mut rest)) = message.split_first_chunk::<12>() else {
        return;
    };
    let is_answer = header[2] & 0x80 != 0;
    if is_answer {
        return;
    }
    let questions = usize::from(u16::from_be_bytes([header[4], header[5]]));
    for _ in 0..questions.min(MAX_QUESTIONS) {
        name.clear();
        loop {
            match rest {
                [0, _, _, _, _, after @ ..] => {
                    rest = after;
                    break;
                }
                [length @ 1..=63, after @ ..] if after.len() >= usize::from(*length) => {
                    if !name.is_empty() {
                        name.push(b'.');
                    }
                    let (label, after) = after.split_at(usize::from(*length));
                    name.extend_from_slice(label);
                    rest = after;
                }
                _ => return,
            }
        }
        visit(name);
    }
}

/// Messages over TCP, each behind its length (RFC 1035, section 4.2.2).
#[derive(Debug, Default)]
pub(crate) struct DnsStream {
    bytes: Vec<u8>,
    name: Vec<u8>,
    is_lost: bool,
    memory: Memory,
}

impl DnsStream {
    pub(super) fn feed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        if self.is_lost || direction == Direction::ToClient {
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
            let memory = &mut self.memory;
            question_names(message, &mut self.name, |name| {
                memory.clear();
                notify(Event {
                    protocol: AppProtocol::Dns,
                    direction,
                    content: EventContent::Parts(&[(Buffer::DnsQuery, name)]),
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
    fn messages_of_a_stream_in_pieces() {
        let message = b"\0\x01\x01\0\0\x01\0\0\0\0\0\0\x03www\x02de\0\0\x01\0\x01";
        let framed = [&[0, message.len() as u8][..], message].concat().repeat(2);
        let (mut stream, mut events) = (DnsStream::default(), 0);
        for byte in &framed {
            stream.feed(Direction::ToServer, &[*byte], &mut |_| events += 1);
        }
        assert_eq!(events, 2);
    }
}
