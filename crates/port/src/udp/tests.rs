use std::time::Duration;

use super::*;
use crate::frames::{FrameLayout, Frames};
use crate::port::{Outgoing, Rx, Tx};
use packet::{Datagram, Headers};

fn pool() -> FramePool {
    FramePool::new(FrameLayout::default()).expect("memory")
}

fn ports(pool: &FramePool, local: &str, offload: bool) -> (UdpRx, UdpTx) {
    let options = UdpOptions {
        segmentation_offload: offload,
        ..UdpOptions::default()
    };
    udp_port(local.parse().expect("an address"), pool, options).expect("a port")
}

/// Packets from one port to another, which arrive as they were.
fn send(tx: &mut UdpTx, rx: &mut UdpRx, pool: &FramePool, packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut frames = Frames::of(pool);
    let outgoing: Vec<Outgoing<'_>> = packets.iter().map(|one| Outgoing::from(&one[..])).collect();
    assert_eq!(tx.send(&mut frames, &outgoing), packets.len());
    assert!(tx.flush(Duration::from_secs(10)));
    let mut received = Vec::new();
    while received.len() < packets.len() {
        frames.clear();
        // Few at a time: messages are given out in parts.
        if rx.fill(&mut frames, 5) == 0 {
            assert!(rx.wait(Duration::from_secs(10)).is_up());
        }
        received.extend(frames.packets().map(|packet| packet.bytes.to_vec()));
    }
    received
}

#[test]
fn packets_come_as_they_went() {
    for local in ["127.0.0.1:0", "[::1]:0"] {
        for (out, back) in [(true, true), (true, false), (false, true), (false, false)] {
            let pool = pool();
            let (_, mut tx) = ports(&pool, local, out);
            let (mut rx, _) = ports(&pool, local, back);
            let sizes = [
                vec![100; 70],
                vec![100, 100, 40, 100, 120, 120, 0, 0, 1, 1],
                vec![1400; 130],
            ];
            for sizes in sizes {
                let packets: Vec<Vec<u8>> = (0u8..)
                    .zip(&sizes)
                    .map(|(number, bytes)| {
                        // The class changes now and then, and with it the message.
                        let class = number / 50 * 4;
                        let headers = Headers::new(tx.local_address(), rx.local_address(), class);
                        let mut headers = headers.expect("one family");
                        [headers.of(*bytes), &vec![number; *bytes]].concat()
                    })
                    .collect();
                assert_eq!(send(&mut tx, &mut rx, &pool, &packets), packets);
            }
            assert_eq!(rx.counters().received, 210);
            assert_eq!((tx.counters().sent, tx.counters().refused), (210, 0));
            assert_eq!(rx.counters().missed, 0);
        }
    }
}

#[test]
fn what_is_no_datagram_of_the_socket_is_refused() {
    let pool = pool();
    let (rx, mut tx) = ports(&pool, "127.0.0.1:0", true);
    let foreign = "127.0.0.1:1".parse().expect("an address");
    let mut headers = Headers::new(foreign, rx.local_address(), 0).expect("one family");
    let foreign = [headers.of(4), &[0; 4]].concat();
    let packets = [Outgoing::from(&foreign[..]), Outgoing::from(&[0x45; 9][..])];
    assert_eq!(tx.send(&mut Frames::of(&pool), &packets), 0);
    assert_eq!(tx.counters().refused, 2);
}

#[test]
fn a_datagram_that_fits_no_link_is_too_long() {
    let pool = pool();
    let (rx, mut tx) = ports(&pool, "[::1]:0", true);
    let mut headers = Headers::new(tx.local_address(), rx.local_address(), 0).expect("one family");
    // The loopback interface has an MTU of 65,536.
    for (bytes, too_long) in [(65_536 - 48, 0), (65_536 - 47, 1)] {
        let packet = [headers.of(bytes), &vec![0; bytes]].concat();
        assert!(Datagram::parse(&packet).is_some());
        let sent = tx.send(&mut Frames::of(&pool), &[Outgoing::from(&packet[..])]);
        assert_eq!(
            (sent, tx.counters().too_long),
            (1 - too_long as usize, too_long)
        );
        let known_bytes = if too_long > 0 { 65_536 } else { 65_575 };
        assert_eq!(tx.mtu_bytes(), known_bytes);
    }
}

#[test]
fn an_address_is_needed_and_must_be_free() {
    let pool = pool();
    let open = |local: &str| {
        udp_port(
            local.parse().expect("an address"),
            &pool,
            UdpOptions::default(),
        )
        .err()
        .map(|error| error.to_string())
    };
    let all = open("0.0.0.0:4500").expect("an error");
    assert!(all.contains("name one address"), "{all}");
    let (rx, _tx) = ports(&pool, "127.0.0.1:0", true);
    let taken = open(&rx.local_address().to_string()).expect("an error");
    assert!(taken.contains("free?"), "{taken}");
    let foreign = open("192.0.2.1:0").expect("an error");
    assert!(foreign.contains("this machine"), "{foreign}");
}

#[test]
fn datagrams_without_space_are_missed_and_counted() {
    let pool = pool();
    let options = UdpOptions {
        receive_buffer_bytes: 1 << 14,
        ..UdpOptions::default()
    };
    let local = "127.0.0.1:0".parse().expect("an address");
    let (mut rx, _) = udp_port(local, &pool, options).expect("a port");
    let other = UdpSocket::bind(local).expect("a socket");
    for _ in 0..200 {
        other.send_to(&[0; 1000], rx.local_address()).expect("sent");
    }
    // The count comes with the next datagram.
    let mut frames = Frames::of(&pool);
    let mut received = rx.fill(&mut frames, 256);
    other.send_to(&[0; 1000], rx.local_address()).expect("sent");
    while rx.fill(&mut frames, 256) == 0 {
        assert!(rx.wait(Duration::from_secs(10)).is_up());
    }
    received = frames.len().max(received);
    assert_eq!(received as u64 + rx.counters().missed, 201);
    assert!(rx.counters().missed > 0);
}
