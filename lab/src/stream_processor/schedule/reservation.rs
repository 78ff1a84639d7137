//! Which units are taken when.

use crate::stream_processor::machine::Timing;

/// Units by cycles; cycles repeat after an interval where iterations overlap.
///
/// A unit starts an operation every `interval` cycles, and sends one result
/// over its bus of the cluster's switch in a cycle.
pub(super) struct Reservations {
    interval: Option<u32>,
    /// The operation that holds each unit, by cycle.
    issue: Vec<Vec<Option<usize>>>,
    /// The operation whose result each unit sends, by cycle.
    result: Vec<Vec<Option<usize>>>,
}

impl Reservations {
    pub(super) fn new(units: usize, interval: Option<u32>) -> Reservations {
        let cycles = interval.unwrap_or(0) as usize;
        Reservations {
            interval,
            issue: vec![vec![None; cycles]; units],
            result: vec![vec![None; cycles]; units],
        }
    }

    fn at(&self, cycle: u32) -> usize {
        match self.interval {
            Some(interval) => (cycle % interval) as usize,
            None => cycle as usize,
        }
    }

    /// The places that an operation would take on a unit: `(result, cycle)`.
    fn places(
        &self,
        cycle: u32,
        timing: Timing,
        has_result: bool,
    ) -> impl Iterator<Item = (bool, usize)> {
        let issue: Vec<usize> = (0..timing.interval).map(|n| self.at(cycle + n)).collect();
        let result = has_result.then(|| self.at(cycle + timing.latency));
        issue
            .into_iter()
            .map(|place| (false, place))
            .chain(result.map(|place| (true, place)))
    }

    /// The operations in the way of one that would start on these units then.
    /// One that would be in its own way, by its interval, finds itself.
    pub(super) fn conflicts(
        &self,
        op: usize,
        units: &[usize],
        cycle: u32,
        timing: Timing,
        has_result: bool,
    ) -> Vec<usize> {
        if self
            .interval
            .is_some_and(|interval| timing.interval > interval)
        {
            return vec![op];
        }
        let mut found = Vec::new();
        for &unit in units {
            for (is_result, place) in self.places(cycle, timing, has_result) {
                let table = if is_result { &self.result } else { &self.issue };
                if let Some(&Some(other)) = table[unit].get(place)
                    && !found.contains(&other)
                {
                    found.push(other);
                }
            }
        }
        found
    }

    pub(super) fn take(
        &mut self,
        op: usize,
        units: &[usize],
        cycle: u32,
        timing: Timing,
        has_result: bool,
    ) {
        self.set(Some(op), units, cycle, timing, has_result);
    }

    pub(super) fn free(&mut self, units: &[usize], cycle: u32, timing: Timing, has_result: bool) {
        self.set(None, units, cycle, timing, has_result);
    }

    fn set(
        &mut self,
        to: Option<usize>,
        units: &[usize],
        cycle: u32,
        timing: Timing,
        has_result: bool,
    ) {
        let places: Vec<_> = self.places(cycle, timing, has_result).collect();
        for &unit in units {
            for &(is_result, place) in &places {
                let table = if is_result {
                    &mut self.result[unit]
                } else {
                    &mut self.issue[unit]
                };
                if table.len() <= place {
                    table.resize(place + 1, None);
                }
                table[place] = to;
            }
        }
    }
}
