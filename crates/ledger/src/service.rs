//! The thread that writes a ledger, for packet paths that never do.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::store::Store;
use super::{KeyIdentity, LedgerError, Progress};

/// An open ledger, shared by those whose keys are in it. They know
/// their keys by number, in the order of opening. When the last one is gone, the
/// files are closed and the keys' locks end.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    id: [u8; 16],
    /// Of each key.
    slots: Vec<u32>,
    shared: Arc<Shared>,
    /// `None` while it is dropped.
    requests: Option<SyncSender<Request>>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    keys: Vec<Grant>,
    /// Why the last commit failed, until somebody takes it.
    failure: Mutex<Option<Arc<LedgerError>>>,
    /// A response has arrived, or the thread has ended.
    response_arrived: Condvar,
    has_ended: AtomicBool,
}

/// What the ledger says of a key: numbers below, and bytes up to here, may be
/// used.
#[derive(Debug)]
struct Grant {
    next_sequence: AtomicU64,
    bytes: AtomicU64,
    is_pending: AtomicBool,
    has_failed: AtomicBool,
}

enum Request {
    /// Reserve for keys.
    Extend(Vec<(u32, Progress)>),
    /// Write back how far keys really came, give up those that have ended, and say how that
    /// went.
    Settle {
        used: Vec<(u32, Progress)>,
        ended: Vec<u32>,
        response: SyncSender<Result<(), Arc<LedgerError>>>,
    },
}

/// What became of a request.
#[derive(Clone, Debug)]
pub enum Response {
    /// It is on its way.
    Pending,
    /// This much may be used.
    Granted(Progress),
    /// Nothing more than before may be used.
    Failed(Arc<LedgerError>),
}

/// Requests that may wait for the disk; each is for the keys of one batch.
const MOST_REQUESTS: usize = 1024;

impl Ledger {
    /// Opens the ledger at `path` for keys that are all different; `first` is
    /// what is reserved for each at once. Beside it, how far each key had come.
    ///
    /// # Errors
    /// Why the ledger cannot be relied on, or a key cannot be used.
    pub fn open(
        path: &Path,
        keys: &[KeyIdentity],
        first: impl Fn(usize, Progress) -> Option<Progress>,
    ) -> Result<(Arc<Ledger>, Vec<Progress>), LedgerError> {
        let (mut store, progress) = Store::open(path, keys)?;
        let reserved: Vec<(u32, Progress)> = (0..)
            .zip(progress.iter().enumerate())
            .filter_map(|(key, (number, progress))| Some((key, first(number, *progress)?)))
            .collect();
        if !reserved.is_empty() {
            store.commit(&reserved)?;
        }
        let (id, slots) = (*store.id(), store.slots().collect());
        let shared = Arc::new(Shared {
            keys: progress.iter().copied().map(Grant::new).collect(),
            failure: Mutex::new(None),
            response_arrived: Condvar::new(),
            has_ended: AtomicBool::new(false),
        });
        shared.grant(&reserved);
        let (requests, queue) = sync_channel(MOST_REQUESTS);
        let for_writer = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("ledger".into())
            .spawn(move || write(store, &queue, &Running(for_writer)))
            .map_err(super::place::system(path, "cannot start its thread"))?;
        let ledger = Ledger {
            path: path.into(),
            id,
            slots,
            shared,
            requests: Some(requests),
            writer: Some(writer),
        };
        Ok((Arc::new(ledger), progress))
    }

    /// Which ledger it is.
    pub fn id(&self) -> &[u8; 16] {
        &self.id
    }

    /// The slot of a key, which is the same in every opening.
    pub fn slot(&self, key: u32) -> Option<u32> {
        self.slots.get(key as usize).copied()
    }

    /// Requests more, for keys without a pending request. `false` where too many
    /// requests are waiting: to be repeated. `waits` is whether the caller may
    /// be held up for that.
    pub fn request(&self, keys: Vec<(u32, Progress)>, waits: bool) -> bool {
        let grants: Vec<&Grant> = keys
            .iter()
            .filter_map(|(key, _)| self.shared.keys.get(*key as usize))
            .collect();
        for grant in &grants {
            grant.is_pending.store(true, Ordering::Relaxed);
        }
        let sent = match (&self.requests, waits) {
            (Some(requests), true) => requests.send(Request::Extend(keys)).is_ok(),
            (Some(requests), false) => match requests.try_send(Request::Extend(keys)) {
                Ok(()) => true,
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
            },
            (None, _) => false,
        };
        if !sent {
            for grant in grants {
                grant.is_pending.store(false, Ordering::Relaxed);
            }
        }
        sent
    }

    /// The state of the request for a key.
    pub fn response(&self, key: u32) -> Response {
        let Some(grant) = self.shared.keys.get(key as usize) else {
            return self.closed();
        };
        // Acquire: what was granted is written before this is lowered.
        if grant.is_pending.load(Ordering::Acquire) {
            return match self.shared.has_ended.load(Ordering::Acquire) {
                true => self.closed(),
                false => Response::Pending,
            };
        }
        if grant.has_failed.swap(false, Ordering::Relaxed) {
            let failure = self.shared.failure().clone();
            return failure.map_or_else(|| self.closed(), Response::Failed);
        }
        Response::Granted(grant.progress())
    }

