//! Rows whose trace or rules are not available: the model uses others, which
//! have the published statistics or are made here, and the rows do not count.

use std::convert::Infallible;
use std::sync::Arc;

use super::aes::trace;
use super::patterns::{CUTOFF, cut_too_short, false_positives, share_up_to};
use super::sub_sketches::Trace;
use crate::shared::model::{Bench, Entry, Values};
use crate::stream_processor::applications::inspect::{Family, SHORTEST};
use crate::stream_processor::lengths::{Filling, Lengths, aix_like, txg_like};

const BLOCK_BYTES: u32 = 16;

const AIX: &str = "Packet lengths with the printed statistics of the trace.";
const TXG: &str = "Packet lengths with the two printed statistics of the trace, the others spread \
     evenly between.";
const PATTERNS: &str = "2,700 patterns made of paths, protocol lines, file names and machine code.";
const SOURCES: &str = "24,569 sources with shares by Zipf's law, each active for a part of the \
     time.";
const AIX_RUN: &str = "aes, packets of AIX-like lengths with a key each, 4 adders, 2 scratchpads";
const AIX_LENGTHS: &str = "AIX-like lengths, blocks of 16 bytes";
const TXG_LENGTHS: &str = "TXG-like lengths, blocks of 16 bytes";
const RULES: &str = "2,700 patterns made here";
const ARRIVALS: &str = "122,880 packets of 24,569 sources made here";

pub(super) static ENTRIES: &[Entry] = &[
    Entry::simulated("imagine-043", AIX_RUN, |bench| {
        Ok(vec![trace(bench)?.cycles_per_block])
    })
    .substituted()
    .quantity("AES with the lengths of the AIX trace")
    .note(
        "Packet lengths with the printed statistics of the trace. Most of the difference is \
         that of row imagine-045, not of the lengths.",
    ),
    Entry::simulated("imagine-046", AIX_RUN, |bench| {
        Ok(vec![trace(bench)?.run.kernel_share()])
    })
    .substituted()
    .quantity("AES with the lengths of the AIX trace")
    .note(
        "Packet lengths with the printed statistics of the trace. In lost time the model is far \
         off: 3.5 % in the thesis, 0.1 % in the model.",
    ),
    Entry::simulated("imagine-047", AIX_RUN, |bench| {
        Ok(vec![trace(bench)?.padding_percent])
    })
    .substituted()
    .note(AIX),
    Entry::simulated("imagine-050", TXG_LENGTHS, |bench| {
        efficiency(bench, TXG_LENGTHS, txg_like, &[16])
    })
    .substituted()
    .note(TXG),
    Entry::simulated("imagine-051", TXG_LENGTHS, |bench| {
        let lengths = made(bench, TXG_LENGTHS, txg_like);
        let [eight, sixteen] = [8, 16].map(|clusters| speedup(&lengths, clusters));
        Ok(vec![100.0 * (sixteen / eight - 1.0)])
    })
    .substituted()
    .note(
        "The speedup is of all blocks together, so that long packets weigh most. The mean of \
         the speedups of single packets would be 38 % higher on 16 clusters than on 8.",
    ),
    Entry::simulated("imagine-064", RULES, |bench| {
        let packets = packets(bench) / 40;
        let mut rates = Vec::new();
        for family in [Family::ShiftAddXor, Family::Tabulation] {
            let name = format!("false positives {family:?}");
            let of = || Ok::<_, Infallible>(false_positives(family, packets));
            let Ok(rate) = bench.input(&name, of);
            rates.push(*rate);
        }
        Ok(rates)
    })
    .substituted()
    .note(
        "Shift-add-xor and tabulation, with patterns and packets made here. The rates of groups \
         of four functions are counted and multiplied, which assumes that the groups are \
         independent.",
    ),
    Entry::simulated("imagine-068", RULES, |bench| pattern_percent(bench, 24))
        .substituted()
        .quantity("lengths of Snort patterns")
        .note(PATTERNS),
    Entry::simulated("imagine-069", RULES, |bench| pattern_percent(bench, 31))
        .substituted()
        .quantity("lengths of Snort patterns")
        .note(PATTERNS),
    Entry::simulated("imagine-070", RULES, extra_packets)
        .substituted()
        .note(
            "For the thesis's number of packets, with patterns and packets made here: packets \
             with a shortened pattern and no whole one, and false positives of 16 functions.",
        ),
    Entry::simulated("imagine-093", ARRIVALS, |bench| {
        let trace = arrivals(bench);
        Ok(vec![
            trace.error(3, 4096, false) / trace.error(1, 7168, false),
        ])
    })
    .substituted()
    .note(
        "The first error over the second; below 1 as in the thesis. 24,569 sources with shares \
         by Zipf's law, each active for a part of the time.",
    ),
    Entry::simulated("imagine-094", ARRIVALS, |bench| {
        let trace = arrivals(bench);
        let gains = [2, 4, 8, 16, 32].map(|quanta| {
            let [once, again] = [false, true].map(|again| trace.error(quanta, 4096, again));
            100.0 * (1.0 - again / once)
        });
        Ok(vec![gains.into_iter().fold(0.0, f64::max)])
    })
    .substituted()
    .note(SOURCES),
    Entry::simulated("imagine-102", AIX_LENGTHS, |bench| {
        efficiency(bench, AIX_LENGTHS, aix_like, &[8, 32])
    })
    .substituted()
    .note(AIX),
];

/// Mean efficiencies of clusters, in percent.
fn efficiency(bench: &Bench, name: &str, lengths: Made, clusters: &[u64]) -> Values {
    let lengths = made(bench, name, lengths);
    let of = |&clusters: &u64| 100.0 * filling(&lengths, clusters, |it| it.efficiency);
    Ok(clusters.iter().map(of).collect())
}

/// Makes lengths of packets, each with its share.
type Made = fn() -> Vec<(u32, u64)>;

fn made(bench: &Bench, name: &str, lengths: Made) -> Arc<Vec<(u32, u64)>> {
    let Ok(made) = bench.input(name, || Ok::<_, Infallible>(lengths()));
    made
}

fn speedup(lengths: &[(u32, u64)], clusters: u64) -> f64 {
    filling(lengths, clusters, |it| it.speedup)
}

fn filling(lengths: &[(u32, u64)], clusters: u64, of: fn(&Filling) -> f64) -> f64 {
    let filling = Lengths::of(BLOCK_BYTES, lengths).filling(clusters);
    filling.as_ref().map_or(0.0, of)
}

fn packets(bench: &Bench) -> usize {
    bench.effort().of(61_440) / 30
}

fn arrivals(bench: &Bench) -> Arc<Trace> {
    let packets = 2 * bench.effort().of(61_440);
    let Ok(trace) = bench.input("arrivals", || Ok::<_, Infallible>(Trace::new(packets)));
    trace
}

/// The share of patterns of at most N bytes, in percent.
fn pattern_percent(bench: &Bench, bytes: usize) -> Values {
    let name = format!("patterns of {bytes} bytes");
    let Ok(share) = bench.input(&name, || Ok::<_, Infallible>(share_up_to(bytes)));
    Ok(vec![*share])
}

/// Packets of the thesis's capture that would be looked at in vain (5.3.1).
fn extra_packets(bench: &Bench) -> Values {
    const PACKETS: f64 = 1_691_267.0;
    const BYTES: f64 = 400.0;
    let queries = BYTES * (CUTOFF - SHORTEST + 1) as f64;
    let by_filter = queries * false_positives(Family::ShiftAddXor, packets(bench) / 40);
    Ok(vec![PACKETS * (cut_too_short(packets(bench)) + by_filter)])
}
