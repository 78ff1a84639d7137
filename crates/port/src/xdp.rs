//! The receive queues of a network interface, by AF_XDP sockets.
//!
//! A program at the interface hands the packets of each queue to a socket, before the kernel's
//! network stack sees them. The kernel writes them into frames that the port gave it; a frame
//! of a packet that is sent goes to the kernel as it is.

mod attached;
mod rx;
mod tx;

use std::sync::Arc;

use crate::frames::FramePool;
use crate::port::PortState;
use crate::watch::{OpenError, Watched, refused};
use attached::Shared;

pub use crate::sys::XdpMode;
pub use crate::sys::xdp::Statistics as XdpStatistics;
pub use rx::XdpRx;
pub use tx::XdpTx;

/// How the queues of an interface are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// Packets that a queue holds in each direction, a power of two. As many frames of its pool
    /// are with the kernel.
    pub ring_packets: u32,
    /// Copy packets also where the driver could use the frames directly.
    pub copies: bool,
    /// Receive packets of any destination, not only those to this machine.
    pub promiscuous: bool,
}

impl Default for XdpOptions {
    /// 2,048 packets, all of them, without copies where the driver can.
    fn default() -> XdpOptions {
        XdpOptions {
            ring_packets: 2048,
            copies: false,
            promiscuous: true,
        }
    }
}

/// How many receive queues an interface has. [`open_xdp`] needs a pool for each of them.
///
/// # Errors
/// There is no such interface.
pub fn receive_queues(name: &str) -> Result<u32, OpenError> {
    let (watched, _) = Watched::find(name)?;
    let queues = watched.query().receive_queues();
    queues.map_err(|error| refused(name, error))
}

/// Opens the first receive queues of an interface, one for each pool, and the send queues of
/// the same numbers. Packets of further queues go to the kernel's network stack; those of these
/// queues do not any more, until all ports are dropped or the process ends.
///
/// Frames have 2,048 or 4,096 bytes, of which the kernel takes 256 beside the headroom. Several
/// interfaces may use one pool: a packet goes from one to the other without a copy.
///
/// ```no_run
/// use std::time::Duration;
/// use weir_port::{FrameLayout, FramePool, Frames, Outgoing, Rx, Tx, XdpOptions, open_xdp};
///
/// let pool = FramePool::new(FrameLayout { frames: 8192, ..FrameLayout::default() })?;
/// let pools = [pool.clone()];
/// let (mut rx, _) = open_xdp("eth0", &pools, XdpOptions::default())?.remove(0);
/// let (_, mut tx) = open_xdp("eth1", &pools, XdpOptions::default())?.remove(0);
/// let mut frames = Frames::of(&pool);
/// loop {
///     let received = rx.fill(&mut frames, 64);
///     let all: Vec<Outgoing> = (0..received).map(Outgoing::Frame).collect();
///     tx.send(&mut frames, &all);
///     frames.clear();
///     rx.wait(Duration::from_millis(100));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// There is no such interface, or it has no such queue, or another program or socket has it; the
/// frames have another size, or are too short for the interface's MTU; the right to use it is
/// missing.
pub fn open_xdp(
    name: &str,
    pools: &[FramePool],
    options: XdpOptions,
) -> Result<Vec<(XdpRx, XdpTx)>, OpenError> {
    let (watched, link) = Watched::find(name)?;
    let queues = watched.query().receive_queues();
    let queues = queues.map_err(|error| refused(name, error))?;
    if pools.is_empty() || pools.len() > queues as usize {
        return Err(OpenError::NoQueue {
            name: name.to_owned(),
            queues,
        });
    }
    for pool in pools {
        let frame_bytes = pool.frame_bytes();
        if !matches!(frame_bytes, 2048 | 4096) {
            return Err(OpenError::FrameBytes { frame_bytes });
        }
        let longest = packet_bytes(pool);
        if longest < link.mtu_bytes + LINK_BYTES {
            return Err(OpenError::MtuTooLarge {
                name: name.to_owned(),
                mtu_bytes: link.mtu_bytes,
                largest: longest.saturating_sub(LINK_BYTES),
            });
        }
    }
    let shared = Shared::open(name, watched, link, pools, options)?;
    let shared = Arc::new(shared);
    let ports = pools.iter().enumerate().map(|(queue, pool)| {
        let rx = XdpRx::new(Arc::clone(&shared), queue, pool.clone());
        let tx = XdpTx::new(Arc::clone(&shared), queue, pool.clone());
        (rx, tx)
    });
    Ok(ports.collect())
}

/// Longest packet that is received into a frame.
fn packet_bytes(pool: &FramePool) -> usize {
    (pool.frame_bytes() - pool.headroom_bytes()).saturating_sub(KERNEL_HEADROOM_BYTES)
}

/// A port's half of a queue's socket, and what it knows of the interface.
struct Queue<Half> {
    shared: Arc<Shared>,
    number: usize,
    pool: FramePool,
    half: Option<Half>,
    /// Which opening of the interface the half is of.
    generation: u64,
    state: PortState,
    mtu_bytes: usize,
}

/// Bytes in front of the headroom that the kernel keeps for itself.
const KERNEL_HEADROOM_BYTES: usize = 256;
/// Ethernet header and one VLAN tag.
const LINK_BYTES: usize = 18;
