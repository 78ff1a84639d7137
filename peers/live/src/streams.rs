//! Forwarders between two TUN devices, one in each of two namespaces: TCP from one to the other.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use weir_netlab::Namespace;
use weir_port::{FrameLayout, FramePool, Frames, Outgoing, Rx, TunOptions, Tx, open_tun};

use crate::Measured;
use crate::bare::tun;
use crate::run::{Run, pin};

/// A forwarder between `weir0` of two namespaces.
pub type Forward = fn([&Namespace; 2], &Run);

/// Reads and writes packet by packet.
pub fn plain(namespaces: [&Namespace; 2], run: &Run) {
    let [mut near, mut far] = namespaces.map(|namespace| namespace.enter(|| tun::make("weir0")));
    prepare(namespaces);
    let mut buffer = vec![0; 70_000];
    run.begin();
    while run.goes_on() {
        let (forth, _) = tun::forward(&mut near, &mut far, &mut buffer);
        let (back, _) = tun::forward(&mut far, &mut near, &mut buffer);
        if forth + back == 0 {
            tun::wait(&near, &far);
        }
    }
}

/// By ports: packets are received into frames, and segments merged where there are some.
pub fn ports(namespaces: [&Namespace; 2], run: &Run) {
    let layout = FrameLayout {
        frames: 256,
        frame_bytes: 65_536 + 4096,
        headroom_bytes: 128,
    };
    let pool = FramePool::new(layout).expect("memory");
    let open = |namespace: &Namespace| {
        let open = || open_tun("weir0", std::slice::from_ref(&pool), TunOptions::default());
        namespace.enter(open).expect("weir0").remove(0)
    };
    let [(mut near_rx, mut near_tx), (mut far_rx, mut far_tx)] = namespaces.map(open);
    prepare(namespaces);
    let mut frames = Frames::of(&pool);
    let all: Vec<Outgoing<'_>> = (0..64).map(Outgoing::Frame).collect();
    run.begin();
    while run.goes_on() {
        let mut moved = 0;
        for (rx, tx) in [(&mut near_rx, &mut far_tx), (&mut far_rx, &mut near_tx)] {
            let count = rx.fill(&mut frames, 64);
            tx.send(&mut frames, &all[..count]);
            frames.clear();
            moved += count;
        }
        if moved == 0 {
            let descriptors = [near_rx.fd(), far_rx.fd()];
            let [near, far] = descriptors.map(|fd| fd.expect("a descriptor"));
            let mut waiting = [near, far].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: 10_000_000,
            };
            let _ = poll(&mut waiting, Some(&timeout));
        }
    }
}

fn prepare(namespaces: [&Namespace; 2]) {
    for (namespace, address) in namespaces.iter().zip(["198.18.0.1", "198.18.0.2"]) {
        namespace.ip(&format!("addr add {address}/24 dev weir0"));
        namespace.ip("link set dev weir0 up");
    }
}

/// TCP for a while through one forwarder.
pub fn measure(forward: Forward, duration: Duration) -> Measured {
    let near = Namespace::new().expect("a namespace");
    let far = Namespace::new().expect("a namespace");
    let run = Run::default();
    thread::scope(|scope| {
        let forwarder = scope.spawn(|| {
            pin(1);
            forward([&near, &far], &run);
        });
        run.wait_until_ready();
        // A port looks at its device ten times a second.
        thread::sleep(Duration::from_millis(150));
        let listener = far.enter(|| TcpListener::bind("198.18.0.2:5000").expect("a listener"));
        let sender = scope.spawn(|| {
            near.enter(|| {
                pin(0);
                let mut stream = TcpStream::connect("198.18.0.2:5000").expect("a connection");
                let bytes = vec![7; 1 << 20];
                let begin = Instant::now();
                while begin.elapsed() < duration {
                    stream.write_all(&bytes).expect("sent");
                }
            });
        });
        let (mut stream, _) = listener.accept().expect("a connection");
        pin(0);
        let mut buffer = vec![0; 1 << 20];
        let begin = Instant::now();
        let mut bytes = 0;
        while let Ok(received @ 1..) = stream.read(&mut buffer) {
            bytes += received as u64;
        }
        let seconds = begin.elapsed().as_secs_f64();
        sender.join().expect("the sender ends");
        run.end();
        forwarder.join().expect("the forwarder ends");
        Measured {
            seconds,
            sent: bytes / MTU_PAYLOAD_BYTES,
            arrived: bytes / MTU_PAYLOAD_BYTES,
            bytes,
            cpu_ns: run.cpu_ns(),
        }
    })
}

/// Payload of a packet of an MTU of 1,500, for counts of packets on a wire.
const MTU_PAYLOAD_BYTES: u64 = 1448;
