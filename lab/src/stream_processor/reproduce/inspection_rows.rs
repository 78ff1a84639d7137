//! Rows of chapter 5: content inspection.

use super::closed_forms::bloom_false_positives;
use super::inspection::{
    LONGEST, SMALLEST, both, extraction_percent, filter_in_memory_mbit_per_s, index_loop_percent,
    index_run_percent, pipeline_mbit_per_s, rate, scan_cycles,
};
use crate::shared::model::Entry;
use crate::stream_processor::applications::inspect::Family;

const INDEX: &str = "The modelled kernel forms the index once per byte, with a shift and an \
     addition, so that hardware saves 3 of the loop's 161 cycles. Formed once for each of \
     the four tables it would save 8.7 %, but bit extraction would fall to 33 % of the \
     operations (row imagine-078).";
const STALLS: &str = "The thesis's run with tabulation takes as long as with shift-add-xor, \
     because of stalls of the stream register file. The model has no arbitration between \
     indexed and sequential accesses, and its run with tabulation takes 0.79 of the time.";
const TABULATION: &str = "time of inspection with tabulation over shift-add-xor";
const ASSIST: &str = "index assist for tabulation";
const SECOND: &str = "inspect, second processor, packets of 1500 bytes, 8 adders";
const LOOP: &str = "schedule of the loop of inspect-2, 8 adders";

pub(super) static ENTRIES: &[Entry] = &[
    Entry::closed_form(
        "imagine-065",
        &[("bits for each pattern", 41.0), ("hash functions", 16.0)],
        |inputs| vec![bloom_false_positives(inputs[0], inputs[1])],
    )
    .within(1.5)
    .note("The ratio of 41 is rounded: half a unit of it moves the rate by 10 %."),
    Entry::closed_form(
        "imagine-066",
        &[
            ("bits", 65_536.0),
            ("patterns", 2000.0),
            ("hash functions", 16.0),
        ],
        |inputs| vec![bloom_false_positives(inputs[0] / inputs[1], inputs[2])],
    )
    .within(200.0)
    .note("Compared by order of magnitude."),
    Entry::closed_form(
        "imagine-067",
        &[
            ("bits", 131_072.0),
            ("patterns", 2000.0),
            ("hash functions", 16.0),
        ],
        |inputs| vec![bloom_false_positives(inputs[0] / inputs[1], inputs[2])],
    )
    .within(200.0)
    .note("Compared by order of magnitude."),
    Entry::simulated("imagine-071", LOOP, |bench| {
        let mut shares = Vec::new();
        for family in [Family::ShiftAddXor, Family::Tabulation, Family::H1] {
            shares.push(scan_cycles(bench, family, 8)? / scan_cycles(bench, family, 4)?);
        }
        Ok(shares)
    })
    .in_numbers(&[0.5; 3])
    .note(
        "Shift-add-xor, tabulation and H1. Tabulation gains least, as the text says: with 8 \
         adders its loop waits for the one scratchpad and the one indexed port, which take 128 \
         of its 161 cycles.",
    ),
    Entry::simulated(
        "imagine-072",
        "inspect, four processors, packets of 1500 bytes, shift-add-xor, 8 adders",
        |bench| Ok(vec![pipeline_mbit_per_s(bench, LONGEST)?]),
    )
    .note(
        "The first processor limits the pipeline, and its kernels run all the time: 265 cycles \
         for 32 bytes, where 2173 operations on 8 adders need at least 245. The thesis's 15,000 \
         cycles for a packet are 319 for 32 bytes.",
    ),
    Entry::simulated(
        "imagine-073",
        "inspect, four processors, packets of 64 bytes, shift-add-xor, 8 adders",
        |bench| Ok(vec![pipeline_mbit_per_s(bench, SMALLEST)?]),
    )
    .note(
        "Packets of 64 bytes. The thesis's two rates give 9.3 cycles per byte and 1,100 per \
         packet; the model has 8.4 and 160, because its kernels have no start and end cycles.",
    ),
    Entry::simulated("imagine-074", SECOND, |bench| {
        let [one, other] = both(bench)?;
        Ok(vec![
            rate(&other, other.srf_bytes) / rate(&one, one.srf_bytes),
        ])
    })
    .quantity(TABULATION)
    .note(STALLS),
    Entry::simulated("imagine-075", SECOND, |bench| {
        let [one, other] = both(bench)?;
        let ratio = rate(&other, other.register_bytes) / rate(&one, one.register_bytes);
        Ok(vec![100.0 * (ratio - 1.0)])
    })
    .quantity(TABULATION)
    .note(STALLS),
    Entry::simulated("imagine-076", LOOP, |bench| {
        Ok(vec![index_loop_percent(bench)?])
    })
    .quantity(ASSIST)
    .note(INDEX),
    Entry::simulated("imagine-077", SECOND, |bench| {
        Ok(vec![index_run_percent(bench)?])
    })
    .quantity(ASSIST)
    .note(INDEX),
    Entry::configuration("imagine-078", "loop of inspect-2-tabulation", |bench| {
        Ok(vec![extraction_percent(bench)?])
    })
    .within(15.0)
    .note("Of the loop with tabulation, which is the one of figure 5.10."),
    Entry::ordering(
        "imagine-079",
        "inspect, first processor, filter in memory, packets of 1500 bytes, 8 adders",
        |bench| Ok(vec![filter_in_memory_mbit_per_s(bench)?]),
    )
    .note("A packet needs 48,000 words out of sequence."),
    Entry::ordering("imagine-text-03", SECOND, |bench| {
        let [one, other] = both(bench)?;
        Ok(vec![one.cycles / other.cycles])
    })
    .in_numbers(&[1.0])
    .quantity(TABULATION)
    .note(STALLS),
];
