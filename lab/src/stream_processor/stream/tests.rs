//! Programs give right results, and their times are those of closed forms
//! where there are some.

use super::*;
use crate::stream_processor::applications::aes::programs::{BLOCK_WORDS, Width, Workload, encrypt};
use crate::stream_processor::kernel::{Builder, Kernel, Over};
use crate::stream_processor::machine::Machine;

fn machine(changes: &[(&str, f64)]) -> Machine {
    let changes: Vec<(String, f64)> = changes
        .iter()
        .map(|&(key, value)| (key.to_owned(), value))
        .collect();
    Machine::load("imagine", &changes).expect("a machine")
}

fn doubling() -> Kernel {
    let mut k = Builder::new("doubling");
    let (input, out) = (k.input("in", 1), k.output("out", 1));
    k.repeat(Over::records(input).pipeline(), &[], |k, _| {
        let word = k.read(input)[0];
        let twice = k.add(word, word);
        k.write(out, &[twice]);
        vec![]
    });
    k.finish().expect("a kernel")
}

/// Loads, doubles and stores a number of pieces of a memory.
fn pieces(pieces: usize, words: usize) -> Program {
    let all = pieces * words;
    let mut program = Program::new(8, (0..2 * all as u32).collect());
    let kernel = program.kernel(doubling());
    program.load_microcode(kernel);
    program.barrier();
    for piece in 0..pieces {
        let start = piece * words;
        let from = program.load(MemoryRange { start, words }).expect("a load");
        let to = program.call(kernel, &[from], &[], &[]).expect("a call");
        program.store(to[0], all + start).expect("a store");
    }
    program
}

#[test]
fn memory_takes_its_latency_and_its_rate() {
    for words in [8192, 16_384] {
        let mut program = Program::new(8, vec![0; words]);
        program
            .load(MemoryRange { start: 0, words })
            .expect("a load");
        let machine = machine(&[]);
        let outcome = run(&program, &machine).expect("a run");
        let sent = f64::from(3 + 2 * 5) * 3.0 * 2.5;
        let expected = sent + 55.0 + words as f64 * 4.0 / 4.0;
        assert!(
            (outcome.cycles - expected).abs() < 1e-6,
            "{}",
            outcome.cycles
        );
        assert_eq!(outcome.memory_bytes, 4 * words as u64);
    }
}

#[test]
fn streams_share_the_memory() {
    let mut program = Program::new(8, vec![0; 8192]);
    for start in [0, 4096] {
        program
            .load(MemoryRange { start, words: 4096 })
            .expect("a load");
    }
    let together = run(&program, &machine(&[])).expect("a run").cycles;
    let apart = run(&program, &machine(&[("memory.bytes_per_cycle", 8.0)])).expect("a run");
    assert!(together > 8192.0 && together < 8192.0 + 300.0, "{together}");
    assert!(apart.cycles < 4096.0 + 300.0, "{}", apart.cycles);
}

#[test]
fn memory_is_hidden_behind_kernels_and_kernels_behind_memory() {
    let program = pieces(16, 1024);
    let slow_memory = run(&program, &machine(&[])).expect("a run");
    // Twice the words of all pieces pass the memory.
    assert!(slow_memory.memory_cycles >= 2.0 * 16.0 * 1024.0);
    assert!(slow_memory.overlap_cycles > 0.9 * slow_memory.kernel_cycles - 400.0);
    assert!(slow_memory.stalls[&Cause::Memory] > 0.5 * slow_memory.cycles);
    let fast = machine(&[
        ("memory.bytes_per_cycle", 1024.0),
        ("memory.stream_bytes_per_cycle", 1024.0),
        ("srf.bytes_per_cycle", 1024.0),
        ("host.bus_mhz", 50_000.0),
    ]);
    let fast_memory = run(&program, &fast).expect("a run");
    assert!(fast_memory.kernel_share() > 0.8, "{fast_memory:?}");
    let all: Vec<u32> = (0..16 * 1024).map(|word| 2 * word).collect();
    assert_eq!(program.memory()[16 * 1024..], all);
}

