//! One published packet.

use weir_crypto::{Cipher, KeyMaterial, Mac, OpeningKey, SealingKey, Suite, hazmat};

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
    pub aad: Vec<u8>,
    /// The high half of an extended sequence number, whose low half ends the AAD.
    pub esn_high: Option<u32>,
    pub iv: Vec<u8>,
    /// Before sealing.
    pub payload: Vec<u8>,
    /// After sealing.
    pub sealed: Vec<u8>,
    pub tag: Vec<u8>,
    /// Whether it must open. Where not, `payload` is empty.
    pub is_authentic: bool,
}

/// An AEAD's vector, with its nonce in one piece.
pub struct AeadVector<'a> {
    pub key: &'a [u8],
    pub nonce: &'a [u8],
    pub aad: &'a [u8],
    pub payload: &'a [u8],
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
            aad: vector.aad.into(),
            esn_high: None,
            iv: iv.into(),
            payload: vector.payload.into(),
            sealed: vector.sealed.into(),
            tag: vector.tag.into(),
            is_authentic: vector.is_authentic,
        })
    }

    /// A cipher's vector in a packet of ESP with an extended sequence number that `mac`
    /// authenticates, under a key made of the cipher's.
    pub fn of_cipher(
        source: String,
        cipher: Cipher,
        mac: Mac,
        key: &[u8],
        iv: &[u8],
        payload: &[u8],
        sealed: &[u8],
    ) -> Case {
        let suite = Suite::EncryptThenMac(cipher, mac);
        let integrity_key = spread(key, suite.integrity_key_bytes());
        let aad = vec![0, 0, 0x43, 0x21, 0, 0, 0, 1];
        let high = 7u32;
        let parts: [&[u8]; 4] = [&aad, iv, sealed, &high.to_be_bytes()];
        let tag = oracle::tag(mac, &integrity_key, &parts);
        Case {
            source,
            suite,
            key: key.into(),
            integrity_key,
            aad,
            esn_high: Some(high),
            iv: iv.into(),
            payload: payload.into(),
            sealed: sealed.into(),
            tag,
            is_authentic: true,
        }
    }

    /// A MAC's vector as a packet of `cipher`: the message is cut into AAD, IV and ciphertext,
    /// and where its length allows, the last four bytes are the high half of an extended
    /// sequence number. `tag` has the suite's length.
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
        let block_bytes = suite.block_bytes();
        let spare_bytes = message.len() - suite.iv_bytes();
        let esn = spare_bytes
            .checked_sub(8 + 4)
            .filter(|bytes| bytes.is_multiple_of(block_bytes));
        let (message, high) = match esn.and_then(|_| message.split_last_chunk::<4>()) {
            Some((message, high)) => (message, Some(u32::from_be_bytes(*high))),
            None => (message, None),
        };
        // As much of an ESP header as the message has bytes for, and what is left of a block.
        let spare_bytes = message.len() - suite.iv_bytes();
        let header_bytes = spare_bytes.min(8);
        let aad_bytes = header_bytes + (spare_bytes - header_bytes) % block_bytes;
        let (aad, rest) = message.split_at(aad_bytes);
        let (iv, sealed) = rest.split_at(suite.iv_bytes());

        let key = spread(integrity_key, suite.key_bytes() + suite.salt_bytes());
        let payload = match is_authentic {
            true => oracle::decrypt(suite, &key, iv, sealed),
            false => Vec::new(),
        };
        Case {
            source,
            suite,
            key,
            integrity_key: integrity_key.into(),
            aad: aad.into(),
            esn_high: high,
            iv: iv.into(),
            payload,
            sealed: sealed.into(),
            tag: tag.into(),
            is_authentic,
        }
    }

    /// The packet's number, as far as the packet does not carry it: that of ESP with extended
    /// sequence numbers.
    pub fn number(&self) -> u64 {
        match (self.esn_high, self.aad.last_chunk::<4>()) {
            (Some(high), Some(low)) => u64::from(high) << 32 | u64::from(u32::from_be_bytes(*low)),
            _ => self.counter().unwrap_or(0),
        }
    }

    /// The number that gives the packet its IV.
    pub fn counter(&self) -> Option<u64> {
        let iv = <[u8; 8]>::try_from(&self.iv[..]).ok()?;
        self.suite.iv_is_counter().then(|| u64::from_be_bytes(iv))
    }

    /// What an AEAD authenticates beside the payload: with an extended sequence number, SPI
    /// and the whole number (RFC 4106, section 5).
    pub fn associated(&self) -> Vec<u8> {
        match self.esn_high {
            None => self.aad.clone(),
            Some(high) => [&self.aad[..4], &high.to_be_bytes(), &self.aad[4..]].concat(),
        }
    }

    /// What encrypt-then-MAC authenticates.
    pub fn authenticated(&self, sealed: &[u8]) -> Vec<u8> {
        let high = self.esn_high.map(u32::to_be_bytes);
        let trailing: &[u8] = high.as_ref().map_or(&[], |high| high);
        [&self.aad, &self.iv, sealed, trailing].concat()
    }

    pub fn material(&self) -> KeyMaterial {
        KeyMaterial::new(self.suite, &self.key, &self.integrity_key)
            .unwrap_or_else(|error| panic!("{}: {error}", self.source))
    }

    /// Two cases with equal identities share a key.
    pub fn key_identity(&self) -> (Suite, &[u8], &[u8]) {
        (self.suite, &self.key, &self.integrity_key)
    }

    /// A key whose packets are pushed with the case's own IV.
    pub fn sealing_key(&self) -> SealingKey {
        hazmat::sealing_key(&self.material(), weir_simd::tier())
            .unwrap_or_else(|error| panic!("{}: {error}", self.source))
    }

    pub fn opening_key(&self) -> OpeningKey {
        OpeningKey::new(&self.material()).unwrap_or_else(|error| panic!("{}: {error}", self.source))
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
