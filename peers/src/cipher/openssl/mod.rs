//! OpenSSL by EVP: a context for each key; where every packet brings its key, one
//! context that gets a new key each time.

#[cfg(openssl)]
mod ffi;
#[cfg(openssl)]
mod workers;

#[cfg(not(openssl))]
use super::comparison::{Lack, Worker};
use super::comparison::{Peer, Setting};

/// An AEAD with 12 bytes of nonce and 16 of tag.
pub fn aead(setting: &Setting, cipher: &str) -> Peer {
    Peer {
        name: name(),
        worker: aead_worker(setting, cipher),
    }
}

/// A cipher, and HMAC over the ciphertext.
pub fn encrypt_then_mac(setting: &Setting, cipher: &str, digest: &str) -> Peer {
    Peer {
        name: name(),
        worker: encrypt_then_mac_worker(setting, cipher, digest),
    }
}

#[cfg(openssl)]
pub use ffi::version;

#[cfg(openssl)]
use workers::{aead as aead_worker, encrypt_then_mac as encrypt_then_mac_worker};

#[cfg(openssl)]
fn name() -> String {
    format!("OpenSSL {}", ffi::version())
}

#[cfg(not(openssl))]
fn name() -> String {
    "OpenSSL".to_owned()
}

#[cfg(not(openssl))]
const PACKAGE: &str = "libssl-dev";

#[cfg(not(openssl))]
fn aead_worker(_: &Setting, _: &str) -> Result<Box<dyn Worker>, Lack> {
    Err(Lack::Package(PACKAGE))
}

#[cfg(not(openssl))]
fn encrypt_then_mac_worker(_: &Setting, _: &str, _: &str) -> Result<Box<dyn Worker>, Lack> {
    Err(Lack::Package(PACKAGE))
}
