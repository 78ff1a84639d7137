use super::*;
use crate::stream_processor::execute::{Arguments, Scratchpads, execute};
use crate::stream_processor::kernel::{Builder, Over};

const SIPHASH: &str = include_str!("../../../../../examples/siphash.kernel");

fn outputs(text: &str, inputs: Vec<Vec<u32>>, scalars: &[u32], clusters: usize) -> Vec<Vec<u32>> {
    let kernel = parse(text).expect("a kernel");
    let mut arguments = Arguments {
        inputs,
        scalars: scalars.to_vec(),
        indexed: vec![vec![7; clusters * 4]; kernel.indexed().len()],
    };
    execute(&kernel, clusters, &mut arguments, &mut Scratchpads::new()).expect("a run")
}

/// Lines before which `kernel k`, an input and an output of two words stand.
fn error(lines: &str) -> String {
    let text = format!("kernel k\ninput a 2\noutput b 2\n{lines}");
    parse(&text).expect_err("an error").to_string()
}

#[test]
fn siphash_is_that_of_the_standard_library() {
    #[expect(deprecated, reason = "it is SipHash-2-4, which no other type promises")]
    use std::hash::{Hasher, SipHasher};
    let words: Vec<u32> = (0..16 * 64u32)
        .map(|word| word.wrapping_mul(0x9e37_79b9).rotate_left(word % 31))
        .collect();
    let keys = [0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0f0e_0d0c];
    let found = outputs(SIPHASH, vec![words.clone()], &keys, 8);
    let hashes = words.chunks(16).map(|record| {
        #[expect(deprecated, reason = "see above")]
        let mut hasher = SipHasher::new_with_keys(0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908);
        let bytes: Vec<u8> = record.iter().flat_map(|word| word.to_le_bytes()).collect();
        hasher.write(&bytes);
        hasher.finish()
    });
    let expected: Vec<u32> = hashes
        .flat_map(|hash| [hash as u32, (hash >> 32) as u32])
        .collect();
    assert_eq!(found, [expected]);
}

#[test]
fn a_text_is_the_kernel_that_a_builder_writes() {
    let text = "
kernel checksum
input packet 4
output sums 1
sum = 0
loop over packet pipelined called halves {
    words = read packet
    sum = sum + ((words.0 & 0xffff) + (words.0 >> 16))
    sum = sum + ((words.1 & 0xffff) + (words.1 >> 16))
    sum = sum + ((words.2 & 0xffff) + (words.2 >> 16))
    sum = sum + ((words.3 & 0xffff) + (words.3 >> 16))
}
write sums (sum)
";
    let mut k = Builder::new("checksum");
    let packet = k.input("packet", 4);
    let sums = k.output("sums", 1);
    let zero = k.constant(0);
    let sum = k.repeat(
        Over::records(packet).label("halves").pipeline(),
        &[zero],
        |k, carried| {
            let mut sum = carried[0];
            for word in k.read(packet) {
                let half = k.constant(0xffff);
                let low = k.and(word, half);
                let high = k.shift_right(word, 16);
                let both = k.add(low, high);
                sum = k.add(sum, both);
            }
            vec![sum]
        },
    );
    k.write(sums, &sum);
    let built = k.finish().expect("a kernel");
    assert_eq!(
        parse(text).expect("a kernel").to_string(),
        built.to_string()
    );
}

#[test]
fn every_operation_means_what_the_page_says() {
    let text = "
kernel all          # in one cluster
input in 2
output out 1
array table 8
array copies 4 in every
indexed lane
scalar given
scalar often
constant half 0x8000_0000

function both(pair, more) {
    added = pair.0 + pair.1
    return added, more
}

table[3] = 0x80000000
x, y = read in
write out (x + y)
write out (x - y)
write out (x * y)
write out (x & y | x ^ ~y)
write out (x << 3)
write out (x << y)
write out (x >> 3)
write out (x >> y)
write out (shift_right_signed(table[3], 4))
write out (shift_right_signed(table[3], y))
write out (rotate_left(x, 31))
write out (shuffle(x, 0x8883))
write out (select(x < y, 1, 2))
write out (select(x == x, 1, 2))
write out (select(less_signed(table[3], y), 1, 2))
write out (multiply_high(x, 0x80000000))
write out (multiply_wide(x, 0x80000000).1)
write out (add64((0xffffffff, 1), (1, 1)).1)
write out (table.bit[127])
write out (cluster_id() + 2 * cluster_count())
write out (communicate(x, 0))
write out (given)
lane.row[1] = 70
write out (lane.row[1] + lane[2])
i = 1
table[i + 2] = 5
write out (table[3])
pair = both((x, y), 9)
write out (pair.0 + pair.1)
write out ((1 + 2) * 3)
loop often times { i = i + i }
write out (i)
loop 4 times unroll 2 { i = i + 1 }
write out (i)
loop 3 times unroll 3 {
    twice = i + i
    i = twice
}
write out (i + half)
";
    let found = outputs(text, vec![vec![12, 5]], &[77, 3], 1);
    let inverted = 12 & 5 | (12 ^ !5u32);
    let expected = [
        17,
        7,
        60,
        inverted,
        96,
        384,
        1,
        0,
        0xf800_0000,
        0xfc00_0000,
        6,
        0,
        2,
        1,
        1,
        6,
        6,
        3,
        1,
        2,
        12,
        77,
        77,
        5,
        26,
        9,
        8,
        12,
        0x8000_0060,
    ];
    assert_eq!(found, [expected.to_vec()]);
}

