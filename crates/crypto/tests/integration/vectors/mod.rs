//! Published vectors, and random packets that other libraries sealed, through
//! the public interface, packets of all sources mixed.
//!
//! `wycheproof_sets`, `nist` and `rfc7253` read vectors and turn each into a [`Case`], a
//! packet of one suite. A vector for a part of a suite becomes a whole packet:
//! what a MAC's vector authenticates is laid out as AAD, IV, ciphertext and the high half of
//! an extended sequence number, of each cipher in turn; a cipher's vector is given each MAC in
//! turn. What no document publishes of such a packet comes from `oracle`, other crates
//! used one packet at a time. `random` has packets of any length under random
//! keys, whose ciphertexts and tags come from the same crates and from AWS-LC.
//!
//! `batch` seals and opens the cases in shuffled batches of 1 to 256, under held and one-time
//! keys, at all alignments, in and out of order, between guard bytes. It does so under the
//! active tier; `every_tier` runs all of it again under each narrower one.
//!
//! [`Case`]: case::Case

#[cfg(not(target_arch = "aarch64"))]
mod aws_lc;
mod batch;
mod blocks;
mod case;
mod chains;
mod every_tier;
mod mutations;
mod nist;
mod oracle;
mod packets;
mod private_use;
mod random;
mod rfc7253;
mod shuffle;
mod wycheproof_sets;
