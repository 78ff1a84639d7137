//! What filters let through, beside what they should.
//!
//! The first table: false positives of each filter under each family of string
//! hashes, over many filters of other functions, beside the formula and the
//! interval in which 99.9 % of measurements lie; and how far single filters
//! stray from each other, beside what the formula tells. For keys that have
//! nothing in common and for numbered ones. The second, as figure 5.7 of the
//! thesis: packets that are inspected in vain when contents are looked for by so
//! many bytes of their middle at most, and how many of these an exact search for
//! the same bytes would inspect. The thesis's packets are not to be had:
//! contents and packets are made of the same words, so that parts of contents
//! abound.
//!
//! Fixed seeds, 0 to 99: the tables are the same in every run.

use std::collections::{BTreeMap, HashSet};

use weir_hash::bloom::{Blocked, Classic, Counter, Counting, Segmented, Sizing};
use weir_hash::string::{Radix, ShiftAddXor, StringFamily, Tabulation};
use weir_hash::{Seed, SeedStream};

const KEYS: usize = 2000;
const FILTERS: u64 = 100;
/// Of each filter.
const QUERIES: usize = 40_000;
/// 99.9 % of normal deviations are smaller.
const DEVIATIONS: f64 = 3.29;

/// As section 5.3.1 configures it: 16 functions, 41 bits per content.
const FUNCTIONS: usize = 16;
const BITS_PER_CONTENT: usize = 41;
const SHORTEST: usize = 14;
const CONTENTS: usize = 2700;
const PACKETS: usize = 3000;
const PACKET_BYTES: usize = 600;
const WORDS: usize = 1000;

fn main() {
    println!(
        "| family | keys | filter | predicted | measured | 99.9 % interval | inside | spread by the formula's |\n\
         | --- | --- | --- | --- | --- | --- | --- | --: |"
    );
    let mut outside = Vec::new();
    for (keys, key) in [
        ("random", random_key as fn(usize) -> Vec<u8>),
        ("numbered", numbered_key),
    ] {
        let strings: Vec<Vec<u8>> = (0..KEYS + QUERIES).map(key).collect();
        for (family, rows) in [
            (ShiftAddXor::NAME, rates::<ShiftAddXor>(keys, &strings)),
            (Tabulation::NAME, rates::<Tabulation>(keys, &strings)),
            (Radix::<3>::NAME, rates::<Radix<3>>(keys, &strings)),
            (Radix::<1>::NAME, rates::<Radix<1>>(keys, &strings)),
        ] {
            if rows > 0 {
                outside.push(format!("{family} on {keys} keys ({rows} of 4)"));
            }
        }
    }
    println!(
        "\nOutside of the interval: {}.\n\
         The interval is that of functions that are random. H1 is 2-universal, no more: numbered\n\
         keys are sums of few differences, which an affine function keeps, so that a filter's bits\n\
         lie on lattices, more evenly or in heaps as the multiplier has it. Its rate is right on\n\
         average over multipliers; single filters stray by the last column. A cubic polynomial of\n\
         the same number, four of whose values are independent, does not, and is the one to use.\n\
         Tabulation, three of whose values are independent, strays a little on numbered keys.",
        if outside.is_empty() {
            "none".to_owned()
        } else {
            outside.join(", ")
        }
    );
    println!(
        "\nOf {PACKETS} packets, inspected in vain:\n\n\
         | cut-off | {} | {} | {} | {} | exact match |\n| --: | --: | --: | --: | --: | --: |",
        ShiftAddXor::NAME,
        Tabulation::NAME,
        Radix::<3>::NAME,
        Radix::<1>::NAME
    );
    let (contents, packets) = made();
    let whole = Exact::new(contents.iter().map(Vec::as_slice));
    let clean: Vec<&[u8]> = (packets.iter().map(Vec::as_slice))
        .filter(|packet| !whole.occurs_in(packet))
        .collect();
    for cut_off in (8..=32).step_by(4) {
        let reduced: Vec<&[u8]> = contents.iter().map(|c| reduced(c, cut_off)).collect();
        let family = [
            in_vain::<ShiftAddXor>(&reduced, &clean, cut_off),
            in_vain::<Tabulation>(&reduced, &clean, cut_off),
            in_vain::<Radix<3>>(&reduced, &clean, cut_off),
            in_vain::<Radix<1>>(&reduced, &clean, cut_off),
        ];
        let exact = Exact::new(reduced.iter().copied());
        let exact = clean
            .iter()
            .filter(|packet| exact.occurs_in(packet))
            .count();
        let [one, two, three, four] = family;
        println!("| {cut_off} | {one} | {two} | {three} | {four} | {exact} |");
    }
}

fn hashes<F: StringFamily>(family: &F, string: &[u8]) -> Vec<u32> {
    let functions = 0..family.functions();
    functions
        .map(|function| family.hash(function, string))
        .collect()
}

/// Keys that have nothing to do with one another.
fn random_key(number: usize) -> Vec<u8> {
    let random = SeedStream::new(Seed::from_u64(number as u64)).next_u64();
    format!("/{random:x}/").into_bytes()
}

/// Keys that are much alike.
fn numbered_key(number: usize) -> Vec<u8> {
    format!("/path/{number}/x").into_bytes()
}

