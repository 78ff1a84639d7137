//! TUN: `read` from one device, `write` to the other, packet by packet with the header in front
//! of it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use super::checked;

/// A device with segmentation offload, in the namespace of the thread.
pub fn make(name: &str) -> File {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .expect("/dev/net/tun");
    // SAFETY: a structure of integers and an address.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = flags as i16;
    // SAFETY: the request reads and writes one `ifreq`.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), 0x4004_54ca, &raw mut request) });
    // SAFETY: the request takes a number: checksums, TCP and UDP segmentation.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), 0x4004_54d0, 0x6f_u64) });
    file
}

/// Hands on up to 64 packets; returns how many, and their bytes.
pub fn forward(from: &mut File, to: &mut File, buffer: &mut [u8]) -> (u64, u64) {
    let (mut packets, mut bytes) = (0, 0);
    while packets < 64
        && let Ok(length) = from.read(buffer)
    {
        let _ = to.write(&buffer[..length]);
        packets += 1;
        bytes += length as u64;
    }
    (packets, bytes)
}

/// Waits for either device.
pub fn wait(one: &File, other: &File) {
    let mut waiting = [one, other].map(|file| libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: two `pollfd` are given, which outlive the call.
    unsafe { libc::poll(waiting.as_mut_ptr(), 2, 10) };
}
