//! Packets that are all of the same lengths, under raw keys of AES-128: they are taken from the
//! columns of their batch as they lie there, and nothing is found out about a packet by itself.
//! Round keys are kept where there is more than one chunk.

use std::arch::x86_64::*;

use super::super::super::super::batch::{Columns, Task};
use super::super::field::{hash_keys, in_order, reverse};
use super::super::schedules::join;
use super::super::{LOOK_AHEAD, aes_round, transpose, wipe_vectors};
use super::group::{Keyed, keyed};
use super::hash::{FOUR, Hash, NOTHING, REST};
use super::{CHUNK, LANES, UNROLL, aes_last_round};
use crate::batch::Verdicts;
use crate::cipher::simd::{ROUND_CONSTANTS, next_128_lanes};
use crate::impossible::{Impossible, happens};
use crate::verdict::publish_lanes;

/// What all packets have in common.
struct Shape {
    chunks: usize,
    /// Bytes of the first chunk in front of the text, which ends with the last.
    empty_bytes: usize,
    /// Bytes of the first and of the last chunk that are text, and bytes of a block that are
    /// associated data.
    first_text: __mmask64,
    last_text: __mmask64,
    associated: __mmask16,
    /// The element that is the associated data: the one before the text.
    associated_at: [__mmask8; 5],
    /// Counter blocks of the tag and of the first chunk, without a nonce.
    counters: [__m512i; 5],
    /// The element of the lengths.
    lengths: __m512i,
}

/// Processes whole steps of packets and returns how many packets they were.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run<const OPEN: bool>(task: &mut Task<'_, '_>) -> usize {
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
    if !is_sound || first.payload_bytes() > MOST_TEXT_BYTES || first.aad_bytes() > 16 {
        return 0;
    }
    let shape = Shape::new(first.payload_bytes(), first.aad_bytes());
    let steps = columns.cells.places.len() / PACKETS;
    // SAFETY: these are this function's features, and there are `steps` whole steps of
    // packets that lie in the buffer and have these lengths.
    unsafe {
        match shape.chunks {
            1 => process::<OPEN, false>(columns, verdicts, &shape, steps),
            _ => process::<OPEN, true>(columns, verdicts, &shape, steps),
        }
    }
    PACKETS * steps
}

/// The longest texts: their blocks are counted in one byte.
const MOST_TEXT_BYTES: usize = 16 * 252;

/// Packets of a step.
const PACKETS: usize = UNROLL * LANES;

/// Processes steps of packets, of more than one chunk if `LONG`.
///
/// # Safety
/// The caller has the features of [`run`]. There are `steps` steps of packets, which lie in the
/// buffer and have the lengths of `shape`.
#[inline(always)]
unsafe fn process<const OPEN: bool, const LONG: bool>(
    columns: &Columns<'_>,
    verdicts: &mut Verdicts,
    shape: &Shape,
    steps: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut hashes = [Hash::nothing(); UNROLL];
        let mut keyed_before: [Keyed; UNROLL] = [0; UNROLL];
        let mut round_keys = [[_mm512_setzero_si512(); ROUND_KEYS]; UNROLL];
        for step in 0..steps {
            let position = PACKETS * step;
            let (one, one_keyed) = Group::load(columns, shape, position);
            let (two, two_keyed) = Group::load(columns, shape, position + LANES);
            let mut states = [one.states(shape), two.states(shape)];
            let keys = [one.keys, two.keys];
            if step == 0 {
                begin::<NOTHING, LONG>(keys, &mut states, &mut hashes, &mut round_keys);
            } else {
                begin::<REST, LONG>(keys, &mut states, &mut hashes, &mut round_keys);
                let before = position - PACKETS;
                finish::<OPEN>(columns, verdicts, before, &hashes, keyed_before);
            }
            keyed_before = [one_keyed, two_keyed];
            hashes = [
                one.first_chunk::<OPEN>(shape, states[0]),
                two.first_chunk::<OPEN>(shape, states[1]),
            ];
            if LONG {
                hashes[0].raise();
                hashes[1].raise();
                let [_, mut counters @ ..] = shape.counters;
                for chunk in 1..shape.chunks {
                    for counter in &mut counters {
                        *counter = _mm512_add_epi32(*counter, _mm512_set4_epi32(4 << 24, 0, 0, 0));
                    }
                    let mut states = [one.counter_blocks(counters), two.counter_blocks(counters)];
                    encipher(&round_keys, &mut states, &mut hashes);
                    hashes[0].waiting = hashes[0].elements[3];
                    hashes[1].waiting = hashes[1].elements[3];
                    hashes[0].elements = one.apply::<OPEN>(shape, chunk, states[0]);
                    hashes[1].elements = two.apply::<OPEN>(shape, chunk, states[1]);
                }
            }
        }
        if steps > 0 {
            hashes[0].finish();
            hashes[1].finish();
            let last = PACKETS * (steps - 1);
            finish::<OPEN>(columns, verdicts, last, &hashes, keyed_before);
        }
        if LONG {
            wipe_vectors(round_keys.as_flattened_mut());
        }
    }
}

