//! The model of each row.

use super::aes::{LARGEST, core_accesses, distribution_cycles, expansion, round_cycles};
use super::closed_forms::{bloom_false_positives, cluster_efficiency, count_min};
use super::compare::{Entry, Values};
use super::hashing::{KEYS, mmh_cycles, mmh_loop, sketch_cycles};
use super::{Bench, Class, chip, inspection, substituted};
use crate::applications::aes::SUB_KEY_WORDS;
use crate::applications::aes::programs::Width;
use crate::applications::sketch::Hashing;
use crate::failure::ModelError;
use crate::machine::Machine;
use crate::stream::{MemoryRange, Program, run};

fn machine_value(read: impl Fn(&Machine) -> Vec<f64> + 'static) -> Entry {
    Entry::configured(move |bench| Ok(read(&bench.imagine(3, 1)?)))
}

/// Cycles of loading sketches of 32 KB from memory (6.6.1), without what the
/// host sends before.
fn load_cycles(bench: &Bench, sketches: usize) -> Values {
    let machine = bench.imagine(3, 1)?;
    let words = 8192;
    let mut program = Program::new(machine.clusters, vec![0; sketches * words]);
    program.barrier();
    for sketch in 0..sketches {
        let start = sketch * words;
        program
            .load(MemoryRange { start, words })
            .map_err(crate::applications::ProgramFailure::from)?;
    }
    let outcome = run(&program, &machine)?;
    Ok(vec![outcome.cycles - outcome.barriers[0]])
}

const ROUND_FIT: &str = "used to set the latencies of additions, logic, shifts, shuffles and \
             scratchpad reads, and the branch";
const TABLE_2_3: &str = "1.12 GB/s over the 1.97 MB of this run is 14.3 cycles per block, \
             where figures 2.17 and 2.26 give 35 for the same run; ratios between \
             the columns of table 2.3 hold";
const MMH: &str = "the thesis's 860 cycles for 1536 bytes are 12 × 22 in its loop and \
             596 around it, which it lays to prologue and epilogue; here both \
             kernels take 428, 12 × 20 of them in the loop and 188 around it";
const SKETCH: &str = "for 8 keys, 2-universal hashing takes 95 cycles here, where adders \
             take 78 and a ring of reads and writes of one lane 80; 4-universal \
             hashing 281, where adders take 256; keys take 3,900 cycles to come";
const EXPANSION: &str = "the thesis's kernel does 379 × 2.79 = 1057 operations for a key, \
             about 105 for each round; this one does 45, the four substitutions \
             and exclusive ors of figure 2.8 and nothing else; as that figure's \
             loop over words, its condition a selection, it takes 616 cycles";

/// The row of a number.
pub(super) fn entry(number: u32) -> Entry {
    match number {
        1..=4 | 31 | 34 | 41..=42 | 88..=91 | 98 => configuration(number),
        43 | 46..=52 | 64 | 68..=70 | 93 | 94 | 102 => substituted::entry(number),
        5..=62 => chapters_2_and_4(number),
        63 => Entry::reference(),
        _ => chapters_5_to_8(number),
    }
}

