//! A run in several threads: one reads and steers, one for each shard, one for the sinks.
//!
//! The stages of a shard are cut into *segments*, each with its own steering.
//! The stream is cut into *rounds*: the reader gives all shards the batches that it has read, and
//! in front of each further segment every shard gives all shards its own. Each takes
//! the records that are steered to it, and merges them by arrival. So each shard
//! sees its records in order of arrival, whatever the threads do meanwhile.
//!
//! ```text
//!            ┌ shard 0: segment ┐ hand-over ┌ segment ┐
//!  reader ───┤                  ├─────╳─────┤         ├─── sinks
//!            └ shard 1: segment ┘           └ segment ┘
//! ```
//!
//! Every queue between threads is bounded, and a thread that finds no space waits: nothing is lost,
//! and memory is bounded. Nothing can block in a circle: records go forward only, and all
//! shards hand over equally often ([`ToShards`]).

use std::sync::Arc;
use std::thread;

use super::outcome::Outcome;
use super::outlet::Outlet;
use super::parts::Parts;
use super::reader::Reader;
use super::round::{FromAll, Merger, Pool, ToShards};
use super::shard::{SegmentOfShard, Shard};
use crate::chain::{Chain, segments};
use crate::context::Clock;
use crate::error::{PipelineError, joined};
use crate::meters::Meters;
use crate::ring::ring;
use crate::vocabulary::Vocabulary;

/// Rounds that may wait for a shard, and those of a shard that may wait for the sinks.
const ROUNDS: usize = 8;

/// Runs the stages of every shard in a thread of its own.
pub(super) fn run(parts: Parts, vocabulary: &Arc<Vocabulary>) -> Result<Outcome, PipelineError> {
    let shard_count = parts.shards.len();
    // The sinks write a shard's accounts, the shard those of what it hands over.
    let (meters, mut at_shards) = Meters::new(vocabulary, 2 * shard_count);
    let at_outlet = at_shards.split_off(shard_count);
    let pool = Pool::new(parts.limits);
    let cuts = segments(parts.shards.first().map_or(&[], Vec::as_slice));
    let none = || (0..shard_count).map(|_| FromAll::default()).collect();
    let (mut from_reader, mut from_shards): (Vec<_>, Vec<_>) = (none(), none());
    let reader_to_shards = ToShards::join(&mut from_reader, ROUNDS);
    let to_shards: Vec<_> = (0..shard_count)
        .map(|_| ToShards::join(&mut from_shards, 1))
        .collect();
    let (to_sinks, at_sinks) = ring(ROUNDS * shard_count);

    thread::scope(|scope| {
        let mut shard_threads = Vec::with_capacity(shard_count);
        let ends = from_reader.into_iter().zip(to_shards).zip(from_shards);
        let of_shards = parts.shards.into_iter().zip(at_shards).zip(ends);
        for (number, ((stages, meter), ((from_reader, to_shards), from_shards))) in
            of_shards.enumerate()
        {
            let chains = Chain::cut(stages, &cuts).into_iter().zip(&cuts);
            let segments = (0..)
                .zip(chains)
                .map(|(segment, (chain, cut))| SegmentOfShard {
                    chain,
                    rule: cut.rule.clone(),
                    merger: Merger::of_segment(segment),
                });
            let shard = Shard {
                number,
                segments: segments.collect(),
                from_reader,
                to_shards,
                from_shards,
                to_sinks: to_sinks.clone(),
                pool: pool.clone(),
                meter,
                clock: Clock::start(false),
            };
            shard_threads.push(scope.spawn(move || shard.run()));
        }
        drop(to_sinks);
        let outlet = Outlet {
            sinks: Chain::new(parts.sinks),
            meters: at_outlet,
            at_sinks,
            pool: pool.clone(),
            clock: Clock::start(false),
        };
        let sink_thread = scope.spawn(move || outlet.run());

        let reader = Reader {
            source: Chain::new(parts.source),
            rule: cuts[0].rule.clone(),
            to_shards: reader_to_shards,
            stop: parts.stop,
            pool,
            clock: Clock::start(false),
            next: 0,
        };
        let source = reader.run();
        // All are joined before the first error is looked for.
        let chains: Vec<_> = (shard_threads.into_iter())
            .map(|thread| joined(thread.join()))
            .collect();
        let sinks = joined(sink_thread.join())?;
        let shards = chains.into_iter().collect::<Result<Vec<_>, _>>()?;
        let (source, interrupted) = source?;

        let shard_statistics = (0..shard_count).map(|shard| {
            let mut of_shard = meters.of_thread(shard);
            of_shard.merge(&meters.of_thread(shard_count + shard));
            of_shard
        });
        Ok(Outcome {
            statistics: meters.snapshot()?,
            shard_statistics: shard_statistics.collect(),
            source,
            shards,
            sinks: sinks.into_stages(),
            interrupted,
        })
    })
}
