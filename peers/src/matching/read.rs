//! Patterns of rule files, payloads of captures.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weir_match::Pattern;
use weir_packet::file::Reader;
use weir_packet::wire::Headers;
use weir_packet::wire::protocol::{TCP, UDP};

use super::made::Dice;
use super::{PatternSet, Traffic};

/// Shorter patterns are in the set of leading patterns only.
const SHORT: usize = 5;
/// Engines differ most in their handling of zeros.
const NUL: u8 = 0;

/// Distinct patterns of all rules: some of five bytes and more, drawn by a
/// fixed seed, all of these, those that do not begin with NUL, and the pattern
/// that leads each enabled rule, of any length.
pub fn patterns(files: &[PathBuf]) -> Result<Vec<PatternSet>> {
    let (all, leading) = distinct(files)?;
    let mut long: Vec<Pattern> = all
        .into_iter()
        .filter(|needle| needle.bytes().len() >= SHORT)
        .collect();
    Dice::new(2).shuffle(&mut long);
    let mut sets = Vec::new();
    for (name, count) in [
        ("300", 300),
        ("3000", 3000),
        ("10000", 10_000),
        ("30000", 30_000),
    ] {
        if let Some(some) = long.get(..count) {
            sets.push(PatternSet {
                name,
                needles: some.to_vec(),
            });
        }
    }
    let without_nul = long.iter().take(30_000).filter(|n| n.bytes()[0] != NUL);
    sets.push(PatternSet {
        name: "30000 without NUL",
        needles: without_nul.cloned().collect(),
    });
    sets.push(PatternSet {
        name: "leading",
        needles: leading.into_iter().collect(),
    });
    sets.push(PatternSet {
        name: "all",
        needles: long,
    });
    Ok(sets)
}

/// Distinct patterns of all rules, of any length.
pub fn every_pattern(files: &[PathBuf]) -> Result<Vec<Pattern>> {
    let (all, _) = distinct(files)?;
    Ok(all.into_iter().collect())
}

/// Distinct patterns of all rules, and those that lead an enabled one.
fn distinct(files: &[PathBuf]) -> Result<(BTreeSet<Pattern>, BTreeSet<Pattern>)> {
    let (mut all, mut leading) = (BTreeSet::new(), BTreeSet::new());
    for file in files {
        let text = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        for line in text.split(|byte| *byte == b'\n') {
            let patterns = patterns_of_rule(line);
            if !line.trim_ascii_start().starts_with(b"#") {
                let longest = patterns
                    .iter()
                    .max_by_key(|pattern| (pattern.leads, pattern.needle.bytes().len()));
                leading.extend(longest.map(|pattern| pattern.needle.clone()));
            }
            all.extend(patterns.into_iter().map(|pattern| pattern.needle));
        }
    }
    Ok((all, leading))
}

struct RulePattern {
    needle: Pattern,
    /// The rule marks it by `fast_pattern`.
    leads: bool,
}

/// The patterns that a rule requires: `content:"…"` with its options up to the next
/// pattern.
fn patterns_of_rule(rule: &[u8]) -> Vec<RulePattern> {
    const KEYWORD: &[u8] = b"content:";
    let mut patterns = Vec::new();
    let mut rest = rule;
    while let Some(at) = find(rest, KEYWORD) {
        // Not `uricontent:` and its like.
        let is_keyword = at > 0 && matches!(rest[at - 1], b' ' | b';' | b'(');
        rest = &rest[at + KEYWORD.len()..];
        let Some(text) = rest.trim_ascii_start().strip_prefix(b"\"") else {
            continue;
        };
        let (bytes, behind) = unquote(text);
        rest = behind;
        let options = &behind[..find(behind, KEYWORD).unwrap_or(behind.len())];
        if is_keyword && !bytes.is_empty() {
            patterns.push(RulePattern {
                needle: match find(options, b"nocase") {
                    Some(_) => Pattern::nocase(bytes),
                    None => Pattern::exact(bytes),
                },
                leads: find(options, b"fast_pattern").is_some(),
            });
        }
    }
    patterns
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

/// The bytes up to the closing quotation mark, and what follows it.
fn unquote(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut bytes = Vec::new();
    let (mut hexadecimal, mut high) = (false, None);
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        match byte {
            b'"' => break,
            b'|' => hexadecimal = !hexadecimal,
            _ if hexadecimal => {
                if let Some(digit) = char::from(byte).to_digit(16) {
                    match high.take() {
                        None => high = Some(digit as u8),
                        Some(high) => bytes.push(high << 4 | digit as u8),
                    }
                }
            }
            b'\\' if at < text.len() => {
                bytes.push(text[at]);
                at += 1;
            }
            _ => bytes.push(byte),
        }
    }
    (bytes, &text[at..])
}

