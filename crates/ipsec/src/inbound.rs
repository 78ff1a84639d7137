//! An association that opens: its key, its anti-replay window, its lifetime.

use std::fmt;
use std::sync::Arc;

use weir_crypto::{KeyId, Opener, OpeningKey};
use weir_ledger::{LedgerError, Mark, SeenBound, Shortage};

use crate::change::Settled;
use crate::esp::Format;
use crate::lifetime::Usage;
use crate::reason::DropReason;
use crate::replay::ReplayWindow;
use crate::report::{AssociationReport, Drops, Traffic};
use crate::sa::Parameters;
use crate::sequence;
use crate::stage::Association;

/// An association in the hands of the shard that it belongs to: what each packet
/// takes from it, and behind a pointer what one packet in many needs.
#[repr(align(64))]
pub(crate) struct Inbound {
    window: ReplayWindow,
    format: Format,
    /// Number of packets that may be accepted before the accounts are consulted.
    leeway: u32,
    /// Bytes that were verified and are not in the accounts yet.
    unaccounted_bytes: u64,
    /// Numbers below this may be accepted without a request to the ledger.
    granted_below: u64,
    /// Its key in the shard's [`Opener`](weir_crypto::Opener).
    key: KeyId,
    accounts: Box<Accounts>,
    /// Where the highest number of a window that is kept survives the process.
    mark: Option<Mark>,
}

/// What an association has verified, and how much it may.
struct Accounts {
    /// What [`Inbound::leeway`] was when the accounts were last updated.
    granted: u32,
    parameters: Arc<Parameters>,
    usage: Usage,
    verified: Traffic,
    /// What was verified and refused all the same.
    refused: Traffic,
    drops: Drops,
    /// What the ledger knows of a window that is kept.
    seen: Option<SeenBound>,
    /// Why the ledger could not be written.
    ledger_error: Option<Arc<LedgerError>>,
    resync: Resync,
}

/// An association that opens, on its way to the shard that it belongs to.
pub(crate) struct InboundAssociation {
    pub parameters: Arc<Parameters>,
    pub key: OpeningKey,
    /// What the ledger knows of a window that is kept, and the highest number that counts as
    /// seen.
    pub seen: Option<(SeenBound, u64)>,
}

/// Packets that failed verification since one did not, and where the search for
/// the high half of their numbers goes on (RFC 4303, appendix A3).
#[derive(Clone, Copy, Default)]
struct Resync {
    /// Failures in a row: while the window stood at `highest`.
    failures: u32,
    highest: u64,
    /// Subspaces of 2^32 above the expected one that were tried.
    tried: u32,
}

/// Failures in a row after which one packet is tried under further high halves.
const FAILURES_PER_SEARCH: u32 = 64;

/// High halves that a search tries: what forgeries cost is a quarter more than
/// their own verification.
const TRIALS_PER_SEARCH: u32 = 16;

/// High halves above the expected one after which the search starts again.
const MOST_TRIALS: u32 = 1 << 16;

/// A packet that is worth verifying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// Its full sequence number, if it is authentic.
    pub sequence: u64,
    /// Its number is so far ahead that the high halves of the packets behind
    /// it are known only once it is verified or refused.
    pub is_esn_jump: bool,
}

/// The high half of a number is inferred from the window. As long as the window
/// lags behind by half a subspace of 2^32 at most, no inference goes wrong, so
/// a whole batch can be admitted before any of it is verified.
const LONGEST_STEP: u64 = 1 << 31;

impl Association for Inbound {
    type New = InboundAssociation;
    type Keys = Opener;
    type Left = (SeenBound, u64);

    fn install(association: InboundAssociation, opener: &mut Opener) -> Inbound {
        let InboundAssociation {
            parameters,
            key,
            seen,
        } = association;
        let key = opener.add(key);
        let mut inbound = Inbound::with_key(parameters, key);
        if let Some((bound, highest)) = seen {
            inbound.resume(bound, highest);
        }
        inbound
    }

    fn amend(&mut self, parameters: Arc<Parameters>, _: &Opener) {
        self.settle();
        if parameters.replay_window != self.accounts.parameters.replay_window {
            // What the new window would have to know of the old one counts as seen.
            let highest = self.window.highest();
            self.window = ReplayWindow::resume(parameters.replay_window, highest);
        }
        self.format = Format::new(&parameters);
        let accounts = &mut *self.accounts;
        let used = accounts.verified;
        accounts.usage = Usage::of_opening(parameters.lifetime);
        accounts.usage.book(used.packets, used.bytes);
        accounts.parameters = parameters;
        self.leeway = leeway(&accounts.usage);
        accounts.granted = self.leeway;
    }

