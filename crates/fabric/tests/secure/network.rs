//! Two sides with the same keys, and packets between them.

use weir_fabric::secure::{
    Address, Alarm, Batch, DropReason, Endpoint, Flow, FlowError, FlowId, Places, PlainPolicy,
    ReceiveFrom, Receiver, Secret, Sender, SenderKeys, SessionRandom, TagLimits,
};
use weir_fabric::wire::{
    Bth, Carrier, ExtendedHeaders, Grh, Lrh, Message, Opcode, Operation, Transport,
};
use weir_packet::wire::build::IpHeader;
use weir_packet::wire::{FlowKey, LinkType};

pub const PARTITION_KEY: u16 = 0x8001;
pub const FIRST_EPOCH: u64 = 1000;
/// The time of all that has no other.
pub const NOW_SECONDS: u64 = 1_700_000_000;
/// One that is marked by switches: link-local.
const GIDS: [u128; 2] = [0xfe80 << 112 | 1, 0xfe80 << 112 | 2];
const IPV4: [u128; 2] = [0xc000_0201, 0xc000_0202];
const IPV6: [u128; 2] = [0x2001_0db8 << 96 | 1, 0x2001_0db8 << 96 | 2];
const LIDS: [u16; 2] = [5, 6];

pub const CARRIERS: [Carrier; 4] = [
    Carrier::Local,
    Carrier::Global,
    Carrier::Ipv4,
    Carrier::Ipv6,
];

/// What packets of one direction have in common.
#[derive(Clone, Copy)]
pub struct Line {
    pub carrier: Carrier,
    pub flow: Flow,
}

impl Line {
    pub fn new(carrier: Carrier, transport: Transport) -> Line {
        let address = |side: usize| match carrier {
            Carrier::Local => Address::Lid(LIDS[side]),
            Carrier::Global => Address::Gid(GIDS[side].into()),
            Carrier::Ipv4 => Address::Ipv4((IPV4[side] as u32).into()),
            Carrier::Ipv6 => Address::Gid(IPV6[side].into()),
        };
        let end = |side, queue_pair| Endpoint {
            address: address(side),
            queue_pair,
        };
        let flow = Flow {
            window_packets: 64,
            ..Flow::new(end(0, 17), end(1, 18), transport, PARTITION_KEY)
        };
        Line { carrier, flow }
    }

    pub fn link(&self) -> LinkType {
        match self.carrier.is_rocev2() {
            true => LinkType::RawIp,
            false => LinkType::InfiniBand,
        }
    }

    fn keys(&self) -> SenderKeys {
        let secret = Secret::new(vec![42; 32]).expect("32 bytes");
        SenderKeys::derive(
            &secret,
            SessionRandom([7; 16]),
            self.flow.sender,
            self.flow.receiver,
        )
    }

    pub fn sender(&self) -> (Sender, FlowId) {
        self.try_sender().expect("a flow")
    }

    pub fn try_sender(&self) -> Result<(Sender, FlowId), FlowError> {
        let mut sender = Sender::new(PlainPolicy::default());
        let epochs = FIRST_EPOCH..FIRST_EPOCH + 100;
        let id = sender.add(self.flow, &self.keys(), epochs)?;
        Ok((sender, id))
    }

    pub fn sender_from(&self, epochs: std::ops::Range<u64>) -> (Sender, FlowId) {
        let mut sender = Sender::new(PlainPolicy::default());
        let id = (sender.add(self.flow, &self.keys(), epochs)).expect("a flow");
        (sender, id)
    }

    pub fn with_flow(&self, flow: Flow) -> Line {
        Line { flow, ..*self }
    }

    /// Whether its flow could be added to both.
    pub fn add_to(&self, sender: &mut Sender, receiver: &mut Receiver) -> bool {
        let epochs = FIRST_EPOCH..FIRST_EPOCH + 100;
        let sent = sender.add(self.flow, &self.keys(), epochs);
        let from = ReceiveFrom::epoch(FIRST_EPOCH);
        sent.is_ok() && receiver.add(self.flow, &self.keys(), from).is_ok()
    }

    pub fn receiver(&self) -> (Receiver, FlowId) {
        self.receiver_with(TagLimits::default(), PlainPolicy::default())
    }

    pub fn receiver_with(&self, limits: TagLimits, policy: PlainPolicy) -> (Receiver, FlowId) {
        let mut receiver = Receiver::new(policy, limits);
        let from = ReceiveFrom::epoch(FIRST_EPOCH);
        let id = (receiver.add(self.flow, &self.keys(), from)).expect("a flow");
        (receiver, id)
    }

    pub fn receiver_from(&self, from: ReceiveFrom) -> (Receiver, FlowId) {
        let mut receiver = Receiver::new(PlainPolicy::default(), TagLimits::default());
        let id = (receiver.add(self.flow, &self.keys(), from)).expect("a flow");
        (receiver, id)
    }

    /// The record of a packet.
    pub fn packet(&self, operation: Operation, psn: u32, payload: &[u8]) -> Vec<u8> {
        let opcode = Opcode::of(self.flow.transport, operation).expect("an operation");
        self.packet_of(opcode, psn, payload)
    }

    /// A NAK.
    pub fn refusal(&self, psn: u32) -> Vec<u8> {
        let opcode = Opcode::of(self.flow.transport, Operation::Acknowledge).expect("it has");
        let mut extended = ExtendedHeaders::default();
        extended.aeth.syndrome = 0x60;
        self.write(opcode, psn, &[], extended)
    }

