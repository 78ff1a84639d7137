//! TUN devices: what the kernel sends and takes.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use weir_netlab::{Namespace, until};
use weir_port::{
    ChecksumState, DownReason, FrameLayout, FramePool, Frames, LinkLayer, OpenError, Outgoing,
    PortState, Rx, Split, TunOptions, TunRx, TunTx, Tx, complete_checksum, open_tun,
    verify_checksum,
};

use crate::packets::inside;

fn pool() -> FramePool {
    let layout = FrameLayout {
        frames: 256,
        frame_bytes: 65_536 + 4096,
        headroom_bytes: 128,
    };
    FramePool::new(layout).expect("memory")
}

/// A device that is switched on, with an address and the way to all others of its network.
fn open(namespace: &Namespace, name: &str, queues: usize) -> Vec<(TunRx, TunTx)> {
    let pools: Vec<FramePool> = (0..queues).map(|_| pool()).collect();
    let ports = open_tun(name, &pools, TunOptions::default()).expect(name);
    switch_on(namespace, name);
    ports
}

fn switch_on(namespace: &Namespace, name: &str) {
    namespace.ip(&format!("addr add 198.18.0.1/24 dev {name}"));
    namespace.ip(&format!("link set dev {name} up"));
}

/// Waits for one packet.
fn receive(rx: &mut TunRx, frames: &mut Frames) {
    frames.clear();
    until(|| {
        rx.wait(Duration::from_millis(50));
        rx.fill(frames, 1) == 1
    });
}

/// Waits until packets pass.
fn until_up(rx: &mut TunRx, tx: &mut TunTx) {
    let mut frames = Frames::default();
    until(|| {
        frames.clear();
        rx.fill(&mut frames, 64);
        // A packet of no known protocol, which the kernel drops.
        let probe = [
            0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 198, 18, 0, 9, 198, 18, 0, 1,
        ];
        let sent = tx.send(&mut frames, &[Outgoing::from(&probe[..])]) == 1;
        rx.wait(Duration::from_millis(20)).is_up() && sent
    });
}

/// Makes the answer to a packet of IPv4 and UDP or TCP: both ends are exchanged.
fn turn_around(packet: &mut [u8]) {
    let (source, target) = packet[12..20].split_at_mut(4);
    source.swap_with_slice(target);
    let (source, target) = packet[20..24].split_at_mut(2);
    source.swap_with_slice(target);
}

#[test]
fn datagrams_go_out_and_answers_come_back() {
    inside(|namespace| {
        let (mut rx, mut tx) = open(namespace, "weir0", 1).remove(0);
        until_up(&mut rx, &mut tx);
        let socket = UdpSocket::bind("198.18.0.1:4000").expect("a socket");
        let timeout = Some(Duration::from_secs(60));
        socket.set_read_timeout(timeout).expect("a timeout");
        let mut frames = Frames::default();
        for number in 0..100_u8 {
            let text = vec![number; 1 + 14 * usize::from(number)];
            socket.send_to(&text, "198.18.0.2:5000").expect("sent");
            receive(&mut rx, &mut frames);
            assert_eq!(frames.bytes(0)[28..], text);
            // The kernel left the checksum to the device.
            let offload = &mut frames.arrival_mut(0).offload;
            assert_eq!(
                (offload.checksum, offload.segments),
                (ChecksumState::NotReady, None)
            );
            if number % 2 == 0 {
                offload.checksum = ChecksumState::Unknown;
                assert!(complete_checksum(frames.bytes_mut(0), LinkLayer::Ip));
                assert_eq!(verify_checksum(frames.bytes(0), LinkLayer::Ip), Some(true));
            }
            turn_around(frames.bytes_mut(0));
            assert_eq!(tx.send(&mut frames, &[Outgoing::Frame(0)]), 1);
            let mut answer = [0; 2000];
            let bytes = socket.recv(&mut answer).expect("an answer");
            assert_eq!(answer[..bytes], text);
        }
        assert!(tx.flush(Duration::ZERO));
    });
}

/// What a forwarder between two devices did.
#[derive(Default)]
struct Forwarded {
    longest: usize,
    split: usize,
    refused: u64,
}

