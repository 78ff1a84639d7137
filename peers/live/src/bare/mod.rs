//! Forwarders that call the kernel directly: what ports are compared with. They do no more than
//! hand packets on, verify nothing, and end the program where something fails.

#![allow(unsafe_code)]

pub mod packet;
pub mod tun;
pub mod xdp;

use std::ffi::CString;
use std::io;
use std::ptr;

/// A forwarder's way of waiting, as ports wait too: `poll`, for at most 10 ms.
fn wait(descriptor: i32) {
    let mut waiting = libc::pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one `pollfd` is given, which outlives the call.
    unsafe { libc::poll(&raw mut waiting, 1, 10) };
}

fn interface_index(name: &str) -> u32 {
    let name = CString::new(name).expect("a name");
    // SAFETY: the name ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    assert!(index > 0, "no interface");
    index
}

/// The result of a system call that returns -1 on failure.
#[track_caller]
fn checked(result: i32) -> i32 {
    assert!(result >= 0, "{}", io::Error::last_os_error());
    result
}

#[track_caller]
fn set_option<T>(socket: i32, level: i32, name: i32, value: &T) {
    // SAFETY: the value is as long as said, and is only read.
    checked(unsafe {
        libc::setsockopt(
            socket,
            level,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    });
}

#[track_caller]
fn map(length: usize, flags: i32, descriptor: i32, offset: i64) -> *mut u8 {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = flags | libc::MAP_POPULATE;
    // SAFETY: a new mapping at an address that the kernel chooses touches no memory in use.
    let base = unsafe {
        libc::mmap(
            ptr::null_mut(),
            length,
            protection,
            flags,
            descriptor,
            offset,
        )
    };
    assert!(base != libc::MAP_FAILED, "{}", io::Error::last_os_error());
    base.cast()
}