/// The files themselves, and those in folders, by their names.
pub fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let list = || -> std::io::Result<Vec<PathBuf>> {
                fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
            };
            let mut own = list().with_context(|| format!("cannot list {}", path.display()))?;
            own.sort();
            files.extend(own.into_iter().filter(|file| file.is_file()));
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// A payload of TCP or UDP.
pub struct Payload {
    pub bytes: Vec<u8>,
    is_http: bool,
}

/// All payloads of captures.
pub fn payloads(captures: &[PathBuf]) -> Result<Vec<Payload>> {
    let mut payloads = Vec::new();
    for capture in captures {
        read_capture(capture, &mut payloads)
            .with_context(|| format!("cannot read {}", capture.display()))?;
    }
    Ok(payloads)
}

/// The payloads of all captures in their order, and those of HTTP's ports; of
/// each as many as make `most_bytes`, taken evenly.
pub fn traffic(captures: &[PathBuf], most_bytes: usize) -> Result<Vec<Traffic>> {
    let payloads = payloads(captures)?;
    let evenly = |name, is_wanted: &dyn Fn(&Payload) -> bool| {
        let wanted = || payloads.iter().filter(|payload| is_wanted(payload));
        let total: usize = wanted().map(|payload| payload.bytes.len()).sum();
        let (mut seen, mut taken) = (0, 0);
        let mut packets = Vec::new();
        for payload in wanted() {
            seen += payload.bytes.len();
            // taken / most_bytes stays behind seen / total.
            if taken * total <= seen * most_bytes.min(total) {
                taken += payload.bytes.len();
                packets.push(payload.bytes.clone());
            }
        }
        Traffic { name, packets }
    };
    Ok(vec![
        evenly("traces", &|_| true),
        evenly("traces-http", &|payload| payload.is_http),
    ])
}

fn read_capture(path: &Path, payloads: &mut Vec<Payload>) -> Result<()> {
    let mut reader = Reader::open(path)?;
    let mut records = Vec::new();
    loop {
        let block = match reader.fill(256, 512 << 10, &mut records) {
            Ok(Some(block)) => block,
            Ok(None) => return Ok(()),
            // All whole records of a truncated or damaged capture were read.
            Err(error) => {
                eprintln!("{error}");
                return Ok(());
            }
        };
        for record in records.drain(..) {
            let bytes = record.bytes(&block);
            let link = reader.interfaces()[record.interface as usize].link;
            let headers = Headers::parse(link, bytes);
            let payload = headers.payload(bytes);
            if matches!(headers.protocol, TCP | UDP) && !payload.is_empty() {
                let ports = [headers.source_port, headers.destination_port];
                payloads.push(Payload {
                    bytes: payload.to_vec(),
                    is_http: headers.protocol == TCP
                        && ports.iter().any(|port| matches!(port, 80 | 8080)),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_read_as_rules_write_them() {
        let rule = br#"alert tcp any any -> any any (msg:"a"; content:"a|20 62|\"c"; nocase; depth:5; content:!"no"; content:"lead"; fast_pattern; sid:1;)"#;
        let patterns = patterns_of_rule(rule);
        let expected = [
            (Pattern::nocase("a b\"c"), false),
            (Pattern::exact("lead"), true),
        ];
        assert_eq!(patterns.len(), expected.len());
        for (pattern, (needle, leads)) in patterns.iter().zip(expected) {
            assert_eq!((&pattern.needle, pattern.leads), (&needle, leads));
        }
    }
}
