//! The works: MACs, sizes, and who takes part.

use super::contest::{Lack, Peer};
use super::messages::Secret;
use super::{foreign, weir};
use crate::harness::ONE_WORD;

/// A MAC, and the subjects that compute it.
pub struct Work {
    /// Name of the rows.
    pub name: &'static str,
    pub aim: Aim,
    /// Weir's name of the MAC.
    pub mac: &'static str,
    pub tag_bytes: usize,
    /// Bytes of the messages; of works about keys, of the key.
    pub bytes: &'static [usize],
    /// Those who come to the same tags.
    pub peers: fn(&Work, &[Secret]) -> Vec<Peer>,
    /// Those who authenticate the same messages by something else, which their
    /// names say.
    pub strangers: fn(&[Secret]) -> Vec<Peer>,
}

/// What is timed.
#[derive(Clone, Copy)]
pub enum Aim {
    /// Tagging messages under keys that are held ready.
    Tags,
    /// Expanding keys.
    Keys,
}

/// How many keys, by the name of the rows.
pub const KEYS: &str = "64";

const SIZES: &[usize] = &[64, 256, 576, 1420, 1536, 9000];

pub const WORKS: &[Work] = &[
    umac("umac-64", 8),
    umac("umac-128", 16),
    Work {
        name: "umac-64-keys",
        aim: Aim::Keys,
        bytes: &[16],
        strangers: |_| Vec::new(),
        ..umac("umac-64", 8)
    },
    Work {
        strangers: |secrets| {
            let mut strangers = by("GMAC", foreign::ipsec_mb_gmac(secrets));
            strangers.extend(by("UMAC-32", foreign::umac(32, secrets)));
            strangers
        },
        ..mmh("mmh-mac-32", 4)
    },
    Work {
        strangers: |secrets| {
            let mut strangers = vec![one_word(secrets)];
            strangers.extend(by("GMAC", foreign::ipsec_mb_gmac(secrets)));
            strangers.extend(by("UMAC-128", foreign::umac(128, secrets)));
            strangers
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
        strangers: |_| Vec::new(),
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
        strangers: |_| Vec::new(),
    },
    Work {
        name: "poly1305-chacha20",
        aim: Aim::Tags,
        mac: "poly1305-chacha20",
        tag_bytes: 16,
        bytes: SIZES,
        peers: |_, secrets| foreign::openssl_poly1305_chacha20(secrets),
        strangers: |secrets| {
            let mut strangers = foreign::ipsec_mb_poly1305(secrets);
            strangers.extend(foreign::openssl_poly1305(secrets));
            by("Poly1305 of given keys", strangers)
        },
    },
];

/// UMAC beside Nettle's, and ipsec-mb's GMAC as a stranger.
const fn umac(name: &'static str, tag_bytes: usize) -> Work {
    Work {
        name,
        aim: Aim::Tags,
        mac: name,
        tag_bytes,
        bytes: SIZES,
        peers: |work, secrets| foreign::umac(8 * work.tag_bytes, secrets),
        strangers: |secrets| by("GMAC", foreign::ipsec_mb_gmac(secrets)),
    }
}

/// MMH-MAC, which nobody else has.
const fn mmh(name: &'static str, tag_bytes: usize) -> Work {
    Work {
        peers: |_, _| Vec::new(),
        ..umac(name, tag_bytes)
    }
}

/// Weir's MMH-MAC with a tag of one word, which four are compared with.
fn one_word(secrets: &[Secret]) -> Peer {
    let weir = weir::mac("mmh-mac-32", 4, secrets);
    Peer {
        name: ONE_WORD.to_owned(),
        subject: weir.map_err(|error| Lack::Reason(error.to_string())),
    }
}

/// Subjects whose names say which MAC they compute.
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
