//! The works: MACs, sizes and peers.

use super::comparison::{Lack, Peer};
use super::messages::Secret;
use super::{foreign, weir};
use crate::harness::ONE_WORD;

/// A MAC, and the peers that compute it.
pub struct Work {
    /// Name of the rows.
    pub name: &'static str,
    pub aim: Aim,
    /// Weir's name of the MAC.
    pub mac: &'static str,
    pub tag_bytes: usize,
    /// Bytes of the messages; of works about keys, of the key.
    pub bytes: &'static [usize],
    /// Those that come to the same tags.
    pub peers: fn(&Work, &[Secret]) -> Vec<Peer>,
    /// Those that authenticate the same messages by another MAC, which their names
    /// say.
    pub other_macs: fn(&[Secret]) -> Vec<Peer>,
}

/// What is timed.
#[derive(Clone, Copy)]
pub enum Aim {
    /// Tagging messages under keys that are expanded beforehand.
    Tags,
    /// Expanding keys.
    Keys,
}

/// Number of keys, as rows name it.
pub const KEYS: &str = "64";

const SIZES: &[usize] = &[64, 256, 576, 1420, 1536, 9000];

pub const WORKS: &[Work] = &[
    umac("umac-64", 8),
    umac("umac-128", 16),
    Work {
        name: "umac-64-keys",
        ..keys(umac("umac-64", 8))
    },
    Work {
        name: "umac-128-keys",
        ..keys(umac("umac-128", 16))
    },
    Work {
        other_macs: |secrets| {
            let mut other_macs = by("GMAC", foreign::ipsec_mb_gmac(secrets));
            other_macs.extend(by("UMAC-32", foreign::umac(32, secrets)));
            other_macs
        },
        ..mmh("mmh-mac-32", 4)
    },
    Work {
        other_macs: |secrets| {
            let mut other_macs = vec![one_word(secrets)];
            other_macs.extend(by("GMAC", foreign::ipsec_mb_gmac(secrets)));
            other_macs.extend(by("UMAC-128", foreign::umac(128, secrets)));
            other_macs
        },
        ..mmh("mmh-mac-128", 16)
    },
    Work {
        name: "gmac-128",
        aim: Aim::Tags,
        mac: "aes-128-gmac",
        tag_bytes: 16,
        bytes: SIZES,
        peers: |_, secrets| {
            let mut peers = foreign::ipsec_mb_gmac(secrets);
            peers.extend(foreign::openssl_gmac(secrets));
            peers
        },
        other_macs: |_| Vec::new(),
    },
    Work {
        name: "hmac-sha1-96",
        aim: Aim::Tags,
        mac: "hmac-sha1",
        tag_bytes: 12,
        bytes: SIZES,
        peers: |_, secrets| {
            let mut peers = foreign::ipsec_mb_hmac_sha1(secrets);
            peers.extend(foreign::openssl_hmac_sha1(secrets));
            peers
        },
        other_macs: |_| Vec::new(),
    },
    Work {
        name: "poly1305-chacha20",
        aim: Aim::Tags,
        mac: "poly1305-chacha20",
        tag_bytes: 16,
        bytes: SIZES,
        peers: |_, secrets| foreign::openssl_poly1305_chacha20(secrets),
        other_macs: |secrets| {
            let mut other_macs = foreign::ipsec_mb_poly1305(secrets);
            other_macs.extend(foreign::openssl_poly1305(secrets));
            by("Poly1305 of given keys", other_macs)
        },
    },
];

/// UMAC beside the prototype and Nettle, and ipsec-mb's GMAC.
const fn umac(name: &'static str, tag_bytes: usize) -> Work {
    Work {
        name,
        aim: Aim::Tags,
        mac: name,
        tag_bytes,
        bytes: SIZES,
        peers: |work, secrets| {
            let bits = 8 * work.tag_bytes;
            let mut peers = foreign::prototype_umac(bits, secrets);
            peers.extend(foreign::umac(bits, secrets));
            peers
        },
        other_macs: |secrets| by("GMAC", foreign::ipsec_mb_gmac(secrets)),
    }
}

/// The set-up of a MAC's keys.
const fn keys(work: Work) -> Work {
    Work {
        aim: Aim::Keys,
        bytes: &[16],
        other_macs: |_| Vec::new(),
        ..work
    }
}

/// MMH-MAC, which no peer has.
const fn mmh(name: &'static str, tag_bytes: usize) -> Work {
    Work {
        peers: |_, _| Vec::new(),
        ..umac(name, tag_bytes)
    }
}

/// Weir's MMH-MAC with a tag of one word, which four are compared with.
fn one_word(secrets: &[Secret]) -> Peer {
    let weir = weir::mac("mmh-mac-32", secrets);
    Peer {
        name: ONE_WORD.to_owned(),
        candidate: weir.map_err(|error| Lack::Reason(error.to_string())),
    }
}

/// Peers whose names say which MAC they compute.
fn by(mac: &str, peers: Vec<Peer>) -> Vec<Peer> {
    let called = |peer: Peer| Peer {
        name: format!("{mac}, {}", peer.name),
        ..peer
    };
    peers.into_iter().map(called).collect()
}

/// Whether rows of this name are of a MAC.
pub fn is_mac(work: &str) -> bool {
    WORKS.iter().any(|own| own.name == work)
}
