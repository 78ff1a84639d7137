//! Writing captures: pcap with nanoseconds, or pcapng.

use std::io::{self, Write};
use std::path::Path;

use super::error::APPENDING;
use super::pcapng::{
    BYTE_ORDER_MAGIC, ENHANCED_PACKET, INTERFACE_DESCRIPTION, MAX_NAME_BYTES, OPTION_END,
    OPTION_INTERFACE_NAME, OPTION_TIME_RESOLUTION, SECTION_HEADER,
};
use super::{
    CaptureError, Format, Interface, MAX_RECORD_BYTES, WholeFile, is_standard_stream, pcap,
};
use crate::wire::LinkType;

/// A capture being written. It appears under its name when [`Self::finish`] is called; if
/// it is dropped before, nothing is left. A capture that goes on, such as that of an interface,
/// is written under its name from the beginning ([`Self::create_in_place`]).
///
/// ```no_run
/// use std::path::Path;
/// use weir_packet::file::{Interface, Writer};
/// use weir_packet::wire::LinkType;
///
/// let path = Path::new("out.pcapng");
/// let mut writer = Writer::create(path, Writer::format_for(path))?;
/// let interface = writer.add_interface(&Interface::new(LinkType::Ethernet))?;
/// writer.write(interface, 1_700_000_000_000_000_000, 60, &[0; 60])?;
/// writer.finish()?;
/// # Ok::<(), weir_packet::file::CaptureError>(())
/// ```
pub struct Writer {
    /// Name for messages.
    file: String,
    output: WholeFile,
    format: Format,
    buffer: Vec<u8>,
    /// Bytes that left the buffer.
    drained_bytes: u64,
    records: u64,
    /// Records that left the buffer; it ends with a whole one.
    drained_records: u64,
    header_written: bool,
    interfaces: Vec<Declared>,
    /// Interface descriptions in the file; may exceed `interfaces`.
    descriptions: u32,
}

/// An interface as the file knows it.
struct Declared {
    interface: Interface,
    /// Its number in the file.
    number: u32,
}

impl Writer {
    /// Starts a capture of [`Format::Pcap`] or [`Format::PcapNg`]. It is
    /// written under a temporary name in the same folder. `-` is standard
    /// output; that, pipes and devices are written in place.
    pub fn create(path: &Path, format: Format) -> Result<Writer, CaptureError> {
        Self::with_output(path, format, WholeFile::create)
    }

    /// The same under its name, in the place of what had it before. Records can be read there
    /// after [`Self::flush`]. If writing fails, the capture ends with the last whole record that
    /// was written ([`Self::written_records`]).
    pub fn create_in_place(path: &Path, format: Format) -> Result<Writer, CaptureError> {
        Self::with_output(path, format, WholeFile::create_in_place)
    }

    fn with_output(
        path: &Path,
        format: Format,
        create: impl FnOnce(&Path) -> io::Result<WholeFile>,
    ) -> Result<Writer, CaptureError> {
        let standard = is_standard_stream(path);
        let file = if standard {
            "standard output".to_owned()
        } else {
            path.display().to_string()
        };
        if format == Format::Tsh {
            return Err(CaptureError::UnsupportedOutput { file, format });
        }
        let output = create(path).map_err(|source| CaptureError::Io {
            file: file.clone(),
            offset: 0,
            action: "creating",
            source,
        })?;
        Ok(Writer {
            file,
            output,
            format,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            drained_bytes: 0,
            records: 0,
            drained_records: 0,
            header_written: false,
            interfaces: Vec::new(),
            descriptions: 0,
        })
    }

