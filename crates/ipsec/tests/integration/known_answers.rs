//! Packets that others made: RFCs, drafts and scapy.

use crate::common::{TUNNEL4, TUNNEL6, between_gateways, hex, key, one, protect, unhex, unprotect};
use weir_packet::wire::protocol::{ESP, ICMP};
use weir_packet::wire::{LinkType, internet_checksum};

const INNER4: &str = "
    45b80038000740003f11abcec6120101c61202029c40c3500024eb0577656972
    776569727765697277656972776569727765697277656972";
const INNER6: &str = "
    6b9abcde0028063ffd000001000000000000000000000001fd00000200000000
    00000000000000029c40c350000000090000000050022000eb4a000067617465
    67617465676174656761746567617465";

/// A line of `vectors/esp_by_scapy.txt`.
struct ByScapy {
    suite: String,
    file: String,
    inner: Vec<u8>,
    packet: Vec<u8>,
}

fn by_scapy() -> Vec<ByScapy> {
    include_str!("vectors/esp_by_scapy.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let &[suite, mode, versions, numbers, packet] = fields.as_slice() else {
                panic!("{line}");
            };
            let tunnel = match (mode, versions.ends_with('6')) {
                ("transport", _) => "",
                (_, true) => TUNNEL6,
                (_, false) => TUNNEL4,
            };
            let esn = if numbers == "esn" { "esn = true" } else { "" };
            ByScapy {
                suite: suite.to_owned(),
                file: one(suite, mode, &format!("{esn}\n{tunnel}")),
                inner: unhex(if versions.starts_with('6') {
                    INNER6
                } else {
                    INNER4
                }),
                packet: unhex(packet),
            }
        })
        .collect()
}

#[test]
fn what_scapy_protects_is_unprotected() {
    let vectors = by_scapy();
    assert_eq!(vectors.len(), 22);
    for vector in vectors {
        let run = unprotect(&vector.file, LinkType::RawIp, &[vector.packet]);
        assert_eq!(run.drops(), [], "{}", vector.suite);
        assert_eq!(run.records, [vector.inner], "{}", vector.suite);
    }
}

/// CBC is left out: its IVs are not to be predicted.
#[test]
fn the_same_packets_are_made_as_by_scapy() {
    for vector in by_scapy().iter().filter(|v| !v.suite.contains("cbc")) {
        let run = protect(
            &vector.file,
            LinkType::RawIp,
            std::slice::from_ref(&vector.inner),
        );
        assert_eq!(run.drops(), [], "{}", vector.suite);
        assert_eq!(
            run.records
                .iter()
                .map(|record| hex(record))
                .collect::<Vec<_>>(),
            [hex(&vector.packet)],
            "{}",
            vector.suite
        );
    }
}

