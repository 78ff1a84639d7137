//! AF_XDP sockets: one per receive queue, with four rings that the kernel shares.
//!
//! ```text
//! process → kernel   fill: empty frames          tx: packets
//! kernel → process   rx: packets                 completion: frames whose packet was sent
//! ```
//!
//! A socket has two halves, so that receiving (fill, rx) and sending (tx, completion) may be in
//! different hands.

mod ring;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::checked;
use super::descriptor::{Plain, Readiness, get_option, set_option, wait};
use super::region::{Lent, Region, Token};
use ring::{Area, Consumer, Producer};

/// What a socket is bound to, and how.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub interface: i32,
    pub queue: u32,
    /// Entries of each ring, a power of two.
    pub ring_packets: u32,
    /// Bytes that the kernel leaves free in front of a packet, beside its own.
    pub headroom_bytes: u32,
    /// Do not let the driver read and write frames directly where it can.
    pub copies: bool,
}

/// Where the frames go that the kernel had when a socket was closed.
pub type GiveBack = Box<dyn Fn(Vec<Token>) + Send + Sync>;

/// The half of a socket that receives.
pub struct RxHalf {
    rx: Consumer<libc::xdp_desc>,
    fill: Producer<u64>,
    lent: Lent,
    frame_bytes: u64,
    // The last field: a ring is a reference to the open socket too.
    socket: Arc<Socket>,
}

/// The half of a socket that sends.
pub struct TxHalf {
    tx: Producer<libc::xdp_desc>,
    completion: Consumer<u64>,
    lent: Lent,
    frame_bytes: u64,
    socket: Arc<Socket>,
}

/// What both halves have.
struct Socket {
    descriptor: Option<OwnedFd>,
    is_zero_copy: bool,
    /// The frames of halves that are gone.
    parked: Mutex<Vec<Token>>,
    give_back: GiveBack,
    memory: Arc<Region>,
}

/// Counts since the socket was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets without a frame for them, or too long for one.
    pub rx_dropped: u64,
    /// Packets without space in the rx ring.
    pub rx_ring_full: u64,
    /// How often the fill ring was found empty.
    pub fill_ring_empty: u64,
    /// Addresses that the kernel refused.
    pub invalid: u64,
}

/// Opens a socket on memory and binds it to a queue. It receives nothing before it is in the
/// table of a [`Redirect`](super::Redirect).
///
/// # Errors
/// Those of the operating system: EBUSY where another socket is bound to the queue.
pub fn open(
    memory: &Arc<Region>,
    binding: Binding,
    give_back: GiveBack,
) -> io::Result<(RxHalf, TxHalf)> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: `socket` takes numbers only.
    let descriptor = checked(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
    // SAFETY: the call above returned this descriptor, which nothing else owns.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let socket = descriptor.as_fd();
    register(socket, memory, binding.headroom_bytes)?;
    for ring in [
        libc::XDP_UMEM_FILL_RING,
        libc::XDP_UMEM_COMPLETION_RING,
        libc::XDP_RX_RING,
        libc::XDP_TX_RING,
    ] {
        set_option(socket, libc::SOL_XDP, ring, &binding.ring_packets)?;
    }
    let mut offsets = NO_OFFSETS;
    get_option(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
    let area = |page_offset: u64, offsets: libc::xdp_ring_offset| Area {
        page_offset,
        offsets,
        entries: binding.ring_packets,
    };
    // SAFETY: the socket has these four rings, with as many entries, at the offsets that the
    // kernel gave; each is mapped once. The kernel's entries are addresses in two of them and
    // descriptors in the others.
    let (rx, fill, tx, completion) = unsafe {
        (
            Consumer::map(socket, area(libc::XDP_PGOFF_RX_RING as u64, offsets.rx))?,
            Producer::map(socket, area(libc::XDP_UMEM_PGOFF_FILL_RING, offsets.fr))?,
            Producer::map(socket, area(libc::XDP_PGOFF_TX_RING as u64, offsets.tx))?,
            Consumer::map(
                socket,
                area(libc::XDP_UMEM_PGOFF_COMPLETION_RING, offsets.cr),
            )?,
        )
    };
    bind(socket, binding)?;
    let mut options = libc::xdp_options { flags: 0 };
    get_option(socket, libc::SOL_XDP, libc::XDP_OPTIONS, &mut options)?;
    let socket = Arc::new(Socket {
        descriptor: Some(descriptor),
        is_zero_copy: options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0,
        parked: Mutex::default(),
        give_back,
        memory: Arc::clone(memory),
    });
    let frame_bytes = memory.frame_bytes() as u64;
    let rx_half = RxHalf {
        rx,
        fill,
        lent: Lent::new(memory),
        frame_bytes,
        socket: Arc::clone(&socket),
    };
    let tx_half = TxHalf {
        tx,
        completion,
        lent: Lent::new(memory),
        frame_bytes,
        socket,
    };
    Ok((rx_half, tx_half))
}

/// Lets the kernel read and write the frames that it is given later.
fn register(socket: BorrowedFd<'_>, memory: &Region, headroom_bytes: u32) -> io::Result<()> {
    let frame_bytes = memory.frame_bytes();
    let registration = libc::xdp_umem_reg {
        addr: memory.address(),
        len: u64::from(memory.frames()) * frame_bytes as u64,
        chunk_size: u32::try_from(frame_bytes).map_err(|_| io::ErrorKind::InvalidInput)?,
        headroom: headroom_bytes,
        flags: 0,
        tx_metadata_len: 0,
    };
    // SAFETY: the registration is a whole `xdp_umem_reg`, which is only read. It describes
    // memory that lives as long as the socket (`Socket::memory`). The kernel writes to frames
    // whose address is in the fill ring and reads those in the tx ring, and their tokens are lent
    // from before they are put there until the kernel gives them back or the socket is closed.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_XDP,
            libc::XDP_UMEM_REG,
            (&raw const registration).cast(),
            size_of_val(&registration) as libc::socklen_t,
        )
    })?;
    Ok(())
}

