//! Meters: what every thread of a pipeline has done, readable while it runs.
//!
//! A thread adds to a block of counters of its own, once per batch; a reader adds the blocks up.
//! A version number in each block lets the reader see every batch as a whole, so that the
//! accounts balance at every moment.

use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use crate::disposition::MAX_DROP_REASONS;
use crate::latency::LatencyMeter;
use crate::queue_meter::{QueueMeter, QueueReading};
use crate::statistics::{COUNTS, Conservation, Statistics, Tally};
use crate::vocabulary::Vocabulary;

/// The counters of one thread. A block begins a cache line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Block {
    /// Odd while the counters are written.
    version: AtomicU64,
    counts: [AtomicU64; COUNTS],
    drops: [AtomicU64; MAX_DROP_REASONS],
    latency: LatencyMeter,
}

/// The end of a block that its thread writes.
#[derive(Debug)]
pub(crate) struct MeterWriter {
    block: Arc<Block>,
}

impl MeterWriter {
    /// Adds the accounts of a batch.
    #[inline]
    pub fn add(&mut self, tally: &Tally) {
        let block = &*self.block;
        let version = block.version.load(Ordering::Relaxed);
        block.version.store(version + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        for (counter, count) in block.counts.iter().zip(tally.counts()) {
            counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
        }
        for (code, count) in tally.drops_by_code() {
            let counter = &block.drops[code];
            counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
        }
        block.version.store(version + 2, Ordering::Release);
    }

    /// Adds the time that records spent in the pipeline.
    #[inline]
    pub fn add_latency(&mut self, latency_ns: u64, records: u64) {
        if records > 0 {
            self.block.latency.add(latency_ns, records);
        }
    }
}

/// The meters of all threads of a pipeline. Copies show the same.
#[derive(Clone, Debug)]
pub struct Meters {
    vocabulary: Arc<Vocabulary>,
    blocks: Arc<[Arc<Block>]>,
    /// Consecutive blocks that each thread writes: one for each path.
    paths: usize,
    queues: Arc<[Arc<QueueMeter>]>,
    started: Instant,
}

impl Meters {
    /// Meters with this number of blocks, and a writer for each.
    pub(crate) fn new(vocabulary: &Arc<Vocabulary>, blocks: usize) -> (Meters, Vec<MeterWriter>) {
        let zero = || AtomicU64::new(0);
        let blocks: Arc<[Arc<Block>]> = (0..blocks)
            .map(|_| {
                Arc::new(Block {
                    version: zero(),
                    counts: std::array::from_fn(|_| zero()),
                    drops: std::array::from_fn(|_| zero()),
                    latency: LatencyMeter::new(),
                })
            })
            .collect();
        let writers = (blocks.iter())
            .map(|block| MeterWriter {
                block: Arc::clone(block),
            })
            .collect();
        let meters = Meters {
            vocabulary: Arc::clone(vocabulary),
            blocks,
            paths: 1,
            queues: Arc::new([]),
            started: Instant::now(),
        };
        (meters, writers)
    }

    /// The same, with those of ports, where each worker's blocks are those of its paths.
    pub(crate) fn of_workers(self, paths: usize, queues: Vec<Arc<QueueMeter>>) -> Meters {
        let queues = queues.into();
        Meters {
            paths,
            queues,
            ..self
        }
    }

    /// What the queues of a live pipeline's ports have counted; a worker renews it ten times a
    /// second, and at the end.
    pub fn queues(&self) -> Vec<QueueReading> {
        self.queues.iter().map(|queue| queue.read()).collect()
    }

    /// The words that the counters have.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// What all threads have done so far.
    ///
    /// # Errors
    /// The accounts of a thread do not balance: a defect of a stage or of the frame.
    pub fn snapshot(&self) -> Result<Statistics, Conservation> {
        self.sum_of(&mut self.blocks.iter())
    }

