//! From a plan to packets.

use super::flows::Flows;
use super::payload::Payloads;
use super::random::{Random, scale, share_bound};
use super::surges::{self, Surge, Surges};
use super::zipf::Zipf;
use super::{Plan, PlanError, SizeModel};
use crate::wire::build::{self, flags};
use crate::wire::{FlowKey, protocol};

/// Writes the packets of a [`Plan`], one after the other.
pub struct Generator {
    packets_left: u64,
    /// What was drawn for the next of them.
    drawn: Option<Draw>,
    surges: Surges,
    flow_count: u32,
    now_ns: u64,
    /// One more than twice the mean gap.
    gap_bound_ns: u64,
    sizes: SizeModel,
    handshakes: bool,
    reply_bound: u64,
    planted: Vec<Vec<u8>>,
    planted_per_mille: u64,
    shortest_planted_bytes: usize,
    /// Packets that should have had a pattern by now.
    plants_owed: u64,
    zipf: Zipf,
    flows: Flows,
    tcp: Vec<TcpState>,
    identification: u16,
    choices: Random,
    payloads: Payloads,
}

/// What is drawn for a packet.
#[derive(Clone, Copy)]
struct Draw {
    timestamp_ns: u64,
    which: u64,
    size: u64,
    rest: u64,
}

/// What is remembered of a TCP flow.
#[derive(Clone, Copy, Default)]
struct TcpState {
    /// Next sequence numbers of client and server.
    next: [u32; 2],
    phase: Phase,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Unseen,
    SynSent,
    SynAcknowledged,
    Established,
}

/// What is known of a packet beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Nanoseconds since 1970-01-01 UTC; never before the packet before it.
    pub timestamp_ns: u64,
    /// Number of its flow, which is its Zipf rank less one; of surge n,
    /// [`Plan::flows`] plus n.
    pub flow: u32,
    /// Whether it goes from the server to the client.
    pub is_reply: bool,
    /// What was planted in it.
    pub plant: Option<Plant>,
}

/// A pattern in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plant {
    /// Index of the pattern in [`Plan::planted`].
    pub pattern: usize,
    /// Where it starts, in bytes from the start of the frame.
    pub frame_offset: usize,
}

const CLIENT_MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const SERVER_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];
/// Shortest Ethernet frame without its check sequence.
const MIN_FRAME_BYTES: usize = 60;
const TCP_WINDOW: u16 = 64_240;

/// Streams of the seed.
const CHOICES: u64 = 0;
const PAYLOADS: u64 = 1;

impl Generator {
    /// Prepares a plan: time and memory grow with the number of flows.
    ///
    /// # Errors
    ///
    /// Where a number of the plan is outside its documented range.
    pub fn new(plan: &Plan) -> Result<Generator, PlanError> {
        check(plan)?;
        Ok(Generator {
            packets_left: plan.packets,
            drawn: None,
            surges: Surges::new(plan),
            flow_count: plan.flows,
            now_ns: plan.start_ns,
            gap_bound_ns: 2 * (1_000_000_000 / plan.packets_per_second) + 1,
            sizes: plan.sizes,
            handshakes: plan.handshakes,
            reply_bound: share_bound(plan.reply_share),
            planted: plan.planted.clone(),
            planted_per_mille: plan.planted_per_mille.into(),
            shortest_planted_bytes: plan.planted.iter().map(Vec::len).min().unwrap_or(0),
            plants_owed: 0,
            zipf: Zipf::new(plan.flows, plan.zipf),
            flows: Flows::new(plan),
            tcp: vec![TcpState::default(); plan.flows as usize],
            identification: 0,
            choices: Random::new(plan.seed, CHOICES),
            payloads: Payloads::new(plan.payload, Random::new(plan.seed, PAYLOADS)),
        })
    }

    /// Packets still to come, surges aside.
    pub fn packets_left(&self) -> u64 {
        self.packets_left
    }

    /// The 5-tuple of a flow's packets from client to server.
    pub fn flow_key(&self, flow: u32) -> FlowKey {
        match flow.checked_sub(self.flow_count) {
            None => self.flows.key(flow),
            Some(surge) => Surge::flow_key(surge),
        }
    }

