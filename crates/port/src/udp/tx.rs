//! Sending datagrams.

use std::io::{self, IoSlice};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};

use super::UdpOptions;
use super::packet::Datagram;
use crate::frames::Frames;
use crate::port::{LinkLayer, Outgoing, PortState, Tx, TxCounters};
use crate::sys;

/// A port that sends packets as datagrams of a UDP socket ([`udp_port`](super::udp_port)).
/// Packets without a whole UDP header, or with another source than the socket's address, are
/// refused.
pub struct UdpTx {
    socket: Arc<UdpSocket>,
    local: SocketAddr,
    /// Whether datagrams are handed over together.
    has_offload: bool,
    /// The least that a way was found to take, and until when that is believed.
    path_mtu: Option<(usize, Instant)>,
    state: PortState,
    counters: TxCounters,
}

/// The most datagrams that are handed over together.
const MOST_SEGMENTS: usize = 64;
/// The most bytes of them: with the headers, the kernel makes one IP packet of them first.
const MOST_BYTES: usize = 65_000;
/// How often one call of `send` waits for space.
const WAITS: u32 = 100;
const WAITED_FOR: Duration = Duration::from_millis(1);
/// The longest IP packets.
const LONGEST_IPV4_BYTES: usize = 65_535;
const LONGEST_IPV6_BYTES: usize = 65_575;
/// A path may take more again (RFC 1191, section 6.3).
const MTU_BELIEVED_FOR: Duration = Duration::from_secs(600);
const EXAMINED_EVERY: Duration = Duration::from_micros(100);

impl UdpTx {
    pub(super) fn new(socket: Arc<UdpSocket>, local: SocketAddr, options: UdpOptions) -> UdpTx {
        UdpTx {
            socket,
            local,
            has_offload: options.segmentation_offload,
            path_mtu: None,
            state: PortState::Up,
            counters: TxCounters::default(),
        }
    }

    /// The socket's address.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// Sends datagrams of one destination, all but the last of one size.
    fn send_run(&mut self, mut run: &[Datagram<'_>], waits: &mut u32) {
        while !run.is_empty() {
            let together = match self.has_offload {
                true => run.len(),
                false => 1,
            };
            let (now, later) = run.split_at(together);
            match self.hand_over(now) {
                Ok(()) => {
                    self.counters.sent += now.len() as u64;
                    let bytes = now.iter().map(|one| one.payload.len() as u64).sum::<u64>();
                    self.counters.sent_bytes += bytes;
                }
                Err(Errno::EINTR) => continue,
                Err(Errno::EAGAIN | Errno::ENOBUFS) if *waits > 0 => {
                    *waits -= 1;
                    self.counters.retries += 1;
                    // Whatever this finds, it is tried again.
                    let _ = sys::wait_writable(self.socket.as_fd(), WAITED_FOR);
                    continue;
                }
                // Of several at once, whose segments are too long, some kernels say `EINVAL`.
                Err(Errno::EMSGSIZE | Errno::EINVAL) if self.exceeds_path(&run[0]) => {
                    self.counters.too_long += now.len() as u64;
                }
                // The device that the route leads to cannot do it.
                Err(Errno::EIO | Errno::EINVAL) if together > 1 => {
                    self.has_offload = false;
                    continue;
                }
                // What was said of an earlier datagram; this one was not sent.
                Err(error) => *self.counter_of(error) += now.len() as u64,
            }
            run = later;
        }
    }

    /// Whether a datagram, which was refused, is longer than the way to its destination takes. The
    /// system knows that from the routers on the way.
    #[cold]
    fn exceeds_path(&mut self, datagram: &Datagram<'_>) -> bool {
        let header_bytes = match datagram.destination {
            SocketAddr::V4(_) => 28,
            SocketAddr::V6(_) => 48,
        };
        let packet_bytes = header_bytes + datagram.payload.len();
        if packet_bytes <= self.mtu_bytes()
            && let Ok(mtu_bytes) = path_mtu_bytes(self.local, datagram.destination)
        {
            let least_bytes = mtu_bytes.min(self.mtu_bytes());
            self.path_mtu = Some((least_bytes, Instant::now() + MTU_BELIEVED_FOR));
        }
        packet_bytes > self.mtu_bytes()
    }

    fn counter_of(&mut self, error: Errno) -> &mut u64 {
        match error {
            Errno::EAGAIN | Errno::ENOBUFS => &mut self.counters.no_space,
            Errno::EMSGSIZE => &mut self.counters.too_long,
            Errno::ENETDOWN | Errno::ENETUNREACH | Errno::EHOSTUNREACH => {
                &mut self.counters.port_down
            }
            _ => &mut self.counters.refused,
        }
    }

    fn hand_over(&self, run: &[Datagram<'_>]) -> Result<(), Errno> {
        let Some(first) = run.first() else {
            return Ok(());
        };
        let parts: Vec<IoSlice<'_>> = run.iter().map(|one| IoSlice::new(one.payload)).collect();
        let segment_bytes = first.payload.len() as u16;
        let (class, wide_class) = (first.traffic_class, first.traffic_class.into());
        let class = match first.destination {
            SocketAddr::V4(_) => ControlMessage::Ipv4Tos(&class),
            SocketAddr::V6(_) => ControlMessage::Ipv6TClass(&wide_class),
        };
        let control = [class, ControlMessage::UdpGsoSegments(&segment_bytes)];
        let control = match run.len() {
            1 => &control[..1],
            _ => &control[..],
        };
        let (socket, to) = (
            self.socket.as_raw_fd(),
            SockaddrStorage::from(first.destination),
        );
        sendmsg(socket, &parts, control, MsgFlags::MSG_DONTWAIT, Some(&to)).map(drop)
    }
}

/// What the system knows of the way to a destination. Only a connected socket is told.
fn path_mtu_bytes(mut local: SocketAddr, destination: SocketAddr) -> io::Result<usize> {
    local.set_port(0);
    let socket = UdpSocket::bind(local)?;
    socket.connect(destination)?;
    let (level, option) = match destination {
        SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU),
        SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU),
    };
    let mut mtu_bytes: u32 = 0;
    sys::get_option(socket.as_fd(), level, option, &mut mtu_bytes)?;
    Ok(mtu_bytes as usize)
}

