//! AF_XDP: batches of 64 from the rx ring of one interface to the tx ring of another, in one
//! UMEM, without copies.

use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{checked, interface_index, map, set_option, wait};
use crate::run::Run;
use crate::{BATCH, FRAME_BYTES, FRAMES, RING_PACKETS};

/// Forwards until the run ends, and returns how many packets.
pub fn forward(from: &str, to: &str, run: &Run) -> u64 {
    let umem_bytes = FRAMES as usize * FRAME_BYTES;
    let umem = map(umem_bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
    let (mut input, mut output) = (Socket::open(from, umem), Socket::open(to, umem));
    for frame in 0..u64::from(RING_PACKETS) {
        input.fill.put(frame * FRAME_BYTES as u64);
    }
    input.fill.publish();
    let _attached = [input.attach(), output.attach()];
    run.begin();
    let mut forwarded = 0;
    while run.goes_on() {
        while let Some(address) = output.completion.next() {
            input
                .fill
                .put(address / FRAME_BYTES as u64 * FRAME_BYTES as u64);
        }
        output.completion.release();
        input.fill.publish();
        let mut count = 0;
        while count < BATCH
            && output.tx.has_space()
            && let Some(descriptor) = input.rx.next()
        {
            output.tx.put(descriptor);
            count += 1;
        }
        input.rx.release();
        output.tx.publish();
        output.send();
        forwarded += count as u64;
        if count == 0 {
            wait(input.descriptor);
        }
    }
    drop((input, output));
    // SAFETY: the mapping is of this length, and the sockets that used it are closed.
    unsafe { libc::munmap(umem.cast(), umem_bytes) };
    forwarded
}

struct Socket {
    descriptor: i32,
    interface: u32,
    rx: Ring<libc::xdp_desc>,
    tx: Ring<libc::xdp_desc>,
    fill: Ring<u64>,
    completion: Ring<u64>,
}

impl Socket {
    fn open(name: &str, umem: *mut u8) -> Socket {
        let interface = interface_index(name);
        // SAFETY: `socket` takes numbers only.
        let descriptor = checked(unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW, 0) });
        let registration = libc::xdp_umem_reg {
            addr: umem.expose_provenance() as u64,
            len: u64::from(FRAMES) * FRAME_BYTES as u64,
            chunk_size: FRAME_BYTES as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set_option(descriptor, libc::SOL_XDP, libc::XDP_UMEM_REG, &registration);
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            set_option(descriptor, libc::SOL_XDP, ring, &RING_PACKETS);
        }
        // SAFETY: a structure of integers.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { mem::zeroed() };
        let mut length = size_of_val(&offsets) as libc::socklen_t;
        // SAFETY: the kernel writes as many bytes as the structure has.
        checked(unsafe {
            libc::getsockopt(
                descriptor,
                libc::SOL_XDP,
                libc::XDP_MMAP_OFFSETS,
                (&raw mut offsets).cast(),
                &raw mut length,
            )
        });
        let socket = Socket {
            descriptor,
            interface,
            rx: Ring::map(descriptor, libc::XDP_PGOFF_RX_RING, offsets.rx),
            tx: Ring::map(descriptor, libc::XDP_PGOFF_TX_RING, offsets.tx),
            fill: Ring::map(descriptor, 0x1_0000_0000, offsets.fr),
            completion: Ring::map(descriptor, 0x1_8000_0000, offsets.cr),
        };
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_COPY | libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: interface,
            sxdp_queue_id: 0,
            sxdp_shared_umem_fd: 0,
        };
        let length = size_of_val(&address) as libc::socklen_t;
        // The queue is freed some time after the last candidate has closed its socket.
        for _ in 0..200 {
            // SAFETY: the address is of the length given.
            let bound = unsafe { libc::bind(descriptor, (&raw const address).cast(), length) };
            if bound == 0 {
                return socket;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        panic!(
            "{name} cannot be bound: {}",
            std::io::Error::last_os_error()
        );
    }

    /// Redirects the interface's packets to this socket until the result is dropped.
    fn attach(&self) -> [Owned; 3] {
        let map = bpf(0, &[17_u32, 4, 4, 1, 0]);
        let (key, value) = (0_u32, self.descriptor as u32);
        let [key, value] = [&raw const key, &raw const value].map(|p| p.expose_provenance() as u64);
        bpf(2, &[u64::from(map as u32), key, value, 0]);
        // r1 = map; r2 = queue 0; r3 = XDP_PASS; call bpf_redirect_map; exit
        let program: [u64; 6] = [
            (u64::from(map as u32) << 32) | 0x1118,
            0,
            0x02b7,
            (2 << 32) | 0x03b7,
            (51 << 32) | 0x85,
            0x95,
        ];
        let licence = c"Apache-2.0 OR MIT";
        let addresses = [
            program.as_ptr().expose_provenance(),
            licence.as_ptr().expose_provenance(),
        ];
        let [instructions, licence] = addresses.map(|address| address as u64);
        let loaded = bpf(5, &[6 | (6 << 32), instructions, licence, 0, 0, 0]);
        let link = bpf(28, &[loaded as u32, self.interface, 37, 1 << 2]);
        [map, loaded, link].map(Owned)
    }

    /// Has the kernel send what is in the tx ring, as far as it takes it.
    fn send(&mut self) {
        let mut pending = u32::MAX;
        loop {
            let left = self.tx.pending();
            if left == 0 || left >= pending {
                return;
            }
            pending = left;
            // SAFETY: no memory is given.
            unsafe {
                libc::sendto(
                    self.descriptor,
                    ptr::null(),
                    0,
                    libc::MSG_DONTWAIT,
                    ptr::null(),
                    0,
                )
            };
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this one's.
        unsafe { libc::close(self.descriptor) };
    }
}

/// A descriptor.
struct Owned(i32);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this one's.
        unsafe { libc::close(self.0) };
    }
}