fn bind(socket: BorrowedFd<'_>, binding: Binding) -> io::Result<()> {
    // Without a word on copies the kernel lets the driver have the frames where it can.
    let copies = if binding.copies { libc::XDP_COPY } else { 0 };
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_USE_NEED_WAKEUP | copies,
        sxdp_ifindex: binding.interface as u32,
        sxdp_queue_id: binding.queue,
        sxdp_shared_umem_fd: 0,
    };
    // SAFETY: the address is a whole `sockaddr_xdp` of the length given, and is only read.
    checked(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    })?;
    Ok(())
}

impl RxHalf {
    /// Whether packets have arrived.
    pub fn is_ready(&self) -> bool {
        self.rx.is_ready()
    }

    /// Takes up to `limit` packets: each has a frame, and where it begins and ends in it. Returns
    /// how many descriptors made no sense.
    pub fn receive(&mut self, limit: usize, mut each: impl FnMut(Token, u32, u32)) -> u64 {
        let mut malformed = 0;
        for _ in 0..limit {
            let Some(descriptor) = self.rx.next() else {
                break;
            };
            let index = u32::try_from(descriptor.addr / self.frame_bytes);
            let start = descriptor.addr % self.frame_bytes;
            let end = start + u64::from(descriptor.len);
            match index.ok().and_then(|index| self.lent.take_back(index)) {
                Some(token) if end <= self.frame_bytes => each(token, start as u32, end as u32),
                // The frame is the kernel's still: it may be wrong about which one it gave.
                Some(token) => {
                    self.lent.lend(token);
                    malformed += 1;
                }
                None => malformed += 1,
            }
        }
        self.rx.release();
        malformed
    }

    /// Frames that the kernel could have beside those it has.
    pub fn missing(&self) -> usize {
        (self.fill.entries()).saturating_sub(self.lent.count())
    }

    /// Gives empty frames to the kernel, as many as it can have.
    pub fn refill(&mut self, tokens: &mut Vec<Token>) {
        let count = tokens.len().min(self.missing());
        for token in tokens.drain(tokens.len() - count..) {
            let index = self.lent.lend(token);
            // There is space: no more frames are lent than the ring has entries.
            self.fill.put(u64::from(index) * self.frame_bytes);
        }
        self.fill.publish();
    }

    /// Tells the driver of new frames where it waits for that.
    pub fn wake(&self) {
        if self.fill.needs_wakeup() {
            // SAFETY: no memory is given: the call receives nothing.
            unsafe {
                libc::recvfrom(
                    self.socket.raw(),
                    ptr::null_mut(),
                    0,
                    libc::MSG_DONTWAIT,
                    ptr::null_mut(),
                    ptr::null_mut(),
                );
            }
        }
    }

    /// Waits until packets have arrived.
    pub fn wait(&self, timeout: Duration) -> io::Result<Readiness> {
        wait(self.as_fd(), libc::POLLIN, timeout)
    }

    /// Whether the driver reads and writes frames directly.
    pub fn is_zero_copy(&self) -> bool {
        self.socket.is_zero_copy
    }

