//! Hyperscan or Vectorscan, depending on which is installed as `libhs`: the calls into
//! `c/hyperscan.c`, as a safe type.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;

use weir_match::Pattern;

use super::engines::Found;
use crate::instructions::are_limited;

unsafe extern "C" {
    fn weir_hyperscan_version() -> *const c_char;
    fn weir_hyperscan_compile(
        patterns: *const *const u8,
        bytes: *const usize,
        nocase: *const u8,
        count: c_uint,
        is_limited: c_int,
    ) -> *mut c_void;
    fn weir_hyperscan_free(engine: *mut c_void);
    fn weir_hyperscan_bytes(engine: *const c_void) -> usize;
    fn weir_hyperscan_scan(
        engine: *const c_void,
        packets: *const *const u8,
        bytes: *const usize,
        count: usize,
        found: *mut Found,
    ) -> c_int;
}

/// The last version of Hyperscan that is free software; later ones are
/// Vectorscan's.
const LAST_HYPERSCAN: &str = "5.4.2";

/// Name and version, as in `Hyperscan 5.4.0`.
pub fn name() -> String {
    // SAFETY: takes nothing; returns a string that lives as long as the program.
    let version = unsafe { CStr::from_ptr(weir_hyperscan_version()) }.to_string_lossy();
    let version = version.split(' ').next().unwrap_or_default();
    let library = if version <= LAST_HYPERSCAN {
        "Hyperscan"
    } else {
        "Vectorscan"
    };
    format!("{library} {version}")
}

/// A compiled database and its working memory.
pub struct Hyperscan(NonNull<c_void>);

impl Hyperscan {
    /// Compiles patterns, which are numbered by their position in the slice; `None`
    /// where the library refuses them, and in a limited run where it has no code for AVX2 alone.
    pub fn new(needles: &[Pattern]) -> Option<Hyperscan> {
        let patterns: Vec<*const u8> = needles.iter().map(|n| n.bytes().as_ptr()).collect();
        let bytes: Vec<usize> = needles.iter().map(|n| n.bytes().len()).collect();
        let nocase: Vec<u8> = needles.iter().map(|n| n.is_nocase().into()).collect();
        let count = c_uint::try_from(needles.len()).ok()?;
        // SAFETY: three arrays of `count` elements, the first of pointers to as
        // many bytes as the second says; nothing of them is kept.
        let engine = unsafe {
            weir_hyperscan_compile(
                patterns.as_ptr(),
                bytes.as_ptr(),
                nocase.as_ptr(),
                count,
                are_limited().into(),
            )
        };
        NonNull::new(engine).map(Hyperscan)
    }

    /// Bytes of the database.
    pub fn memory_bytes(&self) -> usize {
        // SAFETY: the engine lives.
        unsafe { weir_hyperscan_bytes(self.0.as_ptr()) }
    }

    /// Scans packets one by one; `None` where the library fails.
    pub fn scan(&self, packets: &Pointers<'_>) -> Option<Found> {
        let mut found = Found::default();
        // SAFETY: the engine lives and is used by one thread, as it is not
        // `Sync`; pointers and lengths are those of slices that live.
        let done = unsafe {
            weir_hyperscan_scan(
                self.0.as_ptr(),
                packets.starts.as_ptr(),
                packets.bytes.as_ptr(),
                packets.starts.len(),
                &mut found,
            )
        };
        (done == 1).then_some(found)
    }
}

impl Drop for Hyperscan {
    fn drop(&mut self) {
        // SAFETY: the engine lives, is owned, and is freed here only.
        unsafe { weir_hyperscan_free(self.0.as_ptr()) };
    }
}

/// Packets as pointers and lengths.
pub struct Pointers<'a> {
    starts: Vec<*const u8>,
    bytes: Vec<usize>,
    packets: std::marker::PhantomData<&'a [u8]>,
}

impl<'a> Pointers<'a> {
    pub fn new(packets: impl Iterator<Item = &'a [u8]> + Clone) -> Pointers<'a> {
        Pointers {
            starts: packets.clone().map(<[u8]>::as_ptr).collect(),
            bytes: packets.map(<[u8]>::len).collect(),
            packets: std::marker::PhantomData,
        }
    }
}