/// Round keys of AES-128 behind the first.
const ROUND_KEYS: usize = 10;

impl Shape {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(text_bytes: usize, associated_bytes: usize) -> Shape {
        let chunks = text_bytes.div_ceil(CHUNK).max(1);
        let empty = 4 * chunks - text_bytes.div_ceil(16);
        let end = 16 * empty + text_bytes;
        let up_to = |bytes: usize| {
            if bytes < CHUNK {
                (1 << bytes) - 1
            } else {
                u64::MAX
            }
        };
        let behind_empty = !up_to(16 * empty);
        // The counter is a word, of which only the last byte is not zero.
        let counter = |number: i32| _mm512_set4_epi32(number << 24, 0, 0, 0);
        let slot = |slot: i32| counter(2 + slot - empty as i32);
        let last_text = up_to(end - CHUNK * (chunks - 1));
        Shape {
            chunks,
            empty_bytes: 16 * empty,
            first_text: behind_empty & up_to(end),
            last_text: match chunks {
                1 => behind_empty & last_text,
                _ => last_text,
            },
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
        for ahead in position + LOOK_AHEAD..position + LOOK_AHEAD + LANES {
            if let Some(key) = columns.keys.get(ahead) {
                // SAFETY: every processor of this architecture has the instruction, which
                // faults nowhere.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(key.as_ptr().cast()) };
            }
        }
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

    /// The zero block, the tag's block and those of the first chunk, with the keys added.
    ///
    /// # Safety
    /// The caller has the features of [`run`].
    #[inline(always)]
    unsafe fn states(&self, shape: &Shape) -> [__m512i; 6] {
        let [tag, counters @ ..] = shape.counters;
        // SAFETY: the caller's.
        unsafe {
            let [x0, x1, x2, x3] = self.counter_blocks(counters);
            let tag = _mm512_ternarylogic_epi64::<XOR3>(self.nonces, self.keys, tag);
            [self.keys, tag, x0, x1, x2, x3]
        }
    }

    /// Blocks with these counters, with the keys added.
    ///
    /// # Safety
    /// The caller has the features of [`run`].
    #[inline(always)]
    unsafe fn counter_blocks(&self, [a, b, c, d]: [__m512i; 4]) -> [__m512i; 4] {
        // SAFETY: the caller's; the counter's place is zero in a nonce.
        unsafe {
            let start = _mm512_xor_si512(self.nonces, self.keys);
            [
                _mm512_xor_si512(start, a),
                _mm512_xor_si512(start, b),
                _mm512_xor_si512(start, c),
                _mm512_xor_si512(start, d),
            ]
        }
    }

    /// Adds the key stream to the first chunk of the texts, and begins their hash.
    ///
    /// # Safety
    /// The caller has the features of [`run`], and the texts are still borrowed.
    #[inline(always)]
    unsafe fn first_chunk<const OPEN: bool>(&self, shape: &Shape, states: [__m512i; 6]) -> Hash {
        let [zero, tag_pad, key_stream @ ..] = states;
        // SAFETY: the caller's.
        unsafe {
            let mut elements = self.apply::<OPEN>(shape, 0, key_stream);
            let [waiting_at, others_at @ ..] = &shape.associated_at;
            for (element, at) in elements.iter_mut().zip(others_at) {
                *element = _mm512_mask_mov_epi64(*element, *at, self.associated);
            }
            let waiting = _mm512_maskz_mov_epi64(*waiting_at, self.associated);
            let mut hash = Hash::new(hash_keys(zero), waiting, shape.lengths, tag_pad);
            hash.elements = elements;
            hash
        }
    }

    /// Adds the key stream to a chunk of the texts, and returns its elements.
    ///
    /// # Safety
    /// The caller has the features of [`run`], and the texts are still borrowed.
    #[inline(always)]
    unsafe fn apply<const OPEN: bool>(
        &self,
        shape: &Shape,
        chunk: usize,
        key_stream: [__m512i; 4],
    ) -> [__m512i; 4] {
        let text = match chunk {
            _ if chunk + 1 == shape.chunks => shape.last_text,
            0 => shape.first_text,
            _ => u64::MAX,
        };
        let at = self.texts.map(|at| at.wrapping_add(CHUNK * chunk));
        // SAFETY: the caller's; the mask covers the text.
        unsafe {
            let key_stream = transpose(key_stream);
            let mut hashed = [_mm512_setzero_si512(); LANES];
            if text == u64::MAX {
                for lane in 0..LANES {
                    let input = _mm512_loadu_si512(at[lane].cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    _mm512_storeu_si512(at[lane].cast(), output);
                    hashed[lane] = if OPEN { input } else { output };
                }
            } else {
                for lane in 0..LANES {
                    let input = _mm512_maskz_loadu_epi8(text, at[lane].cast());
                    let output = _mm512_xor_si512(input, key_stream[lane]);
                    let output = _mm512_maskz_mov_epi8(text, output);
                    _mm512_mask_storeu_epi8(at[lane].cast(), text, output);
                    hashed[lane] = if OPEN { input } else { output };
                }
            }
            let [a, b, c, d] = transpose(hashed);
            [reverse(a), reverse(b), reverse(c), reverse(d)]
        }
    }
}

/// a ⊕ b ⊕ c.
const XOR3: i32 = 0x96;

/// Expands the keys and enciphers the first states, interleaved with the hash of what is
/// `PENDING`; keeps the round keys if `KEEPS`.
///
/// # Safety
/// The caller has the features of [`run`].
#[inline(always)]
unsafe fn begin<const PENDING: u8, const KEEPS: bool>(
    mut keys: [__m512i; UNROLL],
    states: &mut [[__m512i; 6]; UNROLL],
    hashes: &mut [Hash; UNROLL],
    round_keys: &mut [[__m512i; ROUND_KEYS]; UNROLL],
) {
    // SAFETY: the caller's.
    unsafe {
        macro_rules! next_keys {
            ($at:literal $round:literal) => {
                keys[$at] = next_128_lanes(keys[$at], ROUND_CONSTANTS[$round]);
                if KEEPS {
                    round_keys[$at][$round - 1] = keys[$at];
                }
            };
        }
        macro_rules! rounds {
            ($($round:literal)*) => {$(
                next_keys!(0 $round);
                aes_round(&mut states[0], keys[0]);
                in_order(&mut states[0]);
                hashes[0].turn::<PENDING>($round);
                next_keys!(1 $round);
                aes_round(&mut states[1], keys[1]);
                in_order(&mut states[1]);
                hashes[1].turn::<PENDING>($round);
            )*};
        }
        rounds!(1 2 3 4 5 6 7 8 9);
        next_keys!(0 10);
        next_keys!(1 10);
        aes_last_round(&mut states[0], keys[0]);
        aes_last_round(&mut states[1], keys[1]);
    }
}

/// Enciphers the states of a further chunk, interleaved with the hash of the chunk before.
///
/// # Safety
/// The caller has the features of [`run`].
#[inline(always)]
unsafe fn encipher(
    round_keys: &[[__m512i; ROUND_KEYS]; UNROLL],
    states: &mut [[__m512i; 4]; UNROLL],
    hashes: &mut [Hash; UNROLL],
) {
    // SAFETY: the caller's.
    unsafe {
        macro_rules! rounds {
            ($($round:literal)*) => {$(
                aes_round(&mut states[0], round_keys[0][$round - 1]);
                in_order(&mut states[0]);
                hashes[0].turn::<FOUR>($round);
                aes_round(&mut states[1], round_keys[1][$round - 1]);
                in_order(&mut states[1]);
                hashes[1].turn::<FOUR>($round);
            )*};
        }
        rounds!(1 2 3 4 5 6 7 8 9);
        aes_last_round(&mut states[0], round_keys[0][9]);
        aes_last_round(&mut states[1], round_keys[1][9]);
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
    hashes: &[Hash; UNROLL],
    keyed: [Keyed; UNROLL],
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
