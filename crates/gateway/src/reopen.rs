//! Outputs that are opened again by their names, after they were moved away.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Makes all outputs that are appended to open their files again.
#[derive(Clone, Debug, Default)]
pub struct Reopen(Arc<Mutex<Vec<Arc<AtomicBool>>>>);

impl Reopen {
    /// A flag for one more output, which lowers it when it has opened its file again.
    pub fn flag(&self) -> Arc<AtomicBool> {
        let flag = Arc::new(AtomicBool::new(false));
        let mut flags = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        flags.push(Arc::clone(&flag));
        flag
    }

    /// Raises the flags of all outputs.
    pub fn request(&self) {
        let flags = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for flag in flags.iter() {
            flag.store(true, Ordering::Relaxed);
        }
    }
}