fn configuration(number: u32) -> Entry {
    match number {
        1 => machine_value(|machine| vec![machine.clock_mhz]),
        2 => Entry::inconsistent(Class::ClosedForm, |bench| {
            let machine = bench.imagine(3, 1)?;
            let cluster = machine.cluster;
            let units = cluster.adders + cluster.multipliers;
            let per_cycle = units as f64 * machine.clusters as f64;
            Ok(vec![per_cycle * machine.clock_mhz / 1000.0])
        })
        .note(
            "8 clusters × 5 arithmetic units × 500 MHz are 20 GOPS of 32 bits, \
             and all 8 units 32: 40 takes two operations of 16 bits per unit, \
             which the thesis does not say",
        ),
        3 => Entry::inconsistent(Class::Configuration, |bench| {
            let cluster = bench.imagine(3, 1)?.cluster;
            let counts = [
                cluster.adders,
                cluster.multipliers,
                cluster.dividers,
                cluster.scratchpads,
                cluster.scratchpad_words,
                cluster.communicators,
            ];
            Ok(counts.map(f64::from).to_vec())
        })
        .note(
            "1.3 has scratchpads of 256 words, 2.4 simulates with 512: the \
             machine file has 512",
        ),
        4 => Entry::reference(),
        31 => Entry::closed(|bench| {
            let kilobytes = 61_440.0 * 16.0 / 1024.0;
            let room = bench.imagine(3, 1)?.srf.bytes as f64 / 1024.0;
            Ok(vec![61_440.0, kilobytes, kilobytes / room])
        }),
        34 => Entry::configured(|_| Ok(vec![f64::from(SUB_KEY_WORDS)])),
        41 => machine_value(|machine| vec![machine.host.length_cycles as f64])
            .note("a parameter of the machine"),
        42 => machine_value(|machine| vec![32.0, machine.host.bus_mhz]),
        88 => Entry::simulated(|bench| load_cycles(bench, 1)),
        89 => machine_value(|machine| {
            vec![machine.memory.bytes_per_cycle * machine.clock_mhz / 1000.0]
        }),
        90 => Entry::closed(|_| Ok(vec![8.0, 2.0, 16.0]))
            .note("the network interface itself is not modelled"),
        91 => {
            machine_value(|machine| vec![machine.srf.bytes_per_cycle * machine.clock_mhz / 1000.0])
        }
        _ => machine_value(|machine| {
            vec![f64::from(
                machine.timing(crate::kernel::Class::IndexedRead).latency,
            )]
        }),
    }
}

