//! The calls into `c/`, behind one safe type.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use anyhow::{Result, ensure};

use crate::mac::messages::{Batch, Secret, Tag};

/// The functions of a library for one kind of keys. Only this file makes such values,
/// of functions that belong together: `new` returns memory for `count` keys, or null;
/// `keys` expands as many; `tags` reads messages, keys and nonces of a batch, writes
/// its tags, and returns 1 on success; `free` releases the memory.
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

    /// Expands other keys instead, the same number.
    pub fn set_keys(&mut self, secrets: &[Secret]) -> Result<()> {
        ensure!(secrets.len() == self.count, "another number of keys");
        // SAFETY: the state is alive, borrowed mutably, and has memory for as
        // many keys as there are secrets.
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
        // tags are borrowed mutably; no library writes more than 16 bytes of one.
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

#[cfg(prototype)]
pub mod prototype {
    use super::*;
    use crate::instructions;

    macro_rules! umacs {
        ($($bits:literal: $new:ident $keys:ident $tags:ident $free:ident;)*) => {
            unsafe extern "C" {
                $(
                    fn $new(count: usize) -> *mut c_void;
                    fn $keys(state: *mut c_void, secrets: *const Secret, count: usize);
                    fn $tags(state: *mut c_void, batch: *const CBatch) -> c_int;
                    fn $free(state: *mut c_void);
                )*
            }

            /// UMAC with a tag of this many bits; `None` where the processor lacks
            /// its instructions.
            pub fn umac(bits: usize) -> Option<Functions> {
                if !instructions::prototype_runs() {
                    return None;
                }
                match bits {
                    $($bits => Some(Functions {
                        new: $new,
                        keys: $keys,
                        tags: $tags,
                        free: $free,
                    }),)*
                    _ => None,
                }
            }
        };
    }

    umacs! {
        64: weir_prototype_umac64_new weir_prototype_umac64_keys
            weir_prototype_umac64_tags weir_prototype_umac64_free;
        128: weir_prototype_umac128_new weir_prototype_umac128_keys
             weir_prototype_umac128_tags weir_prototype_umac128_free;
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

            /// UMAC with a tag of this many bits; with `counts`, it counts the
            /// nonces of each key by itself, from 1.
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
        fn weir_ipsec_mb_mac_new_avx2_alone(count: usize) -> *mut c_void;
        fn weir_ipsec_mb_mac_new_sse_alone(count: usize) -> *mut c_void;
        fn weir_ipsec_mb_mac_keys(state: *mut c_void, secrets: *const Secret, count: usize);
        fn weir_ipsec_mb_mac_free(state: *mut c_void);
        fn weir_ipsec_mb_gmac(state: *mut c_void, batch: *const CBatch) -> c_int;
        fn weir_ipsec_mb_gmac_by_gcm(state: *mut c_void, batch: *const CBatch) -> c_int;
        fn weir_ipsec_mb_hmac_sha1(state: *mut c_void, batch: *const CBatch) -> c_int;
        fn weir_ipsec_mb_poly1305(state: *mut c_void, batch: *const CBatch) -> c_int;
    }

    /// The library, with the instructions that it may use.
    #[derive(Clone, Copy)]
    pub enum Code {
        /// All that the processor has.
        Widest,
        Avx2,
        /// Without VAES and GFNI.
        Avx2Alone,
        /// SSE with SHA instructions.
        SseAlone,
    }

    impl Code {
        /// GMAC by the functions of that name.
        pub fn gmac(self) -> Functions {
            Functions {
                new: match self {
                    Code::Widest => weir_ipsec_mb_mac_new,
                    Code::Avx2 => weir_ipsec_mb_mac_new_avx2,
                    Code::Avx2Alone => weir_ipsec_mb_mac_new_avx2_alone,
                    Code::SseAlone => weir_ipsec_mb_mac_new_sse_alone,
                },
                keys: weir_ipsec_mb_mac_keys,
                tags: weir_ipsec_mb_gmac,
                free: weir_ipsec_mb_mac_free,
            }
        }

        /// GMAC as GCM of no text.
        pub fn gmac_by_gcm(self) -> Functions {
            Functions {
                tags: weir_ipsec_mb_gmac_by_gcm,
                ..self.gmac()
            }
        }

        /// HMAC-SHA1-96.
        pub fn hmac_sha1(self) -> Functions {
            Functions {
                tags: weir_ipsec_mb_hmac_sha1,
                ..self.gmac()
            }
        }

        pub fn poly1305(self) -> Functions {
            Functions {
                tags: weir_ipsec_mb_poly1305,
                ..self.gmac()
            }
        }
    }
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

    /// Under given keys.
    pub const POLY1305: Functions = Functions {
        new: weir_openssl_poly1305_new,
        tags: weir_openssl_mac,
        ..GMAC
    };

    /// Under keys that ChaCha20 derives from key and nonce.
    pub const POLY1305_CHACHA20: Functions = Functions {
        new: weir_openssl_poly1305_chacha20_new,
        tags: weir_openssl_mac,
        ..GMAC
    };
}
