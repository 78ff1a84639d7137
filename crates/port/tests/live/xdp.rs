//! AF_XDP ports at the ends of a cable, in the kernel's copy mode.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use weir_netlab::{Cable, Namespace, until};
use weir_port::{
    DownReason, FrameLayout, FramePool, Frames, InterfaceRx, InterfaceTx, OpenError, Outgoing,
    PortState, Rx, RxOptions, Tx, TxOptions, XdpMode, XdpOptions, XdpRx, XdpTx, open_xdp,
    receive_queues,
};

use crate::packets::{inside, packet, receive, receive_bytes, send, take, udp};

/// Small rings, so that they go round.
fn options() -> XdpOptions {
    XdpOptions {
        ring_packets: 128,
        ..XdpOptions::default()
    }
}

fn pool() -> FramePool {
    let layout = FrameLayout {
        frames: 1024,
        frame_bytes: 2048,
        headroom_bytes: 64,
    };
    FramePool::new(layout).expect("memory")
}

fn open(name: &str) -> (XdpRx, XdpTx) {
    let mut queues = open_xdp(name, &[pool()], options()).expect(name);
    queues.remove(0)
}

#[test]
fn packets_pass_in_both_directions_and_rings_go_round() {
    inside(|_| {
        let (mut rx, mut tx) = open("a");
        let (mut far_rx, mut far_tx) = open("b");
        assert_eq!(rx.mode(), Some(XdpMode::Native));
        assert!(!rx.is_zero_copy(), "a virtual cable has no memory to share");
        for round in 0..20 {
            let sent: Vec<Vec<u8>> = (0..100)
                .map(|number| packet(round * 100 + number, 60 + 14 * number as usize))
                .collect();
            assert_eq!(send(&mut tx, &sent), 100);
            let received = receive(&mut far_rx, 100);
            assert!(received.iter().map(|(bytes, _)| bytes).eq(&sent));
            assert!(received[0].1 > 1_600_000_000_000_000_000);
            assert_eq!(send(&mut far_tx, &sent[..50]), 50);
            assert_eq!(receive_bytes(&mut rx, 50), sent[..50]);
        }
        assert!(tx.flush(Duration::from_secs(60)));
        let counters = far_rx.counters();
        assert_eq!((counters.received, counters.missed), (2000, 0));
        assert_eq!((tx.counters().sent, far_tx.counters().sent), (2000, 1000));
    });
}

#[test]
fn all_frames_come_back() {
    inside(|_| {
        let pools = [pool(), pool()];
        let ends = ["a", "b"].iter().zip(&pools);
        let mut ports: Vec<(XdpRx, XdpTx)> = ends
            .map(|(name, pool)| open_xdp(name, std::slice::from_ref(pool), options()).expect(name))
            .map(|mut queues| queues.remove(0))
            .collect();
        assert_eq!(pools[0].free_frames(), 1024 - 128);
        let sent: Vec<Vec<u8>> = (0..64).map(|number| packet(number, 60)).collect();
        for _ in 0..10 {
            let [(_, tx), (rx, _)] = &mut ports[..] else {
                panic!("two ports");
            };
            assert_eq!(send(tx, &sent), 64);
            assert_eq!(receive_bytes(rx, 64).len(), 64);
        }
        // Some are under way, and one half goes before the other.
        send(&mut ports[0].1, &sent);
        let (rx, tx) = ports.remove(1);
        drop(rx);
        assert!(
            pools[1].free_frames() < 1024,
            "the other half has the socket"
        );
        drop(tx);
        drop(ports);
        assert_eq!(pools.map(|pool| pool.free_frames()), [1024, 1024]);
    });
}

#[test]
fn frames_go_on_without_a_copy_and_change_in_place() {
    inside(|namespace| {
        Cable::default().connect((namespace, "c"), (namespace, "d"));
        let pool = pool();
        let pools = [pool.clone()];
        let (mut rx, _tx) = open_xdp("b", &pools, options()).expect("b").remove(0);
        let (_rx, mut onward) = open_xdp("c", &pools, options()).expect("c").remove(0);
        let mut source = InterfaceTx::open("a", TxOptions::default()).expect("a");
        let mut target = InterfaceRx::open("d", &pool, RxOptions::default()).expect("d");
        let sent: Vec<Vec<u8>> = (0..50).map(|number| packet(number, 200)).collect();
        assert_eq!(send(&mut source, &sent), 50);
        let mut frames = Frames::of(&pool);
        until(|| {
            rx.wait(Duration::from_millis(10));
            rx.fill(&mut frames, 50);
            frames.len() == 50
        });
        // A tag goes behind the addresses, into the headroom.
        for index in 0..50 {
            assert!(frames.headroom(index) >= 64 && frames.extend_front(index, 4));
            let bytes = frames.bytes_mut(index);
            bytes.copy_within(4..16, 0);
            bytes[12..16].copy_from_slice(&[0x81, 0, 0, 7]);
        }
        let all: Vec<Outgoing> = (0..50).map(Outgoing::Frame).collect();
        assert_eq!(onward.send(&mut frames, &all), 50);
        // Each frame is the port's now.
        assert!((0..50).all(|index| !frames.contains(index)));
        let tagged = sent.iter().map(|packet| {
            let mut packet = packet.clone();
            packet.splice(12..12, [0x81, 0, 0, 7]);
            packet
        });
        assert_eq!(receive_bytes(&mut target, 50), tagged.collect::<Vec<_>>());
    });
}

