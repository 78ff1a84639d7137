//! What a program under valgrind's memcheck can tell it about secrets.
//!
//! Memcheck follows which bits of memory and registers are undefined and reports
//! every branch and every address that depends on one. A secret that is declared
//! undefined is followed in the same way, and what would be reported of an
//! uninitialized variable is then a leak (A. Langley, ctgrind, 2010). A request
//! is a sequence of instructions without effect that valgrind recognizes (its
//! manual, section 3.1, and `valgrind.h`, whose numbers these are); outside of
//! valgrind none of them does anything.

#![allow(unsafe_code)]

/// `VG_USERREQ__RUNNING_ON_VALGRIND`.
const RUNNING_ON_VALGRIND: usize = 0x1001;
/// `VG_USERREQ__COUNT_ERRORS`.
const COUNT_ERRORS: usize = 0x1201;
/// `VG_USERREQ__MAKE_MEM_UNDEFINED`: memcheck's requests begin with its letters.
const MAKE_UNDEFINED: usize = MEMCHECK + 1;
/// `VG_USERREQ__MAKE_MEM_DEFINED`.
const MAKE_DEFINED: usize = MEMCHECK + 2;
const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;

/// Whether the program runs under valgrind.
pub fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, [0; 5]) != 0
}

/// How many errors have been reported so far.
pub fn errors() -> usize {
    request(COUNT_ERRORS, [0; 5])
}

/// Declares `bytes` secret.
pub fn poison(bytes: &mut [u8]) {
    request(MAKE_UNDEFINED, range(bytes));
}

/// Declares `bytes` public.
pub fn publish(bytes: &mut [u8]) {
    request(MAKE_DEFINED, range(bytes));
}

/// Exclusive borrows, so that the compiler takes nothing it knows of the bytes
/// past the request.
fn range(bytes: &mut [u8]) -> [usize; 5] {
    [bytes.as_mut_ptr().expose_provenance(), bytes.len(), 0, 0, 0]
}

#[cfg(target_arch = "x86_64")]
fn request(number: usize, [a, b, c, d, e]: [usize; 5]) -> usize {
    let arguments = [number, a, b, c, d, e];
    let mut answer = 0usize;
    // SAFETY: the rotations add up to 128 places and leave the register as it
    // was, the exchange is of a register with itself, and valgrind reads the six
    // words and changes the answer alone.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") answer,
            options(nostack),
        );
    }
    answer
}

/// Valgrind's requests are not made on other processors.
#[cfg(not(target_arch = "x86_64"))]
fn request(_number: usize, _arguments: [usize; 5]) -> usize {
    0
}
