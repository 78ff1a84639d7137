//! Forwarders between two cables: `a`–`b` forwarder `c`–`d`, packets of 64 bytes from `a` to `d`.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use weir_netlab::{Cable, Namespace};
use weir_port::{Frames, InterfaceTx, Outgoing, Tx, TxOptions};

use crate::run::{Run, pin};
use crate::{Candidate, Measured};

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
            let sent = send(rate, duration);
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

/// Sends packets to `a` and returns how many.
fn send(rate: Option<u64>, duration: Duration) -> u64 {
    pin(0);
    let options = TxOptions {
        bypass_queueing: true,
    };
    let mut tx = InterfaceTx::open("a", options).expect("a");
    let packet = packet();
    let burst = [Outgoing::from(&packet[..]); BURST as usize];
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
        if count + BURST <= due {
            tx.send(&mut frames, &burst);
            count += BURST;
        } else {
            std::hint::spin_loop();
        }
    }
}

/// UDP over IPv4; 64 bytes with the frame check sequence.
fn packet() -> [u8; PACKET_BYTES] {
    let mut packet = [0; PACKET_BYTES];
    packet[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
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
const BURST: u64 = 32;
