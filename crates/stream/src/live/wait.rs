//! Waiting for several queues at once, and where a worker runs.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::queues::RxQueue;

/// A queue that cannot be waited for together with others is looked at this often.
const LOOKED_AT_EVERY: Duration = Duration::from_micros(200);

/// Waits until one of the queues has packets, or the worker is woken, at most for `timeout`.
pub(super) fn for_any(queues: &mut [RxQueue], wakened: Option<BorrowedFd<'_>>, timeout: Duration) {
    if let ([queue], None) = (&mut *queues, wakened) {
        queue.rx.wait(timeout);
        return;
    }
    let mut timeout = timeout;
    let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(queues.len() + 1);
    fds.extend(wakened.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    for queue in queues.iter() {
        match queue.rx.fd() {
            Some(fd) => fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN)),
            None => timeout = timeout.min(LOOKED_AT_EVERY),
        }
    }
    // A wait that a signal or an error ends is a short one.
    let _ = poll(&mut fds, Timespec::try_from(timeout).ok().as_ref());
    drop(fds);
    for queue in queues {
        queue.rx.wait(Duration::ZERO);
    }
}

/// Binds this thread to a processor.
#[cfg(target_os = "linux")]
pub(super) fn bind_to(cpu: usize) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}

/// Elsewhere a thread runs where the system lets it.
#[cfg(not(target_os = "linux"))]
pub(super) fn bind_to(_cpu: usize) -> io::Result<()> {
    Ok(())
}
