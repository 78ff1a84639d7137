//! Keys that encrypt and tag, and the counter that keeps their nonces apart.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::{Family, trusted_tier};
use crate::job::Lengths;
use crate::kernel::{Kernel, Misshapen, SealKernel};
use crate::keys::{KeyError, KeyMaterial, KeyPolicy};
use crate::mode::{CbcCipher, CbcIvKey};
use crate::suite::{Cipher, Suite};

/// Where the unpredictable IVs of CBC come from. Other modes count and take
/// nothing from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IvSource {
    /// A random key of their own, drawn from the operating system.
    Random,
    /// A key derived from the cipher's: the same counter values give the same
    /// IVs in every run, so that outputs can be compared in tests and
    /// examples. A run that repeats a counter with another text shows an
    /// observer where the two texts begin alike.
    RepeatableInsecure,
}

/// A key for encryption, expanded once. It owns the counter from which every
/// packet's IV is made, is neither `Clone` nor serializable, and is wiped when
/// dropped; `Debug` shows no secret.
pub struct SealingKey {
    suite: Suite,
    /// The suite's, kept at hand: every packet is held against them.
    lengths: Lengths,
    id: KeyId,
    kernel: SealKernel,
    ivs: Ivs,
    /// The next counter value to hand out.
    next: u64,
    /// Exclusive: how far the caller has reserved.
    allowed: u64,
    /// Exclusive: how far the suite's limit on packets reaches.
    limit: u64,
}

/// The right to seal one packet under one key with one counter value. Neither
/// `Clone` nor `Copy`; a [`crate::SealJob`] owns it and sealing spends it.
///
/// ```compile_fail,E0599
/// fn twice(ticket: weir_crypto::Ticket) -> [weir_crypto::Ticket; 2] {
///     [ticket.clone(), ticket]
/// }
/// ```
#[derive(PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Nobody's when it is spent.
    key: KeyId,
    counter: u64,
}

/// Tells the sealing keys of this process apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct KeyId(NonZeroU64);

/// A sealing key has no counter value to give.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Exhausted {
    /// More may be reserved: [`SealingKey::allow_until`].
    #[error("counter values are reserved up to {end} only: reserve more")]
    Reservation {
        /// The first value that is not reserved.
        end: u64,
    },
    /// The key has protected as many packets as its suite allows.
    #[error("the key has reached its limit of packets at counter {end}: rekey")]
    Key {
        /// The first value that the key may not use.
        end: u64,
    },
}

/// How a counter value becomes an IV.
enum Ivs {
    /// The value itself, big-endian, 8 bytes; or nothing for NULL.
    Counter,
    /// Its encryption.
    Cbc(Box<CbcIvKey>),
}

impl SealingKey {
    /// Expands `material` and starts to count at `first`, the lowest value
    /// that was never used under these keys: [`SealingKey::with_policy`] with
    /// [`KeyPolicy::Precomputed`].
    ///
    /// # Errors
    /// As there.
    pub fn new(material: KeyMaterial, first: u64, ivs: IvSource) -> Result<SealingKey, KeyError> {
        SealingKey::with_policy(material, first, ivs, KeyPolicy::Precomputed)
    }

    /// Expands `material` as far as `policy` says, and starts to count at
    /// `first`, the lowest value that was never used under these keys. Nothing
    /// may be sealed before [`SealingKey::allow_until`] is called.
    ///
    /// # Errors
    /// [`KeyError::Entropy`] where random IVs were asked for and the operating
    /// system gave no random bytes; [`KeyError::NoEngine`].
    pub fn with_policy(
        material: KeyMaterial,
        first: u64,
        ivs: IvSource,
        policy: KeyPolicy,
    ) -> Result<SealingKey, KeyError> {
        let suite = material.suite();
        let tier = trusted_tier(Family::of(suite)).ok_or(KeyError::NoEngine)?;
        Ok(SealingKey {
            suite,
            lengths: Lengths::of(suite),
            id: KeyId::unique(),
            kernel: Kernel::new(&material, tier, policy)?,
            ivs: Ivs::new(&material, ivs)?,
            next: first,
            allowed: first,
            limit: first.saturating_add(suite.limits().packets.most),
        })
    }

