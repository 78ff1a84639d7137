//! A TCP connection with any segments, to the sensor and to a reference receiver: a byte that says
//! how it was opened, and 7 bytes for each segment, relative to what the ends expect.
//!
//! The promise of [`Inspector`]: with every packet, the bytes that rules about streams see are those
//! that the receiver delivers to its application with this packet, no more, no less and no others.
//! The receiver is that of [`host`]: Linux, with the segments alone to go by. Left out is what no one
//! beside the path can know ([`host::Doubt`]), and what comes behind the end of a connection: there the sensor
//! may see more, since a RST may have expired on its way. And an input ends for the sensor where both ends go on with
//! what the other refuses ([`Claims`]): packets may be missing in front of that. Urgent data are not part of the inputs.
//!
//! A byte of the stream says where it belongs (modulo 62) and in which of four versions, and there is a
//! rule for every two bytes that may follow each other: what the rules saw is read off their alerts.

mod host;
#[cfg(target_os = "linux")]
pub mod linux;
mod packets;
mod seeds;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use weir_inspect::{Inspector, Packet, RuleSet};
use weir_packet::wire::{Headers, LinkType};

use crate::rules::load;
use host::{Connection, Opening, Outcome, Segment, flags};
use packets::{Build, Damage, Form};

pub use seeds::{WORDS, seeds};

/// Most segments of an input: together they bring fewer than the 255 alerts that a packet may raise.
const MAX_SEGMENTS: usize = 32;
const SEGMENT_BYTES: usize = 7;
const MAX_PAYLOAD_BYTES: u8 = 7;
/// Places after which the bytes repeat. The first byte of a stream has a place of its own.
const PLACES: u32 = 62;
const VERSIONS: u8 = 4;

/// Two bytes that follow each other, or the first.
type Seen = BTreeSet<(Option<u8>, u8)>;

/// Panics where the sensor saw other bytes than the receiver.
pub fn check(input: &[u8]) {
    let input = Input::read(input);
    if let Err(difference) = compare(&input, &mut Sensor::new(&input.opening)) {
        panic!("{difference}");
    }
}

/// What looks at a connection from the side.
trait Observer {
    /// The bytes that it sees with a segment of the client (0) or the server (1).
    fn see(&mut self, from: usize, segment: &Segment, build: &Build) -> Seen;

    /// Whether it knows that it sees all packets.
    fn sees_all(&self) -> bool;
}

fn compare(input: &Input, observer: &mut dyn Observer) -> Result<(), String> {
    let mut reference = Reference::new(&input.opening);
    let mut history = Vec::new();
    let mut claims = [Claims::default(), Claims::default()];
    for (number, step) in (1..).zip(&input.steps) {
        let build = step.build(number);
        let segment = step.segment(&reference.connection, &input.opening);
        let is_at_edge = segment.sequence == reference.connection.hosts[1 - step.from].edge();
        let (outcome, mut delivered) = reference.take(step.from, &segment);
        let is_judged = match outcome {
            Outcome::InDoubt(_) => false,
            Outcome::Over => return Ok(()),
            Outcome::Refused | Outcome::Taken => true,
        };
        // What begins at the edge of the window is taken for what it acknowledges alone.
        if is_judged && (outcome == Outcome::Refused || is_at_edge) {
            if !observer.sees_all() && claims[1 - step.from].are_confirmed_by(&segment) {
                return Ok(());
            }
            claims[step.from].add(&segment);
        }
        history.push((step.from, build, segment, outcome));
        let Some((_, build, segment, _)) = history.last().filter(|_| is_judged) else {
            continue;
        };
        let mut seen = observer.see(step.from, segment, build);
        if let Some(again) = reference.repeated_across {
            seen.remove(&again);
            delivered.remove(&again);
        }
        if seen != delivered {
            let history: String = (history.iter())
                .map(|(from, build, segment, outcome)| {
                    format!("{from} {build:?} {segment:?}: {outcome:?}\n")
                })
                .collect();
            return Err(format!(
                "{:?}\n{history}delivered {delivered:?}\nseen {seen:?}",
                input.opening
            ));
        }
    }
    Ok(())
}

/// The refused segments of one end: each with its sequence number, the number behind it, what it
/// acknowledges, and the edge of the window that it gives.
///
/// Where packets were not seen, all that comes later is refused of both ends, and each confirms what
/// the other says of itself. That is what the sensor goes by, and here it is enough that any series
/// of refused segments is confirmed: it may go by the last ones only.
#[derive(Default)]
struct Claims(Vec<[u32; 4]>);

impl Claims {
    fn add(&mut self, segment: &Segment) {
        if segment.is_whole && segment.flags & (flags::ACK | flags::SYN | flags::RST) == flags::ACK
        {
            let edge = segment.acknowledgement.wrapping_add(segment.window_bytes);
            let (first, end) = (segment.sequence, segment.end());
            self.0.push([first, end, segment.acknowledgement, edge]);
        }
    }

