//! The control socket: requests of other processes to a running gateway.
//!
//! A client connects to a Unix socket that only its owner may open, and sends requests, one JSON
//! object a line. Each gets one line back, an object with a `result` or an `error`:
//!
//! ```text
//! {"command":"status"}
//! {"result":{"packets":3564,…}}
//! ```
//!
//! A request to add associations is followed by their text, whose bytes it counts. Memory that held it
//! is wiped.
//!
//! The socket has threads of its own, so no packet waits for a client. Requests are bounded in size
//! and time and clients in number; one more than that gets an error.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, listen, shutdown,
    socket_with, sockopt,
};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tracing::{info, warn};
use weir_ipsec::Which;
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, Result};
use crate::gateway::Handle;

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "command", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// What the gateway did so far: a [`Status`](crate::Status).
    Status {},
    /// The configuration and the files that it names are loaded again: what came of it is a
    /// [`Reloaded`](crate::Reloaded).
    Reload {},
    /// The active associations and what they did: a list of [`SaStatus`](crate::SaStatus).
    #[serde(rename = "sa_list")]
    SaList {},
    /// Associations are added: what came of it is an [`AddedSas`](crate::AddedSas).
    #[serde(rename = "sa_add")]
    SaAdd(AddSa),
    /// An association is removed: what came of it is a [`RemovedSa`](crate::RemovedSa).
    #[serde(rename = "sa_remove")]
    SaRemove(RemoveSa),
}

/// Which associations are to be added. The request is sent with
/// [`ControlClient::request_with`] and a text in the form of an SA file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AddSa {
    /// Length of the text that follows the request.
    pub text_bytes: usize,
    /// Where the text comes from, for messages.
    pub path: PathBuf,
    /// The associations whose keys the ledger may learn, or `all`.
    #[serde(default)]
    pub new_keys: Vec<String>,
}

/// Which association is to be removed: the one that has all of this.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RemoveSa {
    /// Its name.
    pub name: Option<String>,
    /// Its security parameters index.
    pub spi: Option<u32>,
    /// Its direction.
    pub direction: Option<SaDirection>,
}

/// Which end of an association this device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SaDirection {
    /// The sender.
    Outbound,
    /// The receiver.
    Inbound,
}

impl From<&RemoveSa> for Which {
    fn from(request: &RemoveSa) -> Which {
        Which {
            name: request.name.clone(),
            spi: request.spi,
            direction: request.direction.map(|direction| match direction {
                SaDirection::Outbound => weir_ipsec::SaDirection::Outbound,
                SaDirection::Inbound => weir_ipsec::SaDirection::Inbound,
            }),
        }
    }
}

/// What a client gets back.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response {
    Result(Box<RawValue>),
    Error(String),
}

/// The place of the control socket where none is named: for root and for other users.
pub fn default_socket() -> Option<PathBuf> {
    if geteuid().is_root() {
        return Some(PathBuf::from("/run/weir/control"));
    }
    let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty())?;
    Some(Path::new(&folder).join("weir/control"))
}

