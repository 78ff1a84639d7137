//! Keys: ChaCha20 takes them as they are.

use crate::kernel::InvalidLength;
use crate::simd::wipe;

/// A key, which a vector of 32 bytes loads from one cache line. In a box of its own, and
/// wiped when dropped.
#[repr(C, align(32))]
pub(crate) struct ChaCha20Poly1305Key([u8; 32]);

impl ChaCha20Poly1305Key {
    /// Of 32 bytes.
    pub(crate) fn new(bytes: &[u8]) -> Result<Box<ChaCha20Poly1305Key>, InvalidLength> {
        let bytes: &[u8; 32] = bytes.try_into().map_err(|_| InvalidLength)?;
        // Filled where it stays: to move it would leave a copy behind.
        let mut key = Box::new(ChaCha20Poly1305Key([0; 32]));
        key.0.copy_from_slice(bytes);
        Ok(key)
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Drop for ChaCha20Poly1305Key {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}
