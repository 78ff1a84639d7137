//! AES-128-CBC with HMAC by the batch, 64 flows with a key each, beside other
//! crates, which take packets one by one, in one run.
//!
//! Every row gives nanoseconds per packet: median and quartiles of rounds in
//! which all subjects take their turn. Weir's time includes pushing the
//! packets and making their IVs, which the other crates find made; keys are expanded
//! beforehand. `1420` bytes
//! are padded to whole blocks, as ESP does.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use aes::Aes128;
use aes::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit};
use hmac::Hmac;
use sha1::Sha1;
use sha2::Sha256;
use weir_crypto::{
    Descriptor, KeyId, KeyMaterial, Layout, Opener, OpeningKey, Sealer, SealingKey, Suite,
};

const FLOWS: usize = 64;

/// Rounds of each row.
const ROUNDS: usize = 11;

/// How long a subject's turn is, at least.
const TURN: Duration = Duration::from_millis(4);

const AAD_BYTES: usize = 8;
const IV_BYTES: usize = 16;

/// One packet of every flow, one behind the other.
struct Packets {
    buffer: Vec<u8>,
    descriptors: Vec<Descriptor>,
    tag_bytes: usize,
}

/// The parts of a packet.
struct Parts<'a> {
    aad: &'a [u8],
    iv: &'a [u8; IV_BYTES],
    payload: &'a mut [u8],
    tag: &'a mut [u8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Seal,
    Open,
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Work::Seal => "seal",
            Work::Open => "open",
        })
    }
}

/// Something that seals and opens them.
trait Subject {
    fn name(&self) -> &'static str;
    fn seal(&mut self, packets: &mut Packets);
    /// Whether all were authentic.
    fn open(&mut self, packets: &mut Packets) -> bool;
}

struct Weir {
    sealer: Sealer,
    sealing: Vec<KeyId>,
    opener: Opener,
    opening: Vec<KeyId>,
}

/// RustCrypto: block cipher and HMAC over their own instructions.
struct RustCrypto<H> {
    ciphers: Vec<Aes128>,
    macs: Vec<H>,
}

fn main() {
    // Cargo passes `--bench`; anything else selects rows by what they contain.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    println!("tier {}, {FLOWS} flows, {ROUNDS} rounds", weir_simd::tier());
    for name in ["aes-128-cbc+hmac-sha1-96", "aes-128-cbc+hmac-sha2-256-128"] {
        let suite = Suite::parse(name).expect("a suite");
        let mut weir = Weir::new(suite);
        let mut peer: Box<dyn Subject> = match name {
            "aes-128-cbc+hmac-sha1-96" => Box::new(RustCrypto::<Hmac<Sha1>>::new(suite)),
            _ => Box::new(RustCrypto::<Hmac<Sha256>>::new(suite)),
        };
        for payload_bytes in [64, 576, 1420] {
            for work in [Work::Seal, Work::Open] {
                let name = format!("{suite} {work} {payload_bytes:>5} B");
                if wanted.iter().all(|part| name.contains(part)) {
                    row(
                        &name,
                        suite,
                        payload_bytes,
                        work,
                        &mut [&mut weir, &mut *peer],
                    );
                }
            }
        }
    }
}

fn row(
    name: &str,
    suite: Suite,
    payload_bytes: usize,
    work: Work,
    subjects: &mut [&mut dyn Subject],
) {
    let mut packets = Packets::new(suite, payload_bytes);
    let mut samples = vec![Vec::with_capacity(ROUNDS); subjects.len()];
    for _ in 0..ROUNDS {
        for (subject, samples) in subjects.iter_mut().zip(&mut samples) {
            samples.push(turn(*subject, work, &mut packets));
        }
    }
    for samples in &mut samples {
        samples.sort_by(f64::total_cmp);
    }
    let peer_ns = samples.last().map_or(f64::NAN, |ns| ns[ROUNDS / 2]);
    for (subject, ns) in subjects.iter().zip(&samples) {
        let (subject, median) = (subject.name(), ns[ROUNDS / 2]);
        let (low, high) = (ns[ROUNDS / 4], ns[3 * ROUNDS / 4]);
        let times = peer_ns / median;
        println!(
            "{name}  {subject:<12} {median:>7.1} ns  ({low:.1} to {high:.1})  {times:>5.2} times"
        );
    }
}

/// Nanoseconds per packet: the median batch of the turn, which a batch that was
/// interrupted does not move.
fn turn(subject: &mut dyn Subject, work: Work, packets: &mut Packets) -> f64 {
    let mut batches = Vec::new();
    let mut spent = Duration::ZERO;
    while spent < TURN {
        let start = Instant::now();
        subject.seal(packets);
        let sealed = Instant::now();
        let batch = match work {
            Work::Seal => sealed - start,
            Work::Open => {
                assert!(subject.open(packets), "a packet was refused");
                sealed.elapsed()
            }
        };
        spent += batch;
        batches.push(batch);
    }
    black_box(&packets.buffer);
    batches.sort_unstable();
    batches[batches.len() / 2].as_nanos() as f64 / FLOWS as f64
}

