//! Rows whose trace or rules are not to be had: shown with others, which have the
//! published statistics or are made here, and not counted.

use super::Bench;
use super::compare::{Entry, Values};
use super::contents::{CUTOFF, cut_too_short, false_positives, share_up_to};
use super::sub_sketches::Trace;
use crate::applications::inspect::{Family, SHORTEST};
use crate::lengths::{Filling, Lengths, aix_like, txg_like};

const BLOCK_BYTES: u32 = 16;

const AIX: &str = "lengths with the printed statistics of the trace";
const TXG: &str = "lengths with the two printed statistics of the trace, the rest spread evenly \
             between";
const CONTENTS: &str = "2,700 contents made of paths, lines of protocols, names of files and \
             machine code";
const SOURCES: &str = "24,569 sources with shares of Zipf's law, each there for a part of the time";

/// The row of a number.
pub(super) fn entry(number: u32) -> Entry {
    match number {
        43 => Entry::substituted(|bench| Ok(vec![bench.trace()?.0.cycles_per_block()])).note(AIX),
        46 => Entry::substituted(|bench| Ok(vec![bench.trace()?.0.kernel_share()])).note(AIX),
        47 => Entry::substituted(|bench| Ok(vec![bench.trace()?.1])).note(AIX),
        48 => Entry::substituted(|_| Ok(vec![share(&aix_like(), 0, 127)])).note(AIX),
        49 => Entry::substituted(|_| Ok(vec![share(&aix_like(), 1500, 1500)])).note(AIX),
        50 => efficiency(txg_like, &[16]).note(TXG),
        51 => Entry::substituted(|_| {
            let [eight, sixteen] = [8, 16].map(|clusters| speedup(&txg_like(), clusters));
            Ok(vec![100.0 * (sixteen / eight - 1.0)])
        })
        .note(
            "lengths with the two printed statistics of the trace, the rest spread evenly \
             between; packets of more than 62 blocks, 32 % of the trace's, take nearly twice \
             as long on 8 clusters",
        ),
        52 => Entry::substituted(|_| {
            let lengths = txg_like();
            Ok(vec![
                share(&lengths, 0, 63),
                64.0,
                share(&lengths, 1001, 1500),
            ])
        })
        .note(TXG),
        64 => Entry::substituted(|bench| {
            let families = [Family::ShiftAddXor, Family::Tabulation];
            Ok(families
                .map(|family| false_positives(family, packets(bench) / 40))
                .to_vec())
        })
        .note(
            "shift-add-xor and tabulation, with contents and packets made here; rates of four \
             functions at a time are counted and multiplied",
        ),
        68 => Entry::substituted(|_| Ok(vec![share_up_to(24)])).note(CONTENTS),
        69 => Entry::substituted(|_| Ok(vec![share_up_to(31)])).note(CONTENTS),
        70 => Entry::substituted(extra_packets).note(
            "of as many packets, with contents and packets made here: those with a cut content \
             and no whole one, and those that 16 functions take for one",
        ),
        93 => Entry::substituted(|bench| {
            let trace = trace(bench);
            Ok(vec![
                trace.error(3, 4096, false) / trace.error(1, 7168, false),
            ])
        })
        .note(
            "the one error over the other, below 1 as the thesis has it; 24,569 sources with \
             shares of Zipf's law, each there for a part of the time",
        ),
        94 => Entry::substituted(|bench| {
            let trace = trace(bench);
            let gains = [2, 4, 8, 16, 32].map(|quanta| {
                let [once, again] = [false, true].map(|again| trace.error(quanta, 4096, again));
                100.0 * (1.0 - again / once)
            });
            Ok(vec![gains.into_iter().fold(0.0, f64::max)])
        })
        .note(SOURCES),
        _ => efficiency(aix_like, &[8, 32]).note(AIX),
    }
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
