//! Errors are found when a kernel is built, with their place; hints change
//! nothing that a kernel gives.

use super::*;
use crate::stream_processor::execute::{Arguments, ExecuteError, Scratchpads, execute};

fn error_of(write: impl FnOnce(&mut Builder)) -> BuildError {
    let mut k = Builder::new("wrong");
    write(&mut k);
    k.finish().expect_err("an error")
}

#[test]
fn a_word_is_not_a_flag() {
    let error = error_of(|k| {
        let a = k.constant(1);
        k.select(a, a, a);
    });
    let text = error.to_string();
    assert!(
        text.contains("select takes a flag as operand 1, not a word"),
        "{text}"
    );
    assert!(text.contains("tests.rs:"), "{text}");
}

#[test]
fn values_stay_in_their_loop() {
    let error = error_of(|k| {
        let one = k.constant(1);
        let mut leaked = one;
        k.repeat(Over::count(2), &[], |k, _| {
            leaked = k.add(one, one);
            vec![]
        });
        k.add(leaked, one);
    });
    assert!(matches!(error.cause, Cause::Scope { operand: 1, .. }));
}

#[test]
fn values_of_unrolled_copies_stay_in_their_loop() {
    let error = error_of(|k| {
        let one = k.constant(1);
        let mut leaked = one;
        k.repeat(Over::count(4).unroll(2), &[one], |k, carried| {
            leaked = k.add(carried[0], one);
            vec![leaked]
        });
        k.add(one, leaked);
    });
    assert!(matches!(error.cause, Cause::Scope { operand: 2, .. }));
}

#[test]
fn sizes_are_checked() {
    let index = error_of(|k| {
        let array = k.array("small", 4, Placement::Every);
        let three = k.constant(3);
        k.scratch_read(array, three, 1);
    });
    assert!(matches!(
        index.cause,
        Cause::Index {
            index: 4,
            words: 4,
            ..
        }
    ));
    let record = error_of(|k| {
        let out = k.output("out", 2);
        let one = k.constant(1);
        k.write(out, &[one]);
    });
    assert!(matches!(
        record.cause,
        Cause::Record {
            expected: 2,
            found: 1,
            ..
        }
    ));
    let carried = error_of(|k| {
        let one = k.constant(1);
        k.repeat(Over::count(2), &[one], |_, _| vec![]);
    });
    assert!(matches!(
        carried.cause,
        Cause::CarriedCount {
            expected: 1,
            found: 0
        }
    ));
    let twice = error_of(|k| {
        k.input("name", 1);
        k.output("name", 1);
    });
    assert!(matches!(twice.cause, Cause::Declaration(_)));
    for over in [
        Over::count(5).unroll(2),
        Over::count(0),
        Over::count(4).unroll(0),
    ] {
        let hint = error_of(|k| {
            let (one, out) = (k.constant(1), k.output("out", 1));
            k.repeat(over, &[], |k, _| {
                k.write(out, &[one]);
                vec![]
            });
        });
        assert!(matches!(hint.cause, Cause::Hint(_)));
    }
}

#[test]
fn dead_operations_are_removed() {
    let mut k = Builder::new("dead");
    let (input, out) = (k.input("in", 1), k.output("out", 1));
    let (one, two) = (k.constant(1), k.constant(2));
    k.repeat(Over::records(input), &[one, two], |k, carried| {
        let word = k.read(input)[0];
        let used = k.add(word, carried[0]);
        k.write(out, &[used]);
        // Feeds itself and nothing else.
        let idle = k.multiply_low(carried[1], word);
        vec![used, idle]
    });
    let kernel = k.finish().expect("a kernel");
    assert_eq!(kernel.counts().of("multiply_low"), 0);
    assert_eq!(kernel.counts().of("constant"), 1);
    assert_eq!(kernel.counts().of("add"), 1);
    assert_eq!(kernel.counts().total(), 4);
    assert!(kernel.to_string().contains("next %"));
}

/// Running sums of a stream, and the last of them.
fn sums(unroll: u32) -> Kernel {
    let mut k = Builder::new("sums");
    let (input, out) = (k.input("in", 1), k.output("out", 1));
    let last = k.output("last", 2);
    let zero = k.constant(0);
    let ends = k.repeat(
        Over::records(input).unroll(unroll),
        &[zero, zero],
        |k, carried| {
            let word = k.read(input)[0];
            let sum = k.add(word, carried[0]);
            k.write(out, &[sum]);
            vec![sum, carried[0]]
        },
    );
    k.write(last, &ends);
    k.finish().expect("a kernel")
}

#[test]
fn unrolling_changes_no_output() {
    for clusters in [1, 2, 4] {
        let arguments = Arguments {
            inputs: vec![(1..=12 * clusters as u32).collect()],
            ..Arguments::default()
        };
        let outputs = [1, 2, 3, 4, 6].map(|unroll| {
            execute(
                &sums(unroll),
                clusters,
                &mut arguments.clone(),
                &mut Scratchpads::new(),
            )
            .expect("a run")
        });
        assert!(outputs.iter().all(|output| *output == outputs[0]));
        assert_eq!(outputs[0][1].len(), 2 * clusters);
    }
}

#[test]
fn what_cannot_be_executed_is_named() {
    let run = |clusters, words: usize| {
        let mut arguments = Arguments {
            inputs: vec![vec![0; words]],
            ..Arguments::default()
        };
        execute(&sums(4), clusters, &mut arguments, &mut Scratchpads::new()).expect_err("an error")
    };
    assert_eq!(run(3, 12), ExecuteError::Clusters(3));
    assert!(matches!(run(4, 6), ExecuteError::Uneven { .. }));
    assert!(matches!(
        run(2, 12),
        ExecuteError::Operation {
            operation: "loop",
            ..
        }
    ));

    let mut k = Builder::new("greedy");
    let (input, out) = (k.input("in", 1), k.output("out", 1));
    let first = k.read(input);
    let second = k.read(input);
    let both = k.add(first[0], second[0]);
    k.write(out, &[both]);
    let kernel = k.finish().expect("a kernel");
    let mut arguments = Arguments {
        inputs: vec![vec![0; 2]],
        ..Arguments::default()
    };
    let error = execute(&kernel, 2, &mut arguments, &mut Scratchpads::new()).expect_err("an error");
    assert!(error.to_string().contains("read past its end"), "{error}");
    assert!(error.to_string().contains("tests.rs:"), "{error}");
}

#[test]
fn lanes_and_arrays_have_ends() {
    let mut k = Builder::new("wild");
    let (at, out) = (k.scalar_parameter("at"), k.output("out", 1));
    let array = k.array("array", 8, Placement::Unit(0));
    let lanes = k.indexed("lanes");
    let index = k.scalar(at);
    let word = k.scratch_read(array, index, 0);
    let other = k.indexed_read(lanes, Addressing::Stream, index);
    let both = k.add(word, other);
    k.write(out, &[both]);
    let kernel = k.finish().expect("a kernel");
    let run = |at| {
        let mut arguments = Arguments {
            inputs: vec![],
            indexed: vec![vec![0; 4]],
            scalars: vec![at],
        };
        execute(&kernel, 2, &mut arguments, &mut Scratchpads::new())
            .expect_err("an error")
            .to_string()
    };
    assert!(run(8).contains("index 8 is outside array array of 8 words"));
    assert!(run(4).contains("index 4 is outside stream lanes of 4 words"));
    assert!(run(2).contains("not in the lane of cluster 1"));
}
