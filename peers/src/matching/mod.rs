//! Patterns found in payloads: which of up to tens of thousands of strings
//! occur in each packet.
//!
//! Weir takes packets one by one or 64 at a time, by its cascade and by segmented
//! filters; Hyperscan (or Vectorscan: both are `libhs`, so one run measures one of
//! them) and an automaton take them one by one, which is their interface. Before a
//! comparison every candidate scans the same packets, and the sets of pairs of packet
//! and pattern must be equal.
//!
//! Patterns and traffic are generated from a fixed seed, or read from rule files and
//! captures (`--rules`, `--captures`). Weir's windows are chosen by the profile that
//! it ships, or by that of `--train`, never by the traffic of the comparison.
//!
//! ```text
//!  made     patterns and traffic from a seed
//!  read     patterns of rule files, payloads of captures
//!  agree    a check that all engines find the same in whole captures
//!  engines  all engines over one set of patterns, and their samples
//!  hyperscan
//!           the C peer
//! ```

mod agree;
mod engines;
#[cfg(hyperscan)]
mod hyperscan;
mod made;
mod read;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use weir_match::{Database, Engine, Pattern, Profile};

use crate::harness::{
    Comparison, FEWER_PATTERNS, PER_PACKET, Recorder, USUAL_TRAFFIC, WEIR, timed,
};
use crate::machine::versioned;
use engines::{Engines, View};

/// Packets of one call, where they come in batches.
const BATCH: usize = 64;

/// Approximate bytes of generated payloads.
const SAMPLE_BYTES: usize = 1 << 20;

/// Bytes of payloads that are taken from captures.
const MOST_BYTES: usize = 8 << 20;

/// Limit of a comparison's time, beyond eleven rounds.
const MOST_TIME: Duration = Duration::from_millis(700);

/// The slow engines take one packet of this number.
const SHARE_OF_SLOW: usize = 32;

/// Patterns and traffic.
#[derive(clap::Args)]
pub struct Options {
    /// Match the patterns of these rule files, not generated ones.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "captures")]
    rules: Vec<PathBuf>,
    /// Match in the payloads of these captures, or of those in these folders,
    /// not in generated ones.
    #[arg(long, value_name = "PCAP|FOLDER", num_args = 1.., requires = "rules")]
    captures: Vec<PathBuf>,
    /// Choose windows by the payloads of these captures.
    #[arg(long, value_name = "PCAP|FOLDER", num_args = 1..)]
    train: Vec<PathBuf>,
    /// Measure nothing: check that every engine finds the same patterns, all of
    /// each file of rules, in all payloads of the captures.
    #[arg(long, requires = "rules")]
    agree: bool,
}

/// A set of patterns and its name.
struct PatternSet {
    name: &'static str,
    needles: Vec<Pattern>,
}

/// Payloads and their name.
struct Traffic {
    name: &'static str,
    packets: Vec<Vec<u8>>,
}

impl Traffic {
    fn total(&self) -> usize {
        self.packets.iter().map(Vec::len).sum()
    }

    fn mean_bytes(&self) -> usize {
        (self.total() / self.packets.len()).max(1)
    }
}

/// Whether a work is a search for patterns.
pub fn is_matching(work: &str) -> bool {
    work.starts_with("match-")
}

/// Comparisons over all patterns and all traffic.
pub fn measure(recorder: &mut Recorder, options: &Options) -> Result<()> {
    if options.agree {
        return agree::check(options);
    }
    let (sets, traffics) = if options.rules.is_empty() {
        (made::patterns(), made::traffic(SAMPLE_BYTES))
    } else {
        (
            read::patterns(&options.rules)?,
            read::traffic(&read::files(&options.captures)?, MOST_BYTES)?,
        )
    };
    let mut profile = Profile::new();
    for payload in read::payloads(&read::files(&options.train)?)? {
        profile.add(&payload.bytes);
    }
    let profile = if options.train.is_empty() {
        Profile::typical()
    } else {
        &profile
    };
    let mut fewer = None;
    for patterns in &sets {
        let engines = Engines::build(patterns, profile)?;
        build_comparison(recorder, &engines, profile)?;
        let usual = &traffics[0];
        for traffic in &traffics {
            let fewer = fewer.as_ref().filter(|_| patterns.name == "30000");
            packets_comparison(recorder, &engines, traffic, fewer)
                .with_context(|| format!("{} patterns, {}", patterns.name, traffic.name))?;
        }
        batches_comparison(recorder, &engines, usual)?;
        for traffic in hostile(&patterns.needles) {
            hostile_comparison(recorder, &engines, &traffic, usual)
                .with_context(|| format!("{} patterns, {}", patterns.name, traffic.name))?;
        }
        if patterns.name == "3000" {
            fewer = Some(engines);
        }
    }
    Ok(())
}