/// What RFC 3602, section 4, gives for ESP: key, IP header and ESP packet, and
/// the packet inside.
const RFC_3602: [(&str, &str, &str, &str, &str); 4] = [
    // Case 5: transport mode, 14 bytes of padding.
    (
        "transport",
        "90d382b410eeba7ad938c46cec1a82bf",
        "4500007c08f200004032f9a5c0a87b03c0a87b64",
        "0000432100000001e96e8c08ab465763fd098d45dd3ff893f663c25d325c18c6
         a9453e194e120849a4870b66cc6b9965330013b4898dc856a4699e523a55db08
         0b59ec3a8e4b7e52775b07d1db34ed9c538ab50c551b874aa269add047ad2d59
         13ac19b7cfbad4a6",
        "4500005408f200004001f9fec0a87b03c0a87b6408000ebda70a00008e9c083d
         b95b070008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223
         2425262728292a2b2c2d2e2f3031323334353637",
    ),
    // Case 6: transport mode, 2 bytes of padding.
    (
        "transport",
        "90d382b410eeba7ad938c46cec1a82bf",
        "4500004c08fe00004032f9c9c0a87b03c0a87b64",
        "000043210000000869d08df7d203329db093fc4924e5bd80f51995881ec4e0c4
         488987ce742e8109689bb379d2d750c0d915dca346a89f75",
        "4500003008fe00004001fa16c0a87b03c0a87b640800b5e8a80a0500a69c083d
         0b660e00777777777777777777777777",
    ),
    // Case 7: tunnel mode, 10 bytes of padding.
    (
        "tunnel",
        "0123456789abcdef0123456789abcdef",
        "4500008c090500004032f91ec0a87b03c0a87bc8",
        "0000876500000002f4e765244f6407adf13dc1380f673f37773b5241a4c44922
         5e4f3ce5ed611b0c237ca96cf74a93013c1b0ea1a0cf70f8e4ecaec78ac53aad
         7a0f022b859243c647752e94a859352b8a4d4d2decd136e5c177f132ad3fbfb2
         201ac9904c74ee0a109e0ca1e4dfe9d5a100b842f1c22f0d",
        "45000054090400004001f988c0a87b03c0a87bc808009f76a90a0100b49c083d
         02a2040008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223
         2425262728292a2b2c2d2e2f3031323334353637",
    ),
    // Case 8: tunnel mode, 10 bytes of padding.
    (
        "tunnel",
        "0123456789abcdef0123456789abcdef",
        "4500007c090d00004032f926c0a87b03c0a87bc8",
        "000087650000000585d47224b5f3dd5d2101d4ea8dffab2215b92683819596a8
         047232cc00f7048fe45318e11f8a0f62ede3c3fc61203bb50f980a08c9843fd3
         a1b06d5c07ff9639b7eb7dfb3512e5de435e7207ed971ef3d2726d9b5ef6affc
         6d17a0decbb13892",
        "45000044090c00004001f990c0a87b03c0a87bc80800d63caa0a0200c69c083d
         a3de0300ffffffffffffffffffffffffffffffffffffffffffffffffffffffff
         ffffffff",
    ),
];

/// Everything may come out of the association of an RFC.
const INBOUND: &str = "[[policy]]\naction = \"protect\"\nsa = \"rfc\"\n";

/// The RFC's packets have no ICV, which ESP without integrity does not need
/// and which we do not offer: the test puts one behind them.
#[test]
fn aes_cbc_of_rfc_3602() {
    for (case, (mode, cipher_key, header, esp, inner)) in (5..).zip(RFC_3602) {
        let mut packet = unhex(header);
        assert_eq!(internet_checksum(&packet), 0, "case {case}");
        let esp = unhex(esp);
        packet.extend(&esp);
        assert_eq!(packet[3], packet.len() as u8, "case {case}");
        packet.extend(crate::common::hmac_sha1_96(&esp));
        set_ipv4_length(&mut packet);

        let tunnel = r#"tunnel = { source = "192.168.123.3", destination = "192.168.123.200" }"#;
        let file = format!(
            "[[sa]]\nname = \"rfc\"\nspi = {:#x}\nsuite = \"aes-128-cbc+hmac-sha1-96\"\n\
             key = {cipher_key:?}\nintegrity_key = \"{}\"\nmode = {mode:?}\n{}\n{INBOUND}",
            u32::from_be_bytes([esp[0], esp[1], esp[2], esp[3]]),
            hex(&key(20, 101)),
            if mode == "tunnel" { tunnel } else { "" },
        );
        let run = unprotect(&file, LinkType::RawIp, &[packet]);
        assert_eq!(run.drops(), [], "case {case}");
        assert_eq!(run.records, [unhex(inner)], "case {case}");
    }
}

