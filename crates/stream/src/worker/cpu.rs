//! Where a worker runs.

use std::io;

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
