//! TUN devices: their queues are descriptors that packets are read from and written to.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use super::checked;
use super::descriptor::{Readiness, wait};

/// A queue of a TUN device. The device goes when its last queue is closed.
pub struct TunQueue {
    file: File,
}

/// How a queue is opened.
#[derive(Clone, Copy, Debug)]
pub struct TunFlags {
    /// The device must not exist.
    pub is_new: bool,
    /// The device has several queues.
    pub has_several_queues: bool,
    /// Packets of up to 64 KiB come, which are to be split.
    pub has_offloads: bool,
}

impl TunQueue {
    /// Bytes of the header in front of each packet (`struct virtio_net_hdr`).
    pub const HEADER_BYTES: usize = 10;

    /// Opens a queue of the device of a name, and makes the device where it is missing.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn open(name: &str, flags: TunFlags) -> io::Result<TunQueue> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open("/dev/net/tun")?;
        let mut request = named(name)?;
        let mut bits = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
        if flags.is_new {
            bits |= libc::IFF_TUN_EXCL;
        }
        if flags.has_several_queues {
            bits |= libc::IFF_MULTI_QUEUE;
        }
        request.ifr_ifru.ifru_flags = bits as libc::c_short;
        // SAFETY: the request reads and writes one `ifreq`, which outlives the call. The name in
        // it ends with a zero.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
        let header_bytes = Self::HEADER_BYTES as libc::c_int;
        // SAFETY: the request reads one `int`, which outlives the call.
        checked(unsafe {
            libc::ioctl(file.as_raw_fd(), TUNSETVNETHDRSZ, &raw const header_bytes)
        })?;
        if flags.has_offloads {
            let segmentation = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
            // Linux has UDP since 6.2.
            offload(&file, segmentation | TUN_F_USO4 | TUN_F_USO6)
                .or_else(|_| offload(&file, segmentation))?;
        }
        Ok(TunQueue { file })
    }

    /// Reads a packet and its header: bytes of the packet.
    ///
    /// # Errors
    /// There is none (`WouldBlock`), or the device is gone.
    pub fn read(&self, header: &mut [u8; 10], space: &mut [u8]) -> io::Result<usize> {
        let parts = &mut [IoSliceMut::new(header), IoSliceMut::new(space)];
        let bytes = (&self.file).read_vectored(parts)?;
        Ok(bytes.saturating_sub(Self::HEADER_BYTES))
    }

    /// Writes a header and a packet, whose parts follow it.
    ///
    /// # Errors
    /// The device does not take it.
    pub fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        (&self.file).write_vectored(parts).map(|_| ())
    }

    /// Waits until there is a packet.
    pub fn wait(&self, timeout: Duration) -> io::Result<Readiness> {
        wait(self.as_fd(), libc::POLLIN, timeout)
    }
}

impl AsFd for TunQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Sets how many packets wait in a device until they are read.
pub fn set_queue_packets(name: &str, packets: u32) -> io::Result<()> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
    // SAFETY: `socket` takes numbers only.
    let socket = checked(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: the call above returned this descriptor, which nothing else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut request = named(name)?;
    // All of its numbers are at one place.
    request.ifr_ifru.ifru_mtu = i32::try_from(packets).unwrap_or(i32::MAX);
    // SAFETY: the request reads one `ifreq`, which outlives the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCSIFTXQLEN, &raw mut request) })?;
    Ok(())
}

/// A request about the interface of a name.
fn named(name: &str) -> io::Result<libc::ifreq> {
    let bytes = name.as_bytes();
    // A name with `%d` would be another one.
    if bytes.is_empty()
        || bytes.len() >= libc::IFNAMSIZ
        || bytes.contains(&0)
        || bytes.contains(&b'%')
    {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: `ifreq` consists of integers and of a pointer, for which zero bytes are valid.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    Ok(request)
}

fn offload(file: &File, bits: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the request takes a number.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, bits) })?;
    Ok(())
}

// From linux/if_tun.h and linux/sockios.h.
const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
const TUNSETVNETHDRSZ: libc::Ioctl = 0x4004_54d8;
const SIOCSIFTXQLEN: libc::Ioctl = 0x8943;
const TUN_F_CSUM: libc::c_ulong = 0x01;
const TUN_F_TSO4: libc::c_ulong = 0x02;
const TUN_F_TSO6: libc::c_ulong = 0x04;
const TUN_F_TSO_ECN: libc::c_ulong = 0x08;
const TUN_F_USO4: libc::c_ulong = 0x20;
const TUN_F_USO6: libc::c_ulong = 0x40;
