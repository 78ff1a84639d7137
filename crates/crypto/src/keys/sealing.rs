//! Keys that encrypt and tag.

use std::fmt;

use weir_simd::Tier;

use crate::engine::{Family, trusted_tier};
use crate::fault::JobFault;
use crate::frames;
use crate::job::Lengths;
use crate::kernel::{Kernel, Misshapen, SealKernel};
use crate::keys::counter::{Counter, Exhausted, Ticket};
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
    kernel: SealKernel,
    ivs: Ivs,
    counter: Counter,
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
    /// may be sealed before [`SealingKey::allow_until`] is called. A key's limit of
    /// packets ([`crate::Limits::packets`]) is one on its counter values, wherever it
    /// starts: those below `first` are packets of the same key.
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
            kernel: frames::cleared(|| Kernel::new(&material, tier, policy))?,
            ivs: frames::cleared(|| Ivs::new(&material, ivs, tier))?,
            counter: Counter::new(first, suite.limits().packets.most),
        })
    }

    /// Lets counter values below `end` be used. The caller has made sure that
    /// they will never be handed out again, also after a crash: for a static
    /// key, by writing `end` to a state file and syncing it. Values once
    /// allowed stay allowed.
    pub fn allow_until(&mut self, end: u64) {
        self.counter.allow_until(end);
    }

    /// Takes the next counter value.
    ///
    /// # Errors
    /// [`Exhausted`], and the counter stays where it is.
    #[inline]
    pub fn next_ticket(&mut self) -> Result<Ticket, Exhausted> {
        self.counter.next_ticket()
    }

    /// The suite of this key.
    #[inline]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The counter value that [`SealingKey::next_ticket`] would take.
    #[inline]
    pub fn next_counter(&self) -> u64 {
        self.counter.next()
    }

    /// How many more tickets the reservation holds.
    #[inline]
    pub fn reserved(&self) -> u64 {
        self.counter.reserved()
    }

    /// Whether the ticket was drawn from this key and has not been spent.
    #[inline]
    pub(crate) fn check_ticket(&self, ticket: &Ticket) -> Result<(), JobFault> {
        if self.counter.drew(ticket) {
            return Ok(());
        }
        Err(match ticket.is_spent() {
            true => JobFault::SpentTicket,
            false => JobFault::ForeignTicket,
        })
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
                *iv = ticket.counter().to_be_bytes();
                Ok(())
            }
            Ivs::Cbc(key) => key.write(ticket.counter(), iv),
        }
    }
}

impl Ivs {
    fn new(material: &KeyMaterial, source: IvSource, tier: Tier) -> Result<Ivs, KeyError> {
        let cipher = match material.suite() {
            Suite::EncryptThenMac(Cipher::AesCbc(size), _) => CbcCipher::Aes(size),
            Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => CbcCipher::TripleDes,
            Suite::EncryptThenMac(Cipher::Null | Cipher::AesCtr(_), _) | Suite::Aead(_) => {
                return Ok(Ivs::Counter);
            }
        };
        let key = CbcIvKey::new(source, cipher, material.cipher_key(), tier)?;
        Ok(Ivs::Cbc(Box::new(key)))
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey")
            .field("suite", &self.suite)
            .field("next", &self.counter.next())
            .field("allowed", &self.counter.allowed())
            .finish_non_exhaustive()
    }
}