/// Hands packets on from one device to the other, whole or in segments, until `stop` or for a
/// minute.
fn forward(rx: &mut TunRx, tx: &mut TunTx, splits: bool, stop: &AtomicBool) -> Forwarded {
    let mut forwarded = Forwarded::default();
    let mut frames = Frames::default();
    let begin = Instant::now();
    while !stop.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(60) {
        rx.fill(&mut frames, 64);
        let mut segments: Vec<Vec<u8>> = Vec::new();
        for packet in frames.packets() {
            forwarded.longest = forwarded.longest.max(packet.bytes.len());
            if !splits {
                continue;
            }
            match packet.arrival.offload.segments {
                Some(how) => {
                    let mut split = Split::new(packet.bytes, LinkLayer::Ip, how).expect("a packet");
                    let mut space = vec![0; split.segment_bytes()];
                    while let Some(bytes) = split.next_into(&mut space) {
                        segments.push(space[..bytes].to_vec());
                    }
                    forwarded.split += 1;
                }
                None => {
                    let mut whole = packet.bytes.to_vec();
                    complete_checksum(&mut whole, LinkLayer::Ip);
                    segments.push(whole);
                }
            }
        }
        let out: Vec<Outgoing> = match splits {
            true => segments
                .iter()
                .map(|bytes| bytes.as_slice().into())
                .collect(),
            false => (0..frames.len()).map(Outgoing::Frame).collect(),
        };
        tx.send(&mut frames, &out);
        frames.clear();
        rx.wait(Duration::from_millis(5));
    }
    let counters = tx.counters();
    forwarded.refused = counters.refused + counters.too_long + counters.too_short;
    forwarded
}

/// Bytes through TCP from one namespace to the other, with a forwarder of two devices between.
fn carry(splits: bool, v6: bool) -> Option<[Forwarded; 2]> {
    let (Ok(near), Ok(far)) = (Namespace::new(), Namespace::new()) else {
        inside(|_| ());
        return None;
    };
    let make = |namespace: &Namespace, address: &str| {
        namespace.enter(|| {
            namespace.set("net/ipv6/conf/default/disable_ipv6", "0");
            let ports = open_tun("weir0", &[pool()], TunOptions::default());
            namespace.ip(&format!("addr add {address} dev weir0"));
            namespace.ip("link set dev weir0 up");
            ports.expect("weir0").remove(0)
        })
    };
    let networks = match v6 {
        false => ["198.18.0.1/24", "198.18.0.2/24"],
        true => ["fd00::1/64 nodad", "fd00::2/64 nodad"],
    };
    let (mut near_rx, mut near_tx) = make(&near, networks[0]);
    let (mut far_rx, mut far_tx) = make(&far, networks[1]);
    let target = if v6 {
        "[fd00::2]:5000"
    } else {
        "198.18.0.2:5000"
    };
    let stop = AtomicBool::new(false);
    let bytes: Vec<u8> = (0..4_000_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 11) as u8)
        .collect();
    let (forth, back) = thread::scope(|scope| {
        let forth =
            scope.spawn(|| near.enter(|| forward(&mut near_rx, &mut far_tx, splits, &stop)));
        let back = scope.spawn(|| far.enter(|| forward(&mut far_rx, &mut near_tx, splits, &stop)));
        let listener = far.enter(|| TcpListener::bind(target).expect("a listener"));
        let sent = bytes.clone();
        let sender = scope.spawn(|| {
            near.enter(move || {
                let mut stream = TcpStream::connect(target).expect("a connection");
                let timeout = Some(Duration::from_secs(60));
                stream.set_write_timeout(timeout).expect("a timeout");
                stream.write_all(&sent).expect("sent");
            });
        });
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut received = Vec::new();
        let timeout = Some(Duration::from_secs(60));
        stream.set_read_timeout(timeout).expect("a timeout");
        stream.read_to_end(&mut received).expect("received");
        assert!(
            received == bytes,
            "{} of {} bytes",
            received.len(),
            bytes.len()
        );
        sender.join().expect("the sender ends");
        stop.store(true, Ordering::Relaxed);
        (
            forth.join().expect("it ends"),
            back.join().expect("it ends"),
        )
    });
    Some([forth, back])
}