    pub fn packet_of(&self, opcode: Opcode, psn: u32, payload: &[u8]) -> Vec<u8> {
        let mut extended = ExtendedHeaders::default();
        extended.deth.source_qp = self.flow.sender.queue_pair;
        self.write(opcode, psn, payload, extended)
    }

    fn write(
        &self,
        opcode: Opcode,
        psn: u32,
        payload: &[u8],
        extended: ExtendedHeaders,
    ) -> Vec<u8> {
        let bth = Bth {
            opcode,
            partition_key: PARTITION_KEY,
            destination_qp: self.flow.receiver.queue_pair,
            psn,
            ..Bth::default()
        };
        let message = Message {
            bth,
            extended,
            payload,
        };
        let mut record = Vec::new();
        let [from, to] = match self.flow.sender.queue_pair {
            17 => [0, 1],
            _ => [1, 0],
        };
        let lrh = Lrh {
            source_lid: LIDS[from],
            destination_lid: LIDS[to],
            ..Lrh::default()
        };
        let grh = Grh {
            source_gid: GIDS[from],
            destination_gid: GIDS[to],
            ..Grh::default()
        };
        let key = |addresses: [u128; 2], ip_version| FlowKey {
            source: addresses[from],
            destination: addresses[to],
            source_port: 49_152,
            destination_port: 4791,
            protocol: 17,
            ip_version,
        };
        let ip = IpHeader::default();
        match self.carrier {
            Carrier::Local => message.write_native(&mut record, lrh, None),
            Carrier::Global => message.write_native(&mut record, lrh, Some(grh)),
            Carrier::Ipv4 => message.write_rocev2(&mut record, &key(IPV4, 4), &ip),
            Carrier::Ipv6 => message.write_rocev2(&mut record, &key(IPV6, 6), &ip),
        }
        .expect("a packet");
        record
    }
}

pub type Outcome = Result<Vec<u8>, DropReason>;

/// What becomes of records that lie in one buffer, in which nothing between them changes.
fn processed<'a>(
    link: LinkType,
    records: impl IntoIterator<Item = &'a [u8]>,
    process: impl FnOnce(&mut Batch<'_>),
) -> Vec<Outcome> {
    const BETWEEN: [u8; 5] = [0xa5; 5];
    let mut buffer = BETWEEN.to_vec();
    let mut ranges = Vec::new();
    for record in records {
        let start = buffer.len();
        buffer.extend_from_slice(record);
        ranges.push(start..buffer.len());
        buffer.extend([0; Batch::SPACE_BYTES]);
        buffer.extend(BETWEEN);
    }
    let mut places = Places::new();
    let mut batch = places.batch(&mut buffer);
    for range in &ranges {
        assert!(batch.push(link, range.clone()), "more than a batch");
    }
    process(&mut batch);
    let outcomes: Vec<Outcome> = batch
        .iter()
        .map(|record| record.map(<[u8]>::to_vec))
        .collect();
    assert_eq!(buffer[..BETWEEN.len()], BETWEEN);
    for (range, (at, outcome)) in ranges.iter().zip(outcomes.iter().enumerate()) {
        let space_end = range.end + Batch::SPACE_BYTES;
        assert_eq!(buffer[space_end..space_end + BETWEEN.len()], BETWEEN);
        let record = places.record(at);
        match outcome {
            Ok(bytes) => assert_eq!(buffer[record.expect("it is there")], **bytes),
            Err(reason) => assert_eq!(record, Err(*reason)),
        }
    }
    outcomes
}

pub fn protect(sender: &mut Sender, link: LinkType, records: &[Vec<u8>]) -> Vec<Outcome> {
    let records = records.iter().map(|record| &record[..]);
    processed(link, records, |batch| sender.protect(batch, NOW_SECONDS))
}

/// All of them, none of which may be dropped.
pub fn protected(sender: &mut Sender, link: LinkType, records: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let outcomes = protect(sender, link, records).into_iter();
    outcomes.map(|one| one.expect("protected")).collect()
}

/// One packet, at a time.
pub fn protect_at(sender: &mut Sender, link: LinkType, record: &[u8], now_seconds: u64) -> Outcome {
    let process = |batch: &mut Batch<'_>| sender.protect(batch, now_seconds);
    processed(link, [record], process).remove(0)
}

/// The same of a receiver.
pub fn unprotect_at(
    receiver: &mut Receiver,
    link: LinkType,
    record: &[u8],
    now_seconds: u64,
) -> Outcome {
    let process = |batch: &mut Batch<'_>| {
        receiver.unprotect(batch, now_seconds);
    };
    processed(link, [record], process).remove(0)
}

pub fn protect_one(sender: &mut Sender, link: LinkType, record: &[u8]) -> Outcome {
    protect(sender, link, &[record.to_vec()]).remove(0)
}

pub fn unprotect(
    receiver: &mut Receiver,
    link: LinkType,
    records: &[Vec<u8>],
) -> (Vec<Outcome>, Vec<Alarm>) {
    let records = records.iter().map(|record| &record[..]);
    let outcomes = processed(link, records, |batch| {
        receiver.unprotect(batch, NOW_SECONDS);
    });
    (outcomes, receiver.alarms().to_vec())
}

pub fn unprotect_one(receiver: &mut Receiver, link: LinkType, record: &[u8]) -> Outcome {
    unprotect(receiver, link, &[record.to_vec()]).0.remove(0)
}
