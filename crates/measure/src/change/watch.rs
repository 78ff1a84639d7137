//! Changes of a measurement, interval by interval.

use std::mem;

use hashbrown::HashMap;
use weir_hash::{Buckets, Family, KeyColumns};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_simd::Tier;

use super::alarm::{Alarm, ChangeReport, SearchState};
use super::config::{ChangeConfig, ChangeError, KeySource};
use super::detector::Detector;
use super::difference::KeyChange;
use super::key_log::KeyLog;
use super::sample::Sample;
use crate::candidates::Candidates;
use crate::key::KeyWords;
use crate::report::IntervalReport;
use crate::sketch::{AddWork, KAry, LayoutMismatch};

/// Keys hashed at once.
const CHUNK_KEYS: usize = 256;

/// A detector at work: it is shown every interval in order, asks it for the
/// keys that are to be asked for, and writes into its report what came out.
#[derive(Debug)]
pub(crate) struct Watch {
    config: ChangeConfig,
    kind: KeyKind,
    unit: &'static str,
    tier: Tier,
    detector: Detector,
    /// What an interval without packets has.
    empty: KAry,
    /// Keys of the newest interval.
    kept: Vec<FlowKey>,
    log: KeyLog,
    /// Empty memory for a log.
    spare_log: KeyLog,
    /// Of the newest interval and the one before it.
    samples: [Sample; 2],
    /// Keys that were alarms in the interval that was last searched, and
    /// whether they were too high, with the interval since which they are.
    since: HashMap<(FlowKey, bool), u64>,
    /// A report that waits for the keys of the next interval.
    held: Option<IntervalReport>,
}

/// What an interval has counted for the search.
#[derive(Clone, Debug)]
pub(crate) struct ChangePart {
    pub sums: KAry,
    /// For [`KeySource::Same`] and [`KeySource::Next`].
    pub log: Option<KeyLog>,
}

/// An interval to be searched. One without packets has neither counts nor
/// candidates.
pub(crate) struct Watched<'a> {
    pub counts: Option<(&'a mut ChangePart, &'a Candidates)>,
    pub sample: Sample,
    /// False where the stream ended within the interval.
    pub is_whole: bool,
}

/// A key that was found changed.
struct Found {
    key: FlowKey,
    change: KeyChange,
    score: f64,
}

impl ChangePart {
    /// Nothing yet, for keys of up to `words` words.
    pub fn new(config: &ChangeConfig, words: usize, seed: u64) -> Result<ChangePart, ChangeError> {
        let log = match config.keys {
            KeySource::Kept => None,
            KeySource::Same | KeySource::Next => {
                Some(KeyLog::new(config.shape.rows, config.max_keys))
            }
        };
        Ok(ChangePart {
            sums: KAry::new(config.shape, words, seed)?,
            log,
        })
    }

    /// Adds values to the keys of a batch.
    pub fn add(&mut self, tier: Tier, keys: &KeyColumns, values: &[i64], work: &mut AddWork) {
        self.sums.add(tier, keys, values, work);
    }

    /// Notes the key that was number `index` of those added last with `work`.
    pub fn note(&mut self, index: usize, key: FlowKey, fingerprint: u64, work: &AddWork) {
        if let Some(log) = &mut self.log {
            let rows = self.sums.shape().rows;
            log.note(key, fingerprint, work.buckets_of(index, rows));
        }
    }

    /// Adds another part of the same interval.
    ///
    /// # Errors
    /// The parts were made from different plans; nothing was added.
    pub fn merge(&mut self, other: &ChangePart) -> Result<(), LayoutMismatch> {
        self.sums.combine(&other.sums)?;
        if let (Some(here), Some(there)) = (&mut self.log, &other.log) {
            here.merge(there);
        }
        Ok(())
    }

    /// Sets everything to zero, keeps the memory.
    pub fn clear(&mut self) {
        self.sums.clear();
        if let Some(log) = &mut self.log {
            log.clear();
        }
    }
}

