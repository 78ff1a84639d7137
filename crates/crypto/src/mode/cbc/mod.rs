//! Cipher block chaining: SP 800-38A section 6.2; RFC 3602 (AES) and RFC 2451
//! (3DES) in ESP.
//!
//! Encryption waits for the block before, so AES units are filled with other
//! packets: [`CbcLanes`]. Decryption does not wait, and takes many blocks of
//! one packet at once. A key is in the form that the tier it was expanded for
//! needs; the kept crates are the scalar twin, and do 3DES.

mod lanes;
mod mac;
mod simd;

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    Iv,
};
use weir_simd::Tier;

use crate::cipher::{
    AesDecryptKey, AesEncryptKey, Block, MOST_ROUND_KEYS, TripleDesKey, expand, rounds,
};
use crate::kernel::InvalidLength;
use crate::simd::Wiped;
use crate::suite::AesKeySize;

pub(crate) use lanes::{CbcLanes, CbcRoom, Chained};
pub(crate) use mac::{ChainLanes, MOST_CHAINS};

/// A key that chains forwards. Each variant has a box of its own: where a smaller one lies in
/// the place of a larger one, the rest of that place is never wiped.
pub(crate) enum CbcEncryptKey {
    Aes(Box<AesEncryptKey>),
    AesLanes(Box<AesRoundKeys>),
    TripleDes(Box<TripleDesKey>),
}

/// A key that chains backwards, as above.
pub(crate) enum CbcDecryptKey {
    Aes(Box<AesDecryptKey>),
    AesLanes(Box<AesRoundKeys>),
    TripleDes(Box<TripleDesKey>),
}

/// Round keys in the order of their use, for a tier with AES instructions.
pub(crate) struct AesRoundKeys {
    keys: Wiped<[Block; MOST_ROUND_KEYS]>,
    rounds: usize,
    tier: Tier,
}

/// The block cipher that is chained.
#[derive(Clone, Copy)]
pub(crate) enum CbcCipher {
    Aes(AesKeySize),
    TripleDes,
}

/// A key for one of the two directions.
pub(crate) trait CbcKey: Sized {
    /// Whether this is the direction that decrypts.
    const DECRYPTS: bool;

    /// Expands `key` for the kernels of `tier`.
    fn new(cipher: CbcCipher, tier: Tier, key: &[u8]) -> Result<Self, InvalidLength>;

    /// A number that keys have in common which share lanes, below
    /// [`AesRoundKeys::KINDS`]; none for those that do not use lanes.
    fn lanes_kind(&self) -> Option<u8>;
}

impl CbcKey for CbcEncryptKey {
    const DECRYPTS: bool = false;

    fn new(cipher: CbcCipher, tier: Tier, key: &[u8]) -> Result<Self, InvalidLength> {
        Ok(match cipher {
            CbcCipher::Aes(size) => match AesRoundKeys::new(size, tier, key)? {
                Some(round_keys) => CbcEncryptKey::AesLanes(round_keys),
                None => CbcEncryptKey::Aes(Box::new(AesEncryptKey::new(size, key)?)),
            },
            CbcCipher::TripleDes => CbcEncryptKey::TripleDes(Box::new(TripleDesKey::new(key)?)),
        })
    }

    fn lanes_kind(&self) -> Option<u8> {
        match self {
            CbcEncryptKey::AesLanes(keys) => Some(keys.kind()),
            CbcEncryptKey::Aes(_) | CbcEncryptKey::TripleDes(_) => None,
        }
    }
}

impl CbcKey for CbcDecryptKey {
    const DECRYPTS: bool = true;

    fn new(cipher: CbcCipher, tier: Tier, key: &[u8]) -> Result<Self, InvalidLength> {
        Ok(match cipher {
            CbcCipher::Aes(size) => match AesRoundKeys::new(size, tier, key)? {
                Some(mut round_keys) => {
                    simd::invert(&mut round_keys.keys, round_keys.rounds);
                    CbcDecryptKey::AesLanes(round_keys)
                }
                None => CbcDecryptKey::Aes(Box::new(AesDecryptKey::new(size, key)?)),
            },
            CbcCipher::TripleDes => CbcDecryptKey::TripleDes(Box::new(TripleDesKey::new(key)?)),
        })
    }

    /// Decryption takes packets one by one.
    fn lanes_kind(&self) -> Option<u8> {
        None
    }
}