    /// What was done so far on each path of a live pipeline, by its number.
    ///
    /// # Errors
    /// As for [`Meters::snapshot`].
    pub fn of_paths(&self) -> Result<Vec<Statistics>, Conservation> {
        let blocks_of = |path| self.blocks.iter().skip(path).step_by(self.paths);
        (0..self.paths)
            .map(|path| self.sum_of(&mut blocks_of(path)))
            .collect()
    }

    fn sum_of(
        &self,
        blocks: &mut dyn Iterator<Item = &Arc<Block>>,
    ) -> Result<Statistics, Conservation> {
        let mut sum = Statistics::new(&self.vocabulary);
        for block in blocks {
            let part = self.read(block);
            part.check_conservation()?;
            sum.merge(&part);
        }
        Ok(sum)
    }

    fn read(&self, block: &Block) -> Statistics {
        let tally = loop {
            let version = block.version.load(Ordering::Acquire);
            let tally = Tally::of_counts(
                block
                    .counts
                    .each_ref()
                    .map(|count| count.load(Ordering::Relaxed)),
                block
                    .drops
                    .each_ref()
                    .map(|count| count.load(Ordering::Relaxed)),
            );
            fence(Ordering::Acquire);
            let is_whole = version.is_multiple_of(2);
            if is_whole && block.version.load(Ordering::Relaxed) == version {
                break tally;
            }
            hint::spin_loop();
        };
        Statistics::read(
            &self.vocabulary,
            tally,
            &block.latency,
            self.started.elapsed(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn tally(packets: u64, forwarded: u64, absorbed: u64) -> Tally {
        let mut tally = Tally::default();
        (tally.packets, tally.forwarded, tally.absorbed) = (packets, forwarded, absorbed);
        tally
    }

    /// Batches whose accounts balance only as wholes.
    #[test]
    fn a_reader_sees_whole_batches() {
        let (meters, writers) = Meters::new(&Arc::default(), 2);
        let ended = AtomicBool::new(false);
        let batches = thread::scope(|scope| {
            let ended = &ended;
            let write = |(number, mut writer): (u64, MeterWriter)| {
                scope.spawn(move || {
                    let mut batches = 0;
                    while !ended.load(Ordering::Relaxed) {
                        writer.add(&tally(5 * number, 2 * number, 3 * number));
                        batches += number;
                        thread::yield_now();
                    }
                    batches
                })
            };
            let threads: Vec<_> = (1..).zip(writers).map(write).collect();
            let mut packets = 0;
            for _ in 0..200 {
                let snapshot = meters.snapshot().expect("balanced");
                assert!(snapshot.packets() >= packets);
                packets = snapshot.packets();
            }
            ended.store(true, Ordering::Relaxed);
            let batches = threads
                .into_iter()
                .map(|thread| thread.join().expect("a count"));
            batches.sum::<u64>()
        });
        let sum = meters.snapshot().expect("balanced");
        assert_eq!((sum.packets(), sum.absorbed()), (5 * batches, 3 * batches));
    }

    #[test]
    fn the_blocks_of_a_path_are_added_up() {
        let (meters, writers) = Meters::new(&Arc::default(), 6);
        let meters = meters.of_workers(3, Vec::new());
        for (packets, mut writer) in (0..6).map(|block| 10 + block).zip(writers) {
            writer.add(&tally(packets, packets, 0));
        }
        let of_paths = meters.of_paths().expect("balanced");
        let packets: Vec<u64> = of_paths.iter().map(Statistics::packets).collect();
        assert_eq!(packets, [10 + 13, 11 + 14, 12 + 15]);
    }

    #[test]
    fn an_imbalance_is_an_error() {
        let (meters, mut writers) = Meters::new(&Arc::default(), 1);
        writers[0].add(&tally(2, 1, 0));
        let error = meters.snapshot().expect_err("one record is missing");
        assert_eq!((error.packets, error.forwarded), (2, 1));
    }
}
