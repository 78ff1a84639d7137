//! AF_PACKET: from the blocks of one interface's ring to `sendmmsg` at another one, without
//! copies.

use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{checked, interface_index, map, set_option, wait};
use crate::run::Run;
use crate::{BATCH, BLOCK_BYTES, BLOCK_TIMEOUT, BLOCKS};

/// Forwards until the run ends, and returns how many packets.
pub fn forward(from: &str, to: &str, run: &Run) -> u64 {
    // SAFETY: `socket` takes numbers only.
    let [input, output] =
        [0, 1].map(|_| checked(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) }));
    let version = libc::tpacket_versions::TPACKET_V3 as i32;
    set_option(input, libc::SOL_PACKET, libc::PACKET_VERSION, &version);
    let request = libc::tpacket_req3 {
        tp_block_size: BLOCK_BYTES as u32,
        tp_block_nr: BLOCKS as u32,
        tp_frame_size: 2048,
        tp_frame_nr: (BLOCK_BYTES / 2048 * BLOCKS) as u32,
        tp_retire_blk_tov: BLOCK_TIMEOUT.as_millis() as u32,
        tp_sizeof_priv: 0,
        tp_feature_req_word: 0,
    };
    set_option(input, libc::SOL_PACKET, libc::PACKET_RX_RING, &request);
    let ring = map(BLOCK_BYTES * BLOCKS, libc::MAP_SHARED, input, 0);
    set_option(
        input,
        libc::SOL_PACKET,
        libc::PACKET_IGNORE_OUTGOING,
        &1_i32,
    );
    set_option(output, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32);
    bind(input, from, (libc::ETH_P_ALL as u16).to_be());
    bind(output, to, 0);
    run.begin();
    let mut forwarded = 0;
    let mut number = 0;
    while run.goes_on() {
        // SAFETY: the block lies in the mapping.
        let block = unsafe { ring.add(number * BLOCK_BYTES) };
        // SAFETY: its status is an aligned word at this offset.
        let status = unsafe { &*block.add(8).cast::<AtomicU32>() };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            wait(input);
            continue;
        }
        // SAFETY: the block is this process's, and the kernel has filled it.
        forwarded += unsafe { forward_block(block, output) };
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        number = (number + 1) % BLOCKS;
    }
    // SAFETY: the mapping and both descriptors are this function's.
    unsafe {
        libc::munmap(ring.cast(), BLOCK_BYTES * BLOCKS);
        libc::close(input);
        libc::close(output);
    }
    forwarded
}

/// Sends the packets of a block.
///
/// # Safety
/// The block is a whole one of the ring, as the kernel filled it.
unsafe fn forward_block(block: *const u8, output: i32) -> u64 {
    // SAFETY: the descriptor is at the beginning of the block.
    let head = unsafe { &(*block.cast::<libc::tpacket_block_desc>()).hdr.bh1 };
    let mut offset = head.offset_to_first_pkt as usize;
    let mut left = head.num_pkts as usize;
    while left > 0 {
        let count = left.min(BATCH);
        // SAFETY: structures of integers and addresses, for which zero bytes are valid.
        let mut parts: [libc::iovec; BATCH] = unsafe { mem::zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { mem::zeroed() };
        for (message, part) in messages.iter_mut().zip(&mut parts).take(count) {
            // SAFETY: the kernel's offsets lead from packet to packet in the block.
            let (packet, header) = unsafe {
                let packet = block.add(offset);
                (packet, &*packet.cast::<libc::tpacket3_hdr>())
            };
            // SAFETY: so does the offset of the bytes.
            part.iov_base = unsafe { packet.add(usize::from(header.tp_mac)) }
                .cast_mut()
                .cast();
            part.iov_len = header.tp_snaplen as usize;
            message.msg_hdr.msg_iov = part;
            message.msg_hdr.msg_iovlen = 1;
            offset += header.tp_next_offset as usize;
        }
        // SAFETY: the messages point to the packets, and all of them outlive the call.
        unsafe {
            libc::sendmmsg(
                output,
                messages.as_mut_ptr(),
                count as u32,
                libc::MSG_DONTWAIT,
            )
        };
        left -= count;
    }
    u64::from(head.num_pkts)
}

fn bind(socket: i32, interface: &str, protocol: u16) {
    // SAFETY: a structure of integers.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol;
    address.sll_ifindex = interface_index(interface) as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is of the length given.
    checked(unsafe { libc::bind(socket, (&raw const address).cast(), length) });
}
