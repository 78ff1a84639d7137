//! The reference beside Linux: the same segments through a TUN device to a listening socket.
//!
//! Linux is the server, so its half of the reference is held against it: with every packet, what
//! the socket can read is what the reference delivers, and it is at its end when the reference
//! says so. What Linux sends comes back to the reference as the server's. Where an input says that
//! the server sends, its application does: it writes, or ends its side.

use std::fmt;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use weir_packet::wire::views::Tcp;
use weir_packet::wire::{FlowKey, Headers, LinkType, protocol};
use weir_port::{
    FrameLayout, FramePool, Frames, Outgoing, Rx, TunOptions, TunRx, TunTx, Tx, open_tun,
};

use super::host::{Connection, Outcome, Segment, flags};
use super::packets;
use super::{Handshake, Input, Step, seeds};
use crate::mutation::Mutator;

const DEVICE: &str = "receiver";
const FRAGMENT_MEMORY: &str = "/proc/sys/net/ipv4/ipfrag_high_thresh";
/// Kinds of TCP options (RFC 7323).
const WINDOW_SCALE: u8 = 3;
const TIMESTAMP: u8 = 8;
/// Times that a connection is tried: a timer of Linux may run while an input is given on a busy
/// machine, and does not at the same place again.
const TRIALS: u32 = 3;

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Connections.
    pub connections: u64,
    /// Segments of clients that Linux was given.
    pub segments: u64,
    /// Of these, what the reference refuses.
    pub refused: u64,
    /// Segments left out, for what becomes of them depends on more than the segments.
    pub in_doubt: u64,
    /// Bytes that both deliver.
    pub bytes: u64,
    /// Connections that were over within their input.
    pub over: u64,
    /// Connections that agreed only when they were tried again.
    pub again: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} connections ({} over, {} agreed when tried again), {} segments ({} refused, {} in doubt \
             and left out), {} bytes delivered",
            self.connections,
            self.over,
            self.again,
            self.segments,
            self.refused,
            self.in_doubt,
            self.bytes
        )
    }
}

/// Gives the seeds, and then mutations of them, to Linux and to the reference: `connections` in
/// all. The same arguments give the same inputs.
///
/// The calling thread should be in a network namespace of its own: this makes a TUN device and
/// gives it an address.
///
/// # Errors
/// There is no TUN device to be had, or Linux and the reference differ; the text has the
/// connection.
pub fn compare(connections: u32, seed: u64) -> Result<Tally, String> {
    let mut linux = Linux::new()?;
    let seeds: Vec<Vec<u8>> = seeds().into_iter().map(|seed| seed.bytes).collect();
    let mut mutator = Mutator::new(&seeds, super::WORDS, seed);
    let mut bytes = Vec::new();
    let mut tally = Tally::default();
    for number in 0..connections {
        match seeds.get(number as usize) {
            Some(seed) => bytes.clone_from(seed),
            None => mutator.fill(&mut bytes),
        }
        let input = Input::read(&bytes);
        let mut differences = Vec::new();
        while differences.len() < TRIALS as usize {
            match linux.try_connection(&input, &mut tally) {
                Ok(()) => break,
                Err(difference) => differences.push(difference),
            }
        }
        if differences.len() == TRIALS as usize {
            return Err(format!("connection {number}: {}", differences.concat()));
        }
        tally.connections += 1;
        tally.again += u64::from(!differences.is_empty());
    }
    Ok(tally)
}

/// The network stack of this thread's namespace, from its cable on.
struct Linux {
    rx: TunRx,
    tx: TunTx,
    frames: Frames,
    listener: TcpListener,
    next_client: u32,
}

