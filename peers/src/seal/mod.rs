//! Encrypting and tagging packets as ESP does: IV, text in place, tag, over a
//! prefix that is authenticated too.
//!
//! Weir takes the packets by the batch, peers one by one, since that is what
//! they offer. Every packet says which key it needs, in an order that nothing
//! can guess. Keys are held ready (`few`, `4096`), or each packet brings its
//! own, which is expanded for it alone (`new`).
//!
//! Before a contest, every subject seals the same packets, and what comes out
//! must be the same to the last bit.

mod aws_lc;
mod packets;
mod ring;
mod rust_crypto;
mod weir;

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use weir_crypto::Suite;

use crate::harness::{Contest, Scoreboard, WEIR};
use crate::machine::versioned;
use packets::{Packet, Packets, Secrets};

/// Packets of a pass: as many as the most keys there are.
const PACKETS: usize = 4096;

/// A turn goes over the packets as often as Weir can in this time, so that
/// turns are long beside what the clock and the scheduler do.
const TURN: Duration = Duration::from_millis(10);

/// Bytes of text of a packet. Suites with blocks round up, as ESP's padding does.
const TEXT_BYTES: [usize; 3] = [64, 576, 1420];

/// How many keys, by the contract's names; `None` for one per packet.
const KEYS: [(&str, Option<usize>); 3] = [("few", Some(4)), ("4096", Some(4096)), ("new", None)];

/// Something that seals packets.
trait Sealer {
    fn seal(&mut self, packets: &mut Packets) -> Result<()>;
}

/// A library refused a length that its suite allows: a defect of this program.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a cipher refused its key or packet")]
struct Refused;

/// One suite of a peer, one packet at a time.
trait PeerKey: Sized {
    fn new(secrets: &Secrets) -> Result<Self, Refused>;

    /// Encrypts the text and writes the tag. Where the suite counts, it writes
    /// the IV too; for CBC the IV is there already.
    fn seal(&self, packet: Packet<'_>) -> Result<(), Refused>;
}

/// A peer with its keys expanded beforehand.
struct HeldKeys<K>(Vec<K>);

impl<K: PeerKey> Sealer for HeldKeys<K> {
    fn seal(&mut self, packets: &mut Packets) -> Result<()> {
        for packet in packets.iter_mut() {
            self.0[packet.turn.key].seal(packet)?;
        }
        Ok(())
    }
}

/// A peer that expands a key for every packet.
struct NewKeys<K>(Vec<Secrets>, PhantomData<K>);

impl<K: PeerKey> Sealer for NewKeys<K> {
    fn seal(&mut self, packets: &mut Packets) -> Result<()> {
        for packet in packets.iter_mut() {
            K::new(&self.0[packet.turn.key])?.seal(packet)?;
        }
        Ok(())
    }
}

/// A peer's name, and its sealer or why it has none.
struct Peer {
    name: String,
    sealer: Result<Box<dyn Sealer>, &'static str>,
}

/// What a contest is about.
struct Setting {
    suite: Suite,
    secrets: Vec<Secrets>,
    /// Each packet brings its key.
    new_keys: bool,
}

impl Setting {
    fn peer<K: PeerKey + 'static>(&self, name: String) -> Result<Peer> {
        let sealer: Box<dyn Sealer> = if self.new_keys {
            Box::new(NewKeys::<K>(self.secrets.clone(), PhantomData))
        } else {
            let keys: Result<Vec<K>, Refused> = self.secrets.iter().map(K::new).collect();
            Box::new(HeldKeys(keys?))
        };
        Ok(Peer {
            name,
            sealer: Ok(sealer),
        })
    }

    fn missing(&self, name: String, reason: &'static str) -> Result<Peer> {
        Ok(Peer {
            name,
            sealer: Err(reason),
        })
    }

    fn weir(&self) -> Result<Box<dyn Sealer>> {
        Ok(if self.new_keys {
            Box::new(weir::NewKeys::new(self.suite, self.secrets.clone()))
        } else {
            Box::new(weir::HeldKeys::new(self.suite, &self.secrets)?)
        })
    }
}

/// A suite and the peers that it has.
struct Work {
    /// Name of the rows.
    name: &'static str,
    suite: &'static str,
    peers: fn(&Setting) -> Result<Vec<Peer>>,
    note: Option<&'static str>,
}

