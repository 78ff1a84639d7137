//! Contents found in payloads: which of up to tens of thousands of strings
//! occur in each packet.
//!
//! Weir takes packets one by one or 64 at a time, by its cascade and by the
//! thesis's filters; Hyperscan (or Vectorscan) and an automaton take them one
//! by one, which is what they offer. Before a contest every subject scans the
//! same packets, and the sets of pairs of packet and content must be equal.
//!
//! Contents and traffic are made here from a fixed seed, or read from rule
//! files and captures (`--rules`, `--traffic`). Weir's windows are chosen by
//! the profile that it ships, or by that of `--train`, never by the traffic of
//! the contest.
//!
//! ```text
//!  made     contents and traffic from a seed
//!  read     contents of rule files, payloads of captures
//!  hyperscan
//!           the C peer
//! ```

#[cfg(hyperscan)]
mod hyperscan;
mod made;
mod read;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use weir_inspect::{Automaton, Cascade, ContentEngine, Hits, Needle, Profile, Segmented, Text};

use crate::harness::{Contest, Scoreboard, WEIR, timed};
use crate::machine::versioned;

/// Packets of one call, where they come in batches.
const BATCH: usize = 64;

/// Bytes of payloads in a turn, about.
const TURN_BYTES: usize = 2 << 20;

/// What is to be matched.
#[derive(clap::Args)]
pub struct Options {
    /// Match the contents of these rule files, not made ones.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "traffic")]
    rules: Vec<PathBuf>,
    /// Match in the payloads of these captures, not in made ones.
    #[arg(long, value_name = "PCAP", num_args = 1.., requires = "rules")]
    traffic: Vec<PathBuf>,
    /// Choose windows by the payloads of these captures.
    #[arg(long, value_name = "PCAP", num_args = 1..)]
    train: Vec<PathBuf>,
}

/// What a scan found.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Found {
    matches: u64,
    /// A sum over all matches, whatever their order.
    sum: u64,
    /// Packet at hand.
    packet: u64,
}

impl Found {
    fn add(&mut self, packet: u64, content: u32) {
        let hit = (packet << 32 | u64::from(content)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = self.sum.wrapping_add(hit ^ (hit >> 29));
        self.matches += 1;
    }
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

/// How Weir takes packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    PerPacket,
    PerBatch,
}

/// Contests over all contents and all traffic.
pub fn measure(scoreboard: &mut Scoreboard, options: &Options) -> Result<()> {
    let (sets, traffics) = if options.rules.is_empty() {
        (made::contents(), made::traffic(TURN_BYTES))
    } else {
        (
            read::contents(&options.rules)?,
            read::traffic(&options.traffic, TURN_BYTES)?,
        )
    };
    let mut profile = Profile::new();
    for traffic in read::payloads(&options.train)? {
        profile.add(&traffic.bytes);
    }
    let profile = if options.train.is_empty() {
        Profile::typical()
    } else {
        &profile
    };
    for contents in &sets {
        for traffic in traffics.iter().chain(&hostile(&contents.needles)) {
            for call in [Call::PerPacket, Call::PerBatch] {
                contest(scoreboard, contents, traffic, call, profile)
                    .with_context(|| format!("{} contents, {}", contents.name, traffic.name))?;
            }
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
            packets: vec![vec![0; PACKET_BYTES]; 512],
        },
        Traffic {
            name: "near-misses",
            packets,
        },
    ]
}

fn contest(
    scoreboard: &mut Scoreboard,
    contents: &Contents,
    traffic: &Traffic,
    call: Call,
    profile: &Profile,
) -> Result<()> {
    let work = match call {
        Call::PerPacket => format!("match-{}", traffic.name),
        Call::PerBatch => format!("match-{}-batch", traffic.name),
    };
    let packets = &traffic.packets;
    ensure!(!packets.is_empty(), "there are no payloads");
    let total: usize = packets.iter().map(Vec::len).sum();
    let mean_bytes = total / packets.len();
    if !scoreboard.wants(&work, mean_bytes, contents.name) {
        return Ok(());
    }
    let needles = &contents.needles;
    let count = packets.len() as u64;
    let texts: Vec<Text<'_>> = packets.iter().map(|packet| Text::whole(packet)).collect();
    let mut contest = Contest::new(&work, mean_bytes, contents.name);

    let per_call = if call == Call::PerBatch { BATCH } else { 1 };
    let (engine, note) = built(|| Cascade::new(needles, profile, weir_simd::tier()))?;
    contest.enter(
        WEIR,
        timed(count, scan(engine, needles.len(), &texts, per_call)),
    );
    contest.note(note);
    #[cfg(hyperscan)]
    {
        let start = Instant::now();
        let engine = hyperscan::Hyperscan::new(needles);
        let seconds = start.elapsed().as_secs_f64();
        match engine {
            Some(engine) => {
                let note = tables(engine.memory_bytes(), seconds);
                let packets = hyperscan::Pointers::new(packets);
                contest.enter(
                    hyperscan::name(),
                    timed(count, move || {
                        let found = engine.scan(&packets).context("hs_scan fails")?;
                        Ok(Some(found.sum ^ found.matches))
                    }),
                );
                contest.note(note);
            }
            None => contest.miss(hyperscan::name(), "it refuses the contents"),
        }
    }
    #[cfg(not(hyperscan))]
    contest.absent("Hyperscan", "libhyperscan-dev, or libvectorscan-dev");
    let (engine, note) = built(|| Segmented::new(needles))?;
    contest.enter(
        "weir, segmented filters",
        timed(count, scan(engine, needles.len(), &texts, per_call)),
    );
    contest.note(note);
    let (engine, note) = built(|| Automaton::new(needles))?;
    contest.enter(
        versioned("aho-corasick"),
        timed(count, scan(engine, needles.len(), &texts, per_call)),
    );
    contest.note(note);
    scoreboard.run(contest)
}

/// An engine, with its size and the time it took to build.
fn built<E: ContentEngine>(
    build: impl FnOnce() -> Result<E, weir_inspect::EngineError>,
) -> Result<(E, String)> {
    let start = Instant::now();
    let engine = build()?;
    let note = tables(engine.memory_bytes(), start.elapsed().as_secs_f64());
    Ok((engine, note))
}

fn tables(bytes: usize, seconds: f64) -> String {
    format!(
        "{:.2} MB of tables, built in {seconds:.3} s",
        bytes as f64 / 1e6
    )
}

fn scan<'a>(
    engine: impl ContentEngine + 'a,
    contents: usize,
    texts: &'a [Text<'a>],
    per_call: usize,
) -> impl FnMut() -> Result<Option<u64>> + 'a {
    let mut hits = Hits::default();
    move || {
        let mut found = Found::default();
        for (number, texts) in texts.chunks(per_call).enumerate() {
            hits.start(texts.len(), contents);
            engine.scan(texts, &mut hits);
            let first = (number * per_call) as u64;
            for hit in hits.reported() {
                found.add(first + u64::from(hit.payload), hit.content);
            }
        }
        Ok(Some(found.sum ^ found.matches))
    }
}
