//! Sends numbered packets to a network interface at a fixed rate, and says how many it sent.
//!
//! UDP over IPv4 in Ethernet frames, from 198.18.1.1 to 198.18.2.2. The payload is `weir` and the
//! packet's number, eight bytes in network byte order. With several sizes, packets of each are a flow
//! of their own, to ports 9000, 9001 and so on.

#![cfg_attr(not(target_os = "linux"), allow(unused))]
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// The network interface.
    interface: String,
    /// Packets per second.
    #[arg(long)]
    rate: f64,
    /// How long it sends. Without it, until the standard input ends.
    #[arg(long)]
    seconds: Option<f64>,
    /// Bytes of the frames, in turn: 60 are 64 with the frame check sequence.
    #[arg(long, value_delimiter = ',', default_value = "60")]
    bytes: Vec<usize>,
}

#[cfg(target_os = "linux")]
fn main() -> Result<()> {
    use weir_port::{Frames, InterfaceTx, Outgoing, Tx, TxOptions};

    let arguments = Arguments::parse();
    let duration = arguments.seconds.map(Duration::try_from_secs_f64);
    let duration = duration.transpose().context("--seconds")?;
    ensure!(
        arguments.rate > 0.0 && arguments.rate.is_finite(),
        "--rate is not positive"
    );
    ensure!(
        (arguments.bytes.iter()).all(|bytes| (LEAST_BYTES..=1514).contains(bytes)),
        "--bytes are {LEAST_BYTES} to 1514"
    );
    let options = TxOptions {
        bypass_queueing: true,
    };
    let mut tx = InterfaceTx::open(&arguments.interface, options)?;
    let mut frames = Frames::default();
    // At low rates a burst is a packet, at high ones a millisecond at most.
    let burst = ((arguments.rate / 1000.0) as usize).clamp(1, 32);
    let mut packets: Vec<Vec<u8>> = vec![Vec::new(); burst];
    let is_ended = Arc::new(AtomicBool::new(false));
    if duration.is_none() {
        let is_ended = Arc::clone(&is_ended);
        std::thread::spawn(move || {
            // What cannot be read any more has ended too.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            is_ended.store(true, Ordering::Relaxed);
        });
    }
    let begin = Instant::now();
    let mut number = 0;
    while !is_ended.load(Ordering::Relaxed)
        && duration.is_none_or(|duration| begin.elapsed() < duration)
    {
        let due = (arguments.rate * begin.elapsed().as_secs_f64()) as u64;
        if number + burst as u64 > due {
            std::thread::sleep(Duration::from_micros(50));
            continue;
        }
        for packet in &mut packets {
            write_packet(packet, number, &arguments.bytes);
            number += 1;
        }
        let outgoing: Vec<Outgoing<'_>> = packets.iter().map(|p| Outgoing::from(&p[..])).collect();
        tx.send(&mut frames, &outgoing);
    }
    tx.flush(Duration::from_secs(1));
    println!(
        "{}",
        serde_json::json!({
            "sent": tx.counters().sent,
            "tried": number,
            "seconds": begin.elapsed().as_secs_f64(),
        })
    );
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("packet sockets need Linux");
}

fn write_packet(packet: &mut Vec<u8>, number: u64, bytes: &[usize]) {
    let flow = (number % bytes.len() as u64) as usize;
    let frame_bytes = bytes[flow];
    packet.clear();
    packet.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00]);
    let ip = packet.len();
    packet.extend([0x45, 0]);
    packet.extend(((frame_bytes - ip) as u16).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 1, 1, 198, 18, 2, 2]);
    let words = packet[ip..].chunks_exact(2);
    let sum: u32 = words
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend([0x10, 0x00]);
    packet.extend((9000 + flow as u16).to_be_bytes());
    packet.extend(((frame_bytes - ip - 20) as u16).to_be_bytes());
    // Without a checksum, as UDP over IPv4 may be.
    packet.extend([0, 0]);
    packet.extend(b"weir");
    packet.extend(number.to_be_bytes());
    packet.resize(frame_bytes, 0);
}

/// Headers, mark and number.
const LEAST_BYTES: usize = 60;