fn chapters_2_and_4(number: u32) -> Entry {
    match number {
        5 => Entry::simulated(|bench| {
            let run = bench.single_stream(4, LARGEST, Width::Single)?;
            Ok(vec![100.0 * run.core / (run.core + run.final_round)])
        })
        .note(
            "this final round takes 22 cycles for a block and cluster, and the \
             thesis's, by its share, about 69; the core is within 10 % of the \
             thesis's",
        ),
        6 => Entry::simulated(|bench| {
            core_accesses(bench).map(|[reads, _, writes]| vec![reads + writes])
        }),
        7 => Entry::simulated(|bench| core_accesses(bench).map(|[reads, ..]| vec![reads])),
        8 => Entry::simulated(|bench| core_accesses(bench).map(|[_, rounds, _]| vec![rounds])),
        9 => Entry::simulated(|bench| {
            core_accesses(bench).map(|[reads, _, writes]| vec![reads / writes, 1.0])
        }),
        10 => Entry::inconsistent(Class::Simulated, |bench| {
            Ok(vec![
                100.0 * (1.0 - round_cycles(bench, 3, 2)? / round_cycles(bench, 3, 1)?),
            ])
        })
        .note("table 2.2 has 16 % with 3 adders and 32 % with 4"),
        11..=18 => {
            let (scratchpads, adders) = [
                (1, 3),
                (1, 4),
                (1, 6),
                (2, 3),
                (2, 4),
                (2, 6),
                (4, 4),
                (4, 6),
            ][number as usize - 11];
            Entry::simulated(move |bench| Ok(vec![round_cycles(bench, adders, scratchpads)?]))
                .fitted()
                .note(ROUND_FIT)
        }
        19 => Entry::simulated(|bench| Ok(vec![expansion(bench, Width::Single, 4)?.1]))
            .note(EXPANSION),
        20 => Entry::simulated(|bench| Ok(vec![expansion(bench, Width::Single, 4)?.0]))
            .note(EXPANSION),
        21 => Entry::simulated(|bench| Ok(vec![expansion(bench, Width::Single, 4)?.0]))
            .note(EXPANSION),
        22 => Entry::simulated(|bench| {
            let (one, both) = (
                expansion(bench, Width::Single, 4)?.0,
                expansion(bench, Width::Dual, 4)?.0,
            );
            Ok(vec![100.0 * (both / one - 1.0)])
        }),
        23 => {
            Entry::simulated(|bench| Ok(vec![expansion(bench, Width::Dual, 4)?.1])).note(EXPANSION)
        }
        24 => Entry::simulated(|bench| {
            Ok(vec![
                expansion(bench, Width::Dual, 6)?.0 - expansion(bench, Width::Single, 4)?.0,
            ])
        })
        .change_of(|bench| Ok(expansion(bench, Width::Single, 4)?.0))
        .note(
            "two keys take two scratchpad writes where one takes one, and that \
             port is the limit of so short a round; the error is in percent of the \
             single version's cycles",
        ),
        25 => Entry::configured(|_| Ok(vec![f64::from(8 * SUB_KEY_WORDS / 4)])),
        26 => Entry::simulated(|bench| {
            Ok(vec![
                bench
                    .single_stream(6, LARGEST, Width::Single)?
                    .cycles_per_block(),
            ])
        })
        .fitted()
        .note(
            "figure 2.12 was looked at when the kernels' start and end were set \
             to no cycles of their own",
        ),
        27 => Entry::simulated(|bench| {
            let run = bench.single_stream(6, LARGEST, Width::Single)?;
            Ok(vec![bench.gbit_per_s(128.0, run.cycles_per_block())?])
        })
        .fitted()
        .note("the row above, as a rate"),
        28 => Entry::simulated(|bench| Ok(vec![bench.packets(8, false)?.kernel_share()]))
            .fitted()
            .note("used to set the bus cycles of a word of the host"),
        29 => Entry::simulated(|bench| Ok(vec![bench.packets(LARGEST, false)?.kernel_share()])),
        30 => Entry::ordering(|bench| Ok(vec![bench.packets(24, false)?.kernel_share()])),
        32 => Entry::ordering(|bench| {
            let one = bench.single_stream(6, 3072, Width::Single)?.cycles;
            Ok(vec![
                one / bench.single_stream(6, 3072, Width::Dual)?.cycles,
            ])
        })
        .note(
            "with 6 adders; with 4 it stays below, for the rounds are then \
             limited by their adders",
        ),
        33 => Entry::simulated(|bench| Ok(vec![expansion(bench, Width::Single, 4)?.0 / 64.0]))
            .note(EXPANSION),
        35..=38 | 40 => Entry::inconsistent(Class::Simulated, move |bench| {
            let run = bench.packets(LARGEST, true)?;
            let (outcome, clock) = (&run.outcome, bench.imagine(4, 2)?.clock_mhz);
            let rate = |bytes: u64| outcome.gigabytes_per_s(bytes, clock);
            Ok(vec![match number {
                35 => rate(outcome.memory_bytes),
                36 => rate(outcome.srf_bytes),
                37 => rate(outcome.register_bytes),
                38 => rate(outcome.operations),
                _ => 100.0 * rate(outcome.srf_bytes) / 32.0,
            }])
        })
        .note(TABLE_2_3),
        39 => Entry::simulated(|bench| {
            Ok(vec![
                bench
                    .packets(LARGEST, true)?
                    .outcome
                    .operations_per_memory_word(),
            ])
        }),
        44 => Entry::simulated(|bench| Ok(vec![bench.packets(8, true)?.cycles_per_block()])),
        45 => Entry::simulated(|bench| Ok(vec![bench.packets(LARGEST, true)?.cycles_per_block()]))
            .note(
                "the final round is shorter than the thesis's, which by its share of \
             27.5 % takes 69 cycles for 8 blocks instead of 22: that is 5.9 \
             cycles per block",
            ),
        53 => Entry::closed(|_| Ok(vec![100.0 * cluster_efficiency(4, 8)])),
        54 => Entry::ordering(|bench| Ok(vec![distribution_cycles(bench)?])),
        61 => Entry::closed(|_| Ok(vec![3.0])).note("the depth of the tree, 2, times 1.5 × 2^-30"),
        55 => Entry::simulated(|bench| {
            Ok(vec![
                bench.gbit_per_s(8.0 * 1536.0, mmh_cycles(bench, 1536)?)?,
            ])
        })
        .note(MMH),
        56 => Entry::simulated(|bench| {
            Ok(vec![
                bench.gbit_per_s(8.0 * 128.0, mmh_cycles(bench, 128)?)?,
            ])
        })
        .note(
            "the host sends 36 words for a packet, to load, call and store, in 270 \
             cycles; the thesis's 230 leave 2.6 cycles of the bus for a word, where \
             figure 2.14 asks for 3",
        ),
        57 => Entry::simulated(|bench| {
            let [apart, overlapped, _] = mmh_loop(bench)?;
            Ok(vec![100.0 * (1.0 - overlapped / apart)])
        })
        .note("70 cycles become 20, in the thesis 55 become 22"),
        58 => Entry::simulated(|bench| {
            let [apart, overlapped, busy] = mmh_loop(bench)?;
            Ok(vec![100.0 * busy / apart, 100.0 * busy / overlapped])
        })
        .note(
            "76 cycles of adders here, and 75 in the thesis (85 % of 22 cycles of \
             four): the same work, of which one iteration alone takes 70 cycles here \
             and 55 there",
        ),
        59 => Entry::simulated(|bench| Ok(vec![mmh_loop(bench)?[1]])).note(
            "76 cycles of adders for four of them; 18 words pass the one unit for \
             communication",
        ),
        60 => Entry::closed(|_| Ok(vec![2.0, 4.0 * (1.5f64.log2() - 30.0)]))
            .within(2.0)
            .note(
                "four times the exponent of 1.5 × 2^-30; with two levels of hashing \
             it is -113.7",
            ),
        _ => Entry::inconsistent(Class::Simulated, |bench| {
            Ok(vec![
                bench.single_stream(4, 8, Width::Single)?.cycles_per_block(),
            ])
        })
        .note(
            "77 cycles for eight blocks are 9.6 per block, and figure 2.12's best \
             is 31.5: 77 can only be the cycles per block of a stream of eight, \
             which the model's number is",
        ),
    }
}