/// A control socket that is served until it is dropped.
pub struct ControlSocket {
    path: PathBuf,
    /// Device and number of the socket's file, which is removed at the end.
    file: Option<(u64, u64)>,
    listener: Arc<UnixListener>,
    is_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Serves requests to a gateway at a path, where its owner and root may connect. A socket
    /// that another process left there is replaced.
    ///
    /// # Errors
    /// Another process serves the socket, something else stands under its name, or it cannot be
    /// created.
    pub fn serve(path: &Path, handle: Handle) -> Result<ControlSocket> {
        let listener = open(path)
            .with_context(|| format!("cannot open the control socket {}", path.display()))
            .map_err(Error::configuration)?;
        let listener = Arc::new(listener);
        let is_ended = Arc::new(AtomicBool::new(false));
        let server = Server {
            listener: Arc::clone(&listener),
            is_ended: Arc::clone(&is_ended),
            clients: Arc::default(),
            handle,
        };
        let thread = thread::Builder::new().name("control".to_owned());
        let thread = thread.spawn(move || server.run());
        info!("control socket {}", path.display());
        Ok(ControlSocket {
            path: path.to_owned(),
            file: identity(path),
            listener,
            is_ended,
            thread: Some(thread.map_err(Error::running)?),
        })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.is_ended.store(true, Ordering::Relaxed);
        // The thread that accepts clients gets an error, and ends.
        let is_woken = shutdown(&*self.listener, Shutdown::Both).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| is_woken) {
            // Whether it panicked makes no difference any more.
            let _ = thread.join();
        }
        if self.file.is_some() && identity(&self.path) == self.file {
            // Nobody can connect to it: it is replaced by the next gateway if it stays.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = path.symlink_metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Binds the socket with its final mode, so that there is no moment at which others may connect.
fn open(path: &Path) -> anyhow::Result<UnixListener> {
    if let Some(folder) = path.parent().filter(|folder| !folder.exists())
        && default_socket().as_deref() == Some(path)
    {
        std::fs::create_dir(folder)?;
    }
    let address = SocketAddrUnix::new(path)?;
    let socket = || -> anyhow::Result<OwnedFd> {
        let socket = socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        Ok(socket)
    };
    let mut listening = socket()?;
    if let Err(error) = bind(&listening, &address) {
        if error != rustix::io::Errno::ADDRINUSE {
            return Err(error.into());
        }
        match UnixStream::connect(path) {
            Ok(_) => {
                return Err(anyhow!(
                    "another gateway serves it: give this one a socket of its own"
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error.into()),
        }
        let is_socket = path
            .symlink_metadata()
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()));
        if !is_socket {
            return Err(anyhow!("a file that is no socket stands there"));
        }
        std::fs::remove_file(path)?;
        listening = socket()?;
        bind(&listening, &address)?;
    }
    listen(&listening, MOST_CLIENTS as i32)?;
    Ok(UnixListener::from(listening))
}

struct Server {
    listener: Arc<UnixListener>,
    is_ended: Arc<AtomicBool>,
    clients: Arc<AtomicUsize>,
    handle: Handle,
}

impl Server {
    fn run(self) {
        while !self.is_ended.load(Ordering::Relaxed) {
            match self.listener.accept() {
                Ok((stream, _)) => self.welcome(stream),
                // Out of descriptors, or the end.
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    fn welcome(&self, mut stream: UnixStream) {
        // Not more than the socket has buffer for: this does not wait.
        let refuse = |stream: &mut UnixStream, why: &str| {
            let _ = stream.set_nonblocking(true);
            let _ = respond(stream, &Response::Error(why.to_owned()));
        };
        if !may_ask(&stream) {
            return refuse(
                &mut stream,
                "only the gateway's user and root may control it",
            );
        }
        if self.clients.fetch_add(1, Ordering::Relaxed) >= MOST_CLIENTS {
            self.clients.fetch_sub(1, Ordering::Relaxed);
            return refuse(&mut stream, "too many clients at once: try again later");
        }
        let client = Client {
            stream,
            counted: Counted(Arc::clone(&self.clients)),
            is_ended: Arc::clone(&self.is_ended),
            handle: self.handle.clone(),
            // It does not grow: a buffer that does leaves copies behind.
            received: Zeroizing::new(Vec::with_capacity(MAX_REQUEST_BYTES + PART_BYTES)),
        };
        let thread = thread::Builder::new().name("control client".to_owned());
        // Without a thread the client is gone, and its place free.
        if let Err(error) = thread.spawn(move || client.serve()) {
            warn!("no thread for a client of the control socket: {error}");
        }
    }
}

/// Whether the process at the other end belongs to this process's user or to root.
fn may_ask(stream: &UnixStream) -> bool {
    sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid.is_root() || peer.uid == geteuid())
}

/// A place among the clients, which is free again when this is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Client {
    stream: UnixStream,
    counted: Counted,
    is_ended: Arc<AtomicBool>,
    handle: Handle,
    /// What came behind the last request.
    received: Zeroizing<Vec<u8>>,
}

impl Client {
    fn serve(mut self) {
        // A client that takes nothing is as good as gone.
        let _ = self.stream.set_write_timeout(Some(REQUEST_TAKES));
        while let Some(line) = self.next_line() {
            if self.is_ended.load(Ordering::Relaxed) {
                break;
            }
            let response = line.and_then(|line| self.response(&line));
            let (response, goes_on) = match response {
                Ok(response) => (response, true),
                Err(why) => (Response::Error(why.to_owned()), false),
            };
            if respond(&mut self.stream, &response).is_err() || !goes_on {
                break;
            }
        }
        drop(self.counted);
    }

    /// What a request comes to, or why the requests behind it cannot be found.
    fn response(&mut self, line: &[u8]) -> std::result::Result<Response, &'static str> {
        let request = match serde_json::from_slice(line) {
            Ok(request) => request,
            Err(error) => return Ok(Response::Error(format!("not a request: {error}"))),
        };
        let handle = self.handle.clone();
        let result = match &request {
            Request::Status {} => Ok(to_json(&handle.status())),
            Request::Reload {} => handle.reload().map(|reloaded| to_json(&reloaded)),
            Request::SaList {} => handle.list_associations().map(|list| to_json(&list)),
            Request::SaAdd(add) => {
                let text = self.next_text(add.text_bytes)?;
                let Ok(text) = std::str::from_utf8(&text) else {
                    return Ok(Response::Error(
                        "the associations are not a text".to_owned(),
                    ));
                };
                let added = handle.add_associations(&add.path, text, &add.new_keys);
                added.map(|added| to_json(&added))
            }
            Request::SaRemove(remove) => handle
                .remove_association(&remove.into())
                .map(|removed| to_json(&removed)),
        };
        Ok(match result {
            Ok(Ok(json)) => Response::Result(json),
            Ok(Err(error)) => Response::Error(error.to_string()),
            Err(error) => Response::Error(error.to_string()),
        })
    }

    /// The text behind a request.
    fn next_text(&mut self, bytes: usize) -> std::result::Result<Zeroizing<Vec<u8>>, &'static str> {
        if bytes > MAX_TEXT_BYTES {
            return Err("associations of more than 1 MiB: add them in parts");
        }
        let mut text = Zeroizing::new(Vec::with_capacity(bytes));
        text.extend_from_slice(&self.received[..bytes.min(self.received.len())]);
        self.forget(text.len());
        let until = Instant::now() + REQUEST_TAKES;
        let begun = text.len();
        text.resize(bytes, 0);
        let mut rest = &mut text[begun..];
        while !rest.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.stream.set_read_timeout(Some(left)).is_err() {
                return Err("a text that took longer than 5 s");
            }
            match self.stream.read(rest) {
                Ok(0) => return Err("a text that is shorter than the request says"),
                Ok(bytes) => rest = &mut rest[bytes..],
                Err(error) if is_timeout(&error) => {}
                Err(_) => return Err("a text that did not come"),
            }
        }
        Ok(text)
    }

