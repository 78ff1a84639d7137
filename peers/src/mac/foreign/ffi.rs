//! The calls into `c/`, behind one safe type. This is the only place where these
//! peers are touched without the compiler's help.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use anyhow::{Result, ensure};

use crate::mac::messages::{Batch, Secret, Tag};

/// What a library does, for keys of one kind. Only this file makes such values,
/// of functions that belong together: `new` returns room for so many keys, or
/// null; `keys` expands as many; `tags` reads messages, keys and nonces of a
/// batch, writes its tags, and returns 1 if all went well; `free` takes the room
/// back.
#[derive(Clone, Copy)]
pub struct Functions {
    new: unsafe extern "C" fn(usize) -> *mut c_void,
    keys: unsafe extern "C" fn(*mut c_void, *const Secret, usize),
    tags: unsafe extern "C" fn(*mut c_void, *const CBatch) -> c_int,
    free: unsafe extern "C" fn(*mut c_void),
}

/// `struct mac_batch` of `c/mac.h`.
#[repr(C)]
struct CBatch {
    messages: *const u8,
    stride: usize,
    bytes: usize,
    count: usize,
    keys: *const u32,
    nonces: *const [u8; 16],
    tags: *mut Tag,
}

/// A library with expanded keys.
pub struct Foreign {
    functions: Functions,
    state: NonNull<c_void>,
    count: usize,
}

impl Foreign {
    /// With these keys; `None` where the library does not run.
    pub fn new(functions: Functions, secrets: &[Secret]) -> Option<Foreign> {
        // SAFETY: takes no pointers; the result is owned.
        let state = NonNull::new(unsafe { (functions.new)(secrets.len()) })?;
        let mut foreign = Foreign {
            functions,
            state,
            count: secrets.len(),
        };
        foreign.set_keys(secrets).ok()?;
        Some(foreign)
    }

    /// Expands other keys instead, as many.
    pub fn set_keys(&mut self, secrets: &[Secret]) -> Result<()> {
        ensure!(secrets.len() == self.count, "another number of keys");
        // SAFETY: the state is alive, borrowed mutably, and has room for as many
        // keys as there are secrets.
        unsafe { (self.functions.keys)(self.state.as_ptr(), secrets.as_ptr(), secrets.len()) }
        Ok(())
    }

    /// Writes the tags of a batch.
    #[inline]
    pub fn tag(&mut self, batch: Batch<'_>) -> Result<()> {
        let count = batch.tags.len();
        ensure!(batch.keys.len() == count && batch.nonces.len() == count);
        ensure!(batch.bytes <= batch.stride && batch.stride * count <= batch.memory.len());
        ensure!(batch.keys.iter().all(|key| (*key as usize) < self.count));
        let c_batch = CBatch {
            messages: batch.memory.as_ptr(),
            stride: batch.stride,
            bytes: batch.bytes,
            count,
            keys: batch.keys.as_ptr(),
            nonces: batch.nonces.as_ptr(),
            tags: batch.tags.as_mut_ptr(),
        };
        // SAFETY: the state is alive and borrowed mutably, with all its keys
        // expanded; messages lie within their memory and keys within the state,
        // by the checks above; keys, nonces and tags are arrays of `count`, and
        // tags are borrowed mutably; no subject writes more than 16 bytes of one.
        let done = unsafe { (self.functions.tags)(self.state.as_ptr(), &c_batch) };
        ensure!(done == 1, "the library failed");
        Ok(())
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: made by `new`, owned, and freed here only.
        unsafe { (self.functions.free)(self.state.as_ptr()) }
    }
}

#[cfg(nettle)]
pub mod nettle {
    use super::*;
    use std::ffi::{CStr, c_char};

    macro_rules! umacs {
        ($($bits:literal: $new:ident $keys:ident $tags:ident $counted:ident;)*) => {
            unsafe extern "C" {
                $(
                    fn $new(count: usize) -> *mut c_void;
                    fn $keys(state: *mut c_void, secrets: *const Secret, count: usize);
                    fn $tags(state: *mut c_void, batch: *const CBatch) -> c_int;
                    fn $counted(state: *mut c_void, batch: *const CBatch) -> c_int;
                )*
                fn weir_nettle_free(state: *mut c_void);
                fn weir_nettle_version() -> *const c_char;
            }

            /// UMAC with a tag of so many bits; with nonces that it counts by
            /// itself from 1, for each key, where `counts` says so.
            pub fn umac(bits: usize, counts: bool) -> Option<Functions> {
                let (new, keys, tags, counted) = match bits {
                    $($bits => (
                        $new as unsafe extern "C" fn(_) -> _,
                        $keys as unsafe extern "C" fn(_, _, _),
                        $tags as unsafe extern "C" fn(_, _) -> _,
                        $counted as unsafe extern "C" fn(_, _) -> _,
                    ),)*
                    _ => return None,
                };
                let tags = if counts { counted } else { tags };
                Some(Functions { new, keys, tags, free: weir_nettle_free })
            }
        };
    }

