//! Packets from one end to the other.

use std::collections::BTreeSet;
use std::time::Duration;

use weir_netlab::until;
use weir_port::{InterfaceRx, InterfaceTx, OpenError, Rx, RxOptions, Tx, TxOptions};

use crate::packets::{inside, packet, pool, receive, receive_bytes, send, take, udp};

#[test]
fn packets_arrive_whole_and_in_order() {
    inside(|_| {
        let mut rx = InterfaceRx::open("b", &pool(), RxOptions::default()).expect("b");
        let mut tx = InterfaceTx::open("a", TxOptions::default()).expect("a");
        let sent: Vec<Vec<u8>> = (0..1000).map(|i| packet(i, 60 + i as usize)).collect();
        for packets in sent.chunks(100) {
            assert_eq!(send(&mut tx, packets), packets.len());
        }
        assert!(tx.flush(Duration::from_secs(60)));
        let received = receive(&mut rx, sent.len());
        assert!(received.iter().map(|(bytes, _)| bytes).eq(&sent));
        assert!(received.is_sorted_by_key(|(_, arrival_ns)| *arrival_ns));
        assert!(received[0].1 > 1_600_000_000_000_000_000);
        let counters = rx.counters();
        assert_eq!(
            (counters.received, counters.missed, counters.malformed),
            (1000, 0, 0)
        );
        let bytes: usize = sent.iter().map(Vec::len).sum();
        assert_eq!(
            (tx.counters().sent, tx.counters().sent_bytes),
            (1000, bytes as u64)
        );
    });
}

#[test]
fn small_rings_go_round_and_misses_are_counted() {
    inside(|_| {
        let options = RxOptions {
            block_bytes: 1 << 16,
            blocks: 2,
            ..RxOptions::default()
        };
        let mut rx = InterfaceRx::open("b", &pool(), options).expect("b");
        let options = TxOptions {
            bypass_queueing: true,
        };
        let mut tx = InterfaceTx::open("a", options).expect("a");
        // Several times round the ring.
        for round in 0..20 {
            let sent: Vec<Vec<u8>> = (0..40).map(|i| packet(round * 40 + i, 1000)).collect();
            assert_eq!(send(&mut tx, &sent), 40);
            assert_eq!(receive_bytes(&mut rx, 40), sent);
        }
        // More than it holds, while nobody reads.
        let sent: Vec<Vec<u8>> = (0..400).map(|i| packet(i, 1000)).collect();
        assert_eq!(send(&mut tx, &sent), 400);
        assert!(tx.flush(Duration::from_secs(60)));
        let mut received = 0;
        until(|| {
            received += take(&mut rx).len() as u64;
            rx.wait(Duration::from_millis(10));
            let counters = rx.counters();
            counters.missed > 0 && received + counters.missed == 400
        });
        assert_eq!(rx.counters().received, 800 + received);
    });
}

#[test]
fn a_tag_is_kept() {
    inside(|_| {
        let mut rx = InterfaceRx::open("b", &pool(), RxOptions::default()).expect("b");
        let mut tx = InterfaceTx::open("a", TxOptions::default()).expect("a");
        let tagged = |tags: &[[u8; 4]], bytes: usize| {
            let mut tagged = packet(7, bytes);
            tagged.splice(12..12, tags.concat());
            tagged
        };
        let customer = [0x81, 0, 0x20, 0x07];
        let sent = [
            tagged(&[customer], 60),
            tagged(&[[0x88, 0xa8, 0, 9], customer], 60),
            // The MTU does not count one tag.
            tagged(&[customer], 1514),
            packet(8, 60),
        ];
        assert_eq!(send(&mut tx, &sent), sent.len());
        assert_eq!(receive_bytes(&mut rx, 4), sent);
    });
}

#[test]
fn two_queues_share_the_packets_by_flow() {
    inside(|_| {
        let options = RxOptions {
            fanout_group: Some(7),
            ..RxOptions::default()
        };
        let mut queues =
            [0, 1].map(|_| InterfaceRx::open("b", &pool(), options.clone()).expect("a queue of b"));
        let mut tx = InterfaceTx::open("a", TxOptions::default()).expect("a");
        // 64 flows: UDP over IPv4 with different ports.
        let sent: Vec<Vec<u8>> = (0..640).map(|i| udp(i % 64, i)).collect();
        assert_eq!(send(&mut tx, &sent), sent.len());
        let mut received = [Vec::new(), Vec::new()];
        until(|| {
            for (rx, received) in queues.iter_mut().zip(&mut received) {
                received.extend(take(rx).into_iter().map(|(bytes, _)| bytes));
                rx.wait(Duration::from_millis(10));
            }
            received[0].len() + received[1].len() >= 640
        });
        let [one, other] = received;
        assert!(!one.is_empty() && !other.is_empty());
        let ports = |queue: &[Vec<u8>]| -> BTreeSet<[u8; 2]> {
            queue
                .iter()
                .map(|packet| [packet[34], packet[35]])
                .collect()
        };
        assert!(ports(&one).is_disjoint(&ports(&other)), "a flow is in both");
        assert_eq!(one.len() + other.len(), 640);
        assert_eq!(
            one.into_iter().chain(other).collect::<BTreeSet<_>>(),
            sent.into_iter().collect()
        );
    });
}

#[test]
fn outgoing_packets_are_left_out_where_asked() {
    inside(|_| {
        let mut both = InterfaceRx::open("a", &pool(), RxOptions::default()).expect("a");
        let options = RxOptions {
            ignore_outgoing: true,
            ..RxOptions::default()
        };
        let mut incoming = InterfaceRx::open("a", &pool(), options).expect("a");
        let mut tx = InterfaceTx::open("a", TxOptions::default()).expect("a");
        let mut tx_back = InterfaceTx::open("b", TxOptions::default()).expect("b");
        let (out, back) = (packet(1, 60), packet(2, 60));
        assert_eq!(send(&mut tx, &[&out]), 1);
        assert!(tx.flush(Duration::from_secs(60)));
        assert_eq!(send(&mut tx_back, &[&back]), 1);
        assert_eq!(receive_bytes(&mut both, 2), [out, back.clone()]);
        assert_eq!(receive_bytes(&mut incoming, 1), [back]);
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    inside(|namespace| {
        let open = |name: &str| InterfaceRx::open(name, &pool(), RxOptions::default()).err();
        for name in ["nosuch", "", "a\0b", "longer-than-any-name", "a/b"] {
            assert!(
                matches!(open(name), Some(OpenError::NoInterface { .. })),
                "{name:?}"
            );
            let tx = InterfaceTx::open(name, TxOptions::default());
            assert!(matches!(tx, Err(OpenError::NoInterface { .. })), "{name:?}");
        }
        namespace.ip("tuntap add dev t mode tun");
        assert!(matches!(open("t"), Some(OpenError::NotEthernet { .. })));
        let odd = RxOptions {
            block_bytes: 1000,
            ..RxOptions::default()
        };
        let refused = InterfaceRx::open("b", &pool(), odd);
        assert!(matches!(refused, Err(OpenError::System { .. })));
    });
}
