//! The relay that other tests use as a bad network.

use weir_netlab::{Cable, Faults, Relay, until};
use weir_port::{InterfaceRx, InterfaceTx, RxOptions, TxOptions};

use crate::packets::{inside, packet, pool, receive_bytes, send, take};

#[test]
fn packets_pass_the_relay_with_the_faults_asked_for() {
    inside(|namespace| {
        Cable::default().connect((namespace, "c"), (namespace, "d"));
        let faults = Faults {
            loss: 0.1,
            duplicate: 0.05,
            ..Faults::default()
        };
        let relay = Relay::start(namespace, ["b", "c"], [faults, Faults::default()]);
        let relay = relay.expect("a relay");
        let mut near = InterfaceRx::open("a", &pool(), incoming()).expect("a");
        let mut far = InterfaceRx::open("d", &pool(), incoming()).expect("d");
        let mut out = InterfaceTx::open("a", TxOptions::default()).expect("a");
        let mut back = InterfaceTx::open("d", TxOptions::default()).expect("d");

        let sent: Vec<Vec<u8>> = (0..2000).map(|number| packet(number, 60)).collect();
        for packets in sent.chunks(100) {
            assert_eq!(send(&mut out, packets), 100);
        }
        // The direction without faults is the sign that the other one is through.
        let last = packet(9999, 60);
        let mut received = Vec::new();
        until(|| {
            received.extend(take(&mut far).into_iter().map(|(bytes, _)| bytes));
            received.last() == sent.last() || received.len() >= 1700
        });
        assert_eq!(send(&mut back, &[&last]), 1);
        assert_eq!(receive_bytes(&mut near, 1), [last]);
        let [forth, _] = relay.stop();
        until(|| {
            received.extend(take(&mut far).into_iter().map(|(bytes, _)| bytes));
            received.len() as u64 >= forth.sent
        });
        assert_eq!(
            received.len() as u64,
            forth.received - forth.lost + forth.duplicated
        );
        assert!(forth.lost > 0 && forth.duplicated > 0, "{forth:?}");
        received.dedup();
        assert!(received.is_sorted());
    });
}

fn incoming() -> RxOptions {
    RxOptions {
        ignore_outgoing: true,
        ..RxOptions::default()
    }
}
