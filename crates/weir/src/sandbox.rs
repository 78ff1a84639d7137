//! What a command at network interfaces may still do once its ports are open.
//!
//! Files are restricted by Landlock and system calls by seccomp, so that a defect in what reads
//! packets reaches neither other files nor other programs. Where the kernel has neither, a
//! warning says so. What stays allowed and why is in decision 103.

use std::path::Path;

use weir_console::{Failure, Outcome, messages};

mod calls;
mod files;
mod reach;

pub use reach::Reach;

/// Restricts files, for this thread and those that it starts from now on. To be called when ports
/// are open and no other thread runs.
///
/// # Errors
/// A restriction that the kernel has cannot be set up.
pub fn confine_files(reach: &Reach) -> Outcome {
    match files::confine(reach).map_err(Failure::Running)? {
        files::Confined::Whole => messages::detail("Landlock restricts files"),
        files::Confined::Partly => {
            messages::detail("Landlock restricts files, as far as this kernel has it")
        }
        files::Confined::Not => messages::warning(
            "this kernel has no Landlock: what files the process may open is not restricted",
        ),
    }
    let threads = Path::new("/proc/self/task").read_dir();
    if threads.is_ok_and(|threads| threads.count() > 1) {
        messages::warning("threads that were started before are not restricted by Landlock");
    }
    Ok(())
}

/// Restricts system calls, for all threads. To be called when sockets are open.
///
/// # Errors
/// The filter cannot be made.
pub fn confine_calls() -> Outcome {
    let filter = calls::filter().map_err(Failure::Running)?;
    match seccompiler::apply_filter_all_threads(&filter) {
        Ok(()) => messages::detail("seccomp restricts system calls"),
        Err(error) => messages::warning(format_args!(
            "system calls are not restricted by seccomp: {error}"
        )),
    }
    Ok(())
}
