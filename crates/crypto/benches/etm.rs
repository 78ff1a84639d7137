//! AES-128-CBC with HMAC by the batch, 64 flows with a key each, beside the
//! kept crates, which take packets one by one, in one run.
//!
//! Every row gives nanoseconds per packet: median and quartiles of rounds in
//! which all subjects take their turn. Weir's time includes building the list
//! of jobs; IVs are given to both, keys are expanded beforehand. `1420` bytes
//! are padded to whole blocks, as ESP does.

use std::fmt;
use std::hint::black_box;
use std::time::{Duration, Instant};

use aes::Aes128;
use aes::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit};
use hmac::Hmac;
use sha1::Sha1;
use sha2::Sha256;
use weir_crypto::hazmat::{self, RawSealJob, RawSealingKey};
use weir_crypto::{KeyMaterial, OpenJob, OpeningKey, Suite, open};

const FLOWS: usize = 64;

/// Rounds of each row.
const ROUNDS: usize = 11;

/// How long a subject's turn is, at least.
const TURN: Duration = Duration::from_millis(4);

/// One packet of every flow.
struct Packets {
    headers: Vec<[u8; 8]>,
    ivs: Vec<[u8; 16]>,
    texts: Vec<Vec<u8>>,
    tags: Vec<Vec<u8>>,
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
    fn seal(&self, packets: &mut Packets);
    /// Whether all were authentic.
    fn open(&self, packets: &mut Packets) -> bool;
}

struct Weir {
    sealing: Vec<RawSealingKey>,
    opening: Vec<OpeningKey>,
}

/// The kept crates: block cipher and HMAC over their own instructions.
struct KeptCrates<H> {
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
        let weir = Weir::new(suite);
        let kept: Box<dyn Subject> = match name {
            "aes-128-cbc+hmac-sha1-96" => Box::new(KeptCrates::<Hmac<Sha1>>::new(suite)),
            _ => Box::new(KeptCrates::<Hmac<Sha256>>::new(suite)),
        };
        for text_bytes in [64, 576, 1420] {
            for work in [Work::Seal, Work::Open] {
                let name = format!("{suite} {work} {text_bytes:>5} B");
                if wanted.iter().all(|part| name.contains(part)) {
                    row(&name, suite, text_bytes, work, &[&weir, &*kept]);
                }
            }
        }
    }
}

fn row(name: &str, suite: Suite, text_bytes: usize, work: Work, subjects: &[&dyn Subject]) {
    let mut packets = Packets::new(suite, text_bytes);
    let mut samples = vec![Vec::with_capacity(ROUNDS); subjects.len()];
    for _ in 0..ROUNDS {
        for (subject, samples) in subjects.iter().zip(&mut samples) {
            samples.push(turn(*subject, work, &mut packets));
        }
    }
    for samples in &mut samples {
        samples.sort_by(f64::total_cmp);
    }
    let kept_ns = samples.last().map_or(f64::NAN, |ns| ns[ROUNDS / 2]);
    for (subject, ns) in subjects.iter().zip(&samples) {
        let (subject, median) = (subject.name(), ns[ROUNDS / 2]);
        let (low, high) = (ns[ROUNDS / 4], ns[3 * ROUNDS / 4]);
        let times = kept_ns / median;
        println!(
            "{name}  {subject:<12} {median:>7.1} ns  ({low:.1} to {high:.1})  {times:>5.2} times"
        );
    }
}

/// Nanoseconds per packet: the median batch of the turn, which a batch that was
/// interrupted does not move.
fn turn(subject: &dyn Subject, work: Work, packets: &mut Packets) -> f64 {
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
    black_box(&packets.tags);
    batches.sort_unstable();
    batches[batches.len() / 2].as_nanos() as f64 / FLOWS as f64
}

