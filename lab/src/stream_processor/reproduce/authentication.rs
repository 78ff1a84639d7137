//! Rows of chapter 4: authentication with MMH.

use super::Thesis;
use super::aes::single_stream;
use super::hashing::{mmh_cycles, mmh_loop};
use crate::shared::model::Entry;
use crate::stream_processor::applications::aes::programs::Width;

const MMH: &str = "The thesis needs 860 cycles for 1536 bytes: 12 × 22 in the loop and 596 \
     around it, which it attributes to prologue and epilogue. The model needs 12 × 18 in the \
     loop and 210 around it, because its kernels have no start and end cycles.";
const MMH_LOOP: &str = "A 64-bit addition keeps an adder for two cycles (footnote of 4.3.2), which \
     makes 40 adder cycles in an iteration; the thesis's 22 cycles at 85 % of 4 adders are \
     75. With four cycles for a 64-bit addition the adder work is equal, but nothing in the \
     text calls for four.";
const LOOP: &str = "schedule of the loop of mmh-level-1, 4 adders";

pub(super) static ENTRIES: &[Entry] = &[
    Entry::simulated(
        "imagine-055",
        "mmh, 64 packets of 1536 bytes, 4 adders",
        |bench| {
            let cycles = mmh_cycles(bench, 1536)?;
            Ok(vec![bench.gbit_per_s(8.0 * 1536.0, cycles)?])
        },
    )
    .note(MMH),
    Entry::simulated(
        "imagine-056",
        "mmh, 64 packets of 128 bytes, 4 adders",
        |bench| {
            let cycles = mmh_cycles(bench, 128)?;
            Ok(vec![bench.gbit_per_s(8.0 * 128.0, cycles)?])
        },
    )
    .note(
        "The host sends 36 words per packet (load, call and store), which takes 270 cycles. The \
         thesis's 230 cycles leave 2.6 bus cycles per word; figure 2.14 needs 3.",
    ),
    Entry::simulated("imagine-057", LOOP, |bench| {
        let [alone, overlapped, _] = mmh_loop(bench)?;
        Ok(vec![100.0 * (1.0 - overlapped / alone)])
    })
    .quantity("MMH loop, one iteration and pipelined")
    .note(MMH_LOOP),
    Entry::simulated("imagine-058", LOOP, |bench| {
        let [alone, overlapped, busy] = mmh_loop(bench)?;
        Ok(vec![100.0 * busy / alone, 100.0 * busy / overlapped])
    })
    .quantity("MMH loop, one iteration and pipelined")
    .note(MMH_LOOP),
    Entry::simulated("imagine-059", LOOP, |bench| Ok(vec![mmh_loop(bench)?[1]])).note(
        "18 words pass the one communication unit of a cluster, which limits the modelled \
         loop; its adders are busy for 56 % of the time.",
    ),
    Entry::closed_form(
        "imagine-060",
        &[
            ("tags", 4.0),
            ("factor of the bound", 1.5),
            ("binary exponent of the bound", -30.0),
        ],
        |inputs| vec![2.0, inputs[0] * (inputs[1].log2() + inputs[2])],
    )
    .within(2.0)
    .note("Four times the exponent of 1.5 × 2^-30. With two levels of hashing it is -113.7."),
    Entry::simulated(
        "imagine-062",
        "aes, one stream of 8 blocks under one key, 4 adders, 2 scratchpads",
        |bench| {
            let run = single_stream(bench, 4, 8, Width::Single)?;
            Ok(vec![run.cycles_per_block()])
        },
    )
    .inconsistent()
    .note(
        "77 cycles for eight blocks are 9.6 per block, and figure 2.12's best is 31.5. The \
         model's value is cycles per block of a stream of eight blocks.",
    ),
];