#[test]
fn packets_of_64_kib_pass_whole() {
    for v6 in [false, true] {
        let Some([forth, back]) = carry(false, v6) else {
            return;
        };
        assert!(forth.longest > 10_000, "{}", forth.longest);
        assert_eq!(forth.refused + back.refused, 0);
    }
}

#[test]
fn packets_are_split_and_merged_on_their_way() {
    for v6 in [false, true] {
        let Some([forth, back]) = carry(true, v6) else {
            return;
        };
        assert!(
            forth.longest > 10_000 && forth.split > 10,
            "{}",
            forth.split
        );
        assert_eq!(forth.refused + back.refused, 0);
    }
}

#[test]
fn segments_become_one_packet_for_the_kernel() {
    inside(|namespace| {
        let (mut rx, mut tx) = open(namespace, "weir0", 1).remove(0);
        until_up(&mut rx, &mut tx);
        let socket = UdpSocket::bind("198.18.0.1:5000").expect("a socket");
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout");
        // A datagram as the kernel makes it, then twenty of them.
        socket.send_to(&[7; 1000], "198.18.0.2:5000").expect("sent");
        let mut frames = Frames::default();
        receive(&mut rx, &mut frames);
        turn_around(frames.bytes_mut(0));
        let mut datagram = frames.bytes(0).to_vec();
        assert!(complete_checksum(&mut datagram, LinkLayer::Ip));
        let out = [Outgoing::from(datagram.as_slice()); 20];
        assert_eq!(tx.send(&mut frames, &out), 20);
        // They come singly again to a program that did not ask for more.
        for _ in 0..20 {
            let mut received = [0; 2000];
            assert_eq!(socket.recv(&mut received).expect("a datagram"), 1000);
            assert_eq!(received[..1000], [7; 1000]);
        }
        let packets = socket_packets(namespace);
        assert!(packets < 20, "{packets} packets for 20 datagrams");
    });
}

