//! Contents found in payloads: which of up to tens of thousands of strings
//! occur in each packet.
//!
//! Weir takes packets one by one or 64 at a time, by its cascade and by the
//! thesis's filters; Hyperscan (or Vectorscan: both are `libhs`, so one run
//! measures one of them) and an automaton take them one by one, which is what
//! they offer. Before a contest every subject scans the same packets, and the
//! sets of pairs of packet and content must be equal.
//!
//! Contents and traffic are made here from a fixed seed, or read from rule
//! files and captures (`--rules`, `--captures`). Weir's windows are chosen by
//! the profile that it ships, or by that of `--train`, never by the traffic of
//! the contest.
//!
//! ```text
//!  made     contents and traffic from a seed
//!  read     contents of rule files, payloads of captures
//!  agree    that all engines find the same in whole captures
//!  engines  all engines over one set of contents, and what a turn of each is
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
use weir_inspect::{Cascade, ContentEngine, Needle, Profile};

use crate::harness::{Contest, FEWER_CONTENTS, PER_PACKET, Scoreboard, USUAL_TRAFFIC, WEIR, timed};
use crate::machine::versioned;
use engines::{Engines, View};

/// Packets of one call, where they come in batches.
const BATCH: usize = 64;

/// Bytes of made payloads, about.
const TURN_BYTES: usize = 1 << 20;

/// Bytes of payloads that are taken of captures.
const MOST_BYTES: usize = 8 << 20;

/// A contest takes no longer, unless its eleven rounds do.
const MOST_TIME: Duration = Duration::from_millis(700);

/// Of so many packets the slow engines take one.
const SHARE_OF_SLOW: usize = 32;

/// What is to be matched.
#[derive(clap::Args)]
pub struct Options {
    /// Match the contents of these rule files, not made ones.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "captures")]
    rules: Vec<PathBuf>,
    /// Match in the payloads of these captures, or of those in these folders,
    /// not in made ones.
    #[arg(long, value_name = "PCAP|FOLDER", num_args = 1.., requires = "rules")]
    captures: Vec<PathBuf>,
    /// Choose windows by the payloads of these captures.
    #[arg(long, value_name = "PCAP|FOLDER", num_args = 1..)]
    train: Vec<PathBuf>,
    /// Measure nothing: check that every engine finds the same contents, all of
    /// each file of rules, in all payloads of the captures.
    #[arg(long, requires = "rules")]
    agree: bool,
}

