//! Forwards IP packets between a TUN device and a UDP socket, unencrypted: what an ESP gateway does
//! beside ESP, with the same ports and so the same system calls. For `tunnels.py`.
//!
//! Packets of the device, split where the kernel left that to it, leave as the payload of datagrams; the
//! payload of datagrams enters the device. The program ends when it is killed.

#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![forbid(unsafe_code)]

use std::net::SocketAddrV4;

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// The TUN device, which is made.
    #[arg(long)]
    device: String,
    /// Address and port of the socket.
    #[arg(long)]
    local: SocketAddrV4,
    /// Address and port of the other side.
    #[arg(long)]
    peer: SocketAddrV4,
}

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use weir_port::{
        FrameLayout, FramePool, Frames, Outgoing, Rx, SegmentedRx, TunOptions, Tx, UdpOptions,
        open_tun, udp_port,
    };

    let arguments = Arguments::parse();
    let large = FramePool::new(FrameLayout {
        frames: 256,
        frame_bytes: 65_536 + 4096,
        headroom_bytes: 128,
    })?;
    let small = FramePool::new(FrameLayout {
        frames: 4096,
        ..FrameLayout::default()
    })?;
    let tun = open_tun(
        &arguments.device,
        std::slice::from_ref(&large),
        TunOptions::default(),
    )?;
    let (tun_rx, mut tun_tx) = tun.into_iter().next().expect("a queue for each pool");
    let mut tun_rx = SegmentedRx::new(Box::new(tun_rx), &small);
    let options = UdpOptions::default();
    let (mut udp_rx, mut udp_tx) = udp_port(arguments.local.into(), &large, options)?;
    let mut header = header(arguments.local, arguments.peer);
    let mut frames = Frames::of(&small);
    let mut received = Frames::of(&large);
    let all: Vec<Outgoing<'_>> = (0..BATCH).map(Outgoing::Frame).collect();
    loop {
        let forth = tun_rx.fill(&mut frames, BATCH);
        for index in 0..forth {
            let bytes = frames.bytes(index).len() + HEADER_BYTES;
            write_lengths(&mut header, bytes);
            if frames.extend_front(index, HEADER_BYTES) {
                frames.bytes_mut(index)[..HEADER_BYTES].copy_from_slice(&header);
            }
        }
        udp_tx.send(&mut frames, &all[..forth]);
        frames.clear();
        let back = udp_rx.fill(&mut received, BATCH);
        for index in 0..back {
            received.cut_front(index, HEADER_BYTES);
        }
        tun_tx.send(&mut received, &all[..back]);
        received.clear();
        if forth + back == 0 {
            let descriptors = [tun_rx.fd(), udp_rx.fd()].into_iter().flatten();
            let mut waiting: Vec<_> = descriptors
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                .collect();
            let timeout = Timespec {
                tv_sec: 0,
                tv_nsec: 10_000_000,
            };
            // A signal or the time: both are looked at again.
            let _ = poll(&mut waiting, Some(&timeout));
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("live ports need Linux");
}

/// IPv4 and UDP headers of a datagram, but for lengths. The UDP port takes the addresses from them.
fn header(local: SocketAddrV4, peer: SocketAddrV4) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    header[12..16].copy_from_slice(&local.ip().octets());
    header[16..20].copy_from_slice(&peer.ip().octets());
    header[20..22].copy_from_slice(&local.port().to_be_bytes());
    header[22..24].copy_from_slice(&peer.port().to_be_bytes());
    header
}

fn write_lengths(header: &mut [u8; HEADER_BYTES], bytes: usize) {
    header[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    header[24..26].copy_from_slice(&((bytes - IP_BYTES) as u16).to_be_bytes());
}

const IP_BYTES: usize = 20;
const HEADER_BYTES: usize = IP_BYTES + 8;
const BATCH: usize = 64;