/// Zeros, and patterns without their last byte, back to back.
fn hostile(needles: &[Pattern]) -> [Traffic; 2] {
    const PACKET_BYTES: usize = 1400;
    let almost: Vec<u8> = needles
        .iter()
        .filter_map(|needle| needle.bytes().split_last())
        .flat_map(|(_, most)| most)
        .copied()
        .collect();
    let packets = almost.chunks(PACKET_BYTES).map(<[u8]>::to_vec).collect();
    [
        Traffic {
            name: "zeros",
            packets: vec![vec![0; PACKET_BYTES]; 128],
        },
        Traffic {
            name: "near-misses",
            packets,
        },
    ]
}

/// The construction of the engine: a whole set counts as a packet.
fn build_comparison(
    recorder: &mut Recorder,
    engines: &Engines<'_>,
    profile: &Profile,
) -> Result<()> {
    let patterns = engines.patterns;
    let bytes = patterns.needles.iter().map(|n| n.bytes().len()).sum();
    if !recorder.wants("match-build", bytes, patterns.name) {
        return Ok(());
    }
    let mut comparison = Comparison::new("match-build", bytes, patterns.name).within(MOST_TIME);
    let build = || {
        let engine = Database::with_profile(&patterns.needles, profile, weir_simd::tier())?;
        Ok(Some(engine.memory_bytes() as u64))
    };
    comparison.add(WEIR, timed(1, build));
    comparison.note(&engines.weir.note);
    recorder.run(comparison)
}

/// All engines, packet by packet. With 30,000 patterns, Weir is also measured with a
/// tenth of them.
fn packets_comparison(
    recorder: &mut Recorder,
    engines: &Engines<'_>,
    traffic: &Traffic,
    fewer: Option<&Engines<'_>>,
) -> Result<()> {
    let work = format!("match-{}", traffic.name);
    let Some((mut comparison, view)) = start(recorder, &work, engines, traffic)? else {
        return Ok(());
    };
    add_all(&mut comparison, engines, &view)?;
    if let Some(fewer) = fewer {
        comparison.add(FEWER_PATTERNS, view.apart(&fewer.weir));
    }
    recorder.run(comparison)
}

/// Weir by batches, beside itself packet by packet.
fn batches_comparison(
    recorder: &mut Recorder,
    engines: &Engines<'_>,
    traffic: &Traffic,
) -> Result<()> {
    let work = format!("match-{}-batch", traffic.name);
    let Some((mut comparison, view)) = start(recorder, &work, engines, traffic)? else {
        return Ok(());
    };
    let weir = &engines.weir;
    comparison.add(WEIR, view.sampler(weir, BATCH));
    comparison.add(PER_PACKET, view.sampler(weir, 1));
    #[cfg(hyperscan)]
    engines.add_hyperscan(&mut comparison, &view);
    recorder.run(comparison)
}

/// All engines in hostile traffic, and Weir in usual traffic: the same number of
/// bytes counts as a packet.
fn hostile_comparison(
    recorder: &mut Recorder,
    engines: &Engines<'_>,
    traffic: &Traffic,
    usual: &Traffic,
) -> Result<()> {
    let work = format!("match-{}", traffic.name);
    let Some((mut comparison, view)) = start(recorder, &work, engines, traffic)? else {
        return Ok(());
    };
    add_all(&mut comparison, engines, &view)?;
    let count = usual.total() / traffic.mean_bytes();
    let usual = View::new(usual).counting_as(count as u64);
    comparison.add(USUAL_TRAFFIC, usual.apart(&engines.weir));
    recorder.run(comparison)
}

/// A comparison, if it is wanted, and the traffic as engines take it.
fn start<'a>(
    recorder: &Recorder,
    work: &str,
    engines: &Engines<'_>,
    traffic: &'a Traffic,
) -> Result<Option<(Comparison<'a>, View<'a>)>> {
    ensure!(!traffic.packets.is_empty(), "there are no payloads");
    let (bytes, patterns) = (traffic.mean_bytes(), engines.patterns.name);
    Ok(recorder.wants(work, bytes, patterns).then(|| {
        let comparison = Comparison::new(work, bytes, patterns).within(MOST_TIME);
        (comparison, View::new(traffic))
    }))
}

/// Weir and its peers, packet by packet.
fn add_all<'a>(
    comparison: &mut Comparison<'a>,
    engines: &'a Engines<'_>,
    view: &View<'a>,
) -> Result<()> {
    let weir = &engines.weir;
    comparison.add(WEIR, view.sampler(weir, 1));
    comparison.note(format!("{}; {}", weir.note, view.finds(weir)));
    #[cfg(hyperscan)]
    engines.add_hyperscan(comparison, view);
    #[cfg(not(hyperscan))]
    comparison.add_uninstalled("Hyperscan", "libhyperscan-dev, or libvectorscan-dev");
    // Much slower than the others: some packets are enough.
    let some = view.some(SHARE_OF_SLOW);
    let segmented = &engines.segmented;
    ensure!(
        some.found(segmented) == some.found(weir),
        "segmented filters find something else"
    );
    comparison.add("weir, segmented filters", some.apart(segmented));
    comparison.note(&segmented.note);
    comparison.add(
        versioned("aho-corasick"),
        view.sampler(&engines.automaton, 1),
    );
    comparison.note(&engines.automaton.note);
    Ok(())
}
