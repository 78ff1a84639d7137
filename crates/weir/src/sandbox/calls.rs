//! System calls, by seccomp.

use std::collections::BTreeMap;

use anyhow::Context;
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// A filter for this process. A call that it does not allow fails as if the kernel had it not, so
/// that a library with another way takes that one.
pub fn filter() -> anyhow::Result<BpfProgram> {
    let made = || {
        let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
        rules.extend(ALLOWED.iter().map(|call| (*call, Vec::new())));
        // Memory never becomes code.
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            let protection = argument(2, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0)?;
            rules.insert(call, vec![protection]);
        }
        let families = FAMILIES
            .iter()
            .map(|family| argument(0, SeccompCmpOp::Eq, *family as u64));
        rules.insert(libc::SYS_socket, families.collect::<Result<_, _>>()?);
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Errno(libc::ENOSYS as u32),
            SeccompAction::Allow,
            std::env::consts::ARCH.try_into()?,
        )?;
        BpfProgram::try_from(filter)
    };
    made().context("cannot make a filter of system calls")
}

fn argument(
    number: u8,
    operation: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(number, SeccompCmpArgLen::Dword, operation, value)?;
    SeccompRule::new(vec![condition])
}

/// Sockets that ports and their watches open again when an interface comes back, and those of
/// clients that the control socket accepts.
const FAMILIES: [i32; 6] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
    libc::AF_PACKET,
    libc::AF_XDP,
];

/// What a running pipeline needs: memory, threads, clocks, files within reach, sockets, and what
/// ports are made of. No other program is started, and no identity, namespace, mount or kernel is
/// changed.
const ALLOWED: &[c_long] = &[
    // Memory and threads.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_membarrier,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_rseq,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getcpu,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_prctl,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    // What the process and the machine are.
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrusage,
    libc::SYS_prlimit64,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_getrandom,
    // Clocks.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    // Files; which ones is a matter of Landlock.
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_lseek,
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_copy_file_range,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_umask,
    libc::SYS_mkdirat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_unlinkat,
    // Sockets and ports, also those that are made again.
    libc::SYS_socketpair,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_ioctl,
    libc::SYS_bpf,
    // Waiting.
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    // Older forms of these.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::UdpSocket;
    use std::process::Command;
    use std::thread;

    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketType, socket};
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

    use super::*;

    /// The filter restricts the thread that installs it.
    #[test]
    fn no_program_is_started_and_no_identity_changed() {
        let work = || {
            rustix::thread::set_no_new_privs(true).expect("set");
            seccompiler::apply_filter(&filter().expect("a filter")).expect("a kernel with seccomp");
            let started = Command::new("/bin/true").spawn();
            assert_eq!(raw(started.map(drop)), Some(libc::ENOSYS));
            let none = CapabilitySets {
                effective: CapabilitySet::empty(),
                permitted: CapabilitySet::empty(),
                inheritable: CapabilitySet::empty(),
            };
            assert_eq!(set_capabilities(None, none), Err(Errno::NOSYS));
            let other = socket(
                AddressFamily::from_raw(libc::AF_ALG as u16),
                SocketType::SEQPACKET,
                None,
            );
            assert_eq!(other.map(drop), Err(Errno::NOSYS));
            UdpSocket::bind("127.0.0.1:0").expect("a socket");
            File::open("/proc/self/status").expect("a file");
            thread::spawn(|| ()).join().expect("a thread");
        };
        thread::spawn(work).join().expect("as expected");
    }

    fn raw(result: std::io::Result<()>) -> Option<i32> {
        result.expect_err("not allowed").raw_os_error()
    }
}