    /// Replaces `frame` by the next packet; `None` after the
    /// last one.
    pub fn fill(&mut self, frame: &mut Vec<u8>) -> Option<Generated> {
        let draw = self.draw();
        let end_ns = draw.map(|draw| draw.timestamp_ns);
        if let Some((surge, timestamp_ns)) = self.surges.next_before(end_ns) {
            return Some(self.fill_surge(frame, surge, timestamp_ns));
        }
        let Draw {
            timestamp_ns,
            which,
            size,
            rest,
        } = draw?;
        self.drawn = None;
        self.packets_left -= 1;
        self.identification = self.identification.wrapping_add(1);
        if scale(rest << 32, 1000) < self.planted_per_mille {
            self.plants_owed += 1;
        }
        let flow = self.zipf.rank(which);
        let key = self.flows.key(flow);
        let is_reply = rest >> 32 < self.reply_bound;
        let is_tcp = key.protocol == protocol::TCP;
        let ip_bytes = usize::from(self.sizes.ip_bytes(size));

        let (segment, is_reply) = if is_tcp {
            self.next_segment(flow, is_reply)
        } else {
            (Segment::default(), is_reply)
        };
        let key = if is_reply { key.reversed() } else { key };
        let header_bytes = header_bytes(&key);
        let payload_bytes = match segment.carries_data {
            true => ip_bytes.saturating_sub(header_bytes),
            false => 0,
        };
        if is_tcp {
            let next = &mut self.tcp[flow as usize].next[usize::from(is_reply)];
            *next = next.wrapping_add(payload_bytes as u32);
        }
        let plant = self.write(frame, &key, &segment, payload_bytes, is_reply);
        Some(Generated {
            timestamp_ns,
            flow,
            is_reply,
            plant,
        })
    }

    /// What is drawn for the plan's next packet, if there is one.
    fn draw(&mut self) -> Option<Draw> {
        if self.drawn.is_none() && self.packets_left > 0 {
            let [which, size, gap, rest] = std::array::from_fn(|_| self.choices.next());
            self.now_ns = self.now_ns.saturating_add(scale(gap, self.gap_bound_ns));
            self.drawn = Some(Draw {
                timestamp_ns: self.now_ns,
                which,
                size,
                rest,
            });
        }
        self.drawn
    }

    /// Writes a packet of a surge.
    fn fill_surge(&mut self, frame: &mut Vec<u8>, surge: u32, timestamp_ns: u64) -> Generated {
        self.identification = self.identification.wrapping_add(1);
        let payload_bytes = usize::from(self.surges.ip_bytes(surge) - surges::HEADER_BYTES);
        let key = Surge::flow_key(surge);
        let plant = self.write(frame, &key, &Segment::default(), payload_bytes, false);
        Generated {
            timestamp_ns,
            flow: self.flow_count + surge,
            is_reply: false,
            plant,
        }
    }

    /// Moves a TCP flow on by one segment, and says which way it goes: the
    /// handshake does not. The payload is still to be counted.
    fn next_segment(&mut self, flow: u32, is_reply: bool) -> (Segment, bool) {
        let state = &mut self.tcp[flow as usize];
        if state.phase == Phase::Unseen {
            state.next = self.flows.initial_sequences(flow);
            if !self.handshakes {
                state.phase = Phase::Established;
            }
        }
        let (flags, is_reply, next_phase) = match state.phase {
            Phase::Unseen => (flags::SYN, false, Phase::SynSent),
            Phase::SynSent => (flags::SYN | flags::ACK, true, Phase::SynAcknowledged),
            Phase::SynAcknowledged => (flags::ACK, false, Phase::Established),
            Phase::Established => (flags::ACK, is_reply, Phase::Established),
        };
        let side = usize::from(is_reply);
        let segment = Segment {
            sequence: state.next[side],
            acknowledgment: match flags & flags::ACK {
                0 => 0,
                _ => state.next[1 - side],
            },
            flags,
            carries_data: state.phase == Phase::Established,
        };
        if flags & flags::SYN != 0 {
            state.next[side] = state.next[side].wrapping_add(1);
        }
        state.phase = next_phase;
        (segment, is_reply)
    }

