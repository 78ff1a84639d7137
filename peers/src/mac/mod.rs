//! Tags of messages: universal hashes with a pad, GMAC, HMAC, Poly1305.
//!
//! 64 keys are held ready; a batch has one message of each, in an order of its
//! own, and every subject takes the whole batch. Pads are part of the work: a
//! message's nonce is the counter that it carries behind 8 bytes of header, as
//! ESP's IV does. Only Poly1305, which wants another key for each message, finds
//! these keys made.
//!
//! Who computes the same MAC as Weir must come to the same tags before a
//! contest. Some contests have strangers besides, who authenticate the same
//! messages by another MAC; their names say by which.
//!
//! ```text
//!  works      which MACs and sizes, and who takes part
//!  contest    a contest of them
//!  messages   what they work on
//!  weir, foreign
//!             the subjects: Weir, and the libraries behind `c/`
//! ```

mod contest;
mod foreign;
mod messages;
mod weir;
mod works;

use anyhow::{Context, Result};

use crate::harness::Scoreboard;
pub use works::is_mac;

/// All works.
pub fn measure(scoreboard: &mut Scoreboard) -> Result<()> {
    for work in works::WORKS {
        for &bytes in work.bytes {
            if scoreboard.wants(work.name, bytes, works::KEYS) {
                let contest = contest::of(work, bytes);
                scoreboard.run(contest.with_context(|| work.name)?)?;
            }
        }
    }
    Ok(())
}
