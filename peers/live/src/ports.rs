//! The same forwarders by Weir's ports.

use std::time::Duration;

use weir_port::{
    FrameLayout, FramePool, Frames, InterfaceRx, InterfaceTx, Outgoing, Rx, RxOptions, Tx,
    TxOptions, XdpOptions, XdpRx, XdpTx, open_xdp,
};

use crate::run::Run;
use crate::{BATCH, BLOCK_BYTES, BLOCK_TIMEOUT, BLOCKS, FRAME_BYTES, FRAMES, RING_PACKETS};

/// AF_XDP: a frame goes from port to port as it is.
pub fn xdp(from: &str, to: &str, run: &Run) -> u64 {
    let (rx, tx) = open_xdp_pair(from, to);
    forward(rx, tx, run)
}

/// AF_PACKET: from the ring into frames, and by `sendmmsg`.
pub fn packet(from: &str, to: &str, run: &Run) -> u64 {
    let (rx, tx) = open_packet_pair(from, to);
    forward(rx, tx, run)
}

pub fn open_xdp_pair(from: &str, to: &str) -> (XdpRx, XdpTx) {
    let options = XdpOptions {
        ring_packets: RING_PACKETS,
        copies: true,
        promiscuous: false,
    };
    let pools = [pool()];
    let (rx, _) = open_xdp(from, &pools, options.clone())
        .expect(from)
        .remove(0);
    let (_, tx) = open_xdp(to, &pools, options).expect(to).remove(0);
    (rx, tx)
}

pub fn open_packet_pair(from: &str, to: &str) -> (InterfaceRx, InterfaceTx) {
    let options = RxOptions {
        promiscuous: false,
        ignore_outgoing: true,
        block_bytes: BLOCK_BYTES,
        blocks: BLOCKS,
        block_timeout: BLOCK_TIMEOUT,
        ..RxOptions::default()
    };
    let rx = InterfaceRx::open(from, &pool(), options).expect(from);
    let options = TxOptions {
        bypass_queueing: true,
    };
    let tx = InterfaceTx::open(to, options).expect(to);
    (rx, tx)
}

fn forward(mut rx: impl Rx, mut tx: impl Tx, run: &Run) -> u64 {
    let mut frames = Frames::of(rx.pool());
    let all: Vec<Outgoing<'_>> = (0..BATCH).map(Outgoing::Frame).collect();
    let mut forwarded = 0;
    run.begin();
    while run.goes_on() {
        let count = rx.fill(&mut frames, BATCH);
        if count == 0 {
            rx.wait(Duration::from_millis(10));
            continue;
        }
        tx.send(&mut frames, &all[..count]);
        frames.clear();
        forwarded += count as u64;
    }
    forwarded
}

pub fn pool() -> FramePool {
    let layout = FrameLayout {
        frames: FRAMES,
        frame_bytes: FRAME_BYTES,
        headroom_bytes: 0,
    };
    FramePool::new(layout).expect("memory")
}
