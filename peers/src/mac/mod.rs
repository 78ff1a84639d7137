//! Tags of messages: universal hashes with a pad, GMAC, HMAC, Poly1305.
//!
//! 64 keys are expanded beforehand; a batch has one message of each, in random order,
//! and every candidate takes the whole batch. Pads are part of the work: the nonce of
//! a message is the counter behind its first 8 bytes, like ESP's IV. Only Poly1305,
//! which needs another key for each message, is given these keys.
//!
//! Candidates that compute the same MAC as Weir must come to the same tags before a
//! comparison. Some comparisons have further candidates that authenticate the same
//! messages by another MAC, which their names say.
//!
//! ```text
//!  works       MACs, sizes, and the peers of each
//!  comparison  a comparison of one of them
//!  messages    the messages
//!  weir, foreign
//!              the candidates: Weir, and the libraries and prototypes behind `c/`
//! ```

mod comparison;
mod foreign;
mod messages;
mod weir;
mod works;

use anyhow::{Context, Result};

use crate::harness::Recorder;
pub use works::is_mac;

/// All works.
pub fn measure(recorder: &mut Recorder) -> Result<()> {
    for work in works::WORKS {
        for &bytes in work.bytes {
            if recorder.wants(work.name, bytes, works::KEYS) {
                let comparison = comparison::of(work, bytes);
                recorder.run(comparison.with_context(|| work.name)?)?;
            }
        }
    }
    Ok(())
}
