//! Kernels of vectors that are narrower than a block, but for what the vectors do.
//!
//! A tier of such vectors calls these with its own functions, each of which tells of the 64 bytes
//! of a block what holds for which of them: bit j for byte j.

use super::super::classes::{BEFORE, WINDOW_BYTES};
use super::super::filter::{BLOCK_BYTES, Block, Passed, RunFinder, SPAN_BYTES};

/// Bytes from one before a block to three behind it, and what a load of the last gram's bytes
/// takes.
pub(super) const AROUND: usize = 1 + BLOCK_BYTES + 32;
/// Bytes of the windows of a block.
pub(super) const WINDOWS: usize = BLOCK_BYTES + WINDOW_BYTES;

/// [`Filter::look_scalar`](super::super::filter::Filter::look_scalar) for four-byte grams. Both
/// functions take bytes from one before the block on: which bytes equal the ones before them, when
/// folded; and at which even places a gram passes.
#[inline(always)]
pub(super) fn look_four(
    text: &[u8],
    from: usize,
    passed: &mut Passed,
    equal_pairs: impl Fn(&[u8]) -> u64,
    passing: impl Fn(&[u8]) -> u64,
) {
    let end = text.len().min(from + SPAN_BYTES);
    let (mut count, mut run_count) = (passed.count, 0);
    let (places, runs) = passed.room();
    let mut run_finder = RunFinder::new(match from {
        0 => 0,
        _ => equal_pairs(&text[from - BLOCK_BYTES - 1..]),
    });
    for at in (from..end).step_by(BLOCK_BYTES) {
        let left = text.len() - at;
        let mut copy = [0; AROUND];
        let around = around::<1, AROUND>(text, at, &mut copy);
        let mut equal = equal_pairs(around) & low_bits(left);
        if at == 0 {
            equal &= !1;
        }
        let run = run_finder.next(equal);
        runs[run_count] = Block {
            start: at as u32,
            mask: run.ends,
        };
        run_count += usize::from(run.ends != 0);
        if equal == u64::MAX
            && left >= 2 * BLOCK_BYTES
            && equal_pairs(&text[at + BLOCK_BYTES - 1..]) == u64::MAX
        {
            continue;
        }
        let passing = passing(around) & !run.inside & low_bits(left.saturating_sub(3));
        count = add_places(places, count, at - from, passing);
    }
    passed.count = count;
    passed.run_count = run_count;
}

/// [`Filter::look_scalar`](super::super::filter::Filter::look_scalar) for two-byte grams. Both
/// functions take bytes from one before the block on: which bytes equal the ones before them; and
/// at which places a gram passes.
#[inline(always)]
pub(super) fn look_two(
    text: &[u8],
    from: usize,
    carried: usize,
    passed: &mut Passed,
    equal_bytes: impl Fn(&[u8]) -> u64,
    passing: impl Fn(&[u8]) -> u64,
) {
    let end = text.len().min(from + SPAN_BYTES);
    let mut count = passed.count;
    let (places, _) = passed.room();
    for at in (from..end).step_by(BLOCK_BYTES) {
        let left = text.len() - at;
        let mut copy = [0; AROUND];
        let around = around::<1, AROUND>(text, at, &mut copy);
        // Bit j of the first: byte j of the block equals the byte before it; of the second: byte
        // j + 4 does.
        let mut equal = equal_bytes(around);
        let mut equal_ahead = equal_bytes(&around[4..]);
        equal &= low_bits(left) & !u64::from(at == 0);
        equal_ahead &= low_bits(left.saturating_sub(4));
        let mut inside = equal & equal_ahead;
        inside &= (equal >> 1 | equal_ahead << 3) & (equal >> 2 | equal_ahead << 2);
        inside &= equal >> 3 | equal_ahead << 1;
        if at <= carried {
            inside &= !low_bits(carried + 1 - at);
        }
        let passing = passing(around) & low_bits(left - 1) & !inside;
        count = add_places(places, count, at - from, passing);
    }
    passed.count = count;
}

/// [`Classes::look_scalar`](super::super::classes::Classes::look_scalar), and its runs if these are
/// asked for. `fitting` takes bytes from [`BEFORE`] before the block on: at which places a set has
/// all eight classes; `equal_pairs` is that of [`look_four`].
#[inline(always)]
pub(super) fn look_classes(
    text: &[u8],
    from: usize,
    notes_runs: bool,
    passed: &mut Passed,
    equal_pairs: impl Fn(&[u8]) -> u64,
    fitting: impl Fn(&[u8]) -> u64,
) {
    let end = text.len().min(from + SPAN_BYTES);
    let (mut count, mut run_count) = (passed.count, 0);
    let (places, runs) = passed.room();
    let equal_at = |at: usize| {
        let left = text.len().saturating_sub(at);
        let mut copy = [0; AROUND];
        match left {
            0 => 0,
            _ => {
                let equal = equal_pairs(around::<1, AROUND>(text, at, &mut copy));
                equal & low_bits(left) & !u64::from(at == 0)
            }
        }
    };
    let mut run_finder = RunFinder::new(match from {
        0 => 0,
        _ => equal_at(from - BLOCK_BYTES),
    });
    for at in (from..end).step_by(BLOCK_BYTES) {
        let left = text.len() - at;
        let mut copy = [0; WINDOWS];
        let windows = around::<BEFORE, WINDOWS>(text, at, &mut copy);
        let mut passing = fitting(windows) & low_bits(left.saturating_sub(3));
        if !notes_runs && passing == 0 {
            continue;
        }
        let equal = equal_at(at);
        let run = match notes_runs {
            true => run_finder.next(equal),
            false => RunFinder::new(0).next(equal),
        };
        if notes_runs && run.ends != 0 {
            runs[run_count] = Block {
                start: at as u32,
                mask: run.ends,
            };
            run_count += 1;
        }
        passing &= !run.inside;
        if passing != 0 && equal == u64::MAX && equal_at(at + BLOCK_BYTES) == u64::MAX {
            passing = 0;
        }
        count = add_places(places, count, at - from, passing);
    }
    passed.count = count;
    passed.run_count = run_count;
}

/// A block with its neighbours, from `BEFORE` bytes before it on: as it lies in the text, or copied
/// with zeros where there is none.
#[inline(always)]
fn around<'a, const BEFORE: usize, const BYTES: usize>(
    text: &'a [u8],
    at: usize,
    copy: &'a mut [u8; BYTES],
) -> &'a [u8] {
    match at.checked_sub(BEFORE).and_then(|before| text.get(before..)) {
        Some(around) if around.len() >= BYTES => around,
        _ => {
            let before = at.min(BEFORE);
            let bytes = &text[at - before..text.len().min(at + BYTES - BEFORE)];
            copy[BEFORE - before..][..bytes.len()].copy_from_slice(bytes);
            copy
        }
    }
}

/// The lowest `count` bits.
#[inline(always)]
fn low_bits(count: usize) -> u64 {
    match count {
        0..64 => (1 << count) - 1,
        _ => u64::MAX,
    }
}

/// Writes the places that a block at `offset` has bits for, behind `count` others; returns how many
/// there are then.
#[inline(always)]
fn add_places(places: &mut [u16], mut count: usize, offset: usize, mut passing: u64) -> usize {
    while passing != 0 {
        places[count] = offset as u16 + passing.trailing_zeros() as u16;
        count += 1;
        passing &= passing - 1;
    }
    count
}
