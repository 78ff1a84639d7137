//! Packet ciphers and MACs by the batch.
//!
//! A [`Sealer`] holds keys and encrypts and authenticates batches of packets, up to
//! [`BATCH_PACKETS`] at a time; an [`Opener`] verifies and decrypts them. Packets lie in one
//! buffer, and each is described by offsets: [`Descriptor`]. All suites and MACs, all protocols
//! and all key lifetimes go this one way; many packets share the lanes of the processor's
//! vectors.
//!
//! ```
//! use weir_crypto::{
//!     Descriptor, KeyMaterial, Layout, NonceRule, Opener, OpeningKey, Sealer, SealingKey, Suite,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let suite = Suite::parse("chacha20-poly1305")?;
//! // WireGuard counts little-endian in its nonces; ESP, TLS, QUIC and SRTP have rules of theirs.
//! // It allows a key 2^64 - 2^13 - 1 messages.
//! let material = || KeyMaterial::with_nonces(suite, &[0x42; 32], NonceRule::LittleEndian);
//!
//! let mut sealer = Sealer::new();
//! let key = sealer.add(SealingKey::new(material()?, 0..u64::MAX - (1 << 13))?);
//!
//! // Three packets of 16 bytes of header, 32 of payload, 16 of tag. WireGuard does not
//! // authenticate headers: they are a gap. In other protocols they are AAD.
//! let mut buffer = [7; 3 * 64];
//! let layout = Layout { payload_bytes: 32, gap_bytes: 16, ..Layout::default() };
//! let packet = |key, index: u32| Descriptor { key, offset: 64 * index, layout, context: 0 };
//!
//! let mut batch = sealer.batch(&mut buffer);
//! let numbers: Vec<u64> =
//!     (0..3).map(|index| batch.push(packet(key, index))).collect::<Result<_, _>>()?;
//! assert!(batch.run().all_good());
//! assert_eq!(numbers, [0, 1, 2]);
//!
//! buffer[100] ^= 1; // in the second packet
//! let mut opener = Opener::new();
//! let key = opener.add(OpeningKey::new(&material()?)?);
//! let mut batch = opener.batch(&mut buffer);
//! for (index, number) in (0..).zip(numbers) {
//!     batch.push_numbered(packet(key, index), number)?;
//! }
//! let verdicts = batch.run();
//! assert!(verdicts.is_good(0) && !verdicts.is_good(1) && verdicts.is_good(2));
//! assert_eq!(buffer[16..48], [7; 32]);
//! assert_eq!(buffer[80..112], [0; 32]);
//! # Ok(())
//! # }
//! ```
//!
//! # Steps
//!
//! 1. Add keys, one for each direction of a connection. [`NonceRule`] is the protocol's. A sealing
//!    key is made with the range of numbers that it may use; where the protocol limits the packets
//!    of a key, as QUIC and WireGuard do, the range ends there. At its end `push` returns
//!    [`Refusal::NotReserved`]: it is time for another key.
//! 2. Write up to [`BATCH_PACKETS`] packets into a buffer, at any alignment, with space for what
//!    Weir writes: a tag of [`Suite::tag_bytes`] behind each payload and, in ESP, an IV of
//!    [`SealingKey::iv_bytes`] in front of it.
//! 3. Begin a batch and push a descriptor for each packet. Sealing, `push` returns the packet's
//!    number. A protocol that sends it has it written into the header now
//!    ([`SealBatch::buffer_mut`]): headers are authenticated when the batch runs. Opening, the
//!    caller gives the number ([`OpenBatch::push_numbered`]), except in ESP, whose packets carry
//!    their IV ([`OpenBatch::push`]). A [`Refusal`] says why a packet was not taken; the batch
//!    goes on without it.
//! 4. Run the batch. Verdicts are in the order of the packets that were taken. A receiver holds a
//!    number against its anti-replay window before `push_numbered`, and once more, in order, when
//!    the packet was good: two copies in one batch are both good.
//!
//! Packets of all connections may share a batch. The more packets a batch has, the less each of
//! them costs.
//!
//! | protocol | suites | rule | context | AAD | gap | example |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | ESP | [`Suite::is_esp`] | [`NonceRule::Explicit`] | 0 | SPI, sequence number | 0 | `esp` |
//! | TLS 1.3 | AES-GCM, ChaCha20-Poly1305 | [`NonceRule::Xor`] | 0 | record header | 0 | `tls13` |
//! | QUIC | AES-GCM, ChaCha20-Poly1305 | [`NonceRule::Xor`] | 0, or the path | header | 0 | `quic` |
//! | SRTP | AES-GCM | [`NonceRule::Srtp`] | SSRC | RTP header | 0 | `srtp` |
//! | WireGuard | ChaCha20-Poly1305 | [`NonceRule::LittleEndian`] | 0 | none | header | `wireguard` |
//!
//! `cargo run -p weir-crypto --example wireguard` runs an example. What is left to the caller:
//! handshakes, the derivation of keys, anti-replay windows, and to take a new key when
//! [`Refusal::KeyExhausted`] says that one has reached its limit.
//!
//! | what for | see |
//! | --- | --- |
//! | how packets are described, and what is refused | [`batch`], [`Descriptor`], [`Refusal`] |
//! | names and sizes of ciphers | [`Suite`] |
//! | how packet numbers become nonces | [`NonceRule`] |
//! | several sources that share a key, as in SRTP | [`SealingKey::add_context`] |
//! | keys that survive a restart | [`SealingKey::new`], [`SealingKey::allow_until`] |
//! | a new key for every packet | [`SealBatch::add_one_time_key`] |
//! | packets that a protocol sends again, as RoCEv2 does | [`SealBatch::push_again`] |
//! | packets that carry a part of their tag | [`OpeningKey::with_cut_tags`], [`OpenBatch::run_with_tags`] |
//! | QUIC header protection | [`header`] |
//! | messages that are authenticated and not encrypted | [`mac`], [`Suite::Mac`] |
//! | what runs on this processor, and its self-test | [`engines`] |
//!
//! # What is promised
//!
//! **A nonce is used once.** The sealing key owns the numbers of its packets. `push` takes the
//! next one, or one from the protocol that is higher than all before it. A packet that is sent
//! again under its number leaves only as it was. IVs of the caller's choice exist in `hazmat`,
//! behind a feature.
//!
//! **Nothing unverified leaves.** Tags are compared in constant time, and the payload of a
//! packet that does not verify has been cleared when [`OpenBatch::run`] returns. A packet is bad
//! until its tag has been written or compared: one that a kernel skipped, which is a defect of
//! this crate, leaves zeros and a bad verdict.
//!
//! **Secrets are wiped** when keys are dropped, and so is the stack that kernels used.
//!
//! AES, its modes, ChaCha20-Poly1305, the SHA family and MD5 have kernels for the CPU tiers of
//! x86-64, and AES with GCM, CBC and CTR for that of aarch64, each beside a scalar reference
//! implementation that defines it. Triple DES is a well-maintained crate.

#![deny(unsafe_code)]

mod aead;
pub mod batch;
mod cipher;
mod digest;
mod engine;
mod etm;
mod frames;
pub mod header;
mod impossible;
mod kernel;
mod keys;
mod limits;
pub mod mac;
mod mode;
mod simd;
mod suite;
mod tags;
mod verdict;

#[cfg(feature = "hazmat")]
pub mod hazmat;
#[cfg(feature = "memcheck")]
pub mod memcheck;

pub use batch::{
    BATCH_PACKETS, Descriptor, Layout, OpenBatch, Opener, Refusal, SealBatch, Sealer, Verdicts,
    WholeTags,
};
pub use digest::Digest;
pub use engine::{Engine, SelfTestError, engines};
pub use keys::{
    IvSource, KeyError, KeyId, KeyMaterial, MAX_CONTEXTS, NonceRule, OpeningKey, SealingKey,
};
pub use limits::{Limit, Limits};
pub use suite::{Aead, AesKeySize, Cipher, Mac, Suite, SuiteError, UniversalMac};

/// The example of the README, which has to run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
