//! Receiving from an interface, by a ring that the kernel shares.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use super::block::BlockWalk;
use crate::frames::{FramePool, Frames};
use crate::port::{DownReason, LinkLayer, PortState, Rx, RxCounters};
use crate::sys::{self, BlockGeometry, Link, PacketSocket, Readiness, Ring};
use crate::watch::{EXAMINED_EVERY, OpenError, Watched, down, failed, refused, state_of};

/// How an interface is received from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RxOptions {
    /// Receive packets of any destination, not only those to this machine.
    pub promiscuous: bool,
    /// Leave out packets that this machine sends. On a loopback interface, where each packet is
    /// sent and received, they are always left out.
    pub ignore_outgoing: bool,
    /// Share the packets, by flow, with the other ports of the same interface and group. The
    /// number is the group's, one of the machine's network namespace. Packets that arrive while
    /// a port is being opened may come to another one of the group too.
    pub fanout_group: Option<u16>,
    /// Bytes of a block, a power of two and whole pages. A packet that is longer, or longer
    /// than a frame of the pool, is cut.
    pub block_bytes: usize,
    /// Blocks of the ring. Packets are missed when the caller is behind by so many.
    pub blocks: usize,
    /// After how long a block that is not full is handed over.
    pub block_timeout: Duration,
}

impl Default for RxOptions {
    /// All packets in both directions, by a ring of 64 MiB.
    fn default() -> RxOptions {
        RxOptions {
            promiscuous: true,
            ignore_outgoing: false,
            fanout_group: None,
            block_bytes: 1 << 20,
            blocks: 64,
            block_timeout: Duration::from_millis(10),
        }
    }
}

/// A port that receives from a network interface.
///
/// ```no_run
/// use std::time::Duration;
/// use weir_port::{FrameLayout, FramePool, Frames, InterfaceRx, Rx, RxOptions};
///
/// let pool = FramePool::new(FrameLayout::default())?;
/// let mut rx = InterfaceRx::open("eth0", &pool, RxOptions::default())?;
/// let mut frames = Frames::of(&pool);
/// loop {
///     rx.fill(&mut frames, 256);
///     for packet in frames.packets() {
///         println!("{} ns: {} bytes", packet.arrival.arrival_ns, packet.bytes.len());
///     }
///     frames.clear();
///     rx.wait(Duration::from_millis(100));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct InterfaceRx {
    watched: Watched,
    options: RxOptions,
    pool: FramePool,
    open: Option<Open>,
    state: PortState,
    counters: RxCounters,
}

/// A socket at an interface, and its ring.
struct Open {
    socket: PacketSocket,
    ring: Ring,
    interface: i32,
    /// The block that is read or comes next.
    block: usize,
    /// How far it has been read.
    walk: Option<BlockWalk>,
}

impl InterfaceRx {
    /// Opens an interface that exists; it may be switched off.
    ///
    /// # Errors
    /// There is no such interface, it is not Ethernet, or the right to use it is missing.
    pub fn open(
        name: &str,
        pool: &FramePool,
        options: RxOptions,
    ) -> Result<InterfaceRx, OpenError> {
        let (watched, link) = Watched::find(name)?;
        let open = match link.is_up {
            true => Some(Open::at(link, &options).map_err(|error| refused(name, error))?),
            // Whether it may be opened is said now, also where it is switched off.
            false => PacketSocket::open()
                .map(|_| None)
                .map_err(|error| refused(name, error))?,
        };
        Ok(InterfaceRx {
            watched,
            options,
            pool: pool.clone(),
            open,
            state: state_of(link),
            counters: RxCounters::default(),
        })
    }

    /// Adds what the socket counted to the port's counts.
    fn count(&mut self) {
        if let Some(open) = &self.open
            && let Ok(statistics) = open.socket.take_statistics()
        {
            let received = statistics.packets.saturating_sub(statistics.missed);
            self.counters.received += u64::from(received);
            self.counters.missed += u64::from(statistics.missed);
        }
    }

