//! The packets of a batch under CCM, whose kernels take them one part after the other.

use super::ccm::CcmKey;
use crate::cipher::Block;
use crate::verdict::tags_agree;

/// One packet.
pub(crate) struct CcmPacket<'a> {
    /// In the batch.
    pub(crate) index: usize,
    pub(crate) key: &'a CcmKey,
    /// 12 bytes of nonce, which end in the IV where the packet carries one, and zeros.
    pub(crate) nonce: Block,
    /// Authenticated, not encrypted.
    pub(crate) associated: &'a [u8],
    /// Encrypted or decrypted in place.
    pub(crate) text: &'a mut [u8],
    /// Written where packets are sealed, compared where they are opened.
    pub(crate) tag: &'a mut [u8],
    /// Whether the tag was written, or was right.
    pub(crate) is_good: bool,
}

impl CcmPacket<'_> {
    /// The IV that the packet carries: RFC 4106, section 4.
    #[inline]
    pub(crate) fn iv(&self) -> [u8; 8] {
        std::array::from_fn(|at| self.nonce[4 + at])
    }

    /// Takes the tag that was computed, behind which are zeros where the suite sends less of it.
    /// It is written, or compared with the received one in constant time.
    #[inline]
    pub(crate) fn finish(&mut self, open: bool, tag: &Block) {
        let sent = self.tag.len().min(tag.len());
        if open {
            let mut received = [0; 16];
            received[..sent].copy_from_slice(&self.tag[..sent]);
            self.is_good = tags_agree(&received, tag);
        } else {
            self.tag[..sent].copy_from_slice(&tag[..sent]);
            self.is_good = true;
        }
    }
}
