//! A run of a forwarder: when it is ready, when it ends, and the CPU time between.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Shared by the forwarder's thread and the one that measures it.
#[derive(Default)]
pub struct Run {
    is_ready: AtomicBool,
    is_over: AtomicBool,
    began_ns: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Run {
    /// The forwarder is ready: its CPU time counts from now on.
    pub fn begin(&self) {
        self.begin_at(thread_cpu_ns());
    }

    /// Whether the forwarder is to go on. Its CPU time does not count any more when it is not.
    pub fn goes_on(&self) -> bool {
        let is_over = self.is_over();
        if is_over {
            self.end_at(thread_cpu_ns());
        }
        !is_over
    }

    /// The same for a forwarder whose threads are its own, which have used so much CPU time.
    pub fn begin_at(&self, cpu_ns: u64) {
        self.began_ns.store(cpu_ns, Ordering::Relaxed);
        self.is_ready.store(true, Ordering::Release);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub fn end_at(&self, cpu_ns: u64) {
        let cpu_ns = cpu_ns - self.began_ns.load(Ordering::Relaxed);
        self.cpu_ns.store(cpu_ns, Ordering::Relaxed);
    }

    /// Waits until the forwarder is ready.
    pub fn wait_until_ready(&self) {
        let begin = Instant::now();
        while !self.is_ready.load(Ordering::Acquire) {
            assert!(begin.elapsed() < Duration::from_secs(10), "not ready");
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// What the forwarder needed, once its thread has ended.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Ordering::Relaxed)
    }
}

/// Keeps the calling thread on one core.
pub fn pin(core: usize) {
    let mut set = CpuSet::new();
    set.set(core);
    // Where there is one core only, threads share it.
    let _ = sched_setaffinity(None, &set);
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
