//! Rows whose trace or rules are not available: the model uses others, which
//! have the published statistics or are made here, and the rows do not count.

use super::Bench;
use super::compare::{Entry, Values};
use super::patterns::{CUTOFF, cut_too_short, false_positives, share_up_to};
use super::sub_sketches::Trace;
use crate::applications::inspect::{Family, SHORTEST};
use crate::lengths::{Filling, Lengths, aix_like, txg_like};

const BLOCK_BYTES: u32 = 16;

const AIX: &str = "Packet lengths with the printed statistics of the trace.";
const AIX_STATISTIC: &str = "The lengths were made to have this statistic; the row shows only that \
     they do.";
const TXG: &str = "Packet lengths with the two printed statistics of the trace, the others spread \
     evenly between.";
const PATTERNS: &str = "2,700 patterns made of paths, protocol lines, file names and machine code.";
const SOURCES: &str = "24,569 sources with shares by Zipf's law, each active for a part of the \
     time.";

/// The model of a row.
pub(super) fn entry(id: &str) -> Option<Entry> {
    Some(match id {
        "imagine-043" => Entry::substituted(|bench| Ok(vec![bench.trace()?.0.cycles_per_block()]))
            .note(
                "Packet lengths with the printed statistics of the trace. Most of the \
                 difference is that of row imagine-045, not of the lengths.",
            ),
        "imagine-046" => Entry::substituted(|bench| Ok(vec![bench.trace()?.0.kernel_share()]))
            .note(
                "Packet lengths with the printed statistics of the trace. In lost time the \
                 model is far off: 3.5 % in the thesis, 0.1 % in the model.",
            ),
        "imagine-047" => Entry::substituted(|bench| Ok(vec![bench.trace()?.1])).note(AIX),
        "imagine-048" => {
            Entry::substituted(|_| Ok(vec![share(&aix_like(), 0, 127)])).note(AIX_STATISTIC)
        }
        "imagine-049" => {
            Entry::substituted(|_| Ok(vec![share(&aix_like(), 1500, 1500)])).note(AIX_STATISTIC)
        }
        "imagine-050" => efficiency(txg_like, &[16]).note(TXG),
        "imagine-051" => Entry::substituted(|_| {
            let [eight, sixteen] = [8, 16].map(|clusters| speedup(&txg_like(), clusters));
            Ok(vec![100.0 * (sixteen / eight - 1.0)])
        })
        .note(
            "The speedup is of all blocks together, so that long packets weigh most. The mean \
             of the speedups of single packets would be 38 % higher on 16 clusters than on 8.",
        ),
        "imagine-052" => Entry::substituted(|_| {
            let lengths = txg_like();
            Ok(vec![
                share(&lengths, 0, 63),
                64.0,
                share(&lengths, 1001, 1500),
            ])
        })
        .note(AIX_STATISTIC),
        "imagine-064" => Entry::substituted(|bench| {
            let families = [Family::ShiftAddXor, Family::Tabulation];
            Ok(families
                .map(|family| false_positives(family, packets(bench) / 40))
                .to_vec())
        })
        .note(
            "Shift-add-xor and tabulation, with patterns and packets made here. The rates of \
             groups of four functions are counted and multiplied, which assumes that the groups \
             are independent.",
        ),
        "imagine-068" => Entry::substituted(|_| Ok(vec![share_up_to(24)])).note(PATTERNS),
        "imagine-069" => Entry::substituted(|_| Ok(vec![share_up_to(31)])).note(PATTERNS),
        "imagine-070" => Entry::substituted(extra_packets).note(
            "For the thesis's number of packets, with patterns and packets made here: packets \
             with a shortened pattern and no whole one, and false positives of 16 functions.",
        ),
        "imagine-093" => Entry::substituted(|bench| {
            let trace = trace(bench);
            Ok(vec![
                trace.error(3, 4096, false) / trace.error(1, 7168, false),
            ])
        })
        .note(
            "The first error over the second; below 1 as in the thesis. 24,569 sources with \
             shares by Zipf's law, each active for a part of the time.",
        ),
        "imagine-094" => Entry::substituted(|bench| {
            let trace = trace(bench);
            let gains = [2, 4, 8, 16, 32].map(|quanta| {
                let [once, again] = [false, true].map(|again| trace.error(quanta, 4096, again));
                100.0 * (1.0 - again / once)
            });
            Ok(vec![gains.into_iter().fold(0.0, f64::max)])
        })
        .note(SOURCES),
        "imagine-102" => efficiency(aix_like, &[8, 32]).note(AIX),
        _ => return None,
    })
}

/// Mean efficiencies of clusters, in percent.
fn efficiency(lengths: fn() -> Vec<(u32, u64)>, clusters: &'static [u64]) -> Entry {
    Entry::substituted(move |_| {
        let lengths = lengths();
        let of = |&clusters: &u64| 100.0 * filling(&lengths, clusters, |it| it.efficiency);
        Ok(clusters.iter().map(of).collect())
    })
}

fn speedup(lengths: &[(u32, u64)], clusters: u64) -> f64 {
    filling(lengths, clusters, |it| it.speedup)
}

fn filling(lengths: &[(u32, u64)], clusters: u64, of: fn(&Filling) -> f64) -> f64 {
    let filling = Lengths::of(BLOCK_BYTES, lengths).filling(clusters);
    filling.as_ref().map_or(0.0, of)
}

/// The share of packets with lengths in a range, in percent.
fn share(lengths: &[(u32, u64)], least: u32, most: u32) -> f64 {
    let all: u64 = lengths.iter().map(|(_, share)| share).sum();
    let some = lengths
        .iter()
        .filter(|(length, _)| (least..=most).contains(length));
    100.0 * some.map(|(_, share)| share).sum::<u64>() as f64 / all as f64
}

fn packets(bench: &Bench) -> usize {
    bench.effort.blocks / 30
}

fn trace(bench: &Bench) -> Trace {
    Trace::new(2 * bench.effort.blocks)
}

/// Packets of the thesis's capture that would be looked at in vain (5.3.1).
fn extra_packets(bench: &mut Bench) -> Values {
    const PACKETS: f64 = 1_691_267.0;
    const BYTES: f64 = 400.0;
    let queries = BYTES * (CUTOFF - SHORTEST + 1) as f64;
    let by_filter = queries * false_positives(Family::ShiftAddXor, packets(bench) / 40);
    Ok(vec![PACKETS * (cut_too_short(packets(bench)) + by_filter)])
}
