//! Secure mode beside the bare cipher: RoCEv2 packets over IPv4, 4,096 keys in random order.
//!
//! ```text
//! gcm seal         Sealer: the same bodies and associated data, whole tags, in place
//! protect          Batch::push_behind and Sender::protect, in place
//! copy, protect    the same of copies of the records, as stages do it
//! gcm open         Opener: the same, in place
//! unprotect        Batch::push_behind and Receiver::unprotect, in place
//! copy, unprotect  the same of copies
//! copy             the records, copied
//! ```
//!
//! `cargo bench -p weir-fabric --bench secure`. All subjects of a row are interleaved, and pass over as
//! many bytes, which lie in the L3 cache. Packets of a sample are made before the clock starts.

use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use weir_bench::{Candidate, Disagreement, Quartiles, Rounds, SampleParts, compare};
use weir_crypto::{
    Aead, AesKeySize, Descriptor, KeyId, KeyMaterial, Layout, NonceRule, Opener, OpeningKey,
    Sealer, SealingKey, Suite,
};
use weir_fabric::secure::{
    Address, Batch, Endpoint, ExtendedMode, Flow, Places, PlainPolicy, ReceiveFrom, Receiver,
    Secret, Sender, SenderKeys, SessionRandom, TagLimits,
};
use weir_fabric::wire::{Bth, ExtendedHeaders, Message, Opcode, Transport};
use weir_packet::wire::build::IpHeader;
use weir_packet::wire::{FlowKey, Headers, LinkType, protocol};

const FLOWS: usize = 4096;
const ROUNDS: usize = 21;
const BATCHES: usize = 16;
const BATCH_BYTES: usize = 256 << 10;
const AAD_BYTES: usize = 20 + 8 + 12;
const TAG_BYTES: usize = 16;
const ADDRESSES: [u32; 2] = [0xc612_0001, 0xc612_0002];
const PARTITION_KEY: u16 = 0x8001;
/// RC SEND Middle.
const OPCODE: Opcode = Opcode(1);

/// The least share of the bare cipher's speed that is acceptable, by bytes of payload.
const TARGETS: [(usize, f64); 3] = [(256, 0.70), (1024, 0.85), (4096, 0.90)];

fn main() {
    println!("ns per packet: median [quartiles] of {ROUNDS} rounds, {FLOWS} keys");
    for (payload_bytes, target) in TARGETS {
        measure(payload_bytes, target);
    }
}

fn measure(payload_bytes: usize, target: f64) {
    let per_batch = (BATCH_BYTES / payload_bytes).min(256);
    let order = order(per_batch);
    let packets = (BATCHES * per_batch) as u64;
    let [mut in_place, mut copied] = [(); 2].map(|()| Protecting::new(payload_bytes, &order));
    let [mut open_in_place, mut open_copied] =
        [(); 2].map(|()| Unprotecting::new(payload_bytes, &order));
    let mut sealing = Sealing::new(payload_bytes, &order);
    let mut opening = Opening::new(payload_bytes, &order);
    let mut copy: Vec<u8> = Vec::new();
    let mut copying = Protecting::new(payload_bytes, &order);
    let timed = |mut work: Box<dyn FnMut(&mut SampleParts)>| {
        move || -> Result<_, Disagreement> {
            let mut parts = SampleParts::default();
            work(&mut parts);
            Ok(parts.take_sample())
        }
    };
    let mut candidates = [
        Candidate::new("gcm seal", timed(Box::new(move |parts| sealing.run(parts)))),
        Candidate::new(
            "protect",
            timed(Box::new(move |parts| in_place.run(Way::InPlace, parts))),
        ),
        Candidate::new(
            "copy, protect",
            timed(Box::new(move |parts| copied.run(Way::Copied, parts))),
        ),
        Candidate::new("gcm open", timed(Box::new(move |parts| opening.run(parts)))),
        Candidate::new(
            "unprotect",
            timed(Box::new(move |parts| {
                open_in_place.run(Way::InPlace, parts);
            })),
        ),
        Candidate::new(
            "copy, unprotect",
            timed(Box::new(move |parts| {
                open_copied.run(Way::Copied, parts);
            })),
        ),
        Candidate::new(
            "copy",
            timed(Box::new(move |parts| {
                copying.plain.write(&mut copying.records);
                for records in copying.records.chunks(per_batch) {
                    let start = Instant::now();
                    copy.clear();
                    records
                        .iter()
                        .for_each(|record| copy.extend_from_slice(record));
                    black_box(&copy);
                    parts.push(records.len() as u64, start.elapsed());
                }
            })),
        ),
    ];
    let ns = match compare(&mut candidates, Rounds::exactly(ROUNDS), |_| true) {
        Ok(Some(ns)) => ns,
        other => panic!("{other:?}"),
    };
    println!(
        "{payload_bytes} bytes of payload, {per_batch} packets per batch, {packets} per sample"
    );
    let quartiles = |values: Option<Quartiles>| values.expect("rounds");
    for (candidate, ns) in candidates.iter().zip(&ns) {
        let Quartiles {
            lower,
            median,
            upper,
        } = quartiles(Quartiles::of(ns));
        println!(
            "  {:<16} {median:8.1} [{lower:.1}, {upper:.1}]",
            candidate.name()
        );
    }
    for (bare, secure, name) in [
        (0, 1, "protect"),
        (0, 2, "copy, protect"),
        (3, 4, "unprotect"),
        (3, 5, "copy, unprotect"),
    ] {
        let Quartiles {
            lower,
            median,
            upper,
        } = quartiles(Quartiles::of_ratios(&ns[bare], &ns[secure]));
        let verdict = if median >= target { "holds" } else { "missed" };
        println!(
            "  {name}: {median:.3} [{lower:.3}, {upper:.3}] of the bare cipher; target {target}: {verdict}"
        );
    }
}

