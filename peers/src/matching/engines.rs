//! All engines over one set of contents, and what a turn of each is.

use std::fmt;
use std::time::Instant;

use anyhow::{Context, Result};
use weir_inspect::{
    Automaton, Cascade, ContentEngine, EngineError, Hits, Needle, Profile, Segmented, Text,
};

#[cfg(hyperscan)]
use super::hyperscan::{self, Hyperscan, Pointers};
use super::{BATCH, Contents, Traffic};
#[cfg(hyperscan)]
use crate::harness::Contest;
use crate::harness::{Lap, timed};

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

/// The same matches, but for a chance of one in 2⁶⁴.
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
    pub fn add(&mut self, packet: u64, content: u32) {
        let hit = (packet << 32 | u64::from(content)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = self.sum.wrapping_add(hit ^ (hit >> 29));
        self.matches += 1;
    }
}

/// An engine, and what its tables took.
pub struct Built<E> {
    engine: E,
    contents: usize,
    pub note: String,
}

impl<E: ContentEngine> Built<E> {
    fn new(
        needles: &[Needle],
        build: impl FnOnce(&[Needle]) -> Result<E, EngineError>,
    ) -> Result<Built<E>> {
        let start = Instant::now();
        let engine = build(needles)?;
        Ok(Built {
            note: tables(engine.memory_bytes(), start),
            contents: needles.len(),
            engine,
        })
    }

    /// Scans all packets, so many a call, and adds up what was found.
    fn scan(&self, texts: &[Text<'_>], per_call: usize, hits: &mut Hits) -> u64 {
        let found = self.found(texts, per_call, hits);
        found.sum ^ found.matches
    }

    /// What is in all packets, so many a call.
    pub fn found(&self, texts: &[Text<'_>], per_call: usize, hits: &mut Hits) -> Found {
        let mut found = Found::default();
        for (number, texts) in texts.chunks(per_call).enumerate() {
            hits.start(texts.len(), self.contents);
            self.engine.scan(texts, hits);
            let first = (number * per_call) as u64;
            for hit in hits.reported() {
                found.add(first + u64::from(hit.payload), hit.content);
            }
        }
        found
    }
}

/// Every engine over the same contents.
pub struct Engines<'a> {
    pub contents: &'a Contents,
    pub weir: Built<Cascade>,
    pub segmented: Built<Segmented>,
    pub automaton: Built<Automaton>,
    /// `None` where it refuses the contents.
    #[cfg(hyperscan)]
    pub hyperscan: Option<Built<Hyperscan>>,
}

impl<'a> Engines<'a> {
    /// Builds all of them.
    pub fn build(contents: &'a Contents, profile: &Profile) -> Result<Engines<'a>> {
        let needles = &contents.needles;
        Ok(Engines {
            contents,
            weir: Built::new(needles, |needles| {
                Cascade::new(needles, profile, weir_simd::tier())
            })?,
            segmented: Built::new(needles, Segmented::new)?,
            automaton: Built::new(needles, Automaton::new)?,
            #[cfg(hyperscan)]
            hyperscan: {
                let start = Instant::now();
                Hyperscan::new(needles).map(|engine| Built {
                    note: tables(engine.memory_bytes(), start),
                    contents: needles.len(),
                    engine,
                })
            },
        })
    }

    /// What each engine finds, by its name.
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

    /// Adds Hyperscan to a contest.
    #[cfg(hyperscan)]
    pub fn enter_hyperscan<'b>(&'b self, contest: &mut Contest<'b>, view: &View<'b>) {
        let Some(Built { engine, note, .. }) = &self.hyperscan else {
            contest.miss(hyperscan::name(), "it refuses the contents");
            return;
        };
        let packets = Pointers::new(view.texts.iter().map(|text| text.bytes()));
        let turn = move || {
            let found = engine.scan(&packets).context("hs_scan fails")?;
            Ok(Some(found.sum ^ found.matches))
        };
        contest.enter(hyperscan::name(), timed(view.count, turn));
        contest.note(note);
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
    texts: Vec<Text<'a>>,
    /// Packets that a turn counts as.
    count: u64,
}

impl<'a> View<'a> {
    /// Every packet is one.
    pub fn new(traffic: &'a Traffic) -> View<'a> {
        let texts: Vec<Text<'a>> = traffic.packets.iter().map(|p| Text::whole(p)).collect();
        View {
            count: texts.len() as u64,
            texts,
        }
    }

    /// The same packets, which count as so many.
    pub fn counting_as(mut self, count: u64) -> View<'a> {
        self.count = count;
        self
    }

    /// One packet of so many.
    pub fn some(&self, share: usize) -> View<'a> {
        let texts: Vec<Text<'a>> = self.texts.iter().step_by(share).copied().collect();
        View {
            count: texts.len() as u64,
            texts,
        }
    }

    /// What an engine finds in all packets.
    pub fn found(&self, engine: &Built<impl ContentEngine>) -> u64 {
        engine.scan(&self.texts, 1, &mut Hits::default())
    }

    /// Candidates and hits of Weir's engine, as people read them.
    pub fn finds(&self, engine: &Built<Cascade>) -> String {
        let mut hits = Hits::default();
        engine.scan(&self.texts, 1, &mut hits);
        let bytes: usize = self.texts.iter().map(|text| text.bytes().len()).sum();
        let statistics = hits.cascade_statistics();
        let per_kilobyte = |count: u64| 1e3 * count as f64 / bytes as f64;
        format!(
            "{:.1} candidates and {:.1} hits per 1000 bytes",
            per_kilobyte(statistics.candidates),
            per_kilobyte(statistics.hits)
        )
    }

    /// An engine's turn, so many packets a call.
    pub fn turn<E: ContentEngine>(
        &self,
        engine: &'a Built<E>,
        per_call: usize,
    ) -> impl FnMut() -> Result<Lap> + use<'a, E> {
        let (texts, mut hits) = (self.texts.clone(), Hits::default());
        timed(self.count, move || {
            Ok(Some(engine.scan(&texts, per_call, &mut hits)))
        })
    }

    /// A turn packet by packet over other packets or contents than those of the
    /// contest: what it finds is not compared.
    pub fn apart<E: ContentEngine>(
        &self,
        engine: &'a Built<E>,
    ) -> impl FnMut() -> Result<Lap> + use<'a, E> {
        let mut turn = self.turn(engine, 1);
        move || {
            let lap = turn()?;
            Ok(Lap {
                result: None,
                ..lap
            })
        }
    }
}
