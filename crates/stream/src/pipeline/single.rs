//! A run in one thread.

use std::sync::Arc;

use super::outcome::Outcome;
use super::parts::Parts;
use crate::batch::Batch;
use crate::chain::Chain;
use crate::context::Clock;
use crate::error::PipelineError;
use crate::meters::Meters;
use crate::vocabulary::Vocabulary;

/// Runs source, stages and sinks on every batch before the next one is read.
pub(super) fn run(
    mut parts: Parts,
    vocabulary: &Arc<Vocabulary>,
) -> Result<Outcome, PipelineError> {
    let (meters, mut writers) = Meters::new(vocabulary, 1);
    let meter = &mut writers[0];
    let mut batch = Batch::new(parts.limits);
    let mut stages = parts.shards.pop().unwrap_or_default();
    let stages_of_shard = stages.len();
    stages.append(&mut parts.sinks);
    let (mut source, mut chain) = (Chain::new(parts.source), Chain::new(stages));

    let mut clock = Clock::start(false);
    let mut now_ns = clock.now_ns();
    let mut interrupted = false;
    let mut result = Ok(());
    while result.is_ok() && !batch.is_last() {
        batch.clear();
        let mut cx = clock.context(now_ns);
        result = source.process(&mut batch, &mut cx);
        let filled_ns = clock.now_ns();
        cx = clock.next_context(filled_ns);
        result = result.and_then(|()| chain.process(&mut batch, &mut cx));
        now_ns = clock.now_ns();
        let tally = batch.settle_accounts();
        meter.add(tally);
        meter.add_latency(now_ns - filled_ns, tally.ended());
        if parts.stop.is_stopped() {
            interrupted = !batch.is_last();
            break;
        }
    }
    if result.is_ok() {
        let mut cx = clock.context(now_ns);
        result = chain.drain(&mut batch, &mut cx, |batch| {
            meter.add(batch.settle_accounts());
            Ok(())
        });
    }
    let finished = source.finish().and(chain.finish());
    result.and(finished)?;

    let statistics = meters.snapshot()?;
    let mut stages = chain.into_stages();
    let sinks = stages.split_off(stages_of_shard);
    Ok(Outcome {
        shard_statistics: vec![statistics.clone()],
        statistics,
        source: source.into_stages(),
        shards: vec![stages],
        sinks,
        interrupted,
    })
}
