//! What runs and the rows of a report are computed with: the machine, the effort,
//! and results that several of them share.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::shared::parameters::{ParameterError, Parameters};

/// How much work the rows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As much as the published experiments.
    Full,
    /// A tenth of it, for runs that are long.
    Short,
}

impl Effort {
    /// A number of packets, blocks or events, scaled.
    pub fn of(self, full: usize) -> usize {
        match self {
            Effort::Full => full,
            Effort::Short => full / 10,
        }
    }
}

/// A result, once it is there. Who computes it holds the lock, so that no other
/// thread does the same.
type Slot = Arc<Mutex<Option<Arc<dyn Any + Send + Sync>>>>;
type Cache = Mutex<HashMap<String, Slot>>;

/// The machine, the effort, and shared results.
#[derive(Debug)]
pub struct Bench {
    machine: Parameters,
    /// Values that take precedence over those that a row sets.
    changes: Vec<(String, f64)>,
    effort: Effort,
    /// What does not depend on the machine; benches with other machines share it.
    inputs: Arc<Cache>,
    results: Cache,
    is_used: AtomicBool,
}

impl Bench {
    /// A bench with a machine, some of whose parameters are set to other values
    /// for all rows.
    pub fn new(machine: Parameters, changes: &[(String, f64)], effort: Effort) -> Bench {
        Bench {
            machine,
            changes: changes.to_vec(),
            effort,
            inputs: Arc::default(),
            results: Cache::default(),
            is_used: AtomicBool::new(false),
        }
    }

    /// A bench whose machines differ from those of this one in some parameters.
    /// It shares the inputs.
    pub fn changed(&self, changes: &[(String, f64)]) -> Bench {
        let all = [self.changes.as_slice(), changes].concat();
        Bench {
            inputs: Arc::clone(&self.inputs),
            ..Bench::new(self.machine.clone(), &all, self.effort)
        }
    }

    /// How much work rows do.
    pub fn effort(&self) -> Effort {
        self.is_used.store(true, Ordering::Relaxed);
        self.effort
    }

    /// The parameters of the machine, with those set that a row sets, and then
    /// those that all rows of this bench have set.
    ///
    /// # Errors
    /// A key that the machine does not have.
    pub fn parameters(&self, of_row: &[(&str, f64)]) -> Result<Parameters, ParameterError> {
        self.is_used.store(true, Ordering::Relaxed);
        let of_row = of_row
            .iter()
            .map(|(key, value)| ((*key).to_owned(), *value));
        let changes: Vec<_> = of_row.chain(self.changes.iter().cloned()).collect();
        self.machine.with(&changes)
    }

    /// Something that does not depend on the machine, computed at its first use.
    ///
    /// # Errors
    /// Those of the computation.
    pub fn input<T: Any + Send + Sync, E>(
        &self,
        name: &str,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        self.is_used.store(true, Ordering::Relaxed);
        cached(&self.inputs, name, compute)
    }

    /// Something that depends on the machine of this bench, computed at its first
    /// use.
    ///
    /// # Errors
    /// Those of the computation.
    pub fn result<T: Any + Send + Sync, E>(
        &self,
        name: &str,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        self.is_used.store(true, Ordering::Relaxed);
        cached(&self.results, name, compute)
    }

    /// Whether something was read from this bench.
    pub(in crate::shared) fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }
}

fn cached<T: Any + Send + Sync, E>(
    cache: &Cache,
    name: &str,
    compute: impl FnOnce() -> Result<T, E>,
) -> Result<Arc<T>, E> {
    // A thread that fails while it computes leaves the map and the slot whole.
    let known = || cache.lock().unwrap_or_else(PoisonError::into_inner);
    let slot = Arc::clone(known().entry(name.to_owned()).or_default());
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Ok(value)) = slot.clone().map(Arc::downcast) {
        return Ok(value);
    }
    let value = Arc::new(compute()?);
    *slot = Some(value.clone());
    Ok(value)
}
