//! VAES and VPCLMULQDQ: four blocks per instruction.

mod field;
mod lanes;
mod schedules;
mod short;
mod wide;

use std::arch::x86_64::*;
use std::{ptr, slice};

use weir_simd::Lanes;

use super::super::batch::Batch;
use super::super::key::{Form, KeyView, POWERS};
use super::super::packet::Packet;
use super::super::plan::{Kind, Route};
use crate::cipher::{Block, rounds};
use crate::suite::AesKeySize;
use schedules::{AHEAD, Expanded, PowerTable, RawKey, expand, fill_powers};
use short::SHORT;
use wide::{Schedule, Stream};

/// How many packets before its own a packet's key is asked for.
const LOOK_AHEAD: usize = 16;

/// Processes the packets of `order`, which are of one kind.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run<const N: usize>(
    kind: Kind,
    open: bool,
    batch: &mut Batch<'_, '_, N>,
    order: &[u8],
) {
    let Kind { route, size } = kind;
    match route {
        Route::FullShort => full_short(size, open, batch, order),
        Route::FullWide => full(size, open, batch, order),
        Route::CompactWide => compact(size, open, batch, order),
        Route::RawWide => raw(size, open, batch, order),
        Route::CompactLanes => lanes::run::<false, N>(size, open, batch, order),
        Route::RawLanes => lanes::run::<true, N>(size, open, batch, order),
    }
}

/// Fills `table` with the powers of the hash key that belongs to `round_keys`,
/// highest first.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn hash_key_powers(round_keys: &[Block], table: &mut [Block]) {
    let mut zero = _mm_setzero_si128();
    for (round, key) in round_keys.iter().enumerate() {
        // SAFETY: 16 bytes are readable.
        let key = unsafe { _mm_loadu_si128(key.as_ptr().cast()) };
        zero = match round {
            0 => key,
            _ if round + 1 < round_keys.len() => _mm_aesenc_si128(zero, key),
            _ => _mm_aesenclast_si128(zero, key),
        };
    }
    let h = field::hash_keys(_mm512_zextsi128_si512(zero));
    let mut powers = PowerTable::default();
    fill_powers(_mm512_castsi512_si128(h), table.len(), &mut powers);
    let unused = POWERS.saturating_sub(table.len());
    for (block, power) in table.iter_mut().zip(&powers.0[unused..]) {
        *block = *power;
    }
    wipe(slice::from_mut(&mut powers));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn full_short<const N: usize>(
    size: AesKeySize,
    open: bool,
    batch: &mut Batch<'_, '_, N>,
    order: &[u8],
) {
    for (four, places) in order.chunks(SHORT).enumerate() {
        for position in 0..places.len() {
            prefetch(batch, order, SHORT * four + position + LOOK_AHEAD);
        }
        let mut streams = [const { None }; SHORT];
        for (stream, place) in streams.iter_mut().zip(places) {
            *stream = batch
                .take(*place)
                .and_then(|packet| full_stream(size, packet));
        }
        // SAFETY: 17 powers precede H, which is their last, and round keys
        // follow; the packets, which were taken out, are borrowed meanwhile.
        let tags = unsafe { short::process(open, &streams) };
        for (place, tag) in places.iter().zip(tags) {
            batch.finish(*place, tag);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn full<const N: usize>(size: AesKeySize, open: bool, batch: &mut Batch<'_, '_, N>, order: &[u8]) {
    for (position, &place) in order.iter().enumerate() {
        prefetch(batch, order, position + LOOK_AHEAD);
        let stream = batch
            .take(place)
            .and_then(|packet| full_stream(size, packet));
        if let Some(stream) = stream {
            // SAFETY: as in `full_short`.
            batch.finish(place, unsafe { stream.process(open) });
        }
    }
}

/// A packet with its schedule in memory; `None` where that is not so.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn full_stream(size: AesKeySize, packet: Packet<'_>) -> Option<Stream<'_>> {
    let keys = expanded(packet.key, size, Form::Full)?;
    let schedule = Schedule {
        hash_key: keys[POWERS - 1].as_ptr(),
        round_keys: keys[POWERS].as_ptr(),
        rounds: rounds(size),
    };
    Some(Stream::new(schedule, packet))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn compact<const N: usize>(
    size: AesKeySize,
    open: bool,
    batch: &mut Batch<'_, '_, N>,
    order: &[u8],
) {
    let mut powers = PowerTable::default();
    for (position, &place) in order.iter().enumerate() {
        prefetch(batch, order, position + LOOK_AHEAD);
        let Some(packet) = batch.take(place) else {
            continue;
        };
        if let Some(keys) = expanded(packet.key, size, Form::Compact) {
            let tag = with_powers(size, open, &keys[0], &keys[1..], &mut powers, packet);
            batch.finish(place, tag);
        }
    }
    wipe(slice::from_mut(&mut powers));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn raw<const N: usize>(size: AesKeySize, open: bool, batch: &mut Batch<'_, '_, N>, order: &[u8]) {
    let mut powers = PowerTable::default();
    let mut keys = [Expanded::default(); AHEAD];
    for places in order.chunks(AHEAD) {
        let mut raw = [[_mm_setzero_si128(); 2]; AHEAD];
        for (raw, place) in raw.iter_mut().zip(places) {
            if let Some(packet) = batch.peek(*place) {
                *raw = load_raw(packet.key);
            }
        }
        expand(size, &raw, &mut keys);
        for (key, &place) in keys.iter().zip(places) {
            if let Some(packet) = batch.take(place) {
                let tag = with_powers(size, open, &key[0], &key[1..], &mut powers, packet);
                batch.finish(place, tag);
            }
        }
    }
    wipe(slice::from_mut(&mut powers));
    wipe(&mut keys);
}

/// Processes a packet after computing as many powers of `h` as it needs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn with_powers(
    size: AesKeySize,
    open: bool,
    h: &Block,
    round_keys: &[Block],
    powers: &mut PowerTable,
    packet: Packet<'_>,
) -> Block {
    assert!(round_keys.len() > rounds(size));
    // Long associated data is hashed four blocks at a time.
    let most = (2 + packet.text.len().div_ceil(16)).max(4);
    // SAFETY: 16 bytes are readable.
    let h = unsafe { _mm_loadu_si128(h.as_ptr().cast()) };
    fill_powers(h, most, powers);
    let schedule = Schedule {
        hash_key: powers.0[POWERS - 1].as_ptr(),
        round_keys: round_keys.as_ptr().cast(),
        rounds: rounds(size),
    };
    // SAFETY: the powers that the packet needs are in the table, three blocks
    // follow H there, and all round keys are in their slice.
    unsafe { Stream::new(schedule, packet).process(open) }
}

#[inline]
#[target_feature(enable = "sse2")]
fn bytes(block: __m128i) -> Block {
    let mut bytes = [0; 16];
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), block) };
    bytes
}

