//! The works: suites, directions, sizes, numbers of keys, and peers.

use anyhow::Result;
use weir_packet::generate::SizeModel;

use super::comparison::{Direction, Peer, Setting};
use super::ipsec_mb::Digest;
use super::{aws_lc, ipsec_mb, openssl, prototype, ring, rust_crypto};
use crate::machine::versioned;

/// A suite in one direction, and its peers.
pub struct Work {
    /// Name of the rows.
    pub name: &'static str,
    pub suite: &'static str,
    pub direction: Direction,
    pub runs: &'static [(Keys, &'static [Sizes])],
    pub peers: fn(&Setting) -> Result<Vec<Peer>>,
    /// A remark on Weir.
    pub note: Option<&'static str>,
}

/// Numbers of keys, with the name in the rows.
#[derive(Clone, Copy, Debug)]
pub enum Keys {
    Held(&'static str, usize),
    New,
}

impl Keys {
    pub fn name(self) -> &'static str {
        match self {
            Keys::Held(name, _) => name,
            Keys::New => "new",
        }
    }

    /// The number of keys for this many packets.
    pub fn count(self, packets: usize) -> usize {
        match self {
            Keys::Held(_, count) => count,
            Keys::New => packets,
        }
    }
}

/// Bytes of text of the packets. Suites with blocks round up, like ESP's padding.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    All(usize),
    /// The sizes of IP packets in such traffic.
    Mix(SizeModel),
}

const FEW: Keys = Keys::Held("few", 4);
const MANY: Keys = Keys::Held("4096", 4096);

const SHORT_TO_LONG: &[Sizes] = &[Sizes::All(64), Sizes::All(576), Sizes::All(1420)];

const CHACHA_SIZES: &[Sizes] = &[
    Sizes::All(64),
    Sizes::All(576),
    Sizes::All(1420),
    Sizes::All(9000),
];

const GCM_SIZES: &[Sizes] = &[
    Sizes::All(64),
    Sizes::All(256),
    Sizes::All(576),
    Sizes::All(1024),
    Sizes::All(1420),
    Sizes::All(9000),
];

const MIXES: &[Sizes] = &[Sizes::Mix(SizeModel::Imix), Sizes::Mix(SizeModel::Internet)];

