//! The calls into `c/gcm_lanes.c`, as a safe type.

#![allow(unsafe_code)]

use std::hint::black_box;

use crate::cipher::comparison::Refused;
use crate::instructions;

unsafe extern "C" {
    fn weir_prototype_gcm_seal_64(batch: *const CBatch);
    fn weir_prototype_gcm_seal(batch: *const CBatch);
}

/// `struct gcm_batch` of `c/gcm_lanes.c`.
#[repr(C)]
struct CBatch {
    keys: *const [u8; 16],
    key_numbers: *const u32,
    nonces: *const [u8; 16],
    associated: *const [u8; 16],
    texts: *mut Line,
    stride: usize,
    text_bytes: usize,
    tags: *mut [u8; 16],
    count: usize,
}

/// 64 bytes of a text, aligned as the kernels require it.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

const LINE_BYTES: usize = 64;

/// Packets that the kernels work on together.
const GROUP_PACKETS: usize = 8;

/// Packets of one length in the arrays that the kernels take, with raw keys. Arrays
/// are as long as whole groups; what stands behind the last packet is worked on too.
pub struct LanePackets {
    raw_keys: Vec<[u8; 16]>,
    /// Lines of a text, and one line between texts, so that their addresses do not
    /// all fall into the same sets of the caches.
    text_lines: usize,
    stride_lines: usize,
    count: usize,
    key_numbers: Vec<u32>,
    nonces: Vec<[u8; 16]>,
    associated: Vec<[u8; 16]>,
    texts: Vec<Line>,
    tags: Vec<[u8; 16]>,
}

impl LanePackets {
    /// No packets yet. Texts will have `text_bytes` bytes, of whole lines.
    pub fn new(raw_keys: Vec<[u8; 16]>, text_bytes: usize) -> LanePackets {
        let text_lines = text_bytes / LINE_BYTES;
        LanePackets {
            raw_keys,
            text_lines,
            stride_lines: text_lines + 1,
            count: 0,
            key_numbers: Vec::new(),
            nonces: Vec::new(),
            associated: Vec::new(),
            texts: Vec::new(),
            tags: Vec::new(),
        }
    }

    /// Removes all packets.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a packet under the key of this number, with 8 bytes of associated data.
    pub fn push(
        &mut self,
        key: usize,
        nonce: [u8; 12],
        associated: &[u8],
        text: &[u8],
    ) -> Result<(), Refused> {
        let associated: &[u8; 8] = associated.try_into().map_err(|_| Refused)?;
        if key >= self.raw_keys.len() || text.len() != self.text_lines * LINE_BYTES {
            return Err(Refused);
        }
        let index = self.count;
        self.count += 1;
        self.grow(self.count.next_multiple_of(GROUP_PACKETS));
        self.key_numbers[index] = u32::try_from(key).map_err(|_| Refused)?;
        self.nonces[index][..12].copy_from_slice(&nonce);
        self.associated[index][..8].copy_from_slice(associated);
        let lines = &mut self.texts[index * self.stride_lines..][..self.text_lines];
        for (line, bytes) in lines.iter_mut().zip(text.chunks_exact(LINE_BYTES)) {
            line.0.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Reads all arrays, which brings short texts into the L1 cache.
    pub fn read_all(&self) {
        black_box(self.texts.iter().fold(0, |any, line| any | line.0[0]));
        for array in [&self.nonces, &self.associated, &self.tags] {
            black_box(array.iter().fold(0, |any, block| any | block[0]));
        }
        black_box(self.key_numbers.iter().fold(0, |any, number| any | number));
    }

    /// Makes all arrays at least as long as this many packets.
    fn grow(&mut self, count: usize) {
        if self.key_numbers.len() < count {
            self.key_numbers.resize(count, 0);
            self.nonces.resize(count, [0; 16]);
            self.associated.resize(count, [0; 16]);
            self.tags.resize(count, [0; 16]);
            self.texts
                .resize(count * self.stride_lines, Line([0; LINE_BYTES]));
        }
    }

    /// Copies the text and the tag of a packet.
    pub fn read(&self, index: usize, text: &mut [u8], tag: &mut [u8]) -> Result<(), Refused> {
        let lines = self.texts.get(index * self.stride_lines..).ok_or(Refused)?;
        for (bytes, line) in text.chunks_exact_mut(LINE_BYTES).zip(lines) {
            bytes.copy_from_slice(&line.0);
        }
        tag.copy_from_slice(self.tags.get(index).ok_or(Refused)?);
        Ok(())
    }

    /// Seals all packets with the kernel for texts of 64 bytes.
    #[inline]
    pub fn seal_64(&mut self) -> Result<(), Refused> {
        if self.text_lines != 1 {
            return Err(Refused);
        }
        self.run(weir_prototype_gcm_seal_64)
    }

    /// Seals all packets with the kernel for any multiple of 64 bytes.
    #[inline]
    pub fn seal(&mut self) -> Result<(), Refused> {
        self.run(weir_prototype_gcm_seal)
    }

    #[inline]
    fn run(&mut self, kernel: unsafe extern "C" fn(*const CBatch)) -> Result<(), Refused> {
        if !instructions::prototype_runs() || self.raw_keys.is_empty() {
            return Err(Refused);
        }
        let batch = CBatch {
            keys: self.raw_keys.as_ptr(),
            key_numbers: self.key_numbers.as_ptr(),
            nonces: self.nonces.as_ptr(),
            associated: self.associated.as_ptr(),
            texts: self.texts.as_mut_ptr(),
            stride: self.stride_lines * LINE_BYTES,
            text_bytes: self.text_lines * LINE_BYTES,
            tags: self.tags.as_mut_ptr(),
            count: self.count.next_multiple_of(GROUP_PACKETS),
        };
        // SAFETY: the processor has the instructions, by the check above; `grow` made
        // all arrays as long as whole groups of packets, texts and tags are borrowed
        // mutably, lines are aligned to 64 bytes, and key numbers lie within the raw
        // keys, by the check in `push` or because they are 0.
        unsafe { kernel(&batch) }
        Ok(())
    }
}
