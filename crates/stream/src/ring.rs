//! Bounded queues for what leaves beside the packet path: events, records, captures.
//!
//! The packet path never waits for the thread at the other end: what finds no space is lost, and
//! counted. A run over files, which loses nothing, waits instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// A queue of up to `capacity` values between threads. All its memory is taken now.
///
/// ```
/// use weir_stream::ring;
///
/// let (sender, receiver) = ring(2);
/// assert!(sender.send("one") && sender.send("two"));
/// assert!(!sender.send("three"));
/// assert_eq!(receiver.try_receive(), Some("one"));
/// assert_eq!(receiver.lost(), 1);
/// ```
pub fn ring<T>(capacity: usize) -> (RingSender<T>, RingReceiver<T>) {
    let (sender, receiver) = sync_channel(capacity.max(1));
    let lost = Arc::new(AtomicU64::new(0));
    let sender = RingSender {
        sender,
        lost: Arc::clone(&lost),
    };
    (sender, RingReceiver { receiver, lost })
}

/// The end of a ring that puts values in. Clones put into the same ring.
#[derive(Debug)]
pub struct RingSender<T> {
    sender: SyncSender<T>,
    lost: Arc<AtomicU64>,
}

/// The end of a ring that takes values out.
#[derive(Debug)]
pub struct RingReceiver<T> {
    receiver: Receiver<T>,
    lost: Arc<AtomicU64>,
}

impl<T> RingSender<T> {
    /// Puts a value in, without waiting. Returns whether there was space; without, the value is
    /// lost and counted.
    #[inline]
    pub fn send(&self, value: T) -> bool {
        self.try_send(value)
            .inspect_err(|_| self.count_lost(1))
            .is_ok()
    }

    /// The same, and the caller keeps what there is no space for.
    ///
    /// # Errors
    /// The value. It does not count as lost.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), T> {
        self.sender.try_send(value).map_err(|error| match error {
            TrySendError::Full(value) | TrySendError::Disconnected(value) => value,
        })
    }

    /// Puts a value in, and waits for space. Returns false, and counts it as lost, where the
    /// other end is gone.
    pub fn send_waiting(&self, value: T) -> bool {
        let sent = self.sender.send(value).is_ok();
        self.count_lost(u64::from(!sent));
        sent
    }

    /// Counts values as lost that the caller gave up.
    pub fn count_lost(&self, values: u64) {
        self.lost.fetch_add(values, Ordering::Relaxed);
    }

    /// How many values were lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl<T> Clone for RingSender<T> {
    fn clone(&self) -> RingSender<T> {
        RingSender {
            sender: self.sender.clone(),
            lost: Arc::clone(&self.lost),
        }
    }
}

/// What waiting for a value has brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<T> {
    /// A value.
    Value(T),
    /// None came in time.
    Nothing,
    /// All senders are gone, and their values taken.
    Ended,
}

impl<T> RingReceiver<T> {
    /// The next value, if there is one.
    #[inline]
    pub fn try_receive(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Waits for the next value.
    pub fn receive(&self, timeout: Duration) -> Received<T> {
        match self.receiver.recv_timeout(timeout) {
            Ok(value) => Received::Value(value),
            Err(RecvTimeoutError::Timeout) => Received::Nothing,
            Err(RecvTimeoutError::Disconnected) => Received::Ended,
        }
    }

    /// Waits for the next value as long as it takes. `None` when all senders are gone, and
    /// their values taken.
    pub(crate) fn receive_waiting(&self) -> Option<T> {
        self.receiver.recv().ok()
    }

    /// How many values were lost so far.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_has_no_space_is_lost_and_counted() {
        let (sender, receiver) = ring(1);
        let other = sender.clone();
        assert!(sender.send(1));
        assert!(!other.send(2));
        assert_eq!(sender.try_send(3), Err(3));
        assert_eq!((sender.lost(), receiver.lost()), (1, 1));
        assert_eq!(receiver.receive(Duration::ZERO), Received::Value(1));
        assert_eq!(receiver.receive(Duration::ZERO), Received::Nothing);
        assert!(other.send(4));
        drop((sender, other));
        assert_eq!(receiver.receive(Duration::ZERO), Received::Value(4));
        assert_eq!(receiver.receive(Duration::ZERO), Received::Ended);

        let (sender, receiver) = ring(1);
        drop(receiver);
        assert!(!sender.send(1) && !sender.send_waiting(2));
        assert_eq!(sender.lost(), 2);
    }

    #[test]
    fn a_sender_that_waits_loses_nothing() {
        let (sender, receiver) = ring(2);
        let sending = thread::spawn(move || (0..1000).all(|value| sender.send_waiting(value)));
        let mut received = Vec::new();
        while let Some(value) = receiver.receive_waiting() {
            received.push(value);
        }
        assert!(sending.join().expect("a result"));
        assert!(received.into_iter().eq(0..1000));
    }
}