#[test]
fn two_queues_share_the_packets_by_flow() {
    weir_netlab::inside(Cable { queues: 2 }, |_| {
        assert_eq!(receive_queues("b").ok(), Some(2));
        let mut queues = open_xdp("b", &[pool(), pool()], XdpOptions::default()).expect("b");
        let mut tx = InterfaceTx::open("a", TxOptions::default()).expect("a");
        let sent: Vec<Vec<u8>> = (0..640).map(|number| udp(number % 64, number)).collect();
        assert_eq!(send(&mut tx, &sent), 640);
        let mut received = [BTreeSet::new(), BTreeSet::new()];
        until(|| {
            for ((rx, _), received) in queues.iter_mut().zip(&mut received) {
                received.extend(take(rx).into_iter().map(|(bytes, _)| bytes));
                rx.wait(Duration::from_millis(10));
            }
            received[0].len() + received[1].len() >= 640
        });
        let [one, other] = received;
        assert!(!one.is_empty() && !other.is_empty());
        assert_eq!(
            one.into_iter().chain(other).collect::<BTreeSet<_>>(),
            sent.iter().cloned().collect()
        );
        // A queue sends to the queue of the same number at the other end.
        drop(queues);
        let (rx, mut tx): (Vec<_>, Vec<_>) = open_xdp("a", &[pool(), pool()], options())
            .expect("a")
            .into_iter()
            .unzip();
        drop(rx);
        let mut far = open_xdp("b", &[pool(), pool()], options()).expect("b");
        for (number, tx) in tx.iter_mut().enumerate() {
            assert_eq!(send(tx, &sent[..10]), 10);
            assert_eq!(receive_bytes(&mut far[number].0, 10), sent[..10]);
        }
    });
}

#[test]
fn what_finds_no_space_is_counted() {
    inside(|_| {
        let (mut rx, _tx) = open("b");
        let mut tx = InterfaceTx::open("a", TxOptions::default()).expect("a");
        for number in 0..10 {
            let sent: Vec<Vec<u8>> = (0..100).map(|i| packet(number * 100 + i, 60)).collect();
            assert_eq!(send(&mut tx, &sent), 100);
        }
        assert!(tx.flush(Duration::from_secs(60)));
        let mut received = 0;
        until(|| {
            received += take(&mut rx).len() as u64;
            rx.wait(Duration::from_millis(10));
            let counters = rx.counters();
            counters.received + counters.missed == 1000
        });
        assert_eq!(rx.counters().received, received);
        assert!(received >= 128 && rx.counters().missed > 0);
        assert!(rx.statistics().fill_ring_empty > 0);
        // It goes on afterwards.
        let more = [packet(5000, 60)];
        assert_eq!(send(&mut tx, &more), 1);
        assert_eq!(receive_bytes(&mut rx, 1), more);
    });
}

fn down(reason: DownReason) -> PortState {
    PortState::Down { reason }
}

fn until_state(rx: &mut XdpRx, state: &PortState) {
    until(|| {
        take(rx);
        rx.wait(Duration::from_millis(50)) == state
    });
}

/// A packet passes in both directions.
fn assert_passes(tx: &mut XdpTx, rx: &mut XdpRx, number: u32) {
    until_state(rx, &PortState::Up);
    let packet = [packet(number, 60)];
    until(|| send(tx, &packet) == 1);
    assert_eq!(receive_bytes(rx, 1), packet);
}