/// The system call `bpf`, with the attributes as numbers.
#[track_caller]
fn bpf<T>(command: i32, attributes: &[T]) -> i32 {
    let bytes = size_of_val(attributes) as u32;
    // SAFETY: the attributes are those of the command; the addresses in them are of memory that
    // outlives the call.
    checked(unsafe { libc::syscall(libc::SYS_bpf, command, attributes.as_ptr(), bytes) } as i32)
}

/// A ring, of which this process is the producer or the consumer.
struct Ring<T> {
    base: *mut u8,
    bytes: usize,
    offsets: libc::xdp_ring_offset,
    entries: *mut T,
    /// Entries produced or consumed so far.
    own: u32,
    /// The kernel's count as it was last seen.
    other: u32,
}

impl<T: Copy> Ring<T> {
    fn map(descriptor: i32, page_offset: i64, offsets: libc::xdp_ring_offset) -> Ring<T> {
        let bytes = offsets.desc as usize + RING_PACKETS as usize * size_of::<T>();
        let base = map(bytes, libc::MAP_SHARED, descriptor, page_offset);
        Ring {
            base,
            bytes,
            offsets,
            // SAFETY: the entries begin there in the mapping.
            entries: unsafe { base.add(offsets.desc as usize) }.cast(),
            own: 0,
            other: 0,
        }
    }

    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel's offsets are of aligned words in the mapping.
        unsafe { &*self.base.add(offset as usize).cast::<AtomicU32>() }
    }

    fn entry(&self, count: u32) -> *mut T {
        // SAFETY: the ring has as many entries, a power of two.
        unsafe { self.entries.add((count & (RING_PACKETS - 1)) as usize) }
    }

    fn has_space(&mut self) -> bool {
        if self.own.wrapping_sub(self.other) < RING_PACKETS {
            return true;
        }
        self.other = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.own.wrapping_sub(self.other) < RING_PACKETS
    }

    fn put(&mut self, entry: T) {
        // SAFETY: the caller has verified that there is space.
        unsafe { self.entry(self.own).write(entry) };
        self.own = self.own.wrapping_add(1);
    }

    fn publish(&self) {
        self.word(self.offsets.producer)
            .store(self.own, Ordering::Release);
    }

    fn pending(&self) -> u32 {
        let consumed = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.own.wrapping_sub(consumed)
    }

    fn next(&mut self) -> Option<T> {
        if self.own == self.other {
            self.other = self.word(self.offsets.producer).load(Ordering::Acquire);
            if self.own == self.other {
                return None;
            }
        }
        // SAFETY: the kernel has written this entry.
        let entry = unsafe { self.entry(self.own).read() };
        self.own = self.own.wrapping_add(1);
        Some(entry)
    }

    fn release(&self) {
        self.word(self.offsets.consumer)
            .store(self.own, Ordering::Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this length.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}
