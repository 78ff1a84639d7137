//! SRTP and SRTCP with AES-GCM: the packets of RFC 7714, sections 16 and 17.

use weir_crypto::{Descriptor, Layout, NonceRule};

use super::{open, opener, seal, sealer, suite, unhex};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// "Quid pro quo".
const SALT: &str = "517569642070726f2071756f";
const TAG_BYTES: usize = 16;

/// The RTP packet of section 16, and the SRTP packets of sections 16.1.1 and 16.2.1.
const RTP: &str = "8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976 69736120
    696e2070 61727465 73207472 6573";
const SRTP_128: &str = "8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5
    0d294e6f 42a5f47a 51c7d19b 36de3adf 8833 899d7f27 beb16a91 52cf765e e4390cce";
const SRTP_256: &str = "8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238
    9a58e2f3 b50b2a02 76ffae0f 1ba63799 b87b 7aa3db36 dfffd6b0 f9bb7878 d7a76c13";

/// The RTCP packet that sections 17.1 and 17.2 encrypt, and the results.
const RTCP: &str = "81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61
    deadbeef deadbeef deadbeef deadbeef deadbeef";
const SRTCP_128: &str = "81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d
    c676a5f1 730d6fda 4ce09b46 86303ded 0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4";
const SRTCP_256: &str = "81c8000d 4d617273 d50ae4d1 f5ce5d30 4ba297e4 7d470c28 2c3ece5d bffe0a50
    a2eaa5c1 110555be 8415f658 c61de047 6f1b6fad 1d1eb30c 4446839f 57ff6f6c b26ac3be 800005d4";
/// Tagged and not encrypted: section 17.3.
const SRTCP_128_TAGGED: &str = "81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930
    4c756e61 deadbeef deadbeef deadbeef deadbeef deadbeef 841dd968 3dd78ec9 2ae58790 125f62b3
    000005d4";

/// Seals and opens one packet, which begins with `aad_bytes` of AAD and lacks a tag.
fn check(key_bytes: usize, plain: &[u8], aad_bytes: usize, ssrc: u32, index: u64, expected: &[u8]) {
    let suite = suite(&format!("aes-{}-gcm-16", 8 * key_bytes));
    let key = &unhex(KEY)[..key_bytes];
    let rule = NonceRule::Srtp(unhex(SALT).try_into().expect("12 bytes"));
    let mut packet = Descriptor {
        context: ssrc,
        layout: Layout {
            aad_bytes: aad_bytes as u16,
            payload_bytes: (plain.len() - aad_bytes) as u32,
            ..Layout::default()
        },
        ..Descriptor::default()
    };
    let mut buffer = [plain, &[0; TAG_BYTES]].concat();

    let (mut sealer, id) = sealer(suite, key, rule, 0);
    let contexts = sealer.key_mut(id).expect("the key");
    contexts.add_context(ssrc, 0..).expect("a context");
    packet.key = id;
    seal(&mut sealer, &mut buffer, &[(packet, index)]);
    assert_eq!(buffer, expected);

    let (mut opener, id) = opener(suite, key, rule);
    packet.key = id;
    let mut damaged = buffer.clone();
    damaged[0] ^= 1;
    assert!(open(&mut opener, &mut buffer, &[(packet, index)]).all_good());
    assert_eq!(&buffer[..plain.len()], plain);
    assert!(!open(&mut opener, &mut damaged, &[(packet, index)]).all_good());
}

#[test]
fn rtp_packets_of_rfc_7714() {
    for (key_bytes, expected) in [(16, SRTP_128), (32, SRTP_256)] {
        // SSRC 5501a0b2; rollover counter 0, sequence number f17b.
        check(
            key_bytes,
            &unhex(RTP),
            12,
            0x5501_a0b2,
            0xf17b,
            &unhex(expected),
        );
    }
}

/// The AAD of SRTCP are the first eight bytes and the word behind the tag. Weir's AAD lie in one
/// piece: the word is written behind the eight bytes while the packet is sealed or opened.
#[test]
fn rtcp_packets_of_rfc_7714() {
    for (key_bytes, expected, is_encrypted) in [
        (16, SRTCP_128, true),
        (32, SRTCP_256, true),
        (16, SRTCP_128_TAGGED, false),
    ] {
        let (plain, expected) = (unhex(RTCP), unhex(expected));
        let (sealed, word) = expected.split_at(expected.len() - 4);
        let joined = |packet: &[u8]| match is_encrypted {
            true => [&packet[..8], word, &packet[8..]].concat(),
            // Everything is AAD, and the word is its end.
            false => [&packet[..plain.len()], word, &packet[plain.len()..]].concat(),
        };
        let aad_bytes = if is_encrypted { 12 } else { plain.len() + 4 };
        let index = 0x5d4;
        let ssrc = u32::from_be_bytes(*b"Mars");
        check(
            key_bytes,
            &joined(&plain),
            aad_bytes,
            ssrc,
            index,
            &joined(sealed),
        );
    }
}