#[test]
fn assignments_in_a_loop_carry_what_was_there_before() {
    let text = "
kernel sums
input in 1
output out 2
sum = 0
loop over in {
    word = read in
    sum = sum + word
    last = sum, word
    write out (last)
}
write out (sum, 0)
";
    let found = outputs(text, vec![vec![1, 2, 3]], &[], 1);
    assert_eq!(found, [[1, 1, 3, 2, 6, 3, 6, 0]]);
}

#[test]
fn errors_name_line_and_column() {
    let cases = [
        ("x = y", "4:5: nothing is called y here"),
        (
            "x = 1 +",
            "4:8: expected a value, found the end of the text",
        ),
        ("x = 1 2", "4:7: expected the end of the line, found 2"),
        (
            "x = 4294967296",
            "4:5: 4294967296 is no number of 32 bits, as 255 or 0xff",
        ),
        (
            "x = 0xg",
            "4:5: 0xg is no number of 32 bits, as 255 or 0xff",
        ),
        ("x = 1 ? 2", "4:7: '?' means nothing here"),
        ("x, y = 1", "4:1: 2 names and 1 words"),
        ("a = 1", "4:1: a is declared, and no variable"),
        ("select = 1", "4:1: select is a function"),
        ("loop = 1", "4:6: expected a name, found ="),
        ("x = read b", "4:5: b is no input stream"),
        ("x = read a[1..3]", "4:5: a record of a has words 0 to 1"),
        ("write a (1, 2)", "4:1: a is no output stream"),
        ("write b (1)", "4:1: a record of b has 2 words, not 1"),
        (
            "write b[0] (1, 2, 3)",
            "4:1: a record of b has 2 words, not 3",
        ),
        (
            "x = read a[1..2]",
            "4:5: the words of a record go in order: the next one of a is word 0",
        ),
        (
            "x = read a[0..1]\ny = read a",
            "5:5: the words of a record go in order: the next one of a is word 1",
        ),
        ("x = read a[0..1]", "1:1: a record of a ends after 1 words"),
        (
            "write b[1] (1)",
            "4:1: the words of a record go in order: the next one of b is word 0",
        ),
        (
            "loop over a { x = read a[0..1] }",
            "4:1: an iteration reads or writes a part of a record of a",
        ),
        (
            "loop 2 times unroll 2 { y = 1 }\nx = y",
            "5:5: nothing is called y here",
        ),
        (
            "loop over a pipelined { loop 2 times { x = 1 } }",
            "4:1: loop a is to be pipelined, but it holds another loop",
        ),
        ("x = (1, 2).2", "4:5: place 2 of a list of 2 words"),
        (
            "x = (1, 2) + 1",
            "4:12: + takes one word on each side, not 2 and 1",
        ),
        (
            "x = (1, 2) ^ 1",
            "4:12: ^ takes as many words on both sides, not 2 and 1",
        ),
        (
            "x = 1 << 32\ny = x",
            "4:7: shift_left by 32 bits: at most 31",
        ),
        (
            "x = cluster_id() << 32",
            "4:18: shift_left by 32 bits: at most 31",
        ),
        (
            "x = (1 < 2) + 1",
            "4:13: add takes a word as operand 1, not a flag",
        ),
        (
            "x = select(1, 2, 3)",
            "4:5: select takes a flag as operand 1, not a word",
        ),
        ("x = select(1)", "4:5: select takes 3 values, not 1"),
        ("x = swap(1)", "4:5: no function is called swap"),
        (
            "x = rotate_left(1, cluster_id())",
            "4:5: value 2 of rotate_left is a number",
        ),
        (
            "array t 4\nx = t[4]",
            "5:5: index 4 is outside array t of 4 words",
        ),
        ("array t 0", "4:1: an array has 1 to 65536 words, not 0"),
        ("x = t[4]", "4:5: nothing is called t here"),
        (
            "x = a.row[4]",
            "4:5: a is no indexed stream, and only these have rows",
        ),
        ("input a 1", "4:1: a has another meaning already"),
        ("loop over b { x = 1 }", "4:1: b is no input stream"),
        (
            "loop 0 times { x = 1 }",
            "4:1: a loop runs 1 to 1000000 times, not 0",
        ),
        (
            "loop 2 times unroll 65 { x = 1 }",
            "4:1: a loop is unrolled 1 to 64 times, not 65",
        ),
        (
            "loop 2000 times { loop 2000 times { x = 1 } }",
            "4:19: loops run 4000000 times, at most 1000000",
        ),
        (
            "x = 1, 2\nloop 2 times { x = 1 }",
            "5:1: x has 2 words before the loop, and 1 after an iteration",
        ),
        (
            "loop 2 times { y = 1 }\nx = y",
            "5:5: nothing is called y here",
        ),
        (
            "loop 2 times {",
            "4:15: expected a name, found the end of the text",
        ),
        (
            "function f(x) { y = x }",
            "4:23: a function ends with: return VALUES",
        ),
        (
            "function f(x) {\n return x\n}\ny = f(1, 2)",
            "7:5: f takes 1 values, not 2",
        ),
        (
            "function f(x) {\n return f(x)\n}\ny = f(1)",
            "5:9: no function is called f",
        ),
        (
            "function f(x, x) {\n return x\n}",
            "4:1: parameter x has another meaning already",
        ),
    ];
    let found = cases.map(|(lines, expected)| (lines, expected, error(lines)));
    let others: Vec<_> = (found.iter())
        .filter(|(_, expected, found)| found != expected)
        .collect();
    assert!(others.is_empty(), "{others:#?}");
    let wrong = parse("input a 1").expect_err("an error").to_string();
    assert_eq!(wrong, "1:1: a text begins with: kernel NAME");
}

