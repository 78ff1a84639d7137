//! An interface, whatever becomes of it.

use std::ffi::CString;
use std::io;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::port::{DownReason, LinkLayer, PortState};
use crate::sys::{Link, LinkQuery};

/// Why a port cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// There is no such interface.
    #[error("there is no network interface {name}; `ip link` lists them")]
    NoInterface {
        /// The name given.
        name: String,
    },
    /// Its packets do not begin with an Ethernet header.
    #[error("the interface {name} has no Ethernet headers; use an Ethernet interface")]
    NotEthernet {
        /// The interface.
        name: String,
    },
    /// The process may not open such sockets.
    #[error(
        "the interface {name} cannot be opened: {source}; run as root or with {capabilities} (`setcap`)"
    )]
    NotPermitted {
        /// The interface.
        name: String,
        /// What a process needs that is not root's.
        capabilities: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// Another program receives the packets of the interface, or another port of this one does.
    #[error(
        "the interface {name} is in use: another program is attached to it or to its queues; `ip link show {name}` shows `xdp` where it is"
    )]
    Busy {
        /// The interface.
        name: String,
    },
    /// It has fewer receive queues than ports are wanted.
    #[error("the interface {name} has {queues} receive queues; open one port for each or fewer")]
    NoQueue {
        /// The interface.
        name: String,
        /// How many queues it has.
        queues: u32,
    },
    /// The frames of a pool cannot be used by AF_XDP.
    #[error("frames of {frame_bytes} bytes cannot be used by AF_XDP; use 2,048 or 4,096")]
    FrameBytes {
        /// Their size.
        frame_bytes: usize,
    },
    /// Packets may be longer than frames.
    #[error(
        "the interface {name} has an MTU of {mtu_bytes}, and frames are for {largest} at most; lower it (`ip link set dev {name} mtu {largest}`) or use larger frames"
    )]
    MtuTooLarge {
        /// The interface.
        name: String,
        /// Its MTU.
        mtu_bytes: usize,
        /// The largest MTU that frames are long enough for.
        largest: usize,
    },
    /// Packets of a TUN device may be longer than frames.
    #[error(
        "frames of {frame_bytes} bytes, of which {headroom_bytes} are headroom, are too short for packets of {needed} bytes"
    )]
    FramesTooShort {
        /// Bytes of a frame.
        frame_bytes: usize,
        /// Of which the port leaves so many free.
        headroom_bytes: usize,
        /// Longest packet that may come.
        needed: usize,
    },
    /// A TUN device cannot be made.
    #[error("the TUN device {name} cannot be made: {source}; {advice}")]
    Tun {
        /// The name wanted.
        name: String,
        /// The system's reason.
        source: io::Error,
        /// What may help.
        advice: &'static str,
    },
    /// The operating system refuses AF_XDP.
    #[error(
        "AF_XDP cannot be used at the interface {name}: {source}; it needs Linux 5.9 or later, an MTU that the driver allows, and memory that may be locked (`ulimit -l`)"
    )]
    Xdp {
        /// The interface.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The operating system refuses otherwise.
    #[error(
        "the interface {name} cannot be opened: {source}; check the size of the ring, and that Linux is 4.20 or later"
    )]
    System {
        /// The interface.
        name: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// An interface by its name, whatever becomes of it.
pub(crate) struct Watched {
    query: LinkQuery,
    layer: LinkLayer,
    /// When it is to be looked at again.
    due: Instant,
}

/// How often a port looks after its interface: whether it is up, and its MTU.
pub(crate) const EXAMINED_EVERY: Duration = Duration::from_millis(100);

impl Watched {
    /// Finds an interface whose packets begin with an Ethernet header.
    pub(crate) fn find(name: &str) -> Result<(Watched, Link), OpenError> {
        Watched::find_with(name, LinkLayer::Ethernet)
    }

    /// Finds an interface.
    pub(crate) fn find_with(name: &str, layer: LinkLayer) -> Result<(Watched, Link), OpenError> {
        let no_interface = || OpenError::NoInterface {
            name: name.to_owned(),
        };
        let c_name = CString::new(name).map_err(|_| no_interface())?;
        if name.is_empty() {
            return Err(no_interface());
        }
        let found = LinkQuery::new(&c_name).and_then(|query| Ok((query.ask()?, query)));
        let (link, query) = match found {
            Ok((link, query)) => (link.ok_or_else(no_interface)?, query),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Err(no_interface()),
            Err(source) => return Err(refused(name, source)),
        };
        if link.is_ethernet != (layer == LinkLayer::Ethernet) {
            return Err(OpenError::NotEthernet {
                name: name.to_owned(),
            });
        }
        let watched = Watched {
            query,
            layer,
            due: Instant::now() + EXAMINED_EVERY,
        };
        Ok((watched, link))
    }

    pub(crate) fn query(&self) -> &LinkQuery {
        &self.query
    }

    pub(crate) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// The interface that has the name now, or the state of a port without one.
    pub(crate) fn ask(&mut self) -> Result<Link, PortState> {
        self.due = Instant::now() + EXAMINED_EVERY;
        match self.query.ask() {
            Ok(Some(link)) if link.is_ethernet == (self.layer == LinkLayer::Ethernet) => Ok(link),
            Ok(Some(_)) => Err(down(DownReason::Failed {
                error: "the interface is of another kind now".to_owned(),
            })),
            Ok(None) => Err(down(DownReason::Removed)),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// The state of a port at an interface.
pub(crate) fn state_of(link: Link) -> PortState {
    match link {
        Link { is_up: false, .. } => down(DownReason::Disabled),
        Link {
            has_carrier: false, ..
        } => down(DownReason::NoCarrier),
        _ => PortState::Up,
    }
}

pub(crate) fn down(reason: DownReason) -> PortState {
    PortState::Down { reason }
}

pub(crate) fn failed(error: &io::Error) -> PortState {
    down(DownReason::Failed {
        error: error.to_string(),
    })
}

pub(crate) fn refused(name: &str, source: io::Error) -> OpenError {
    let name = name.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => OpenError::NotPermitted {
            name,
            capabilities: "CAP_NET_RAW",
            source,
        },
        _ => OpenError::System { name, source },
    }
}

pub(crate) fn refused_xdp(name: &str, source: io::Error) -> OpenError {
    let name = name.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => OpenError::NotPermitted {
            name,
            capabilities: "CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW",
            source,
        },
        io::ErrorKind::ResourceBusy => OpenError::Busy { name },
        _ => OpenError::Xdp { name, source },
    }
}

pub(crate) fn refused_tun(name: &str, source: io::Error) -> OpenError {
    let advice = match source.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "run as root or with CAP_NET_ADMIN (`setcap`)",
        Some(libc::EBUSY) => "an interface of that name exists; choose another name",
        Some(libc::ENOENT | libc::ENODEV) => "the kernel has no /dev/net/tun",
        _ => "a name has at most 15 bytes, without `/` and spaces",
    };
    OpenError::Tun {
        name: name.to_owned(),
        source,
        advice,
    }
}