#[test]
fn time_is_accounted_for() {
    for (key, value) in [
        ("host.bus_mhz", 200.0),
        ("host.bus_mhz", 2.0),
        ("srf.bytes", 9024.0),
    ] {
        let outcome = run(&pieces(12, 1024), &machine(&[(key, value)])).expect("a run");
        let waits: f64 = outcome
            .stalls
            .iter()
            .filter(|(cause, _)| **cause != Cause::Bandwidth)
            .map(|(_, cycles)| cycles)
            .sum();
        let sum = outcome.kernel_cycles + waits;
        assert!((sum - outcome.cycles).abs() < 1e-3, "{outcome:?}");
    }
    let slow_host = run(&pieces(12, 1024), &machine(&[("host.bus_mhz", 2.0)])).expect("a run");
    assert!(slow_host.stalls[&Cause::Host] > 0.5 * slow_host.cycles);
}

#[test]
fn the_measured_span_is_between_barriers() {
    let machine = machine(&[]);
    let mut program = pieces(12, 1024);
    let whole = run(&program, &machine).expect("a run");
    let measured = whole.measured();
    assert_eq!(whole.barriers.len(), 1);
    assert_eq!(measured.cycles, whole.cycles - whole.barriers[0].cycles);
    // All streams and calls are after the barrier, the microcode before it.
    assert_eq!(measured.memory_bytes, whole.memory_bytes);
    assert_eq!(measured.operations, whole.operations);
    assert_eq!((measured.microcode_loads, whole.microcode_loads), (0, 1));
    let waits: f64 = measured
        .stalls
        .iter()
        .filter(|(cause, _)| **cause != Cause::Bandwidth)
        .map(|(_, cycles)| cycles)
        .sum();
    let sum = measured.kernel_cycles + waits;
    assert!((sum - measured.cycles).abs() < 1e-3, "{measured:?}");

    // What follows a second barrier is not measured.
    program.barrier();
    let between = run(&program, &machine).expect("a run").measured();
    program
        .load(MemoryRange {
            start: 0,
            words: 1024,
        })
        .expect("a load");
    let followed = run(&program, &machine).expect("a run");
    assert_eq!(followed.measured(), between);
    assert!(followed.cycles > between.cycles + 1024.0);
}

#[test]
fn streams_that_do_not_fit_are_refused() {
    let error = run(&pieces(1, 1024), &machine(&[("srf.bytes", 8000.0)])).expect_err("an error");
    assert!(
        matches!(
            error,
            RunError::Simulate(SimulateError::Room { bytes: 4096, .. })
        ),
        "{error}"
    );
    // Just enough: one piece in, one out.
    run(&pieces(3, 1024), &machine(&[("srf.bytes", 8192.0)])).expect("a run");
}

#[test]
fn microcode_is_loaded_again_when_it_was_overwritten() {
    let mut program = Program::new(8, vec![0; 64]);
    let one = program.kernel(doubling());
    let mut k = Builder::new("copy");
    let (input, out) = (k.input("in", 1), k.output("out", 1));
    k.repeat(Over::records(input), &[], |k, _| {
        let word = k.read(input);
        k.write(out, &word);
        vec![]
    });
    let other = program.kernel(k.finish().expect("a kernel"));
    for _ in 0..3 {
        for kernel in [one, other] {
            let from = program
                .load(MemoryRange {
                    start: 0,
                    words: 64,
                })
                .expect("a load");
            program.call(kernel, &[from], &[], &[]).expect("a call");
        }
    }
    let loaded = |room: f64| {
        let machine = machine(&[("microcode.instructions", room)]);
        run(&program, &machine).expect("a run").microcode_loads
    };
    assert_eq!(loaded(1024.0), 2);
    assert_eq!(loaded(12.0), 6);
}

