//! An association that opens: its key, its anti-replay window, its lifetime.

use std::fmt;
use std::sync::Arc;

use weir_crypto::OpeningKey;
use weir_stream::DropReason;

use crate::esp::Template;
use crate::lifetime::Usage;
use crate::replay::ReplayWindow;
use crate::report::Traffic;
use crate::sa::Parameters;
use crate::sequence;

/// An association in the hands of the shard that it belongs to.
#[repr(align(64))]
pub(crate) struct Inbound {
    template: Template,
    parameters: Arc<Parameters>,
    key: OpeningKey,
    window: ReplayWindow,
    usage: Usage,
    traffic: Traffic,
}

/// A packet that is worth verifying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// Its full sequence number, if it is authentic.
    pub sequence: u64,
    /// Its number is so far ahead that the high halves of the packets behind
    /// it can only be told once it is verified or refused.
    pub is_leap: bool,
}

/// The high half of a number is inferred from the window. As long as the window
/// lags behind by half a subspace of 2^32 at most, no inference goes wrong, so
/// a whole batch can be admitted before any of it is verified.
const LONGEST_STEP: u64 = 1 << 31;

impl Inbound {
    pub fn new(parameters: Arc<Parameters>, key: OpeningKey) -> Inbound {
        Inbound {
            template: Template::new(&parameters),
            window: ReplayWindow::new(parameters.replay_window),
            usage: Usage::of_opening(parameters.lifetime),
            parameters,
            key,
            traffic: Traffic::default(),
        }
    }

    pub fn parameters(&self) -> &Arc<Parameters> {
        &self.parameters
    }

    #[inline]
    pub fn template(&self) -> &Template {
        &self.template
    }

    #[inline]
    pub fn key(&self) -> &OpeningKey {
        &self.key
    }

    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Whether a packet is worth verifying (RFC 4303, section 3.4.3: the window
    /// is asked first, and moved only afterwards), and as which one.
    #[inline]
    pub fn admit(&self, sequence_low: u32) -> Result<Admitted, DropReason> {
        if self.usage.is_expired() {
            return Err(DropReason::LifetimeExpired);
        }
        let sequence = if self.template.esn {
            sequence::extended(sequence_low, self.window.highest(), self.window.size())
                .ok_or(DropReason::Replay)?
        } else {
            u64::from(sequence_low)
        };
        if !self.window.is_new(sequence) {
            return Err(DropReason::Replay);
        }
        Ok(Admitted {
            sequence,
            is_leap: self.template.esn
                && sequence.saturating_sub(self.window.highest()) > LONGEST_STEP,
        })
    }

    /// Takes a verified packet in. `Ok(true)` when it is the first beyond the
    /// soft lifetime.
    #[inline]
    pub fn accept(&mut self, sequence: u64, text_bytes: u64) -> Result<bool, DropReason> {
        if !self.window.accept(sequence) {
            return Err(DropReason::Replay);
        }
        self.usage
            .charge(text_bytes)
            .map_err(|_| DropReason::LifetimeExpired)
    }

    /// Asks for the memory behind it that [`admit`](Inbound::admit) reads.
    #[inline]
    pub fn look_ahead(&self) {
        self.window.prefetch();
    }

    /// Counts a packet that was unprotected.
    pub fn count(&mut self, text_bytes: u64) {
        self.traffic.add(text_bytes);
    }
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("parameters", &self.parameters)
            .field("highest", &self.window.highest())
            .finish_non_exhaustive()
    }
}
