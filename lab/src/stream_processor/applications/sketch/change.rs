//! Change detection as a pipeline of three processors (figures 6.2 and 6.5).
//!
//! ```text
//! interval      t                 t + 1             t + 2
//! update        S_o(t)            S_o(t + 1)        S_o(t + 2)
//! forecast                        S_f(t + 1)        S_f(t + 2)
//! detect                                            S_e(t + 1), alarms by keys of t + 2
//! ```
//!
//! The first updates a sketch of each interval; the second moves the average of the
//! last four on; the third subtracts that forecast from what was observed, and asks
//! the difference for the keys of the interval after (6.5.2). The rows of keys come to
//! it from the first (6.6.1). What goes from one to another takes the network, beside
//! memory and host.

use super::detection::{alarms, bound, moments};
use super::{COUNTERS, error, forecast, update_4_with_rows};
use crate::stream_processor::applications::ProgramFailure;
use crate::stream_processor::stream::{KernelId, MemoryRange, Program, Stream};

/// Intervals of the moving average, as a power of two (figure 6.5).
const LOG2_WINDOW: u32 = 2;
/// Intervals of the moving average.
pub const WINDOW: usize = 1 << LOG2_WINDOW;

/// The three programs, with what the last one found. Each has one barrier, which is
/// passed when its microcode and parameters are in place.
#[derive(Clone, Debug)]
pub struct Detection {
    /// Updates sketches.
    pub update: Program,
    /// Makes forecasts.
    pub forecast: Program,
    /// Subtracts, and raises alarms.
    pub detect: Program,
    /// For each interval from the window's end on, whether each of its keys raised
    /// an alarm by what happened in the interval before.
    pub alarms: Vec<Vec<bool>>,
}

/// Detects changes in intervals of records of key and weight, from 4-universal
/// functions whose parameters are dealt out to clusters word by word. A key's change
/// is an alarm where it is above `factor` times the root of the second moment of all
/// changes.
///
/// # Errors
/// Records that do not divide over the clusters.
pub fn detect_changes(
    clusters: usize,
    functions: &[u32],
    intervals: &[Vec<u32>],
    factor: f64,
) -> Result<Detection, ProgramFailure> {
    let updated = update(clusters, functions, intervals)?;
    let (forecast, forecasts) = make_forecasts(clusters, &updated.sketches)?;
    let keys = intervals.iter().map(Vec::len).sum::<usize>() / 2;
    let mut detector = Detector::new(clusters, keys, factor)?;
    let mut found = Vec::new();
    for interval in WINDOW..intervals.len() {
        if let Some(error) = detector.error.take() {
            found.push(detector.ask(error, &updated.rows[interval])?);
        }
        detector.subtract(&updated.sketches[interval], &forecasts[interval - 1])?;
    }
    Ok(Detection {
        update: updated.program,
        forecast,
        detect: detector.program,
        alarms: found,
    })
}

/// What the first processor gives to the others, by interval.
struct Updated {
    program: Program,
    sketches: Vec<Vec<u32>>,
    /// The row of each key in each cluster.
    rows: Vec<Vec<u32>>,
}

fn sketch_words(clusters: usize) -> usize {
    clusters * COUNTERS as usize
}

fn update(
    clusters: usize,
    functions: &[u32],
    intervals: &[Vec<u32>],
) -> Result<Updated, ProgramFailure> {
    let mut memory = vec![0; sketch_words(clusters)];
    let empty = MemoryRange {
        start: 0,
        words: memory.len(),
    };
    let parameters = MemoryRange {
        start: memory.len(),
        words: functions.len(),
    };
    memory.extend_from_slice(functions);
    let mut keys = Vec::with_capacity(intervals.len());
    for records in intervals {
        keys.push(MemoryRange {
            start: memory.len(),
            words: records.len(),
        });
        memory.extend_from_slice(records);
    }
    let mut program = Program::new(clusters, memory);
    let kernel = program.kernel(update_4_with_rows(clusters)?);
    let parameters = program.load(parameters)?;
    program.load_microcode(kernel);
    program.barrier();
    let (mut sketches, mut rows) = (Vec::new(), Vec::new());
    for keys in keys {
        let counters = program.load(empty)?;
        let keys = program.load(keys)?;
        let given = program.call(kernel, &[parameters, keys], &[counters], &[])?;
        sketches.push(program.words(counters).to_vec());
        rows.push(program.words(given[0]).to_vec());
    }
    Ok(Updated {
        program,
        sketches,
        rows,
    })
}