#[test]
fn packets_through_the_network_leave_memory_alone() {
    let program = pieces(16, 1024);
    let from_memory = run(&program, &machine(&[])).expect("a run");
    let by_network = run(&program, &machine(&[("network.carries_packets", 1.0)])).expect("a run");
    assert_eq!(by_network.memory_bytes, 0);
    assert_eq!(by_network.network_bytes, from_memory.memory_bytes);
    // Eight streams at a time instead of one word per cycle for all.
    assert!(
        by_network.cycles < 0.6 * from_memory.cycles,
        "{by_network:?}"
    );
    assert_eq!(by_network.stalls.get(&Cause::Memory), None);
    let slow = machine(&[
        ("network.carries_packets", 1.0),
        ("network.stream_bytes_per_cycle", 0.5),
        ("network.bytes_per_cycle", 0.5),
    ]);
    let slow = run(&program, &slow).expect("a run");
    assert!(slow.cycles > 2.0 * 16.0 * 1024.0 * 8.0, "{slow:?}");
    assert!(slow.stalls[&Cause::Network] > 0.5 * slow.cycles);
}

#[test]
fn arrays_of_streams_save_the_hosts_time() {
    let program = pieces(16, 64);
    let slow_host = |streams: f64| {
        let machine = machine(&[("host.bus_mhz", 5.0), ("host.array_streams", streams)]);
        run(&program, &machine).expect("a run").cycles
    };
    let (one, four, all) = (slow_host(1.0), slow_host(4.0), slow_host(16.0));
    assert!(four < 0.5 * one && all < 0.6 * four, "{one} {four} {all}");
    // A word for each stream of the array is left: load, call and store.
    assert!(all > 3.0 * 15.0 * 3.0 * 100.0, "{all}");
}

#[test]
fn lengths_that_the_host_waits_for_are_not_hidden() {
    let workload = |counts_up| Workload {
        counts_up,
        ..Workload::fixed(6, 8, true, Width::Single)
    };
    let words: Vec<u32> = (0..6 * 8 * BLOCK_WORDS as u32).collect();
    let cycles = [false, true].map(|counts_up| {
        let made = encrypt(8, &workload(counts_up), &words, &words).expect("a program");
        run(&made.program, &machine(&[])).expect("a run")
    });
    // Each packet waits for the one before, and then for the 400 cycles.
    assert!(cycles[1].measured().cycles > 6.0 * 400.0);
    assert!(cycles[1].cycles > cycles[0].cycles + 6.0 * 200.0);
    assert!(cycles[1].stalls[&Cause::Length] > 400.0);
}

#[test]
fn packets_are_encrypted_under_their_keys() {
    use ::aes::Aes128;
    use ::aes::cipher::{BlockCipherEncrypt, KeyInit};
    let workload = Workload {
        packets: vec![16, 32, 16, 48, 16, 16, 16, 16, 32, 16],
        key_agile: true,
        cipher: Width::Dual,
        expansion: Width::Dual,
        counts_up: false,
    };
    let blocks = workload.blocks();
    let bytes = |count: usize, seed: u32| -> Vec<u8> {
        (0..count as u32)
            .map(|n| (n.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 24) as u8)
            .collect()
    };
    let words = |bytes: &[u8]| -> Vec<u32> {
        let (words, _) = bytes.as_chunks::<4>();
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    let (keys, text) = (bytes(16 * workload.packets.len(), 1), bytes(16 * blocks, 2));
    for clusters in [2, 4, 8] {
        let made = encrypt(clusters, &workload, &words(&keys), &words(&text)).expect("a program");
        let mut expected = text.clone();
        let mut rest = expected.as_mut_slice();
        for (key, &blocks) in keys.as_chunks::<16>().0.iter().zip(&workload.packets) {
            let (packet, others) = rest.split_at_mut(16 * blocks);
            rest = others;
            for block in packet.as_chunks_mut::<16>().0 {
                let mut state = (*block).into();
                Aes128::new(key.into()).encrypt_block(&mut state);
                *block = state.into();
            }
        }
        let range = made.cipher_text;
        let found = &made.program.memory()[range.start..range.start + range.words];
        assert_eq!(found, words(&expected));
    }
    // Three blocks do not divide over eight clusters.
    let odd = Workload::fixed(1, 3, false, Width::Single);
    assert!(encrypt(8, &odd, &words(&keys), &words(&text)).is_err());
}
