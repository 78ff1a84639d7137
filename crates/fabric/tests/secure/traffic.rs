//! Reliable connections over a network that loses packets: go-back-N, RNR retries, READs of memory that
//! changes. No nonce seals two packets, and every packet that arrives is delivered.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use weir_fabric::secure::{FlowId, ReceiveFrom, Receiver, Sender};
use weir_fabric::wire::{Carrier, Operation, Packet, Transport};

use crate::network::{FIRST_EPOCH, Line, protected, unprotect};

/// PSNs are counted without an end here; packets have their low 24 bits.
const PSN_MASK: u64 = 0xff_ffff;
/// Requests that may be on their way.
const WINDOW: u64 = 16;

/// One side's packets on their way through sender, network and receiver.
struct Direction {
    line: Line,
    sender: Sender,
    id: FlowId,
    receiver: Receiver,
    receiver_id: FlowId,
    /// What survives the receiver's process.
    kept: ReceiveFrom,
    /// The body that each number sealed, by start, role, epoch bits and PSN; and extended numbers.
    sealed: HashMap<(usize, bool, u8, u32), Vec<u8>>,
    extended: HashSet<u64>,
    epoch: u64,
    starts: usize,
    counts: Counts,
}

#[derive(Default, Debug)]
struct Counts {
    first: usize,
    again: usize,
    extended: usize,
    authenticated: usize,
    lost: usize,
    kills: usize,
}

impl Direction {
    fn new(line: Line) -> Direction {
        let (sender, id) = line.sender_from(FIRST_EPOCH..FIRST_EPOCH + 3);
        let (receiver, receiver_id) = line.receiver();
        Direction {
            line,
            sender,
            id,
            receiver,
            receiver_id,
            kept: ReceiveFrom::epoch(FIRST_EPOCH),
            sealed: HashMap::new(),
            extended: HashSet::new(),
            epoch: FIRST_EPOCH,
            starts: 0,
            counts: Counts::default(),
        }
    }

    /// What arrives of some packets.
    fn send(&mut self, packets: Vec<Vec<u8>>, loss: u32, random: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
        let mut loses = |one_in: u32| one_in > 0 && random.next_u32().is_multiple_of(one_in);
        // Some are lost in front of the sender.
        let packets: Vec<Vec<u8>> = packets.into_iter().filter(|_| !loses(8 * loss)).collect();
        let mut arrived = Vec::new();
        for packets in packets.chunks(7) {
            let secure = protected(&mut self.sender, self.line.link(), packets);
            for (plain, secure) in packets.iter().zip(&secure) {
                self.check_nonce(plain, secure);
            }
            let on_the_way = packets.iter().zip(secure).filter(|_| !loses(loss));
            let (plain, secure): (Vec<&Vec<u8>>, Vec<Vec<u8>>) = on_the_way.unzip();
            self.counts.lost += packets.len() - secure.len();
            let (restored, alarms) = unprotect(&mut self.receiver, self.line.link(), &secure);
            assert!(alarms.is_empty());
            for (plain, restored) in plain.into_iter().zip(restored) {
                assert_eq!(
                    restored.as_ref(),
                    Ok(plain),
                    "an intact packet is delivered"
                );
                arrived.push(plain.clone());
            }
        }
        arrived
    }

    fn check_nonce(&mut self, plain: &[u8], secure: &[u8]) {
        let [plain, secure] = [plain, secure].map(|record| {
            Packet::parse(self.line.link(), record)
                .ok()
                .flatten()
                .expect("a packet")
        });
        let bth = secure.bth();
        let is_response = bth.opcode.direction() == Some(weir_fabric::wire::Direction::Response);
        match bth.reserved_6 {
            1 => {
                let number = (self.starts, is_response, bth.reserved_7, bth.psn);
                let body = [&[bth.opcode.0], plain.payload()].concat();
                match self.sealed.insert(number, body.clone()) {
                    None => self.counts.first += 1,
                    Some(before) => {
                        assert_eq!(before, body, "a nonce with two packets");
                        self.counts.again += 1;
                    }
                }
            }
            2 => {
                let payload = secure.payload();
                let at = payload.len() + usize::from(bth.pad_bytes) - 20;
                let number = payload[at..].first_chunk().expect("a number");
                assert!(self.extended.insert(u64::from_be_bytes(*number)));
                self.counts.extended += 1;
            }
            3 => self.counts.authenticated += 1,
            other => panic!("identifier {other}"),
        }
    }

