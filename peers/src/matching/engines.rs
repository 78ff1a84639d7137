//! All engines over one set of patterns, and their samples.

use std::fmt;
use std::time::Instant;

use anyhow::{Context, Result};
use weir_match::{
    Automaton, BuildError, Database, Engine, Haystack, Hits, Pattern, Profile, Segmented,
};

#[cfg(hyperscan)]
use super::hyperscan::{self, Hyperscan, Pointers};
use super::{BATCH, PatternSet, Traffic};
#[cfg(hyperscan)]
use crate::harness::Comparison;
use crate::harness::{Sample, timed};

/// The result of a scan.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Found {
    matches: u64,
    /// A sum over all matches, whatever their order.
    sum: u64,
    /// Packet at hand.
    packet: u64,
}

/// The same matches, with an error probability of 2⁻⁶⁴.
impl PartialEq for Found {
    fn eq(&self, other: &Found) -> bool {
        (self.matches, self.sum) == (other.matches, other.sum)
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} matches, sum {:016x}", self.matches, self.sum)
    }
}

impl Found {
    /// Adds a match.
    pub fn add(&mut self, packet: u64, pattern: u32) {
        let hit = (packet << 32 | u64::from(pattern)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = self.sum.wrapping_add(hit ^ (hit >> 29));
        self.matches += 1;
    }
}

/// An engine, and the cost of its tables.
pub struct Built<E> {
    engine: E,
    pub note: String,
}

impl<E: Engine> Built<E> {
    fn new(
        needles: &[Pattern],
        build: impl FnOnce(&[Pattern]) -> Result<E, BuildError>,
    ) -> Result<Built<E>> {
        let start = Instant::now();
        let engine = build(needles)?;
        Ok(Built {
            note: tables(engine.memory_bytes(), start),
            engine,
        })
    }

    /// Scans all packets, `per_call` at a time, and returns a checksum of the matches.
    fn scan(&self, texts: &[Haystack<'_>], per_call: usize, hits: &mut Hits) -> u64 {
        let found = self.found(texts, per_call, hits);
        found.sum ^ found.matches
    }

    /// The matches in all packets, `per_call` at a time.
    pub fn found(&self, texts: &[Haystack<'_>], per_call: usize, hits: &mut Hits) -> Found {
        let mut found = Found::default();
        for (number, texts) in texts.chunks(per_call).enumerate() {
            self.engine.scan(texts, hits);
            let first = (number * per_call) as u64;
            for hit in hits.reported() {
                found.add(first + u64::from(hit.haystack), hit.pattern);
            }
        }
        found
    }
}

/// Every engine over the same patterns.
pub struct Engines<'a> {
    pub patterns: &'a PatternSet,
    pub weir: Built<Database>,
    pub segmented: Built<Segmented>,
    pub automaton: Built<Automaton>,
    /// `None` where it refuses the patterns.
    #[cfg(hyperscan)]
    pub hyperscan: Option<Built<Hyperscan>>,
}

impl<'a> Engines<'a> {
    /// Builds all of them.
    pub fn build(patterns: &'a PatternSet, profile: &Profile) -> Result<Engines<'a>> {
        let needles = &patterns.needles;
        Ok(Engines {
            patterns,
            weir: Built::new(needles, |needles| {
                Database::with_profile(needles, profile, weir_simd::tier())
            })?,
            segmented: Built::new(needles, Segmented::new)?,
            automaton: Built::new(needles, Automaton::new)?,
            #[cfg(hyperscan)]
            hyperscan: {
                let start = Instant::now();
                Hyperscan::new(needles).map(|engine| Built {
                    note: tables(engine.memory_bytes(), start),
                    engine,
                })
            },
        })
    }

    /// The matches of each engine, by its name.
    pub fn found(&self, view: &View<'_>) -> Result<Vec<(String, Found)>> {
        let (texts, mut hits) = (&view.texts, Hits::default());
        let mut found = vec![
            ("weir".to_owned(), self.weir.found(texts, 1, &mut hits)),
            (
                format!("weir, {BATCH} packets a call"),
                self.weir.found(texts, BATCH, &mut hits),
            ),
            (
                self.segmented.engine.name().to_owned(),
                self.segmented.found(texts, BATCH, &mut Hits::default()),
            ),
            (
                self.automaton.engine.name().to_owned(),
                self.automaton.found(texts, BATCH, &mut Hits::default()),
            ),
        ];
        #[cfg(hyperscan)]
        if let Some(Built { engine, .. }) = &self.hyperscan {
            let packets = Pointers::new(texts.iter().map(|text| text.bytes()));
            let of_engine = engine.scan(&packets).context("hs_scan fails")?;
            found.push((hyperscan::name(), of_engine));
        }
        Ok(found)
    }

    /// Adds Hyperscan to a comparison.
    #[cfg(hyperscan)]
    pub fn add_hyperscan<'b>(&'b self, comparison: &mut Comparison<'b>, view: &View<'b>) {
        let Some(Built { engine, note, .. }) = &self.hyperscan else {
            comparison.add_missing(hyperscan::name(), "it refuses the patterns");
            return;
        };
        let packets = Pointers::new(view.texts.iter().map(|text| text.bytes()));
        let scan = move || {
            let found = engine.scan(&packets).context("hs_scan fails")?;
            Ok(Some(found.sum ^ found.matches))
        };
        comparison.add(hyperscan::name(), timed(view.count, scan));
        comparison.note(note);
    }
}

fn tables(bytes: usize, start: Instant) -> String {
    format!(
        "{:.2} MB of tables, built in {:.3} s",
        bytes as f64 / 1e6,
        start.elapsed().as_secs_f64()
    )
}

/// Traffic as engines take it.
#[derive(Clone)]
pub struct View<'a> {
    texts: Vec<Haystack<'a>>,
    /// Packets that a sample counts as.
    count: u64,
}

impl<'a> View<'a> {
    /// Every packet counts as one.
    pub fn new(traffic: &'a Traffic) -> View<'a> {
        let texts: Vec<Haystack<'a>> = traffic.packets.iter().map(|p| Haystack::whole(p)).collect();
        View {
            count: texts.len() as u64,
            texts,
        }
    }

    /// The same packets, which count as `count` packets.
    pub fn counting_as(mut self, count: u64) -> View<'a> {
        self.count = count;
        self
    }