fn set_ipv4_length(packet: &mut [u8]) {
    let bytes = (packet.len() as u16).to_be_bytes();
    packet[2..4].copy_from_slice(&bytes);
    packet[10..12].fill(0);
    let checksum = internet_checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

#[test]
fn chacha20_poly1305_of_rfc_7634_appendix_a() {
    let chacha_key: Vec<u8> = (0x80..=0xa3).collect();
    let esp = unhex(
        "01020304000000051011121314151617
         24039428b97f417e3c13753a4f05087b67c352e6a7fab1b982d466ef407ae5c6
         14ee8099d52844eb61aa95dfab4c02f72aa71e7c4c4f64c9befe2facc638e8f3
         cbec163fac469b502773f6fb94e664da9165b82829f641e0
         76aaa8266b7fb0f7b11b369907e1ad43",
    );
    let inner = unhex(
        "45000054a6f200004001e778c6336405c000020508005b7a3a080000553bec10
         0007362708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223
         2425262728292a2b2c2d2e2f3031323334353637",
    );
    let file = format!(
        "[[sa]]\nname = \"rfc\"\nspi = 0x01020304\nsuite = \"chacha20-poly1305\"\n\
         key = \"{}\"\nmode = \"tunnel\"\n{TUNNEL4}\n{INBOUND}",
        hex(&chacha_key)
    );
    let run = unprotect(&file, LinkType::RawIp, &[between_gateways(ESP, &esp)]);
    assert_eq!(run.drops(), []);
    assert_eq!(run.records, [inner]);
}

/// draft-mcgrew-gcm-test-01, section 4, the cases whose sequence number a new
/// association can receive: keys with salt, whether ESN, ESP packet, payload.
/// Their next header is that of ICMP, so they are of transport mode.
const GCM: [(&str, bool, &str, &str); 6] = [
    (
        "feffe9928665731c6d6a8f9467308308cafebabe",
        false,
        "0000a5f80000000afacedbaddecaf888deb22cd9b07c72c16e3a65beeb8df304
         a5a5897d33ae530f1ba76d5d114d2a5c3de81827c10e9a4f51330d0eec416642
         cfbb85a5b47e48a4ec3b9ba95d918bd183b70d3aa8bc6ee4c309e9d85a41ad4a",
        "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d00100
         000100000000000003736970096379626572636974790264 6b0000010001",
    ),
    (
        "abbccddef00112233445566778899aababbccddef00112233445566778899aab11223344",
        false,
        "4a2cbfe3000000020102030405060708ff425c9b724599df7a3bcd510194e00d
         6a78107f1b0b1cbf06efae9d65a5d763748a637985771d347f0545659f14e99d
         ef842d8eb335f4eecfdbf831824b4c4915956c96",
        "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee000000000
         7002400020bf0000020405b401010402",
    ),
    (
        "feffe9928665731c6d6a8f9467308308feffe9928665731ccafebabe",
        false,
        "0000a5f80000000afacedbaddecaf888a5b1f8066029aea40e598b8122de0242
         0938b3ab33f828e687b8858b5bfbdbd0315b27452144cc7795457b9652037f53
         18027b5b4cd7a636",
        "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e
         501016d07568",
    ),
    (
        "abbccddef00112233445566778899aabdecaf888",
        true,
        "0000010000000001cafedebaceface7418a6fd42f72cbf4ab2a2ea901f73d814
         e3e7f243d95412e1c349c1d2fbec168f9190feebaf2cb01984e65863965d7472
         b79da345e0e780191f0d2f0e0f496c226f2127b27db35724e7845d68651f57e6
         5f354f75ff17015769623436",
        "4500004933ba00007f119106c3fb1d10c2b1d326c02831ce0035dd7b800302d5
         00004e20001e8c18d75b81dc91baa0476b91b924b280389d92c963bac046ec95
         9b6266c04722b14923",
    ),
    (
        "7d773d00c144c525ac619d18c84a3f47d9664267",
        false,
        "335467aeffffffff43457e9182443bc6437f866bcb3f699fe9b0822bac961c45
         04bef270",
        "",
    ),
    (
        "abbccddef00112233445566778899aabdecaf888",
        true,
        "0000010000000001cafedebaceface7429c9fc69a197d038ccdd14e2ddfcaa05
         43332164412503524303ed3c6c5f283843af8c3e",
        "746f016265016f72016e6f7401746f01 6265",
    ),
];

#[test]
fn aes_gcm_of_the_test_case_draft() {
    for (key, esn, esp, payload) in GCM {
        let (key, esp, payload) = (unhex(key), unhex(esp), unhex(payload));
        let file = format!(
            "[[sa]]\nname = \"draft\"\nspi = {:#x}\nsuite = \"aes-{}-gcm-16\"\n\
             key = \"{}\"\nmode = \"transport\"\nesn = {esn}\n\
             [[policy]]\naction = \"protect\"\nsa = \"draft\"\n",
            u32::from_be_bytes([esp[0], esp[1], esp[2], esp[3]]),
            (key.len() - 4) * 8,
            hex(&key)
        );
        let run = unprotect(&file, LinkType::RawIp, &[between_gateways(ESP, &esp)]);
        assert_eq!(run.drops(), [], "{}", hex(&esp));
        assert_eq!(run.records, [between_gateways(ICMP, &payload)]);
    }
}
