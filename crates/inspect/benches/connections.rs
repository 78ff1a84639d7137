//! Connections at once, and new ones per second: `cargo bench -p weir-inspect --bench connections`.
//!
//! Each is opened by a handshake, and sends the head of an HTTP request that has no end yet, so that
//! streams and parser keep what they have; then the end comes, and the response. Checksums are verified, and rules about streams and
//! HTTP are loaded. Time is that of inspection alone, on one processor.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use weir_inspect::{FlowLimits, InspectOptions, Inspector, Packet, RuleFile, RuleSet, Variables};
use weir_packet::wire::build::{self, TcpHeader};
use weir_packet::wire::{FlowKey, Headers, LinkType, protocol};

const CONNECTIONS: u32 = 2_000_000;
/// Connections whose packets are made at once, in between.
const MADE: u32 = 20_000;
const BATCH: usize = 256;
const SYN: u8 = 2;
const ACK: u8 = 16;
const REQUEST: &[u8] = b"GET /index.html HTTP/1.1\r\nHost: www.example\r\nUser-Agent: curl/8.0\r\n";
const REQUEST_END: &[u8] = b"\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\n\
    Content-Length: 26\r\n\r\nabcdefghijklmnopqrstuvwxyz";
const RULES: &[u8] = br#"
alert tcp any any -> any 80 (msg:"a"; flow:established,to_server; content:"swordfish"; sid:1;)
alert http any any -> any any (msg:"b"; http.uri; content:"/swordfish"; sid:2;)
"#;

/// How far the connections have come.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Handshake,
    Head,
    Exchange,
}

/// What one connection sends in a phase.
fn packets(number: u32, phase: Phase) -> Vec<Vec<u8>> {
    let client = FlowKey {
        source: u128::from(0x0a00_0000 + number / 16),
        destination: 0xc612_0001,
        source_port: 1024 + (number % 16) as u16,
        destination_port: 80,
        protocol: protocol::TCP,
        ip_version: 4,
    };
    let packet = |is_client: bool, flags, sequence, acknowledgment, payload: &[u8]| {
        let key = if is_client { client } else { client.reversed() };
        let header = TcpHeader {
            sequence,
            acknowledgment,
            flags,
            window: 65_535,
            options: &[],
        };
        build::tcp_packet(&key, &header, payload)
    };
    let behind = 1001 + REQUEST.len() as u32;
    let end = behind + REQUEST_END.len() as u32;
    match phase {
        Phase::Handshake => vec![
            packet(true, SYN, 1000, 0, b""),
            packet(false, SYN | ACK, 5000, 1001, b""),
            packet(true, ACK, 1001, 5001, b""),
        ],
        Phase::Head => vec![
            packet(true, ACK, 1001, 5001, REQUEST),
            packet(false, ACK, 5001, behind, b""),
        ],
        Phase::Exchange => vec![
            packet(true, ACK, behind, 5001, REQUEST_END),
            packet(false, ACK, 5001, end, RESPONSE),
            packet(true, ACK, end, 5001 + RESPONSE.len() as u32, b""),
        ],
    }
}

/// Inspects one phase of all connections, and says how long that took.
fn inspect(inspector: &mut Inspector, phase: Phase) -> Duration {
    let mut took = Duration::ZERO;
    for first in (0..CONNECTIONS).step_by(MADE as usize) {
        let records: Vec<Vec<u8>> = (first..first + MADE)
            .flat_map(|number| packets(number, phase))
            .collect();
        let begun = Instant::now();
        for batch in records.chunks(BATCH) {
            let batch: Vec<Packet<'_>> = batch
                .iter()
                .map(|bytes| Packet {
                    headers: Headers::parse(LinkType::RawIp, bytes),
                    bytes,
                    timestamp_ns: 1_700_000_000_000_000_000,
                    ..Packet::default()
                })
                .collect();
            inspector.inspect(&batch, |_| {});
        }
        took += begun.elapsed();
    }
    took
}

fn memory_bytes() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    Ok(pages.unwrap_or(0) * 4096)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = RuleFile {
        name: "connections.rules",
        text: RULES,
    };
    let (rules, report) = RuleSet::load(&[file], &Variables::default())?;
    assert_eq!(report.loaded, 2);
    let options = InspectOptions {
        limits: FlowLimits {
            flows: CONNECTIONS as usize,
            stream_bytes: 8 << 30,
            ..FlowLimits::default()
        },
        ..InspectOptions::default()
    };
    let mut inspector = Inspector::with_options(Arc::new(rules), &options);
    let before = memory_bytes()?;
    for (phase, what) in [
        (Phase::Handshake, "handshakes"),
        (Phase::Head, "and the head of a request each"),
        (Phase::Exchange, "and its end with a response"),
    ] {
        let took = inspect(&mut inspector, phase);
        let per_second = f64::from(CONNECTIONS) / took.as_secs_f64();
        let statistics = inspector.statistics();
        let bytes = memory_bytes()?.saturating_sub(before);
        println!(
            "{CONNECTIONS} {what}: {per_second:.0} per second, {:.2} GiB of memory, {} bytes each, {} flows \
             evicted, {} streams given up",
            bytes as f64 / f64::from(1 << 30),
            bytes / u64::from(CONNECTIONS),
            statistics.flows_evicted,
            statistics.streams_evicted,
        );
    }
    Ok(())
}
