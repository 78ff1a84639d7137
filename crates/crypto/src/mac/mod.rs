//! Message authentication by the batch: UMAC, MMH-MAC, GMAC, Poly1305, HMAC.
//!
//! A universal hash function condenses a message with a few multiplications, and
//! a one-time pad hides the result (Wegman and Carter 1981; chapter 4 of Y.-K.
//! Lai, Packet Processing on Stream Architecture, dissertation, North Carolina
//! State University). Tags of 64 to 128 bits are several hashes of 32 bits, which
//! run in lanes beside each other, and so do messages under different keys.
//!
//! A MAC alone is a [`Suite`](crate::Suite) like any other. **A nonce is used once**: the
//! packet's number is the nonce, and the sealing key hands each out once. A pad used twice
//! shows the difference of two hashes and lets tags be forged.
//!
//! ```
//! use weir_crypto::mac::Algorithm;
//! use weir_crypto::{Descriptor, KeyMaterial, Layout, Opener, OpeningKey, Sealer, SealingKey, Suite};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let suite = Suite::Mac(Algorithm::parse("umac-64")?);
//! let material = || KeyMaterial::new(suite, &[0x11; 16], &[]);
//! let mut sealer = Sealer::new();
//! let key = sealer.add(SealingKey::new(material()?, 0..)?);
//!
//! let mut buffer = *b"a message and its tag:12345678";
//! let message = Descriptor {
//!     key,
//!     layout: Layout { payload_bytes: 22, ..Layout::default() },
//!     ..Descriptor::default()
//! };
//! let mut batch = sealer.batch(&mut buffer);
//! let nonce = batch.push(message)?;
//! assert!(batch.run().all_good());
//!
//! let mut opener = Opener::new();
//! let key = opener.add(OpeningKey::new(&material()?)?);
//! let mut batch = opener.batch(&mut buffer);
//! batch.push_numbered(Descriptor { key, ..message }, nonce)?;
//! assert!(batch.run().all_good());
//! # Ok(())
//! # }
//! ```
//!
//! # Waiting for pads
//!
//! Pads are computed for eight messages side by side, which a message pays for by
//! waiting for its batch (section 4.5.2 of the dissertation asks that this stay
//! within what the protocol allows between packets). It is the caller who closes
//! a batch: Weir's stages do it after `max_wait_us`, when the source has nothing
//! more, at 256 records, or at half of the L2 cache, whichever comes first. A
//! batch of one is tagged at once; nothing is held over from one call to the next.
//!
//! # MMH-MAC
//!
//! Section 4.2.3 of Y.-K. Lai's dissertation hashes blocks of a packet, and then
//! their hashes. Here a block has 1024 bytes, and a message that fits one block is
//! hashed once, as the dissertation's kernel for short packets does:
//!
//! ```text
//! up to 1024 bytes   words ‖ zeros to 256 words ‖ length ─► MMH32, key 1, T tags ─► + pad
//! longer             each block of 256 words    ─► MMH32, key 1, T tags ─┐
//!                    length ‖ T tags of each block  ◄────────────────────┘
//!                                               ─► MMH32, key 2, T tags ─► + pad
//! ```
//!
//! Words are little-endian, lengths are in bytes, T is 1 to 4. Tag t takes its key
//! from word t on. The pad is AES-128 of T and the nonce, each a big-endian number
//! of 8 bytes; T little-endian words of it are **added** modulo 2³² to the tags:
//! MMH32 is almost Δ-universal modulo 2³², and nothing is known of its differences
//! under exclusive or, by which the dissertation adds the pad.
//!
//! All keys come from one of 16 bytes: block i, from 1, of the keys for a purpose
//! is AES-128 of a label of 8 letters and i, a big-endian number of 8 bytes; the
//! labels are `mmh-lvl1`, `mmh-lvl2` and `mmh-pad ` (the last makes one block, the
//! AES key of the pads). It is the KDF of RFC 4418, whose labels are small
//! numbers.
//!
//! ## Forgery
//!
//! Let ε = 6·2⁻³² = 1.5·2⁻³⁰, one tag's bound ([`weir_hash::multilinear`]). Two
//! different messages get tags that differ by a given amount with probability at
//! most
//!
//! - εᵀ, if both have one block: words or length differ, and both are hashed;
//! - εᵀ, if one has one block: whatever key 1 is, key 2 hashes the length of the
//!   longer message, which is not zero;
//! - 2εᵀ, if both are longer: a block or the length differs; T tags of a block
//!   agree with probability εᵀ, and if they do not, what key 2 hashes differs.
//!
//! For the 29 differences next to zero the proof for several tags has 9 instead of
//! 6. All of that is within (2ε)ᵀ = (3·2⁻³⁰)ᵀ (4.5ε² of 4ε² for two tags there), the bound of T trees of two levels side by
//! side: 2⁻¹¹³·⁶ for four tags, and not the 2⁻¹²⁰ that four tags of one level with
//! ε = 2⁻³⁰ would have.

mod algorithm;
mod batch;
pub(crate) mod hmac;
pub(crate) mod kdf;
mod keys;
mod message;
mod mmh;
mod poly1305;
mod simd;
mod umac;

pub use algorithm::{Algorithm, AlgorithmError, TagWords};
pub(crate) use batch::{MacPacketKey, MacPackets, process};
pub(crate) use keys::MacKey;
pub(crate) use message::{LANES, Message, Room};
#[cfg(target_arch = "x86_64")]
pub(crate) use simd::pads;