/// Whether a datagram may follow others in one message: `previous` is the last of them.
fn continues(first: &Datagram<'_>, previous: &Datagram<'_>, next: &Datagram<'_>) -> bool {
    let segment_bytes = first.payload.len();
    segment_bytes > 0
        && previous.payload.len() == segment_bytes
        && (1..=segment_bytes).contains(&next.payload.len())
        && next.destination == first.destination
        && next.traffic_class == first.traffic_class
}

impl Tx for UdpTx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ip
    }

    fn send(&mut self, frames: &mut Frames, packets: &[Outgoing<'_>]) -> usize {
        let sent_before = self.counters.sent;
        let mut waits = WAITS;
        let mut run: Vec<Datagram<'_>> = Vec::with_capacity(MOST_SEGMENTS);
        let mut run_bytes = 0;
        for packet in packets {
            let datagram = Datagram::parse(packet.bytes(frames));
            let Some(datagram) = datagram.filter(|one| one.source == self.local) else {
                self.counters.refused += 1;
                continue;
            };
            let bytes = datagram.payload.len();
            let joins = match (run.first(), run.last()) {
                (Some(first), Some(last)) => {
                    run.len() < MOST_SEGMENTS
                        && run_bytes + bytes <= MOST_BYTES
                        && continues(first, last, &datagram)
                }
                _ => true,
            };
            if !joins {
                self.send_run(&run, &mut waits);
                run.clear();
                run_bytes = 0;
            }
            run.push(datagram);
            run_bytes += bytes;
        }
        self.send_run(&run, &mut waits);
        (self.counters.sent - sent_before) as usize
    }

    fn flush(&mut self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            match sys::unsent_bytes(self.socket.as_fd()) {
                Ok(0) => return true,
                Err(_) => return false,
                Ok(_) if Instant::now() >= deadline => return false,
                Ok(_) => thread::sleep(EXAMINED_EVERY),
            }
        }
    }

    fn headroom_bytes(&self) -> usize {
        0
    }

    /// That of the longest datagram, until the way to a destination takes less: this is known when
    /// one is refused, and believed of all destinations for ten minutes.
    fn mtu_bytes(&self) -> usize {
        match (self.path_mtu, self.local) {
            (Some((mtu_bytes, until)), _) if Instant::now() < until => mtu_bytes,
            (_, SocketAddr::V4(_)) => LONGEST_IPV4_BYTES,
            (_, SocketAddr::V6(_)) => LONGEST_IPV6_BYTES,
        }
    }

    fn state(&mut self) -> &PortState {
        &self.state
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}
