//! Forwarders between two cables: `a`–`b` forwarder `c`–`d`, packets of 64 bytes from `a` to `d`.

use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_netlab::{Cable, Namespace};
use weir_port::{Frames, InterfaceRx, InterfaceTx, Outgoing, Rx, RxOptions, Tx, TxOptions};

use crate::run::{Run, pin};
use crate::{BATCH, BLOCK_BYTES, BLOCK_TIMEOUT, BLOCKS, Candidate, Measured, ports};

/// The namespace and its cables.
pub fn network() -> Namespace {
    let namespace = Namespace::new().unwrap_or_else(|reason| {
        eprintln!("there are no network namespaces: {reason}");
        std::process::exit(1);
    });
    Cable::default().connect((&namespace, "a"), (&namespace, "b"));
    Cable::default().connect((&namespace, "c"), (&namespace, "d"));
    namespace
}

/// Sends for a while, at a rate or as fast as possible, through one forwarder.
pub fn measure(
    namespace: &Namespace,
    candidate: &Candidate,
    rate: Option<u64>,
    duration: Duration,
) -> Measured {
    namespace.enter(|| {
        let run = Run::default();
        thread::scope(|scope| {
            let forwarder = scope.spawn(|| {
                pin(1);
                (candidate.forward)("b", "c", &run)
            });
            run.wait_until_ready();
            let arrived_before = received_packets("d");
            let sent = send(rate, duration, BURST);
            // What is under way arrives.
            thread::sleep(Duration::from_millis(50));
            run.end();
            forwarder.join().expect("the forwarder ends");
            let arrived = received_packets("d") - arrived_before;
            Measured {
                seconds: duration.as_secs_f64(),
                sent,
                arrived,
                bytes: arrived * PACKET_BYTES as u64,
                cpu_ns: run.cpu_ns(),
            }
        })
    })
}

/// Sends at a rate through one forwarder, packet by packet, and returns how long each that
/// arrived was on its way: from just before it was given to the kernel until the kernel received
/// it at `d`. In ascending order.
pub fn latencies_ns(namespace: &Namespace, candidate: &Candidate, duration: Duration) -> Vec<u64> {
    namespace.enter(|| {
        // All packets stay in the ring until the run is over, so that reading them costs nobody
        // time.
        let options = RxOptions {
            ignore_outgoing: true,
            block_bytes: BLOCK_BYTES,
            blocks: 4 * BLOCKS,
            block_timeout: BLOCK_TIMEOUT,
            ..RxOptions::default()
        };
        let pool = ports::pool();
        let mut arrived = InterfaceRx::open("d", &pool, options).expect("d");
        let run = Run::default();
        thread::scope(|scope| {
            let forwarder = scope.spawn(|| {
                pin(1);
                (candidate.forward)("b", "c", &run)
            });
            run.wait_until_ready();
            send(Some(LATENCY_RATE), duration, 1);
            thread::sleep(Duration::from_millis(50));
            run.end();
            forwarder.join().expect("the forwarder ends");
        });
        let mut latencies = Vec::new();
        let mut frames = Frames::of(&pool);
        while arrived.fill(&mut frames, BATCH) > 0 {
            for packet in frames.packets() {
                let stamp = packet
                    .bytes
                    .get(STAMP)
                    .and_then(|bytes| bytes.first_chunk());
                if let Some(stamp) = stamp
                    && packet.bytes[..12] == ADDRESSES
                {
                    let sent_ns = u64::from_be_bytes(*stamp);
                    latencies.push(packet.arrival.arrival_ns.saturating_sub(sent_ns));
                }
            }
            frames.clear();
        }
        latencies.sort_unstable();
        latencies
    })
}

/// Sends packets to `a`, `burst` with each call, and returns how many it sent. With a burst of one, each
/// packet carries the time at which it was sent.
fn send(rate: Option<u64>, duration: Duration, burst: usize) -> u64 {
    pin(0);
    let options = TxOptions {
        bypass_queueing: true,
    };
    let mut tx = InterfaceTx::open("a", options).expect("a");
    let mut packet = packet();
    let mut frames = Frames::default();
    let begin = Instant::now();
    let mut count = 0;
    loop {
        let elapsed = begin.elapsed();
        if elapsed >= duration {
            return tx.counters().sent;
        }
        let due = rate.map_or(u64::MAX, |rate| {
            (rate as f64 * elapsed.as_secs_f64()) as u64
        });
        if count + burst as u64 > due {
            std::hint::spin_loop();
            continue;
        }
        if burst == 1 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now_ns = now.expect("a time after 1970").as_nanos() as u64;
            packet[STAMP].copy_from_slice(&now_ns.to_be_bytes());
        }
        let outgoing = [Outgoing::from(&packet[..]); BURST];
        tx.send(&mut frames, &outgoing[..burst.min(BURST)]);
        count += burst as u64;
    }
}

/// UDP over IPv4; 64 bytes with the frame check sequence.
fn packet() -> [u8; PACKET_BYTES] {
    let mut packet = [0; PACKET_BYTES];
    packet[..12].copy_from_slice(&ADDRESSES);
    packet[12..34].copy_from_slice(&[
        8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2,
    ]);
    packet[34..42].copy_from_slice(&[4, 0, 0, 9, 0, 26, 0, 0]);
    packet
}

fn received_packets(interface: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").expect("counts");
    let line = text.lines().find_map(|line| {
        let (name, counts) = line.split_once(':')?;
        (name.trim() == interface).then_some(counts)
    });
    let packets = line.and_then(|counts| counts.split_whitespace().nth(1));
    packets
        .and_then(|packets| packets.parse().ok())
        .expect("a count")
}

const PACKET_BYTES: usize = 60;
const BURST: usize = 32;
/// Of both Ethernet stations.
const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
/// Where in a packet the time stands at which it was sent.
const STAMP: std::ops::Range<usize> = 42..50;
/// Packets per second whose latency is measured.
const LATENCY_RATE: u64 = 100_000;
