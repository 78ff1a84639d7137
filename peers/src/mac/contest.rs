//! One contest: who takes part, and that those of the same MAC come to the same
//! tags.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::messages::{Batch, KEYS, Messages, Secret, secrets};
use super::weir;
use super::works::{self, Aim, Work};
use crate::harness::{Contest, Lap, WEIR};

/// A turn tags as often as the subject can in this time.
const TURN: Duration = Duration::from_millis(4);

/// Passes that are compared before a contest.
const COMPARED_PASSES: u64 = 5;

/// Something that tags messages under keys that it holds.
pub trait Subject {
    /// Expands other keys instead, as many as there are.
    fn set_keys(&mut self, secrets: &[Secret]) -> Result<()>;

    /// Writes the tags of a batch. Counters of successive batches follow each
    /// other, from 1.
    fn tag(&mut self, batch: Batch<'_>) -> Result<()>;
}

/// A subject, or why it is missing.
pub struct Peer {
    pub name: String,
    pub subject: Result<Box<dyn Subject>, Lack>,
}

/// Why there is no subject.
pub enum Lack {
    Reason(String),
    /// It is not installed here; this is the package.
    #[cfg_attr(all(nettle, ipsec_mb, openssl), expect(dead_code))]
    Package(&'static str),
}

/// The contest of a work at one size.
pub fn of(work: &Work, bytes: usize) -> Result<Contest<'static>> {
    let secrets = secrets();
    let mut contest = Contest::new(work.name, bytes, works::KEYS);
    let mut weir = weir::mac(work.mac, work.tag_bytes, &secrets)?;
    let expected = first_tags(weir.as_mut(), work, bytes)?;
    weir.set_keys(&secrets)?;
    contest.enter(WEIR, turn(weir, work.aim, bytes)?);
    let peers = (work.peers)(work, &secrets)
        .into_iter()
        .map(|peer| (peer, true));
    let strangers = (work.strangers)(&secrets).into_iter();
    for (peer, is_same_mac) in peers.chain(strangers.map(|peer| (peer, false))) {
        match peer.subject {
            Ok(mut subject) => {
                if is_same_mac {
                    let tags = first_tags(subject.as_mut(), work, bytes)?;
                    ensure!(tags == expected, "{} comes to other tags", peer.name);
                    subject.set_keys(&secrets)?;
                }
                contest.enter(peer.name, turn(subject, work.aim, bytes)?);
            }
            Err(Lack::Reason(reason)) => contest.miss(peer.name, reason),
            Err(Lack::Package(package)) => contest.absent(peer.name, package),
        }
    }
    Ok(contest)
}

/// The tags of a subject's first batches.
fn first_tags(subject: &mut dyn Subject, work: &Work, bytes: usize) -> Result<Vec<Vec<u8>>> {
    let mut messages = Messages::new(bytes);
    let mut tags = Vec::new();
    for counter in 1..=COMPARED_PASSES {
        subject.tag(messages.batch(counter))?;
        tags.extend(messages.tags(work.tag_bytes).map(<[u8]>::to_vec));
    }
    Ok(tags)
}

/// Passes over the same messages or keys, as many as fit in the time of a turn.
fn turn(
    mut subject: Box<dyn Subject>,
    aim: Aim,
    bytes: usize,
) -> Result<impl FnMut() -> Result<Lap>> {
    let secrets = secrets();
    let mut messages = Messages::new(bytes);
    let mut counter = 0;
    let mut passes = move |count: u128| -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..count {
            match aim {
                Aim::Tags => {
                    counter += 1;
                    subject.tag(messages.batch(counter))?;
                }
                Aim::Keys => subject.set_keys(&secrets)?,
            }
        }
        Ok(start.elapsed())
    };
    passes(1)?;
    let count = TURN.as_nanos().div_ceil(passes(1)?.as_nanos().max(1));
    Ok(move || {
        Ok(Lap {
            packets: count as u64 * KEYS as u64,
            elapsed: passes(count)?,
            result: None,
        })
    })
}