    /// Looks what has become of the interface, and opens it where it is a new one of the same
    /// name.
    fn examine(&mut self) {
        let link = match self.watched.ask() {
            Ok(link) => link,
            Err(state) => {
                self.state = state;
                return;
            }
        };
        let is_same = |open: &Open| open.interface == link.index;
        if self.open.as_ref().is_some_and(is_same) {
            self.state = state_of(link);
            return;
        }
        // What the old interface brought comes first.
        if self.open.as_ref().is_some_and(Open::is_ready) {
            self.state = down(DownReason::Removed);
            return;
        }
        self.count();
        self.open = None;
        self.state = state_of(link);
        if link.is_up {
            match Open::at(link, &self.options) {
                Ok(open) => self.open = Some(open),
                Err(error) => self.state = failed(&error),
            }
        }
    }
}

impl Rx for InterfaceRx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ethernet
    }

    fn pool(&self) -> &FramePool {
        &self.pool
    }

    fn fill(&mut self, frames: &mut Frames, limit: usize) -> usize {
        let Some(open) = self.open.as_mut().filter(|open| open.is_ready()) else {
            return 0;
        };
        let limit = frames.reserve(&self.pool, limit);
        let mut added = 0;
        while added < limit {
            let Some(block) = open.ring.block(open.block) else {
                break;
            };
            let walk = open.walk.get_or_insert_with(|| BlockWalk::begin(block));
            while added < limit
                && let Some(found) = walk.next(block, &mut self.counters.malformed)
            {
                // There is a frame: `limit` are reserved.
                frames.push_parts(&found.parts(), found.arrival);
                added += 1;
            }
            if walk.is_finished() {
                open.give_back();
            }
        }
        added
    }

    fn wait(&mut self, timeout: Duration) -> &PortState {
        let timeout = match self.state {
            PortState::Up => timeout,
            PortState::Down { .. } => timeout.min(EXAMINED_EVERY),
        };
        let waited = match &self.open {
            Some(open) if open.is_ready() => Ok(Readiness::Ready),
            Some(open) => sys::wait_readable(open.socket.as_fd(), timeout),
            None => {
                thread::sleep(timeout);
                Ok(Readiness::NotYet)
            }
        };
        match waited {
            // The loss of a carrier brings no event.
            Ok(Readiness::Ready | Readiness::NotYet) if !self.watched.is_due() => {}
            Ok(_) => self.examine(),
            Err(error) => {
                // The socket is of no use any more; the next examination opens another.
                self.count();
                self.open = None;
                self.state = failed(&error);
                thread::sleep(timeout.min(EXAMINED_EVERY));
            }
        }
        &self.state
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.open.as_ref().map(|open| open.socket.as_fd())
    }

    fn state(&self) -> &PortState {
        &self.state
    }

    fn counters(&mut self) -> RxCounters {
        self.count();
        self.counters
    }
}

impl Open {
    fn at(link: Link, options: &RxOptions) -> io::Result<Open> {
        let socket = PacketSocket::open()?;
        let geometry = BlockGeometry {
            block_bytes: options.block_bytes,
            blocks: options.blocks,
        };
        // Zero would let the kernel choose.
        let timeout_ms = options.block_timeout.as_millis().clamp(1, 10_000) as u32;
        socket.request_ring(geometry, timeout_ms)?;
        let ring = Ring::map(socket.as_fd(), geometry)?;
        if options.ignore_outgoing || link.is_loopback {
            socket.ignore_outgoing()?;
        }
        if options.promiscuous {
            socket.be_promiscuous(link.index)?;
        }
        socket.bind_receiving(link.index)?;
        if let Some(group) = options.fanout_group {
            socket.join_fanout(group)?;
        }
        Ok(Open {
            socket,
            ring,
            interface: link.index,
            block: 0,
            walk: None,
        })
    }

    fn is_ready(&self) -> bool {
        self.ring.is_ready(self.block)
    }

    /// Gives the block that was read to the kernel.
    fn give_back(&mut self) {
        self.walk = None;
        self.ring.release(self.block);
        self.block = (self.block + 1) % self.ring.blocks();
    }
}
