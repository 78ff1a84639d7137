//! Interfaces that go down, away, and come back.

use std::time::Duration;

use weir_netlab::{Cable, Namespace, until};
use weir_port::{
    DownReason, InterfaceRx, InterfaceTx, PortState, Rx, RxOptions, Tx, TxCounters, TxOptions,
};

use crate::packets::{inside, packet, pool, receive_bytes, send, take};

fn down(reason: DownReason) -> PortState {
    PortState::Down { reason }
}

fn open() -> (InterfaceTx, InterfaceRx) {
    let rx = InterfaceRx::open("b", &pool(), RxOptions::default()).expect("b");
    let tx = InterfaceTx::open("a", TxOptions::default()).expect("a");
    (tx, rx)
}

/// Waits until the port has a state; packets are not expected meanwhile.
fn until_state(rx: &mut InterfaceRx, state: &PortState) {
    until(|| {
        assert!(take(rx).is_empty());
        rx.wait(Duration::from_millis(100)) == state
    });
}

/// Sends until a packet is taken.
fn until_sent(tx: &mut InterfaceTx, packet: &[u8]) {
    until(|| send(tx, &[packet]) == 1);
}

/// A packet passes again.
fn assert_passes(tx: &mut InterfaceTx, rx: &mut InterfaceRx, number: u32) {
    until_state(rx, &PortState::Up);
    let packet = packet(number, 60);
    until_sent(tx, &packet);
    assert!(tx.state().is_up());
    assert_eq!(receive_bytes(rx, 1), [packet]);
}

#[test]
fn an_interface_that_was_down_works_again() {
    inside(|namespace| {
        let (mut tx, mut rx) = open();
        assert_passes(&mut tx, &mut rx, 1);
        namespace.ip("link set dev a down");
        namespace.ip("link set dev b down");
        until_state(&mut rx, &down(DownReason::Disabled));
        assert_eq!(send(&mut tx, &[&packet(2, 60), &packet(3, 60)]), 0);
        assert_eq!(tx.state(), &down(DownReason::Disabled));
        assert_eq!(tx.counters().port_down, 2);
        namespace.ip("link set dev a up");
        namespace.ip("link set dev b up");
        assert_passes(&mut tx, &mut rx, 4);
        assert_eq!(rx.counters().received, 2);
    });
}

#[test]
fn an_interface_may_be_down_at_first() {
    inside(|namespace| {
        namespace.ip("link set dev a down");
        namespace.ip("link set dev b down");
        let (mut tx, mut rx) = open();
        assert_eq!(rx.state(), &down(DownReason::Disabled));
        assert_eq!(tx.state(), &down(DownReason::Disabled));
        namespace.ip("link set dev a up");
        namespace.ip("link set dev b up");
        assert_passes(&mut tx, &mut rx, 1);
    });
}

#[test]
fn an_interface_made_again_is_opened_again() {
    inside(|namespace: &Namespace| {
        let (mut tx, mut rx) = open();
        for number in 0..3 {
            assert_passes(&mut tx, &mut rx, number);
            namespace.ip("link delete dev a");
            until_state(&mut rx, &down(DownReason::Removed));
            assert_eq!(send(&mut tx, &[&packet(9, 60)]), 0);
            assert_eq!(tx.state(), &down(DownReason::Removed));
            namespace.add_cable(Cable::default());
        }
        assert_passes(&mut tx, &mut rx, 4);
        assert_eq!((rx.counters().received, tx.counters().sent), (4, 4));
    });
}

#[test]
fn packets_of_a_removed_interface_are_still_lent() {
    inside(|namespace| {
        let (mut tx, mut rx) = open();
        let last = packet(1, 60);
        assert_eq!(send(&mut tx, &[&last]), 1);
        until(|| rx.counters().received == 1);
        namespace.ip("link delete dev a");
        namespace.add_cable(Cable::default());
        assert_eq!(receive_bytes(&mut rx, 1), [last]);
        assert_passes(&mut tx, &mut rx, 2);
    });
}

#[test]
fn a_carrier_that_is_lost_is_a_state() {
    inside(|namespace| {
        let (mut tx, mut rx) = open();
        // The other end of a virtual cable is switched off.
        namespace.ip("link set dev b down");
        until(|| send(&mut tx, &[packet(1, 60)]) == 0);
        assert_eq!(tx.state(), &down(DownReason::NoCarrier));
        namespace.ip("link set dev b up");
        // Nothing has to be sent for that.
        until(|| tx.state().is_up());
        until_sent(&mut tx, &packet(2, 60));
        assert_eq!(receive_bytes(&mut rx, 1), [packet(2, 60)]);
        namespace.ip("link set dev a down");
        until(|| {
            take(&mut rx);
            rx.wait(Duration::from_millis(100)) == &down(DownReason::NoCarrier)
        });
        namespace.ip("link set dev a up");
        assert_passes(&mut tx, &mut rx, 3);
    });
}

/// The interface's queue takes no packet (ENOBUFS): a call waits a bounded time, drops are counted,
/// and packets pass as soon as there is space again.
#[test]
fn a_queue_that_stays_full_drops_within_bounds() {
    inside(|namespace| {
        let (mut tx, mut rx) = open();
        let set_queue = |arguments: &str| {
            let mut tc = namespace.command("tc");
            let done = tc.args(arguments.split(' ')).status().expect("tc runs");
            assert!(done.success(), "tc {arguments}");
        };
        set_queue("qdisc add dev a root pfifo limit 0");
        let sent: Vec<Vec<u8>> = (0..500).map(|number| packet(number, 60)).collect();
        for calls in 1..=2 {
            assert_eq!(send(&mut tx, &sent), 0);
            let expected = TxCounters {
                no_space: 500 * calls,
                retries: 100 * calls,
                ..TxCounters::default()
            };
            assert_eq!(tx.counters(), expected);
            assert!(tx.state().is_up());
        }
        set_queue("qdisc delete dev a root");
        assert_passes(&mut tx, &mut rx, 1);
        assert_eq!(tx.counters().no_space, 1000);
    });
}

#[test]
fn the_mtu_is_followed() {
    inside(|namespace| {
        let (mut tx, mut rx) = open();
        let (small, large) = (packet(1, 1514), packet(2, 1515));
        assert_eq!(tx.mtu_bytes(), 1500);
        assert_eq!(send(&mut tx, &[&large, &small, &large]), 1);
        assert_eq!(tx.counters().too_long, 2);
        namespace.ip("link set dev b mtu 9000");
        namespace.ip("link set dev a mtu 9000");
        // It is looked for ten times a second.
        until_sent(&mut tx, &large);
        assert_eq!(tx.mtu_bytes(), 9000);
        // The port learns at once from the kernel that less fits now.
        let too_long = tx.counters().too_long;
        namespace.ip("link set dev a mtu 600");
        assert_eq!(send(&mut tx, &[&small, &packet(3, 614)]), 1);
        assert_eq!(tx.mtu_bytes(), 600);
        assert_eq!(send(&mut tx, &[&packet(4, 13 + 5)[..13]]), 0);
        let counters = tx.counters();
        assert_eq!(
            (counters.too_long, counters.too_short, counters.sent),
            (too_long + 1, 1, 3)
        );
        assert_eq!(receive_bytes(&mut rx, 3), [small, large, packet(3, 614)]);
    });
}
