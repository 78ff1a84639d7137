//! Where the lines of one file occur in another, as a stream of chunks:
//!
//! ```text
//! cargo run -p weir-match --example find -- PATTERNS FILE
//! ```
//!
//! Without arguments it searches itself for some words and checks the offsets.

use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use weir_match::{Database, Match, Pattern, Stream};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [patterns, file] => {
            let patterns = fs::read(patterns)?;
            let lines: Vec<&[u8]> = patterns
                .trim_ascii_end()
                .split(|byte| *byte == b'\n')
                .collect();
            let found = find(&lines, Path::new(file))?;
            for Match {
                pattern,
                start,
                end,
            } in found
            {
                let line = String::from_utf8_lossy(lines[pattern]);
                println!("{start}..{end}: {line}");
            }
            Ok(())
        }
        [] => search_itself(),
        _ => Err("give PATTERNS and FILE, or nothing".into()),
    }
}

/// All matches in a file, of which a chunk at a time is in memory.
fn find(patterns: &[&[u8]], file: &Path) -> Result<Vec<Match>, Box<dyn Error>> {
    let patterns: Vec<Pattern> = patterns.iter().map(|line| Pattern::exact(*line)).collect();
    let database = Database::new(&patterns)?;
    let mut scanner = database.scanner();
    let mut stream = Stream::default();
    let mut matches = Vec::new();
    let (mut file, mut chunk) = (File::open(file)?, vec![0; 4096]);
    loop {
        let bytes = file.read(&mut chunk)?;
        if bytes == 0 {
            return Ok(matches);
        }
        scanner.for_each_match_in_stream(&mut stream, &chunk[..bytes], |found| matches.push(found));
    }
}

fn search_itself() -> Result<(), Box<dyn Error>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/find.rs");
    let text = fs::read(&file)?;
    let words: [&[u8]; 3] = [b"Database", b"stream", b"of chunks"];
    let found = find(&words, &file)?;
    for Match {
        pattern,
        start,
        end,
    } in &found
    {
        assert_eq!(&text[*start..*end], words[*pattern]);
    }
    let expected: usize = words
        .iter()
        .map(|word| {
            text.windows(word.len())
                .filter(|window| window == word)
                .count()
        })
        .sum();
    assert_eq!(found.len(), expected);
    println!("{expected} matches, each where the text has it");
    Ok(())
}