    /// Whether a segment of the other end acknowledges some of them, and goes on where they say.
    fn are_confirmed_by(&self, segment: &Segment) -> bool {
        let distance = |number: u32, from: u32| number.wrapping_sub(from);
        (0..self.0.len()).any(|start| {
            let [first, _, acknowledgement, _] = self.0[start];
            let later = &self.0[start..];
            distance(segment.sequence, acknowledgement) as i32 >= 0
                && (later.iter()).any(|[_, end, ..]| {
                    distance(segment.acknowledgement, first) <= distance(*end, first)
                })
                && (later.iter()).any(|[.., edge]| distance(*edge, segment.sequence) as i32 >= 0)
        })
    }
}

struct Reference {
    connection: Connection,
    /// The last byte that was known and the first new one, where the stream had the same two
    /// before: what a rule matched in is no match again, and a part of these two is in it.
    repeated_across: Option<(Option<u8>, u8)>,
}

impl Reference {
    fn new(opening: &Handshake) -> Reference {
        Reference {
            connection: Connection::new(&opening.outcome()),
            repeated_across: None,
        }
    }

    fn take(&mut self, from: usize, segment: &Segment) -> (Outcome, Seen) {
        let known = self.connection.hosts[1 - from].delivered.len();
        let outcome = self.connection.take(from, segment);
        let delivered = &self.connection.hosts[1 - from].delivered;
        self.repeated_across = match delivered.get(known.saturating_sub(1)..=known) {
            Some(&[one, other]) => (delivered[..known].windows(2))
                .any(|two| two == [one, other])
                .then_some((Some(one), other)),
            _ => None,
        };
        let seen = (known..delivered.len()).map(|at| {
            let before = at.checked_sub(1).map(|before| delivered[before]);
            (before, delivered[at])
        });
        (outcome, seen.collect())
    }
}

/// The sensor, behind the handshake.
struct Sensor {
    inspector: Inspector,
    handshake: Handshake,
}

impl Sensor {
    fn new(handshake: &Handshake) -> Sensor {
        let mut sensor = Sensor {
            inspector: Inspector::new(Arc::clone(rules())),
            handshake: *handshake,
        };
        for packet in handshake.packets() {
            assert_eq!(sensor.inspect(&packet, 0), Seen::new());
        }
        sensor
    }

    fn inspect(&mut self, record: &[u8], from: usize) -> Seen {
        let packet = Packet {
            headers: Headers::parse(LinkType::RawIp, record),
            bytes: record,
            timestamp_ns: 1_700_000_000_000_000_000,
            ..Packet::default()
        };
        let mut seen = Seen::new();
        self.inspector.inspect(&[packet], |alert| {
            assert_eq!(alert.flow.source_port, packets::PORTS[from]);
            seen.insert(two_bytes(alert.rule));
        });
        seen
    }
}

impl Observer for Sensor {
    fn see(&mut self, from: usize, segment: &Segment, build: &Build) -> Seen {
        let mut seen = Seen::new();
        for record in self.handshake.records(from, segment, build) {
            seen.append(&mut self.inspect(&record, from));
        }
        seen
    }

    fn sees_all(&self) -> bool {
        false
    }
}

fn byte(place: u32, version: u8) -> u8 {
    place as u8 * VERSIONS + version
}

/// Where a byte of a stream belongs, by its distance from the first.
fn place(distance: i32) -> u32 {
    match distance {
        0 => 0,
        _ => 1 + (i64::from(distance) - 1).rem_euclid(PLACES.into()) as u32,
    }
}

/// What each rule looks for, in their order.
fn all_two_bytes() -> impl Iterator<Item = (Option<u8>, u8)> {
    let versions = || 0..VERSIONS;
    let first = versions().map(|version| (None, byte(0, version)));
    let pairs = (0..=PLACES).flat_map(move |one| {
        let other = place(one as i32 + 1);
        versions().flat_map(move |a| versions().map(move |b| (Some(byte(one, a)), byte(other, b))))
    });
    first.chain(pairs)
}

fn two_bytes(rule: u32) -> (Option<u8>, u8) {
    static ALL: OnceLock<Vec<(Option<u8>, u8)>> = OnceLock::new();
    ALL.get_or_init(|| all_two_bytes().collect())[rule as usize]
}

fn rules() -> &'static Arc<RuleSet> {
    static RULES: OnceLock<Arc<RuleSet>> = OnceLock::new();
    RULES.get_or_init(|| {
        let mut text = String::new();
        for (rule, (one, other)) in all_two_bytes().enumerate() {
            let content = match one {
                Some(one) => format!("|{one:02x} {other:02x}|\""),
                None => format!("|{other:02x}|\"; offset:0; depth:1"),
            };
            text += &format!(
                "alert tcp any any -> any any (flow:established,only_stream; content:\"{content}; sid:{};)\n",
                1 + rule
            );
        }
        let (rules, report) = load(text.as_bytes());
        assert_eq!(report.loaded as usize, all_two_bytes().count());
        Arc::new(rules)
    })
}

/// An input: how the connection was opened, and what came then.
struct Input {
    opening: Handshake,
    steps: Vec<Step>,
}

