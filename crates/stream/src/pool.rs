//! Empty batches for the threads of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::batch::{Batch, BatchLimits};

/// Batches that a thread keeps for itself; what it has more goes to the others.
const KEPT: usize = 4;

/// A thread's share of the empty batches of a run. Clones belong to the same run.
pub(crate) struct Pool {
    limits: BatchLimits,
    kept: Vec<Batch>,
    others: Arc<Mutex<Vec<Batch>>>,
}

impl Pool {
    pub fn new(limits: BatchLimits) -> Pool {
        Pool {
            limits,
            kept: Vec::new(),
            others: Arc::default(),
        }
    }

    pub fn take(&mut self) -> Batch {
        let batch = self.kept.pop().or_else(|| self.others().pop());
        batch.unwrap_or_else(|| Batch::new(self.limits))
    }

    pub fn put(&mut self, mut batch: Batch) {
        batch.clear();
        if self.kept.len() < KEPT {
            self.kept.push(batch);
        } else {
            self.others().push(batch);
        }
    }

    fn others(&self) -> MutexGuard<'_, Vec<Batch>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Pool {
    fn clone(&self) -> Pool {
        Pool {
            limits: self.limits,
            kept: Vec::new(),
            others: Arc::clone(&self.others),
        }
    }
}