impl Watch {
    pub fn new(
        config: &ChangeConfig,
        blank: &ChangePart,
        kind: KeyKind,
        unit: &'static str,
        tier: Tier,
    ) -> Result<Watch, ChangeError> {
        Ok(Watch {
            detector: Detector::new(&config.rule, blank.sums.layout().clone())?,
            kind,
            unit,
            tier,
            empty: blank.sums.clone(),
            kept: Vec::new(),
            log: KeyLog::new(config.shape.rows, config.max_keys),
            spare_log: KeyLog::new(config.shape.rows, config.max_keys),
            samples: Default::default(),
            since: HashMap::new(),
            held: None,
            config: config.clone(),
        })
    }

    /// Takes the next interval with its report, and puts the reports that are
    /// then complete behind `ready`.
    pub fn pass(
        &mut self,
        mut report: IntervalReport,
        mut interval: Watched<'_>,
        ready: &mut Vec<IntervalReport>,
    ) {
        if report.skipped_before > 0 {
            self.flush(ready);
            self.restart();
        }
        let mut log = mem::replace(&mut self.spare_log, self.log.empty_like());
        if let Some((
            ChangePart {
                log: Some(noted), ..
            },
            _,
        )) = &mut interval.counts
        {
            mem::swap(noted, &mut log);
        }
        let mut log_before = mem::replace(&mut self.log, log);
        if let Some(mut held) = self.held.take() {
            self.search_logs(&mut held, None);
            ready.push(held);
        }
        let is_searched = self.observe(&mut report, &interval);
        let mut kept = mem::take(&mut self.kept);
        self.kept = interval.candidates();
        self.samples.swap(0, 1);
        self.samples[0] = mem::take(&mut interval.sample);
        match self.config.keys {
            KeySource::Next if is_searched => self.held = Some(report),
            KeySource::Kept if is_searched => {
                kept.extend_from_slice(&self.kept);
                kept.sort_unstable();
                kept.dedup();
                self.search_kept(&mut report, &kept);
                ready.push(report);
            }
            KeySource::Same if is_searched => {
                self.search_logs(&mut report, Some(&log_before));
                ready.push(report);
            }
            _ => ready.push(report),
        }
        log_before.clear();
        self.spare_log = log_before;
    }

    /// Hands out what waits for keys: there are none any more.
    pub fn flush(&mut self, ready: &mut Vec<IntervalReport>) {
        ready.extend(self.held.take());
    }

    /// What came before says nothing of what comes.
    fn restart(&mut self) {
        self.detector.restart();
        self.kept.clear();
        self.log.clear();
        self.samples.iter_mut().for_each(Sample::clear);
        self.since.clear();
    }

    /// Takes the interval's sums; whether it can be searched.
    fn observe(&mut self, report: &mut IntervalReport, interval: &Watched<'_>) -> bool {
        let sums = interval.counts.as_ref().map(|(part, _)| &part.sums);
        report.f2 = report.f2.or(sums.map(KAry::f2));
        if !interval.is_whole {
            report.changes = Some(ChangeReport::unsearched(SearchState::CutShort));
            return false;
        }
        let observed = self.detector.observe(sums.unwrap_or(&self.empty));
        // All sketches are made from one plan.
        debug_assert!(observed.is_ok());
        let search = observed.ok().flatten();
        report.changes = Some(match search {
            None => ChangeReport::unsearched(SearchState::Learning),
            Some(search) => ChangeReport {
                error_norm: search.error_norm,
                deviation: search.deviation,
                ..ChangeReport::unsearched(SearchState::Searched)
            },
        });
        search.is_some()
    }