/// A new peer is named here, and has a type or a function in a file of its own.
pub const WORKS: &[Work] = &[
    Work {
        name: "aes-128-gcm",
        suite: "aes-128-gcm-16",
        direction: Direction::Seal,
        runs: &[
            (FEW, GCM_SIZES),
            (MANY, GCM_SIZES),
            (Keys::New, GCM_SIZES),
            (Keys::New, MIXES),
        ],
        peers: gcm::<false>,
        note: None,
    },
    Work {
        name: "aes-128-gcm-open",
        suite: "aes-128-gcm-16",
        direction: Direction::Open,
        runs: &[
            (FEW, SHORT_TO_LONG),
            (MANY, SHORT_TO_LONG),
            (Keys::New, SHORT_TO_LONG),
        ],
        peers: gcm::<true>,
        note: None,
    },
    Work {
        name: "aes-128-ocb3",
        suite: "aes-128-ocb3",
        direction: Direction::Seal,
        runs: &[
            (FEW, &[Sizes::All(64), Sizes::All(1420)]),
            (MANY, &[Sizes::All(64), Sizes::All(1420)]),
        ],
        peers: |setting| {
            Ok(vec![
                Peer::without("ipsec-mb".to_owned(), "AES-OCB3"),
                openssl::aead(setting, "AES-128-OCB"),
                Peer::without(versioned("aws-lc-rs"), "AES-OCB3"),
                Peer::without(versioned("ring"), "AES-OCB3"),
                setting.peer::<rust_crypto::Ocb3>(rust_crypto::name("ocb3"))?,
            ])
        },
        note: None,
    },
    Work {
        name: "aes-128-cbc+hmac-sha1-96",
        suite: "aes-128-cbc+hmac-sha1-96",
        direction: Direction::Seal,
        runs: &[
            (FEW, SHORT_TO_LONG),
            (MANY, SHORT_TO_LONG),
            (Keys::New, SHORT_TO_LONG),
        ],
        peers: |setting| {
            let mut peers = ipsec_mb::encrypt_then_mac(setting, Digest::Sha1);
            peers.extend([
                openssl::encrypt_then_mac(setting, "AES-128-CBC", "SHA1"),
                setting.peer::<aws_lc::CbcHmac<false>>(versioned("aws-lc-rs"))?,
                Peer::without(versioned("ring"), "AES-CBC"),
                setting.peer::<rust_crypto::CbcHmac<rust_crypto::HmacSha1>>(rust_crypto::name(
                    "cbc",
                ))?,
            ]);
            Ok(peers)
        },
        note: Some("makes its IVs, one AES block each; peers are given theirs"),
    },
    Work {
        name: "aes-128-cbc+hmac-sha2-256-128",
        suite: "aes-128-cbc+hmac-sha2-256-128",
        direction: Direction::Seal,
        runs: &[
            (FEW, SHORT_TO_LONG),
            (MANY, SHORT_TO_LONG),
            (Keys::New, SHORT_TO_LONG),
        ],
        peers: |setting| {
            let mut peers = ipsec_mb::encrypt_then_mac(setting, Digest::Sha256);
            peers.extend([
                openssl::encrypt_then_mac(setting, "AES-128-CBC", "SHA256"),
                setting.peer::<aws_lc::CbcHmac<true>>(versioned("aws-lc-rs"))?,
                Peer::without(versioned("ring"), "AES-CBC"),
                setting.peer::<rust_crypto::CbcHmac<rust_crypto::HmacSha256>>(
                    rust_crypto::name("cbc"),
                )?,
            ]);
            Ok(peers)
        },
        note: Some("makes its IVs, one AES block each; peers are given theirs"),
    },
    Work {
        name: "aes-128-ctr+hmac-sha2-256-128",
        suite: "aes-128-ctr+hmac-sha2-256-128",
        direction: Direction::Seal,
        runs: &[
            (FEW, SHORT_TO_LONG),
            (MANY, SHORT_TO_LONG),
            (Keys::New, SHORT_TO_LONG),
        ],
        peers: |setting| {
            let mut peers = ipsec_mb::encrypt_then_mac(setting, Digest::Sha256);
            peers.extend([
                openssl::encrypt_then_mac(setting, "AES-128-CTR", "SHA256"),
                setting.peer::<aws_lc::CtrHmac>(versioned("aws-lc-rs"))?,
                Peer::without(versioned("ring"), "AES-CTR"),
                setting.peer::<rust_crypto::CtrHmac>(rust_crypto::name("ctr"))?,
            ]);
            Ok(peers)
        },
        note: None,
    },
    Work {
        name: "chacha20-poly1305",
        suite: "chacha20-poly1305",
        direction: Direction::Seal,
        runs: &[
            (FEW, CHACHA_SIZES),
            (MANY, CHACHA_SIZES),
            (Keys::New, CHACHA_SIZES),
        ],
        peers: chacha::<false>,
        note: None,
    },
    Work {
        name: "chacha20-poly1305-open",
        suite: "chacha20-poly1305",
        direction: Direction::Open,
        runs: &[
            (FEW, SHORT_TO_LONG),
            (MANY, SHORT_TO_LONG),
            (Keys::New, SHORT_TO_LONG),
        ],
        peers: chacha::<true>,
        note: None,
    },
];

fn chacha<const OPENS: bool>(setting: &Setting) -> Result<Vec<Peer>> {
    let mut peers = ipsec_mb::chacha20_poly1305(setting);
    peers.extend([
        openssl::aead(setting, "ChaCha20-Poly1305"),
        setting.peer::<aws_lc::ChaCha20Poly1305<OPENS>>(versioned("aws-lc-rs"))?,
        setting.peer::<ring::ChaCha20Poly1305<OPENS>>(versioned("ring"))?,
        setting
            .peer::<rust_crypto::ChaCha20Poly1305<OPENS>>(rust_crypto::name("chacha20poly1305"))?,
    ]);
    Ok(peers)
}

fn gcm<const OPENS: bool>(setting: &Setting) -> Result<Vec<Peer>> {
    let mut peers = match setting.direction {
        Direction::Seal => prototype::gcm(setting),
        Direction::Open => Vec::new(),
    };
    peers.extend(ipsec_mb::gcm(setting));
    peers.extend([
        openssl::aead(setting, "AES-128-GCM"),
        setting.peer::<aws_lc::AesGcm<OPENS>>(versioned("aws-lc-rs"))?,
        setting.peer::<ring::AesGcm<OPENS>>(versioned("ring"))?,
        setting.peer::<rust_crypto::Gcm<OPENS>>(rust_crypto::name("aes-gcm"))?,
        setting.peer::<rust_crypto::before::Gcm<OPENS>>(rust_crypto::before::name())?,
    ]);
    Ok(peers)
}