    umacs! {
        32: weir_nettle_umac32_new weir_nettle_umac32_keys
            weir_nettle_umac32_tags weir_nettle_umac32_counted;
        64: weir_nettle_umac64_new weir_nettle_umac64_keys
            weir_nettle_umac64_tags weir_nettle_umac64_counted;
        96: weir_nettle_umac96_new weir_nettle_umac96_keys
            weir_nettle_umac96_tags weir_nettle_umac96_counted;
        128: weir_nettle_umac128_new weir_nettle_umac128_keys
            weir_nettle_umac128_tags weir_nettle_umac128_counted;
    }

    /// The library's own version, as in `3.8`.
    pub fn version() -> String {
        // SAFETY: takes nothing; returns a string that lives as long as the program.
        let version = unsafe { CStr::from_ptr(weir_nettle_version()) };
        version.to_string_lossy().into_owned()
    }
}

#[cfg(ipsec_mb)]
pub mod ipsec_mb {
    use super::*;

    unsafe extern "C" {
        fn weir_ipsec_mb_mac_new(count: usize) -> *mut c_void;
        fn weir_ipsec_mb_mac_new_avx2(count: usize) -> *mut c_void;
        fn weir_ipsec_mb_mac_keys(state: *mut c_void, secrets: *const Secret, count: usize);
        fn weir_ipsec_mb_mac_free(state: *mut c_void);
        fn weir_ipsec_mb_gmac(state: *mut c_void, batch: *const CBatch) -> c_int;
        fn weir_ipsec_mb_gmac_by_gcm(state: *mut c_void, batch: *const CBatch) -> c_int;
        fn weir_ipsec_mb_hmac_sha1(state: *mut c_void, batch: *const CBatch) -> c_int;
        fn weir_ipsec_mb_poly1305(state: *mut c_void, batch: *const CBatch) -> c_int;
    }

    const GMAC: Functions = Functions {
        new: weir_ipsec_mb_mac_new,
        keys: weir_ipsec_mb_mac_keys,
        tags: weir_ipsec_mb_gmac,
        free: weir_ipsec_mb_mac_free,
    };

    /// GMAC by the functions of that name, and as GCM of no text.
    pub const GMACS: [Functions; 2] = [
        GMAC,
        Functions {
            tags: weir_ipsec_mb_gmac_by_gcm,
            ..GMAC
        },
    ];

    /// HMAC-SHA1-96, with the widest instructions and with those of AVX2.
    pub const HMACS: [Functions; 2] = [
        Functions {
            tags: weir_ipsec_mb_hmac_sha1,
            ..GMAC
        },
        Functions {
            new: weir_ipsec_mb_mac_new_avx2,
            tags: weir_ipsec_mb_hmac_sha1,
            ..GMAC
        },
    ];

    pub const POLY1305: Functions = Functions {
        tags: weir_ipsec_mb_poly1305,
        ..GMAC
    };
}

#[cfg(openssl)]
pub mod openssl {
    use super::*;

    unsafe extern "C" {
        fn weir_openssl_gmac_new(count: usize) -> *mut c_void;
        fn weir_openssl_hmac_sha1_new(count: usize) -> *mut c_void;
        fn weir_openssl_poly1305_new(count: usize) -> *mut c_void;
        fn weir_openssl_poly1305_chacha20_new(count: usize) -> *mut c_void;
        fn weir_openssl_mac_keys(state: *mut c_void, secrets: *const Secret, count: usize);
        fn weir_openssl_mac_free(state: *mut c_void);
        fn weir_openssl_gmac(state: *mut c_void, batch: *const CBatch) -> c_int;
        fn weir_openssl_mac(state: *mut c_void, batch: *const CBatch) -> c_int;
    }

    pub const GMAC: Functions = Functions {
        new: weir_openssl_gmac_new,
        keys: weir_openssl_mac_keys,
        tags: weir_openssl_gmac,
        free: weir_openssl_mac_free,
    };

    /// HMAC-SHA1.
    pub const HMAC: Functions = Functions {
        new: weir_openssl_hmac_sha1_new,
        tags: weir_openssl_mac,
        ..GMAC
    };

    /// Under keys that are there already.
    pub const POLY1305: Functions = Functions {
        new: weir_openssl_poly1305_new,
        tags: weir_openssl_mac,
        ..GMAC
    };

    /// Under keys that ChaCha20 makes of key and nonce.
    pub const POLY1305_CHACHA20: Functions = Functions {
        new: weir_openssl_poly1305_chacha20_new,
        tags: weir_openssl_mac,
        ..GMAC
    };
}