/// Peers gain a row here, and a key type in a file of their own.
const WORKS: &[Work] = &[
    Work {
        name: "aes-128-gcm",
        suite: "aes-128-gcm-16",
        peers: |setting| {
            Ok(vec![
                setting.peer::<aws_lc::AesGcm>(versioned("aws-lc-rs"))?,
                setting.peer::<ring::AesGcm>(versioned("ring"))?,
                setting.peer::<rust_crypto::AesGcm>(rust_crypto::name("aes-gcm"))?,
            ])
        },
        note: None,
    },
    Work {
        name: "chacha20-poly1305",
        suite: "chacha20-poly1305",
        peers: |setting| {
            Ok(vec![
                setting.peer::<aws_lc::ChaCha20Poly1305>(versioned("aws-lc-rs"))?,
                setting.peer::<ring::ChaCha20Poly1305>(versioned("ring"))?,
                setting
                    .peer::<rust_crypto::ChaCha20Poly1305>(rust_crypto::name("chacha20poly1305"))?,
            ])
        },
        note: None,
    },
    Work {
        name: "aes-128-ctr+hmac-sha2-256-128",
        suite: "aes-128-ctr+hmac-sha2-256-128",
        peers: |setting| {
            Ok(vec![
                setting.peer::<aws_lc::CtrHmac>(versioned("aws-lc-rs"))?,
                setting.missing(versioned("ring"), "it has no AES-CTR")?,
                setting.peer::<rust_crypto::CtrHmac>(rust_crypto::name("ctr"))?,
            ])
        },
        note: None,
    },
    Work {
        name: "aes-128-cbc+hmac-sha1-96",
        suite: "aes-128-cbc+hmac-sha1-96",
        peers: |setting| {
            Ok(vec![
                setting.peer::<aws_lc::CbcHmac>(versioned("aws-lc-rs"))?,
                setting.missing(versioned("ring"), "it has no AES-CBC")?,
                setting.peer::<rust_crypto::CbcHmac>(rust_crypto::name("cbc"))?,
            ])
        },
        note: Some("makes its IVs, one AES block each; the others are given theirs"),
    },
];

/// All suites, sizes and numbers of keys.
pub fn measure(scoreboard: &mut Scoreboard) -> Result<()> {
    for work in WORKS {
        let suite = Suite::parse(work.suite)?;
        for (keys, held) in KEYS {
            let setting = Setting {
                suite,
                secrets: Secrets::make(suite, held.unwrap_or(PACKETS)),
                new_keys: held.is_none(),
            };
            for text_bytes in TEXT_BYTES {
                let contest = contest(work, &setting, keys, text_bytes)
                    .with_context(|| format!("{suite}, {text_bytes} bytes, keys {keys}"))?;
                scoreboard.run(contest)?;
            }
        }
    }
    Ok(())
}

fn contest(
    work: &Work,
    setting: &Setting,
    keys: &'static str,
    text_bytes: usize,
) -> Result<Contest<'static>> {
    let mut weir = setting.weir()?;
    let fresh = Packets::new(setting.suite, text_bytes, PACKETS, setting.secrets.len());
    let mut sealed = fresh.clone();
    weir.seal(&mut sealed)?;
    let given = fresh.with_ivs_of(&sealed);
    let passes = passes(weir.as_mut(), given.clone())?;

    let packets = (PACKETS * passes) as u64;
    let mut contest = Contest::new(work.name, text_bytes, keys, packets);
    contest.enter(WEIR, turn(weir, given.clone(), passes));
    if let Some(note) = work.note {
        contest.note(note);
    }
    for peer in (work.peers)(setting)? {
        match peer.sealer {
            Ok(mut sealer) => {
                let mut same = given.clone();
                sealer.seal(&mut same)?;
                ensure!(same == sealed, "{} seals differently", peer.name);
                contest.enter(peer.name, turn(sealer, given.clone(), passes));
            }
            Err(reason) => contest.miss(peer.name, reason),
        }
    }
    Ok(contest)
}

/// How often a sealer goes over the packets in the time of a turn.
fn passes(sealer: &mut dyn Sealer, mut packets: Packets) -> Result<usize> {
    let start = Instant::now();
    sealer.seal(&mut packets)?;
    let pass = start.elapsed().as_nanos().max(1);
    Ok(TURN.as_nanos().div_ceil(pass) as usize)
}

/// Seals the same packets over and over, what was sealed as text of the next pass.
fn turn(
    mut sealer: Box<dyn Sealer>,
    mut packets: Packets,
    passes: usize,
) -> impl FnMut() -> Result<Option<u64>> {
    move || {
        for _ in 0..passes {
            sealer.seal(&mut packets)?;
        }
        Ok(None)
    }
}