    /// Epochs of the ledger.
    fn next_epochs(&mut self) -> Range<u64> {
        self.epoch += 4;
        self.starts += 1;
        self.epoch..self.epoch + 3
    }

    /// The queue pair is set up again.
    fn restart(&mut self) {
        let epochs = self.next_epochs();
        assert_eq!(self.sender.restart(self.id, epochs), Ok(()));
    }

    /// The sender's process is killed, and another one starts: it knows no tag of a packet.
    fn kill_sender(&mut self) {
        let epochs = self.next_epochs();
        (self.sender, self.id) = self.line.sender_from(epochs);
        self.counts.kills += 1;
    }

    /// The receiver's process is killed; another one begins where this one was some time ago.
    fn kill_receiver(&mut self) {
        (self.receiver, self.receiver_id) = self.line.receiver_from(self.kept);
        self.counts.kills += 1;
    }

    fn keep_state(&mut self) {
        self.kept = (self.receiver.state(self.receiver_id)).expect("a flow");
    }
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Send,
    Read { packets: u64 },
}

impl Work {
    fn packets(self) -> u64 {
        match self {
            Work::Send => 1,
            Work::Read { packets } => packets,
        }
    }
}

/// The requester: works that are not completed, with the PSN of each.
struct Requester {
    works: VecDeque<(u64, Work)>,
    /// The next PSN to complete.
    done: u64,
    /// The next to send.
    next: u64,
}

impl Requester {
    /// What may be sent now.
    fn requests(&mut self, line: &Line) -> Vec<Vec<u8>> {
        let mut packets = Vec::new();
        for &(psn, work) in &self.works {
            let end = psn + work.packets();
            if end <= self.next || psn >= self.done + WINDOW {
                continue;
            }
            packets.push(match work {
                Work::Send => {
                    let payload = psn.to_be_bytes().repeat(1 + (psn % 5) as usize);
                    line.packet(Operation::SendOnly, (psn & PSN_MASK) as u32, &payload)
                }
                Work::Read { .. } => {
                    // What is left of it.
                    let from = psn.max(self.next);
                    line.packet(Operation::RdmaReadRequest, (from & PSN_MASK) as u32, &[])
                }
            });
            self.next = end;
        }
        packets
    }

    fn complete(&mut self, end: u64) {
        self.done = self.done.max(end);
        self.next = self.next.max(self.done);
        while let Some((psn, work)) = self.works.front()
            && psn + work.packets() <= self.done
        {
            self.works.pop_front();
        }
    }

    /// A response with the PSN of the lowest that is not complete, and so on.
    fn receive(&mut self, packet: &Packet<'_>) {
        let bth = packet.bth();
        let ahead = (bth.psn.wrapping_sub(self.done as u32) << 8) as i32 >> 8;
        let psn = self.done.wrapping_add_signed(i64::from(ahead));
        match bth.opcode.operation() {
            Some(Operation::Acknowledge) => {
                let aeth = packet.aeth().expect("an AETH");
                match aeth.is_negative() {
                    // A READ in front of it is complete only with its responses.
                    true => self.next = self.done,
                    false => {
                        let is_read = |(at, work): &&(u64, Work)| {
                            matches!(work, Work::Read { .. }) && *at <= psn
                        };
                        let end = self.works.iter().find(is_read).map(|(at, _)| *at);
                        self.complete(end.unwrap_or(psn + 1).min(psn + 1).max(self.done));
                    }
                }
            }
            _ if psn == self.done => self.complete(psn + 1),
            _ => {}
        }
    }
}

/// The responder, whose memory changes all the time.
struct Responder {
    expected: u64,
    memory: u64,
    has_refused: bool,
    reads: HashMap<u64, u64>,
    delivered: Vec<u64>,
}

impl Responder {
    fn receive(&mut self, line: &Line, packet: &Packet<'_>, is_busy: bool) -> Vec<Vec<u8>> {
        let bth = packet.bth();
        let ahead = (bth.psn.wrapping_sub(self.expected as u32) << 8) as i32 >> 8;
        let psn = self.expected.wrapping_add_signed(i64::from(ahead));
        let acknowledge =
            |psn: u64| line.packet(Operation::Acknowledge, (psn & PSN_MASK) as u32, &[]);
        let refuse = |psn: u64| line.refusal((psn & PSN_MASK) as u32);
        if psn > self.expected {
            let has_refused = std::mem::replace(&mut self.has_refused, true);
            return match has_refused {
                true => Vec::new(),
                false => vec![refuse(self.expected)],
            };
        }
        if is_busy && psn == self.expected {
            return vec![refuse(psn)];
        }
        self.has_refused = false;
        match bth.opcode.operation() {
            Some(Operation::RdmaReadRequest) => {
                // Repeated reads begin anywhere, and end where the first did.
                let end = self.reads.get(&psn).copied();
                let Some(end) = end else {
                    return Vec::new();
                };
                self.expected = self.expected.max(end);
                self.memory += 1;
                (psn..end)
                    .map(|at| {
                        let contents = self.memory.to_be_bytes();
                        let psn = (at & PSN_MASK) as u32;
                        line.packet(Operation::RdmaReadResponseOnly, psn, &contents)
                    })
                    .collect()
            }
            _ => {
                if psn == self.expected {
                    self.expected += 1;
                    self.delivered.push(psn);
                }
                vec![acknowledge(self.expected - 1)]
            }
        }
    }
}