    /// One packet of `share` packets.
    pub fn some(&self, share: usize) -> View<'a> {
        let texts: Vec<Haystack<'a>> = self.texts.iter().step_by(share).copied().collect();
        View {
            count: texts.len() as u64,
            texts,
        }
    }

    /// A checksum of the matches of an engine in all packets.
    pub fn found(&self, engine: &Built<impl Engine>) -> u64 {
        engine.scan(&self.texts, 1, &mut Hits::default())
    }

    /// The false positives of Weir's first stage and its hits, in words.
    pub fn finds(&self, engine: &Built<Database>) -> String {
        let mut hits = Hits::default();
        engine.scan(&self.texts, 1, &mut hits);
        let bytes: usize = self.texts.iter().map(|text| text.bytes().len()).sum();
        let statistics = hits.statistics();
        let per_kilobyte = |count: u64| 1e3 * count as f64 / bytes as f64;
        format!(
            "{:.1} candidates and {:.1} hits per 1000 bytes",
            per_kilobyte(statistics.candidates),
            per_kilobyte(statistics.hits)
        )
    }

    /// An engine's samples, `per_call` packets at a time.
    pub fn sampler<E: Engine>(
        &self,
        engine: &'a Built<E>,
        per_call: usize,
    ) -> impl FnMut() -> Result<Sample> + use<'a, E> {
        let (texts, mut hits) = (self.texts.clone(), Hits::default());
        timed(self.count, move || {
            Ok(Some(engine.scan(&texts, per_call, &mut hits)))
        })
    }

    /// Samples packet by packet over other packets or patterns than those of the
    /// comparison: their matches are not compared.
    pub fn apart<E: Engine>(
        &self,
        engine: &'a Built<E>,
    ) -> impl FnMut() -> Result<Sample> + use<'a, E> {
        let mut take_sample = self.sampler(engine, 1);
        move || {
            let sample = take_sample()?;
            Ok(Sample {
                checksum: None,
                ..sample
            })
        }
    }
}
