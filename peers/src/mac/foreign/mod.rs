//! The peers in C; each gives four functions for its keys of one kind.

mod ffi;

use anyhow::Result;

use super::contest::{Lack, Peer, Subject};
use super::messages::{Batch, Secret};
use ffi::{Foreign, Functions};

impl Subject for Foreign {
    fn set_keys(&mut self, secrets: &[Secret]) -> Result<()> {
        Foreign::set_keys(self, secrets)
    }

    #[inline]
    fn tag(&mut self, batch: Batch<'_>) -> Result<()> {
        Foreign::tag(self, batch)
    }
}

fn peer(name: impl Into<String>, functions: Functions, secrets: &[Secret]) -> Peer {
    let subject = match Foreign::new(functions, secrets) {
        Some(foreign) => Ok(Box::new(foreign) as Box<dyn Subject>),
        None => Err(Lack::Reason("it does not run here".to_owned())),
    };
    Peer {
        name: name.into(),
        subject,
    }
}

#[cfg(not(all(nettle, ipsec_mb, openssl)))]
fn absent(name: &str, package: &'static str) -> Vec<Peer> {
    vec![Peer {
        name: name.to_owned(),
        subject: Err(Lack::Package(package)),
    }]
}

/// GNU Nettle's UMAC with a tag of so many bits: with every message's nonce
/// set, as who receives must do, and with nonces that Nettle counts, which
/// spares it AES blocks where two or four short pads are cut from one.
#[cfg(nettle)]
pub fn umac(bits: usize, secrets: &[Secret]) -> Vec<Peer> {
    let name = format!("Nettle {}", ffi::nettle::version());
    let Some((set, counted)) = ffi::nettle::umac(bits, false).zip(ffi::nettle::umac(bits, true))
    else {
        return Vec::new();
    };
    if let Err(error) = computes_umac(bits, set) {
        return vec![Peer {
            name,
            subject: Err(Lack::Reason(error.to_string())),
        }];
    }
    vec![
        peer(name.clone(), set, secrets),
        peer(format!("{name}, counting nonces"), counted, secrets),
    ]
}

/// Whether the tags are those of RFC 4418's appendix: some builds of the
/// reference code come to others.
#[cfg(nettle)]
fn computes_umac(bits: usize, functions: Functions) -> Result<()> {
    use anyhow::{Context, ensure};

    let mut secret = [0; 32];
    secret[..16].copy_from_slice(b"abcdefghijklmnop");
    let mut nonce = [0; 16];
    nonce[4..12].copy_from_slice(b"bcdefghi");
    let mut message = b"abc".repeat(500);
    let mut tag = [[0; 16]];
    let mut foreign = Foreign::new(functions, &[secret]).context("it does not run here")?;
    foreign.tag(Batch {
        stride: message.len(),
        bytes: message.len(),
        memory: &mut message,
        keys: &[0],
        nonces: &[nonce],
        tags: &mut tag,
    })?;
    // The first three words of UMAC-128 are those of UMAC-96.
    let expected: &[u8] = match bits {
        32 => b"\xab\xeb\x3c\x8b",
        64 => b"\xd4\xcf\x26\xdd\xef\xd5\xc0\x1a",
        _ => b"\x88\x24\xa2\x60\xc5\x3c\x66\xa3\x6c\x92\x60\xa6",
    };
    ensure!(
        tag[0].starts_with(expected),
        "its tags are not those of RFC 4418"
    );
    Ok(())
}

#[cfg(not(nettle))]
pub fn umac(_: usize, _: &[Secret]) -> Vec<Peer> {
    absent("Nettle", "nettle-dev")
}

/// ipsec-mb's GMAC in both ways that it has.
#[cfg(ipsec_mb)]
pub fn ipsec_mb_gmac(secrets: &[Secret]) -> Vec<Peer> {
    let [by_name, by_gcm] = ffi::ipsec_mb::GMACS;
    vec![
        peer(ipsec_mb_name(), by_name, secrets),
        peer(
            format!("{}, GCM of no text", ipsec_mb_name()),
            by_gcm,
            secrets,
        ),
    ]
}

/// ipsec-mb's HMAC-SHA1-96, and with AVX2 at most, where it may be quicker, for
/// then it uses SHA instructions.
#[cfg(ipsec_mb)]
pub fn ipsec_mb_hmac_sha1(secrets: &[Secret]) -> Vec<Peer> {
    let [widest, avx2] = ffi::ipsec_mb::HMACS;
    vec![
        peer(ipsec_mb_name(), widest, secrets),
        peer(format!("{} avx2", ipsec_mb_name()), avx2, secrets),
    ]
}

/// Poly1305 with keys that are there already: its ChaCha20 makes none.
#[cfg(ipsec_mb)]
pub fn ipsec_mb_poly1305(secrets: &[Secret]) -> Vec<Peer> {
    vec![peer(ipsec_mb_name(), ffi::ipsec_mb::POLY1305, secrets)]
}

#[cfg(ipsec_mb)]
fn ipsec_mb_name() -> String {
    format!("ipsec-mb {}", crate::cipher::ipsec_mb_version())
}

#[cfg(not(ipsec_mb))]
pub fn ipsec_mb_gmac(_: &[Secret]) -> Vec<Peer> {
    absent("ipsec-mb", "libipsec-mb-dev")
}

#[cfg(not(ipsec_mb))]
pub use {ipsec_mb_gmac as ipsec_mb_hmac_sha1, ipsec_mb_gmac as ipsec_mb_poly1305};

#[cfg(openssl)]
pub fn openssl_gmac(secrets: &[Secret]) -> Vec<Peer> {
    openssl(ffi::openssl::GMAC, secrets)
}

#[cfg(openssl)]
pub fn openssl_hmac_sha1(secrets: &[Secret]) -> Vec<Peer> {
    openssl(ffi::openssl::HMAC, secrets)
}

/// Poly1305 with one-time keys from ChaCha20.
#[cfg(openssl)]
pub fn openssl_poly1305_chacha20(secrets: &[Secret]) -> Vec<Peer> {
    openssl(ffi::openssl::POLY1305_CHACHA20, secrets)
}

/// Poly1305 with keys that are there already.
#[cfg(openssl)]
pub fn openssl_poly1305(secrets: &[Secret]) -> Vec<Peer> {
    openssl(ffi::openssl::POLY1305, secrets)
}

#[cfg(openssl)]
fn openssl(functions: Functions, secrets: &[Secret]) -> Vec<Peer> {
    let name = format!("OpenSSL {}", crate::cipher::openssl_version());
    vec![peer(name, functions, secrets)]
}

#[cfg(not(openssl))]
pub fn openssl_gmac(_: &[Secret]) -> Vec<Peer> {
    absent("OpenSSL", "libssl-dev")
}

#[cfg(not(openssl))]
pub use {
    openssl_gmac as openssl_hmac_sha1, openssl_gmac as openssl_poly1305,
    openssl_gmac as openssl_poly1305_chacha20,
};
