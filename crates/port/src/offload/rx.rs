//! A port whose packets are as they would be on a wire.

#[cfg(unix)]
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::complete_checksum;
use super::split::{Progress, Split};
use crate::frames::{FramePool, Frames};
use crate::port::{Arrival, ChecksumState, LinkLayer, Offload, PortState, Rx, RxCounters};

/// A port that does for the packets of another one what their senders left to it: splits them
/// into segments and computes checksums. Stages that encrypt need that: nobody can do it behind
/// them.
///
/// Its packets are in frames of a pool of their own, which need not be longer than the longest
/// segment.
pub struct SegmentedRx {
    inner: Box<dyn Rx>,
    pool: FramePool,
    /// Packets of the other port, the first `next` of which are done.
    waiting: Frames,
    next: usize,
    /// Of the packet that is being split.
    progress: Progress,
    malformed: u64,
}

/// Packets that are taken from the other port at a time.
const TAKEN_AT_ONCE: usize = 64;

impl SegmentedRx {
    /// Takes the packets of `inner` apart, into frames of `pool`.
    pub fn new(inner: Box<dyn Rx>, pool: &FramePool) -> SegmentedRx {
        SegmentedRx {
            waiting: Frames::of(inner.pool()),
            inner,
            pool: pool.clone(),
            next: 0,
            progress: Progress::default(),
            malformed: 0,
        }
    }

    /// Adds the next packet, or the next segments of one, to `frames`. Returns how many were
    /// added, at most `limit`.
    fn add_next(&mut self, frames: &mut Frames, limit: usize) -> usize {
        let link = self.inner.link_layer();
        let packet = self.waiting.packet(self.next);
        let arrival = |bytes: usize, checksum| Arrival {
            wire_bytes: bytes as u32,
            offload: Offload {
                checksum,
                segments: None,
            },
            ..packet.arrival
        };
        let Some(segments) = packet.arrival.offload.segments else {
            let checksum = packet.arrival.offload.checksum;
            let added = frames.try_push(|space| {
                let to = space.get_mut(..packet.bytes.len())?;
                to.copy_from_slice(packet.bytes);
                let checksum = match checksum {
                    ChecksumState::NotReady => {
                        complete_checksum(to, link).then_some(ChecksumState::Valid)?
                    }
                    known => known,
                };
                Some((packet.bytes.len(), arrival(packet.bytes.len(), checksum)))
            });
            self.malformed += u64::from(added.is_none());
            self.next += 1;
            return usize::from(added.is_some());
        };
        let split = Split::new(packet.bytes, link, segments);
        let Some(mut split) = split.map(|split| split.after(self.progress)) else {
            self.malformed += 1;
            self.next += 1;
            return 0;
        };
        let mut added = 0;
        while added < limit && split.remaining() > 0 {
            let pushed = frames.try_push(|space| {
                let bytes = split.next_into(space)?;
                Some((bytes, arrival(bytes, ChecksumState::Valid)))
            });
            if pushed.is_none() {
                // Its segments are longer than frames.
                self.malformed += 1;
                self.progress = Progress::default();
                self.next += 1;
                return added;
            }
            added += 1;
        }
        if split.remaining() == 0 {
            self.progress = Progress::default();
            self.next += 1;
        } else {
            self.progress = split.progress();
        }
        added
    }
}

impl Rx for SegmentedRx {
    fn link_layer(&self) -> LinkLayer {
        self.inner.link_layer()
    }

    fn pool(&self) -> &FramePool {
        &self.pool
    }

    fn fill(&mut self, frames: &mut Frames, limit: usize) -> usize {
        let limit = frames.reserve(&self.pool, limit);
        let mut added = 0;
        while added < limit {
            if self.next == self.waiting.len() {
                self.waiting.clear();
                self.next = 0;
                if self.inner.fill(&mut self.waiting, TAKEN_AT_ONCE) == 0 {
                    break;
                }
            }
            added += self.add_next(frames, limit - added);
        }
        added
    }

    fn wait(&mut self, timeout: Duration) -> &PortState {
        let timeout = match self.next < self.waiting.len() {
            true => Duration::ZERO,
            false => timeout,
        };
        self.inner.wait(timeout)
    }

    #[cfg(unix)]
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.fd()
    }

    fn state(&self) -> &PortState {
        self.inner.state()
    }

    /// Counts packets of the other port, before they are split; those that cannot be split are
    /// malformed.
    fn counters(&mut self) -> RxCounters {
        let counters = self.inner.counters();
        RxCounters {
            malformed: counters.malformed + self.malformed,
            ..counters
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;
    use crate::frames::FrameLayout;
    use crate::memory::memory_queue;
    use crate::offload::verify_checksum;
    use crate::port::{Outgoing, Segments, Transport, Tx};

    /// An Ethernet frame of IPv4 and UDP without a checksum.
    fn packet(payload_bytes: usize) -> Vec<u8> {
        let mut packet = vec![2; 12];
        packet.extend([0x08, 0x00, 0x45, 0]);
        packet.extend((28 + payload_bytes as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0, 7, 0, 9]);
        packet.extend((8 + payload_bytes as u16).to_be_bytes());
        packet.extend([0xab, 0xcd]);
        packet.extend((0..payload_bytes).map(|at| at as u8));
        packet
    }

    fn offload(segment_bytes: u16) -> Offload {
        Offload {
            checksum: ChecksumState::NotReady,
            segments: NonZeroU16::new(segment_bytes).map(|payload_bytes| Segments {
                transport: Transport::Udp,
                payload_bytes,
            }),
        }
    }

    #[test]
    fn packets_are_taken_apart_however_few_at_a_time() {
        let pools = [65_536 + 256, 2048].map(|frame_bytes| {
            let layout = FrameLayout {
                frames: 64,
                frame_bytes,
                headroom_bytes: 128,
            };
            FramePool::new(layout).expect("memory")
        });
        let packets = [
            (3000, 700),
            (100, 0),
            (500, 500),
            (50, 1),
            (9000, 1870),
            (9000, 1900),
        ];
        for limit in [1, 2, 7, 256] {
            let (mut tx, inner) = memory_queue(&pools[0], 64, 65_535);
            let mut rx = SegmentedRx::new(Box::new(inner), &pools[1]);
            let mut lengths = Vec::new();
            let mut frames = Frames::of(&pools[1]);
            for (payload_bytes, segment_bytes) in packets {
                let packet = packet(payload_bytes);
                let packet = Outgoing::Bytes(&packet, offload(segment_bytes));
                assert_eq!(tx.send(&mut Frames::default(), &[packet]), 1);
            }
            while rx.fill(&mut frames, limit) > 0 {
                for packet in frames.packets() {
                    assert_eq!(
                        verify_checksum(packet.bytes, LinkLayer::Ethernet),
                        Some(true)
                    );
                    assert_eq!(packet.arrival.offload.segments, None);
                    lengths.push(packet.bytes.len() - 42);
                }
                frames.clear();
            }
            let mut expected = vec![700, 700, 700, 700, 200, 100, 500];
            expected.extend([1; 50]);
            expected.extend([1870, 1870, 1870, 1870, 1520]);
            assert_eq!(lengths, expected);
            // Segments of the last packet are longer than frames.
            assert_eq!((rx.counters().received, rx.counters().malformed), (6, 1));
        }
    }
}
