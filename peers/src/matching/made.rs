//! Patterns and traffic from a fixed seed, modelled on rules and on network traffic:
//! requests and pages of words, names in queries, binary records with runs of zeros,
//! encrypted or compressed bytes.
//!
//! Words consist of syllables, and patterns of the same words as traffic: beginnings
//! of patterns are frequent in it, and whole ones occur, as with rules and real
//! packets. `--rules` and `--captures` measure real traffic.

use std::collections::BTreeSet;

use weir_match::Pattern;

use super::{PatternSet, Traffic};
use crate::numbers::Numbers;

/// The random numbers behind patterns and traffic.
pub struct Dice(Numbers);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Numbers(seed))
    }

    /// A number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        ((u128::from(self.0.next()) * sides as u128) >> 64) as usize
    }

    /// One of several; small indices more often than large ones.
    fn often_first<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let most = 1 + self.roll(from.len());
        &from[self.roll(most)]
    }

    fn one_of<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }

    /// Puts a list in random order.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for index in (1..list.len()).rev() {
            list.swap(index, self.roll(index + 1));
        }
    }

    fn noise(&mut self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| self.0.next() as u8).collect()
    }
}

const SYLLABLES: [&str; 40] = [
    "ad", "ba", "ce", "con", "cor", "da", "de", "di", "en", "er", "ex", "fi", "ge", "in", "ing",
    "is", "la", "le", "lo", "ma", "me", "mi", "na", "ne", "on", "or", "pa", "per", "ra", "re",
    "ro", "sa", "se", "si", "so", "ta", "te", "ti", "ver", "win",
];

/// Words, the common ones first.
fn words() -> Vec<String> {
    let mut dice = Dice::new(1);
    let mut words = BTreeSet::new();
    while words.len() < 6000 {
        let syllables = 1 + dice.roll(2) + dice.roll(3);
        words.insert((0..syllables).map(|_| dice.one_of(&SYLLABLES)).collect());
    }
    let mut words: Vec<String> = words.into_iter().collect();
    dice.shuffle(&mut words);
    words.sort_by_key(|word| word.len() / 4);
    words
}

/// Sets of 300 to 30,000 patterns of five bytes and more, and one with shorter
/// ones among them.
pub fn patterns() -> Vec<PatternSet> {
    let words = words();
    let mut dice = Dice::new(2);
    let (mut known, mut needles) = (BTreeSet::new(), Vec::new());
    while needles.len() < 30_000 {
        let needle = pattern(&words, &mut dice);
        if needle.bytes().len() >= 5 && known.insert(needle.clone()) {
            needles.push(needle);
        }
    }
    let with_short = needles[..10_000]
        .iter()
        .cloned()
        .chain((0..600).map(|_| short(&words, &mut dice)))
        .collect();
    let some = |name, count: usize| PatternSet {
        name,
        needles: needles[..count].to_vec(),
    };
    vec![
        some("300", 300),
        some("3000", 3000),
        some("10000", 10_000),
        PatternSet {
            name: "10600 with short",
            needles: with_short,
        },
        some("30000", 30_000),
    ]
}

fn pattern(words: &[String], dice: &mut Dice) -> Pattern {
    let bytes = match dice.roll(10) {
        0..3 => format!(
            "/{}/{}.php",
            dice.often_first(words),
            words[dice.roll(words.len())]
        )
        .into(),
        3..5 => format!(
            "{}={}",
            words[dice.roll(words.len())],
            dice.often_first(words)
        )
        .into(),
        5 => format!(
            "{}: {}\r\n",
            dice.often_first(words),
            words[dice.roll(words.len())]
        )
        .into(),
        6..8 => format!(
            "{} {}",
            words[dice.roll(words.len())],
            words[dice.roll(words.len())]
        )
        .into(),
        8 => {
            let mut bytes = vec![0; dice.roll(4)];
            let length = 4 + dice.roll(12);
            bytes.extend(dice.noise(length));
            bytes
        }
        _ => {
            let name = &words[dice.roll(words.len())];
            [&[name.len() as u8], name.as_bytes(), b"\x03com\0"].concat()
        }
    };
    if dice.roll(2) == 0 {
        Pattern::exact(bytes)
    } else {
        Pattern::nocase(bytes)
    }
}

