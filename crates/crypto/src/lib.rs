//! Packet ciphers and authenticators behind one job interface.
//!
//! A [`Suite`] says what protects a packet. Its secrets, as configured, are
//! [`KeyMaterial`]; expanded once, they become a [`SealingKey`] or an
//! [`OpeningKey`], so that no packet pays for key setup. Packets are handed
//! over by the batch, one [`SealJob`] or [`OpenJob`] each, every one with its
//! own key, suite and lengths: [`seal`] and [`open`] see all of them at once
//! and may place packets of different keys side by side.
//!
//! **A nonce is used once.** The sealing key owns the counter that its IVs are
//! made from. [`SealingKey::next_ticket`] takes one value out of it as a
//! [`Ticket`], which cannot be copied, belongs to that key alone, and is spent
//! by the one job that it travels in. Counter values must be reserved
//! ([`SealingKey::allow_until`]) before they are taken, so that whoever keeps
//! a static key across restarts can write the reservation down first.
//! IVs chosen by the caller exist in `hazmat`, behind a feature, and for keys that seal one
//! packet each ([`OneTimeKeys`]).
//!
//! **Nothing unverified leaves.** [`open`] compares tags in constant time, and has cleared
//! the text of what does not verify when it returns. A packet counts as failed until its
//! tag has been compared, and as refused until it is sealed: one that a kernel gives up,
//! which is a defect of this crate, leaves zeros and [`JobFault::Refused`].
//!
//! Drawing a ticket changes a key and a job borrows it, so a batch goes
//! through its keys twice: tickets first, jobs second. Neither order nor
//! number of keys matters. A caller that composes packets itself hands each job to
//! [`seal_as_made`] as soon as it is made; [`open_as_found`] is its counterpart.
//! One whose packets lie in one buffer says where, by a [`Place`] for each, to
//! [`seal_in`] and [`open_in`], and under keys that are used once to
//! [`seal_once`] and [`open_once`].
//!
//! ```
//! use weir_crypto::{
//!     IvSource, KeyMaterial, OpenJob, OpeningKey, SealJob, SealingKey, Suite, open, seal,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let gcm = Suite::parse("aes-128-gcm-16")?;
//! let cbc = Suite::parse("aes-256-cbc+hmac-sha2-256-128")?;
//! let gcm_material = || KeyMaterial::new(gcm, &[0x11; 20], &[]);
//! let cbc_material = || KeyMaterial::new(cbc, &[0x22; 32], &[0x33; 32]);
//!
//! let mut keys = [
//!     SealingKey::new(gcm_material()?, 1, IvSource::Random)?,
//!     SealingKey::new(cbc_material()?, 1, IvSource::Random)?,
//! ];
//! for key in &mut keys {
//!     key.allow_until(1000); // written to a state file before this
//! }
//!
//! // Which key protects which of the three packets of this batch.
//! let key_of = [0, 1, 0];
//! let tickets = key_of.map(|k| keys[k].next_ticket());
//! let mut texts = [*b"sixteen bytes ..", *b"to be encrypted,", *b"three times over"];
//! let mut ivs = [vec![0; 8], vec![0; 16], vec![0; 8]];
//! let mut tags = [[0; 16]; 3];
//!
//! let mut jobs = Vec::new();
//! for ((((k, ticket), text), iv), tag) in
//!     key_of.into_iter().zip(tickets).zip(&mut texts).zip(&mut ivs).zip(&mut tags)
//! {
//!     jobs.push(SealJob { key: &keys[k], ticket: ticket?, prefix: b"header", iv, text, suffix: b"", tag });
//! }
//! seal(&mut jobs)?;
//!
//! let opening = [OpeningKey::new(&gcm_material()?)?, OpeningKey::new(&cbc_material()?)?];
//! let mut jobs = Vec::new();
//! for (((k, text), iv), tag) in key_of.into_iter().zip(&mut texts).zip(&ivs).zip(&tags) {
//!     jobs.push(OpenJob { key: &opening[k], prefix: b"header", iv, text, suffix: b"", tag, verified: false });
//! }
//! open(&mut jobs);
//! assert!(jobs.iter().all(|job| job.verified));
//! assert_eq!(&texts[2], b"three times over");
//! # Ok(())
//! # }
//! ```
//!
//! Inside, `cipher` holds block ciphers, `mode` what chains them, `aead` and
//! `mac` what authenticates, `keys` the secrets and their counter, and `kernel`
//! joins them into one packet's worth of work. AES, its modes, the SHA family and
//! MD5 have kernels of their own for the CPU tiers of x86-64, and AES with GCM, CBC and CTR
//! for that of aarch64, each beside a scalar reference implementation that defines it;
//! triple DES and ChaCha20-Poly1305 are well-maintained crates. [`engines`] lists what there
//! is and tests it against published answers.

#![deny(unsafe_code)]

mod aead;
mod cipher;
mod digest;
mod engine;
mod etm;
mod fault;
mod frames;
mod impossible;
mod job;
mod kernel;
mod keys;
mod lane_use;
mod limits;
pub mod mac;
mod mode;
mod once;
mod open_batch;
mod place;
mod placed;
mod seal_batch;
mod simd;
mod suite;
mod tags;
mod verdict;

#[cfg(feature = "hazmat")]
pub mod hazmat;
#[cfg(not(feature = "hazmat"))]
mod hazmat;
#[cfg(feature = "memcheck")]
pub mod memcheck;

pub use digest::{Digest, DigestJob, DigestLengthError};
pub use engine::{Engine, SELF_DETECTING, SelfTestError, Tested, engines};
pub use fault::{JobError, JobFault};
pub use job::{OpenJob, SealJob, open, seal};
pub use keys::{
    Exhausted, IvSource, KeyError, KeyMaterial, KeyPolicy, OpeningKey, SealingKey, Ticket,
};
pub use lane_use::LaneUse;
pub use limits::{Limit, Limits};
pub use mac::hmac::{HmacKey, MacJob, TagLengthError, write_tags};
pub use once::{OneTimeKeys, open_once, seal_once};
pub use open_batch::{OpenBatch, open_as_found};
pub use place::Place;
pub use placed::{OpenAt, SealAt, open_in, seal_in};
pub use seal_batch::{SealBatch, seal_as_made};
pub use suite::{Aead, AesKeySize, Cipher, Mac, Suite, SuiteError, UniversalMac};
