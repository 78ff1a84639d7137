//! Packets sealed and opened by the batch: the one way into this crate.
//!
//! ```text
//!                    ┌─────────────────────── Sealer, or Opener ───────────────────────┐
//! add(key) ─► KeyId  │  keys, each with its numbers                                     │
//!                    │                                                                  │
//! batch(&mut buffer) │  push(descriptor) ─► number      checked; nothing is written     │
//!                    │  push(descriptor) ─► number      all offsets, no references      │
//!                    │  run() ─────────────────────────► kernels, many packets at once  │
//!                    └──────────────────────────────────────────────► Verdicts ─────────┘
//! ```
//!
//! A [`Sealer`] holds keys. [`Sealer::batch`] begins a batch over one buffer, in which the
//! packets lie; [`SealBatch::push`] takes a packet into it by a [`Descriptor`] and returns its
//! number; [`SealBatch::run`] seals all of them and returns [`Verdicts`]. An [`Opener`] is the
//! counterpart. Packets of one batch may differ in key, suite and length. Those of one key
//! size and layout are processed fastest, and so are packets in the order of their offsets.
//!
//! **Failure is closed.** `push` checks a packet against its key, its buffer and the packets
//! before it, and takes or refuses it before anything is written; a refused packet leaves the
//! batch as it was. A packet that was taken is bad until its tag has been written or compared.
//! A packet that is not authentic has zeros for a payload when `run` returns.
//!
//! Nothing is allocated per batch, except by one-time keys of suites other than AES-GCM and
//! ChaCha20-Poly1305.

mod cells;
mod core;
mod cut;
mod descriptor;
mod one_time;
mod open;
mod pending;
mod refusal;
mod seal;
mod verdicts;
mod whole_tags;

pub(crate) use cells::Cells;
pub(crate) use descriptor::Place;
pub use descriptor::{Descriptor, Layout};
pub use open::{OpenBatch, Opener};
pub use refusal::Refusal;
pub use seal::{SealBatch, Sealer};
pub use verdicts::Verdicts;
pub use whole_tags::WholeTags;

/// The most packets of a batch.
pub const BATCH_PACKETS: usize = 256;
