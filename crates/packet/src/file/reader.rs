//! Reading captures: format detection, then records by the block.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::framing::{Quota, Stop};
use super::input::Input;
use super::pcap::{self, PcapFraming};
use super::pcapng::{self, PcapNgFraming};
use super::tsh;
use super::window::Window;
use super::{Block, CaptureError, Format, Interface, RecordEntry};

/// An open capture.
///
/// ```no_run
/// use std::path::Path;
/// use weir_packet::file::Reader;
///
/// let mut reader = Reader::open(Path::new("traffic.pcapng"))?;
/// let mut records = Vec::new();
/// while let Some(block) = reader.fill(256, 512 * 1024, &mut records)? {
///     for record in records.drain(..) {
///         println!("{} ns: {} bytes", record.timestamp_ns, record.bytes(&block).len());
///     }
/// }
/// # Ok::<(), weir_packet::file::CaptureError>(())
/// ```
pub struct Reader {
    window: Window,
    framing: Framing,
    interfaces: Vec<Interface>,
    /// Nothing follows: the end was reached or an error was reported.
    finished: bool,
}

enum Framing {
    Pcap(PcapFraming),
    PcapNg(PcapNgFraming),
    Tsh,
}

impl Reader {
    /// Opens a capture; `-` is standard input. The format is detected from the
    /// first bytes after decompression, for TSH from the name (`.tsh`, `.tsh.gz`, `.tsh.zst`).
    ///
    /// Waits for the header, but not for the first record.
    ///
    /// # Errors
    /// The file cannot be opened or its header is not one of a capture.
    pub fn open(path: &Path) -> Result<Reader, CaptureError> {
        Self::detect(Input::open(path)?)
    }

    /// Opens an NLANR TSH trace of whatever name.
    pub fn open_tsh(path: &Path) -> Result<Reader, CaptureError> {
        Self::begin_tsh(Window::new(Input::open(path)?))
    }

    /// Reads a capture from anywhere; `name` is used in messages and, as in
    /// [`Self::open`], to detect TSH.
    pub fn from_read(name: &str, input: Box<dyn Read + Send>) -> Result<Reader, CaptureError> {
        Self::detect(Input::from_read(name, input)?)
    }

    /// Interfaces declared so far: one for pcap, more may follow while a
    /// pcapng or TSH file is read.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The capture's format.
    pub fn format(&self) -> Format {
        match self.framing {
            Framing::Pcap(_) => Format::Pcap,
            Framing::PcapNg(_) => Format::PcapNg,
            Framing::Tsh => Format::Tsh,
        }
    }

    /// The name that is used in messages.
    pub fn name(&self) -> &str {
        self.window.input().name()
    }

    /// Bytes read so far of the underlying (compressed) file.
    pub fn bytes_read(&self) -> u64 {
        self.window.input().bytes_read()
    }

    /// Size of the underlying (compressed) file, if it is a regular one.
    pub fn total_bytes(&self) -> Option<u64> {
        self.window.input().total_bytes()
    }

    /// Blocks of a pcapng file that hold neither records nor interfaces:
    /// statistics, names, secrets, and unknown ones.
    pub fn skipped_blocks(&self) -> u64 {
        match &self.framing {
            Framing::PcapNg(framing) => framing.skipped_blocks(),
            Framing::Pcap(_) | Framing::Tsh => 0,
        }
    }

