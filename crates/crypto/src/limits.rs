//! How much one key may protect, each number with its source.

use crate::aead::{IV_BYTES, MOST_ASSOCIATED_BYTES};
use crate::batch::{Layout, Place, Refusal};
use crate::keys::NonceRule;
use crate::suite::{Aead, Cipher, Suite, UniversalMac};

/// One bound and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// The largest allowed number.
    pub most: u64,
    /// The document that states it, or the bound it follows from.
    pub source: &'static str,
}

/// How much one key may protect. A [`crate::SealingKey`] enforces the number of
/// packets and a batch the length of each; the blocks of a key's whole
/// life, over all restarts, are the caller's to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Packets per key.
    pub packets: Limit,
    /// Cipher blocks per key, over all its packets.
    pub blocks: Limit,
    /// Bytes of payload per packet.
    pub payload_bytes: Limit,
    /// Bytes of the cipher's block, in which `blocks` counts.
    pub block_bytes: usize,
}

impl Limits {
    /// Blocks that a payload of `payload_bytes` takes from the key's `blocks`; a
    /// partial block counts as a whole one.
    pub fn blocks_of(self, payload_bytes: u64) -> u64 {
        payload_bytes.div_ceil(self.block_bytes as u64)
    }

    #[inline]
    pub(crate) fn of(suite: Suite) -> Limits {
        match suite {
            Suite::Aead(Aead::AesGcm16(_)) => Limits {
                packets: IV_64_BITS,
                blocks: Limit {
                    most: 1 << 48,
                    source: "advantage about (s+q)^2/2^129, 2^-31 at s blocks in q = s packets \
                             (Iwata, Ohashi, Minematsu, CRYPTO 2012)",
                },
                payload_bytes: Limit {
                    most: (1 << 36) - 32,
                    source: "NIST SP 800-38D section 5.2.1.1",
                },
                block_bytes: 16,
            },
            Suite::Aead(Aead::AesCcm8(_) | Aead::AesCcm12(_) | Aead::AesCcm16(_)) => Limits {
                packets: IV_64_BITS,
                blocks: Limit {
                    most: BIRTHDAY_128.most / 2,
                    source: "as for CTR, with two blocks of cipher for each of text \
                             (Jonsson, SAC 2002)",
                },
                payload_bytes: Limit {
                    most: (1 << 32) - 1,
                    source: "RFC 4309 section 4: lengths of four bytes",
                },
                block_bytes: 16,
            },
            Suite::Aead(Aead::AesGmac(_)) => Limits {
                packets: IV_64_BITS,
                blocks: Limit {
                    most: 1 << 48,
                    source: "as for GCM, of which blocks are hashed and not encrypted",
                },
                payload_bytes: Limit {
                    // The IV and a header of any length are hashed, too.
                    most: 1 << 60,
                    source: "NIST SP 800-38D section 5.2.1.1: 2^64 - 1 bits of associated data",
                },
                block_bytes: 16,
            },
            Suite::Aead(Aead::ChaCha20Poly1305) => Limits {
                packets: IV_64_BITS,
                blocks: Limit {
                    most: u64::MAX,
                    source: "ChaCha20 is a function, not a permutation: \
                             no bound below that of the nonces (RFC 8439 section 4)",
                },
                payload_bytes: Limit {
                    most: ((1 << 32) - 1) * 64,
                    source: "RFC 8439 section 2.8",
                },
                block_bytes: 64,
            },
            Suite::Aead(Aead::AesOcb3(_)) => Limits {
                packets: IV_64_BITS,
                blocks: OCB3_BLOCKS,
                payload_bytes: Limit {
                    most: OCB3_BLOCKS.most * 16,
                    source: OCB3_BLOCKS.source,
                },
                block_bytes: 16,
            },
            Suite::Aead(Aead::AesCtrMac(mac)) => Limits {
                packets: IV_64_BITS,
                blocks: BIRTHDAY_128,
                payload_bytes: ctr_mac_payload(mac),
                block_bytes: 16,
            },
            Suite::Mac(algorithm) => Limits {
                packets: IV_64_BITS,
                blocks: Limit {
                    most: u64::MAX,
                    source: "nothing is encrypted",
                },
                payload_bytes: Limit {
                    most: algorithm.most_message_bytes(),
                    source: "the longest message of the MAC",
                },
                block_bytes: 1,
            },
            Suite::EncryptThenMac(Cipher::AesCtr(_), _) => Limits {
                packets: IV_64_BITS,
                blocks: BIRTHDAY_128,
                payload_bytes: Limit {
                    most: ((1 << 32) - 1) * 16,
                    source: "RFC 3686 section 4: 32 bits of block counter, from one",
                },
                block_bytes: 16,
            },
            Suite::EncryptThenMac(Cipher::AesCbc(_), _) => Limits {
                packets: IV_64_BITS,
                blocks: BIRTHDAY_128,
                payload_bytes: MEMORY,
                block_bytes: 16,
            },
            Suite::EncryptThenMac(Cipher::TripleDesCbc, _) => Limits {
                packets: TRIPLE_DES,
                blocks: TRIPLE_DES,
                payload_bytes: Limit {
                    most: TRIPLE_DES.most * 8,
                    source: TRIPLE_DES.source,
                },
                block_bytes: 8,
            },
            Suite::EncryptThenMac(Cipher::Null, _) => Limits {
                packets: IV_64_BITS,
                blocks: Limit {
                    most: u64::MAX,
                    source: "RFC 2410: nothing is encrypted",
                },
                payload_bytes: MEMORY,
                block_bytes: 1,
            },
        }
    }
}

