//! Packets of at most one chunk, all of the same lengths, under raw keys of AES-128: they are
//! taken from the columns of their batch as they lie there. Nothing is found out about a packet
//! by itself, and no round key is kept.

use std::arch::x86_64::*;

use super::super::super::super::batch::{Columns, Task};
use super::super::field::{hash_keys, in_order, reverse};
use super::super::schedules::join;
use super::super::{aes_round, transpose};
use super::group::{Keyed, keyed};
use super::hash::{Hash, NOTHING, REST};
use super::{CHUNK, FLIGHT, LANES, aes_last_round};
use crate::batch::Verdicts;
use crate::cipher::simd::{ROUND_CONSTANTS, next_128_lanes};
use crate::impossible::{Impossible, happens};
use crate::verdict::publish_lanes;

/// What all packets have in common.
struct Shape {
    /// Bytes of a chunk in front of the text, which ends with the chunk.
    empty_bytes: usize,
    /// Bytes of the chunk that are text, and bytes of a block that are associated data.
    text: __mmask64,
    associated: __mmask16,
    /// The element that is the associated data: the one before the text.
    associated_at: [__mmask8; 5],
    /// Counter blocks of the tag and of the chunk, without a nonce.
    counters: [__m512i; 5],
    /// The element of the lengths.
    lengths: __m512i,
}

/// Processes whole flights of packets and returns how many packets they were.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run<const OPEN: bool>(task: &mut Task<'_, '_>) -> usize {
    const PACKETS: usize = FLIGHT * LANES;
    let Some((columns, verdicts)) = task.uniform() else {
        return 0;
    };
    let Some(first) = columns.cells.places.first() else {
        return 0;
    };
    let is_in_buffer = |end: usize| end <= columns.cells.buffer.len();
    let is_sound = columns
        .cells
        .places
        .iter()
        .all(|place| place.is_like(*first) && is_in_buffer(place.end()));
    if !is_sound || first.payload_bytes() > CHUNK || first.aad_bytes() > 16 {
        return 0;
    }
    let shape = Shape::new(first.payload_bytes(), first.aad_bytes());
    let flights = columns.cells.places.len() / PACKETS;
    let mut hashes = [Hash::nothing(); FLIGHT];
    let mut keyed_before: [Keyed; FLIGHT] = [0; FLIGHT];
    for flight in 0..flights {
        let position = PACKETS * flight;
        // SAFETY: these are this function's features, and there are two groups of packets from
        // this position on, which lie in the buffer and have these lengths.
        unsafe {
            let (one, one_keyed) = Group::load(columns, &shape, position);
            let (two, two_keyed) = Group::load(columns, &shape, position + LANES);
            let mut states = [one.states(&shape), two.states(&shape)];
            if flight == 0 {
                encipher::<NOTHING>([one.keys, two.keys], &mut states, &mut hashes);
            } else {
                encipher::<REST>([one.keys, two.keys], &mut states, &mut hashes);
                let before = position - PACKETS;
                finish::<OPEN>(columns, verdicts, before, &hashes, keyed_before);
            }
            keyed_before = [one_keyed, two_keyed];
            hashes = [
                one.apply::<OPEN>(&shape, states[0]),
                two.apply::<OPEN>(&shape, states[1]),
            ];
        }
    }
    if flights > 0 {
        // SAFETY: these are this function's features.
        unsafe {
            hashes[0].finish();
            hashes[1].finish();
            let last = PACKETS * (flights - 1);
            finish::<OPEN>(columns, verdicts, last, &hashes, keyed_before);
        }
    }
    PACKETS * flights
}

impl Shape {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(text_bytes: usize, associated_bytes: usize) -> Shape {
        let empty = LANES - text_bytes.div_ceil(16);
        let text = match text_bytes {
            0 => 0,
            CHUNK => u64::MAX,
            bytes => ((1 << bytes) - 1) << (16 * empty),
        };
        let counter = |number: usize| _mm512_set4_epi32((number as i32) << 24, 0, 0, 0);
        let slot = |slot: usize| counter((2 + slot).saturating_sub(empty));
        Shape {
            empty_bytes: 16 * empty,
            text,
            associated: ((1u32 << associated_bytes) - 1) as __mmask16,
            associated_at: std::array::from_fn(|at| if at == empty { 0xff } else { 0 }),
            counters: [counter(1), slot(0), slot(1), slot(2), slot(3)],
            lengths: _mm512_set4_epi32(0, 8 * associated_bytes as i32, 0, 8 * text_bytes as i32),
        }
    }
}