/// The second processor: after each sketch the forecast of the next one.
fn make_forecasts(
    clusters: usize,
    sketches: &[Vec<u32>],
) -> Result<(Program, Vec<Vec<u32>>), ProgramFailure> {
    let words = sketch_words(clusters);
    // Sketches of the window, the oldest of which leaves; none has come yet.
    let mut program = Program::new(clusters, vec![0; WINDOW * words]);
    let kernel = program.kernel(forecast()?);
    program.load_microcode(kernel);
    let mut average = program.load(MemoryRange { start: 0, words })?;
    program.barrier();
    let mut forecasts = Vec::with_capacity(sketches.len());
    for (interval, sketch) in sketches.iter().enumerate() {
        let start = interval % WINDOW * words;
        let leaving = program.load(MemoryRange { start, words })?;
        let newest = program.receive(sketch.clone());
        average = program.call(kernel, &[average, newest, leaving], &[], &[LOG2_WINDOW])?[0];
        program.store(newest, start)?;
        forecasts.push(program.words(average).to_vec());
    }
    Ok((program, forecasts))
}

/// The third processor.
struct Detector {
    clusters: usize,
    factor: f64,
    program: Program,
    kernels: [KernelId; 3],
    /// The error sketch of the last interval, and the bound of its alarms.
    error: Option<(Stream, u32)>,
    /// Where the next alarms are stored.
    next: usize,
}

impl Detector {
    /// With room for the alarms of N keys.
    fn new(clusters: usize, keys: usize, factor: f64) -> Result<Detector, ProgramFailure> {
        let mut program = Program::new(clusters, vec![0; keys]);
        let kernels = [error()?, moments()?, alarms(clusters)?].map(|it| program.kernel(it));
        for kernel in kernels {
            program.load_microcode(kernel);
        }
        program.barrier();
        Ok(Detector {
            clusters,
            factor,
            program,
            kernels,
            error: None,
            next: 0,
        })
    }

    /// What was observed less what was forecast. The host reads the moments, and
    /// makes the bound of them.
    fn subtract(&mut self, observed: &[u32], forecast: &[u32]) -> Result<(), ProgramFailure> {
        let [error, moments, _] = self.kernels;
        let inputs = [observed, forecast].map(|words| self.program.receive(words.to_vec()));
        let difference = self.program.call(error, &inputs, &[], &[])?[0];
        let sums = self.program.call(moments, &[difference], &[], &[])?[0];
        self.program.await_length(sums);
        let bound = bound(self.program.words(sums), self.factor);
        self.error = Some((difference, bound));
        Ok(())
    }