    /// Waits for [`response`](Ledger::response).
    pub fn wait(&self, key: u32) -> Response {
        let mut guard = self.shared.failure();
        loop {
            let is_pending = (self.shared.keys.get(key as usize))
                .is_some_and(|grant| grant.is_pending.load(Ordering::Acquire));
            if !is_pending || self.shared.has_ended.load(Ordering::Acquire) {
                drop(guard);
                return self.response(key);
            }
            let response_arrived = self.shared.response_arrived.wait(guard);
            guard = response_arrived.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes back how far keys really came, and gives up those that have ended: nothing may
    /// be sealed with these any more, and another opening of the ledger may use them.
    ///
    /// # Errors
    /// The ledger could not be written; what was reserved stays used up.
    pub fn settle(
        &self,
        used: Vec<(u32, Progress)>,
        ended: Vec<u32>,
    ) -> Result<(), Arc<LedgerError>> {
        if used.is_empty() && ended.is_empty() {
            return Ok(());
        }
        let (response, response_arrived) = sync_channel(1);
        let requests = self.requests.as_ref();
        let request = Request::Settle {
            used,
            ended,
            response,
        };
        let sent = requests.is_some_and(|to| to.send(request).is_ok());
        match response_arrived.recv() {
            Ok(written) if sent => written,
            _ => Err(Arc::new(self.closed_error())),
        }
    }

    /// Gives up a key whose holder is gone without having been settled. What was reserved
    /// stays used up. It does not wait.
    pub fn abandon(&self, key: u32) {
        let (response, _) = sync_channel(1);
        let request = Request::Settle {
            used: Vec::new(),
            ended: vec![key],
            response,
        };
        if let Some(requests) = &self.requests {
            // Where too many wait, the key stays locked until the ledger is closed.
            let _ = requests.try_send(request);
        }
    }

    fn closed(&self) -> Response {
        Response::Failed(Arc::new(self.closed_error()))
    }

    fn closed_error(&self) -> LedgerError {
        LedgerError::Closed {
            path: self.path.clone(),
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // The thread ends when nobody can ask, and closes the files.
        self.requests = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Commits all waiting requests at once.
fn write(mut store: Store, queue: &Receiver<Request>, running: &Running) {
    let shared = &running.0;
    while let Ok(first) = queue.recv() {
        let mut updates: Vec<(u32, Progress)> = Vec::new();
        let mut extended = Vec::new();
        let mut all_ended = Vec::new();
        let mut settled = Vec::new();
        for request in std::iter::once(first).chain(queue.try_iter().take(MOST_REQUESTS)) {
            match request {
                Request::Extend(keys) => {
                    updates.extend(&keys);
                    extended.extend(keys);
                }
                Request::Settle {
                    used,
                    ended,
                    response,
                } => {
                    updates.extend(used);
                    all_ended.extend(ended);
                    settled.push(response);
                }
            }
        }
        // Of several for one key, the last one holds.
        updates.reverse();
        updates.sort_by_key(|(key, _)| *key);
        updates.dedup_by_key(|(key, _)| *key);
        let committed = match updates.is_empty() {
            true => Ok(()),
            false => store.commit(&updates).map_err(Arc::new),
        };
        match &committed {
            Ok(()) => shared.grant(&extended),
            Err(error) => shared.refuse(&extended, error),
        }
        // Also where nothing could be written: what is in the ledger covers what they used.
        let released = store.release(&all_ended).map_err(Arc::new);
        for response in settled {
            let _ = response.send(committed.clone().and(released.clone()));
        }
    }
}

/// Says that the thread has ended, however it ends.
struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        let guard = self.0.failure();
        self.0.has_ended.store(true, Ordering::Release);
        drop(guard);
        self.0.response_arrived.notify_all();
    }
}

impl Shared {
    fn grant(&self, keys: &[(u32, Progress)]) {
        for (key, progress) in keys {
            if let Some(grant) = self.keys.get(*key as usize) {
                grant.bytes.fetch_max(progress.bytes, Ordering::Relaxed);
                grant
                    .next_sequence
                    .fetch_max(progress.next_sequence, Ordering::Relaxed);
                grant.is_pending.store(false, Ordering::Release);
            }
        }
        drop(self.failure());
        self.response_arrived.notify_all();
    }

    fn refuse(&self, keys: &[(u32, Progress)], error: &Arc<LedgerError>) {
        let mut failure = self.failure();
        *failure = Some(Arc::clone(error));
        for (key, _) in keys {
            if let Some(grant) = self.keys.get(*key as usize) {
                grant.has_failed.store(true, Ordering::Relaxed);
                grant.is_pending.store(false, Ordering::Release);
            }
        }
        drop(failure);
        self.response_arrived.notify_all();
    }

    fn failure(&self) -> MutexGuard<'_, Option<Arc<LedgerError>>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Grant {
    fn new(progress: Progress) -> Grant {
        Grant {
            next_sequence: AtomicU64::new(progress.next_sequence),
            bytes: AtomicU64::new(progress.bytes),
            is_pending: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            next_sequence: self.next_sequence.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}