/// The flow of each packet.
fn order(per_batch: usize) -> Vec<usize> {
    let mut state: u64 = 1;
    let mut flows = Vec::new();
    for _ in 0..BATCHES * per_batch {
        // PCG's multiplier and increment.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        flows.push((state >> 33) as usize % FLOWS);
    }
    flows
}

fn flow(number: usize) -> Flow {
    let [sender, receiver] = ADDRESSES.map(|address| Endpoint {
        address: Address::Ipv4(address.into()),
        queue_pair: number as u32,
    });
    Flow {
        extended: ExtendedMode::Never,
        window_packets: 64,
        ..Flow::new(sender, receiver, Transport::Rc, PARTITION_KEY)
    }
}

fn keys(flow: &Flow) -> SenderKeys {
    let secret = Secret::new(vec![42; 32]).expect("32 bytes");
    SenderKeys::derive(&secret, SessionRandom([7; 16]), flow.sender, flow.receiver)
}

/// Records of plain packets, whose PSNs go on from sample to sample.
struct Plain {
    payload: Vec<u8>,
    order: Vec<usize>,
    psns: Vec<u32>,
}

impl Plain {
    fn new(payload_bytes: usize, order: &[usize]) -> Plain {
        Plain {
            payload: (0..payload_bytes).map(|at| at as u8).collect(),
            order: order.to_vec(),
            psns: vec![0; FLOWS],
        }
    }

    fn write(&mut self, records: &mut Vec<Vec<u8>>) {
        records.resize(self.order.len(), Vec::new());
        for (record, &flow) in records.iter_mut().zip(&self.order) {
            let psn = self.psns[flow];
            self.psns[flow] = (psn + 1) & 0xff_ffff;
            let message = Message {
                bth: Bth {
                    opcode: OPCODE,
                    partition_key: PARTITION_KEY,
                    destination_qp: flow as u32,
                    psn,
                    ..Bth::default()
                },
                extended: ExtendedHeaders::default(),
                payload: &self.payload,
            };
            let key = FlowKey {
                source: ADDRESSES[0].into(),
                destination: ADDRESSES[1].into(),
                source_port: 49_152,
                destination_port: 4791,
                protocol: protocol::UDP,
                ip_version: 4,
            };
            record.clear();
            let written = message.write_rocev2(record, &key, &IpHeader::default());
            written.expect("a packet");
            // Adapters send no UDP checksum; the ICRC does not cover it.
            record[26..28].fill(0);
        }
    }
}

struct Protecting {
    plain: Plain,
    records: Vec<Vec<u8>>,
    /// Of the records of a batch, which are alike, as a pipeline has parsed them.
    headers: Vec<Headers>,
    sender: Sender,
    places: Places,
    laid_out: LaidOut,
    per_batch: usize,
}

/// Whether records lie where they may be written.
#[derive(Clone, Copy)]
enum Way {
    InPlace,
    Copied,
}

/// The records of each batch in a buffer, with space behind each.
#[derive(Default)]
struct LaidOut {
    buffers: Vec<Vec<u8>>,
    ranges: Vec<Range<usize>>,
}

