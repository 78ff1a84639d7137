//! Handing packets to the kernel by a TUN device.

use std::io::{self, IoSlice};
use std::time::Duration;

use super::device::Queue;
use super::header;
use crate::frames::Frames;
use crate::offload::{Merged, merge};
use crate::port::{Arrival, Fit, LinkLayer, Outgoing, Packet, PortState, Tx, TxCounters, fit};

/// A port that hands packets to the kernel by one queue of a TUN device; see
/// [`open_tun`](super::open_tun). Consecutive segments of a flow become one packet.
pub struct TunTx {
    queue: Queue,
    counters: TxCounters,
}

impl TunTx {
    pub(super) fn new(queue: Queue) -> TunTx {
        TunTx {
            queue,
            counters: TxCounters::default(),
        }
    }

    /// Follows the device where that was some time ago.
    fn look_after(&mut self) {
        if self.queue.is_due() {
            self.queue.follow(false);
        }
    }

    fn write(&mut self, merged: &Merged<'_>) {
        let count = merged.packets() as u64;
        if !self.queue.state.is_up() {
            self.counters.port_down += count;
            return;
        }
        let first = merged.parts().find(|part| !part.is_empty());
        let place = merged.checksum_place(LinkLayer::Ip);
        let header = header::write(merged.offload(), first.unwrap_or_default(), place);
        let Some(header) = header else {
            self.counters.refused += count;
            return;
        };
        let mut parts = Vec::with_capacity(3 + merged.packets());
        parts.push(IoSlice::new(&header));
        parts.extend(merged.parts().map(IoSlice::new));
        let bytes: usize = merged.parts().map(<[u8]>::len).sum();
        let result = loop {
            match self.queue.handle.write(&parts) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        let counter = match result {
            Ok(()) => {
                self.counters.sent_bytes += bytes as u64;
                &mut self.counters.sent
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM) => &mut self.counters.no_space,
                Some(libc::EIO | libc::EBADFD) => {
                    self.queue.follow(true);
                    &mut self.counters.port_down
                }
                _ => &mut self.counters.refused,
            },
        };
        *counter += count;
    }
}

impl Tx for TunTx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ip
    }

    fn send(&mut self, frames: &mut Frames, packets: &[Outgoing<'_>]) -> usize {
        let sent_before = self.counters.sent;
        self.look_after();
        let mtu_bytes = self.queue.mtu_bytes;
        let mut fitting = Vec::with_capacity(packets.len());
        for packet in packets {
            let (bytes, offload) = (packet.bytes(frames), packet.offload(frames));
            match fit(bytes, offload, LinkLayer::Ip, mtu_bytes) {
                Fit::TooLong => self.counters.too_long += 1,
                Fit::TooShort => self.counters.too_short += 1,
                Fit::Fits => fitting.push(Packet {
                    bytes,
                    arrival: Arrival {
                        offload,
                        ..Arrival::default()
                    },
                }),
            }
        }
        if self.queue.device().merges() {
            for merged in merge(fitting, LinkLayer::Ip) {
                self.write(&merged);
            }
        } else {
            for packet in fitting {
                self.write(&Merged::alone(packet));
            }
        }
        (self.counters.sent - sent_before) as usize
    }

    /// Packets are the kernel's when they are accepted.
    fn flush(&mut self, _timeout: Duration) -> bool {
        true
    }

    fn headroom_bytes(&self) -> usize {
        0
    }

    fn mtu_bytes(&self) -> usize {
        self.queue.mtu_bytes
    }

    fn state(&mut self) -> &PortState {
        self.look_after();
        &self.queue.state
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