/// The blocks of an expanded key, if it is of this size and form.
#[inline]
fn expanded(key: KeyView<'_>, size: AesKeySize, form: Form) -> Option<&[Block]> {
    let (blocks, _) = key.bytes.as_chunks::<16>();
    let is_whole = blocks.len() > form.powers() + rounds(size);
    (key.form == form && is_whole).then_some(blocks)
}

/// A raw key in two vectors; zeros where the key is not raw.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn load_raw(key: KeyView<'_>) -> RawKey {
    let bytes = match key.form {
        Form::Raw | Form::RawAhead => &key.bytes[..key.bytes.len().min(32)],
        Form::Compact | Form::Full => &[],
    };
    let mask = ((1u64 << bytes.len()) - 1) as u32;
    // SAFETY: the mask covers the key's bytes.
    let key = unsafe { _mm256_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) };
    [
        _mm256_castsi256_si128(key),
        _mm256_extracti128_si256::<1>(key),
    ]
}

/// Asks for the key of the packet at `position`.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch<const N: usize>(batch: &Batch<'_, '_, N>, order: &[u8], position: usize) {
    if let Some(packet) = order.get(position).and_then(|place| batch.peek(*place)) {
        let needed = 2 + packet.text.len().div_ceil(16);
        let unused = packet.key.form.powers().saturating_sub(needed);
        for line in packet.key.bytes[16 * unused..].chunks(64) {
            _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast());
        }
    }
}

/// Clears schedules that were computed for a batch, which nobody reads again: a
/// write that the compiler may not leave out.
#[inline]
#[target_feature(enable = "avx512f")]
fn wipe<const N: usize>(schedules: &mut [Lanes<Block, N>]) {
    const { assert!(N.is_multiple_of(4)) };
    let (lines, bytes) = (schedules.as_mut_ptr(), size_of_val(schedules));
    for line in 0..bytes / 64 {
        // SAFETY: as many whole lines are writable, aligned to 64 bytes.
        unsafe { ptr::write_volatile(lines.cast::<__m512i>().add(line), _mm512_setzero_si512()) };
    }
}

/// Exchanges rows and columns of a square of 128-bit lanes: block j of packet i
/// for block i of packet j.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: [__m512i; 4]) -> [__m512i; 4] {
    let [a, b, c, d] = rows;
    let ab_low = _mm512_shuffle_i32x4::<0x44>(a, b);
    let ab_high = _mm512_shuffle_i32x4::<0xee>(a, b);
    let cd_low = _mm512_shuffle_i32x4::<0x44>(c, d);
    let cd_high = _mm512_shuffle_i32x4::<0xee>(c, d);
    [
        _mm512_shuffle_i32x4::<0x88>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0xdd>(ab_low, cd_low),
        _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i32x4::<0xdd>(ab_high, cd_high),
    ]
}
