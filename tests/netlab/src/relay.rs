//! A relay between two interfaces, in both directions, with faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use weir_port::{
    ChecksumState, FrameLayout, FramePool, Frames, InterfaceRx, InterfaceTx, LinkLayer, OpenError,
    Outgoing, Rx, RxOptions, Tx, TxOptions, complete_checksum,
};

use crate::{Counts, Faults, Impaired, Namespace};

/// A running relay. It ends when dropped.
pub struct Relay {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<[Counts; 2]>>,
}

impl Relay {
    /// Begins to hand packets on between two interfaces of a namespace, as
    /// [`between`](Relay::between) does.
    ///
    /// # Errors
    /// An interface cannot be opened.
    pub fn start(
        namespace: &Namespace,
        names: [&str; 2],
        faults: [Faults; 2],
    ) -> Result<Relay, OpenError> {
        namespace.enter(|| Relay::between(names, faults))
    }

    /// Begins to hand packets on between two interfaces of the namespace that the caller is in:
    /// those that arrive at `one` leave by `other` and the reverse, each direction with faults of
    /// its own. Checksums that a sender left to its interface are computed, as an interface does.
    ///
    /// # Errors
    /// An interface cannot be opened.
    pub fn between([one, other]: [&str; 2], faults: [Faults; 2]) -> Result<Relay, OpenError> {
        let ports = [Ports::open(one)?, Ports::open(other)?];
        let stop = Arc::new(AtomicBool::new(false));
        // The thread is in the namespace of this one: interfaces that are made again are opened
        // by it.
        let thread = thread::spawn({
            let stop = Arc::clone(&stop);
            move || relay(ports, faults, &stop)
        });
        Ok(Relay {
            stop,
            thread: Some(thread),
        })
    }

    /// Ends the relay: what became of the packets that came to the first interface, and to the
    /// second one. Packets that are under way are lost.
    ///
    /// # Panics
    /// The relay panicked.
    pub fn stop(mut self) -> [Counts; 2] {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it runs");
        thread.join().expect("the relay ends")
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The two ends of an interface.
struct Ports {
    rx: InterfaceRx,
    tx: InterfaceTx,
}

impl Ports {
    fn open(name: &str) -> Result<Ports, OpenError> {
        let pool = FramePool::new(FRAMES).expect("memory for frames");
        let options = RxOptions {
            ignore_outgoing: true,
            block_timeout: Duration::from_millis(1),
            block_bytes: 1 << 18,
            ..RxOptions::default()
        };
        Ok(Ports {
            rx: InterfaceRx::open(name, &pool, options)?,
            tx: InterfaceTx::open(name, TxOptions::default())?,
        })
    }
}

fn relay(mut ports: [Ports; 2], faults: [Faults; 2], stop: &AtomicBool) -> [Counts; 2] {
    let begin = Instant::now();
    let mut directions = faults.map(Impaired::new);
    let mut quiet_since = [begin; 2];
    let mut frames = Frames::default();
    while !stop.load(Ordering::Relaxed) {
        let mut moved = 0;
        for from in 0..2 {
            let now = Instant::now();
            let now_ns = now.duration_since(begin).as_nanos() as u64;
            let direction = &mut directions[from];
            let received = ports[from].rx.fill(&mut frames, BATCH);
            for index in 0..frames.len() {
                if frames.arrival(index).offload.checksum == ChecksumState::NotReady {
                    complete_checksum(frames.bytes_mut(index), LinkLayer::Ethernet);
                }
                direction.push(now_ns, frames.bytes(index));
            }
            frames.clear();
            if received > 0 {
                quiet_since[from] = now;
            } else if now.duration_since(quiet_since[from]) > HELD_AT_MOST {
                direction.release_held(now_ns);
            }
            let due: Vec<Vec<u8>> = std::iter::from_fn(|| direction.pop(now_ns)).collect();
            let out: Vec<Outgoing> = due.iter().map(|bytes| bytes.as_slice().into()).collect();
            ports[1 - from].tx.send(&mut frames, &out);
            moved += received + due.len();
        }
        if moved == 0 {
            ports[0].rx.wait(PAUSE);
            ports[1].rx.wait(Duration::ZERO);
        }
    }
    directions.map(|direction| direction.counts())
}

const FRAMES: FrameLayout = FrameLayout {
    frames: 512,
    frame_bytes: 64 * 1024 + 4096,
    headroom_bytes: 0,
};
const BATCH: usize = 256;
/// How long a packet waits at most for others to overtake it.
const HELD_AT_MOST: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_millis(1);