impl Packets {
    fn new(suite: Suite, payload_bytes: usize) -> Packets {
        let payload_bytes = payload_bytes.next_multiple_of(suite.block_bytes());
        let packet_bytes = AAD_BYTES + IV_BYTES + payload_bytes + suite.tag_bytes();
        let packet = |flow: usize| Descriptor {
            offset: (flow * packet_bytes) as u32,
            layout: Layout {
                payload_bytes: payload_bytes as u32,
                aad_bytes: AAD_BYTES as u16,
                ..Layout::default()
            },
            ..Descriptor::default()
        };
        Packets {
            buffer: (0..FLOWS * packet_bytes).map(|i| (i * 37) as u8).collect(),
            descriptors: (0..FLOWS).map(packet).collect(),
            tag_bytes: suite.tag_bytes(),
        }
    }

    fn parts(&mut self, flow: usize) -> Parts<'_> {
        let Descriptor { offset, layout, .. } = self.descriptors[flow];
        let (aad, rest) = self.buffer[offset as usize..].split_at_mut(AAD_BYTES);
        let (iv, rest) = rest.split_first_chunk_mut().expect("an IV");
        let (payload, rest) = rest.split_at_mut(layout.payload_bytes as usize);
        Parts {
            aad,
            iv,
            payload,
            tag: &mut rest[..self.tag_bytes],
        }
    }
}

/// The two keys of a flow.
fn key_bytes(suite: Suite, flow: usize) -> (Vec<u8>, Vec<u8>) {
    let bytes = |count: usize, salt: usize| -> Vec<u8> {
        (0..count)
            .map(|i| (i * 29 + flow * 101 + salt) as u8)
            .collect()
    };
    (
        bytes(suite.key_bytes(), 1),
        bytes(suite.integrity_key_bytes(), 2),
    )
}

impl Weir {
    fn new(suite: Suite) -> Weir {
        let material = |flow| {
            let (key, integrity_key) = key_bytes(suite, flow);
            KeyMaterial::new(suite, &key, &integrity_key).expect("keys of the suite")
        };
        let (mut sealer, mut opener) = (Sealer::new(), Opener::new());
        let sealing = (0..FLOWS)
            .map(|flow| sealer.add(SealingKey::new(material(flow), 0..).expect("a key")))
            .collect();
        let opening = (0..FLOWS)
            .map(|flow| opener.add(OpeningKey::new(&material(flow)).expect("a key")))
            .collect();
        Weir {
            sealer,
            sealing,
            opener,
            opening,
        }
    }
}

impl Subject for Weir {
    fn name(&self) -> &'static str {
        "weir"
    }

    fn seal(&mut self, packets: &mut Packets) {
        let mut batch = self.sealer.batch(&mut packets.buffer);
        for (&packet, &key) in packets.descriptors.iter().zip(&self.sealing) {
            batch.push(Descriptor { key, ..packet }).expect("a packet");
        }
        assert!(batch.run().all_good());
    }

    fn open(&mut self, packets: &mut Packets) -> bool {
        let mut batch = self.opener.batch(&mut packets.buffer);
        for (&packet, &key) in packets.descriptors.iter().zip(&self.opening) {
            batch.push(Descriptor { key, ..packet }).expect("a packet");
        }
        batch.run().all_good()
    }
}

impl<H: hmac::Mac + KeyInit> RustCrypto<H> {
    fn new(suite: Suite) -> RustCrypto<H> {
        let keys = || (0..FLOWS).map(|flow| key_bytes(suite, flow));
        RustCrypto {
            ciphers: keys()
                .map(|(key, _)| Aes128::new_from_slice(&key).expect("a key"))
                .collect(),
            macs: keys()
                .map(|(_, key)| <H as KeyInit>::new_from_slice(&key).expect("a key"))
                .collect(),
        }
    }
}

impl<H: hmac::Mac + Clone> Subject for RustCrypto<H> {
    fn name(&self) -> &'static str {
        "rustcrypto"
    }

    fn seal(&mut self, packets: &mut Packets) {
        for flow in 0..FLOWS {
            let Parts {
                aad,
                iv,
                payload,
                tag,
            } = packets.parts(flow);
            let (blocks, _) = Array::slice_as_chunks_mut(payload);
            cbc::Encryptor::inner_iv_init(&self.ciphers[flow], iv.into()).encrypt_blocks(blocks);
            let mut mac = self.macs[flow].clone();
            for part in [aad, iv, payload] {
                mac.update(part);
            }
            let whole = mac.finalize().into_bytes();
            let bytes = tag.len();
            tag.copy_from_slice(&whole[..bytes]);
        }
    }

    fn open(&mut self, packets: &mut Packets) -> bool {
        (0..FLOWS).all(|flow| {
            let Parts {
                aad,
                iv,
                payload,
                tag,
            } = packets.parts(flow);
            let mut mac = self.macs[flow].clone();
            for part in [aad, iv, payload] {
                mac.update(part);
            }
            let is_authentic = mac.verify_truncated_left(tag).is_ok();
            let (blocks, _) = Array::slice_as_chunks_mut(payload);
            cbc::Decryptor::inner_iv_init(&self.ciphers[flow], iv.into()).decrypt_blocks(blocks);
            is_authentic
        })
    }
}