    /// Asks for keys by the places that they were counted at.
    fn search_logs(&mut self, report: &mut IntervalReport, before: Option<&KeyLog>) {
        let mut search = KeySearch::new(&self.detector);
        for (key, places) in self.log.iter() {
            search.ask(key, places);
        }
        // A key of both intervals is asked for once.
        let only_before = before.into_iter().flat_map(KeyLog::iter_with_fingerprints);
        for (key, fingerprint, places) in only_before {
            if !self.log.contains(&key, fingerprint) {
                search.ask(key, places);
            }
        }
        let missed = self.log.missed() + before.map_or(0, KeyLog::missed);
        let (found, asked) = search.finish();
        self.tell(report, found, asked, missed);
    }

    /// Hashes keys in lanes and asks for them.
    fn search_kept(&mut self, report: &mut IntervalReport, keys: &[FlowKey]) {
        let family = self.detector.layout().family();
        let rows = family.rows();
        let mut search = KeySearch::new(&self.detector);
        let mut buckets = Buckets::new();
        let mut places = vec![0; rows];
        for (ip_version, words) in [
            (4, KeyWords::of_ipv4(self.kind)),
            (6, KeyWords::longest(self.kind)),
        ] {
            let of_version: Vec<FlowKey> = keys
                .iter()
                .filter(|key| key.ip_version == ip_version)
                .copied()
                .collect();
            let mut columns = KeyColumns::new(words, CHUNK_KEYS);
            for chunk in of_version.chunks(CHUNK_KEYS) {
                columns.clear();
                for key in chunk {
                    columns.push(KeyWords::new(key, self.kind).as_slice());
                }
                family.buckets(self.tier, &columns, &mut buckets);
                for (index, key) in chunk.iter().enumerate() {
                    for (row, place) in places.iter_mut().enumerate() {
                        *place = buckets.row(row)[index];
                    }
                    search.ask(*key, &places);
                }
            }
        }
        let (found, asked) = search.finish();
        self.tell(report, found, asked, 0);
    }

    /// Writes what was found into the report, largest score first.
    fn tell(
        &mut self,
        report: &mut IntervalReport,
        mut found: Vec<Found>,
        asked: u64,
        missed: u64,
    ) {
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
        let mut since = HashMap::with_capacity(found.len());
        for Found { key, change, score } in found {
            let rises = change.error > 0.0;
            let since_ns = self.since.get(&(key, rises)).copied();
            let since_ns = since_ns.unwrap_or(report.start_ns);
            since.insert((key, rises), since_ns);
            let [now, before] = &self.samples;
            let sample = if rises { now } else { before };
            report.alarms.push(Alarm {
                key: key.display(self.kind).to_string(),
                unit: self.unit,
                start_ns: report.start_ns,
                observed: change.observed,
                forecast: change.forecast,
                score,
                threshold: self.config.rule.threshold,
                since_ns,
                sources: sample.sources(&key, self.kind),
            });
        }
        self.since = since;
        if let Some(changes) = &mut report.changes {
            changes.asked = asked;
            changes.missed = missed;
        }
    }
}

impl Watched<'_> {
    fn candidates(&self) -> Vec<FlowKey> {
        let candidates = self.counts.as_ref().map(|(_, candidates)| candidates);
        candidates.map_or(Vec::new(), |candidates| {
            candidates.keys().copied().collect()
        })
    }
}

/// One interval's questions and what they found.
struct KeySearch<'a> {
    detector: &'a Detector,
    found: Vec<Found>,
    asked: u64,
}

impl KeySearch<'_> {
    fn new(detector: &Detector) -> KeySearch<'_> {
        KeySearch {
            detector,
            found: Vec::new(),
            asked: 0,
        }
    }

    fn ask(&mut self, key: FlowKey, buckets: &[u32]) {
        self.asked += 1;
        if let Some((change, score)) = self.detector.change_in(buckets) {
            self.found.push(Found { key, change, score });
        }
    }

    fn finish(self) -> (Vec<Found>, u64) {
        (self.found, self.asked)
    }
}