impl LaidOut {
    fn write(&mut self, records: &[Vec<u8>], per_batch: usize) {
        self.buffers
            .resize_with(records.len() / per_batch, Vec::new);
        for (records, buffer) in records.chunks(per_batch).zip(&mut self.buffers) {
            buffer.clear();
            self.ranges.clear();
            for record in records {
                let start = buffer.len();
                buffer.extend_from_slice(record);
                self.ranges.push(start..buffer.len());
                buffer.extend([0; Batch::SPACE_BYTES]);
            }
        }
    }

    /// Runs the batches and takes their time.
    fn run(
        &mut self,
        way: Way,
        records: &[Vec<u8>],
        headers: &[Headers],
        places: &mut Places,
        parts: &mut SampleParts,
        mut process: impl FnMut(&mut Batch<'_>),
    ) {
        let batches = records.chunks(headers.len()).zip(&mut self.buffers);
        for (records, buffer) in batches {
            let start = Instant::now();
            let mut batch = places.batch(buffer);
            for ((record, headers), range) in records.iter().zip(headers).zip(&self.ranges) {
                if matches!(way, Way::Copied) {
                    batch.buffer_mut()[range.clone()].copy_from_slice(record);
                }
                assert!(batch.push_behind(headers, LinkType::RawIp, range.clone()));
            }
            process(&mut batch);
            for record in batch.iter() {
                black_box(record.expect("processed"));
            }
            parts.push(records.len() as u64, start.elapsed());
        }
    }
}

impl Protecting {
    fn new(payload_bytes: usize, order: &[usize]) -> Protecting {
        let mut sender = Sender::new(PlainPolicy::default());
        for number in 0..FLOWS {
            let flow = flow(number);
            let added = sender.add(flow, &keys(&flow), 1..1 << 20);
            added.expect("a flow");
        }
        let mut plain = Plain::new(payload_bytes, order);
        let mut records = Vec::new();
        plain.write(&mut records);
        let per_batch = order.len() / BATCHES;
        let headers = records.iter().take(per_batch);
        Protecting {
            plain,
            headers: headers
                .map(|record| Headers::parse(LinkType::RawIp, record))
                .collect(),
            records,
            sender,
            places: Places::new(),
            laid_out: LaidOut::default(),
            per_batch,
        }
    }

    fn run(&mut self, way: Way, parts: &mut SampleParts) {
        self.plain.write(&mut self.records);
        self.laid_out.write(&self.records, self.per_batch);
        let Protecting {
            records,
            headers,
            sender,
            places,
            laid_out,
            ..
        } = self;
        laid_out.run(way, records, headers, places, parts, |batch| {
            sender.protect(batch, 0);
        });
    }
}

struct Unprotecting {
    protecting: Protecting,
    records: Vec<Vec<u8>>,
    receiver: Receiver,
    laid_out: LaidOut,
}

impl Unprotecting {
    fn new(payload_bytes: usize, order: &[usize]) -> Unprotecting {
        let mut receiver = Receiver::new(PlainPolicy::default(), TagLimits::default());
        for number in 0..FLOWS {
            let flow = flow(number);
            let added = receiver.add(flow, &keys(&flow), ReceiveFrom::epoch(1));
            added.expect("a flow");
        }
        Unprotecting {
            protecting: Protecting::new(payload_bytes, order),
            records: Vec::new(),
            receiver,
            laid_out: LaidOut::default(),
        }
    }

