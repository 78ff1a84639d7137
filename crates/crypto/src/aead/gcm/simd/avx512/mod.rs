//! VAES and VPCLMULQDQ: four blocks per instruction.

mod field;
pub(super) mod gmac;
mod lanes;
mod schedules;
mod short;
mod wide;

use std::arch::x86_64::*;
use std::marker::PhantomData;
use std::ptr;

use weir_simd::Lanes;

use super::super::batch::Task;
use super::super::key::POWERS;
use super::super::packet::Packet;
use super::super::plan::Route;
use crate::cipher::{Block, rounds};
use crate::impossible::{Impossible, happens};
use crate::suite::AesKeySize;
use schedules::{AHEAD, Expanded, PowerTable, RawKey, expand, fill_powers};
use wide::{Conveyor, Schedule};

/// How many packets ahead a packet's key is prefetched.
const LOOK_AHEAD: usize = 16;

/// Processes the packets of a task.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
pub(super) fn run(task: &mut Task<'_, '_>) {
    match task.open {
        true => run_one_way::<true>(task),
        false => run_one_way::<false>(task),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn run_one_way<const OPEN: bool>(task: &mut Task<'_, '_>) {
    match task.kind.route {
        Route::FullShort => full_short::<OPEN>(task),
        Route::FullWide => full::<OPEN>(task),
        Route::RawWide | Route::RawLanes => computed::<OPEN>(task),
    }
}

/// Kernels that compute keys on their way. It is not inlined: the others, whose frames are
/// cleared after every batch, would have its tables in theirs.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn computed<const OPEN: bool>(task: &mut Task<'_, '_>) {
    match task.kind.route {
        Route::FullShort | Route::FullWide => {}
        Route::RawWide => raw::<OPEN>(task),
        Route::RawLanes if matches!(task.kind.size, AesKeySize::Aes128) => {
            lanes::run::<true, OPEN>(task)
        }
        Route::RawLanes => lanes::run::<false, OPEN>(task),
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
    wipe(std::slice::from_mut(&mut powers));
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn full_short<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let rounds = rounds(task.kind.size);
    // Packets that have not three neighbours of their length.
    let mut conveyor = Conveyor::<OPEN>::new(rounds);
    let mut position = 0;
    while let Some(packet) = task.packet(position) {
        let blocks = |packet: &Packet<'_>| packet.text.len().div_ceil(16);
        let like_this =
            |at: &usize| task.packet(*at).map(|packet| blocks(&packet)) == Some(blocks(&packet));
        let end = position + 1 + (position + 1..).take_while(like_this).count();
        position += short::run::<OPEN>(task, rounds, blocks(&packet), position..end);
        for position in position..end {
            if let Some((packet, schedule)) = full_schedule(task, position) {
                // SAFETY: the powers end with H, and round keys follow; the
                // planner has seen to the packets' lengths.
                let before = unsafe { conveyor.packet(position, &packet, schedule) };
                finish(task, before);
            }
        }
        position = end;
    }
    // SAFETY: the keys and the texts are still borrowed.
    unsafe { conveyor.finish(task) };
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn full<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let mut conveyor = Conveyor::<OPEN>::new(rounds(task.kind.size));
    let mut recent = RecentKeys::new();
    for position in 0..task.len() {
        let ahead = position + LOOK_AHEAD;
        if task.key(ahead).is_some_and(|key| recent.insert(key)) {
            prefetch_at(task, ahead);
        }
        if let Some((packet, schedule)) = full_schedule(task, position) {
            // SAFETY: as in `full_short`, of any length.
            let before = unsafe { conveyor.packet(position, &packet, schedule) };
            finish(task, before);
        }
    }
    // SAFETY: the keys and the texts are still borrowed.
    unsafe { conveyor.finish(task) };
}

/// A packet and its schedule, which is in memory; `None` where there is no such
/// packet.
#[inline(always)]
fn full_schedule<'a>(task: &Task<'_, 'a>, position: usize) -> Option<(Packet<'a>, Schedule<'a>)> {
    let packet = task.packet(position)?;
    let size = task.kind.size;
    let keys = expanded(packet.key, size)?;
    let schedule = Schedule {
        hash_key: keys[POWERS - 1].as_ptr(),
        round_keys: keys[POWERS].as_ptr(),
        borrowed: PhantomData,
    };
    Some((packet, schedule))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
fn raw<const OPEN: bool>(task: &mut Task<'_, '_>) {
    let size = task.kind.size;
    // The powers of a packet, and those of the packet whose hash is pending; the same for the
    // round keys.
    let mut powers = [PowerTable::default(), PowerTable::default()];
    let mut turn = 0;
    let mut keys = [[Expanded::default(); AHEAD]; 2];
    let mut raw = [[_mm_setzero_si128(); 2]; AHEAD];
    let mut conveyor = Conveyor::<OPEN>::new(rounds(task.kind.size));
    for first in (0..task.len()).step_by(AHEAD) {
        let mut has_key = [false; AHEAD];
        for ((raw, has_key), position) in raw.iter_mut().zip(&mut has_key).zip(first..) {
            if let Some(packet) = task.packet(position) {
                *raw = load_raw(packet.key, size);
                *has_key = has_raw_key(packet.key, size);
            }
        }
        let keys = &mut keys[first / AHEAD % 2];
        expand(size, &raw, keys);
        for ((keys, has_key), position) in keys.iter().zip(has_key).zip(first..) {
            prefetch_at(task, position + AHEAD);
            if let Some(packet) = task.packet(position)
                && has_key
            {
                turn = 1 - turn;
                let powers = &raw mut powers[turn];
                // SAFETY: the table's last user is two packets back, and the keys and the
                // tables live until all packets are finished; what is pending, key stream and
                // hash, uses nothing of round keys, which may be overwritten.
                unsafe {
                    let schedule = with_powers(size, &keys.0, powers, &packet);
                    let before = conveyor.packet(position, &packet, schedule);
                    finish(task, before);
                }
            }
        }
    }
    // SAFETY: the keys, the tables and the texts are still there.
    unsafe { conveyor.finish(task) };
    wipe(&mut powers);
    wipe(keys.as_flattened_mut());
    wipe_vectors(raw.as_flattened_mut());
}

/// Computes as many powers of the hash key in front of `keys` as a packet
/// needs, and returns the schedule.
///
/// # Safety
/// Nobody else uses the table, and it and the keys stay where they are as long
/// as the schedule is used.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,vaes,vpclmulqdq,aes,pclmulqdq")]
unsafe fn with_powers<'a>(
    size: AesKeySize,
    keys: &[Block],
    powers: *mut PowerTable,
    packet: &Packet<'_>,
) -> Schedule<'a> {
    let rounds = rounds(size);
    assert!(keys.len() > 1 + rounds);
    // Long associated data is hashed four blocks at a time.
    let most = (2 + packet.text.len().div_ceil(16)).max(4);
    // SAFETY: the caller's; 16 bytes are readable.
    unsafe {
        let h = _mm_loadu_si128(keys[0].as_ptr().cast());
        fill_powers(h, most, &mut *powers);
        Schedule {
            hash_key: (*powers).0[POWERS - 1].as_ptr(),
            round_keys: keys[1].as_ptr(),
            borrowed: PhantomData,
        }
    }
}

