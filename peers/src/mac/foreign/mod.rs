//! The peers in C: four functions for each kind of keys.

mod ffi;

use anyhow::Result;

use super::comparison::{Candidate, Lack, Peer};
use super::messages::{Batch, Secret};
use crate::harness::PROTOTYPE;
#[cfg(ipsec_mb)]
use ffi::ipsec_mb::Code;
use ffi::{Foreign, Functions};

impl Candidate for Foreign {
    fn set_keys(&mut self, secrets: &[Secret]) -> Result<()> {
        Foreign::set_keys(self, secrets)
    }

    #[inline]
    fn tag(&mut self, batch: Batch<'_>) -> Result<()> {
        Foreign::tag(self, batch)
    }
}

fn peer(name: impl Into<String>, functions: Functions, secrets: &[Secret]) -> Peer {
    let candidate = match Foreign::new(functions, secrets) {
        Some(foreign) => Ok(Box::new(foreign) as Box<dyn Candidate>),
        None => Err(Lack::Reason("it does not run here".to_owned())),
    };
    Peer {
        name: name.into(),
        candidate,
    }
}

#[cfg(not(all(nettle, ipsec_mb, openssl)))]
fn absent(name: &str, package: &'static str) -> Vec<Peer> {
    vec![Peer {
        name: name.to_owned(),
        candidate: Err(Lack::Package(package)),
    }]
}

/// The prototype's UMAC with a tag of this many bits: 64 or 128.
#[cfg(prototype)]
pub fn prototype_umac(bits: usize, secrets: &[Secret]) -> Vec<Peer> {
    use crate::instructions::PROTOTYPE_DOES_NOT_RUN;

    vec![match ffi::prototype::umac(bits) {
        Some(functions) => peer(PROTOTYPE, functions, secrets),
        None => missing(PROTOTYPE, PROTOTYPE_DOES_NOT_RUN),
    }]
}

#[cfg(not(prototype))]
pub fn prototype_umac(_: usize, _: &[Secret]) -> Vec<Peer> {
    vec![missing(
        PROTOTYPE,
        crate::instructions::PROTOTYPE_NOT_COMPILED,
    )]
}

fn missing(name: &str, reason: impl ToString) -> Peer {
    Peer {
        name: name.to_owned(),
        candidate: Err(Lack::Reason(reason.to_string())),
    }
}

/// GNU Nettle's UMAC with a tag of this many bits: with the nonce of every message
/// set, as a receiver must do, and with nonces that Nettle counts, which saves AES
/// blocks where two or four short pads are parts of one.
#[cfg(nettle)]
pub fn umac(bits: usize, secrets: &[Secret]) -> Vec<Peer> {
    let name = format!("Nettle {}", ffi::nettle::version());
    let Some((set, counted)) = ffi::nettle::umac(bits, false).zip(ffi::nettle::umac(bits, true))
    else {
        return Vec::new();
    };
    if let Err(error) = computes_umac(bits, set) {
        return vec![missing(&name, error)];
    }
    vec![
        peer(name.clone(), set, secrets),
        peer(format!("{name}, counting nonces"), counted, secrets),
    ]
}

/// Whether the tags are those of RFC 4418's appendix; those of some builds of the
/// reference code are not.
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

/// ipsec-mb's GMAC by both of its interfaces.
#[cfg(ipsec_mb)]
pub fn ipsec_mb_gmac(secrets: &[Secret]) -> Vec<Peer> {
    let peers = ipsec_mb(&[Code::Widest]).flat_map(|(name, code)| {
        [
            peer(name.clone(), code.gmac(), secrets),
            peer(
                format!("{name}, GCM of no text"),
                code.gmac_by_gcm(),
                secrets,
            ),
        ]
    });
    peers.collect()
}

/// ipsec-mb's HMAC-SHA1-96, and the same limited to AVX2, which may be faster since it
/// uses SHA instructions.
#[cfg(ipsec_mb)]
pub fn ipsec_mb_hmac_sha1(secrets: &[Secret]) -> Vec<Peer> {
    ipsec_mb(&[Code::Widest, Code::Avx2])
        .map(|(name, code)| peer(name, code.hmac_sha1(), secrets))
        .collect()
}

/// Poly1305 with given keys: its ChaCha20 derives none.
#[cfg(ipsec_mb)]
pub fn ipsec_mb_poly1305(secrets: &[Secret]) -> Vec<Peer> {
    ipsec_mb(&[Code::Widest])
        .map(|(name, code)| peer(name, code.poly1305(), secrets))
        .collect()
}

/// The library with each of these codes, or with those that a limit allows, and its
/// name.
#[cfg(ipsec_mb)]
fn ipsec_mb(unlimited: &'static [Code]) -> impl Iterator<Item = (String, Code)> {
    const LIMITED: &[Code] = &[Code::Avx2Alone, Code::SseAlone];
    let codes = match crate::instructions::are_limited() {
        true => LIMITED,
        false => unlimited,
    };
    codes.iter().map(|&code| {
        let name = format!("ipsec-mb {}", crate::cipher::ipsec_mb_version());
        let name = match code {
            Code::Widest => name,
            Code::Avx2 | Code::Avx2Alone => name + " avx2",
            Code::SseAlone => name + " sse",
        };
        (name, code)
    })
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

/// Poly1305 with given keys.
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