    fn report(&self, slot: u32, _: &Opener) -> AssociationReport {
        let Accounts {
            verified, refused, ..
        } = *self.accounts;
        AssociationReport {
            association: slot,
            parameters: Arc::clone(&self.accounts.parameters),
            traffic: verified.plus(self.unaccounted()).minus(refused),
            sequence: self.window.highest(),
            drops: self.accounts.drops.clone(),
        }
    }

    #[cold]
    fn note_drop(&mut self, reason: DropReason) {
        self.accounts.drops.add(reason, 1);
    }

    fn ledger_error(&self) -> Option<&Arc<LedgerError>> {
        self.accounts.ledger_error.as_ref()
    }

    /// What the ledger is to know of a window that is kept.
    fn close(mut self, opener: &mut Opener) -> Option<(SeenBound, u64)> {
        opener.remove(self.key);
        Some((self.accounts.seen.take()?, self.window.highest()))
    }

    fn settled((bound, highest): (SeenBound, u64)) -> Settled {
        Settled::Window(bound, highest)
    }

    fn write_down(left: Vec<(SeenBound, u64)>) -> Result<(), Arc<LedgerError>> {
        SeenBound::settle(left)
    }
}

impl Inbound {
    fn with_key(parameters: Arc<Parameters>, key: KeyId) -> Inbound {
        let usage = Usage::of_opening(parameters.lifetime);
        let leeway = leeway(&usage);
        let window = match parameters.expected_sequence {
            None => ReplayWindow::new(parameters.replay_window),
            Some(expected) => {
                ReplayWindow::resume(parameters.replay_window, expected.saturating_sub(1))
            }
        };
        Inbound {
            window,
            format: Format::new(&parameters),
            leeway,
            unaccounted_bytes: 0,
            granted_below: u64::MAX,
            key,
            mark: None,
            accounts: Box::new(Accounts {
                granted: leeway,
                parameters,
                usage,
                verified: Traffic::default(),
                refused: Traffic::default(),
                drops: Drops::default(),
                seen: None,
                ledger_error: None,
                resync: Resync::default(),
            }),
        }
    }

    /// Goes on where a run before has ended: numbers up to `highest` count as
    /// seen.
    fn resume(&mut self, seen: SeenBound, highest: u64) {
        self.window = ReplayWindow::resume(self.accounts.parameters.replay_window, highest);
        self.granted_below = 0;
        self.mark = seen.mark();
        self.accounts.seen = Some(seen);
    }

    #[inline]
    pub fn format(&self) -> &Format {
        &self.format
    }

    #[inline]
    pub fn key(&self) -> KeyId {
        self.key
    }

    /// What was verified and is not in the accounts yet.
    fn unaccounted(&self) -> Traffic {
        Traffic {
            packets: u64::from(self.accounts.granted - self.leeway),
            bytes: self.unaccounted_bytes,
        }
    }