/// Four packets, one per lane.
#[derive(Clone, Copy)]
struct Group {
    keys: __m512i,
    nonces: __m512i,
    associated: __m512i,
    texts: [*mut u8; LANES],
}

impl Group {
    /// # Safety
    /// The caller has the features of [`run`]. There are four packets from `position` on, which
    /// lie in the buffer and have the lengths of `shape`.
    #[inline(always)]
    unsafe fn load(columns: &Columns<'_>, shape: &Shape, position: usize) -> (Group, Keyed) {
        let buffer = columns.cells.buffer.as_ptr().cast::<u8>().cast_mut();
        let place = |lane: usize| columns.cells.places[position + lane];
        // SAFETY: the caller's; the mask covers no more than the associated data.
        let associated = |lane: usize| unsafe {
            let at = buffer.wrapping_add(place(lane).offset());
            _mm_maskz_loadu_epi8(shape.associated, at.cast())
        };
        let raw = |lane: usize| {
            let key: &[u8] = columns.keys.get(position + lane)?;
            let key = key.as_array::<16>()?;
            // SAFETY: 16 bytes are readable.
            (!happens(Impossible::NoKey)).then(|| unsafe { _mm_loadu_si128(key.as_ptr().cast()) })
        };
        let text = |lane: usize| {
            let at = buffer.wrapping_add(place(lane).payload().start);
            at.wrapping_sub(shape.empty_bytes)
        };
        let raw = [raw(0), raw(1), raw(2), raw(3)];
        let is_keyed = keyed(raw.map(|key| key.is_some()));
        // SAFETY: the caller's; four nonces are readable from the position on.
        unsafe {
            let none = _mm_setzero_si128();
            let [a, b, c, d] = raw;
            let nonces = &columns.cells.nonces[position..position + LANES];
            let group = Group {
                keys: join([
                    a.unwrap_or(none),
                    b.unwrap_or(none),
                    c.unwrap_or(none),
                    d.unwrap_or(none),
                ]),
                nonces: _mm512_loadu_si512(nonces.as_ptr().cast()),
                associated: reverse(join([
                    associated(0),
                    associated(1),
                    associated(2),
                    associated(3),
                ])),
                texts: [text(0), text(1), text(2), text(3)],
            };
            (group, is_keyed)
        }
    }

    /// The zero block, the tag's block and those of the chunk, with the keys added.
    ///
    /// # Safety
    /// The caller has the features of [`run`].
    #[inline(always)]
    unsafe fn states(&self, shape: &Shape) -> [__m512i; 6] {
        // SAFETY: the caller's; the counter's place is zero in a nonce.
        unsafe {
            let nonces = _mm512_xor_si512(self.nonces, self.keys);
            let [tag, x0, x1, x2, x3] = shape.counters;
            [
                self.keys,
                _mm512_xor_si512(nonces, tag),
                _mm512_xor_si512(nonces, x0),
                _mm512_xor_si512(nonces, x1),
                _mm512_xor_si512(nonces, x2),
                _mm512_xor_si512(nonces, x3),
            ]
        }
    }

