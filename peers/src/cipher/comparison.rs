//! One comparison: its candidates, and that all come to the same result.

use std::marker::PhantomData;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use weir_crypto::Suite;

use super::packets::{Batch, Buffer, Packets, Parts, Secret, Secrets, Turn};
use super::weir;
use crate::harness::{Comparison, SEALING, Sample, SampleParts, WEIR};

/// About how long a sample takes: long beside the clock's resolution and the
/// scheduler's interruptions.
const SAMPLE_TIME: Duration = Duration::from_millis(4);

/// What is done to packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Encrypted and tagged.
    Seal,
    /// Verified and decrypted.
    Open,
}

/// The conditions of a comparison.
#[derive(Clone)]
pub struct Setting {
    pub suite: Suite,
    pub direction: Direction,
    pub secrets: Rc<Secrets>,
    /// Each packet brings its key, which is used for it alone.
    pub new_keys: bool,
    /// Bytes of text of every packet; `None` for packets of several sizes.
    #[cfg_attr(not(prototype), expect(dead_code))]
    pub text_bytes: Option<usize>,
}

/// Something that seals or opens packets.
pub trait Worker {
    /// All packets of a batch. Sealing encrypts the text and writes the tag, and
    /// the IV where the suite counts; CBC's IV is there already. Opening fails
    /// where a packet does not verify.
    fn work(&mut self, batch: Batch<'_>) -> Result<()>;

    /// The same; returns the time that counts.
    fn timed_work(&mut self, batch: Batch<'_>) -> Result<Duration> {
        let start = Instant::now();
        self.work(batch)?;
        Ok(start.elapsed())
    }
}

/// A library refused a length that its suite allows, which is a defect of this
/// program, or a packet that is not authentic.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a cipher refused its key or packet")]
pub struct Refused;

/// A peer's name, and its worker or why it has none.
pub struct Peer {
    pub name: String,
    pub worker: Result<Box<dyn Worker>, Lack>,
}

/// Why a peer has no worker.
pub enum Lack {
    /// It cannot do this.
    Suite(String),
    /// It is not installed here; this is the package.
    #[cfg_attr(all(ipsec_mb, openssl), expect(dead_code))]
    Package(&'static str),
}

impl Peer {
    /// A peer that has no such suite.
    pub fn without(name: String, what: &str) -> Peer {
        Peer {
            name,
            worker: Err(Lack::Suite(format!("it has no {what}"))),
        }
    }
}

/// A peer's key, for packets one by one in one direction.
pub trait PeerKey: Sized {
    fn new(secret: Secret<'_>) -> Result<Self, Refused>;

    /// The salt is the key's own.
    fn process(&self, salt: [u8; 4], turn: Turn, packet: Parts<'_>) -> Result<(), Refused>;
}

impl Setting {
    /// A peer by its type of key.
    pub fn peer<K: PeerKey + 'static>(&self, name: String) -> Result<Peer> {
        let worker: Box<dyn Worker> = if self.new_keys {
            Box::new(NewKeys::<K>(Rc::clone(&self.secrets), PhantomData))
        } else {
            let keys = self.secrets.iter().map(|secret| {
                let key = K::new(secret)?;
                Ok((key, secret.salt))
            });
            let keys: Result<Vec<_>, Refused> = keys.collect();
            Box::new(HeldKeys(keys?))
        };
        Ok(Peer {
            name,
            worker: Ok(worker),
        })
    }
}

/// Keys that are expanded beforehand, with their salts.
struct HeldKeys<K>(Vec<(K, [u8; 4])>);

impl<K: PeerKey> Worker for HeldKeys<K> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        for packet in batch.into_packets() {
            let turn = packet.turn;
            let (key, salt) = &self.0[turn.key];
            key.process(*salt, turn, packet.into_parts())?;
        }
        Ok(())
    }
}

/// A key expanded for every packet.
struct NewKeys<K>(Rc<Secrets>, PhantomData<K>);

impl<K: PeerKey> Worker for NewKeys<K> {
    fn work(&mut self, batch: Batch<'_>) -> Result<()> {
        for packet in batch.into_packets() {
            let turn = packet.turn;
            let secret = self.0.get(turn.key);
            K::new(secret)?.process(secret.salt, turn, packet.into_parts())?;
        }
        Ok(())
    }
}

/// Adds Weir and the peers, after a check that each comes to the same result as Weir.
pub fn add(
    comparison: &mut Comparison<'static>,
    setting: &Setting,
    fresh: Packets,
    peers: Vec<Peer>,
) -> Result<()> {
    let sealing = Setting {
        direction: Direction::Seal,
        ..setting.clone()
    };
    let mut sealed = fresh.clone();
    let mut sealer = weir::worker(&sealing)?;
    pass(sealer.as_mut(), &fresh, |number, records| {
        sealed.set_records(number, records);
        Ok(())
    })?;
    let unsealed = Rc::new(fresh.with_ivs_of(&sealed));
    let (given, expected) = match setting.direction {
        Direction::Seal => (Rc::clone(&unsealed), sealed),
        Direction::Open => {
            let given = Rc::new(sealed);
            (Rc::clone(&given), unsealed.with_tags_of(&given))
        }
    };

    if setting.direction == Direction::Seal {
        comparison.add(WEIR, sampler(sealer, given.clone())?);
    } else {
        let worker = checked(weir::worker(setting)?, setting, WEIR, &given, &expected)?;
        comparison.add(WEIR, sampler(worker, given.clone())?);
        comparison.add(SEALING, sampler(sealer, unsealed)?);
    }
    for peer in peers {
        match peer.worker {
            Ok(worker) => {
                let worker = checked(worker, setting, &peer.name, &given, &expected)?;
                comparison.add(peer.name, sampler(worker, given.clone())?);
            }
            Err(Lack::Suite(reason)) => comparison.add_missing(peer.name, reason),
            Err(Lack::Package(package)) => comparison.add_uninstalled(peer.name, package),
        }
    }
    Ok(())
}

/// The worker, if its results are as expected and it refuses forged packets.
fn checked(
    mut worker: Box<dyn Worker>,
    setting: &Setting,
    name: &str,
    given: &Packets,
    expected: &Packets,
) -> Result<Box<dyn Worker>> {
    let direction = setting.direction;
    pass(worker.as_mut(), given, |number, records| {
        let same = records == expected.records(number);
        ensure!(same, "{name} comes to something else ({direction:?})");
        Ok(())
    })?;
    if direction == Direction::Open {
        let forged = given.with_forged_tag();
        let refused = worker
            .work(forged.lay_out(0, &mut Buffer::default()))
            .is_err();
        ensure!(refused, "{name} opens what is forged");
    }
    Ok(worker)
}

/// Takes a worker over all packets; `look` sees the records of each batch
/// afterwards. Returns the time that the work took.
fn pass(
    worker: &mut dyn Worker,
    packets: &Packets,
    mut look: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<Duration> {
    let mut buffer = Buffer::default();
    let mut elapsed = Duration::ZERO;
    for number in 0..packets.batch_count() {
        elapsed += worker.timed_work(packets.lay_out(number, &mut buffer))?;
        look(number, buffer.records(packets.records(number).len()))?;
    }
    Ok(elapsed)
}

/// Passes over the same packets, as many as fit [`SAMPLE_TIME`]. Each batch is a part.
fn sampler(
    mut worker: Box<dyn Worker>,
    packets: Rc<Packets>,
) -> Result<impl FnMut() -> Result<Sample>> {
    let once = pass(worker.as_mut(), &packets, |_, _| Ok(()))?;
    let passes = SAMPLE_TIME.as_nanos().div_ceil(once.as_nanos().max(1));
    let mut buffer = Buffer::default();
    let mut parts = SampleParts::default();
    Ok(move || {
        for _ in 0..passes {
            for number in 0..packets.batch_count() {
                let batch = packets.lay_out(number, &mut buffer);
                let count = batch.turns.len() as u64;
                parts.push(count, worker.timed_work(batch)?);
            }
        }
        Ok(parts.take_sample())
    })
}