impl Packets {
    fn new(suite: Suite, text_bytes: usize) -> Packets {
        let text_bytes = text_bytes.next_multiple_of(suite.block_bytes());
        let fill = |i: usize| (i * 37) as u8;
        Packets {
            headers: (0..FLOWS).map(|i| [fill(i); 8]).collect(),
            ivs: (0..FLOWS).map(|i| [fill(i) ^ 0x5a; 16]).collect(),
            texts: (0..FLOWS).map(|i| vec![fill(i); text_bytes]).collect(),
            tags: vec![vec![0; suite.tag_bytes()]; FLOWS],
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
        Weir {
            sealing: (0..FLOWS)
                .map(|flow| RawSealingKey::new(&material(flow)).expect("a key"))
                .collect(),
            opening: (0..FLOWS)
                .map(|flow| OpeningKey::new(&material(flow)).expect("a key"))
                .collect(),
        }
    }
}

impl Subject for Weir {
    fn name(&self) -> &'static str {
        "weir"
    }

    fn seal(&self, packets: &mut Packets) {
        let mut jobs: Vec<RawSealJob<'_>> = self
            .sealing
            .iter()
            .zip(&packets.headers)
            .zip(&packets.ivs)
            .zip(&mut packets.texts)
            .zip(&mut packets.tags)
            .map(|((((key, prefix), iv), text), tag)| RawSealJob {
                key,
                prefix,
                iv,
                text,
                suffix: &[],
                tag,
                sealed: false,
            })
            .collect();
        hazmat::seal(weir_simd::tier(), &mut jobs).expect("well-formed packets");
    }

    fn open(&self, packets: &mut Packets) -> bool {
        let mut jobs: Vec<OpenJob<'_>> = self
            .opening
            .iter()
            .zip(&packets.headers)
            .zip(&packets.ivs)
            .zip(&mut packets.texts)
            .zip(&packets.tags)
            .map(|((((key, prefix), iv), text), tag)| OpenJob {
                key,
                prefix,
                iv,
                text,
                suffix: &[],
                tag,
                verified: false,
            })
            .collect();
        open(&mut jobs);
        jobs.iter().all(|job| job.verified)
    }
}

impl<H: hmac::Mac + KeyInit> KeptCrates<H> {
    fn new(suite: Suite) -> KeptCrates<H> {
        let keys = || (0..FLOWS).map(|flow| key_bytes(suite, flow));
        KeptCrates {
            ciphers: keys()
                .map(|(key, _)| Aes128::new_from_slice(&key).expect("a key"))
                .collect(),
            macs: keys()
                .map(|(_, key)| <H as KeyInit>::new_from_slice(&key).expect("a key"))
                .collect(),
        }
    }
}

impl<H: hmac::Mac + Clone> Subject for KeptCrates<H> {
    fn name(&self) -> &'static str {
        "kept crates"
    }

    fn seal(&self, packets: &mut Packets) {
        for flow in 0..FLOWS {
            let text = &mut packets.texts[flow][..];
            let (blocks, _) = Array::slice_as_chunks_mut(text);
            cbc::Encryptor::inner_iv_init(&self.ciphers[flow], (&packets.ivs[flow]).into())
                .encrypt_blocks(blocks);
            let mut mac = self.macs[flow].clone();
            mac.update(&packets.headers[flow]);
            mac.update(&packets.ivs[flow]);
            mac.update(text);
            let whole = mac.finalize().into_bytes();
            let tag = &mut packets.tags[flow][..];
            let bytes = tag.len();
            tag.copy_from_slice(&whole[..bytes]);
        }
    }

    fn open(&self, packets: &mut Packets) -> bool {
        (0..FLOWS).all(|flow| {
            let text = &mut packets.texts[flow][..];
            let mut mac = self.macs[flow].clone();
            mac.update(&packets.headers[flow]);
            mac.update(&packets.ivs[flow]);
            mac.update(text);
            let is_authentic = mac.verify_truncated_left(&packets.tags[flow]).is_ok();
            let (blocks, _) = Array::slice_as_chunks_mut(text);
            cbc::Decryptor::inner_iv_init(&self.ciphers[flow], (&packets.ivs[flow]).into())
                .decrypt_blocks(blocks);
            is_authentic
        })
    }
}