fn short(words: &[String], dice: &mut Dice) -> Pattern {
    let length = 1 + dice.roll(4).max(dice.roll(4));
    let bytes = match dice.roll(3) {
        0 => dice.noise(length),
        1 => vec![0; length],
        _ => words[dice.roll(words.len())].bytes().take(length).collect(),
    };
    Pattern::exact(bytes)
}

/// Three kinds of traffic of `bytes` bytes each.
pub fn traffic(bytes: usize) -> Vec<Traffic> {
    let words = words();
    let kind = |name, seed, packet: fn(&[String], &mut Dice) -> Vec<u8>| {
        let mut dice = Dice::new(seed);
        let (mut packets, mut total) = (Vec::new(), 0);
        while total < bytes {
            let mut payload = packet(&words, &mut dice);
            payload.truncate(1448);
            total += payload.len();
            packets.push(payload);
        }
        Traffic { name, packets }
    };
    vec![
        kind("mixed", 3, |words, dice| match dice.roll(8) {
            0..3 => http(words, dice),
            3..5 => query(words, dice),
            5 => {
                let length = 100 + dice.roll(1348);
                dice.noise(length)
            }
            _ => records(words, dice),
        }),
        kind("http", 4, http),
        kind("binary", 5, records),
    ]
}

fn http(words: &[String], dice: &mut Dice) -> Vec<u8> {
    let mut text = String::new();
    if dice.roll(3) == 0 {
        text += &format!(
            "GET /{}/{}.html?{}={} HTTP/1.1\r\nHost: www.{}.com\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64)\r\nAccept: */*\r\nCookie: {}={}\r\n\r\n",
            dice.often_first(words),
            dice.often_first(words),
            dice.often_first(words),
            dice.often_first(words),
            dice.often_first(words),
            dice.often_first(words),
            dice.roll(1 << 30),
        );
        return text.into();
    }
    if dice.roll(4) == 0 {
        text += "HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\nConnection: keep-alive\r\n\r\n<!DOCTYPE html>\n<html><head>\n";
    }
    while text.len() < 1448 {
        let word = dice.often_first(words);
        text += &match dice.roll(14) {
            0 => format!("<a href=\"/{word}/{}.php\">", dice.often_first(words)),
            1 => "</a></td>\n<td class=\"".to_owned(),
            2 => format!("{word}={};", dice.roll(1000)),
            3 => " ".repeat(1 + dice.roll(12)),
            _ => format!("{word} "),
        };
    }
    text.into()
}

fn query(words: &[String], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = dice.noise(2);
    bytes.extend(b"\x01\0\0\x01\0\0\0\0\0\0");
    for label in ["www", dice.often_first(words).as_str(), "com"] {
        bytes.push(label.len() as u8);
        bytes.extend(label.bytes());
    }
    bytes.extend(b"\0\0\x01\0\x01");
    bytes
}

fn records(words: &[String], dice: &mut Dice) -> Vec<u8> {
    let length = 40 + dice.roll(1408);
    let mut bytes = Vec::with_capacity(length + 64);
    while bytes.len() < length {
        match dice.roll(5) {
            0 => bytes.extend(vec![0; 1 + dice.roll(60)]),
            1 => bytes.extend((dice.roll(1 << 12) as u32).to_le_bytes()),
            2 => {
                let letters = dice.often_first(words).bytes();
                bytes.extend(letters.flat_map(|letter| [letter, 0]));
            }
            3 => bytes.extend(dice.often_first(words).bytes()),
            _ => {
                let length = 1 + dice.roll(24);
                bytes.extend(dice.noise(length));
            }
        }
    }
    bytes
}
