//! One published packet.

use weir_crypto::{Cipher, KeyMaterial, Mac, OpeningKey, Suite};

use super::oracle;

/// A packet of one suite, from a published vector.
#[derive(Clone, Debug)]
pub struct Case {
    /// The document and the vector's number in it.
    pub source: String,
    pub suite: Suite,
    /// The cipher's key, then the salt.
    pub key: Vec<u8>,
    pub integrity_key: Vec<u8>,
    pub prefix: Vec<u8>,
    pub iv: Vec<u8>,
    /// Before sealing.
    pub text: Vec<u8>,
    /// After sealing.
    pub sealed: Vec<u8>,
    pub suffix: Vec<u8>,
    pub tag: Vec<u8>,
    /// Whether it must open. Where not, `text` is empty.
    pub is_authentic: bool,
}

/// An AEAD's vector, with its nonce in one piece.
pub struct AeadVector<'a> {
    pub key: &'a [u8],
    pub nonce: &'a [u8],
    pub associated: &'a [u8],
    pub text: &'a [u8],
    pub sealed: &'a [u8],
    pub tag: &'a [u8],
    pub is_authentic: bool,
}

impl Case {
    /// The packet of an AEAD's vector; `None` where its nonce is not as
    /// long as the salt and IV that ESP has.
    pub fn of_aead(source: String, suite: Suite, vector: &AeadVector<'_>) -> Option<Case> {
        let (salt, iv) = vector.nonce.split_at_checked(suite.salt_bytes())?;
        if iv.len() != suite.iv_bytes() {
            return None;
        }
        Some(Case {
            source,
            suite,
            key: [vector.key, salt].concat(),
            integrity_key: Vec::new(),
            prefix: vector.associated.into(),
            iv: iv.into(),
            text: vector.text.into(),
            sealed: vector.sealed.into(),
            suffix: Vec::new(),
            tag: vector.tag.into(),
            is_authentic: vector.is_authentic,
        })
    }

    /// A cipher's vector in a packet that `mac` authenticates, under a key made
    /// of the cipher's.
    pub fn of_cipher(
        source: String,
        cipher: Cipher,
        mac: Mac,
        key: &[u8],
        iv: &[u8],
        text: &[u8],
        sealed: &[u8],
    ) -> Case {
        let suite = Suite::EncryptThenMac(cipher, mac);
        let integrity_key = spread(key, suite.integrity_key_bytes());
        let prefix = vec![0, 0, 0x43, 0x21, 0, 0, 0, 1];
        let suffix = vec![0, 0, 0, 7];
        let tag = oracle::tag(mac, &integrity_key, &[&prefix, iv, sealed, &suffix]);
        Case {
            source,
            suite,
            key: key.into(),
            integrity_key,
            prefix,
            iv: iv.into(),
            text: text.into(),
            sealed: sealed.into(),
            suffix,
            tag,
            is_authentic: true,
        }
    }

    /// A MAC's vector as a packet of `cipher`: the message is cut into prefix,
    /// IV, ciphertext and suffix. `tag` has the suite's length.
    pub fn of_mac(
        source: String,
        cipher: Cipher,
        mac: Mac,
        integrity_key: &[u8],
        message: &[u8],
        tag: &[u8],
        is_authentic: bool,
    ) -> Case {
        let mut suite = Suite::EncryptThenMac(cipher, mac);
        if message.len() < suite.iv_bytes() {
            suite = Suite::EncryptThenMac(Cipher::Null, mac);
        }
        // As much of an ESP header as the message has room for.
        let spare_bytes = message.len() - suite.iv_bytes();
        let (prefix, rest) = message.split_at(spare_bytes.min(8));
        let (iv, rest) = rest.split_at(suite.iv_bytes());
        let whole_blocks = rest.len() / suite.block_bytes() * suite.block_bytes();
        let (sealed, suffix) = rest.split_at(whole_blocks);

        let key = spread(integrity_key, suite.key_bytes() + suite.salt_bytes());
        let text = match is_authentic {
            true => oracle::decrypt(suite, &key, iv, sealed),
            false => Vec::new(),
        };
        Case {
            source,
            suite,
            key,
            integrity_key: integrity_key.into(),
            prefix: prefix.into(),
            iv: iv.into(),
            text,
            sealed: sealed.into(),
            suffix: suffix.into(),
            tag: tag.into(),
            is_authentic,
        }
    }

    pub fn material(&self) -> KeyMaterial {
        KeyMaterial::new(self.suite, &self.key, &self.integrity_key)
            .unwrap_or_else(|error| panic!("{}: {error}", self.source))
    }

    /// Two cases with equal identities share a key.
    pub fn key_identity(&self) -> (Suite, &[u8], &[u8]) {
        (self.suite, &self.key, &self.integrity_key)
    }

    pub fn opening_key(&self, policy: weir_crypto::KeyPolicy) -> OpeningKey {
        OpeningKey::with_policy(&self.material(), policy)
            .unwrap_or_else(|error| panic!("{}: {error}", self.source))
    }
}

/// `bytes` bytes that depend on all of `from` and do not repeat, which 3DES
/// would refuse.
fn spread(from: &[u8], bytes: usize) -> Vec<u8> {
    let sum = from
        .iter()
        .fold(1, |sum: u8, &byte| sum.wrapping_mul(31) ^ byte);
    (0..bytes)
        .map(|i| (i as u8).wrapping_mul(157).wrapping_add(sum) ^ (i >> 3) as u8)
        .collect()
}