#[test]
fn interfaces_go_down_away_and_come_back() {
    inside(|namespace| {
        let (mut rx, mut tx) = open("a");
        let (mut far_rx, mut far_tx) = open("b");
        assert_passes(&mut tx, &mut far_rx, 1);
        namespace.ip("link set dev a down");
        until_state(&mut far_rx, &down(DownReason::NoCarrier));
        until_state(&mut rx, &down(DownReason::Disabled));
        until(|| send(&mut tx, &[packet(2, 60)]) == 0);
        assert!(tx.counters().port_down > 0);
        namespace.ip("link set dev a up");
        assert_passes(&mut tx, &mut far_rx, 3);
        assert_passes(&mut far_tx, &mut rx, 4);
        for number in 5..8 {
            namespace.ip("link delete dev a");
            until_state(&mut rx, &down(DownReason::Removed));
            until_state(&mut far_rx, &down(DownReason::Removed));
            namespace.add_cable(Cable::default());
            assert_passes(&mut tx, &mut far_rx, number);
            assert_passes(&mut far_tx, &mut rx, number);
        }
        let counters = rx.counters();
        assert_eq!((counters.received, counters.missed), (4, 0));
    });
}

#[test]
fn the_mtu_is_followed() {
    inside(|namespace| {
        let (_rx, mut tx) = open("a");
        assert_eq!(tx.mtu_bytes(), 1500);
        namespace.ip("link set dev a mtu 600");
        until(|| send(&mut tx, &[packet(1, 1000)]) == 0 && tx.mtu_bytes() == 600);
        assert!(tx.counters().too_long > 0);
        assert_eq!(send(&mut tx, &[[0; 13]]), 0);
        assert_eq!(tx.counters().too_short, 1);
    });
}

#[test]
fn a_carrier_that_is_lost_drops_packets_until_it_is_back() {
    inside(|namespace| {
        let (_rx, mut tx) = open("a");
        namespace.ip("link set dev b down");
        let sent: Vec<Vec<u8>> = (0..500).map(|number| packet(number, 60)).collect();
        until(|| send(&mut tx, &sent) == 0);
        let counters = tx.counters();
        assert!(counters.port_down >= 500);
        namespace.ip("link set dev b up");
        until(|| tx.state().is_up());
        assert_eq!(send(&mut tx, &sent[..10]), 10);
    });
}

#[test]
fn what_cannot_be_opened_says_why() {
    inside(|namespace| {
        let error = |name: &str, pools: &[FramePool]| {
            let opened = open_xdp(name, pools, options());
            opened.err().expect("an error").to_string()
        };
        let missing = error("nosuch", &[pool()]);
        assert!(missing.contains("no network interface nosuch"), "{missing}");
        let queues = error("a", &[pool(), pool()]);
        assert!(queues.contains("1 receive queues"), "{queues}");
        let layout = FrameLayout {
            frames: 16,
            frame_bytes: 8192,
            headroom_bytes: 0,
        };
        let large = error("a", &[FramePool::new(layout).expect("memory")]);
        assert!(large.contains("use 2,048 or 4,096"), "{large}");
        namespace.ip("link set dev a mtu 3000");
        let mtu = error("a", &[pool()]);
        assert!(mtu.contains("mtu 1710"), "{mtu}");
        namespace.ip("link set dev a mtu 1500");
        let held = open("a");
        let busy = open_xdp("a", &[pool()], options()).err();
        assert!(matches!(busy, Some(OpenError::Busy { .. })), "{busy:?}");
        drop(held);
        open("a");
    });
}

/// Another process has the interface, and then it has not: it is killed.
#[test]
fn a_process_that_is_killed_leaves_the_interface() {
    inside(|namespace: &Namespace| {
        let this = std::env::current_exe().expect("this program");
        let this = this.to_str().expect("a path");
        let mut holder: Command = namespace.command(this);
        let arguments = [
            "--exact",
            "xdp::hold_an_interface",
            "--ignored",
            "--nocapture",
        ];
        holder.args(arguments).stdout(Stdio::piped());
        let mut holder = holder.spawn().expect("another process");
        let lines = BufReader::new(holder.stdout.take().expect("its output")).lines();
        let held = lines.map_while(Result::ok).find(|line| line.contains(HELD));
        assert!(held.is_some());
        let busy = open_xdp("a", &[pool()], options()).err();
        assert!(matches!(busy, Some(OpenError::Busy { .. })), "{busy:?}");
        holder.kill().expect("killed");
        holder.wait().expect("it has ended");
        until(|| open_xdp("a", &[pool()], options()).is_ok());
        // Packets come to the kernel's network stack again.
        let mut rx = InterfaceRx::open("a", &pool(), RxOptions::default()).expect("a");
        let mut tx = InterfaceTx::open("b", TxOptions::default()).expect("b");
        assert_eq!(send(&mut tx, &[packet(1, 60)]), 1);
        assert_eq!(receive_bytes(&mut rx, 1), [packet(1, 60)]);
    });
}

const HELD: &str = "the interface is held";

#[test]
#[ignore = "the other process of a_process_that_is_killed_leaves_the_interface"]
fn hold_an_interface() {
    let _held = open("a");
    println!("{HELD}");
    std::thread::sleep(Duration::from_secs(60));
}