    fn run(&mut self, way: Way, parts: &mut SampleParts) {
        let protecting = &mut self.protecting;
        protecting.run(Way::InPlace, &mut SampleParts::default());
        self.records.clear();
        for buffer in &protecting.laid_out.buffers {
            let ranges = protecting.laid_out.ranges.iter().cloned();
            self.records
                .extend(ranges.map(|range| buffer[range].to_vec()));
        }
        self.laid_out.write(&self.records, protecting.per_batch);
        let (receiver, places) = (&mut self.receiver, &mut protecting.places);
        let (records, headers) = (&self.records, &protecting.headers);
        let laid_out = &mut self.laid_out;
        laid_out.run(way, records, headers, places, parts, |batch| {
            receiver.unprotect(batch, 0);
        });
    }
}

fn material(number: usize) -> KeyMaterial {
    let suite = Suite::Aead(Aead::AesGcm16(AesKeySize::Aes128));
    let mut key = [7; 16];
    key[..8].copy_from_slice(&number.to_be_bytes());
    KeyMaterial::with_nonces(suite, &key, NonceRule::Xor([9; 12])).expect("a key")
}

/// Bodies with associated data in front, one behind the other.
struct Bare {
    buffers: Vec<Vec<u8>>,
    order: Vec<usize>,
    numbers: Vec<u64>,
    layout: Layout,
    keys: Vec<KeyId>,
    per_batch: usize,
}

impl Bare {
    fn new(payload_bytes: usize, order: &[usize], keys: Vec<KeyId>) -> Bare {
        let per_batch = order.len() / BATCHES;
        let bytes = per_batch * (AAD_BYTES + payload_bytes + TAG_BYTES);
        Bare {
            buffers: vec![vec![3; bytes]; BATCHES],
            order: order.to_vec(),
            numbers: vec![0; FLOWS],
            layout: Layout {
                payload_bytes: payload_bytes as u32,
                aad_bytes: AAD_BYTES as u16,
                ..Layout::default()
            },
            keys,
            per_batch,
        }
    }

    /// The descriptors of a batch, with the next numbers of their keys.
    fn descriptors(&mut self, batch: usize) -> impl Iterator<Item = (Descriptor, u64)> {
        let Bare {
            order,
            numbers,
            layout,
            keys,
            per_batch,
            ..
        } = self;
        let stride = AAD_BYTES + layout.payload_bytes as usize + TAG_BYTES;
        let flows = &order[batch * *per_batch..][..*per_batch];
        flows
            .iter()
            .zip((0..).step_by(stride))
            .map(|(&flow, offset)| {
                let descriptor = Descriptor {
                    key: keys[flow],
                    context: 0,
                    offset,
                    layout: *layout,
                };
                let number = numbers[flow];
                numbers[flow] += 1;
                (descriptor, number)
            })
    }
}

struct Sealing {
    bare: Bare,
    sealer: Sealer,
}

impl Sealing {
    fn new(payload_bytes: usize, order: &[usize]) -> Sealing {
        let mut sealer = Sealer::new();
        let keys = (0..FLOWS)
            .map(|number| sealer.add(SealingKey::new(material(number), 0..).expect("a key")))
            .collect();
        let bare = Bare::new(payload_bytes, order, keys);
        Sealing { bare, sealer }
    }

    fn seal(&mut self, batch: usize) {
        let mut buffer = std::mem::take(&mut self.bare.buffers[batch]);
        let mut seal = self.sealer.batch(&mut buffer);
        for (descriptor, number) in self.bare.descriptors(batch) {
            seal.push_numbered(descriptor, number).expect("pushed");
        }
        assert!(seal.run().all_good());
        self.bare.buffers[batch] = buffer;
    }

    fn run(&mut self, parts: &mut SampleParts) {
        // Packets come from somewhere, as those of the other subjects do.
        for buffer in &mut self.bare.buffers {
            buffer.fill(3);
        }
        for batch in 0..BATCHES {
            let start = Instant::now();
            self.seal(batch);
            parts.push(self.bare.per_batch as u64, start.elapsed());
        }
    }
}

struct Opening {
    sealing: Sealing,
    bare: Bare,
    opener: Opener,
}

impl Opening {
    fn new(payload_bytes: usize, order: &[usize]) -> Opening {
        let mut opener = Opener::new();
        let keys = (0..FLOWS)
            .map(|number| opener.add(OpeningKey::new(&material(number)).expect("a key")))
            .collect();
        Opening {
            sealing: Sealing::new(payload_bytes, order),
            bare: Bare::new(payload_bytes, order, keys),
            opener,
        }
    }

    fn run(&mut self, parts: &mut SampleParts) {
        for batch in 0..BATCHES {
            self.sealing.seal(batch);
            std::mem::swap(
                &mut self.bare.buffers[batch],
                &mut self.sealing.bare.buffers[batch],
            );
        }
        for batch in 0..BATCHES {
            let mut buffer = std::mem::take(&mut self.bare.buffers[batch]);
            let start = Instant::now();
            let mut open = self.opener.batch(&mut buffer);
            for (descriptor, number) in self.bare.descriptors(batch) {
                open.push_numbered(descriptor, number).expect("pushed");
            }
            assert!(open.run().all_good());
            parts.push(self.bare.per_batch as u64, start.elapsed());
            self.bare.buffers[batch] = buffer;
        }
    }
}