    /// Lets counter values below `end` be used. The caller has made sure that
    /// they will never be handed out again, also after a crash: for a static
    /// key, by writing `end` to a state file and syncing it. Values once
    /// allowed stay allowed.
    pub fn allow_until(&mut self, end: u64) {
        self.allowed = self.allowed.max(end);
    }

    /// Takes the next counter value.
    ///
    /// # Errors
    /// [`Exhausted`], and the counter stays where it is.
    #[inline]
    pub fn next_ticket(&mut self) -> Result<Ticket, Exhausted> {
        if self.next >= self.limit {
            return Err(Exhausted::Key { end: self.limit });
        }
        if self.next >= self.allowed {
            return Err(Exhausted::Reservation { end: self.allowed });
        }
        let counter = self.next;
        self.next += 1;
        Ok(Ticket {
            key: self.id,
            counter,
        })
    }

    /// The suite of this key.
    #[inline]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The counter value that [`SealingKey::next_ticket`] would take.
    #[inline]
    pub fn next_counter(&self) -> u64 {
        self.next
    }

    /// How many more tickets the reservation holds.
    #[inline]
    pub fn reserved(&self) -> u64 {
        self.allowed.min(self.limit).saturating_sub(self.next)
    }

    #[inline]
    pub(crate) fn lengths(&self) -> Lengths {
        self.lengths
    }

    #[inline]
    pub(crate) fn kernel(&self) -> &SealKernel {
        &self.kernel
    }

    #[inline]
    pub(crate) fn write_iv(&self, ticket: &Ticket, iv: &mut [u8]) -> Result<(), Misshapen> {
        match &self.ivs {
            Ivs::Counter if iv.is_empty() => Ok(()),
            Ivs::Counter => {
                let iv: &mut [u8; 8] = iv.try_into().map_err(|_| Misshapen)?;
                *iv = ticket.counter.to_be_bytes();
                Ok(())
            }
            Ivs::Cbc(key) => key.write(ticket.counter, iv),
        }
    }
}

impl Ivs {
    fn new(material: &KeyMaterial, source: IvSource) -> Result<Ivs, KeyError> {
        let cipher = match material.suite() {
            Suite::EncryptThenMac(Cipher::AesCbc(size), _) => CbcCipher::Aes(size),
            Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => CbcCipher::TripleDes,
            Suite::EncryptThenMac(Cipher::Null | Cipher::AesCtr(_), _) | Suite::Aead(_) => {
                return Ok(Ivs::Counter);
            }
        };
        let key = CbcIvKey::new(source, cipher, material.cipher_key())?;
        Ok(Ivs::Cbc(Box::new(key)))
    }
}

impl Ticket {
    /// The counter value, which is also ESP's (extended) sequence number.
    #[inline]
    pub fn counter(&self) -> u64 {
        self.counter
    }

    #[inline]
    pub(crate) fn is_of(&self, key: &SealingKey) -> bool {
        self.key == key.id
    }

    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.key == KeyId::NOBODY
    }

    #[inline]
    pub(crate) fn spend(&mut self) {
        self.key = KeyId::NOBODY;
    }
}

impl KeyId {
    /// No key has it: 2⁶⁴ - 1 keys are more than a process can make.
    const NOBODY: KeyId = KeyId(NonZeroU64::MAX);

    fn unique() -> KeyId {
        static MADE: AtomicU64 = AtomicU64::new(0);
        KeyId(NonZeroU64::MIN.saturating_add(MADE.fetch_add(1, Ordering::Relaxed)))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey")
            .field("suite", &self.suite)
            .field("next", &self.next)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}