fn exchange(seed: u64, loss: u32, with_restarts: bool) -> [Counts; 2] {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let there = Line::new(Carrier::Ipv4, Transport::Rc);
    let mut back = there;
    (back.flow.sender, back.flow.receiver) = (there.flow.receiver, there.flow.sender);
    let [mut there, mut back] = [there, back].map(Direction::new);
    // The PSN wraps on the way.
    let first = PSN_MASK - 150;
    let mut works = VecDeque::new();
    let mut reads = HashMap::new();
    let mut psn = first;
    let mut sends = Vec::new();
    while works.len() < 400 {
        let work = match random.next_u32() % 4 {
            0 => Work::Read {
                packets: 1 + u64::from(random.next_u32() % 6),
            },
            _ => Work::Send,
        };
        let end = psn + work.packets();
        match work {
            Work::Read { .. } => reads.extend((psn..end).map(|at| (at, end))),
            Work::Send => sends.push(psn),
        }
        works.push_back((psn, work));
        psn = end;
    }
    let mut requester = Requester {
        works,
        done: first,
        next: first,
    };
    let mut responder = Responder {
        expected: first,
        memory: 0,
        has_refused: false,
        reads,
        delivered: Vec::new(),
    };
    let mut rounds = 0;
    while !requester.works.is_empty() {
        rounds += 1;
        assert!(
            rounds < 20_000,
            "no progress at {:?}",
            requester.works.front()
        );
        for direction in [&mut there, &mut back] {
            match random.next_u32() % 100 {
                0 if with_restarts => direction.restart(),
                1 if with_restarts => direction.kill_sender(),
                2 | 3 if with_restarts => direction.kill_receiver(),
                4..20 => direction.keep_state(),
                _ => {}
            }
        }
        let requests = requester.requests(&there.line);
        let is_idle = requests.is_empty();
        let arrived = there.send(requests, loss, &mut random);
        let mut responses = Vec::new();
        for record in &arrived {
            let packet = Packet::parse(there.line.link(), record).ok().flatten();
            let is_busy = random.next_u32().is_multiple_of(20);
            let packet = packet.expect("a packet");
            responses.extend(responder.receive(&back.line, &packet, is_busy));
        }
        let arrived = back.send(responses, loss, &mut random);
        for record in &arrived {
            let packet = Packet::parse(back.line.link(), record).ok().flatten();
            requester.receive(&packet.expect("a packet"));
        }
        if is_idle {
            // A timeout.
            requester.next = requester.done;
            responder.has_refused = false;
        }
    }
    assert_eq!(responder.delivered, sends);
    [there.counts, back.counts]
}

#[test]
fn no_nonce_seals_two_packets_and_all_arrive() {
    let mut again = 0;
    let mut extended = 0;
    for seed in 0..12 {
        let [there, back] = exchange(seed, [0, 30, 10, 4][seed as usize % 4], false);
        if seed.is_multiple_of(4) {
            assert_eq!((there.lost, back.lost), (0, 0));
        }
        again += there.again + back.again;
        extended += there.extended + back.extended;
        assert!(there.first > 0 && back.first > 0 && back.authenticated > 0);
    }
    assert!(again > 100, "packets were sent again: {again}");
    assert!(
        extended > 100,
        "memory changed between two READs: {extended}"
    );
}

/// A sender that starts again takes new epochs, and a receiver what is repeated of what it may have had:
/// the exchange goes on, and not one intact packet is refused.
#[test]
fn killed_processes_start_again() {
    let mut kills = 0;
    for seed in 100..130 {
        let [there, back] = exchange(seed, 10, true);
        assert!(there.first > 0 && back.first > 0);
        kills += there.kills + back.kills;
    }
    assert!(kills > 100, "{kills}");
}
