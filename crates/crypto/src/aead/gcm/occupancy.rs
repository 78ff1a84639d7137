//! How full the vectors of a task are.

use weir_simd::Tier;

use super::packet::Packet;
use super::plan::{Route, Task};
use crate::lane_use::LaneUse;

/// Blocks of a vector of the widest tier.
const LANES: usize = 4;

/// Packets whose lanes end together: two vectors' worth.
const FLIGHT: usize = 2 * LANES;

/// What the kernels of `tier` make of a task.
pub(super) fn lane_use(tier: Tier, task: &Task<'_, '_>) -> LaneUse {
    let packets = task.packets.len();
    if !task.alike || packets <= FLIGHT {
        return of_range(tier, task, 0, packets);
    }
    // Whole flights of like packets are as full as the first.
    let mut first = of_range(tier, task, 0, FLIGHT);
    let flights = (packets / FLIGHT) as u64;
    first.filled *= flights;
    first.offered *= flights;
    first += of_range(tier, task, packets / FLIGHT * FLIGHT, packets);
    first
}

/// As [`lane_use`], of the packets from position `begin` to before `end`.
fn of_range(tier: Tier, task: &Task<'_, '_>, begin: usize, end: usize) -> LaneUse {
    let slots = |position| match position < end {
        true => task.packet(position).map_or(0, slots),
        false => 0,
    };
    let positions = begin..end;
    let filled: usize = positions.clone().map(slots).sum();
    let offered = match (tier, task.kind.route) {
        (Tier::Avx512, Route::RawLanes | Route::CompactLanes) => positions
            .step_by(FLIGHT)
            .map(|first| {
                let packets = (end - first).min(FLIGHT);
                // Packets are in the order of their length classes, not quite
                // of their lengths.
                let most = (first..first + packets).map(slots).max().unwrap_or(0);
                let chunks = most.saturating_sub(1).div_ceil(LANES).max(1);
                packets.next_multiple_of(LANES) * (1 + LANES * chunks)
            })
            .sum(),
        (Tier::Avx512, Route::FullShort) => {
            let mut offered = 0;
            let mut position = begin;
            while position < end {
                let first = slots(position);
                // Four alike share a shape, whose last vector may be half.
                if slots(position + 3) == first {
                    offered += 4 * first.next_multiple_of(LANES / 2);
                    position += 4;
                } else {
                    offered += first.next_multiple_of(LANES);
                    position += 1;
                }
            }
            offered
        }
        (Tier::Avx512, Route::RawWide | Route::CompactWide | Route::FullWide) => positions
            .map(|position| slots(position).next_multiple_of(LANES))
            .sum(),
        _ => filled,
    };
    LaneUse {
        filled: filled as u64,
        offered: offered as u64,
    }
}

/// Blocks that a packet takes through the cipher: the text's and the tag's.
#[inline]
fn slots(packet: &Packet<'_>) -> usize {
    1 + packet.text.len().div_ceil(16)
}
