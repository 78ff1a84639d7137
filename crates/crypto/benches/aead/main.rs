//! AES-GCM by the batch beside a peer that takes packets one by one, in one
//! run, and how near it comes to what the processor's units allow.
//!
//! Rows: bytes of payload; `few` (16 keys, interleaved), `4096` (that many keys in
//! random order) or `new` (a raw key per packet, expanded within the time).
//! Subjects: Weir, sealing and opening, and RustCrypto's `aes-gcm`. Weir's time includes
//! pushing the packets. Every figure is
//! the median of the rounds, with quartiles; rounds of all subjects of a row
//! are interleaved.
//!
//! `bound` is the share of the time that the packet's AES rounds and carry-less
//! multiplications need at the rate measured in this run for the two among each
//! other, and in brackets the share that the slower of the two would need alone;
//! key expansion is not counted.

mod bound;
mod subjects;

use bound::Bound;
use subjects::{Keys, Packets, SUBJECTS};

/// Rounds of each row.
const ROUNDS: usize = 41;

fn main() {
    // Cargo passes `--bench`; anything else selects rows by name.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let tier = weir_simd::tier();
    let bound = Bound::measure(tier);
    println!("tier {tier}; {bound}");
    for keys in [Keys::Few, Keys::Many, Keys::New] {
        for payload_bytes in [64, 256, 576, 1024, 1420, 9000] {
            let name = format!("{keys:?}/{payload_bytes}").to_lowercase();
            if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
                row(keys, payload_bytes, &bound);
            }
        }
    }
}

fn row(keys: Keys, payload_bytes: usize, bound: &Bound) {
    let mut packets = Packets::new(payload_bytes);
    let subjects: Vec<_> = SUBJECTS.iter().filter(|s| s.takes(keys)).collect();
    let mut samples = vec![Vec::with_capacity(ROUNDS); subjects.len()];
    for _ in 0..ROUNDS {
        for (subject, samples) in subjects.iter().zip(&mut samples) {
            samples.push(packets.sample(subject, keys));
        }
    }
    let (bound_ns, apart_ns) = (
        bound.packet_ns(payload_bytes),
        bound.packet_apart_ns(payload_bytes),
    );
    let mut medians = Vec::new();
    for samples in &mut samples {
        samples.sort_by(f64::total_cmp);
        medians.push(samples[ROUNDS / 2]);
    }
    let peer = medians.last().copied().unwrap_or(f64::NAN);
    for ((subject, samples), median) in subjects.iter().zip(&samples).zip(&medians) {
        println!(
            "{:>5} B  {:<5} {:<22} {:>8.1} ns  ({:.1} to {:.1})  {:>6.2} cycles/B  bound {:>3.0} % ({:>2.0} %)  peer/this {:>5.2}",
            payload_bytes,
            format!("{keys:?}").to_lowercase(),
            subject.name,
            median,
            samples[ROUNDS / 4],
            samples[3 * ROUNDS / 4],
            median * bound.ghz / payload_bytes as f64,
            100.0 * bound_ns / median,
            100.0 * apart_ns / median,
            peer / median,
        );
    }
}