#[test]
fn what_would_be_too_large_is_refused() {
    let mut doubled = "x = 1\n".to_owned();
    doubled += &"x = x, x\n".repeat(40);
    assert_eq!(error(&doubled), "17:5: a list has at most 4096 words");

    let mut calls = "function f0(x) {\n return x\n}\n".to_owned();
    for level in 1..40 {
        let inner = level - 1;
        calls += &format!("function f{level}(x) {{\n return f{inner}(f{inner}(x))\n}}\n");
    }
    let found = error(&(calls + "x = f39(1)\n"));
    assert!(
        found.ends_with("calls of functions make this kernel too large"),
        "{found}"
    );

    let chain = format!("x = 1{}", " + 1".repeat(100_000));
    let found = error(&chain);
    assert!(
        found.ends_with("a statement has at most 1000 operators"),
        "{found}"
    );

    for open in ["(", "~", "t["] {
        let found = error(&format!("x = {}1", open.repeat(100_000)));
        assert!(
            found.ends_with("at most 64 parentheses and loops may be open"),
            "{found}"
        );
    }
    let loops = "loop 1 times {\n".repeat(100);
    let found = error(&loops);
    assert!(
        found.ends_with("at most 64 parentheses and loops may be open"),
        "{found}"
    );

    let sums = format!("x = cluster_id()\n{}", "x = x + x\n".repeat(20_000));
    let found = error(&sums);
    assert!(
        found.ends_with("a kernel has at most 16384 values"),
        "{found}"
    );
}

/// Mutations of a kernel: each is a kernel or an error with a place in the text.
#[test]
fn no_text_panics() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let signs: Vec<char> = "(){}[].,=+-*&|^~<>#0 1\n aµ".chars().collect();
    let mut parsed = 0;
    for _ in 0..400 {
        let mut text: Vec<char> = SIPHASH.chars().collect();
        for _ in 0..1 + random(3) {
            let at = random(text.len());
            match random(3) {
                0 => text[at] = signs[random(signs.len())],
                1 => text.insert(at, signs[random(signs.len())]),
                _ => drop(text.drain(at..text.len().min(at + random(12)))),
            }
        }
        let text: String = text.into_iter().collect();
        match parse(&text) {
            Ok(_) => parsed += 1,
            Err(error) => {
                let lines = text.lines().count() as u32;
                assert!((1..=lines).contains(&error.line), "{error}\n{text}");
            }
        }
    }
    assert!((10..390).contains(&parsed), "{parsed} were kernels");
}