    /// Writes the frame; returns what was planted.
    fn write(
        &mut self,
        frame: &mut Vec<u8>,
        key: &FlowKey,
        segment: &Segment,
        payload_bytes: usize,
        is_reply: bool,
    ) -> Option<Plant> {
        let pattern = self.pattern_for(payload_bytes);
        let mut plant = None;
        let (payloads, planted) = (&mut self.payloads, &self.planted);
        let mut payload = |out: &mut Vec<u8>| {
            let start = out.len();
            payloads.write(out, payload_bytes, is_reply);
            if let Some(pattern) = pattern {
                let offset = payloads.plant(&mut out[start..], &planted[pattern]);
                plant = Some(Plant {
                    pattern,
                    frame_offset: start + offset,
                });
            }
        };
        let ip = build::IpHeader {
            identification: self.identification.into(),
            ..build::IpHeader::default()
        };
        let [to, from] = match is_reply {
            true => [CLIENT_MAC, SERVER_MAC],
            false => [SERVER_MAC, CLIENT_MAC],
        };
        frame.clear();
        build::ethernet(frame, to, from, build::ether_type(key));
        build::ip(frame, key, &ip, |out| {
            if key.protocol == protocol::TCP {
                let push = match payload_bytes {
                    0 => 0,
                    _ => flags::PSH,
                };
                let tcp = build::TcpHeader {
                    sequence: segment.sequence,
                    acknowledgment: segment.acknowledgment,
                    flags: segment.flags | push,
                    window: TCP_WINDOW,
                    options: &[],
                };
                build::tcp(out, key, &tcp, &mut payload);
            } else {
                build::udp(out, key, &mut payload);
            }
        });
        if frame.len() < MIN_FRAME_BYTES {
            frame.resize(MIN_FRAME_BYTES, 0);
        }
        plant
    }

    /// A pattern, if one is due and fits into the payload.
    fn pattern_for(&mut self, payload_bytes: usize) -> Option<usize> {
        if self.plants_owed == 0 || payload_bytes < self.shortest_planted_bytes {
            return None;
        }
        self.plants_owed -= 1;
        let first = self.payloads.choose(self.planted.len());
        (first..self.planted.len())
            .chain(0..first)
            .find(|pattern| self.planted[*pattern].len() <= payload_bytes)
    }
}

/// What a packet's TCP header says.
struct Segment {
    sequence: u32,
    acknowledgment: u32,
    flags: u8,
    carries_data: bool,
}

impl Default for Segment {
    /// What a UDP datagram has of it.
    fn default() -> Segment {
        Segment {
            sequence: 0,
            acknowledgment: 0,
            flags: 0,
            carries_data: true,
        }
    }
}

/// Bytes of IP and transport header.
fn header_bytes(key: &FlowKey) -> usize {
    let ip_bytes = if key.ip_version == 4 { 20 } else { 40 };
    let transport_bytes = if key.protocol == protocol::TCP { 20 } else { 8 };
    ip_bytes + transport_bytes
}

fn check(plan: &Plan) -> Result<(), PlanError> {
    if !(1..=Plan::MAX_FLOWS).contains(&plan.flows) {
        return Err(PlanError::Flows(plan.flows));
    }
    if !(0.0..=16.0).contains(&plan.zipf) {
        return Err(PlanError::Zipf(plan.zipf));
    }
    for (name, share) in [
        ("IPv6", plan.ipv6_share),
        ("UDP", plan.udp_share),
        ("replies", plan.reply_share),
    ] {
        if !(0.0..=1.0).contains(&share) {
            return Err(PlanError::Share { name, share });
        }
    }
    if plan.planted_per_mille > 1000 {
        return Err(PlanError::PlantedPerMille(plan.planted_per_mille));
    }
    let has_contents = !plan.planted.is_empty() && plan.planted.iter().all(|c| !c.is_empty());
    if plan.planted_per_mille > 0 && !has_contents {
        return Err(PlanError::NothingToPlant);
    }
    if !(1..=1_000_000_000).contains(&plan.packets_per_second) {
        return Err(PlanError::PacketsPerSecond(plan.packets_per_second));
    }
    plan.sizes.check()?;
    surges::check(&plan.surges)
}
