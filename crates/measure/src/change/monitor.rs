//! Changes of a measurement, interval by interval.

use std::mem;

use hashbrown::HashMap;
use weir_packet::wire::{FlowKey, KeyKind};
use weir_simd::Tier;

use super::alarm::{Alarm, ChangeReport, SearchState};
use super::config::{ChangeConfig, ChangeError, KeySource};
use super::detector::Detector;
use super::key_log::KeyLog;
use super::part::ChangePart;
use super::sample::Sample;
use super::search::{Found, HashedSearch, KeySearch};
use crate::candidates::Candidates;
use crate::report::IntervalReport;
use crate::sketch::KAry;

/// Runs a detector over the intervals of a measurement: queries the keys that the
/// [`KeySource`] selects and writes changes to the reports.
#[derive(Debug)]
pub(crate) struct ChangeMonitor {
    config: ChangeConfig,
    kind: KeyKind,
    unit: &'static str,
    tier: Tier,
    /// Probability with which a bound may fail.
    delta: f64,
    detector: Detector,
    /// The sketch of an interval without packets.
    empty: KAry,
    /// Keys of the newest interval, with their fingerprints.
    kept: Vec<(FlowKey, u64)>,
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

/// An interval to be searched. One without packets has neither counts nor
/// candidates.
pub(crate) struct MonitoredInterval<'a> {
    pub counts: Option<(&'a mut ChangePart, &'a Candidates)>,
    pub sample: Sample,
    /// False where the stream ended within the interval.
    pub is_whole: bool,
}

impl ChangeMonitor {
    pub fn new(
        config: &ChangeConfig,
        blank: &ChangePart,
        kind: KeyKind,
        unit: &'static str,
        tier: Tier,
        delta: f64,
    ) -> Result<ChangeMonitor, ChangeError> {
        Ok(ChangeMonitor {
            detector: Detector::new(&config.rule, blank.sums.layout().clone())?,
            kind,
            unit,
            tier,
            delta,
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
        mut interval: MonitoredInterval<'_>,
        ready: &mut Vec<IntervalReport>,
    ) {
        if report.skipped_before > 0 || report.set_back_seconds > 0.0 {
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
        self.samples.swap(0, 1);
        self.samples[0] = mem::take(&mut interval.sample);
        match self.config.keys {
            KeySource::Next if is_searched => self.held = Some(report),
            KeySource::Kept if is_searched => {
                self.search_kept(&mut report, interval.candidates());
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
        self.kept.clear();
        let kept = interval.candidates().into_iter();
        self.kept
            .extend(kept.flat_map(Candidates::keys_and_fingerprints));
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
    fn observe(&mut self, report: &mut IntervalReport, interval: &MonitoredInterval<'_>) -> bool {
        let sums = interval.counts.as_ref().map(|(part, _)| &part.sums);
        if let Some(sums) = sums {
            let bound = sums.f2_bound(self.delta);
            if bound < report.f2_bound {
                (report.f2, report.f2_bound) = (sums.f2(), bound);
            }
        }
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

    /// Queries the logged keys by their buckets.
    fn search_logs(&mut self, report: &mut IntervalReport, before: Option<&KeyLog>) {
        let mut search = KeySearch::new(&self.detector);
        for (key, places) in self.log.iter() {
            search.query(key, places);
        }
        // A key of both intervals is queried once.
        let only_before = before.into_iter().flat_map(KeyLog::iter_with_fingerprints);
        for (key, fingerprint, places) in only_before {
            if !self.log.contains(&key, fingerprint) {
                search.query(key, places);
            }
        }
        let missed = self.log.missed() + before.map_or(0, KeyLog::missed);
        let (found, queried) = search.finish();
        self.report(report, found, queried, missed);
    }

    /// Queries the candidates of the interval and of the one before it.
    fn search_kept(&mut self, report: &mut IntervalReport, candidates: Option<&Candidates>) {
        let mut search = HashedSearch::new(&self.detector, self.kind, self.tier);
        for key in candidates.into_iter().flat_map(Candidates::keys) {
            search.push(*key);
        }
        // A key of both intervals is queried once.
        let is_candidate = |(key, fingerprint): &&(FlowKey, u64)| {
            candidates.is_some_and(|candidates| candidates.contains(key, *fingerprint))
        };
        for (key, _) in self.kept.iter().filter(|kept| !is_candidate(kept)) {
            search.push(*key);
        }
        let (found, queried) = search.finish();
        self.report(report, found, queried, 0);
    }

    /// Writes what was found into the report, largest score first.
    fn report(
        &mut self,
        report: &mut IntervalReport,
        mut found: Vec<Found>,
        queried: u64,
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
                community_id: key.community_id(None),
                flow: key,
                unit: self.unit,
                start_ns: report.start_ns,
                seconds: report.seconds,
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
            changes.queried = queried;
            changes.missed = missed;
        }
    }
}

impl MonitoredInterval<'_> {
    fn candidates(&self) -> Option<&Candidates> {
        self.counts.as_ref().map(|(_, candidates)| *candidates)
    }
}
