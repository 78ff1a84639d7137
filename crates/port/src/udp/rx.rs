//! Receiving datagrams.

use std::io::IoSliceMut;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

use super::UdpOptions;
use super::packet::Headers;
use crate::frames::{FramePool, Frames};
use crate::port::{
    Arrival, ChecksumState, DownReason, LinkLayer, Offload, PortState, Rx, RxCounters, now_ns,
};
use crate::sys;

/// A port that receives the datagrams of a UDP socket ([`udp_port`](super::udp_port)).
pub struct UdpRx {
    socket: Arc<UdpSocket>,
    local: SocketAddr,
    pool: FramePool,
    /// One message of the operating system: a datagram, or several of one size.
    buffer: Box<[u8]>,
    /// What is left of the message in the buffer.
    message: Option<Message>,
    control: Vec<u8>,
    state: PortState,
    counters: RxCounters,
    /// The operating system's count of missed datagrams, which wraps.
    missed: u32,
}

/// A message that was received.
struct Message {
    headers: Headers,
    /// Where the datagrams begin that were not given out, and where the last one ends.
    at: usize,
    end: usize,
    /// All of them but the last have so many bytes.
    datagram_bytes: usize,
    arrival_ns: u64,
}

/// The longest message: a datagram of any length, or several together.
const MESSAGE_BYTES: usize = 1 << 16;

impl UdpRx {
    pub(super) fn new(
        socket: Arc<UdpSocket>,
        local: SocketAddr,
        pool: FramePool,
        options: UdpOptions,
    ) -> UdpRx {
        // Traffic class, count of missed datagrams, size of segments.
        let control = match options.segmentation_offload {
            true => cmsg_space!(i32, u32, i32),
            false => cmsg_space!(i32, u32),
        };
        UdpRx {
            socket,
            local,
            pool,
            buffer: vec![0; MESSAGE_BYTES].into(),
            message: None,
            control,
            state: PortState::Up,
            counters: RxCounters::default(),
            missed: 0,
        }
    }

    /// The socket's address.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Receives the next message. Whether there is one; errors become the port's state.
    fn receive(&mut self) -> bool {
        let mut space = [IoSliceMut::new(&mut self.buffer)];
        let received = recvmsg::<SockaddrStorage>(
            self.socket.as_raw_fd(),
            &mut space,
            Some(&mut self.control),
            MsgFlags::MSG_DONTWAIT,
        );
        let received = match received {
            Ok(received) => received,
            Err(Errno::EAGAIN | Errno::EINTR) => return false,
            // What a router or the other end said of a datagram that was sent.
            Err(
                Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EMSGSIZE,
            ) => return false,
            Err(error) => {
                self.state = PortState::Down {
                    reason: DownReason::Failed {
                        error: error.desc().to_owned(),
                    },
                };
                return false;
            }
        };
        self.state = PortState::Up;
        let end = received.bytes;
        let (mut datagram_bytes, mut traffic_class) = (end, 0);
        // Without them, as with control data that does not fit, a message is one datagram.
        for control in received.cmsgs().into_iter().flatten() {
            match control {
                ControlMessageOwned::UdpGroSegments(bytes) => {
                    datagram_bytes = usize::try_from(bytes).unwrap_or(end);
                }
                ControlMessageOwned::Ipv4Tos(class) => traffic_class = class,
                ControlMessageOwned::Ipv6TClass(class) => traffic_class = class as u8,
                ControlMessageOwned::RxqOvfl(missed) => {
                    let since = missed.wrapping_sub(self.missed);
                    self.counters.missed += u64::from(since);
                    self.missed = missed;
                }
                _ => {}
            }
        }
        let headers = received
            .address
            .as_ref()
            .and_then(address)
            .and_then(|source| Headers::new(source, self.local, traffic_class));
        let Some(headers) = headers else {
            self.counters.malformed += 1;
            return true;
        };
        self.message = Some(Message {
            headers,
            at: 0,
            end,
            datagram_bytes: datagram_bytes.max(1),
            arrival_ns: now_ns(),
        });
        true
    }
}

fn address(from: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(address) = from.as_sockaddr_in() {
        let address = SocketAddrV4::new(address.ip(), address.port());
        return Some(address.into());
    }
    let address = from.as_sockaddr_in6()?;
    Some(SocketAddrV6::new(address.ip(), address.port(), 0, 0).into())
}

impl Rx for UdpRx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ip
    }

    fn pool(&self) -> &FramePool {
        &self.pool
    }

    fn fill(&mut self, frames: &mut Frames, limit: usize) -> usize {
        let limit = frames.reserve(&self.pool, limit);
        let mut added = 0;
        while added < limit {
            let Some(message) = &mut self.message else {
                if self.receive() {
                    continue;
                }
                break;
            };
            let end = message.end.min(message.at + message.datagram_bytes);
            let datagram = &self.buffer[message.at..end];
            let arrival = Arrival {
                arrival_ns: message.arrival_ns,
                offload: Offload {
                    checksum: ChecksumState::Valid,
                    segments: None,
                },
                ..Arrival::default()
            };
            // There is a frame: `limit` are reserved.
            frames.push_parts(&[message.headers.of(datagram.len()), datagram], arrival);
            added += 1;
            self.counters.received += 1;
            message.at = end;
            if message.at >= message.end {
                self.message = None;
            }
        }
        added
    }

    fn wait(&mut self, timeout: Duration) -> &PortState {
        if self.message.is_none()
            && let Err(error) = sys::wait_readable(self.socket.as_fd(), timeout)
        {
            self.state = PortState::Down {
                reason: DownReason::Failed {
                    error: error.to_string(),
                },
            };
        }
        &self.state
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn state(&self) -> &PortState {
        &self.state
    }

    fn counters(&mut self) -> RxCounters {
        self.counters
    }
}
