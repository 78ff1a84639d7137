//! The system calls of packet sockets, and the memory that the kernel shares: all `unsafe` code
//! of this crate. What is offered is safe, and knows nothing of ports.

mod link;
mod ring;
mod socket;

pub use link::{Link, LinkQuery};
pub use ring::{BlockGeometry, Ring};
pub use socket::{PacketSocket, Readiness};

use std::io;

/// The result of a system call that returns -1 on failure.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}