/// A set of contents and its name.
struct Contents {
    name: &'static str,
    needles: Vec<Needle>,
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

/// Whether a work is one of these.
pub fn is_matching(work: &str) -> bool {
    work.starts_with("match-")
}

/// Contests over all contents and all traffic.
pub fn measure(scoreboard: &mut Scoreboard, options: &Options) -> Result<()> {
    if options.agree {
        return agree::check(options);
    }
    let (sets, traffics) = if options.rules.is_empty() {
        (made::contents(), made::traffic(TURN_BYTES))
    } else {
        (
            read::contents(&options.rules)?,
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
    for contents in &sets {
        let engines = Engines::build(contents, profile)?;
        build_contest(scoreboard, &engines, profile)?;
        let usual = &traffics[0];
        for traffic in &traffics {
            let fewer = fewer.as_ref().filter(|_| contents.name == "30000");
            packets_contest(scoreboard, &engines, traffic, fewer)
                .with_context(|| format!("{} contents, {}", contents.name, traffic.name))?;
        }
        batches_contest(scoreboard, &engines, usual)?;
        for traffic in hostile(&contents.needles) {
            hostile_contest(scoreboard, &engines, &traffic, usual)
                .with_context(|| format!("{} contents, {}", contents.name, traffic.name))?;
        }
        if contents.name == "3000" {
            fewer = Some(engines);
        }
    }
    Ok(())
}

/// Zeros, and contents less their last byte, back to back.
fn hostile(needles: &[Needle]) -> [Traffic; 2] {
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

/// Building the engine: a packet is a whole set.
fn build_contest(
    scoreboard: &mut Scoreboard,
    engines: &Engines<'_>,
    profile: &Profile,
) -> Result<()> {
    let contents = engines.contents;
    let bytes = contents.needles.iter().map(|n| n.bytes().len()).sum();
    if !scoreboard.wants("match-build", bytes, contents.name) {
        return Ok(());
    }
    let mut contest = Contest::new("match-build", bytes, contents.name).within(MOST_TIME);
    let build = || {
        let engine = Cascade::new(&contents.needles, profile, weir_simd::tier())?;
        Ok(Some(engine.memory_bytes() as u64))
    };
    contest.enter(WEIR, timed(1, build));
    contest.note(&engines.weir.note);
    scoreboard.run(contest)
}

/// All engines, packet by packet. Beside 30,000 contents Weir is also measured
/// with a tenth of them.
fn packets_contest(
    scoreboard: &mut Scoreboard,
    engines: &Engines<'_>,
    traffic: &Traffic,
    fewer: Option<&Engines<'_>>,
) -> Result<()> {
    let work = format!("match-{}", traffic.name);
    let Some((mut contest, view)) = start(scoreboard, &work, engines, traffic)? else {
        return Ok(());
    };
    enter_all(&mut contest, engines, &view)?;
    if let Some(fewer) = fewer {
        contest.enter(FEWER_CONTENTS, view.apart(&fewer.weir));
    }
    scoreboard.run(contest)
}

/// Weir by batches, beside itself packet by packet.
fn batches_contest(
    scoreboard: &mut Scoreboard,
    engines: &Engines<'_>,
    traffic: &Traffic,
) -> Result<()> {
    let work = format!("match-{}-batch", traffic.name);
    let Some((mut contest, view)) = start(scoreboard, &work, engines, traffic)? else {
        return Ok(());
    };
    let weir = &engines.weir;
    contest.enter(WEIR, view.turn(weir, BATCH));
    contest.enter(PER_PACKET, view.turn(weir, 1));
    #[cfg(hyperscan)]
    engines.enter_hyperscan(&mut contest, &view);
    scoreboard.run(contest)
}

/// All engines in hostile traffic, and Weir in the usual one: as many bytes
/// count as a packet.
fn hostile_contest(
    scoreboard: &mut Scoreboard,
    engines: &Engines<'_>,
    traffic: &Traffic,
    usual: &Traffic,
) -> Result<()> {
    let work = format!("match-{}", traffic.name);
    let Some((mut contest, view)) = start(scoreboard, &work, engines, traffic)? else {
        return Ok(());
    };
    enter_all(&mut contest, engines, &view)?;
    let count = usual.total() / traffic.mean_bytes();
    let usual = View::new(usual).counting_as(count as u64);
    contest.enter(USUAL_TRAFFIC, usual.apart(&engines.weir));
    scoreboard.run(contest)
}

/// A contest, if it is wanted, and the traffic as engines take it.
fn start<'a>(
    scoreboard: &Scoreboard,
    work: &str,
    engines: &Engines<'_>,
    traffic: &'a Traffic,
) -> Result<Option<(Contest<'a>, View<'a>)>> {
    ensure!(!traffic.packets.is_empty(), "there are no payloads");
    let (bytes, contents) = (traffic.mean_bytes(), engines.contents.name);
    Ok(scoreboard.wants(work, bytes, contents).then(|| {
        let contest = Contest::new(work, bytes, contents).within(MOST_TIME);
        (contest, View::new(traffic))
    }))
}

/// Weir and its peers, packet by packet.
fn enter_all<'a>(
    contest: &mut Contest<'a>,
    engines: &'a Engines<'_>,
    view: &View<'a>,
) -> Result<()> {
    let weir = &engines.weir;
    contest.enter(WEIR, view.turn(weir, 1));
    contest.note(format!("{}; {}", weir.note, view.finds(weir)));
    #[cfg(hyperscan)]
    engines.enter_hyperscan(contest, view);
    #[cfg(not(hyperscan))]
    contest.absent("Hyperscan", "libhyperscan-dev, or libvectorscan-dev");
    // A hundred times slower than the others: some packets are enough.
    let some = view.some(SHARE_OF_SLOW);
    let segmented = &engines.segmented;
    ensure!(
        some.found(segmented) == some.found(weir),
        "segmented filters find something else"
    );
    contest.enter("weir, segmented filters", some.apart(segmented));
    contest.note(&segmented.note);
    contest.enter(versioned("aho-corasick"), view.turn(&engines.automaton, 1));
    contest.note(&engines.automaton.note);
    Ok(())
}