impl AesRoundKeys {
    /// The round keys of `key`; none where `tier`, or what the processor has of
    /// it, is without AES instructions.
    fn new(
        size: AesKeySize,
        tier: Tier,
        key: &[u8],
    ) -> Result<Option<Box<AesRoundKeys>>, InvalidLength> {
        let tier = tier.min(weir_simd::detect());
        if simd::lanes(tier) == 0 {
            return Ok(None);
        }
        Ok(Some(Box::new(AesRoundKeys {
            keys: expand(tier, size, key)?,
            rounds: rounds(size),
            tier,
        })))
    }

    /// Key sizes, times tiers with lanes.
    pub(crate) const KINDS: usize = 3 * 2;

    fn kind(&self) -> u8 {
        let size = match self.rounds {
            0..=10 => 0,
            11 | 12 => 1,
            _ => 2,
        };
        size * 2 + u8::from(self.tier > Tier::Aesni)
    }
}

impl CbcEncryptKey {
    /// Writes the encryption of `counter`, a big-endian number of one block.
    pub(crate) fn encrypt_counter(
        &self,
        counter: u64,
        block: &mut [u8],
    ) -> Result<(), InvalidLength> {
        if let CbcEncryptKey::AesLanes(key) = self {
            let AesRoundKeys { keys, rounds, .. } = &**key;
            let block: &mut Block = block.try_into().map_err(|_| InvalidLength)?;
            *block = simd::encrypt_number(keys, *rounds, counter.into());
            return Ok(());
        }
        let (high, low) = block.split_last_chunk_mut::<8>().ok_or(InvalidLength)?;
        high.fill(0);
        *low = counter.to_be_bytes();
        // Chaining one block to zero is to encrypt it.
        const ZERO: Block = [0; 16];
        self.encrypt(ZERO.get(..block.len()).ok_or(InvalidLength)?, block)
    }

    /// Encrypts whole blocks of one packet in place.
    pub(crate) fn encrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength> {
        match self {
            CbcEncryptKey::Aes(key) => match &**key {
                AesEncryptKey::Aes128(key) => encrypt(key, iv, text),
                AesEncryptKey::Aes192(key) => encrypt(key, iv, text),
                AesEncryptKey::Aes256(key) => encrypt(key, iv, text),
            },
            CbcEncryptKey::AesLanes(key) => {
                let AesRoundKeys { keys, rounds, .. } = &**key;
                let (iv, blocks) = in_blocks(iv, text)?;
                simd::encrypt_one(keys, *rounds, iv, blocks);
                Ok(())
            }
            CbcEncryptKey::TripleDes(key) => encrypt(&key.0, iv, text),
        }
    }
}

impl CbcDecryptKey {
    /// Decrypts whole blocks of one packet in place.
    pub(crate) fn decrypt(&self, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength> {
        match self {
            CbcDecryptKey::Aes(key) => match &**key {
                AesDecryptKey::Aes128(key) => decrypt(key, iv, text),
                AesDecryptKey::Aes192(key) => decrypt(key, iv, text),
                AesDecryptKey::Aes256(key) => decrypt(key, iv, text),
            },
            CbcDecryptKey::AesLanes(key) => {
                let AesRoundKeys { keys, rounds, tier } = &**key;
                let (iv, blocks) = in_blocks(iv, text)?;
                simd::decrypt(*tier, keys, *rounds, iv, blocks);
                Ok(())
            }
            CbcDecryptKey::TripleDes(key) => decrypt(&key.0, iv, text),
        }
    }
}

fn in_blocks<'a>(
    iv: &'a [u8],
    text: &'a mut [u8],
) -> Result<(&'a Block, &'a mut [Block]), InvalidLength> {
    let (blocks, []) = text.as_chunks_mut() else {
        return Err(InvalidLength);
    };
    Ok((iv.try_into().map_err(|_| InvalidLength)?, blocks))
}

fn encrypt<C>(key: &C, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength>
where
    C: BlockCipherEncrypt,
{
    let iv = <&Iv<cbc::Encryptor<&C>>>::try_from(iv).map_err(|_| InvalidLength)?;
    let (blocks, []) = Array::slice_as_chunks_mut(text) else {
        return Err(InvalidLength);
    };
    cbc::Encryptor::inner_iv_init(key, iv).encrypt_blocks(blocks);
    Ok(())
}

fn decrypt<C>(key: &C, iv: &[u8], text: &mut [u8]) -> Result<(), InvalidLength>
where
    C: BlockCipherDecrypt,
{
    let iv = <&Iv<cbc::Decryptor<&C>>>::try_from(iv).map_err(|_| InvalidLength)?;
    let (blocks, []) = Array::slice_as_chunks_mut(text) else {
        return Err(InvalidLength);
    };
    cbc::Decryptor::inner_iv_init(key, iv).decrypt_blocks(blocks);
    Ok(())
}