    /// Adds the key stream to the texts, and begins their hash.
    ///
    /// # Safety
    /// The caller has the features of [`run`], and the texts are still borrowed.
    #[inline(always)]
    unsafe fn apply<const OPEN: bool>(&self, shape: &Shape, states: [__m512i; 6]) -> Hash {
        let [zero, tag_pad, x0, x1, x2, x3] = states;
        // SAFETY: the caller's; the mask covers the text.
        unsafe {
            let key_stream = transpose([x0, x1, x2, x3]);
            let mut hashed = [_mm512_setzero_si512(); LANES];
            if shape.text == u64::MAX {
                for lane in 0..LANES {
                    let at = self.texts[lane];
                    let input = _mm512_loadu_si512(at.cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    _mm512_storeu_si512(at.cast(), output);
                    hashed[lane] = if OPEN { input } else { output };
                }
            } else {
                for lane in 0..LANES {
                    let at = self.texts[lane];
                    let input = _mm512_maskz_loadu_epi8(shape.text, at.cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    let output = _mm512_maskz_mov_epi8(shape.text, output);
                    _mm512_mask_storeu_epi8(at.cast(), shape.text, output);
                    hashed[lane] = if OPEN { input } else { output };
                }
            }
            let mut elements = transpose(hashed);
            let [waiting_at, others_at @ ..] = &shape.associated_at;
            for (element, at) in elements.iter_mut().zip(others_at) {
                *element = _mm512_mask_mov_epi64(reverse(*element), *at, self.associated);
            }
            let waiting = _mm512_maskz_mov_epi64(*waiting_at, self.associated);
            let mut hash = Hash::new(hash_keys(zero), waiting, shape.lengths, tag_pad);
            hash.elements = elements;
            hash
        }
    }
}

/// Expands the keys and enciphers the states, interleaved with the hash of what is `PENDING`.
///
/// # Safety
/// The caller has the features of [`run`].
#[inline(always)]
unsafe fn encipher<const PENDING: u8>(
    mut keys: [__m512i; FLIGHT],
    states: &mut [[__m512i; 6]; FLIGHT],
    hashes: &mut [Hash; FLIGHT],
) {
    // SAFETY: the caller's.
    unsafe {
        macro_rules! rounds {
            ($($round:literal)*) => {$(
                keys[0] = next_128_lanes(keys[0], ROUND_CONSTANTS[$round]);
                aes_round(&mut states[0], keys[0]);
                in_order(&mut states[0]);
                hashes[0].turn::<PENDING>($round);
                keys[1] = next_128_lanes(keys[1], ROUND_CONSTANTS[$round]);
                aes_round(&mut states[1], keys[1]);
                in_order(&mut states[1]);
                hashes[1].turn::<PENDING>($round);
            )*};
        }
        rounds!(1 2 3 4 5 6 7 8 9);
        aes_last_round(&mut states[0], next_128_lanes(keys[0], ROUND_CONSTANTS[10]));
        aes_last_round(&mut states[1], next_128_lanes(keys[1], ROUND_CONSTANTS[10]));
    }
}

/// Writes or compares the tags of the packets from `position` on that have keys, four at a time.
///
/// # Safety
/// The caller has the features of [`run`], and the packets lie in the buffer.
#[inline(always)]
unsafe fn finish<const OPEN: bool>(
    columns: &Columns<'_>,
    verdicts: &mut Verdicts,
    position: usize,
    hashes: &[Hash; FLIGHT],
    keyed: [Keyed; FLIGHT],
) {
    let buffer = columns.cells.buffer.as_ptr().cast::<u8>().cast_mut();
    for (at, (hash, keyed)) in hashes.iter().zip(keyed).enumerate() {
        let first = position + LANES * at;
        let mut good = keyed;
        for lane in 0..LANES {
            good &= !(u8::from(happens(Impossible::TagLost)) << lane);
        }
        let tag = |lane: usize| buffer.wrapping_add(columns.cells.places[first + lane].tag().start);
        let tags_at = [tag(0), tag(1), tag(2), tag(3)];
        // SAFETY: the caller's; tags have 16 bytes.
        unsafe {
            let tags = _mm512_xor_si512(reverse(hash.sum), hash.tag_pad);
            if OPEN {
                let received = join(tags_at.map(|at| _mm_loadu_si128(at.cast())));
                good &= publish_lanes(agreeing_lanes(received, tags));
            } else {
                let tags = [
                    _mm512_castsi512_si128(tags),
                    _mm512_extracti32x4_epi32::<1>(tags),
                    _mm512_extracti32x4_epi32::<2>(tags),
                    _mm512_extracti32x4_epi32::<3>(tags),
                ];
                for (lane, (at, tag)) in tags_at.into_iter().zip(tags).enumerate() {
                    if good >> lane & 1 == 1 {
                        _mm_storeu_si128(at.cast(), tag);
                    }
                }
            }
        }
        verdicts.set_four_good(first, good);
    }
}

/// Which lanes are equal, a bit each. No branch depends on what is in them.
#[inline]
#[target_feature(enable = "avx512f")]
fn agreeing_lanes(x: __m512i, y: __m512i) -> u8 {
    let equal = _mm512_cmpeq_epi64_mask(x, y);
    // Of each pair of words both; then the pairs' bits side by side.
    let pairs = equal & equal >> 1 & 0b0101_0101;
    let halves = (pairs | pairs >> 1) & 0b0011_0011;
    (halves | halves >> 2) & 0xf
}