    /// Removes what was received first, and wipes its memory.
    fn forget(&mut self, bytes: usize) {
        self.received.copy_within(bytes.., 0);
        let left = self.received.len() - bytes;
        self.received[left..].zeroize();
        self.received.truncate(left);
    }

    /// The next request, or why there is none that can be understood. `None` where the client
    /// goes or is silent.
    fn next_line(&mut self) -> Option<std::result::Result<Vec<u8>, &'static str>> {
        let mut until = Instant::now() + IDLE;
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line = self.received[..end].to_vec();
                self.forget(end + 1);
                return Some(Ok(line));
            }
            if self.received.len() >= MAX_REQUEST_BYTES {
                return Some(Err("a request of more than 64 KiB"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let is_begun = !self.received.is_empty();
                return is_begun.then_some(Err("a request that took longer than 5 s"));
            }
            self.stream.set_read_timeout(Some(left)).ok()?;
            let begun = self.received.len();
            self.received.resize(begun + PART_BYTES, 0);
            let read = self.stream.read(&mut self.received[begun..]);
            let bytes = *read.as_ref().unwrap_or(&0);
            self.received.truncate(begun + bytes);
            match read {
                Ok(0) => return None,
                Ok(_) if begun == 0 => until = Instant::now() + REQUEST_TAKES,
                Ok(_) => {}
                Err(error) if is_timeout(&error) => {}
                Err(_) => return None,
            }
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn to_json(value: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value)
}

fn respond(stream: &mut UnixStream, response: &Response) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// The other end of a control socket.
pub struct ControlClient {
    path: PathBuf,
    stream: UnixStream,
    received: Vec<u8>,
}

impl ControlClient {
    /// Connects to the gateway that serves a socket.
    ///
    /// # Errors
    /// No gateway does, or it is another user's.
    pub fn connect(path: &Path) -> Result<ControlClient> {
        let connect = || {
            let stream = UnixStream::connect(path)?;
            stream.set_write_timeout(Some(REQUEST_TAKES))?;
            stream.set_read_timeout(Some(RESPONSE_TAKES))?;
            Ok(stream)
        };
        let stream = connect().map_err(|error: io::Error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                    ": no gateway runs that serves it"
                }
                io::ErrorKind::PermissionDenied => ": it belongs to another user",
                _ => "",
            };
            let path = path.display();
            Error::running(anyhow!(
                "cannot reach the control socket {path}{hint} ({error})"
            ))
        })?;
        Ok(ControlClient {
            path: path.to_owned(),
            stream,
            received: Vec::new(),
        })
    }

    /// What the gateway returns, as JSON.
    ///
    /// # Errors
    /// What the gateway says, or why nothing comes back.
    pub fn request(&mut self, request: &Request) -> Result<serde_json::Value> {
        self.request_with(request, &[])
    }

    /// The same, where a text follows the request.
    ///
    /// # Errors
    /// As [`request`](ControlClient::request).
    pub fn request_with(&mut self, request: &Request, text: &[u8]) -> Result<serde_json::Value> {
        let line = self
            .exchange(request, text)
            .with_context(|| format!("the gateway at {} does not respond", self.path.display()))
            .map_err(Error::running)?;
        let mut response: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&line)
                .context("the gateway's response cannot be read")
                .map_err(Error::running)?;
        if let Some(error) = response.get("error").and_then(|error| error.as_str()) {
            return Err(Error::running(anyhow!("{error}")));
        }
        let result = response.remove("result");
        result.ok_or_else(|| Error::running(anyhow!("the gateway's response has no result")))
    }

    fn exchange(&mut self, request: &Request, text: &[u8]) -> io::Result<Vec<u8>> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let sent = self.stream.write_all(&line);
        let sent = sent.and_then(|()| self.stream.write_all(text));
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let rest = self.received.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.received, rest));
            }
            if self.received.len() > MAX_RESPONSE_BYTES {
                return Err(io::Error::other("a response of more than 64 MiB"));
            }
            let mut part = [0; 4096];
            match self.stream.read(&mut part) {
                // A gateway that refuses a client says why before it reads.
                Ok(0) => return sent.and(Err(io::ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => self.received.extend_from_slice(&part[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Clients that are served at once.
const MOST_CLIENTS: usize = 16;
/// Longest request.
const MAX_REQUEST_BYTES: usize = 64 * 1024;
/// Longest text behind a request.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// As much is read at once.
const PART_BYTES: usize = 4096;
/// Enough for the list of a hundred thousand associations.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// How long a request may take to come, and a response to go.
const REQUEST_TAKES: Duration = Duration::from_secs(5);
/// How long a gateway may take to carry out a request: rules take long to compile.
const RESPONSE_TAKES: Duration = Duration::from_secs(300);
/// How long a client may be silent.
const IDLE: Duration = Duration::from_secs(60);
/// Before clients are accepted again.
const PAUSE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests;