/// Packets that the kernel got from the device.
fn socket_packets(namespace: &Namespace) -> u64 {
    let output = namespace
        .command("cat")
        .arg("/proc/net/dev")
        .output()
        .expect("cat runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let line = text
        .lines()
        .find(|line| line.contains("weir0"))
        .expect("the device");
    let counts = line.split_once(':').expect("counts").1;
    counts
        .split_whitespace()
        .nth(1)
        .expect("packets")
        .parse()
        .expect("a number")
}

#[test]
fn two_queues_share_the_flows() {
    inside(|namespace| {
        let mut ports = open(namespace, "weir0", 2);
        let (rx, tx) = &mut ports[0];
        until_up(rx, tx);
        for _ in 0..4 {
            for port in 0..64 {
                let socket = UdpSocket::bind(("198.18.0.1", 4000 + port)).expect("a socket");
                socket.send_to(&[7; 100], "198.18.0.2:5000").expect("sent");
            }
        }
        let mut flows = [BTreeSet::new(), BTreeSet::new()];
        let mut count = 0;
        let mut frames = Frames::default();
        until(|| {
            for ((rx, _), flows) in ports.iter_mut().zip(&mut flows) {
                frames.clear();
                rx.fill(&mut frames, 64);
                for packet in frames.packets().filter(|packet| packet.bytes[9] == 17) {
                    flows.insert([packet.bytes[20], packet.bytes[21]]);
                    count += 1;
                }
                rx.wait(Duration::from_millis(5));
            }
            count >= 256
        });
        let [one, other] = flows;
        assert!(!one.is_empty() && !other.is_empty());
        assert!(one.is_disjoint(&other), "a flow is in both");
        assert_eq!(one.len() + other.len(), 64);
    });
}

fn down(reason: DownReason) -> PortState {
    PortState::Down { reason }
}

fn until_state(rx: &mut TunRx, state: &PortState) {
    let mut frames = Frames::default();
    until(|| {
        frames.clear();
        rx.fill(&mut frames, 64);
        rx.wait(Duration::from_millis(20)) == state
    });
}

#[test]
fn a_device_goes_down_away_and_comes_back() {
    inside(|namespace| {
        let mut ports = open_tun("weir0", &[pool(), pool()], TunOptions::default()).expect("weir0");
        assert_eq!(ports[0].0.state(), &down(DownReason::Disabled));
        let packet = Outgoing::from(&[0x45; 40][..]);
        assert_eq!(ports[0].1.send(&mut Frames::default(), &[packet]), 0);
        assert_eq!(ports[0].1.counters().port_down, 1);
        switch_on(namespace, "weir0");
        // Nothing has to be sent for that.
        until(|| ports.iter_mut().all(|(_, tx)| tx.state().is_up()));
        for (rx, tx) in &mut ports {
            until_up(rx, tx);
        }
        namespace.ip("link set dev weir0 down");
        until_state(&mut ports[0].0, &down(DownReason::Disabled));
        until(|| ports[1].1.send(&mut Frames::default(), &[packet]) == 0);
        namespace.ip("link set dev weir0 up");
        for _ in 0..3 {
            for (rx, tx) in &mut ports {
                until_up(rx, tx);
            }
            namespace.ip("link delete dev weir0");
            // It is made again, without an address.
            until_state(&mut ports[0].0, &down(DownReason::Disabled));
            switch_on(namespace, "weir0");
        }
        for (rx, tx) in &mut ports {
            until_up(rx, tx);
        }
    });
}

#[test]
fn the_mtu_is_followed() {
    inside(|namespace| {
        let (mut rx, mut tx) = open(namespace, "weir0", 1).remove(0);
        until_up(&mut rx, &mut tx);
        assert_eq!(tx.mtu_bytes(), 1500);
        let long = [0x45; 1501];
        assert_eq!(
            tx.send(&mut Frames::default(), &[Outgoing::from(&long[..])]),
            0
        );
        assert_eq!(tx.counters().too_long, 1);
        namespace.ip("link set dev weir0 mtu 9000");
        until(|| {
            tx.send(&mut Frames::default(), &[]);
            tx.mtu_bytes() == 9000
        });
        // What is no packet is refused by the kernel, not sent.
        assert_eq!(
            tx.send(&mut Frames::default(), &[Outgoing::from(&[0x15; 60][..])]),
            0
        );
        assert_eq!(tx.counters().refused, 1);
        assert_eq!(
            tx.send(&mut Frames::default(), &[Outgoing::from(&[][..])]),
            0
        );
        assert_eq!(tx.counters().too_short, 1);
    });
}

#[test]
fn what_nobody_receives_is_counted() {
    inside(|namespace| {
        let options = TunOptions {
            queue_packets: 16,
            ..TunOptions::default()
        };
        let (mut rx, mut tx) = open_tun("weir0", &[pool()], options)
            .expect("weir0")
            .remove(0);
        switch_on(namespace, "weir0");
        until_up(&mut rx, &mut tx);
        // The queueing discipline in front of the device counts too, where there is one.
        let before = rx.counters();
        let socket = UdpSocket::bind("198.18.0.1:4000").expect("a socket");
        for _ in 0..500 {
            let _ = socket.send_to(&[7; 100], "198.18.0.2:5000");
        }
        let mut frames = Frames::default();
        until(|| {
            frames.clear();
            rx.fill(&mut frames, 64);
            rx.wait(Duration::from_millis(20));
            let now = rx.counters();
            now.received - before.received + now.missed - before.missed >= 500
        });
        assert!(rx.counters().missed > before.missed);
    });
}

#[test]
fn what_cannot_be_made_says_why() {
    inside(|_| {
        let error = |name: &str, pools: &[FramePool]| {
            let opened = open_tun(name, pools, TunOptions::default());
            opened.err().expect("an error")
        };
        let held = open_tun("weir0", &[pool(), pool()], TunOptions::default()).expect("weir0");
        for taken in ["weir0", "a"] {
            let message = error(taken, &[pool()]).to_string();
            assert!(message.contains("choose another name"), "{message}");
        }
        drop(held);
        open_tun("weir0", &[pool()], TunOptions::default()).expect("it is free again");
        for odd in ["", "longer-than-any-name", "a/b", "%d", "a b"] {
            assert!(
                matches!(error(odd, &[pool()]), OpenError::Tun { .. }),
                "{odd:?}"
            );
        }
        assert!(matches!(error("weir1", &[]), OpenError::Tun { .. }));
        let short = FramePool::new(FrameLayout::default()).expect("memory");
        let message = error("weir1", &[short]).to_string();
        assert!(
            message.contains("too short for packets of 65536"),
            "{message}"
        );
    });
}