impl Linux {
    fn new() -> Result<Linux, String> {
        let pool = FramePool::new(FrameLayout::default()).map_err(|error| error.to_string())?;
        let options = TunOptions {
            offloads: false,
            ..TunOptions::default()
        };
        let mut ports = open_tun(DEVICE, std::slice::from_ref(&pool), options)
            .map_err(|error| error.to_string())?;
        let (rx, tx) = ports.remove(0);
        let server = Ipv4Addr::from(packets::ADDRESSES[1]);
        ip(&format!("addr add {server}/32 dev {DEVICE}"))?;
        ip(&format!("link set dev {DEVICE} up"))?;
        ip(&format!("route add 10.0.0.0/8 dev {DEVICE}"))?;
        // Datagrams that stay incomplete take no space from others.
        fs::write(FRAGMENT_MEMORY, "1000000000")
            .map_err(|error| format!("{FRAGMENT_MEMORY}: {error}"))?;
        let listener = TcpListener::bind((server, packets::PORTS[1]))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| format!("listening: {error}"))?;
        let mut linux = Linux {
            rx,
            tx,
            frames: Frames::of(&pool),
            listener,
            next_client: packets::ADDRESSES[0],
        };
        for _ in 0..100 {
            if linux.tx.state().is_up() {
                return Ok(linux);
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(format!("the device is not up: {}", linux.tx.state()))
    }

    fn give(&mut self, packet: &[u8]) -> Result<(), String> {
        let mut none = Frames::default();
        match self.tx.send(&mut none, &[Outgoing::from(packet)]) {
            1 => Ok(()),
            _ => Err(format!(
                "the device takes no packet: {:?}",
                self.tx.counters()
            )),
        }
    }

    /// What Linux has sent to a client since the last call.
    fn answers(&mut self, client: u32) -> Vec<Answer> {
        let mut answers = Vec::new();
        loop {
            self.frames.clear();
            if self.rx.fill(&mut self.frames, 64) == 0 {
                return answers;
            }
            let packets = self.frames.packets();
            answers.extend(packets.filter_map(|packet| Answer::read(packet.bytes, client)));
        }
    }

    fn try_connection(&mut self, input: &Input, tally: &mut Tally) -> Result<(), String> {
        let client = self.next_client;
        self.next_client += 1;
        let handshake = Handshake {
            client,
            ..input.opening
        };
        let mut dialogue = self.open(handshake)?;
        let result = dialogue.run(self, &input.steps, tally);
        // Nothing of it stays in Linux.
        let reset = Segment {
            flags: flags::RST,
            sequence: dialogue.connection.hosts[1].receive_next,
            acknowledgement: 0,
            window_bytes: 0,
            timestamp: None,
            payload: Vec::new(),
            is_whole: true,
        };
        self.give(&dialogue.handshake.packet(0, &reset))?;
        result.map_err(|difference| {
            format!("{:?}\n{}{difference}\n", input.opening, dialogue.history)
        })
    }

    fn open(&mut self, mut handshake: Handshake) -> Result<Dialogue, String> {
        let [syn, _, _] = handshake.packets();
        self.give(&syn)?;
        let answers = self.answers(handshake.client);
        let [syn_ack] = &answers[..] else {
            return Err(format!("{} answers to a SYN", answers.len()));
        };
        handshake.iss[1] = syn_ack.sequence;
        handshake.scales[1] = syn_ack.scale;
        handshake.timestamps[1] = syn_ack.timestamp;
        let [_, _, ack] = handshake.packets();
        self.give(&ack)?;
        let (socket, _) = self
            .listener
            .accept()
            .map_err(|error| format!("no connection behind the handshake: {error}"))?;
        socket
            .set_nonblocking(true)
            .and_then(|()| socket.set_nodelay(true))
            .map_err(|error| error.to_string())?;
        let mut opening = handshake.outcome();
        opening.window_bytes[1] = syn_ack.window.into();
        Ok(Dialogue {
            handshake,
            connection: Connection::new(&opening),
            socket,
            received: Vec::new(),
            history: String::new(),
        })
    }
}

/// One connection with Linux.
struct Dialogue {
    handshake: Handshake,
    connection: Connection,
    socket: TcpStream,
    received: Vec<u8>,
    history: String,
}

impl Dialogue {
    fn run(&mut self, linux: &mut Linux, steps: &[Step], tally: &mut Tally) -> Result<(), String> {
        for (number, step) in (1..).zip(steps) {
            self.take_answers(linux);
            if step.from == 1 {
                self.send(step);
                self.take_answers(linux);
                continue;
            }
            let build = step.build(number);
            let segment = step.segment(&self.connection, &self.handshake);
            let mut tried = self.connection.clone();
            let outcome = tried.take(0, &segment);
            self.history += &format!("{build:?} {segment:?}: {outcome:?}\n");
            if let Outcome::InDoubt(_) = outcome {
                // It changes nothing in the reference, and Linux does not get it.
                tally.in_doubt += 1;
                continue;
            }
            self.connection = tried;
            for record in self.handshake.records(0, &segment, &build) {
                linux.give(&record)?;
            }
            tally.segments += 1;
            tally.refused += u64::from(outcome == Outcome::Refused);
            let known = self.received.len();
            let is_at_end = read(&mut self.socket, &mut self.received);
            tally.bytes += (self.received.len() - known) as u64;
            let server = &self.connection.hosts[1];
            let is_over = outcome == Outcome::Over;
            if self.received != server.delivered {
                return Err(format!(
                    "delivered {:?}\nLinux {:?}",
                    server.delivered, self.received
                ));
            }
            if is_at_end != (is_over || server.is_finished()) {
                return Err(format!("the socket of Linux is at its end: {is_at_end}"));
            }
            if is_over {
                tally.over += 1;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The application of the server sends.
    fn send(&mut self, step: &Step) {
        let payload = vec![b'.'; step.payload_bytes.into()];
        // Whether Linux takes it is Linux' matter: what it sends counts.
        let _ = self.socket.write(&payload);
        if step.flags & flags::FIN != 0 {
            let _ = self.socket.shutdown(Shutdown::Write);
        }
    }

    fn take_answers(&mut self, linux: &mut Linux) {
        for answer in linux.answers(self.handshake.client) {
            let segment = answer.segment(&self.handshake);
            let outcome = self.connection.take(1, &segment);
            self.history += &format!("Linux: {segment:?}: {outcome:?}\n");
        }
    }
}

/// Reads all there is; whether there will be no more.
fn read(socket: &mut TcpStream, received: &mut Vec<u8>) -> bool {
    let mut space = [0; 4096];
    loop {
        match socket.read(&mut space) {
            Ok(0) => return true,
            Ok(bytes) => received.extend_from_slice(&space[..bytes]),
            Err(error) => return error.kind() != ErrorKind::WouldBlock,
        }
    }
}

/// A TCP segment that Linux sent.
struct Answer {
    sequence: u32,
    acknowledgement: u32,
    flags: u8,
    window: u16,
    scale: Option<u8>,
    timestamp: Option<u32>,
    payload: Vec<u8>,
}

impl Answer {
    /// Reads a packet to a client.
    fn read(packet: &[u8], client: u32) -> Option<Answer> {
        let headers = Headers::parse(LinkType::RawIp, packet);
        let key = FlowKey::from_headers(&headers, packet)?;
        let tcp = Tcp::new(headers.transport(packet))?;
        if key.protocol != protocol::TCP || key.destination != u128::from(client) {
            return None;
        }
        let option = |kind| tcp.options().find(|option| option.kind == kind);
        let timestamp = option(TIMESTAMP).and_then(|option| option.data.first_chunk());
        Some(Answer {
            sequence: tcp.sequence_number(),
            acknowledgement: tcp.acknowledgment_number(),
            flags: tcp.flags(),
            window: tcp.window(),
            scale: option(WINDOW_SCALE).and_then(|option| option.data.first().copied()),
            timestamp: timestamp.map(|value| u32::from_be_bytes(*value)),
            payload: tcp.payload().to_vec(),
        })
    }

    fn segment(self, handshake: &Handshake) -> Segment {
        let scale = handshake.scales[0].and(handshake.scales[1]).unwrap_or(0);
        Segment {
            flags: self.flags & (flags::FIN | flags::SYN | flags::RST | flags::ACK),
            sequence: self.sequence,
            acknowledgement: self.acknowledgement,
            window_bytes: u32::from(self.window) << scale,
            timestamp: self.timestamp,
            payload: self.payload,
            is_whole: true,
        }
    }
}

fn ip(command: &str) -> Result<(), String> {
    let done = Command::new("ip").args(command.split(' ')).output();
    match done {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(format!(
            "ip {command}: {}",
            String::from_utf8_lossy(&done.stderr)
        )),
        Err(error) => Err(format!("ip: {error}")),
    }
}
