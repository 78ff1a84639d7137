//! Sending to an interface.

use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use crate::frames::Frames;
use crate::port::{Fit, LinkLayer, Outgoing, PortState, Tx, TxCounters, fit};
use crate::sys::{self, Link, PacketSocket};
use crate::watch::{OpenError, Watched, failed, refused, state_of};

/// How an interface is sent to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxOptions {
    /// Hand packets to the interface's driver directly, past its queueing discipline: faster,
    /// but without traffic control, and packets that the driver has no space for are lost
    /// without being counted.
    pub bypass_queueing: bool,
}

/// A port that sends to a network interface.
///
/// ```no_run
/// use weir_port::{Frames, InterfaceTx, Outgoing, Tx, TxOptions};
///
/// let mut tx = InterfaceTx::open("eth0", TxOptions::default())?;
/// let packet = Outgoing::from(&[0xff; 60][..]);
/// if tx.send(&mut Frames::default(), &[packet]) == 0 {
///     println!("not sent: {:?}", tx.counters());
/// }
/// # Ok::<(), weir_port::OpenError>(())
/// ```
pub struct InterfaceTx {
    watched: Watched,
    options: TxOptions,
    open: Option<Open>,
    mtu_bytes: usize,
    state: PortState,
    counters: TxCounters,
}

/// A socket at an interface.
struct Open {
    socket: PacketSocket,
    interface: i32,
}

impl InterfaceTx {
    /// Opens an interface that exists; it may be switched off.
    ///
    /// # Errors
    /// There is no such interface, it is not Ethernet, or the right to use it is missing.
    pub fn open(name: &str, options: TxOptions) -> Result<InterfaceTx, OpenError> {
        let (watched, link) = Watched::find(name)?;
        let open = Open::at(link, &options).map_err(|error| refused(name, error))?;
        Ok(InterfaceTx {
            watched,
            options,
            open: Some(open),
            mtu_bytes: link.mtu_bytes,
            state: state_of(link),
            counters: TxCounters::default(),
        })
    }

    /// Examines the interface where that was some time ago.
    fn look_after(&mut self) {
        if self.watched.is_due() {
            self.examine();
        }
    }

    /// Looks what has become of the interface and its MTU, and opens it where it is a new one
    /// of the same name.
    fn examine(&mut self) {
        let link = match self.watched.ask() {
            Ok(link) => link,
            Err(state) => {
                self.state = state;
                return;
            }
        };
        self.mtu_bytes = link.mtu_bytes;
        self.state = state_of(link);
        let is_same = |open: &Open| open.interface == link.index;
        if !self.open.as_ref().is_some_and(is_same) {
            match Open::at(link, &self.options) {
                Ok(open) => self.open = Some(open),
                Err(error) => {
                    self.open = None;
                    self.state = failed(&error);
                }
            }
        }
    }

    /// Sends packets that are neither too long nor too short.
    fn send_fitting(&mut self, mut packets: &[&[u8]]) {
        let mut patience = Patience::default();
        while !packets.is_empty() {
            let Some(open) = self.open.as_ref().filter(|_| self.state.is_up()) else {
                self.counters.port_down += packets.len() as u64;
                return;
            };
            let error = match open.socket.send(packets) {
                Ok(count) => {
                    let (sent, rest) = packets.split_at(count);
                    self.counters.sent += count as u64;
                    self.counters.sent_bytes +=
                        sent.iter().map(|packet| packet.len() as u64).sum::<u64>();
                    packets = rest;
                    continue;
                }
                Err(error) => error,
            };
            // The error is the first packet's.
            let counter = match error.raw_os_error() {
                Some(libc::EINTR) => continue,
                Some(libc::EAGAIN | libc::ENOBUFS) => {
                    if patience.wait(&open.socket) {
                        self.counters.retries += 1;
                        continue;
                    }
                    &mut self.counters.no_space
                }
                Some(libc::EMSGSIZE) => {
                    self.examine();
                    &mut self.counters.too_long
                }
                Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                    self.examine();
                    // An interface that is up again at once takes the next packet.
                    &mut self.counters.port_down
                }
                _ => &mut self.counters.refused,
            };
            *counter += 1;
            packets = &packets[1..];
        }
    }
}

impl Tx for InterfaceTx {
    fn link_layer(&self) -> LinkLayer {
        LinkLayer::Ethernet
    }

    fn send(&mut self, frames: &mut Frames, packets: &[Outgoing<'_>]) -> usize {
        let sent_before = self.counters.sent;
        self.look_after();
        let mut fitting: Vec<&[u8]> = Vec::with_capacity(packets.len());
        for packet in packets {
            let bytes = packet.bytes(frames);
            match fit(
                bytes,
                packet.offload(frames),
                LinkLayer::Ethernet,
                self.mtu_bytes,
            ) {
                Fit::Fits => fitting.push(bytes),
                Fit::TooLong => self.counters.too_long += 1,
                Fit::TooShort => self.counters.too_short += 1,
            }
        }
        self.send_fitting(&fitting);
        (self.counters.sent - sent_before) as usize
    }

    fn flush(&mut self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        loop {
            let unsent = self
                .open
                .as_ref()
                .map(|open| sys::unsent_bytes(open.socket.as_fd()));
            match unsent {
                None | Some(Ok(0)) => return true,
                Some(Err(_)) => return false,
                Some(Ok(_)) if Instant::now() >= deadline => return false,
                Some(Ok(_)) => thread::sleep(RETRIED_AFTER),
            }
        }
    }

    fn headroom_bytes(&self) -> usize {
        0
    }

    fn mtu_bytes(&self) -> usize {
        self.mtu_bytes
    }

    fn state(&mut self) -> &PortState {
        self.look_after();
        &self.state
    }

    fn counters(&self) -> TxCounters {
        self.counters
    }
}

impl Open {
    fn at(link: Link, options: &TxOptions) -> io::Result<Open> {
        let socket = PacketSocket::open()?;
        if options.bypass_queueing {
            socket.bypass_queueing()?;
        }
        socket.bind_sending(link.index)?;
        Ok(Open {
            socket,
            interface: link.index,
        })
    }
}

/// How often one call of `send` waits for space. After that it drops.
struct Patience {
    waits_left: u32,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { waits_left: 100 }
    }
}

impl Patience {
    /// Waits for space, and returns whether it did.
    fn wait(&mut self, socket: &PacketSocket) -> bool {
        if self.waits_left == 0 {
            return false;
        }
        self.waits_left -= 1;
        // A socket is writable also where the interface's queue is full: it says nothing about
        // that queue, which has to be waited for by the clock.
        thread::sleep(RETRIED_AFTER);
        // Whatever this finds, the packet is tried again.
        let _ = sys::wait_writable(socket.as_fd(), SPACE_WAITED_FOR);
        true
    }
}

const RETRIED_AFTER: Duration = Duration::from_micros(100);
const SPACE_WAITED_FOR: Duration = Duration::from_millis(1);
