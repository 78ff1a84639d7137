//! What each family costs: nanoseconds for a key under all rows, many keys at a
//! time, in the lanes of every tier beside the scalar twin.
//!
//! Keys of one word and of four, five rows of 32,768 buckets, chunks of 256 keys
//! (what a sketch hands over). Subjects take turns, 21 rounds of them; a figure is
//! the median, with the quartiles in brackets. Tables that families look up are
//! in the caches as far as they fit: a sketch's counters may push them out.

use std::hint::black_box;
use std::time::Instant;

use weir_hash::{
    Buckets, Family, H1HalfWords, H1Words, KeyColumns, Ms52, Poly44, Polynomial, SeedStream,
    Tabulation, ThorupZhang8, ThorupZhang16,
};
use weir_simd::Tier;

const ROWS: usize = 5;
const WIDTH: u32 = 32_768;
const CHUNK: usize = 256;
const CHUNKS: usize = 64;
const ROUNDS: usize = 21;

/// A family at keys of some length, under one tier.
struct Subject {
    family: &'static str,
    words: usize,
    tier: Tier,
    hash_all: Box<dyn FnMut()>,
    ns_per_key: Vec<f64>,
}

fn main() {
    let mut subjects = Vec::new();
    for words in [1, 4] {
        enter::<Ms52>("Ms52", words, &mut subjects);
        enter::<H1HalfWords>("H1HalfWords", words, &mut subjects);
        enter::<H1Words>("H1Words", words, &mut subjects);
        enter::<Tabulation>("Tabulation", words, &mut subjects);
        enter::<Poly44>("Poly44", words, &mut subjects);
        enter::<Polynomial<4>>("Polynomial<4>", words, &mut subjects);
        enter::<ThorupZhang8>("ThorupZhang8", words, &mut subjects);
    }
    enter::<ThorupZhang16>("ThorupZhang16", 1, &mut subjects);

    for _ in 0..ROUNDS {
        for subject in &mut subjects {
            let start = Instant::now();
            (subject.hash_all)();
            let ns = start.elapsed().as_secs_f64() * 1e9;
            subject.ns_per_key.push(ns / (CHUNK * CHUNKS) as f64);
        }
    }
    println!("| family | words | tier | ns/key, {ROWS} rows | ns/key and row |");
    println!("| --- | --: | --- | --: | --: |");
    for subject in &mut subjects {
        subject.ns_per_key.sort_by(f64::total_cmp);
        let quantile = |share: usize| subject.ns_per_key[(ROUNDS - 1) * share / 4];
        println!(
            "| {} | {} | {} | {:.2} [{:.2}, {:.2}] | {:.2} |",
            subject.family,
            subject.words,
            subject.tier,
            quantile(2),
            quantile(1),
            quantile(3),
            quantile(2) / ROWS as f64,
        );
    }
}

/// Enters a family under every tier that the processor has.
fn enter<F: Family + 'static>(family: &'static str, words: usize, subjects: &mut Vec<Subject>) {
    let functions = F::draw(ROWS, WIDTH, words, 1).expect("a shape that every family has");
    let mut random = SeedStream::new(2);
    let chunks: Vec<KeyColumns> = (0..CHUNKS)
        .map(|_| {
            let mut keys = KeyColumns::new(words, CHUNK);
            for _ in 0..CHUNK {
                let key: Vec<u32> = (0..words).map(|_| random.next_bits(32) as u32).collect();
                keys.push(&key);
            }
            keys
        })
        .collect();
    for tier in Tier::ALL.into_iter().filter(|tier| tier.is_available()) {
        let (functions, chunks) = (functions.clone(), chunks.clone());
        let mut buckets = Buckets::new();
        subjects.push(Subject {
            family,
            words,
            tier,
            hash_all: Box::new(move || {
                for keys in &chunks {
                    functions.buckets(tier, keys, &mut buckets);
                    black_box(&buckets);
                }
            }),
            ns_per_key: Vec::new(),
        });
    }
}
