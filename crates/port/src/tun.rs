//! TUN devices: interfaces of the kernel whose other end is this process.
//!
//! The kernel hands over packets of up to 64 KiB that are to be split into segments, and takes
//! such packets, so that its network stack and the system calls are paid once for dozens of
//! packets on the wire.

mod device;
mod header;
mod rx;
mod tx;

use std::sync::Arc;

use crate::frames::FramePool;
use crate::watch::OpenError;
use device::{Device, Queue};

pub use rx::TunRx;
pub use tx::TunTx;

/// How a TUN device is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunOptions {
    /// Receive packets of up to 64 KiB that are to be split ([`Split`](crate::Split)), and packets
    /// whose checksum is not computed; merge what is sent ([`merge`](crate::merge)).
    pub offloads: bool,
    /// Packets that wait in the device until they are received.
    pub queue_packets: u32,
}

impl Default for TunOptions {
    /// With offloads, and 4,096 packets.
    fn default() -> TunOptions {
        TunOptions {
            offloads: true,
            queue_packets: 4096,
        }
    }
}

/// Makes a TUN device with a queue for each pool. Packets begin with their IP header. The device
/// is made anew when it is removed, and it is gone when all its ports are.
///
/// It has no address and is switched off: both are up to the caller, who names the device in
/// routes too.
///
/// ```console
/// # ip addr add 198.18.0.1/24 dev weir0
/// # ip link set dev weir0 up
/// ```
///
/// ```no_run
/// use weir_port::{FrameLayout, FramePool, TunOptions, open_tun};
///
/// let layout = FrameLayout { frames: 512, frame_bytes: 65_536 + 4096, headroom_bytes: 128 };
/// let pool = FramePool::new(layout)?;
/// let (rx, tx) = open_tun("weir0", &[pool], TunOptions::default())?.remove(0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An interface of that name exists, the name cannot be one, frames are too short, or the right
/// to make it is missing.
pub fn open_tun(
    name: &str,
    pools: &[FramePool],
    options: TunOptions,
) -> Result<Vec<(TunRx, TunTx)>, OpenError> {
    let needed = match options.offloads {
        true => MAX_PACKET_BYTES,
        false => DEFAULT_MTU_BYTES,
    };
    for pool in pools {
        let (frame_bytes, headroom_bytes) = (pool.frame_bytes(), pool.headroom_bytes());
        if frame_bytes - headroom_bytes < needed {
            return Err(OpenError::FramesTooShort {
                frame_bytes,
                headroom_bytes,
                needed,
            });
        }
    }
    let device = Arc::new(Device::make(name, pools.len(), options)?);
    let ports = pools.iter().enumerate().map(|(number, pool)| {
        let queue = || Queue::new(Arc::clone(&device), number);
        (TunRx::new(queue(), pool.clone()), TunTx::new(queue()))
    });
    Ok(ports.collect())
}

/// One byte more than the longest packet has: what fills the space may be cut.
const MAX_PACKET_BYTES: usize = 65_535 + 1;
const DEFAULT_MTU_BYTES: usize = 1500 + 1;
