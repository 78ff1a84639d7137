//! HTTP/1 (RFC 9112): requests and responses, one after the other.

mod body;
mod coding;
mod head;
mod record;
pub(crate) mod start;
mod uri;
mod zstd;

use std::collections::VecDeque;

use super::{Event, EventContent, HttpRecord, Memory, Part, Transaction, Tunnel};
use crate::application::AppProtocol;
use crate::buffer::Buffer;
use crate::direction::Direction;
use body::Body;
use head::Head;

/// Longest head. What is longer is looked at so far, and the rest of its
/// direction is not.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Most requests whose responses are awaited.
const MAX_REQUESTS: usize = 64;

/// Most bytes that are kept of the requests whose responses are awaited, to tell
/// with alerts on these.
const MAX_RECORD_BYTES: usize = 16 << 10;

/// A request, as far as the length of its response depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asked {
    Head,
    Connect,
    #[default]
    Other,
}

/// Where the first line begins that can begin a message.
fn find_start_line(bytes: &[u8], direction: Direction) -> Option<usize> {
    let behind_line_ends = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1);
    let mut starts = std::iter::once(0).chain(behind_line_ends);
    starts.find(|start| start::is_message(&bytes[*start..], direction))
}

/// A request whose response is awaited.
#[derive(Clone, Debug)]
struct Request {
    asked: Asked,
    /// Its place among those of the connection.
    number: u64,
    /// What alerts say of it; empty where there is too much to keep.
    record: HttpRecord,
}

/// Both directions of a connection.
#[derive(Debug, Default)]
pub(crate) struct Http {
    request: Side,
    answer: Side,
    asked: VecDeque<Box<Request>>,
    /// Requests so far.
    requests: u64,
    /// The request whose response is being read.
    answered: Option<Box<Request>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// In the head of a message.
    #[default]
    Head,
    /// In its body.
    Body,
    /// Behind a gap: at the next start line that is found, a message begins.
    Seeking,
    /// What a proxy was asked to pass on (RFC 9110, section 9.3.6).
    Tunnel,
    /// Not HTTP any more, or no telling where the next message begins.
    Lost,
}

/// One direction.
#[derive(Debug, Default)]
struct Side {
    state: State,
    head: Head,
    body: Body,
    /// `None` before a rule was close to a match in a message.
    memory: Option<Box<Memory>>,
    /// How many bytes have come behind the last head.
    behind_bytes: usize,
}

impl Side {
    /// Another message begins.
    fn forget_rules(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.clear();
        }
    }
}

/// A message at the moment of an event.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    head: &'a Head,
    body: &'a Body,
    direction: Direction,
    /// The request that the message is, or responds to.
    request: Option<&'a Request>,
    is_new: bool,
    /// Length of the body before this event.
    known_body_bytes: usize,
}

impl<'a> View<'a> {
    pub(super) fn new_from(&self, buffer: Buffer) -> Option<usize> {
        if buffer.grows() {
            let is_ours = buffer.direction() == Some(self.direction);
            let known = self.known_body_bytes;
            let is_new = known == 0 || known < self.body.bytes().len();
            (is_ours && is_new && self.body.is_there()).then_some(known)
        } else {
            self.is_new.then_some(0)
        }
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.body.is_complete()
    }

    pub(super) fn body(&self, buffer: Buffer) -> Part<'a> {
        if buffer.direction() != Some(self.direction) {
            Part::Absent
        } else if self.body.is_there() {
            Part::Here(self.body.bytes(), self.body.is_seen())
        } else if self.body.is_complete() {
            Part::Absent
        } else {
            Part::Later
        }
    }

    /// What an alert says of the message; `None` where its request was not
    /// seen.
    pub(super) fn transaction(&self) -> Option<Transaction> {
        let answer = (self.direction == Direction::ToClient).then_some((self.head, self.body));
        self.request.map(|request| request.transaction(answer))
    }

    pub(super) fn head_part(&self, buffer: Buffer, out: &mut Vec<u8>) -> bool {
        self.head.write_part(buffer, self.direction, out)
    }
}

