//! The vectors of the format's page, which another implementation made.

use weir_fabric::secure::{
    Address, Endpoint, ExtendedMode, Flow, PlainPolicy, ReceiveFrom, Receiver, Secret, Sender,
    SenderKeys, SessionRandom, TagLimits,
};
use weir_fabric::wire::Transport;
use weir_packet::wire::LinkType;

use crate::network::{protect_one, unprotect_one};

const PAGE: &str = include_str!("../../../../docs/fabric-format.md");
const EPOCH: u64 = 0x12_3456_7889;

fn packets(word: &str) -> Vec<Vec<u8>> {
    let digits = PAGE.lines().filter_map(|line| {
        let digits = line.strip_prefix(word)?.trim();
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_hex.then_some(digits)
    });
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("ASCII");
        u8::from_str_radix(pair, 16).expect("hex digits")
    };
    digits
        .map(|digits| digits.as_bytes().chunks(2).map(byte).collect())
        .collect()
}

#[test]
fn the_vectors_of_the_page() {
    let end = |address: [u8; 4], queue_pair| Endpoint {
        address: Address::Ipv4(address.into()),
        queue_pair,
    };
    let (from, to) = (
        end([192, 0, 2, 1], 0x12_3456),
        end([198, 51, 100, 2], 0xab_cdef),
    );
    let secret = Secret::new((0..32).collect::<Vec<u8>>()).expect("32 bytes");
    let random = SessionRandom(std::array::from_fn(|at| 0xf0 + at as u8));
    let keys = SenderKeys::derive(&secret, random, from, to);
    let (plain, secure) = (packets("plain "), packets("secure "));
    assert_eq!((plain.len(), secure.len()), (3, 3));
    let modes = [
        ExtendedMode::Never,
        ExtendedMode::Always,
        ExtendedMode::Never,
    ];
    for ((plain, secure), extended) in plain.iter().zip(&secure).zip(modes) {
        let flow = Flow {
            extended,
            window_packets: 1,
            ..Flow::new(from, to, Transport::Rc, 0x8001)
        };
        let mut sender = Sender::new(PlainPolicy::default());
        assert!(sender.add(flow, &keys, EPOCH..EPOCH + 1).is_ok());
        let made = protect_one(&mut sender, LinkType::RawIp, plain);
        assert_eq!(made.as_ref(), Ok(secure));
        let mut receiver = Receiver::new(PlainPolicy::default(), TagLimits::default());
        assert!(receiver.add(flow, &keys, ReceiveFrom::epoch(EPOCH)).is_ok());
        let restored = unprotect_one(&mut receiver, LinkType::RawIp, secure);
        assert_eq!(restored.as_ref(), Ok(plain));
    }
}
