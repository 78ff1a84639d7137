//! Four packets: their keys, counters and texts, one per lane.
//!
//! Text is loaded and stored four blocks of one packet at a time, and
//! transposed on the way; partial blocks are masked.

use std::arch::x86_64::*;
use std::ptr;

use super::super::super::super::packet::Packet;
use super::super::field::{hash_keys, reverse};
use super::super::schedules::{join, round_keys};
use super::super::{has_raw_key, load_raw, nonce, transpose, wipe_vectors};
use super::{CHUNK, LANES};
use crate::cipher::{MOST_ROUND_KEYS, rounds};
use crate::suite::AesKeySize;

/// Where the texts of a step begin and end.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shape {
    /// Chunks up to the one with which all texts end.
    pub(super) chunks: usize,
    most_bytes: usize,
    fewest_bytes: usize,
    /// Bits that any text's length has.
    bytes_bits: usize,
    /// Of the first packet.
    associated_bytes: usize,
    /// Bits in which another packet's differ from these.
    associated_difference: usize,
    /// The most empty slots of any lane.
    most_empty: usize,
}

impl Shape {
    /// Of a step that these packets are the first of. A lane without a packet
    /// has no text.
    #[inline(always)]
    pub(super) fn begin(packets: &[Packet<'_>; LANES], has_absent: bool) -> Shape {
        let [first, ..] = packets;
        Shape {
            most_bytes: first.text.len(),
            fewest_bytes: if has_absent { 0 } else { first.text.len() },
            associated_bytes: first.associated.len(),
            ..Shape::default()
        }
    }

    /// Takes in four packets.
    #[inline(always)]
    pub(super) fn add(&mut self, packets: &[Packet<'_>; LANES]) {
        let [a, b, c, d] = packets;
        self.add_one(a);
        self.add_one(b);
        self.add_one(c);
        self.add_one(d);
    }

    #[inline(always)]
    fn add_one(&mut self, packet: &Packet<'_>) {
        let bytes = packet.text.len();
        self.most_bytes = self.most_bytes.max(bytes);
        self.fewest_bytes = self.fewest_bytes.min(bytes);
        self.bytes_bits |= bytes;
        self.associated_difference |= packet.associated.len() ^ self.associated_bytes;
    }

    /// Settles with which chunk all texts end.
    #[inline(always)]
    pub(super) fn close(&mut self) {
        self.chunks = self.most_bytes.div_ceil(CHUNK).max(1);
        self.most_empty = 4 * self.chunks - self.fewest_bytes.div_ceil(16);
    }

    /// Whether all have as much text and associated data.
    #[inline(always)]
    fn is_uniform(&self) -> bool {
        self.most_bytes == self.fewest_bytes && self.associated_difference == 0
    }

    /// Whether groups of this shape may take what was found out about `before`.
    #[inline(always)]
    pub(super) fn is_that_of(&self, before: &Shape) -> bool {
        self.is_uniform() && self == before
    }

    /// Whether all lanes of a chunk are text.
    #[inline(always)]
    fn is_whole(&self, chunk: usize) -> bool {
        let ends_within = !self.bytes_bits.is_multiple_of(16) && chunk + 1 == self.chunks;
        self.most_empty <= 4 * chunk && !ends_within
    }
}

/// One lane's text.
#[derive(Clone, Copy)]
struct Text {
    at: *mut u8,
    bytes: usize,
    /// Bytes of the empty slots in front of it.
    empty_bytes: usize,
}

impl Text {
    /// Of a packet that is in a lane, or stands in for one that is absent:
    /// nothing of its text is loaded or stored, but the addresses are its own.
    /// What a mask leaves out must be memory, or each access takes a thousand
    /// cycles.
    #[inline(always)]
    fn of(shape: &Shape, packet: &Packet<'_>, is_there: bool) -> Text {
        let bytes = packet.text.len();
        Text {
            at: ptr::dangling_mut(),
            bytes: if is_there { bytes } else { 0 },
            empty_bytes: CHUNK * shape.chunks - bytes.next_multiple_of(16),
        }
    }

    /// Where a chunk lies, if all of it is there.
    #[inline(always)]
    fn chunk_at(&self, chunk: usize) -> *mut u8 {
        self.at
            .wrapping_sub(self.empty_bytes)
            .wrapping_add(CHUNK * chunk)
    }

    /// What of a chunk there is.
    #[inline(always)]
    fn mask(&self, chunk: usize) -> __mmask64 {
        let below = |bytes: isize| match bytes {
            ..=0 => 0,
            1..64 => (1 << bytes) - 1,
            _ => u64::MAX,
        };
        let first = self.empty_bytes as isize - (CHUNK * chunk) as isize;
        below(first + self.bytes as isize) & !below(first)
    }
}

/// Four packets under way.
pub(super) struct Group {
    /// The hash key and the round keys, one packet's per lane. Of raw AES-128
    /// keys, which are expanded round by round, the hash key is computed along
    /// with the first blocks.
    pub(super) keys: [__m512i; 1 + MOST_ROUND_KEYS],
    texts: [Text; LANES],
    /// Which bytes of a block are associated data.
    heads: [__mmask16; LANES],
    /// Counters of the first slot.
    first_counters: __m512i,
    nonces: __m512i,
    /// Counter blocks of the next chunk's first slot.
    counters: __m512i,
    /// Empty slots, in every word of a lane.
    empty: __m512i,
    /// Elements of the associated data and of the lengths.
    associated: __m512i,
    pub(super) lengths: __m512i,
}

impl Group {
    pub(super) const fn new() -> Group {
        // SAFETY: a vector of zeros is a vector.
        let zero: __m512i = unsafe { std::mem::zeroed() };
        Group {
            keys: [zero; 1 + MOST_ROUND_KEYS],
            texts: [Text {
                at: ptr::dangling_mut(),
                bytes: 0,
                empty_bytes: 0,
            }; LANES],
            heads: [0; LANES],
            first_counters: zero,
            nonces: zero,
            counters: zero,
            empty: zero,
            associated: zero,
            lengths: zero,
        }
    }

    /// Lets the texts of these packets, as many as are there, and of others of
    /// their lengths end with the others of their step.
    ///
    /// It is always inlined, since vectors cross a call through memory, and so
    /// has no features of its own.
    ///
    /// # Safety
    /// The caller has the features of [`super::run`].
    #[inline(always)]
    pub(super) unsafe fn end_with(
        &mut self,
        shape: &Shape,
        packets: &[Packet<'_>; LANES],
        there: usize,
    ) {
        let [a, b, c, d] = packets;
        self.texts = [
            Text::of(shape, a, there > 0),
            Text::of(shape, b, there > 1),
            Text::of(shape, c, there > 2),
            Text::of(shape, d, there > 3),
        ];
        self.heads = [head(a), head(b), head(c), head(d)];
        // SAFETY: the caller's.
        unsafe {
            let lengths = join([lengths(a), lengths(b), lengths(c), lengths(d)]);
            let bytes = _mm512_shuffle_epi32::<0>(lengths);
            let blocks = _mm512_srli_epi32::<4>(_mm512_add_epi32(bytes, _mm512_set1_epi32(15)));
            self.empty = _mm512_sub_epi32(_mm512_set1_epi32(4 * shape.chunks as i32), blocks);
            self.lengths = _mm512_slli_epi64::<3>(lengths);
            // The counter is a word, of which only the last byte is not zero.
            let first = _mm512_sub_epi32(_mm512_set1_epi32(2), self.empty);
            self.first_counters = _mm512_slli_epi32::<24>(first);
        }
    }

    /// Loads four packets of the lengths given to [`Group::end_with`] and returns those
    /// whose keys exist; the plaintext of the others is lost.
    ///
    /// # Safety
    /// As for [`Group::end_with`].
    #[inline(always)]
    pub(super) unsafe fn load<const ON_THE_FLY: bool>(
        &mut self,
        size: AesKeySize,
        packets: &[Packet<'_>; LANES],
    ) -> Keyed {
        let [a, b, c, d] = packets;
        // SAFETY: the caller's; masks cover no more than the associated data.
        unsafe {
            let [at_a, at_b, at_c, at_d] = &mut self.texts;
            at_a.at = text_of(a);
            at_b.at = text_of(b);
            at_c.at = text_of(c);
            at_d.at = text_of(d);
            self.nonces = join([nonce(a), nonce(b), nonce(c), nonce(d)]);
            self.counters = _mm512_mask_mov_epi32(self.nonces, 0x8888, self.first_counters);
            let [a_head, b_head, c_head, d_head] = self.heads;
            self.associated = reverse(join([
                _mm_maskz_loadu_epi8(a_head, a.associated.as_ptr().cast()),
                _mm_maskz_loadu_epi8(b_head, b.associated.as_ptr().cast()),
                _mm_maskz_loadu_epi8(c_head, c.associated.as_ptr().cast()),
                _mm_maskz_loadu_epi8(d_head, d.associated.as_ptr().cast()),
            ]));
            if ON_THE_FLY {
                let keys = [raw_128(a), raw_128(b), raw_128(c), raw_128(d)];
                self.keys[1] = join(keys);
                raw_keyed(size, packets)
            } else {
                self.expand(size, packets)
            }
        }
    }

    /// Expands the keys in lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
    fn expand(&mut self, size: AesKeySize, packets: &[Packet<'_>; LANES]) -> Keyed {
        let [a, b, c, d] = packets;
        let mut raw = [
            load_raw(a.key, size),
            load_raw(b.key, size),
            load_raw(c.key, size),
            load_raw(d.key, size),
        ];
        let [hash_key, keys @ ..] = &mut self.keys;
        round_keys(size, &raw, keys);
        let rounds = rounds(size);
        let mut zero = keys[0];
        for key in &keys[1..rounds] {
            zero = _mm512_aesenc_epi128(zero, *key);
        }
        *hash_key = hash_keys(_mm512_aesenclast_epi128(zero, keys[rounds]));
        wipe_vectors(raw.as_flattened_mut());
        raw_keyed(size, packets)
    }

    #[inline(always)]
    pub(super) fn hash_key(&self) -> __m512i {
        self.keys[0]
    }

    #[inline(always)]
    pub(super) fn round_key(&self, round: usize) -> __m512i {
        self.keys[1 + round]
    }

    /// Clears the keys, by writes that the compiler may not leave out.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn wipe(&mut self) {
        for key in &mut self.keys {
            // SAFETY: the reference is valid for writes.
            unsafe { ptr::write_volatile(key, _mm512_setzero_si512()) };
        }
    }

    /// The tag's counter block, with the first round key added.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn tag_block(&self) -> __m512i {
        let one = _mm512_set1_epi32(1 << 24);
        let block = _mm512_mask_mov_epi32(self.nonces, 0x8888, one);
        _mm512_xor_si512(block, self.round_key(0))
    }

    /// Counter blocks of the next chunk, with the first round key added.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn counter_blocks(&mut self) -> [__m512i; 4] {
        let first = self.counters;
        let slot = |slot| _mm512_add_epi32(first, _mm512_set4_epi32(slot << 24, 0, 0, 0));
        self.counters = slot(4);
        let key = self.round_key(0);
        [
            _mm512_xor_si512(first, key),
            _mm512_xor_si512(slot(1), key),
            _mm512_xor_si512(slot(2), key),
            _mm512_xor_si512(slot(3), key),
        ]
    }

    /// The lanes whose associated data comes at `slot`, counted from s₀.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn starting(&self, slot: usize) -> __mmask16 {
        _mm512_cmpeq_epi32_mask(self.empty, _mm512_set1_epi32(slot as i32))
    }

    /// The element of slot s₀.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn first_element(&self) -> __m512i {
        _mm512_maskz_mov_epi32(self.starting(0), self.associated)
    }