/// The first table's rows of one family, and how many of them are outside.
fn rates<F: StringFamily>(keys: &str, strings: &[Vec<u8>]) -> usize {
    let sizing = Sizing::for_rate(KEYS, 0.01).expect("a rate");
    let (members, strangers) = strings.split_at(KEYS);
    let counts: Vec<[u32; 4]> = (0..FILTERS)
        .map(|seed| {
            let family = F::draw(sizing.functions, 32, Seed::from_u64(seed));
            let (mut classic, mut segmented) = (Classic::new(sizing), Segmented::new(sizing));
            let mut blocked = Blocked::new(sizing);
            let mut counting = Counting::new(sizing, Counter::FourBits);
            for member in members {
                let hashes = hashes(&family, member);
                classic.insert(&hashes);
                segmented.insert(&hashes);
                blocked.insert(&hashes);
                counting.insert(&hashes);
            }
            let mut counts = [0; 4];
            for stranger in strangers {
                let hashes = hashes(&family, stranger);
                counts[0] += u32::from(classic.contains(&hashes));
                counts[1] += u32::from(segmented.contains(&hashes));
                counts[2] += u32::from(blocked.contains(&hashes));
                counts[3] += u32::from(counting.contains(&hashes));
            }
            counts
        })
        .collect();
    let (segmented, blocked) = (sizing.rate_of_segmented(), sizing.rate_of_blocked());
    let filters = [
        ("classic", sizing.rate_of_classic(), sizing.deviation()),
        ("segmented", segmented, sizing.deviation()),
        ("blocked", blocked, sizing.deviation_of_blocked()),
        ("counting", segmented, sizing.deviation()),
    ];
    let mut outside = 0;
    for (index, (filter, rate, deviation)) in filters.into_iter().enumerate() {
        let of_filters = counts
            .iter()
            .map(|counts| f64::from(counts[index]) / QUERIES as f64);
        let measured = of_filters.clone().sum::<f64>() / FILTERS as f64;
        let squares = of_filters
            .map(|rate| (rate - measured).powi(2))
            .sum::<f64>();
        let spread = (squares / (FILTERS - 1) as f64).sqrt();
        // Of one filter: of its bits, and of the queries that hit them.
        let expected_spread = (deviation * deviation + rate / QUERIES as f64).sqrt();
        let reach = DEVIATIONS * expected_spread / (FILTERS as f64).sqrt();
        let is_inside = (measured - rate).abs() <= reach;
        outside += usize::from(!is_inside);
        println!(
            "| {} | {keys} | {filter} | {rate:.5} | {measured:.5} | {:.5} to {:.5} | {} | {:.2} |",
            F::NAME,
            rate - reach,
            rate + reach,
            if is_inside { "yes" } else { "no" },
            spread / expected_spread
        );
    }
    outside
}

/// Contents of several words, and packets of the same words.
fn made() -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    const SYLLABLES: [&str; 16] = [
        "ad", "con", "de", "er", "file", "get", "in", "le", "name", "on", "php", "re", "set",
        "type", "user", "ver",
    ];
    let mut stream = SeedStream::new(Seed::from_u64(57));
    let mut roll =
        move |sides: u64| ((u128::from(stream.next_u64()) * u128::from(sides)) >> 64) as usize;
    let words: Vec<String> = (0..WORDS)
        .map(|_| (0..1 + roll(3)).map(|_| SYLLABLES[roll(16)]).collect())
        .collect();
    let mut text = |least: usize| {
        let mut text = String::new();
        while text.len() < least {
            text += &words[roll(WORDS as u64)];
            text += ["/", "=", " ", ".", "-"][roll(5)];
        }
        text.into_bytes()
    };
    let mut contents: Vec<Vec<u8>> = (0..CONTENTS).map(|n| text(SHORTEST + n % 24)).collect();
    contents.sort();
    contents.dedup();
    let packets = (0..PACKETS).map(|_| text(PACKET_BYTES)).collect();
    (contents, packets)
}

/// The bytes of a content's middle (figure 5.6).
fn reduced(content: &[u8], cut_off: usize) -> &[u8] {
    let length = content.len().min(cut_off);
    &content[(content.len() - length) / 2..][..length]
}

/// Strings by their lengths.
struct Exact<'a>(BTreeMap<usize, HashSet<&'a [u8]>>);

impl<'a> Exact<'a> {
    fn new(strings: impl Iterator<Item = &'a [u8]>) -> Exact<'a> {
        let mut by_length = BTreeMap::<usize, HashSet<&[u8]>>::new();
        for string in strings {
            by_length.entry(string.len()).or_default().insert(string);
        }
        Exact(by_length)
    }

    /// Whether one of the strings does.
    fn occurs_in(&self, packet: &[u8]) -> bool {
        (self.0.iter()).any(|(length, strings)| {
            let mut windows = packet.windows(*length);
            windows.any(|window| strings.contains(window))
        })
    }
}

/// Of packets that hold no content, those in which the filter finds one.
fn in_vain<F: StringFamily>(contents: &[&[u8]], packets: &[&[u8]], cut_off: usize) -> usize {
    let family = F::draw(FUNCTIONS, cut_off, Seed::from_u64(5));
    let mut filter = Segmented::new(Sizing {
        bits: BITS_PER_CONTENT * contents.len(),
        functions: FUNCTIONS,
        keys: contents.len(),
    });
    let mut lengths = vec![false; cut_off + 1];
    for content in contents {
        filter.insert(&hashes(&family, content));
        lengths[content.len()] = true;
    }
    let is_candidate = |packet: &&&[u8]| {
        (0..packet.len()).any(|start| {
            let mut state = family.start(0);
            (packet[start..].iter().enumerate().take(cut_off)).any(|(place, byte)| {
                state = family.append(0, state, place, *byte);
                lengths[place + 1]
                    && filter.is_set(0, family.finish(0, state))
                    && (1..FUNCTIONS).all(|function| {
                        let window = &packet[start..=start + place];
                        filter.is_set(function, family.hash(function, window))
                    })
            })
        })
    };
    packets.iter().filter(is_candidate).count()
}
