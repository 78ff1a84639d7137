//! Packets of draft-mcgrew-gcm-test-01, section 4, whose extended sequence
//! numbers no new association would receive: key with salt, full number, ESP
//! packet, text.

use weir_crypto::{KeyMaterial, Opener, OpeningKey, Suite};

use super::{Template, Trailer};

struct Vector {
    key: &'static str,
    sequence: u64,
    packet: &'static str,
    text: &'static str,
}

const VECTORS: [Vector; 5] = [
    Vector {
        key: "4c80cdefbb5d10da906ac73c3613a6342e443b68",
        sequence: 0x8765_4321_0000_0000,
        packet: "00004321000000004956ed7e3b244cfefecf537e729d5b07dc30df528dd22b76
                 8d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a13c5d
                 15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732459018148f6cbe72
                 2fd04796562dfdb4",
        text: "45000048699a000080114db7c0a80102c0a801010a9bf15638d3010000010000
               00000000045f736970045f756470037369700963796265726369747902646b00
               0021000101020201",
    },
    Vector {
        key: "3de09874b388e6491988d0c3607eae1f57690e43",
        sequence: 0x1010_1010_1010_1010,
        packet: "42f67e3f101010104e280000a2fca1a3fba2caa4853cf9f0f22cb10d86dd83b0
                 fec75691cf1a04b00d1138ec9c35791765acbd8701ad79845bf9fe3fba487bc9
                 1755e6662b4c8d0d1f5e22739530320ae0d731cc978ecafaeae88f00e80d6e48",
        text: "4500003c99c300008001cb7c40679318010101010800085c0200430061626364
               65666768696a6b6c6d6e6f707172737475767761626364656667686901020201",
    },
    Vector {
        key: "3de09874b388e6491988d0c3607eae1f57690e43",
        sequence: 0x1010_1010_1010_1010,
        packet: "42f67e3f101010104e280000a2fca1a3fba2ca845e5df9f0f22c3e6e86dd831e
                 1fc65792cd1af9130e1379ed369f071f35e034be95f112e4e7d05d35",
        text: "4500001c42a200008001441f406793b6e00000020a00f5ff01020201",
    },
    Vector {
        key: "abbccddef00112233445566778899aababbccddef00112233445566778899aab73616c74",
        sequence: 0x156f_3126_dd0d_b99b,
        packet: "17405e67dd0db99b616e640169766563f2d69ecdbd5a0d5b8d5ef38bad4da58d
                 1f278fde98ef67549d524a3018d9a57ff4d3a31ce673119e451626c2415771e3
                 b7eebca614c89b35",
        text: "45080028732c00004006e9f90a0106120a01038f06b88023dd6bafbecb712602
               50101f646d540001",
    },
    Vector {
        key: "6c6567616c697a656d6172696a75616e61616e64646f69746265666f72656961
              7475726e",
        sequence: u64::MAX,
        packet: "796b6963ffffffff333021696765746df97ab2aa356d8edce17644ac8c78e25d
                 d24dedbb29ebf1b64a274b39b49c3a864cd3d78ca4ae68a32b42458fb57dbe82
                 1dcc63b9d0937ba2945f669368661a329fb4c053",
        text: "45000030da3a00008001df3bc0a80005c0a800010800c6cd0200070061626364
               65666768696a6b6c6d6e6f707172737401020201",
    },
];

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| Some(digit.to_digit(16)? as u8))
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Opens a packet as if it had this number.
fn opened(vector: &Vector, sequence: u64) -> Option<Vec<u8>> {
    let key = unhex(vector.key);
    let suite = Suite::parse(&format!("aes-{}-gcm-16", (key.len() - 4) * 8)).expect("a suite");
    let material = KeyMaterial::new(suite, &key, &[]).expect("a key");
    let mut opener = Opener::new();
    let key = opener.add(OpeningKey::new(&material).expect("a key"));
    let mut packet = unhex(vector.packet);
    let spi = u32::from_be_bytes([packet[0], packet[1], packet[2], packet[3]]);
    let format = Template::of_suite(suite, spi, true).format;
    let bytes = format
        .plaintext_bytes_of(packet.len())
        .expect("a possible length");
    let mut batch = opener.batch(&mut packet);
    batch
        .push_numbered(format.descriptor(key, 0, bytes), sequence)
        .expect("a well-formed packet");
    let is_good = batch.run().all_good();
    is_good.then(|| packet[format.header_bytes()..][..bytes].to_vec())
}

#[test]
fn packets_open_with_their_whole_number_only() {
    for vector in &VECTORS {
        let text = opened(vector, vector.sequence).expect("authentic");
        assert_eq!(text, unhex(vector.text), "{}", vector.packet);
        let trailer = Trailer::read(&text).expect("padding");
        assert_eq!(trailer.next_header, 1);
        assert_eq!(opened(vector, vector.sequence ^ 1 << 32), None);
    }
}
