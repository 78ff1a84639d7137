//! The metrics endpoint: a small HTTP server of its own thread.
//!
//! It serves two paths to a few clients at a time, each with a time limit: a scraper needs no more,
//! and nothing that it does reaches the packet path.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context;
use tracing::info;

use crate::error::{Error, Result};
use crate::gateway::Handle;

/// A metrics endpoint that is served until it is dropped.
pub struct MetricsEndpoint {
    address: SocketAddr,
    is_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// An address to listen at: a port alone is one of the loopback interface.
///
/// # Errors
/// It is neither a port nor an address with a port.
pub fn metrics_address(text: &str) -> std::result::Result<SocketAddr, String> {
    match text.parse() {
        Ok(port) => Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Err(_) => text
            .parse()
            .map_err(|_| "give a port, or an address with a port, as in 127.0.0.1:9898".to_owned()),
    }
}

impl MetricsEndpoint {
    /// Serves `/metrics` and `/healthz` of a gateway at an address.
    ///
    /// # Errors
    /// The address is not this machine's, or taken.
    pub fn serve(address: SocketAddr, handle: Handle) -> Result<MetricsEndpoint> {
        let listener = TcpListener::bind(address)
            .with_context(|| format!("cannot serve metrics at {address}"))
            .map_err(Error::configuration)?;
        let address = listener.local_addr().map_err(Error::running)?;
        let is_ended = Arc::new(AtomicBool::new(false));
        let server = Server {
            is_ended: Arc::clone(&is_ended),
            clients: Arc::default(),
            handle,
        };
        let thread = thread::Builder::new().name("metrics".to_owned());
        let thread = thread.spawn(move || server.run(&listener));
        info!("metrics at http://{address}/metrics");
        Ok(MetricsEndpoint {
            address,
            is_ended,
            thread: Some(thread.map_err(Error::running)?),
        })
    }

    /// Where it is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsEndpoint {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        // The thread that accepts clients notices the end by one more.
        let is_woken = TcpStream::connect_timeout(&self.address, CLIENT_TAKES).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_woken) {
            // Whether it panicked makes no difference any more.
            let _ = thread.join();
        }
    }
}

struct Server {
    is_ended: Arc<AtomicBool>,
    clients: Arc<AtomicUsize>,
    handle: Handle,
}

impl Server {
    fn run(self, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.is_ended.load(Ordering::Relaxed) {
                return;
            }
            let Ok((stream, _)) = accepted else {
                // Out of descriptors, for example.
                thread::sleep(PAUSE);
                continue;
            };
            if self.clients.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
                self.clients.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let counted = Counted(Arc::clone(&self.clients));
            let handle = self.handle.clone();
            let thread = thread::Builder::new().name("metrics client".to_owned());
            // Where there is no thread, the connection closes and its place is free.
            let _ = thread.spawn(move || {
                // A client that goes has what it wants.
                let _ = serve(stream, &handle);
                drop(counted);
            });
        }
    }
}

/// A place among the clients, which is free again when this is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, handle: &Handle) -> io::Result<()> {
    stream.set_write_timeout(Some(CLIENT_TAKES))?;
    let Some(head) = read_head(&mut stream)? else {
        return respond(
            &mut stream,
            "431 Request Header Fields Too Large",
            PLAIN,
            "too long\n",
        );
    };
    let line = head.lines().next().unwrap_or_default();
    let mut words = line.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    if !version.is_some_and(|version| version.starts_with("HTTP/1.")) {
        return respond(&mut stream, "400 Bad Request", PLAIN, "not HTTP/1\n");
    }
    if method != Some("GET") {
        return respond(&mut stream, "405 Method Not Allowed", PLAIN, "only GET\n");
    }
    let path = target.unwrap_or_default().split('?').next();
    match path {
        Some("/metrics") => respond(&mut stream, "200 OK", OPEN_METRICS, &handle.metrics()),
        Some("/healthz") => match handle.health() {
            Ok(text) => respond(&mut stream, "200 OK", PLAIN, &text),
            Err(text) => respond(&mut stream, "503 Service Unavailable", PLAIN, &text),
        },
        _ => respond(
            &mut stream,
            "404 Not Found",
            PLAIN,
            "/metrics or /healthz\n",
        ),
    }
}

/// The head of a request; nothing where it is too long.
fn read_head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let until = Instant::now() + CLIENT_TAKES;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES {
            return Ok(None);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut part = [0; 1024];
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            bytes => head.extend_from_slice(&part[..bytes]),
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

fn respond(stream: &mut TcpStream, status: &str, content: &str, body: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

const PLAIN: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Clients that are served at once.
const MOST_CLIENTS: usize = 8;
const MAX_HEAD_BYTES: usize = 8 * 1024;
/// How long a request may take to come, and a response to go.
const CLIENT_TAKES: Duration = Duration::from_secs(5);
/// Before clients are accepted again.
const PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Gateway, Options};

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("connected");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        response
    }

    fn get(address: SocketAddr, path: &str) -> String {
        ask(address, &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"))
    }

    #[test]
    fn ports_are_those_of_loopback() {
        assert_eq!(metrics_address("9898"), Ok(([127, 0, 0, 1], 9898).into()));
        assert_eq!(metrics_address("0.0.0.0:1"), Ok(([0, 0, 0, 0], 1).into()));
        assert!(metrics_address("[::1]:80").is_ok());
        for wrong in ["", "localhost", "70000", "1.2.3.4"] {
            assert!(metrics_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_paths_are_served_and_nothing_else() {
        let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let text = "[input]\npcap = \"traffic.pcapng\"\n\
                    [pipeline]\nstages = [\"inspect\", \"measure\"]\n[measure]\n\
                    [inspect]\nrules = \"example.rules\"\n";
        let config = Config::parse(&examples.join("x.toml"), text).expect("a configuration");
        let gateway = Gateway::from_config(config, &Options::default()).expect("a gateway");
        let endpoint =
            MetricsEndpoint::serve(metrics_address("0").expect("an address"), gateway.handle());
        let endpoint = endpoint.expect("an endpoint");
        let address = endpoint.address();
        gateway.run().expect("a run");
        let response = get(address, "/metrics");
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.contains(OPEN_METRICS));
        for line in [
            "weir_inspect_alerts_total 12\n",
            "weir_measure_packets_total 3564\n",
            "weir_configuration_generation 0\n",
        ] {
            assert!(response.contains(line), "no {line}: {response}");
        }
        assert_eq!(response.matches("# EOF").count(), 1);
        assert!(response.ends_with("# EOF\n"));
        assert!(get(address, "/healthz").ends_with("ok\n"));
        assert!(get(address, "/").starts_with("HTTP/1.1 404 "));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(ask(address, "\r\n\r\n").starts_with("HTTP/1.1 400 "));
        let long = format!("GET /{} HTTP/1.1\r\n", "x".repeat(MAX_HEAD_BYTES));
        assert!(ask(address, &long).starts_with("HTTP/1.1 431 "));
        drop(endpoint);
        assert!(TcpStream::connect(address).is_err());
    }
}
