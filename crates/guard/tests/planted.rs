//! Accesses beyond a buffer are found, and others are not.

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::ptr;

use weir_guard::{GuardedAllocator, Side, guarded};

#[global_allocator]
static ALLOCATOR: GuardedAllocator = GuardedAllocator;

/// Which access a child of this program is to make.
const PLANTED: &str = "WEIR_GUARD_PLANTED";

const SIGSEGV: i32 = 11;

#[test]
fn buffers_are_used_to_their_ends() {
    for side in Side::ALL {
        for bytes in (0..200).chain([4095, 4096, 4097, 10_000]) {
            let mut buffer = guarded(side, || vec![0u8; bytes]);
            buffer.fill(7);
            assert_eq!(buffer.iter().filter(|byte| **byte == 7).count(), bytes);
            // Grows and moves out of the guarded memory.
            buffer.extend([8; 100]);
            assert_eq!(buffer.len(), bytes + 100);
        }
        let words = guarded(side, || vec![[1u64; 8]; 9]);
        assert_eq!(words.iter().flatten().sum::<u64>(), 72);
    }
}

#[test]
fn accesses_beyond_a_buffer_end_the_program() {
    if let Ok(planted) = std::env::var(PLANTED) {
        access(&planted);
        return;
    }
    for planted in ["behind", "in front", "freed"] {
        let program = std::env::current_exe().expect("this program");
        let output = Command::new(program)
            .args(["--exact", "accesses_beyond_a_buffer_end_the_program"])
            .env(PLANTED, planted)
            .output()
            .expect("a child");
        assert_eq!(output.status.signal(), Some(SIGSEGV), "{planted}");
    }
}

/// What a child of the test above does.
fn access(planted: &str) {
    let (side, offset) = match planted {
        "behind" => (Side::End, 100),
        "in front" => (Side::Begin, -1),
        _ => (Side::End, 0),
    };
    let buffer = guarded(side, || vec![0u8; 100]);
    let at = black_box(buffer.as_ptr()).wrapping_offset(offset);
    if offset == 0 {
        drop(buffer);
    }
    // SAFETY: none: the access is what must end the program.
    black_box(unsafe { ptr::read_volatile(at) });
}
