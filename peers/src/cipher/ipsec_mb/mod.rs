//! Intel's ipsec-mb. GCM by its direct functions, which took 30 ns for 64 bytes under an
//! expanded key where bursts took 35 and jobs 42; encrypt-then-MAC by bursts, ciphers
//! first and hashes second, which took 75 ns with SHA-1 where bursts of chained jobs
//! took 86; ChaCha20-Poly1305 by jobs, which took 109 ns for 64 bytes where bursts took
//! 107 and direct functions 186.
//!
//! The library chooses its widest instructions. Where its AVX2 code may be faster, since
//! it computes fewer powers of a hash key and uses SHA instructions, it is a second
//! candidate.

#[cfg(ipsec_mb)]
mod ffi;
#[cfg(ipsec_mb)]
mod workers;

use super::comparison::{Lack, Peer, Setting, Worker};
use crate::instructions;

/// AES-128-GCM.
pub fn gcm(setting: &Setting) -> Vec<Peer> {
    let unlimited = if setting.new_keys { BOTH } else { WIDEST };
    peers(unlimited, |code| gcm_worker(setting, code))
}

/// AES-128-CBC or, where the suite counts, AES-128-CTR, with HMAC.
pub fn encrypt_then_mac(setting: &Setting, digest: Digest) -> Vec<Peer> {
    peers(BOTH, |code| encrypt_then_mac_worker(setting, code, digest))
}

/// ChaCha20-Poly1305.
pub fn chacha20_poly1305(setting: &Setting) -> Vec<Peer> {
    peers(WIDEST, |code| chacha_worker(setting, code))
}

/// The library with each of these codes, or with those that a limit allows.
fn peers(unlimited: &[Code], worker: impl Fn(Code) -> Result<Box<dyn Worker>, Lack>) -> Vec<Peer> {
    let codes = match instructions::are_limited() {
        true if cfg!(ipsec_mb) => LIMITED,
        _ => unlimited,
    };
    codes
        .iter()
        .map(|&code| Peer {
            name: name(code),
            worker: worker(code),
        })
        .collect()
}

/// Hashes of HMAC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    Sha1,
    Sha256,
}

/// The instructions that the library may use. The same as `enum code` of
/// `c/ipsec_mb.c`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
enum Code {
    Widest = 0,
    Avx2 = 1,
    /// Without VAES and GFNI.
    Avx2Alone = 2,
    /// SSE with SHA instructions.
    SseAlone = 3,
}

const WIDEST: &[Code] = &[Code::Widest];

/// Once where it is not installed.
const BOTH: &[Code] = if cfg!(ipsec_mb) {
    &[Code::Widest, Code::Avx2]
} else {
    WIDEST
};

const LIMITED: &[Code] = &[Code::Avx2Alone, Code::SseAlone];

#[cfg(ipsec_mb)]
pub use ffi::version;

#[cfg(ipsec_mb)]
use workers::{
    chacha20_poly1305 as chacha_worker, encrypt_then_mac as encrypt_then_mac_worker,
    gcm as gcm_worker, name,
};

#[cfg(not(ipsec_mb))]
fn name(_: Code) -> String {
    "ipsec-mb".to_owned()
}

#[cfg(not(ipsec_mb))]
const PACKAGE: &str = "libipsec-mb-dev";

#[cfg(not(ipsec_mb))]
fn gcm_worker(_: &Setting, _: Code) -> Result<Box<dyn Worker>, Lack> {
    Err(Lack::Package(PACKAGE))
}

#[cfg(not(ipsec_mb))]
fn encrypt_then_mac_worker(_: &Setting, _: Code, _: Digest) -> Result<Box<dyn Worker>, Lack> {
    Err(Lack::Package(PACKAGE))
}

#[cfg(not(ipsec_mb))]
fn chacha_worker(_: &Setting, _: Code) -> Result<Box<dyn Worker>, Lack> {
    Err(Lack::Package(PACKAGE))
}
