//! Waiting for several ports at once, or for another thread.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::port::Rx;

/// A port that cannot be waited for together with others is looked at this often.
const LOOKED_AT_EVERY: Duration = Duration::from_micros(200);

/// Wakes a thread that waits for ports.
#[derive(Clone, Debug)]
pub struct Waker {
    sleeps: Arc<AtomicBool>,
    stream: Arc<UnixStream>,
}

/// Of the thread that is woken.
#[derive(Debug)]
pub struct Sleeper {
    sleeps: Arc<AtomicBool>,
    stream: UnixStream,
}

/// What a thread sleeps with, and what wakes it.
///
/// # Errors
/// There is no descriptor for it.
pub fn sleeper() -> io::Result<(Waker, Sleeper)> {
    let (waking, stream) = UnixStream::pair()?;
    waking.set_nonblocking(true)?;
    stream.set_nonblocking(true)?;
    let sleeps = Arc::new(AtomicBool::new(false));
    let waker = Waker {
        sleeps: Arc::clone(&sleeps),
        stream: Arc::new(waking),
    };
    Ok((waker, Sleeper { sleeps, stream }))
}

impl Waker {
    /// Wakes the thread if it sleeps. What it is to find was put in place before.
    #[inline]
    pub fn wake(&self) {
        if self.sleeps.swap(false, Ordering::SeqCst) {
            // A full pipe wakes as well.
            let _ = (&*self.stream).write(&[0]);
        }
    }
}

impl Sleeper {
    /// Announces that the thread is about to wait. After this call the thread has to look for work
    /// once more; a sender that adds work later wakes it.
    pub fn lie_down(&self) {
        self.sleeps.store(true, Ordering::SeqCst);
    }
}

/// Waits until one of the ports has packets, or the thread is woken, at most for `timeout`.
///
/// ```
/// use std::time::Duration;
/// use weir_port::{sleeper, wait_for_any};
///
/// let (waker, mut sleeper) = sleeper()?;
/// sleeper.lie_down();
/// waker.wake();
/// wait_for_any(&mut [], Some(&mut sleeper), Duration::from_secs(3600));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn wait_for_any(ports: &mut [&mut dyn Rx], sleeper: Option<&mut Sleeper>, timeout: Duration) {
    if let ([port], None) = (&mut *ports, &sleeper) {
        port.wait(timeout);
        return;
    }
    let mut timeout = timeout;
    let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(ports.len() + 1);
    fds.extend((sleeper.as_ref()).map(|sleeper| readable(sleeper.stream.as_fd())));
    for port in ports.iter() {
        match port.fd() {
            Some(fd) => fds.push(readable(fd)),
            None => timeout = timeout.min(LOOKED_AT_EVERY),
        }
    }
    // A wait that a signal or an error ends is a short one.
    let _ = poll(&mut fds, Timespec::try_from(timeout).ok().as_ref());
    drop(fds);
    for port in ports {
        port.wait(Duration::ZERO);
    }
    if let Some(sleeper) = sleeper {
        sleeper.sleeps.store(false, Ordering::SeqCst);
        // Forgets who has woken it.
        let _ = sleeper.stream.read(&mut [0; 64]);
    }
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}