/// Keeps the tag of a packet, if there is one. A call in a kernel would spill its vectors.
#[inline(always)]
fn finish(task: &mut Task<'_, '_>, tag: Option<(usize, Block)>) {
    if let Some((position, tag)) = tag {
        task.finish(position, tag);
    }
}

#[inline]
#[target_feature(enable = "sse2")]
fn bytes(block: __m128i) -> Block {
    let mut bytes = [0; 16];
    // SAFETY: 16 bytes are writable; the store needs no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), block) };
    bytes
}

/// The blocks of an expanded key, if it is of this size.
#[inline(always)]
fn expanded(key: &[u8], size: AesKeySize) -> Option<&[Block]> {
    let (blocks, _) = key.as_chunks::<16>();
    let is_whole = blocks.len() > POWERS + rounds(size);
    (is_whole && !happens(Impossible::NoKey)).then_some(blocks)
}

/// A packet's nonce, the counter's place zero.
#[inline]
#[target_feature(enable = "sse2")]
fn nonce(packet: &Packet<'_>) -> __m128i {
    // SAFETY: 16 bytes are readable.
    unsafe { _mm_loadu_si128(packet.nonce.as_ptr().cast()) }
}

/// Whether a key is raw and of this size.
#[inline]
fn has_raw_key(key: &[u8], size: AesKeySize) -> bool {
    key.len() == size.key_bytes() && !happens(Impossible::NoKey)
}

/// A raw key of this size in two vectors; zeros where the key is not raw.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn load_raw(key: &[u8], size: AesKeySize) -> RawKey {
    let zero = _mm_setzero_si128();
    if key.len() < size.key_bytes() {
        return [zero; 2];
    }
    let mask = ((1u32 << (size.key_bytes() - 16)) - 1) as __mmask16;
    // SAFETY: 16 bytes are readable, and those that the mask covers behind them.
    unsafe {
        [
            _mm_loadu_si128(key.as_ptr().cast()),
            match size {
                AesKeySize::Aes128 => zero,
                _ => _mm_maskz_loadu_epi8(mask, key.as_ptr().wrapping_add(16).cast()),
            },
        ]
    }
}

/// Prefetches as much of the key of the packet at `position` as it needs.
#[inline]
#[target_feature(enable = "sse")]
fn prefetch_at(task: &Task<'_, '_>, position: usize) {
    let Some((key, payload_bytes)) = task.key(position).zip(task.payload_bytes(position)) else {
        return;
    };
    if task.kind.route.computes_keys() {
        _mm_prefetch::<_MM_HINT_T0>(key.as_ptr().cast());
        return;
    }
    let needed_powers = payload_bytes.div_ceil(16) + 2;
    let unused = 16 * POWERS.saturating_sub(needed_powers);
    for line in unused / 64..key.len() / 64 {
        _mm_prefetch::<_MM_HINT_T0>(key.as_ptr().wrapping_add(64 * line).cast());
    }
}

/// Keys that were prefetched lately, so that they are still in the nearest cache.
struct RecentKeys([usize; 32]);

impl RecentKeys {
    fn new() -> RecentKeys {
        RecentKeys([0; 32])
    }

    /// Remembers a key, and says whether it was not among those that were.
    #[inline(always)]
    fn insert(&mut self, key: &[u8]) -> bool {
        let at = key.as_ptr().addr();
        let place = &mut self.0[at / 64 % 32];
        let is_new = *place != at;
        *place = at;
        is_new
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

/// Clears secrets that a kernel held in memory: writes that the compiler may not leave
/// out.
#[inline(always)]
fn wipe_vectors<T: Vector>(vectors: &mut [T]) {
    for vector in vectors {
        // SAFETY: the reference is valid for writes, and a vector of zeros is a vector.
        unsafe { ptr::write_volatile(vector, std::mem::zeroed()) };
    }
}

/// Bytes in a register.
trait Vector: Copy {}

impl Vector for __m128i {}
impl Vector for __m512i {}

#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn aes_round(states: &mut [__m512i], key: __m512i) {
    for state in states {
        *state = _mm512_aesenc_epi128(*state, key);
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
