//! Datagrams of a UDP socket as IP packets: for tunnels whose outer headers the operating
//! system routes.
//!
//! ```text
//!  received   datagram ──► [IP header][UDP header] datagram    written from the socket's addresses
//!  sent       [IP header][UDP header] datagram ──► datagram    to the addresses in the headers
//! ```
//!
//! What the stages of a pipeline see is what they would see on a wire. Routing, neighbours,
//! fragmentation and checksums are the operating system's, and so is segmentation offload:
//! datagrams of one size to one address go to it, and come from it, many in one system call.

mod packet;
mod rx;
mod tx;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, setsockopt, socket, sockopt,
};
use thiserror::Error;

pub use rx::UdpRx;
pub use tx::UdpTx;

use crate::frames::FramePool;
use crate::sys;

/// How a UDP port works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// Hand many datagrams to the operating system, and take them from it, as one
    /// (`UDP_SEGMENT`, `UDP_GRO`).
    pub segmentation_offload: bool,
    /// Share the address with other ports of this process: datagrams come to one of them by
    /// their addresses and ports.
    pub share_address: bool,
    /// Memory for datagrams that wait to be received; the operating system may limit it.
    pub receive_buffer_bytes: usize,
}

impl Default for UdpOptions {
    /// With offload, alone at its address, 4 MiB.
    fn default() -> UdpOptions {
        UdpOptions {
            segmentation_offload: true,
            share_address: false,
            receive_buffer_bytes: 4 << 20,
        }
    }
}

/// Why a UDP port cannot be opened.
#[derive(Debug, Error)]
pub enum UdpOpenError {
    /// Packets get their addresses from the socket, so that it needs one.
    #[error(
        "the UDP address {address} is that of all interfaces; name one address of this machine"
    )]
    NoAddress {
        /// The address.
        address: SocketAddr,
    },
    /// The operating system refuses.
    #[error(
        "the UDP address {address} cannot be used: {source}; is it one of this machine, and free?"
    )]
    System {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
}

/// Opens the two ports of a UDP socket at `local`, which receives into frames of `pool`.
///
/// ```
/// use std::time::Duration;
/// use weir_port::{FrameLayout, FramePool, Frames, Rx, Tx, UdpOptions, udp_port};
///
/// let pool = FramePool::new(FrameLayout { frames: 64, ..FrameLayout::default() })?;
/// let (mut rx, mut tx) = udp_port("127.0.0.1:0".parse()?, &pool, UdpOptions::default())?;
///
/// let other = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// other.send_to(b"payload", rx.local_address())?;
///
/// let mut frames = Frames::of(&pool);
/// while rx.fill(&mut frames, 16) == 0 {
///     rx.wait(Duration::from_millis(100));
/// }
/// // An IPv4 header, a UDP header, and the datagram.
/// assert_eq!(&frames.bytes(0)[28..], b"payload");
/// # assert_eq!(tx.send(&mut frames, &[]), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The address is unspecified, not this machine's, or in use.
pub fn udp_port(
    local: SocketAddr,
    pool: &FramePool,
    options: UdpOptions,
) -> Result<(UdpRx, UdpTx), UdpOpenError> {
    if local.ip().is_unspecified() {
        return Err(UdpOpenError::NoAddress { address: local });
    }
    let refused = |source: io::Error| UdpOpenError::System {
        address: local,
        source,
    };
    let socket = open(local, options).map_err(refused)?;
    let local = socket.local_addr().map_err(refused)?;
    let socket = Arc::new(socket);
    let rx = UdpRx::new(Arc::clone(&socket), local, pool.clone(), options);
    let tx = UdpTx::new(socket, local, options);
    Ok((rx, tx))
}

fn open(local: SocketAddr, options: UdpOptions) -> io::Result<UdpSocket> {
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::Inet,
        SocketAddr::V6(_) => AddressFamily::Inet6,
    };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let descriptor = socket(family, SockType::Datagram, flags, None)?;
    if options.share_address {
        setsockopt(&descriptor, sockopt::ReusePort, &true)?;
    }
    // As much as is allowed, or beyond that with the right to it.
    setsockopt(&descriptor, sockopt::RcvBuf, &options.receive_buffer_bytes)?;
    let _ = setsockopt(
        &descriptor,
        sockopt::RcvBufForce,
        &options.receive_buffer_bytes,
    );
    setsockopt(&descriptor, sockopt::RxqOvfl, &1)?;
    let forbid_fragments =
        |level, option, value| sys::set_option(descriptor.as_fd(), level, option, &value);
    match local.ip() {
        // Datagrams that do not fit a link are refused and counted, not cut into fragments that
        // no receiver of segments merges.
        IpAddr::V4(_) => {
            setsockopt(&descriptor, sockopt::IpRecvTos, &true)?;
            forbid_fragments(
                libc::IPPROTO_IP,
                libc::IP_MTU_DISCOVER,
                libc::IP_PMTUDISC_DO,
            )?;
        }
        IpAddr::V6(_) => {
            setsockopt(&descriptor, sockopt::Ipv6V6Only, &true)?;
            setsockopt(&descriptor, sockopt::Ipv6RecvTClass, &true)?;
            let (level, option) = (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER);
            forbid_fragments(level, option, libc::IPV6_PMTUDISC_DO)?;
        }
    }
    if options.segmentation_offload {
        setsockopt(&descriptor, sockopt::UdpGroSegment, &true)?;
    }
    bind(descriptor.as_raw_fd(), &SockaddrStorage::from(local))?;
    Ok(UdpSocket::from(descriptor))
}

#[cfg(test)]
mod tests;