impl Input {
    fn read(input: &[u8]) -> Input {
        let (first, rest) = input.split_first().unwrap_or((&0, &[]));
        let steps = rest.chunks_exact(SEGMENT_BYTES).take(MAX_SEGMENTS);
        Input {
            opening: Handshake::read(*first),
            steps: steps.map(Step::read).collect(),
        }
    }
}

/// How a connection was opened.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    /// Address of the client.
    client: u32,
    iss: [u32; 2],
    window: u16,
    /// Of client and server.
    scales: [Option<u8>; 2],
    timestamps: [Option<u32>; 2],
}

impl Handshake {
    fn read(byte: u8) -> Handshake {
        let iss = [
            [1000, 5000],
            [u32::MAX - 20, u32::MAX],
            [(1 << 31) - 10, 0],
            [7, 7],
        ];
        let windows = [20, 200, 65_535, 6];
        let timestamps = [
            [Some(1000), Some(u32::MAX)],
            [Some(0), Some(0)],
            [Some(9), None],
            [None; 2],
        ];
        let at = |shift: u8| usize::from(byte >> shift & 3);
        Handshake {
            client: packets::ADDRESSES[0],
            iss: iss[at(0)],
            window: windows[at(2)],
            scales: [
                [None, None],
                [Some(0), Some(1)],
                [Some(3), None],
                [Some(2), Some(0)],
            ][at(4)],
            timestamps: timestamps[at(6)],
        }
    }

    /// The window of a later segment, by its sender.
    fn window_bytes(&self, from: usize) -> u32 {
        let scale = self.scales[0].and(self.scales[1]).and(self.scales[from]);
        u32::from(self.window) << scale.unwrap_or(0)
    }

    fn outcome(&self) -> Opening {
        let [client, server] = self.timestamps;
        Opening {
            iss: self.iss,
            // That of the SYN-ACK is not scaled.
            window_bytes: [self.window_bytes(0), self.window.into()],
            timestamps: client.zip(server).map(|(client, server)| [client, server]),
        }
    }
}

/// One segment of an input.
struct Step {
    from: usize,
    version: u8,
    form: Form,
    damage: Damage,
    flags: u8,
    sequence: (u8, i8),
    acknowledgement: (u8, i8),
    payload_bytes: u8,
    timestamp: (u8, i8),
}

impl Step {
    fn read(bytes: &[u8]) -> Step {
        Step {
            from: usize::from(bytes[0] & 1),
            version: bytes[0] >> 1 & 3,
            form: Form::read(bytes[0] >> 3 & 7),
            flags: bytes[1] & 0x1f,
            sequence: (bytes[2] & 7, bytes[3] as i8),
            acknowledgement: (bytes[2] >> 4 & 7, bytes[4] as i8),
            payload_bytes: bytes[5] & MAX_PAYLOAD_BYTES,
            damage: Damage::read(bytes[5] >> 5),
            timestamp: (bytes[5] >> 3 & 3, bytes[6] as i8),
        }
    }

    /// The segment that it stands for at this moment of a connection.
    fn segment(&self, connection: &Connection, handshake: &Handshake) -> Segment {
        let sender = &connection.hosts[self.from];
        let receiver = &connection.hosts[1 - self.from];
        let number = |near: [u32; 6], (which, delta): (u8, i8)| match near.get(usize::from(which)) {
            Some(base) => base.wrapping_add_signed(delta.into()),
            None => near[0].wrapping_add_signed(i32::from(delta) << 24),
        };
        let sequence = number(
            [
                receiver.receive_next,
                sender.send_next,
                receiver.edge(),
                sender.iss,
                sender.send_unacknowledged,
                receiver.edge().wrapping_sub(u32::from(self.payload_bytes)),
            ],
            self.sequence,
        );
        let acknowledgement = number(
            [
                sender.receive_next,
                receiver.send_next,
                receiver.send_unacknowledged,
                receiver.iss,
                sender.edge(),
                connection.hosts[0].iss,
            ],
            self.acknowledgement,
        );
        let newest = receiver.timestamp.unwrap_or(handshake.iss[0]);
        let timestamp = match self.timestamp {
            (0, _) => None,
            (1, delta) => Some(newest.wrapping_add_signed(delta.into())),
            (2, delta) => Some(newest.wrapping_add_signed(i32::from(delta) << 24)),
            (_, delta) => Some(delta as u32),
        };
        let first = sequence.wrapping_add(u32::from(self.flags & flags::SYN != 0));
        let distance = first.wrapping_sub(sender.iss.wrapping_add(1)) as i32;
        let payload = (0..i32::from(self.payload_bytes))
            .map(|at| byte(place(distance.wrapping_add(at)), self.version));
        let mut segment = Segment {
            flags: self.flags,
            sequence,
            acknowledgement,
            window_bytes: handshake.window_bytes(self.from),
            timestamp,
            payload: payload.collect(),
            is_whole: true,
        };
        segment.is_whole = handshake.is_delivered(self.from, &segment, &self.build(0));
        segment
    }

    /// How it is made a packet, with a number for its datagram.
    fn build(&self, identification: u32) -> Build {
        Build {
            identification,
            form: self.form,
            damage: self.damage,
        }
    }
}

#[cfg(test)]
mod tests;
