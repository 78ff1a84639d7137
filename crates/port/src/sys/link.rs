//! What the kernel says of a network interface.

use std::ffi::CStr;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::checked;

/// A network interface as it is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its number, which no later interface of the same name has.
    pub index: i32,
    /// Whether it is switched on.
    pub is_up: bool,
    /// Whether something is at the other end: that of a virtual cable is switched on.
    pub has_carrier: bool,
    pub is_loopback: bool,
    /// Whether its packets begin with an Ethernet header.
    pub is_ethernet: bool,
    pub mtu_bytes: usize,
}

/// Asks about one interface, in the network namespace of the thread that made it.
pub struct LinkQuery {
    socket: OwnedFd,
    name: [libc::c_char; libc::IFNAMSIZ],
}

impl LinkQuery {
    /// # Errors
    /// Those of the operating system.
    pub fn new(name: &CStr) -> io::Result<LinkQuery> {
        let mut padded = [0; libc::IFNAMSIZ];
        let bytes = name.to_bytes();
        if bytes.len() >= padded.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        for (to, from) in padded.iter_mut().zip(bytes) {
            *to = *from as libc::c_char;
        }
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
        // SAFETY: `socket` takes numbers only.
        let descriptor = checked(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
        Ok(LinkQuery {
            // SAFETY: the call above returned this descriptor, which nothing else owns.
            socket: unsafe { OwnedFd::from_raw_fd(descriptor) },
            name: padded,
        })
    }

    /// The interface that has the name now, if there is one.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn ask(&self) -> io::Result<Option<Link>> {
        match self.ask_all() {
            Ok(link) => Ok(Some(link)),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How many receive queues the interface has; one where its driver does not say.
    ///
    /// # Errors
    /// Those of the operating system.
    pub fn receive_queues(&self) -> io::Result<u32> {
        let mut channels = Channels {
            command: ETHTOOL_GCHANNELS,
            ..Channels::default()
        };
        // SAFETY: `ifreq` consists of integers and of a pointer, for which zero bytes are valid.
        let mut request: libc::ifreq = unsafe { mem::zeroed() };
        request.ifr_name = self.name;
        request.ifr_ifru.ifru_data = (&raw mut channels).cast();
        // SAFETY: the request reads one `ifreq`, which outlives the call. The command in
        // `channels` makes it write to `channels`, which outlives it too.
        let asked =
            checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) });
        match asked {
            Ok(_) => Ok((channels.rx_count + channels.combined_count).max(1)),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
            Err(error) => Err(error),
        }
    }

    fn ask_all(&self) -> io::Result<Link> {
        let answer = self.request(libc::SIOCGIFINDEX as libc::Ioctl)?;
        // SAFETY: the kernel wrote this member, and any bytes are a valid integer.
        let index = unsafe { answer.ifr_ifru.ifru_ifindex };
        let answer = self.request(libc::SIOCGIFFLAGS as libc::Ioctl)?;
        // SAFETY: as above.
        let flags = libc::c_int::from(unsafe { answer.ifr_ifru.ifru_flags });
        let answer = self.request(libc::SIOCGIFMTU as libc::Ioctl)?;
        // SAFETY: as above.
        let mtu = unsafe { answer.ifr_ifru.ifru_mtu };
        let answer = self.request(libc::SIOCGIFHWADDR as libc::Ioctl)?;
        // SAFETY: the kernel wrote this member, which consists of integers.
        let kind = unsafe { answer.ifr_ifru.ifru_hwaddr.sa_family };
        Ok(Link {
            index,
            is_up: flags & libc::IFF_UP != 0,
            has_carrier: flags & libc::IFF_RUNNING != 0,
            is_loopback: flags & libc::IFF_LOOPBACK != 0,
            is_ethernet: matches!(kind, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK),
            mtu_bytes: usize::try_from(mtu).unwrap_or(0),
        })
    }

    fn request(&self, request: libc::Ioctl) -> io::Result<libc::ifreq> {
        // SAFETY: `ifreq` consists of integers and of a pointer that is not followed, for which
        // zero bytes are valid.
        let mut answer: libc::ifreq = unsafe { mem::zeroed() };
        answer.ifr_name = self.name;
        // SAFETY: these requests read and write one `ifreq`, which outlives the call. The name
        // in it ends with a zero.
        checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), request, &raw mut answer) })?;
        Ok(answer)
    }
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    max_rx: u32,
    max_tx: u32,
    max_other: u32,
    max_combined: u32,
    rx_count: u32,
    tx_count: u32,
    other_count: u32,
    combined_count: u32,
}

// From linux/ethtool.h and linux/sockios.h.
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const SIOCETHTOOL: libc::Ioctl = 0x8946;
