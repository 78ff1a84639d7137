//! A check that every engine finds the same: all patterns of each file of rules, short
//! ones too, in all payloads of the captures.

use anyhow::{Result, bail};
use weir_match::{Haystack, Hits, Profile};

use super::engines::{Engines, Found, View};
use super::{Options, PatternSet, Traffic, read};

/// Packets in which each pattern is searched by itself.
const SAMPLE: usize = 100;

/// Prints the number of matches for each file; fails where two engines differ.
pub fn check(options: &Options) -> Result<()> {
    let traffics = read::traffic(&read::files(&options.captures)?, usize::MAX)?;
    let Some(traffic) = traffics.first() else {
        bail!("there is no traffic: name --captures");
    };
    let view = View::new(traffic);
    for file in &options.rules {
        let patterns = PatternSet {
            name: "every",
            needles: read::every_pattern(std::slice::from_ref(file))?,
        };
        let engines = Engines::build(&patterns, Profile::typical())?;
        let found = engines.found(&view)?;
        let [(_, first), ..] = &found[..] else {
            bail!("there are no engines");
        };
        println!(
            "{}: {} patterns, {} packets, {} bytes",
            file.display(),
            patterns.needles.len(),
            traffic.packets.len(),
            traffic.total()
        );
        for (name, of_engine) in &found {
            println!("  {name}: {of_engine}");
        }
        if found.iter().any(|(_, of_engine)| of_engine != first) {
            bail!("the engines differ");
        }
        let (one_by_one, of_engine) = by_sample(&patterns, &engines, traffic);
        println!("  of {SAMPLE} packets, each pattern by itself: {one_by_one}");
        if one_by_one != of_engine {
            bail!("Weir finds {of_engine} there");
        }
    }
    Ok(())
}

/// The matches in some packets by a search for one pattern after the other, and those
/// of Weir.
fn by_sample(patterns: &PatternSet, engines: &Engines<'_>, traffic: &Traffic) -> (Found, Found) {
    let step = traffic.packets.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<&Vec<u8>> = traffic.packets.iter().step_by(step).collect();
    let mut found = Found::default();
    for (packet, bytes) in (0..).zip(&sample) {
        for (pattern, needle) in (0..).zip(&patterns.needles) {
            if needle.occurs_in(bytes) {
                found.add(packet, pattern);
            }
        }
    }
    let texts: Vec<Haystack<'_>> = sample.iter().map(|bytes| Haystack::whole(bytes)).collect();
    (found, engines.weir.found(&texts, 1, &mut Hits::default()))
}