/// The last of 2^64 values stays unused, so that an exclusive end exists.
/// SP 800-38D section 8.3 puts 2^32 packets only on nonces that are random or
/// not of 96 bits; these are neither.
const IV_64_BITS: Limit = Limit {
    most: u64::MAX,
    source: "64-bit counter (RFC 4303 section 2.2.1, RFC 4106 section 3.1)",
};

/// What is hashed beside the text counts as much as it may have.
fn ctr_mac_payload(mac: UniversalMac) -> Limit {
    let (most_hashed, source) = match mac {
        UniversalMac::Umac64 | UniversalMac::Umac96 => (
            1 << 24,
            "RFC 4418 section 5.3: longer messages would need a second polynomial",
        ),
        UniversalMac::Mmh96 | UniversalMac::Mmh128 => {
            (1 << 16, "MMH-MAC hashes at most 64 blocks of 1024 bytes")
        }
    };
    Limit {
        most: most_hashed - (MOST_ASSOCIATED_BYTES + IV_BYTES) as u64,
        source,
    }
}

const BIRTHDAY_128: Limit = Limit {
    most: 1 << 48,
    source: "advantage s^2/2^128 at most 2^-32 after s blocks \
             (Bellare, Desai, Jokipii, Rogaway, FOCS 1997)",
};

const OCB3_BLOCKS: Limit = Limit {
    most: 1 << 48,
    source: "RFC 7253 section 5: 2^48 blocks per key, associated data included",
};

const TRIPLE_DES: Limit = Limit {
    most: 1 << 20,
    source: "NIST SP 800-67 Rev. 2: 2^20 blocks per key bundle",
};

const MEMORY: Limit = Limit {
    most: u64::MAX,
    source: "no bound of its own",
};

/// The lengths that a key prescribes, at hand for every packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    pub(crate) iv_bytes: u8,
    pub(crate) tag_bytes: u8,
    /// A payload's length has none of these bits.
    partial_block: u8,
    /// Whether packets may have extended sequence numbers.
    allows_esn: bool,
    max_aad_bytes: u16,
    max_payload_bytes: u32,
}

impl Lengths {
    pub(crate) fn of(suite: Suite, rule: &NonceRule) -> Lengths {
        let max_payload_bytes = suite.limits().payload_bytes.most;
        Lengths {
            // Blocks and digests are short.
            iv_bytes: match rule.is_explicit() {
                true => suite.iv_bytes() as u8,
                false => 0,
            },
            tag_bytes: suite.tag_bytes() as u8,
            // Blocks are powers of two.
            partial_block: (suite.block_bytes() - 1) as u8,
            allows_esn: rule.is_explicit() && !matches!(suite, Suite::Mac(_)),
            max_aad_bytes: u16::try_from(suite.max_aad_bytes()).unwrap_or(u16::MAX),
            max_payload_bytes: u32::try_from(max_payload_bytes).unwrap_or(u32::MAX),
        }
    }

