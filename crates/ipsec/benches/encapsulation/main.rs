//! ESP tunnel encapsulation and decapsulation of small packets, by the stages
//! of a gateway, and how much of it is the cipher.
//!
//! 4,096 associations of AES-128-GCM, each a tunnel of its own; every packet
//! belongs to another one, in random order, without extended sequence numbers.
//! What is protected is an IPv4 packet of 64 bytes behind an Ethernet header
//! (78 bytes); what comes out has 134 bytes:
//!
//! ```text
//! in          Ethernet 14 │ IPv4 20, UDP 8, data 36
//! out         Ethernet 14 │ IPv4 20 │ ESP 8 │ IV 8 │ 64 bytes, padding 2, trailer 2 │ ICV 16
//! encrypted                                        └────────────── 68 ─────────────┘
//! ```
//!
//! Rows:
//!
//! - `classify outbound`: policy lookup among 4,096 policies, which the next row
//!   takes as given;
//! - `encapsulate`: the stage that protects, from association to finished
//!   packet: copy into memory with headroom, sequence number, outer header, ESP
//!   header, IV, padding, trailer, encryption, ICV, counters, and headers read
//!   again for the stages behind it;
//! - `seal alone`: a batch of `weir_crypto` whose packets are written, of the same
//!   lengths under as many keys in the same order: push and run;
//! - `classify inbound`, `decapsulate`, `open alone`: the same way back, with
//!   anti-replay check and window.
//!
//! Each figure is the median of the rounds with its quartiles. The rows of one
//! direction are interleaved, and the other direction's memory is left alone
//! meanwhile (but that what is opened must be sealed before). A round is a
//! permutation of all associations, in 16 batches. Cycles are those of the clock
//! rate measured at the start. Arguments select directions: `outbound`,
//! `inbound`.

mod cipher;
#[path = "../../../crypto/benches/aead/clock.rs"]
mod clock;
mod gateway;

use cipher::{Opening, Sealing};
use gateway::{Receiver, Sender, Shuffle};

/// Associations, and packets of a round.
const ASSOCIATIONS: usize = 4096;

/// Bytes of the IP packet that is protected.
const PACKET_BYTES: usize = 64;

/// Rounds of each row.
const ROUNDS: usize = 101;

/// Rounds before that, which warm up.
const WARM_UP: usize = 5;

fn main() {
    // Cargo passes `--bench`.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let ghz = clock::ghz();
    println!(
        "tier {}, {ghz:.2} GHz; {ASSOCIATIONS} associations of aes-128-gcm-16, \
         IP packets of {PACKET_BYTES} bytes, {ROUNDS} rounds",
        weir_simd::tier()
    );
    let mut shuffle = Shuffle::new(ASSOCIATIONS);
    if is_wanted("outbound") {
        let mut sender = Sender::new(ASSOCIATIONS, PACKET_BYTES);
        let mut sealer = Sealing::new(ASSOCIATIONS, PACKET_BYTES);
        measure(
            ["classify outbound", "encapsulate", "seal alone"],
            ghz,
            || {
                let order = shuffle.next();
                let [classify, encapsulate] = sender.round_ns(order, |_| ());
                [classify, encapsulate, sealer.round_ns(order, |_| ())]
            },
        );
    }
    if is_wanted("inbound") {
        let mut sender = Sender::new(ASSOCIATIONS, PACKET_BYTES);
        let mut receiver = Receiver::new(ASSOCIATIONS);
        let mut sealer = Sealing::new(ASSOCIATIONS, PACKET_BYTES);
        let mut opener = Opening::new(ASSOCIATIONS, PACKET_BYTES);
        let mut frames = Vec::new();
        let mut sealed = Vec::new();
        measure(
            ["classify inbound", "decapsulate", "open alone"],
            ghz,
            || {
                let order = shuffle.next();
                frames.clear();
                sender.round_ns(order, |frame| frames.push(frame.to_vec()));
                let [classify, decapsulate] = receiver.round_ns(&frames);
                sealed.clear();
                sealer.round_ns(order, |batch| sealed.push(batch.to_vec()));
                [classify, decapsulate, opener.round_ns(order, &sealed)]
            },
        );
    }
}

/// Runs the rounds of three rows, of which the last is the part of the second
/// that the cipher takes, and prints them.
fn measure(rows: [&str; 3], ghz: f64, mut round_ns: impl FnMut() -> [f64; 3]) {
    let mut samples: [Vec<f64>; 3] = Default::default();
    for number in 0..WARM_UP + ROUNDS {
        let round_ns = round_ns();
        if number >= WARM_UP {
            for (samples, sample) in samples.iter_mut().zip(round_ns) {
                samples.push(sample);
            }
        }
    }
    let mut cycles = [0.0; 3];
    for ((row, samples), cycles) in rows.iter().zip(&mut samples).zip(&mut cycles) {
        samples.sort_by(f64::total_cmp);
        let median = samples[ROUNDS / 2];
        *cycles = median * ghz;
        println!(
            "{row:<18} {median:>7.1} ns  ({:.1} to {:.1})  {cycles:>6.1} cycles per packet",
            samples[ROUNDS / 4],
            samples[3 * ROUNDS / 4],
        );
    }
    let [_, whole, cipher] = cycles;
    println!(
        "{:<18} {:>42.1} cycles per packet",
        "  without cipher",
        whole - cipher
    );
}
