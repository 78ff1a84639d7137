//! How a worker that waits for packets is woken by another one.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes a worker.
#[derive(Clone)]
pub(super) struct Waker {
    sleeps: Arc<AtomicBool>,
    stream: Arc<UnixStream>,
}

/// Of the worker that is woken.
pub(super) struct Wakened {
    sleeps: Arc<AtomicBool>,
    stream: UnixStream,
}

pub(super) fn waker() -> io::Result<(Waker, Wakened)> {
    let (stream, wakened) = UnixStream::pair()?;
    stream.set_nonblocking(true)?;
    wakened.set_nonblocking(true)?;
    let sleeps = Arc::new(AtomicBool::new(false));
    let waker = Waker {
        sleeps: Arc::clone(&sleeps),
        stream: Arc::new(stream),
    };
    let stream = wakened;
    Ok((waker, Wakened { sleeps, stream }))
}

impl Waker {
    /// Wakes the worker if it sleeps. What it is to find was put in place before.
    #[inline]
    pub fn wake(&self) {
        if self.sleeps.swap(false, Ordering::SeqCst) {
            // A full pipe wakes as well.
            let _ = (&*self.stream).write(&[0]);
        }
    }
}

impl Wakened {
    /// Says that the worker is about to sleep. It looks for work once more after that: a
    /// worker that sends it some later wakes it.
    pub fn lie_down(&self) {
        self.sleeps.store(true, Ordering::SeqCst);
    }

    /// Says that the worker is awake, and forgets who woke it.
    pub fn rise(&mut self) {
        self.sleeps.store(false, Ordering::SeqCst);
        let _ = self.stream.read(&mut [0; 64]);
    }

    /// Readable when the worker was woken.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
