//! One comparison: its candidates, and that all of the same MAC come to the same
//! tags.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::messages::{Batch, KEYS, Messages, Secret, secrets};
use super::weir;
use super::works::{self, Aim, Work};
use crate::harness::{Comparison, Sample, SampleParts, WEIR};

/// About how long a sample takes.
const SAMPLE_TIME: Duration = Duration::from_millis(4);

/// About how long a part of a sample takes: long beside the clock's resolution, short
/// beside the time between interruptions.
const PART_TIME: Duration = Duration::from_micros(100);

/// Passes whose tags are compared before a comparison.
const COMPARED_PASSES: u64 = 5;

/// Something that tags messages under keys that it holds.
pub trait Candidate {
    /// Expands other keys instead, the same number of them.
    fn set_keys(&mut self, secrets: &[Secret]) -> Result<()>;

    /// Whether tags follow their messages in memory, and do not lie beside them.
    fn writes_tags_behind_messages(&self) -> bool {
        false
    }

    /// Writes the tags of a batch. Counters of successive batches follow each
    /// other, from 1.
    fn tag(&mut self, batch: Batch<'_>) -> Result<()>;
}

/// A candidate's name, and the candidate or why it is missing.
pub struct Peer {
    pub name: String,
    pub candidate: Result<Box<dyn Candidate>, Lack>,
}

/// Why a candidate is missing.
pub enum Lack {
    Reason(String),
    /// It is not installed here; this is the package.
    #[cfg_attr(all(nettle, ipsec_mb, openssl), expect(dead_code))]
    Package(&'static str),
}

/// The comparison of a work at one size.
pub fn of(work: &Work, bytes: usize) -> Result<Comparison<'static>> {
    let secrets = secrets();
    let mut comparison = Comparison::new(work.name, bytes, works::KEYS);
    let mut weir = weir::mac(work.mac, &secrets)?;
    let expected = first_tags(weir.as_mut(), work, bytes)?;
    weir.set_keys(&secrets)?;
    comparison.add(WEIR, sampler(weir, work.aim, bytes)?);
    let peers = (work.peers)(work, &secrets)
        .into_iter()
        .map(|peer| (peer, true));
    let other_macs = (work.other_macs)(&secrets).into_iter();
    for (peer, is_same_mac) in peers.chain(other_macs.map(|peer| (peer, false))) {
        match peer.candidate {
            Ok(mut candidate) => {
                if is_same_mac {
                    let tags = first_tags(candidate.as_mut(), work, bytes)?;
                    ensure!(tags == expected, "{} comes to other tags", peer.name);
                    candidate.set_keys(&secrets)?;
                }
                comparison.add(peer.name, sampler(candidate, work.aim, bytes)?);
            }
            Err(Lack::Reason(reason)) => comparison.add_missing(peer.name, reason),
            Err(Lack::Package(package)) => comparison.add_uninstalled(peer.name, package),
        }
    }
    Ok(comparison)
}

/// The tags of a candidate's first batches.
fn first_tags(candidate: &mut dyn Candidate, work: &Work, bytes: usize) -> Result<Vec<Vec<u8>>> {
    let mut messages = Messages::new(bytes);
    let mut tags = Vec::new();
    for counter in 1..=COMPARED_PASSES {
        candidate.tag(messages.batch(counter))?;
        let are_behind = candidate.writes_tags_behind_messages();
        tags.extend(messages.tags(are_behind, work.tag_bytes));
    }
    Ok(tags)
}

/// Passes over the same messages or keys, as many as fit [`SAMPLE_TIME`].
fn sampler(
    mut candidate: Box<dyn Candidate>,
    aim: Aim,
    bytes: usize,
) -> Result<impl FnMut() -> Result<Sample>> {
    let secrets = secrets();
    let mut messages = Messages::new(bytes);
    let mut counter = 0;
    let mut passes = move |count: u64| -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..count {
            match aim {
                Aim::Tags => {
                    counter += 1;
                    candidate.tag(messages.batch(counter))?;
                }
                Aim::Keys => candidate.set_keys(&secrets)?,
            }
        }
        Ok(start.elapsed())
    };
    passes(1)?;
    let once = passes(1)?.as_nanos().max(1);
    let count = u64::try_from(PART_TIME.as_nanos().div_ceil(once))?;
    let mut parts = SampleParts::default();
    Ok(move || {
        for _ in 0..SAMPLE_TIME.as_nanos().div_ceil(PART_TIME.as_nanos()) {
            parts.push(count * KEYS as u64, passes(count)?);
        }
        Ok(parts.take_sample())
    })
}