    /// Whether each key raises an alarm.
    fn ask(
        &mut self,
        (error, bound): (Stream, u32),
        rows: &[u32],
    ) -> Result<Vec<bool>, ProgramFailure> {
        let [_, _, alarms] = self.kernels;
        let rows_of_all = rows.len();
        let rows = self.program.receive(rows.to_vec());
        let words = self.program.call(alarms, &[rows], &[error], &[bound])?[0];
        self.program.store(words, self.next)?;
        self.next += rows_of_all / self.clusters;
        // All clusters have the same word for the keys of a record.
        let keys = self.program.words(words).iter().step_by(self.clusters);
        let bits = (0..self.clusters).rev();
        Ok(keys
            .flat_map(|&word| bits.clone().map(move |bit| word >> bit & 1 == 1))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::random::Random;
    use crate::stream_processor::applications::sketch::Hashing;
    use crate::stream_processor::applications::sketch::programs::example_functions;

    const KEYS: usize = 64;
    const INTERVALS: usize = 8;
    /// A source that sends much more from this interval on.
    const LOUD: u32 = 0x0a00_0001;
    const FROM: usize = 5;

    /// 64 keys of 40 sources in each interval, and the loud one's.
    fn intervals() -> Vec<Vec<u32>> {
        let mut random = Random::new(5);
        let of = |interval: usize| {
            let records = (0..KEYS).flat_map(|place| {
                if place == 7 {
                    [LOUD, if interval < FROM { 50 } else { 60_000 }]
                } else {
                    [
                        0xc0a8_0000 + random.below(40) as u32,
                        40 + random.below(1400) as u32,
                    ]
                }
            });
            records.collect()
        };
        (0..INTERVALS).map(of).collect()
    }

    /// The alarms by the formulas of 6.3.2 and 6.5, on the sketches themselves.
    fn expected(clusters: usize, updated: &Updated, factor: f64) -> Vec<Vec<bool>> {
        let sketch = |interval: usize| &updated.sketches[interval];
        let mut average = vec![0i64; sketch_words(clusters)];
        let mut errors: Vec<Vec<i64>> = Vec::new();
        for interval in 0..INTERVALS {
            let newest = sketch(interval).iter().map(|&it| i64::from(it));
            errors.push(
                newest
                    .clone()
                    .zip(&average)
                    .map(|(it, before)| it - before)
                    .collect(),
            );
            let leaving = |place: usize| match interval.checked_sub(WINDOW) {
                Some(before) => i64::from(sketch(before)[place]),
                None => 0,
            };
            for (place, newest) in newest.enumerate() {
                average[place] += (newest - leaving(place)) >> LOG2_WINDOW;
            }
        }
        let width = f64::from(COUNTERS);
        (WINDOW + 1..INTERVALS)
            .map(|interval| {
                let error = &errors[interval - 1];
                let array = |cluster: usize| error.iter().skip(cluster).step_by(clusters);
                let total = array(0).sum::<i64>() as f64;
                let mut moments: Vec<f64> = (0..clusters)
                    .map(|cluster| {
                        let squares: i64 = array(cluster).map(|it| it * it).sum();
                        let sum = array(cluster).sum::<i64>() as f64;
                        width / (width - 1.0) * squares as f64 - sum * sum / (width - 1.0)
                    })
                    .collect();
                moments.sort_by(f64::total_cmp);
                let threshold = factor * moments[(clusters - 1) / 2].sqrt();
                (0..KEYS)
                    .map(|key| {
                        let mut estimates: Vec<f64> = (0..clusters)
                            .map(|cluster| {
                                let record = (key / clusters * clusters + cluster) * clusters;
                                let row = updated.rows[interval][record + key % clusters];
                                let counter = error[row as usize * clusters + cluster] as f64;
                                (counter - total / width) / (1.0 - 1.0 / width)
                            })
                            .collect();
                        estimates.sort_by(f64::total_cmp);
                        estimates[(clusters - 1) / 2] > threshold
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn changes_raise_the_alarms_of_the_formulas() {
        let intervals = intervals();
        for clusters in [1, 2, 4, 8, 16, 32] {
            let functions = example_functions(clusters, Hashing::Four);
            let made = detect_changes(clusters, &functions, &intervals, 0.7).expect("programs");
            let updated = update(clusters, &functions, &intervals).expect("sketches");
            assert_eq!(made.alarms, expected(clusters, &updated, 0.7), "{clusters}");
            // Interval 5 is queried with the keys of interval 6.
            let loud: Vec<bool> = made.alarms.iter().map(|alarms| alarms[7]).collect();
            assert_eq!(loud, [false, true, true], "{clusters} clusters");
        }
    }
}
