//! What all sockets have: options, and waiting.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::time::Duration;

use super::checked;

/// What waiting for a socket brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// Nothing within the time, or a signal.
    NotYet,
    /// An error is pending: the interface went down or away.
    Failed,
}

/// Waits for an event. An error that is pending is taken from the descriptor.
pub fn wait(
    descriptor: BorrowedFd<'_>,
    event: libc::c_short,
    timeout: Duration,
) -> io::Result<Readiness> {
    let mut waiting = libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: event,
        revents: 0,
    };
    // Rounded up: a wait of less than a millisecond is none otherwise, and the caller spins.
    let milliseconds = timeout.as_micros().div_ceil(1000);
    let milliseconds = libc::c_int::try_from(milliseconds).unwrap_or(libc::c_int::MAX);
    // SAFETY: one `pollfd` is given, which outlives the call.
    match checked(unsafe { libc::poll(&raw mut waiting, 1, milliseconds) }) {
        Ok(0) => Ok(Readiness::NotYet),
        Ok(_) if waiting.revents & (libc::POLLERR | libc::POLLHUP) != 0 => {
            let mut pending: libc::c_int = 0;
            // What is no socket has no error to be taken.
            let _ = get_option(descriptor, libc::SOL_SOCKET, libc::SO_ERROR, &mut pending);
            Ok(Readiness::Failed)
        }
        Ok(_) => Ok(Readiness::Ready),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Readiness::NotYet),
        Err(error) => Err(error),
    }
}

/// Waits until something can be read.
pub fn wait_readable(descriptor: BorrowedFd<'_>, timeout: Duration) -> io::Result<Readiness> {
    wait(descriptor, libc::POLLIN, timeout)
}

/// Waits until something can be sent.
pub fn wait_writable(descriptor: BorrowedFd<'_>, timeout: Duration) -> io::Result<Readiness> {
    wait(descriptor, libc::POLLOUT, timeout)
}

/// Bytes that were sent and have not left the socket's buffer.
pub fn unsent_bytes(socket: BorrowedFd<'_>) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: this request writes one `int`, which outlives the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(usize::try_from(bytes).unwrap_or(0))
}

/// Sets an option of a socket.
pub fn set_option<T: Plain>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the value is `size_of::<T>()` initialised bytes (`Plain`), which are only read.
    // Options whose value has pointers in it are set elsewhere.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Reads an option of a socket. A kernel that knows less leaves the end of the value as it was.
pub fn get_option<T: Plain>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut T,
) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which `value` has, and any bytes are
    // a valid `T` (`Plain`).
    checked(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            ptr::from_mut(value).cast(),
            &raw mut length,
        )
    })?;
    Ok(())
}

/// Values that the kernel may read and write as bytes.
///
/// # Safety
/// The type has no padding, all bytes are valid for it, and no system call that takes it follows
/// an address in it.
pub unsafe trait Plain {}

// SAFETY: an integer.
unsafe impl Plain for libc::c_int {}
// SAFETY: an integer.
unsafe impl Plain for u32 {}