impl Http {
    pub(super) fn feed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        self.side(direction).behind_bytes += bytes.len();
        let mut rest = bytes;
        while !rest.is_empty() {
            let side = match direction {
                Direction::ToServer => &mut self.request,
                Direction::ToClient => &mut self.answer,
            };
            match side.state {
                State::Lost | State::Tunnel => return,
                State::Seeking => {
                    let Some(start) = find_start_line(rest, direction) else {
                        return;
                    };
                    rest = &rest[start..];
                    side.state = State::Head;
                }
                State::Head => {
                    let taken = side.head.take(rest, MAX_HEAD_BYTES);
                    rest = &rest[taken..];
                    if direction == Direction::ToClient
                        && self.answered.is_none()
                        && !self.asked.is_empty()
                        && self.answer.head.is_no_status_line()
                    {
                        self.begin_simple_response(notify);
                        continue;
                    }
                    let side = self.side(direction);
                    if !side.head.is_complete() {
                        continue;
                    }
                    side.head.parse();
                    side.forget_rules();
                    side.behind_bytes = rest.len();
                    self.begin_body(direction);
                    self.tell(direction, true, 0, notify);
                    self.end_message(direction);
                }
                State::Body => {
                    let known = side.body.bytes().len();
                    let taken = side.body.take(rest);
                    rest = &rest[taken..];
                    let grew = side.body.bytes().len() > known;
                    // What is too long to be kept still goes by in the stream.
                    let is_awaited =
                        (side.memory.as_ref()).is_some_and(|known| !known.waiting.is_empty());
                    if grew || is_awaited || side.body.is_complete() {
                        self.tell(direction, false, known, notify);
                    }
                    self.end_message(direction);
                }
            }
        }
    }

    fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ToServer => &mut self.request,
            Direction::ToClient => &mut self.answer,
        }
    }

    /// How long the body is (RFC 9112, section 6.3).
    fn begin_body(&mut self, direction: Direction) {
        match direction {
            Direction::ToServer => {
                let head = &self.request.head;
                let asked = match head.method() {
                    b"HEAD" => Asked::Head,
                    b"CONNECT" => Asked::Connect,
                    _ => Asked::Other,
                };
                self.request.body.begin_request(head);
                if self.asked.len() < MAX_REQUESTS {
                    let kept: usize = (self.asked.iter())
                        .map(|request| request.record.text_bytes())
                        .sum();
                    let has_room = kept + head.bytes_kept() <= MAX_RECORD_BYTES;
                    self.asked.push_back(Box::new(Request {
                        asked,
                        number: self.requests,
                        record: if has_room {
                            HttpRecord::of_request(head)
                        } else {
                            HttpRecord::default()
                        },
                    }));
                }
                self.requests += 1;
            }
            Direction::ToClient => {
                let head = &self.answer.head;
                let is_interim = head.status().is_some_and(|status| status / 100 == 1);
                self.answered = if is_interim {
                    self.asked.front().cloned()
                } else {
                    self.asked.pop_front()
                };
                let asked = self.answered.as_ref().map(|request| request.asked);
                let asked = asked.unwrap_or_default();
                let has_body = asked != Asked::Head && head.may_have_body();
                self.answer.body.begin_answer(head, has_body);
                let next = match head.status() {
                    Some(101) => Some(State::Lost),
                    Some(200..=299) if asked == Asked::Connect => Some(State::Tunnel),
                    _ => None,
                };
                if let Some(next) = next {
                    self.request.state = next;
                    self.answer.body.end();
                    self.answer.state = next;
                }
            }
        }
        let side = self.side(direction);
        if side.head.is_too_long() {
            side.state = State::Lost;
        } else if side.state == State::Head {
            side.state = State::Body;
        }
    }

    /// Where a proxy passes both directions on: how many bytes of a tunnel each has had.
    pub(super) fn tunnel(&self) -> Option<Tunnel> {
        let is_tunnel = |side: &Side| side.state == State::Tunnel;
        (is_tunnel(&self.request) && is_tunnel(&self.answer)).then_some(Tunnel {
            bytes_to_server: self.request.behind_bytes,
            bytes_to_client: self.answer.behind_bytes,
            transactions: self.requests,
        })
    }

    /// HTTP in a tunnel: its transactions are numbered on.
    pub(super) fn numbered_from(transactions: u64) -> Http {
        Http {
            requests: transactions,
            ..Http::default()
        }
    }

    /// The first response of the connection has no status line: all of it is a body, as
    /// HTTP/0.9 has it (RFC 1945, section 6).
    fn begin_simple_response(&mut self, notify: &mut dyn FnMut(Event<'_>)) {
        let text = self.answer.head.take_bytes();
        self.answer.forget_rules();
        self.begin_body(Direction::ToClient);
        self.answer.body.take(&text);
        self.tell(Direction::ToClient, true, 0, notify);
        self.end_message(Direction::ToClient);
    }

    fn end_message(&mut self, direction: Direction) {
        let side = self.side(direction);
        if side.state == State::Body && side.body.is_complete() {
            self.keep_answer(direction);
            let side = self.side(direction);
            side.state = State::Head;
            // Between messages a connection may be quiet for long.
            (side.head, side.body) = (Head::default(), Body::default());
        }
    }

    /// Keeps of a response that is over what alerts say of it.
    fn keep_answer(&mut self, direction: Direction) {
        if let (Direction::ToClient, Some(request)) = (direction, &mut self.answered) {
            let Side { head, body, .. } = &self.answer;
            request.record.add_answer(head, body);
        }
    }

    /// Bytes are missing. Which request a response behind them belongs to is not known.
    pub(super) fn skip_gap(&mut self, direction: Direction, notify: &mut dyn FnMut(Event<'_>)) {
        let is_lost = self.side(direction).state == State::Lost;
        self.stop(direction, notify);
        if !is_lost {
            self.asked.clear();
            let side = self.side(direction);
            side.head = Head::default();
            side.state = State::Seeking;
        }
    }

    pub(super) fn stop(&mut self, direction: Direction, notify: &mut dyn FnMut(Event<'_>)) {
        let side = self.side(direction);
        // A head without end is what came of it.
        if side.state == State::Head && side.head.end() {
            side.head.parse();
            side.forget_rules();
            self.begin_body(direction);
            self.tell(direction, true, 0, notify);
        }
        let side = self.side(direction);
        if side.state == State::Body && !side.body.is_complete() {
            let known = side.body.bytes().len();
            side.body.end();
            self.tell(direction, false, known, notify);
            self.keep_answer(direction);
        }
        self.side(direction).state = State::Lost;
    }

    /// The request that a direction's newest message is, or responds to.
    fn request(&self, direction: Direction) -> Option<&Request> {
        match direction {
            Direction::ToServer => {
                let newest = self.asked.back().or(self.answered.as_ref())?.as_ref();
                (newest.number + 1 == self.requests).then_some(newest)
            }
            Direction::ToClient => self.answered.as_deref(),
        }
    }

    /// The newest transaction of which one direction said something.
    pub(super) fn newest(&self, direction: Direction) -> Option<Transaction> {
        let Side { head, body, .. } = &self.answer;
        let goes_on = direction == Direction::ToClient && self.answer.state == State::Body;
        let answer = goes_on.then_some((head, body));
        Some(self.request(direction)?.transaction(answer))
    }

    fn tell(
        &mut self,
        direction: Direction,
        is_new: bool,
        known_body_bytes: usize,
        notify: &mut dyn FnMut(Event<'_>),
    ) {
        let mut kept = self.side(direction).memory.take();
        let mut fresh = Memory::default();
        let Side { head, body, .. } = match direction {
            Direction::ToServer => &self.request,
            Direction::ToClient => &self.answer,
        };
        notify(Event {
            protocol: AppProtocol::Http,
            direction,
            content: EventContent::Http(View {
                head,
                body,
                direction,
                request: self.request(direction),
                is_new,
                known_body_bytes,
            }),
            memory: kept.as_deref_mut().unwrap_or(&mut fresh),
        });
        if kept.is_none() && !fresh.is_empty() {
            kept = Some(Box::new(fresh));
        }
        self.side(direction).memory = kept;
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let sides = [&self.request, &self.answer];
        let sides = sides.map(|side| {
            let memory = side
                .memory
                .as_ref()
                .map_or(0, |memory| memory.memory_bytes());
            side.head.memory_bytes() + side.body.memory_bytes() + memory
        });
        let requests = self.asked.iter().chain(&self.answered);
        size_of::<Http>()
            + sides.iter().sum::<usize>()
            + requests
                .map(|request| request.memory_bytes())
                .sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
