//! The two ends of a network interface, by packet sockets (AF_PACKET).

mod block;
mod rx;
mod tx;

use std::ffi::CString;
use std::io;
use std::time::{Duration, Instant};

use thiserror::Error;

pub use rx::{InterfaceRx, RxOptions};
pub use tx::{InterfaceTx, TxOptions};

use crate::port::{DownReason, PortState};
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
    /// The process may not open packet sockets.
    #[error(
        "the interface {name} cannot be opened: {source}; run as root or with CAP_NET_RAW (`setcap cap_net_raw+ep`)"
    )]
    NotPermitted {
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
struct Watched {
    query: LinkQuery,
    /// When it is to be looked at again.
    due: Instant,
}

/// How often a port looks after its interface: whether it is up, and its MTU.
const EXAMINED_EVERY: Duration = Duration::from_millis(100);

impl Watched {
    /// Finds an interface.
    fn find(name: &str) -> Result<(Watched, Link), OpenError> {
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
        if !link.is_ethernet {
            return Err(OpenError::NotEthernet {
                name: name.to_owned(),
            });
        }
        let watched = Watched {
            query,
            due: Instant::now() + EXAMINED_EVERY,
        };
        Ok((watched, link))
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// The interface that has the name now, or the state of a port without one.
    fn ask(&mut self) -> Result<Link, PortState> {
        self.due = Instant::now() + EXAMINED_EVERY;
        match self.query.ask() {
            Ok(Some(link)) if link.is_ethernet => Ok(link),
            Ok(Some(_)) => Err(down(DownReason::Failed {
                error: "the interface has no Ethernet headers any more".to_owned(),
            })),
            Ok(None) => Err(down(DownReason::Removed)),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// The state of a port at an interface.
fn state_of(link: Link) -> PortState {
    match link {
        Link { is_up: false, .. } => down(DownReason::Disabled),
        Link {
            has_carrier: false, ..
        } => down(DownReason::NoCarrier),
        _ => PortState::Up,
    }
}

fn down(reason: DownReason) -> PortState {
    PortState::Down { reason }
}

fn failed(error: &io::Error) -> PortState {
    down(DownReason::Failed {
        error: error.to_string(),
    })
}

fn refused(name: &str, source: io::Error) -> OpenError {
    let name = name.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => OpenError::NotPermitted { name, source },
        _ => OpenError::System { name, source },
    }
}
