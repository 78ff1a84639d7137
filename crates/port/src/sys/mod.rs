//! Memory of frames, the system calls of packet sockets, and the memory that the kernel shares:
//! all `unsafe` code of this crate. What is offered is safe, and knows nothing of ports.

#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
mod descriptor;
#[cfg(target_os = "linux")]
mod link;
pub mod region;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(target_os = "linux")]
mod tun;
#[cfg(target_os = "linux")]
mod words;
#[cfg(target_os = "linux")]
pub mod xdp;

#[cfg(target_os = "linux")]
pub use bpf::{Redirect, XdpMode};
#[cfg(target_os = "linux")]
pub use descriptor::{
    Readiness, get_option, set_option, unsent_bytes, wait_readable, wait_writable,
};
#[cfg(target_os = "linux")]
pub use link::{Link, LinkQuery};
#[cfg(target_os = "linux")]
pub use ring::{BlockGeometry, Ring};
#[cfg(target_os = "linux")]
pub use socket::PacketSocket;
#[cfg(target_os = "linux")]
pub use tun::{TunFlags, TunQueue, set_queue_packets};
#[cfg(target_os = "linux")]
pub use words::SharedWords;

/// The result of a system call that returns -1 on failure.
#[cfg(target_os = "linux")]
fn checked(result: libc::c_int) -> std::io::Result<libc::c_int> {
    match result {
        -1 => Err(std::io::Error::last_os_error()),
        result => Ok(result),
    }
}