    pub fn statistics(&self) -> io::Result<Statistics> {
        let mut counts = libc::xdp_statistics {
            rx_dropped: 0,
            rx_invalid_descs: 0,
            tx_invalid_descs: 0,
            rx_ring_full: 0,
            rx_fill_ring_empty_descs: 0,
            tx_ring_empty_descs: 0,
        };
        get_option(
            self.as_fd(),
            libc::SOL_XDP,
            libc::XDP_STATISTICS,
            &mut counts,
        )?;
        Ok(Statistics {
            rx_dropped: counts.rx_dropped,
            rx_ring_full: counts.rx_ring_full,
            fill_ring_empty: counts.rx_fill_ring_empty_descs,
            invalid: counts.rx_invalid_descs + counts.tx_invalid_descs,
        })
    }
}

impl AsFd for RxHalf {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as a half of it lives, which is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.raw()) }
    }
}

impl Drop for RxHalf {
    fn drop(&mut self) {
        self.socket.park(self.lent.take_all());
    }
}

impl TxHalf {
    /// Packets that there is space for.
    pub fn free(&self) -> usize {
        self.tx.entries().saturating_sub(self.lent.count())
    }

    /// Adds a packet: what lies between two places of its frame.
    ///
    /// # Errors
    /// The frame, where there is no space or no such place in it.
    pub fn put(&mut self, token: Token, start: u32, end: u32) -> Result<(), Token> {
        if self.free() == 0 || start > end || u64::from(end) > self.frame_bytes {
            return Err(token);
        }
        let index = self.lent.lend(token);
        // There is space: no more frames are lent than the ring has entries.
        self.tx.put(libc::xdp_desc {
            addr: u64::from(index) * self.frame_bytes + u64::from(start),
            len: end - start,
            options: 0,
        });
        Ok(())
    }

    /// Hands the added packets to the kernel, and has it send some where it waits for that. It
    /// takes a few dozens with each call. Returns how many it has not taken yet.
    ///
    /// # Errors
    /// Why it takes none.
    pub fn push(&mut self) -> io::Result<usize> {
        self.tx.publish();
        if self.tx.pending() > 0 && self.tx.needs_wakeup() {
            // SAFETY: no memory is given: the call sends what is in the ring.
            let result = unsafe {
                libc::sendto(
                    self.socket.raw(),
                    ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    ptr::null(),
                    0,
                )
            };
            if result < 0 {
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    // More is in the ring, or the interface has no space at the moment.
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => {}
                    _ => return Err(error),
                }
            }
        }
        Ok(self.tx.pending())
    }

    /// Takes back the frames whose packets were sent.
    pub fn reap(&mut self, tokens: &mut Vec<Token>) {
        while let Some(address) = self.completion.next() {
            let index = u32::try_from(address / self.frame_bytes);
            tokens.extend(index.ok().and_then(|index| self.lent.take_back(index)));
        }
        self.completion.release();
    }

    /// Packets that were added and whose frames have not come back.
    pub fn in_flight(&self) -> usize {
        self.lent.count()
    }
}

impl Drop for TxHalf {
    fn drop(&mut self) {
        self.socket.park(self.lent.take_all());
    }
}

impl Socket {
    fn raw(&self) -> libc::c_int {
        self.descriptor
            .as_ref()
            .map_or(-1, |descriptor| descriptor.as_raw_fd())
    }

    fn park(&self, tokens: Vec<Token>) {
        let parked = self.parked.lock();
        parked
            .unwrap_or_else(PoisonError::into_inner)
            .extend(tokens);
    }
}

impl Drop for Socket {
    /// Closes the socket. Both halves are gone, and their rings with them, so that the kernel
    /// unbinds it before the call returns: it copies into no frame afterwards. A driver that was
    /// given the frames themselves is stopped some time later; those are never used again, and
    /// the memory stays.
    fn drop(&mut self) {
        drop(self.descriptor.take());
        let parked = self.parked.get_mut();
        let tokens = std::mem::take(parked.unwrap_or_else(PoisonError::into_inner));
        if self.is_zero_copy {
            std::mem::forget(Arc::clone(&self.memory));
        } else {
            (self.give_back)(tokens);
        }
    }
}

const NO_OFFSETS: libc::xdp_mmap_offsets = {
    let none = libc::xdp_ring_offset {
        producer: 0,
        consumer: 0,
        desc: 0,
        flags: 0,
    };
    libc::xdp_mmap_offsets {
        rx: none,
        tx: none,
        fr: none,
        cr: none,
    }
};

// SAFETY: sixteen integers of 64 bits.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: six integers of 64 bits.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: an integer of 32 bits.
unsafe impl Plain for libc::xdp_options {}
