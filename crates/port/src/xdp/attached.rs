//! An interface with the program at it and the sockets of its queues, which all its ports share.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Queue, XdpMode, XdpOptions};
use crate::frames::FramePool;
use crate::port::PortState;
use crate::sys::xdp::{self, Binding, RxHalf, TxHalf};
use crate::sys::{Link, PacketSocket, Redirect};
use crate::watch::{OpenError, Watched, failed, refused_xdp, state_of};

/// What the ports of an interface share.
pub struct Shared {
    pools: Vec<FramePool>,
    options: XdpOptions,
    current: Mutex<Current>,
}

/// The interface as it was seen last.
struct Current {
    watched: Watched,
    state: PortState,
    mtu_bytes: usize,
    attached: Option<Attached>,
    /// How often it was opened.
    generation: u64,
}

/// A program at an interface, and sockets whose halves wait for their ports.
struct Attached {
    interface: i32,
    redirect: Redirect,
    receiving: Vec<Option<RxHalf>>,
    sending: Vec<Option<TxHalf>>,
    /// Keeps the interface promiscuous.
    _promiscuous: Option<PacketSocket>,
}

/// A half of a queue's socket.
pub trait Half: Sized {
    /// Takes it from where it waits.
    fn take(attached: &mut Halves<'_>, queue: usize) -> Option<Self>;
    /// Whether it has something that is still to be read.
    fn is_ready(&self) -> bool;
}

/// Halves that wait for their ports.
pub struct Halves<'a> {
    receiving: &'a mut [Option<RxHalf>],
    sending: &'a mut [Option<TxHalf>],
}

impl Half for RxHalf {
    fn take(halves: &mut Halves<'_>, queue: usize) -> Option<RxHalf> {
        halves.receiving[queue].take()
    }

    fn is_ready(&self) -> bool {
        self.is_ready()
    }
}

impl Half for TxHalf {
    fn take(halves: &mut Halves<'_>, queue: usize) -> Option<TxHalf> {
        halves.sending[queue].take()
    }

    fn is_ready(&self) -> bool {
        false
    }
}

impl Shared {
    /// Opens an interface that exists; it may be switched off.
    pub fn open(
        name: &str,
        watched: Watched,
        link: Link,
        pools: &[FramePool],
        options: XdpOptions,
    ) -> Result<Shared, OpenError> {
        let deadline = Instant::now() + QUEUE_FREED_WITHIN;
        let attached = loop {
            match Attached::at(link, pools, &options) {
                // The kernel frees a queue some time after its socket was closed.
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
                {
                    thread::sleep(Duration::from_millis(5));
                }
                attached => break attached.map_err(|error| refused_xdp(name, error))?,
            }
        };
        Ok(Shared {
            pools: pools.to_vec(),
            options,
            current: Mutex::new(Current {
                watched,
                state: state_of(link),
                mtu_bytes: link.mtu_bytes,
                attached: Some(attached),
                generation: 1,
            }),
        })
    }

    /// Where the interface runs the program, while it is there.
    pub fn mode(&self) -> Option<XdpMode> {
        let current = self.current.lock();
        let current = current.unwrap_or_else(PoisonError::into_inner);
        let attached = current.attached.as_ref();
        attached.map(|attached| attached.redirect.mode())
    }
}

impl Current {
    /// Looks what has become of the interface, and opens it where it is a new one of the same
    /// name.
    fn examine(&mut self, pools: &[FramePool], options: &XdpOptions) {
        let link = match self.watched.ask() {
            Ok(link) => link,
            Err(state) => {
                self.state = state;
                return;
            }
        };
        self.state = state_of(link);
        self.mtu_bytes = link.mtu_bytes;
        let is_same = |attached: &Attached| attached.interface == link.index;
        if self.attached.as_ref().is_some_and(is_same) {
            return;
        }
        self.attached = None;
        match Attached::at(link, pools, options) {
            Ok(attached) => {
                self.attached = Some(attached);
                self.generation += 1;
            }
            Err(error) => self.state = failed(&error),
        }
    }
}

impl Attached {
    fn at(link: Link, pools: &[FramePool], options: &XdpOptions) -> io::Result<Attached> {
        let promiscuous = match options.promiscuous {
            true => {
                let socket = PacketSocket::open()?;
                socket.be_promiscuous(link.index)?;
                Some(socket)
            }
            false => None,
        };
        let redirect = Redirect::attach(link.index, pools.len() as u32)?;
        let mut receiving = Vec::new();
        let mut sending = Vec::new();
        for (queue, pool) in pools.iter().enumerate() {
            let binding = Binding {
                interface: link.index,
                queue: queue as u32,
                ring_packets: options.ring_packets,
                headroom_bytes: pool.headroom_bytes() as u32,
                copies: options.copies,
            };
            let owner = pool.clone();
            let give_back = Box::new(move |tokens| owner.give(tokens));
            let (mut rx, tx) = xdp::open(pool.region(), binding, give_back)?;
            // The kernel has frames before the first packet comes.
            let mut tokens = Vec::new();
            pool.take(rx.missing(), &mut tokens);
            rx.refill(&mut tokens);
            redirect.insert(queue as u32, rx.as_fd())?;
            receiving.push(Some(rx));
            sending.push(Some(tx));
        }
        Ok(Attached {
            interface: link.index,
            redirect,
            receiving,
            sending,
            _promiscuous: promiscuous,
        })
    }
}

impl<H: Half> Queue<H> {
    pub fn new(shared: Arc<Shared>, number: usize, pool: FramePool) -> Queue<H> {
        let mut queue = Queue {
            shared,
            number,
            pool,
            half: None,
            generation: 0,
            state: PortState::Up,
            mtu_bytes: 0,
        };
        queue.follow(false);
        queue
    }

    /// Follows the interface: its state, its MTU, and a new socket where it was made again. With
    /// `now` the kernel is asked, but not more often than its last answer is old. What the old
    /// socket brought comes first. Returns a half that is replaced.
    pub fn follow(&mut self, now: bool) -> Option<H> {
        let current = self.shared.current.lock();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        if now || current.watched.is_due() {
            current.examine(&self.shared.pools, &self.shared.options);
        }
        self.state = current.state.clone();
        self.mtu_bytes = current.mtu_bytes;
        if current.generation == self.generation || self.half.as_ref().is_some_and(H::is_ready) {
            return None;
        }
        let generation = current.generation;
        let attached = current.attached.as_mut()?;
        let mut halves = Halves {
            receiving: &mut attached.receiving,
            sending: &mut attached.sending,
        };
        self.generation = generation;
        let next = H::take(&mut halves, self.number);
        std::mem::replace(&mut self.half, next)
    }
}

const QUEUE_FREED_WITHIN: Duration = Duration::from_millis(500);
