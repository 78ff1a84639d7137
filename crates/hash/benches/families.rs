//! What each family costs: nanoseconds for a key under all rows, of many keys at a
//! time (lanes are keys) and of one key after the other (lanes are functions), in the
//! lanes of every tier beside the scalar reference.
//!
//! Keys of one word and of four, five rows of 32,768 buckets, chunks of 256 keys
//! (what a sketch hands over). Subjects take turns, 21 rounds of them; a figure is
//! the median, with the quartiles in brackets. Tables that families look up are
//! in the caches as far as they fit: a sketch's counters may push them out.

use std::hint::black_box;
use std::time::Instant;

use weir_hash::{
    Buckets, Family, H1HalfWords, H1Words, KeyColumns, Ms52, Poly44, Polynomial, Seed, SeedStream,
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
    /// Many keys at a time, then one after the other.
    ways: [Way; 2],
}

/// A way to hash all keys, and how long it took in each round.
struct Way {
    hash_all: Box<dyn FnMut()>,
    ns_per_key: Vec<f64>,
}

impl Way {
    fn new(hash_all: impl FnMut() + 'static) -> Way {
        Way {
            hash_all: Box::new(hash_all),
            ns_per_key: Vec::new(),
        }
    }

    fn take_turn(&mut self) {
        let start = Instant::now();
        (self.hash_all)();
        let ns = start.elapsed().as_secs_f64() * 1e9;
        self.ns_per_key.push(ns / (CHUNK * CHUNKS) as f64);
    }

    /// The median and the quartiles.
    fn figures(&mut self) -> String {
        self.ns_per_key.sort_by(f64::total_cmp);
        let quartile = |number: usize| self.ns_per_key[(ROUNDS - 1) * number / 4];
        format!(
            "{:.2} [{:.2}, {:.2}]",
            quartile(2),
            quartile(1),
            quartile(3)
        )
    }
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
            subject.ways.iter_mut().for_each(Way::take_turn);
        }
    }
    println!("Nanoseconds for a key under {ROWS} rows.\n");
    println!("| family | words | tier | many keys at a time | one key after the other |");
    println!("| --- | --: | --- | --: | --: |");
    for Subject {
        family,
        words,
        tier,
        ways: [many, one],
    } in &mut subjects
    {
        let (many, one) = (many.figures(), one.figures());
        println!("| {family} | {words} | {tier} | {many} | {one} |");
    }
}

/// Enters a family under every tier that the processor has.
fn enter<F: Family + 'static>(family: &'static str, words: usize, subjects: &mut Vec<Subject>) {
    let functions =
        F::draw(ROWS, WIDTH, words, Seed::from_u64(1)).expect("a shape that every family has");
    let mut random = SeedStream::new(Seed::from_u64(2));
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
        let many = {
            let (functions, chunks) = (functions.clone(), chunks.clone());
            let mut buckets = Buckets::new();
            move || {
                for keys in &chunks {
                    functions.buckets(tier, keys, &mut buckets);
                    black_box(&buckets);
                }
            }
        };
        let one = {
            let keys = chunks
                .iter()
                .flat_map(|keys| (0..CHUNK).map(|n| keys.key(n)));
            let (functions, keys) = (functions.clone(), keys.collect::<Vec<_>>());
            let mut buckets = [0; ROWS];
            move || {
                for key in &keys {
                    functions.buckets_across(tier, &key[..words], &mut buckets);
                    black_box(&buckets);
                }
            }
        };
        subjects.push(Subject {
            family,
            words,
            tier,
            ways: [Way::new(many), Way::new(one)],
        });
    }
}