fn chapters_5_to_8(number: u32) -> Entry {
    match number {
        65 => Entry::closed(|_| Ok(vec![bloom_false_positives(41.0, 16.0)]))
            .within(1.5)
            .note("the ratio of 41 is rounded: half a unit of it moves the rate by 10 %"),
        66 => Entry::closed(|_| Ok(vec![bloom_false_positives(65_536.0 / 2000.0, 16.0)]))
            .within(200.0)
            .note("an order of magnitude"),
        67 => Entry::closed(|_| Ok(vec![bloom_false_positives(131_072.0 / 2000.0, 16.0)]))
            .within(200.0)
            .note("an order of magnitude"),
        71..=79 => inspection::entry(number),
        80 => sketch(Hashing::Two, |_, cycles| Ok(cycles)),
        81 => sketch(Hashing::Two, |_, cycles| Ok(cycles / KEYS / 8.0)),
        82 => sketch(Hashing::Two, |_, cycles| Ok(cycles / KEYS)),
        83 => sketch(Hashing::Four, |_, cycles| Ok(cycles)),
        84 => sketch(Hashing::Four, |_, cycles| Ok(cycles / KEYS)),
        85 => sketch(Hashing::Two, |bench, cycles| {
            bench.gbit_per_s(8.0 * 40.0 * KEYS, cycles)
        }),
        86 => sketch(Hashing::Four, |bench, cycles| {
            bench.gbit_per_s(8.0 * 40.0 * KEYS, cycles)
        }),
        87 => Entry::simulated(|bench| load_cycles(bench, 2)).note(
            "15,105 cycles are 4.3 bytes per cycle, more than the 2 GB/s that the \
             thesis has as the memory's most",
        ),
        92 => Entry::closed(|_| Ok(count_min(0.0001, 0.0005).to_vec())),
        95 => Entry::closed(|_| Ok(vec![24_569.0 / 32.0 * 10.0 / 8.0]))
            .within(0.1)
            .note("959.7 bytes, in whole words 960"),
        _ => chip::entry(number),
    }
}

/// A row that follows from the cycles of a sketch's update.
fn sketch(hashing: Hashing, of: fn(&Bench, f64) -> Result<f64, ModelError>) -> Entry {
    Entry::simulated(move |bench| Ok(vec![of(bench, sketch_cycles(bench, hashing)?)?])).note(SKETCH)
}
