//! The crate through its public interface: batches, numbers and nonces, refusals, MACs, memory,
//! and published vectors.

mod batches;
mod guarded;
mod macs;
#[cfg(not(target_arch = "aarch64"))]
mod nonces;
mod numbers;
mod refusals;
// An emulator of another processor has memory of its own.
#[cfg(target_arch = "x86_64")]
mod remains;
mod sent_again;
mod support;
mod vectors;

/// Places buffers at unmapped pages within `weir_guard::guarded`.
#[global_allocator]
static ALLOCATOR: weir_guard::GuardedAllocator = weir_guard::GuardedAllocator;
