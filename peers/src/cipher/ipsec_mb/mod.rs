//! Intel's ipsec-mb. GCM by its direct functions, which took 30 ns for 64 bytes
//! under a held key where its bursts took 35 and its jobs 42; encrypt-then-MAC
//! by bursts, ciphers first and hashes second, which took 75 ns with SHA-1
//! where bursts of chained jobs took 86.
//!
//! The library picks its widest instructions. Where its AVX2 code may be
//! quicker, for it computes fewer powers of a hash key and uses SHA
//! instructions, it takes part a second time.

#[cfg(ipsec_mb)]
mod ffi;
#[cfg(ipsec_mb)]
mod workers;

#[cfg(not(ipsec_mb))]
use super::contest::{Lack, Worker};
use super::contest::{Peer, Setting};

/// AES-128-GCM.
pub fn gcm(setting: &Setting) -> Vec<Peer> {
    let codes = if setting.new_keys { BOTH } else { WIDEST };
    codes
        .iter()
        .map(|code| Peer {
            name: name(*code),
            worker: gcm_worker(setting, *code),
        })
        .collect()
}

/// AES-128-CBC or, where the suite counts, AES-128-CTR, with HMAC.
pub fn encrypt_then_mac(setting: &Setting, digest: Digest) -> Vec<Peer> {
    BOTH.iter()
        .map(|code| Peer {
            name: name(*code),
            worker: encrypt_then_mac_worker(setting, *code, digest),
        })
        .collect()
}

/// Hashes of HMAC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    Sha1,
    Sha256,
}

/// Which of the library's code runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    Widest,
    Avx2,
}

const WIDEST: &[Code] = &[Code::Widest];

/// Once, where there is none at all.
const BOTH: &[Code] = if cfg!(ipsec_mb) {
    &[Code::Widest, Code::Avx2]
} else {
    WIDEST
};

#[cfg(ipsec_mb)]
pub use ffi::version;

#[cfg(ipsec_mb)]
use workers::{encrypt_then_mac as encrypt_then_mac_worker, gcm as gcm_worker, name};

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
