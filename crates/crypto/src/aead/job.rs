//! What modes other than GCM, whose jobs have a form of their own, see of a
//! batch.

use weir_simd::Tier;

use super::ccm::{self, CcmKey};
use super::gcm;
use super::mac_suite::{self, MacSuiteKey};
use super::ocb3::{self, Ocb3Key};
use crate::cipher::Block;
use crate::engine::Family;
use crate::frames;

/// A job of a batch, which may be of another algorithm.
pub(crate) trait AeadJob {
    /// Whether packets are opened, not sealed.
    const OPEN: bool;

    /// The job's packet; `None` where it is of no mode of [`AeadKey`], or was
    /// refused.
    fn packet(&mut self) -> Option<Parts<'_>>;

    /// The same, just before the packet is processed, with whatever is still to
    /// be done about it first; for modes that look at a packet once.
    #[inline]
    fn begin(&mut self) -> Option<Parts<'_>> {
        self.packet()
    }

    /// Takes the tag that was computed for the packet, or the tag and zeros where
    /// the suite's is shorter. Where packets are
    /// sealed, it is the packet's tag; where they are opened, it is compared in
    /// constant time with the one received, and the text, which has been
    /// decrypted, is cleared unless they are equal.
    fn finish(&mut self, tag: &Block);
}

/// One packet.
pub(crate) struct Parts<'a> {
    pub(crate) key: AeadKey<'a>,
    pub(crate) iv: [u8; 8],
    /// Authenticated, not encrypted.
    pub(crate) associated: &'a [u8],
    /// Encrypted or decrypted in place.
    pub(crate) text: &'a mut [u8],
}

/// Writes a tag, or as much of it as the suite sends.
#[inline]
pub(crate) fn write_tag(place: &mut [u8], tag: &Block) {
    match place.first_chunk_mut() {
        Some(place) => *place = *tag,
        None => place.copy_from_slice(&tag[..place.len()]),
    }
}

/// Whether a received tag is the computed one, which has zeros behind what the
/// suite sends; in constant time.
#[inline]
pub(crate) fn tag_agrees(received: &[u8], computed: &Block) -> bool {
    let mut padded = [0; 16];
    let Some(place) = padded.get_mut(..received.len()) else {
        return false;
    };
    place.copy_from_slice(received);
    gcm::tags_agree(&padded, computed)
}

/// A key of one of the modes.
#[derive(Clone, Copy)]
pub(crate) enum AeadKey<'a> {
    Ocb3(&'a Ocb3Key),
    Ccm(&'a CcmKey),
    MacSuite(&'a MacSuiteKey),
}

/// Which of the modes a batch has packets of.
#[derive(Clone, Copy, Default)]
pub(crate) struct Modes(u8);

impl Modes {
    /// Adds the mode of a key, if it is one of these.
    #[inline]
    pub(crate) fn add(&mut self, key: Option<AeadKey<'_>>) {
        self.0 |= match key {
            None => 0,
            Some(AeadKey::Ocb3(_)) => Self::OCB3,
            Some(AeadKey::Ccm(_)) => Self::CCM,
            Some(AeadKey::MacSuite(_)) => Self::MAC_SUITE,
        };
    }

    const OCB3: u8 = 1;
    const CCM: u8 = 2;
    const MAC_SUITE: u8 = 4;

    fn has(self, mode: u8) -> bool {
        self.0 & mode != 0
    }
}

/// Seals or opens the packets of `modes` among `jobs` with the kernels of the
/// tiers that `tier` says.
pub(crate) fn process<J: AeadJob>(tier: impl Fn(Family) -> Tier, modes: Modes, jobs: &mut [J]) {
    if modes.has(Modes::OCB3) {
        ocb3::process(tier(Family::Ocb3), jobs);
    }
    if modes.has(Modes::CCM) {
        ccm::process(tier(Family::Ccm), jobs);
    }
    if modes.has(Modes::MAC_SUITE) {
        frames::cleared(|| mac_suite::process(tier, jobs));
    }
}