    /// Where the parts of a packet at `offset` lie, and where it ends, as [`Place::new`] says.
    #[inline(always)]
    pub(crate) fn place(&self, offset: u32, layout: Layout) -> Result<(Place, u64), Refusal> {
        let is_right = layout.payload_bytes & u32::from(self.partial_block) == 0
            && layout.payload_bytes <= self.max_payload_bytes
            && layout.aad_bytes <= self.max_aad_bytes
            && (!layout.esn || self.allows_esn && layout.aad_bytes == ESN_AAD_BYTES);
        match is_right {
            true => Ok(Place::new(offset, layout, self.iv_bytes, self.tag_bytes)),
            false => Err(self.refusal(layout)),
        }
    }

    #[cold]
    fn refusal(&self, layout: Layout) -> Refusal {
        let payload_bytes = u64::from(layout.payload_bytes);
        if layout.payload_bytes & u32::from(self.partial_block) != 0 {
            Refusal::PartialBlock {
                block_bytes: usize::from(self.partial_block) + 1,
                payload_bytes,
            }
        } else if layout.payload_bytes > self.max_payload_bytes {
            Refusal::PayloadTooLong {
                max_bytes: self.max_payload_bytes.into(),
                payload_bytes,
            }
        } else if layout.aad_bytes > self.max_aad_bytes {
            Refusal::AadTooLong {
                max_bytes: self.max_aad_bytes.into(),
                aad_bytes: layout.aad_bytes.into(),
            }
        } else {
            Refusal::NotEsp
        }
    }
}

/// SPI and the low half of the sequence number.
const ESN_AAD_BYTES: u16 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_has_limits_with_a_source() {
        for suite in Suite::all() {
            let limits = suite.limits();
            for limit in [limits.packets, limits.blocks, limits.payload_bytes] {
                assert!(limit.most > 0 && !limit.source.is_empty(), "{suite}");
            }
            assert!(
                limits.block_bytes.is_multiple_of(suite.block_bytes()),
                "{suite}"
            );
        }
    }

    #[test]
    fn partial_blocks_count_as_whole_ones() {
        let suite = |name| Suite::parse(name).map(Suite::limits).expect("a suite");
        assert_eq!(suite("3des-cbc+hmac-sha1-96").blocks_of(1480), 185);
        assert_eq!(suite("aes-128-gcm-16").blocks_of(17), 2);
        assert_eq!(suite("chacha20-poly1305").blocks_of(0), 0);
    }

    #[test]
    fn layouts_that_a_suite_does_not_allow() {
        let lengths = |name| {
            let suite = Suite::parse(name).expect("a suite");
            Lengths::of(suite, &NonceRule::Explicit)
        };
        let layout = |payload_bytes, aad_bytes, esn| Layout {
            payload_bytes,
            aad_bytes,
            gap_bytes: 0,
            esn,
        };
        let gcm = lengths("aes-128-gcm-16");
        let check = |lengths: &Lengths, layout| lengths.place(0, layout).map(drop);
        assert_eq!(check(&gcm, layout(u32::MAX, u16::MAX, false)), Ok(()));
        assert_eq!(check(&gcm, layout(64, 8, true)), Ok(()));
        assert_eq!(check(&gcm, layout(64, 12, true)), Err(Refusal::NotEsp));
        let partial = Refusal::PartialBlock {
            block_bytes: 16,
            payload_bytes: 40,
        };
        let cbc = lengths("aes-128-cbc+hmac-sha1-96");
        assert_eq!(check(&cbc, layout(40, 8, false)), Err(partial));
        assert_eq!(check(&cbc, layout(48, 8, true)), Ok(()));
        let too_long = Refusal::AadTooLong {
            max_bytes: 12,
            aad_bytes: 13,
        };
        let umac = lengths("aes-128-ctr+umac-64");
        assert_eq!(check(&umac, layout(48, 13, false)), Err(too_long));
        assert!(matches!(
            check(&umac, layout(1 << 24, 8, false)),
            Err(Refusal::PayloadTooLong { .. })
        ));
    }
}
