//! A TUN device, which all its ports share.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::TunOptions;
use crate::port::{DownReason, LinkLayer, PortState};
use crate::sys::{TunFlags, TunQueue, set_queue_packets};
use crate::watch::{EXAMINED_EVERY, OpenError, Watched, down, failed, refused_tun, state_of};

/// What the ports of a device share.
pub struct Device {
    name: String,
    queues: usize,
    options: TunOptions,
    current: Mutex<Current>,
}

/// The device as it was seen last.
struct Current {
    watched: Watched,
    state: PortState,
    mtu_bytes: usize,
    interface: i32,
    queues: Vec<Arc<TunQueue>>,
    /// How often it was made.
    generation: u64,
}

/// A port's queue, and what it knows of the device.
pub struct Queue {
    device: Arc<Device>,
    number: usize,
    pub handle: Arc<TunQueue>,
    generation: u64,
    pub state: PortState,
    pub mtu_bytes: usize,
    due: Instant,
}

impl Device {
    pub fn make(name: &str, queues: usize, options: TunOptions) -> Result<Device, OpenError> {
        let made = open_all(name, queues, &options);
        let handles = made.map_err(|error| refused_tun(name, error))?;
        let (watched, link) = Watched::find_with(name, LinkLayer::Ip)?;
        Ok(Device {
            name: name.to_owned(),
            queues,
            options,
            current: Mutex::new(Current {
                watched,
                state: state_of(link),
                mtu_bytes: link.mtu_bytes,
                interface: link.index,
                queues: handles,
                generation: 1,
            }),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn merges(&self) -> bool {
        self.options.offloads
    }

    /// Looks what has become of the device, and makes it again where it was removed.
    fn examine(&self, current: &mut Current) {
        let link = match current.watched.ask() {
            Ok(link) => link,
            Err(state) => {
                current.state = state;
                if current.state == down(DownReason::Removed) {
                    // The queues of the old one are of no use.
                    current.queues.clear();
                    self.make_again(current);
                }
                return;
            }
        };
        current.mtu_bytes = link.mtu_bytes;
        current.state = match link.index == current.interface {
            true => state_of(link),
            false => down(DownReason::Failed {
                error: format!("another interface is called {}", self.name),
            }),
        };
    }

    fn make_again(&self, current: &mut Current) {
        match open_all(&self.name, self.queues, &self.options) {
            Ok(queues) => {
                current.queues = queues;
                current.generation += 1;
                // Its state is told by the next examination: until then it was removed.
                if let Ok(link) = current.watched.ask() {
                    current.interface = link.index;
                }
            }
            Err(error) => current.state = failed(&error),
        }
    }
}

impl Queue {
    pub fn new(device: Arc<Device>, number: usize) -> Queue {
        let current = device.current.lock();
        let current = current.unwrap_or_else(PoisonError::into_inner);
        let handle = Arc::clone(&current.queues[number]);
        let (state, mtu_bytes) = (current.state.clone(), current.mtu_bytes);
        let generation = current.generation;
        drop(current);
        Queue {
            device,
            number,
            handle,
            generation,
            state,
            mtu_bytes,
            due: Instant::now() + EXAMINED_EVERY,
        }
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    pub fn number(&self) -> usize {
        self.number
    }

    pub fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Follows the device: its state, its MTU, and a new queue where it was made again. With
    /// `now` the kernel is asked, also where it was not long ago.
    pub fn follow(&mut self, now: bool) {
        self.due = Instant::now() + EXAMINED_EVERY;
        let current = self.device.current.lock();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        if now || current.watched.is_due() {
            self.device.examine(&mut current);
        }
        self.state = current.state.clone();
        self.mtu_bytes = current.mtu_bytes;
        if current.generation != self.generation
            && let Some(handle) = current.queues.get(self.number)
        {
            self.handle = Arc::clone(handle);
            self.generation = current.generation;
        }
    }
}

fn open_all(name: &str, queues: usize, options: &TunOptions) -> io::Result<Vec<Arc<TunQueue>>> {
    if queues == 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let handles = (0..queues).map(|number| {
        let flags = TunFlags {
            is_new: number == 0,
            has_several_queues: queues > 1,
            has_offloads: options.offloads,
        };
        TunQueue::open(name, flags).map(Arc::new)
    });
    let handles = handles.collect::<io::Result<Vec<_>>>()?;
    set_queue_packets(name, options.queue_packets)?;
    Ok(handles)
}