    /// Whether a packet is worth verifying (RFC 4303, section 3.4.3: the window
    /// is checked first, and moved only afterwards), and under which number.
    #[inline]
    pub fn admit(&self, sequence_low: u32) -> Result<Admitted, DropReason> {
        if self.leeway == 0 && self.is_expired() {
            return Err(DropReason::LifetimeExpired);
        }
        let sequence = if self.format.esn {
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
            is_esn_jump: self.format.esn
                && sequence.saturating_sub(self.window.highest()) > LONGEST_STEP,
        })
    }

    #[cold]
    fn is_expired(&self) -> bool {
        self.accounts.usage.is_expired()
    }

    /// Takes a verified packet in. `Ok(true)` when it is the first beyond the
    /// soft lifetime.
    #[inline(always)]
    pub fn accept(&mut self, sequence: u64, plaintext_bytes: u64) -> Result<bool, DropReason> {
        if sequence >= self.granted_below {
            self.ask_ledger(sequence)?;
        }
        if !self.window.accept(sequence) {
            return Err(DropReason::Replay);
        }
        if let Some(mark) = &self.mark {
            mark.set(self.window.highest());
        }
        if self.leeway == 0 && self.ask_books(plaintext_bytes)? {
            return Ok(true);
        }
        if self.leeway > 0 {
            self.leeway -= 1;
            self.unaccounted_bytes += plaintext_bytes;
        }
        Ok(false)
    }

    /// Makes sure that `sequence` will count as seen after a crash.
    #[cold]
    fn ask_ledger(&mut self, sequence: u64) -> Result<(), DropReason> {
        if self.granted_below == u64::MAX {
            return Ok(());
        }
        if !self.window.is_new(sequence) {
            return Err(DropReason::Replay);
        }
        let accounts = &mut *self.accounts;
        let seen = accounts
            .seen
            .as_mut()
            .ok_or(DropReason::SequenceExhausted)?;
        match seen.provide(sequence) {
            Ok(below) => {
                self.granted_below = below;
                Ok(())
            }
            Err(Shortage::Pending) => Err(DropReason::ReservationPending),
            Err(Shortage::Failed(error)) => {
                accounts.ledger_error = Some(error);
                Err(DropReason::SequenceExhausted)
            }
        }
    }

    /// Finds out how many packets may be taken in unasked, or if there is none,
    /// whether one of `plaintext_bytes` may, which is then charged. `Ok(true)` when it is
    /// the first beyond the soft lifetime.
    #[cold]
    fn ask_books(&mut self, plaintext_bytes: u64) -> Result<bool, DropReason> {
        self.settle();
        let accounts = &mut *self.accounts;
        self.leeway = leeway(&accounts.usage);
        accounts.granted = self.leeway;
        if self.leeway > 0 {
            return Ok(false);
        }
        let is_soft_expired = accounts
            .usage
            .charge(plaintext_bytes)
            .map_err(|_| DropReason::LifetimeExpired)?;
        accounts.verified.add(plaintext_bytes);
        Ok(is_soft_expired)
    }

    /// Updates the accounts.
    fn settle(&mut self) {
        let unaccounted = self.unaccounted();
        self.unaccounted_bytes = 0;
        let accounts = &mut *self.accounts;
        accounts.granted = self.leeway;
        accounts.usage.book(unaccounted.packets, unaccounted.bytes);
        accounts.verified = accounts.verified.plus(unaccounted);
    }

    /// Prefetches the memory behind it that [`admit`](Inbound::admit) reads.
    #[inline]
    pub fn look_ahead(&self) {
        self.window.prefetch();
    }

    /// Notes that a packet failed verification. Returns whether the next one
    /// is to be tried under other high halves, once `FAILURES_PER_SEARCH` more have failed
    /// ([`candidates`](Inbound::candidates)).
    #[cold]
    pub fn note_failure(&mut self) -> bool {
        if !self.format.esn {
            return false;
        }
        let highest = self.window.highest();
        let resync = &mut self.accounts.resync;
        if resync.highest != highest {
            *resync = Resync {
                highest,
                ..Resync::default()
            };
        }
        resync.failures += 1;
        resync.failures.is_multiple_of(FAILURES_PER_SEARCH)
    }

    /// The next numbers that a packet with this low half may have, if the sender
    /// is further ahead than the window shows (RFC 4303, appendix A3.2). All of
    /// them lie above the window, so that a packet which verifies under one of
    /// them is new.
    pub fn candidates(&mut self, sequence_low: u32) -> Vec<u64> {
        let highest = self.window.highest();
        let resync = &mut self.accounts.resync;
        let tried = resync.tried;
        resync.tried = match tried + TRIALS_PER_SEARCH {
            MOST_TRIALS.. => 0,
            tried => tried,
        };
        let high = u64::from(sequence::high_half(highest)) + u64::from(tried);
        (0..=u64::from(TRIALS_PER_SEARCH))
            .filter_map(|step| u32::try_from(high + step).ok())
            .map(|high| u64::from(high) << 32 | u64::from(sequence_low))
            .filter(|sequence| *sequence > highest)
            .take(TRIALS_PER_SEARCH as usize + 1)
            .collect()
    }

    /// Moves the window to a packet that verified under this number.
    pub fn resynchronize(&mut self, sequence: u64) {
        let size = self.accounts.parameters.replay_window;
        self.window = ReplayWindow::resume(size, sequence.saturating_sub(1));
        self.accounts.resync = Resync::default();
    }

    /// Notes that a packet which was accepted is dropped: something is wrong with
    /// what was inside.
    #[cold]
    pub fn refuse(&mut self, plaintext_bytes: u64) {
        self.accounts.refused.add(plaintext_bytes);
    }
}

/// As many packets as fit the count of them.
fn leeway(usage: &Usage) -> u32 {
    u32::try_from(usage.leeway()).unwrap_or(u32::MAX)
}

// What each packet takes is fetched ahead of it: two cache lines.
const _: () = assert!(size_of::<Option<Inbound>>() <= 128);

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbound")
            .field("parameters", &self.accounts.parameters)
            .field("highest", &self.window.highest())
            .finish_non_exhaustive()
    }
}
