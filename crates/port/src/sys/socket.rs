//! A packet socket: its options, waiting for it, sending with it.

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::descriptor::{Plain, get_option, set_option};
use super::{BlockGeometry, checked};

/// A socket of raw packets (AF_PACKET, SOCK_RAW). It receives nothing until it is bound with
/// [`Self::bind_receiving`].
pub struct PacketSocket {
    descriptor: OwnedFd,
}

/// Counts since they were read last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Packets that came, also those missed.
    pub packets: u32,
    pub missed: u32,
}

impl PacketSocket {
    /// # Errors
    /// Those of the operating system: the right to open one (CAP_NET_RAW) is missing.
    pub fn open() -> io::Result<PacketSocket> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: `socket` takes numbers only.
        let descriptor = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        Ok(PacketSocket {
            // SAFETY: the call above returned this descriptor, which nothing else owns.
            descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) },
        })
    }

    /// Requests a ring of blocks; a block that is not full is handed over after
    /// `block_timeout_ms`.
    pub fn request_ring(&self, geometry: BlockGeometry, block_timeout_ms: u32) -> io::Result<()> {
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        self.set_option(libc::PACKET_VERSION, &version)?;
        let too_large = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let block_bytes = u32::try_from(geometry.block_bytes).map_err(too_large)?;
        let blocks = u32::try_from(geometry.blocks).map_err(too_large)?;
        // Packets of any length lie in a block one behind the other: the length of a frame only
        // has to divide that of the block.
        let frame_bytes = FRAME_BYTES.min(block_bytes);
        self.set_option(
            libc::PACKET_RX_RING,
            &libc::tpacket_req3 {
                tp_block_size: block_bytes,
                tp_block_nr: blocks,
                tp_frame_size: frame_bytes,
                tp_frame_nr: (block_bytes / frame_bytes)
                    .checked_mul(blocks)
                    .ok_or(io::ErrorKind::InvalidInput)?,
                tp_retire_blk_tov: block_timeout_ms,
                tp_sizeof_priv: 0,
                tp_feature_req_word: 0,
            },
        )
    }

    pub fn ignore_outgoing(&self) -> io::Result<()> {
        let on: libc::c_int = 1;
        self.set_option(libc::PACKET_IGNORE_OUTGOING, &on)
    }

    pub fn bypass_queueing(&self) -> io::Result<()> {
        let on: libc::c_int = 1;
        self.set_option(libc::PACKET_QDISC_BYPASS, &on)
    }

    /// Receives packets of any destination as long as the socket is open.
    pub fn be_promiscuous(&self, interface: i32) -> io::Result<()> {
        self.set_option(
            libc::PACKET_ADD_MEMBERSHIP,
            &libc::packet_mreq {
                mr_ifindex: interface,
                mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
                mr_alen: 0,
                mr_address: [0; 8],
            },
        )
    }

    /// Shares the packets of the interface, by the hash of their flow, with the other sockets
    /// of the group.
    pub fn join_fanout(&self, group: u16) -> io::Result<()> {
        let argument = u32::from(group) | libc::PACKET_FANOUT_HASH << 16;
        self.set_option(libc::PACKET_FANOUT, &argument)
    }

    /// Receives from an interface: all protocols, from now on.
    pub fn bind_receiving(&self, interface: i32) -> io::Result<()> {
        self.bind(interface, (libc::ETH_P_ALL as u16).to_be())
    }

    /// Sends to an interface; nothing is received.
    pub fn bind_sending(&self, interface: i32) -> io::Result<()> {
        self.bind(interface, 0)
    }

    /// Reads the counts and sets them to zero.
    pub fn take_statistics(&self) -> io::Result<Statistics> {
        let mut statistics = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        get_option(
            self.as_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut statistics,
        )?;
        Ok(Statistics {
            packets: statistics.tp_packets,
            missed: statistics.tp_drops,
        })
    }

    /// Sends up to [`MAX_MESSAGES`] of the packets and returns how many were taken, at least
    /// one. Does not wait.
    ///
    /// # Errors
    /// Why the first packet was not taken.
    pub fn send(&self, packets: &[&[u8]]) -> io::Result<usize> {
        let count = packets.len().min(MAX_MESSAGES);
        let mut parts = [EMPTY_PART; MAX_MESSAGES];
        // SAFETY: `mmsghdr` consists of integers and of pointers, for which zero bytes are valid:
        // no address, no parts, no control data.
        let mut messages: [libc::mmsghdr; MAX_MESSAGES] = unsafe { mem::zeroed() };
        for ((message, part), packet) in messages.iter_mut().zip(&mut parts).zip(packets) {
            part.iov_base = packet.as_ptr().cast_mut().cast();
            part.iov_len = packet.len();
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` messages point to one part each, these to the packets; all of
        // them outlive the call, which only reads the packets.
        let sent = checked(unsafe {
            libc::sendmmsg(
                self.descriptor.as_raw_fd(),
                messages.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
            )
        })?;
        Ok((sent as usize).min(count))
    }

    fn bind(&self, interface: i32, protocol: u16) -> io::Result<()> {
        // SAFETY: `sockaddr_ll` consists of integers, for which zero bytes are valid.
        let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = protocol;
        address.sll_ifindex = interface;
        // SAFETY: the address is a whole `sockaddr_ll` of the length given, and is only read.
        checked(unsafe {
            libc::bind(
                self.descriptor.as_raw_fd(),
                (&raw const address).cast(),
                size_of_val(&address) as libc::socklen_t,
            )
        })?;
        Ok(())
    }

    fn set_option<T: Plain>(&self, name: libc::c_int, value: &T) -> io::Result<()> {
        set_option(self.as_fd(), libc::SOL_PACKET, name, value)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

// SAFETY: seven integers of 32 bits.
unsafe impl Plain for libc::tpacket_req3 {}
// SAFETY: three integers of 32 bits.
unsafe impl Plain for libc::tpacket_stats_v3 {}
// SAFETY: an integer of 32 bits, two of 16 bits and eight bytes.
unsafe impl Plain for libc::packet_mreq {}

/// Most packets of a system call.
const MAX_MESSAGES: usize = 64;
const EMPTY_PART: libc::iovec = libc::iovec {
    iov_base: ptr::null_mut(),
    iov_len: 0,
};
const FRAME_BYTES: u32 = 2048;
