//! The eBPF program that hands the packets of an interface to AF_XDP sockets.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use super::checked;

/// A program at an interface and its table of sockets, one per receive queue. It is taken off
/// when dropped, and by the kernel when the process ends, however it does.
pub struct Redirect {
    sockets: OwnedFd,
    mode: XdpMode,
    /// The program is at the interface as long as this is open.
    _link: OwnedFd,
}

/// Where an interface runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before the kernel makes a packet buffer.
    Native,
    /// In the kernel, because the driver runs no programs.
    Generic,
}

impl Redirect {
    /// Puts a program at an interface of up to `queues` queues.
    ///
    /// # Errors
    /// Those of the operating system: EBUSY where another program is there, EPERM without the
    /// right (CAP_BPF and CAP_NET_ADMIN, or CAP_SYS_ADMIN).
    pub fn attach(interface: i32, queues: u32) -> io::Result<Redirect> {
        let sockets = create_map(queues)?;
        let program = load(&program(sockets.as_raw_fd()))?;
        let link = |flags| attach(&program, interface, flags);
        let (link, mode) = match link(XDP_FLAGS_DRV_MODE) {
            Ok(link) => (link, XdpMode::Native),
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                (link(XDP_FLAGS_SKB_MODE)?, XdpMode::Generic)
            }
            Err(error) => return Err(error),
        };
        Ok(Redirect {
            sockets,
            mode,
            _link: link,
        })
    }

    pub fn mode(&self) -> XdpMode {
        self.mode
    }

    /// Hands the packets of a queue to a socket from now on, until it is closed.
    pub fn insert(&self, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
        let socket = socket.as_raw_fd() as u32;
        let attributes = MapUpdate {
            map: self.sockets.as_raw_fd() as u32,
            padding: 0,
            key: ptr::from_ref(&queue).expose_provenance() as u64,
            value: ptr::from_ref(&socket).expose_provenance() as u64,
            flags: 0,
        };
        // SAFETY: the command reads a key and a value of four bytes each, as the map has them,
        // from two integers that outlive the call.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &attributes) }?;
        Ok(())
    }
}

/// ```text
/// r2 = context->rx_queue_index
/// r1 = the table of sockets
/// r3 = XDP_PASS
/// call bpf_redirect_map     a queue without a socket: r3
/// exit
/// ```
fn program(sockets: i32) -> [Instruction; 6] {
    let instruction = |code, registers, offset, immediate| Instruction {
        code,
        registers,
        offset,
        immediate,
    };
    [
        // Destination register in the low half, source in the high one.
        instruction(LOAD_WORD, 0x12, RX_QUEUE_INDEX, 0),
        // A load of 64 bits takes two instructions.
        instruction(LOAD_IMMEDIATE_64, PSEUDO_MAP_FD << 4 | 0x1, 0, sockets),
        instruction(0, 0, 0, 0),
        instruction(MOVE_IMMEDIATE, 0x3, 0, XDP_PASS),
        instruction(CALL, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0),
    ]
}

/// An eBPF instruction (`struct bpf_insn`).
#[repr(C)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

fn create_map(queues: u32) -> io::Result<OwnedFd> {
    let attributes = MapCreate {
        map_type: BPF_MAP_TYPE_XSKMAP,
        key_bytes: 4,
        value_bytes: 4,
        max_entries: queues.max(1),
        flags: 0,
    };
    // SAFETY: the command takes numbers only.
    owned(unsafe { bpf(BPF_MAP_CREATE, &attributes) })
}

fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let attributes = ProgramLoad {
        program_type: BPF_PROG_TYPE_XDP,
        instructions: program.len() as u32,
        instructions_address: program.as_ptr().expose_provenance() as u64,
        licence_address: LICENCE.as_ptr().expose_provenance() as u64,
        log_level: 0,
        log_bytes: 0,
        log_address: 0,
        kernel_version: 0,
        flags: 0,
    };
    // SAFETY: the command reads the instructions, which are as many as said, and a text that
    // ends with a zero; both outlive the call.
    owned(unsafe { bpf(BPF_PROG_LOAD, &attributes) })
}

fn attach(program: &OwnedFd, interface: i32, flags: u32) -> io::Result<OwnedFd> {
    let attributes = LinkCreate {
        program: program.as_raw_fd() as u32,
        interface: interface as u32,
        attach_type: BPF_XDP,
        flags,
    };
    // SAFETY: the command takes numbers only.
    owned(unsafe { bpf(BPF_LINK_CREATE, &attributes) })
}

/// The system call `bpf`.
///
/// # Safety
/// `T` begins with the attributes of the command, without padding, and the addresses in it are
/// of memory that the command may read.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are as long as said; the rest is the caller's promise.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            ptr::from_ref(attributes),
            size_of::<T>() as libc::c_uint,
        )
    };
    checked(result as libc::c_int)
}

fn owned(descriptor: io::Result<libc::c_int>) -> io::Result<OwnedFd> {
    // SAFETY: a command that makes something returned this descriptor, which nothing else owns.
    descriptor.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    max_entries: u32,
    flags: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    program_type: u32,
    instructions: u32,
    instructions_address: u64,
    licence_address: u64,
    log_level: u32,
    log_bytes: u32,
    log_address: u64,
    kernel_version: u32,
    flags: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// The helper that the program calls is open to any licence.
const LICENCE: &[u8] = b"Apache-2.0 OR MIT\0";

// From linux/bpf.h and linux/if_link.h.
const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_LINK_CREATE: libc::c_int = 28;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

const LOAD_WORD: u8 = 0x61;
const LOAD_IMMEDIATE_64: u8 = 0x18;
const MOVE_IMMEDIATE: u8 = 0xb7;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const PSEUDO_MAP_FD: u8 = 1;
const REDIRECT_MAP: i32 = 51;
const XDP_PASS: i32 = 2;
/// Offset in `struct xdp_md`.
const RX_QUEUE_INDEX: i16 = 16;
