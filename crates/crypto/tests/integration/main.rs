//! The crate through its public interface: batches, refusals, packets of one buffer, MACs, and
//! published vectors.

mod batches;
mod guarded;
mod macs;
mod placed;
mod refusals;
// An emulator of another processor has memory of its own.
#[cfg(target_arch = "x86_64")]
mod remains;
mod support;
mod vectors;

/// Places buffers at unmapped pages where a test asks for it.
#[global_allocator]
static ALLOCATOR: weir_guard::GuardedAllocator = weir_guard::GuardedAllocator;