    /// The format that the name of an output implies: pcapng for `*.pcapng` and
    /// standard output, otherwise pcap.
    pub fn format_for(path: &Path) -> Format {
        let pcapng = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("pcapng"));
        if pcapng || is_standard_stream(path) {
            Format::PcapNg
        } else {
            Format::Pcap
        }
    }

    /// Declares an interface and returns its index for [`Self::write`]. A pcap
    /// file accepts several of the same link type, but does not record which is which.
    pub fn add_interface(&mut self, interface: &Interface) -> Result<u32, CaptureError> {
        if self.format == Format::Pcap
            && let Some(first) = self.interfaces.first()
            && first.interface.link != interface.link
        {
            return Err(CaptureError::MixedLinkTypes {
                file: self.file.clone(),
                offset: self.offset(),
                first: first.interface.link,
                second: interface.link,
            });
        }
        let index = self.interfaces.len() as u32;
        let number = self.descriptions;
        if self.format == Format::PcapNg {
            self.begin();
            self.describe(interface)?;
        }
        self.interfaces.push(Declared {
            interface: interface.clone(),
            number,
        });
        Ok(index)
    }

    /// Appends a record of at most [`MAX_RECORD_BYTES`]. `wire_bytes` below the
    /// record's length is raised to it.
    pub fn write(
        &mut self,
        interface: u32,
        timestamp_ns: u64,
        wire_bytes: u32,
        bytes: &[u8],
    ) -> Result<(), CaptureError> {
        let Some(declared) = self.interfaces.get(interface as usize) else {
            return Err(CaptureError::UndeclaredInterface {
                file: self.file.clone(),
                offset: self.offset(),
                interface,
                declared: self.interfaces.len() as u32,
            });
        };
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(CaptureError::RecordTooLong {
                file: self.file.clone(),
                offset: self.offset(),
                captured_bytes: bytes.len() as u64,
            });
        }
        let captured_bytes = bytes.len() as u32;
        let wire_bytes = wire_bytes.max(captured_bytes);
        if self.format == Format::Pcap {
            self.write_pcap(timestamp_ns, captured_bytes, wire_bytes, bytes)?;
        } else {
            let number = if fits(&declared.interface, captured_bytes) {
                declared.number
            } else {
                self.widen(interface)?
            };
            self.write_pcapng(number, timestamp_ns, captured_bytes, wire_bytes, bytes)?;
        }
        self.records += 1;
        Ok(())
    }

    /// Whether records go directly to standard output, a pipe or a device, where a reader
    /// may be waiting for them.
    pub fn is_live(&self) -> bool {
        self.output.is_live()
    }

    /// Records that the operating system has taken. Others wait in the buffer for
    /// [`Self::flush`], or were lost when writing failed.
    pub fn written_records(&self) -> u64 {
        self.drained_records
    }

    /// Bytes that the operating system has taken.
    pub fn written_bytes(&self) -> u64 {
        self.drained_bytes
    }

    /// Hands everything written so far to the operating system, so that a
    /// reader of a pipe sees it.
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        // A pcap header needs to know the link type.
        if self.format == Format::PcapNg || !self.interfaces.is_empty() {
            self.begin();
        }
        self.drain()
    }

    /// Completes the file, puts it in place, and returns its size in bytes. A
    /// capture without records is a valid one.
    pub fn finish(mut self) -> Result<u64, CaptureError> {
        self.begin();
        self.drain()?;
        let is_in_place = self.output.is_in_place();
        let Writer {
            file,
            output,
            drained_bytes,
            ..
        } = self;
        output.finish().map_err(|source| CaptureError::Io {
            file,
            offset: drained_bytes,
            action: match is_in_place {
                true => "syncing the finished file",
                false => "renaming the finished file",
            },
            source,
        })?;
        Ok(drained_bytes)
    }

    /// Bytes of the capture so far, also those in the buffer.
    pub fn offset(&self) -> u64 {
        self.drained_bytes + self.buffer.len() as u64
    }

    fn write_pcap(
        &mut self,
        timestamp_ns: u64,
        captured_bytes: u32,
        wire_bytes: u32,
        bytes: &[u8],
    ) -> Result<(), CaptureError> {
        let Ok(seconds) = u32::try_from(timestamp_ns / NANOSECONDS_PER_SECOND) else {
            return Err(CaptureError::TimestampRange {
                file: self.file.clone(),
                offset: self.offset(),
                timestamp_ns,
            });
        };
        let nanoseconds = (timestamp_ns % NANOSECONDS_PER_SECOND) as u32;
        self.begin();
        self.make_room(pcap::RECORD_HEADER_BYTES + bytes.len())?;
        self.put_u32s(&[seconds, nanoseconds, captured_bytes, wire_bytes]);
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn write_pcapng(
        &mut self,
        number: u32,
        timestamp_ns: u64,
        captured_bytes: u32,
        wire_bytes: u32,
        bytes: &[u8],
    ) -> Result<(), CaptureError> {
        let block_bytes = 32 + captured_bytes.next_multiple_of(4);
        self.make_room(block_bytes as usize)?;
        self.put_u32s(&[
            ENHANCED_PACKET,
            block_bytes,
            number,
            (timestamp_ns >> 32) as u32,
            timestamp_ns as u32,
            captured_bytes,
            wire_bytes,
        ]);
        self.buffer.extend_from_slice(bytes);
        self.pad();
        self.put_u32s(&[block_bytes]);
        Ok(())
    }

    /// Writes the file's first header, once.
    fn begin(&mut self) {
        if self.header_written {
            return;
        }
        self.header_written = true;
        match self.format {
            Format::PcapNg => {
                self.put_u32s(&[SECTION_HEADER, 28, BYTE_ORDER_MAGIC]);
                self.put_u16s(&[1, 0]);
                // The section's length is not known in advance: all ones.
                self.put_u32s(&[u32::MAX, u32::MAX, 28]);
            }
            Format::Pcap | Format::Tsh => {
                let link = self
                    .interfaces
                    .first()
                    .map_or(LinkType::Ethernet, |first| first.interface.link);
                self.put_u32s(&[pcap::MAGIC_NANOSECONDS]);
                self.put_u16s(&[2, 4]);
                // Readers built on libpcap cut records at the declared snap
                // length, and records may have grown since they were captured.
                let widest = self
                    .interfaces
                    .iter()
                    .map(|declared| declared.interface.snap_bytes);
                let snap_bytes = widest.max().unwrap_or(0).max(MAX_RECORD_BYTES as u32);
                self.put_u32s(&[0, 0, snap_bytes, link.dlt()]);
            }
        }
    }

    /// Appends a pcapng interface description.
    fn describe(&mut self, interface: &Interface) -> Result<(), CaptureError> {
        let name = interface.name.as_deref().unwrap_or_default().as_bytes();
        let name = &name[..name.len().min(MAX_NAME_BYTES)];
        let name_bytes = if name.is_empty() {
            0
        } else {
            4 + name.len().next_multiple_of(4)
        };
        let block_bytes = 32 + name_bytes;
        self.make_room(block_bytes)?;
        self.put_u32s(&[INTERFACE_DESCRIPTION, block_bytes as u32]);
        self.put_u16s(&[interface.link.dlt() as u16, 0]);
        self.put_u32s(&[interface.snap_bytes]);
        if !name.is_empty() {
            self.put_u16s(&[OPTION_INTERFACE_NAME, name.len() as u16]);
            self.buffer.extend_from_slice(name);
            self.pad();
        }
        self.put_u16s(&[OPTION_TIME_RESOLUTION, 1]);
        self.buffer.push(NANOSECOND_RESOLUTION);
        self.pad();
        self.put_u16s(&[OPTION_END, 0]);
        self.put_u32s(&[block_bytes as u32]);
        self.descriptions += 1;
        Ok(())
    }

    /// Describes an interface again with a snap length that holds any record.
    /// Readers built on libpcap refuse a pcapng record above its interface's
    /// snap length, and a tunnel makes packets longer than they were captured.
    fn widen(&mut self, interface: u32) -> Result<u32, CaptureError> {
        let number = self.descriptions;
        let Some(declared) = self.interfaces.get_mut(interface as usize) else {
            return Ok(number);
        };
        declared.interface.snap_bytes = MAX_RECORD_BYTES as u32;
        declared.number = number;
        let widened = declared.interface.clone();
        self.describe(&widened)?;
        Ok(number)
    }

    /// Pads to a multiple of 4 bytes: all blocks start at one.
    fn pad(&mut self) {
        let misaligned = self.offset() % 4;
        let padding = (4 - misaligned as usize) % 4;
        self.buffer.extend_from_slice(&[0; 3][..padding]);
    }

    fn put_u32s(&mut self, values: &[u32]) {
        for value in values {
            self.buffer.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn put_u16s(&mut self, values: &[u16]) {
        for value in values {
            self.buffer.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// Empties the buffer if fewer than `bytes` are free in it.
    fn make_room(&mut self, bytes: usize) -> Result<(), CaptureError> {
        if self.buffer.len() + bytes > BUFFER_BYTES {
            return self.drain();
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), CaptureError> {
        if let Err(source) = self.output.write_all(&self.buffer) {
            // Of a file that cannot be cut either, the rest of a record remains, which readers
            // report.
            let _ = self.output.cut(self.drained_bytes);
            return Err(CaptureError::Io {
                file: self.file.clone(),
                offset: self.drained_bytes,
                action: match self.output.is_in_place() {
                    true => APPENDING,
                    false => "writing",
                },
                source,
            });
        }
        self.drained_bytes += self.buffer.len() as u64;
        self.drained_records = self.records;
        self.buffer.clear();
        Ok(())
    }
}

fn fits(interface: &Interface, captured_bytes: u32) -> bool {
    interface.snap_bytes == 0 || captured_bytes <= interface.snap_bytes
}

const BUFFER_BYTES: usize = 2 * MAX_RECORD_BYTES;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
/// `if_tsresol` of nanoseconds: 10^-9.
const NANOSECOND_RESOLUTION: u8 = 9;