    /// Adds the key stream to a chunk of every text and returns the chunk's
    /// elements for the hash, with associated data where a text is about to
    /// begin.
    ///
    /// # Safety
    /// As for [`Group::load`]; the texts are borrowed.
    #[inline(always)]
    pub(super) unsafe fn apply<const OPEN: bool>(
        &self,
        shape: &Shape,
        chunk: usize,
        key_stream: [__m512i; 4],
    ) -> [__m512i; 4] {
        // SAFETY: the caller's; the chunk, or what a mask covers of it, is text.
        unsafe {
            let key_stream = transpose(key_stream);
            let mut hashed = [_mm512_setzero_si512(); LANES];
            if shape.is_whole(chunk) {
                for lane in 0..LANES {
                    let at = self.texts[lane].chunk_at(chunk);
                    let input = _mm512_loadu_si512(at.cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    _mm512_storeu_si512(at.cast(), output);
                    hashed[lane] = if OPEN { input } else { output };
                }
            } else {
                let mut mask = self.texts[0].mask(chunk);
                for lane in 0..LANES {
                    let text = self.texts[lane];
                    if !shape.is_uniform() {
                        mask = text.mask(chunk);
                    }
                    let at = text.chunk_at(chunk);
                    let input = _mm512_maskz_loadu_epi8(mask, at.cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    let output = _mm512_maskz_mov_epi8(mask, output);
                    _mm512_mask_storeu_epi8(at.cast(), mask, output);
                    hashed[lane] = if OPEN { input } else { output };
                }
            }
            let mut elements = transpose(hashed);
            for element in &mut elements {
                *element = reverse(*element);
            }
            // Slot s₀ is the first, x₀ the second.
            if 4 * chunk < shape.most_empty {
                for (slot, element) in elements.iter_mut().enumerate() {
                    let starting = self.starting(4 * chunk + slot + 1);
                    *element = _mm512_mask_mov_epi32(*element, starting, self.associated);
                }
            }
            elements
        }
    }
}

/// Which of four packets have their keys, a bit for each lane.
pub(super) type Keyed = u8;

#[inline(always)]
pub(super) fn keyed(lanes: [bool; LANES]) -> Keyed {
    let [a, b, c, d] = lanes.map(Keyed::from);
    a | b << 1 | c << 2 | d << 3
}

/// Of raw keys. Their lengths say it, and nothing that was loaded of them.
#[inline(always)]
fn raw_keyed(size: AesKeySize, packets: &[Packet<'_>; LANES]) -> Keyed {
    let [a, b, c, d] = packets;
    keyed([
        has_raw_key(a.key, size),
        has_raw_key(b.key, size),
        has_raw_key(c.key, size),
        has_raw_key(d.key, size),
    ])
}

/// A packet's raw key of AES-128; zeros where there is none.
#[inline]
#[target_feature(enable = "sse2")]
fn raw_128(packet: &Packet<'_>) -> __m128i {
    match packet.key.first_chunk::<16>() {
        // SAFETY: 16 bytes are readable.
        Some(key) => unsafe { _mm_loadu_si128(key.as_ptr().cast()) },
        None => _mm_setzero_si128(),
    }
}

/// Where a packet's text is written to.
#[inline(always)]
fn text_of(packet: &Packet<'_>) -> *mut u8 {
    packet.text.as_ptr().cast::<u8>().cast_mut()
}

/// The bytes of a block that a packet's associated data fills.
#[inline(always)]
fn head(packet: &Packet<'_>) -> __mmask16 {
    ((1u32 << packet.associated.len().min(16)) - 1) as __mmask16
}

/// How many bytes of text and of associated data a packet has.
#[inline]
#[target_feature(enable = "sse2")]
fn lengths(packet: &Packet<'_>) -> __m128i {
    _mm_set_epi64x(packet.associated.len() as i64, packet.text.len() as i64)
}