    /// Lets [`Self::fill`] come back without a record when a pipe brings
    /// nothing for so long; `None`, as at first, waits as long as it takes.
    /// Files, compressed pipes and [`Self::from_read`] are always waited for.
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.window.set_patience(patience);
    }

    /// Appends up to `max_records` records that all lie in one block, stopping
    /// early when their captured bytes would exceed `max_bytes`, but appends
    /// at least one unless its patience ([`Self::set_patience`]) ends. Returns
    /// the block, or `None` at the end.
    ///
    /// Waits for the first record only; from a pipe it returns the available ones. An
    /// error is reported once, after all whole records in front of it; after
    /// that the capture is at its end.
    pub fn fill(
        &mut self,
        max_records: usize,
        max_bytes: usize,
        out: &mut Vec<RecordEntry>,
    ) -> Result<Option<Arc<Block>>, CaptureError> {
        let records_before = out.len();
        while !self.finished {
            let stop = self.frame(max_records.max(1), max_bytes, out);
            if out.len() > records_before {
                // Whatever stopped the framing is found again by the next call.
                return Ok(Some(Arc::clone(self.window.block())));
            }
            match stop {
                Ok(Stop::Quota) => {}
                Ok(Stop::Need(bytes)) => {
                    if !self.advance(bytes)? {
                        return Ok(Some(Arc::clone(self.window.block())));
                    }
                }
                Err(error) => {
                    self.finished = true;
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    fn detect(input: Input) -> Result<Reader, CaptureError> {
        let is_tsh = has_tsh_name(input.name());
        let mut window = Window::new(input);
        if is_tsh {
            return Self::begin_tsh(window);
        }
        if !window.require(MAGIC_BYTES) {
            let error = window.incomplete(MAGIC_BYTES, 0);
            if !error.is_truncation() || window.input().compression().is_some() {
                return Err(error);
            }
            return Err(CaptureError::NotACapture {
                file: window.input().name().to_owned(),
                found: match window.unread().len() {
                    0 => "it is empty".to_owned(),
                    bytes => format!("it has only {bytes} bytes"),
                },
            });
        }
        let magic = window.unread().first_chunk().copied().unwrap_or_default();
        if let Some(framing) = PcapFraming::detect(magic) {
            return Self::begin_pcap(window, framing);
        }
        if magic == pcapng::SECTION_HEADER.to_le_bytes() {
            return Self::begin_pcapng(window);
        }
        Err(CaptureError::NotACapture {
            file: window.input().name().to_owned(),
            found: describe(magic),
        })
    }

    fn begin_pcap(mut window: Window, mut framing: PcapFraming) -> Result<Reader, CaptureError> {
        if !window.require(pcap::HEADER_BYTES) {
            return Err(window.incomplete(pcap::HEADER_BYTES, 0));
        }
        let mut cursor = window.cursor();
        let interface = framing.read_header(&mut cursor)?;
        let position = cursor.position;
        window.advance_to(position);
        Ok(Self::new(window, Framing::Pcap(framing), vec![interface]))
    }

    /// Reads the section header and the interfaces that came with it.
    fn begin_pcapng(window: Window) -> Result<Reader, CaptureError> {
        let framing = Framing::PcapNg(PcapNgFraming::new());
        let mut reader = Self::new(window, framing, Vec::new());
        loop {
            let stop = reader.frame(0, 0, &mut Vec::new())?;
            let in_section = match &reader.framing {
                Framing::PcapNg(framing) => framing.in_section(),
                Framing::Pcap(_) | Framing::Tsh => true,
            };
            match stop {
                Stop::Need(bytes) if !in_section => {
                    if !reader.window.require(bytes) {
                        return Err(reader.window.incomplete(bytes, 0));
                    }
                }
                Stop::Need(_) | Stop::Quota => return Ok(reader),
            }
        }
    }

    fn begin_tsh(mut window: Window) -> Result<Reader, CaptureError> {
        if !window.require(tsh::RECORD_BYTES) {
            return Err(window.incomplete(tsh::RECORD_BYTES, 0));
        }
        tsh::check_first_record(&window.cursor())?;
        Ok(Self::new(window, Framing::Tsh, Vec::new()))
    }

    fn new(window: Window, framing: Framing, interfaces: Vec<Interface>) -> Self {
        Reader {
            window,
            framing,
            interfaces,
            finished: false,
        }
    }

    /// Frames what lies in the window.
    fn frame(
        &mut self,
        max_records: usize,
        max_bytes: usize,
        out: &mut Vec<RecordEntry>,
    ) -> Result<Stop, CaptureError> {
        let mut cursor = self.window.cursor();
        let mut quota = Quota::new(out, max_records, max_bytes);
        let stop = match &mut self.framing {
            Framing::Pcap(framing) => framing.frame(&mut cursor, &mut quota),
            Framing::PcapNg(framing) => {
                framing.frame(&mut cursor, &mut self.interfaces, &mut quota)
            }
            Framing::Tsh => tsh::frame(&mut cursor, &mut self.interfaces, &mut quota),
        };
        let position = cursor.position;
        self.window.advance_to(position);
        stop
    }

    /// Brings the next block, or ends the capture. False when neither happens
    /// within the patience.
    fn advance(&mut self, bytes: usize) -> Result<bool, CaptureError> {
        if self.window.require(bytes) {
            return Ok(true);
        }
        if !self.window.has_ended() {
            return Ok(false);
        }
        self.finished = true;
        let begun = match &self.framing {
            Framing::PcapNg(framing) => framing.begun_block(),
            Framing::Pcap(_) | Framing::Tsh => None,
        };
        self.window.conclude(bytes, begun).map(|()| true)
    }
}

const MAGIC_BYTES: usize = 4;

fn has_tsh_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = [".gz", ".zst", ".zstd"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(&name);
    plain.ends_with(".tsh")
}

/// Names formats that people have and Weir does not read.
fn describe(magic: [u8; MAGIC_BYTES]) -> String {
    let known = match &magic {
        [0xfd, b'7', b'z', b'X'] => "xz data (decompress it with `xz -dc`)",
        [b'B', b'Z', b'h', _] => "bzip2 data (decompress it with `bzip2 -dc`)",
        [0x04, 0x22, 0x4d, 0x18] => "lz4 data (decompress it with `lz4 -dc`)",
        [b'P', b'K', ..] => "a zip archive (unpack it)",
        b"snoo" => "a snoop capture (convert it with `editcap`)",
        b"GMBU" => "a Network Monitor capture (convert it with `editcap`)",
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd] => "data compressed twice (decompress it once)",
        [0x34, 0xcd, 0xb2, 0xa1] | [0xa1, 0xb2, 0xcd, 0x34] => {
            "a modified pcap of the 1990s (convert it with `editcap`)"
        }
        _ => return format!("it begins with {magic:02x?}"),
    };
    format!("it is {known}")
}
