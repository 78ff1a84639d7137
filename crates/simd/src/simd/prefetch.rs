//! Prefetches memory ahead of its use. The scalar reference does nothing: a
//! prefetch changes how long a program takes and nothing else.

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Prefetches all cache lines of a value.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    for_each_line(value, |at| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that the program can see and never
        // faults, whatever the address; every x86-64 processor has it.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
        }
        let _ = at;
    });
}

/// Calls `ask` with an address in each line of `value`.
#[inline(always)]
fn for_each_line<T: ?Sized>(value: &T, mut ask: impl FnMut(*const u8)) {
    let start: *const u8 = std::ptr::from_ref(value).cast();
    let in_line = start.addr() % LINE_BYTES;
    let lines = (in_line + size_of_val(value)).div_ceil(LINE_BYTES);
    for line in 0..lines {
        ask(start.wrapping_sub(in_line).wrapping_add(LINE_BYTES * line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned([u8; 256]);

    #[test]
    fn every_line_is_asked_for_once() {
        let memory = Aligned([7; 256]);
        let lines = |bytes: &[u8]| {
            let mut lines = Vec::new();
            for_each_line(bytes, |at| {
                lines.push((at.addr() - memory.0.as_ptr().addr()) / LINE_BYTES);
            });
            lines
        };
        assert_eq!(lines(&memory.0[..0]), [0; 0]);
        assert_eq!(lines(&memory.0[..1]), [0]);
        assert_eq!(lines(&memory.0[..64]), [0]);
        assert_eq!(lines(&memory.0[63..65]), [0, 1]);
        assert_eq!(lines(&memory.0[1..193]), [0, 1, 2, 3]);
        assert_eq!(lines(&memory.0[64..192]), [1, 2]);
    }

    #[test]
    fn nothing_changes() {
        let memory = Aligned([7; 256]);
        prefetch(&memory);
        prefetch(&memory.0[5..]);
        prefetch::<[u8]>(&[]);
        assert_eq!(memory.0, [7; 256]);
    }
}
