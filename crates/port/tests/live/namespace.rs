//! A network namespace with a pair of interfaces, `a` and `b`.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use weir_port::{FrameLayout, FramePool, Frames, Outgoing, Rx, Tx};

/// A namespace that is deleted when dropped.
pub struct Namespace {
    name: String,
}

/// Runs a test in a thread inside a new namespace, or says why it is skipped.
pub fn inside(test: impl FnOnce(&Namespace) + Send) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("weir-port-{}-{number}", std::process::id());
    let made = Command::new("ip").args(["netns", "add", &name]).output();
    let reason = match made {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("ip: {error}")),
    };
    if let Some(reason) = reason {
        let is_required = std::env::var("WEIR_REQUIRE_PEERS").is_ok_and(|value| value == "1");
        assert!(
            !is_required,
            "required, but there are no namespaces: {reason}"
        );
        println!("skipped: there are no network namespaces: {reason}");
        return;
    }
    let namespace = Namespace { name };
    let run = || {
        let file = File::open(format!("/run/netns/{}", namespace.name)).expect("a namespace");
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .expect("moved into it");
        // No packets but those of the tests.
        std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").expect("no IPv6");
        namespace.add_pair();
        test(&namespace);
    };
    // A thread of its own: the namespace is the thread's.
    thread::scope(|scope| {
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

impl Namespace {
    /// `a` and `b`, connected and switched on.
    pub fn add_pair(&self) {
        self.ip("link add name a type veth peer name b");
        self.ip("link set dev a up");
        self.ip("link set dev b up");
    }

    pub fn ip(&self, arguments: &str) {
        let status = Command::new("ip")
            .args(["-n", &self.name])
            .args(arguments.split(' '))
            .status();
        assert!(status.expect("ip runs").success(), "ip {arguments}");
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let deleted = Command::new("ip")
            .args(["netns", "delete", &self.name])
            .status();
        if !deleted.is_ok_and(|status| status.success()) {
            println!("the network namespace {} is left behind", self.name);
        }
    }
}

/// A packet of an experimental protocol (IEEE 802, 0x88b5) with a number.
pub fn packet(number: u32, bytes: usize) -> Vec<u8> {
    let mut packet = vec![0x5a; bytes];
    packet[..6].copy_from_slice(&[0x02, 0, 0, 0, 0, 2]);
    packet[6..12].copy_from_slice(&[0x02, 0, 0, 0, 0, 1]);
    packet[12..14].copy_from_slice(&[0x88, 0xb5]);
    packet[14..18].copy_from_slice(&number.to_be_bytes());
    packet
}

/// Frames for packets of any test.
pub fn pool() -> FramePool {
    FramePool::new(FrameLayout::default()).expect("memory")
}

/// Sends copies of packets and returns how many were accepted.
pub fn send(tx: &mut impl Tx, packets: &[impl AsRef<[u8]>]) -> usize {
    let packets = packets.iter().map(|packet| Outgoing::from(packet.as_ref()));
    tx.send(&mut Frames::default(), &packets.collect::<Vec<_>>())
}

/// What has arrived, without waiting: bytes, and arrival in nanoseconds.
pub fn take(rx: &mut impl Rx) -> Vec<(Vec<u8>, u64)> {
    let mut frames = Frames::default();
    rx.fill(&mut frames, 256);
    let packets = frames.packets();
    let packets = packets.map(|packet| (packet.bytes.to_vec(), packet.arrival.arrival_ns));
    packets.collect()
}

/// The first packets that a port receives, up to a number of them: bytes, and arrival in nanoseconds.
pub fn receive(rx: &mut impl Rx, count: usize) -> Vec<(Vec<u8>, u64)> {
    let mut received = Vec::new();
    until(|| {
        received.extend(take(rx));
        if received.len() < count {
            rx.wait(Duration::from_millis(100));
        }
        received.len() >= count
    });
    assert_eq!(received.len(), count, "{received:02x?}");
    received
}

/// The same, without the times.
pub fn receive_bytes(rx: &mut impl Rx, count: usize) -> Vec<Vec<u8>> {
    receive(rx, count)
        .into_iter()
        .map(|(bytes, _)| bytes)
        .collect()
}

/// Repeats until it is true. Gives up after a minute: what is waited for will not come.
pub fn until(mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "not within a minute"
        );
    }
}
