//! Zstandard (RFC 8878), fed piece by piece.

use std::io::Write;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::coding::NotCoded;

/// Largest window of a frame: what RFC 9659 permits in HTTP.
const MAX_WINDOW_BYTES: u64 = 8 << 20;
const MAGIC: u32 = 0xfd2f_b528;
/// Magic numbers of frames that are skipped, but for their last four bits.
const SKIPPED_MAGIC: u32 = 0x184d_2a50;
const BLOCK_HEADER_BYTES: usize = 3;
/// The longest block (RFC 8878, section 3.1.1.2.4).
const MAX_BLOCK_BYTES: usize = 128 << 10;

/// Where in a body.
#[derive(Clone, Copy)]
enum Place {
    /// Before a frame.
    FrameHeader,
    /// Before a block; whether four bytes of checksum are behind the last one.
    Block { has_checksum: bool },
    /// In a frame that is skipped, with how many of its bytes are left.
    Skipped(u64),
}

/// A decoder that keeps the start of a block until the whole of it is there. What it gives it holds back
/// until a window's length lies behind it, or the frame ends.
pub(super) struct Zstd<W> {
    decoder: FrameDecoder,
    place: Place,
    pending: Vec<u8>,
    /// Most bytes that the blocks so far may have given.
    given_bytes: u64,
    output: W,
}

impl<W: Write> Zstd<W> {
    pub(super) fn new(output: W) -> Zstd<W> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW_BYTES);
        Zstd {
            decoder,
            place: Place::FrameHeader,
            pending: Vec::new(),
            given_bytes: 0,
            output,
        }
    }

    pub(super) fn output(&self) -> &W {
        &self.output
    }

    pub(super) fn output_mut(&mut self) -> &mut W {
        &mut self.output
    }

    /// Memory of the window and of the block that is not complete, at most.
    pub(super) fn memory_bytes(&self) -> usize {
        self.given_bytes.min(MAX_WINDOW_BYTES) as usize + self.pending.capacity()
    }

    /// Decodes what a piece completes. An error is for good.
    pub(super) fn decode(&mut self, piece: &[u8]) -> Result<(), NotCoded> {
        self.pending.extend_from_slice(piece);
        let mut pending = std::mem::take(&mut self.pending);
        let mut rest = &pending[..];
        let result = loop {
            match self.step(rest) {
                Ok(Some(taken)) => rest = rest.get(taken..).unwrap_or_default(),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let taken = pending.len() - rest.len();
        pending.drain(..taken);
        self.pending = pending;
        result
    }

    /// Takes in what is at the start of `bytes`, and says how long that is; `None` where it is not all
    /// there.
    fn step(&mut self, bytes: &[u8]) -> Result<Option<usize>, NotCoded> {
        match self.place {
            Place::FrameHeader => self.begin_frame(bytes),
            Place::Block { has_checksum } => self.decode_block(bytes, has_checksum),
            Place::Skipped(left) => {
                let taken = left.min(bytes.len() as u64);
                self.place = match left - taken {
                    0 => Place::FrameHeader,
                    left => Place::Skipped(left),
                };
                Ok((taken > 0 || left == 0).then_some(taken as usize))
            }
        }
    }

    fn begin_frame(&mut self, bytes: &[u8]) -> Result<Option<usize>, NotCoded> {
        let Some((magic, rest)) = bytes.split_first_chunk() else {
            return Ok(None);
        };
        let magic = u32::from_le_bytes(*magic);
        if magic & !0xf == SKIPPED_MAGIC {
            let length = rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
            return Ok(length.map(|length| {
                self.place = Place::Skipped(length.into());
                8
            }));
        }
        if magic != MAGIC {
            return Err(NotCoded);
        }
        // Section 3.1.1.1.1: window, dictionary and length of the content are there or not.
        let Some(descriptor) = rest.first() else {
            return Ok(None);
        };
        let is_single_segment = descriptor & 0x20 != 0;
        let content_size_bytes = match (descriptor >> 6, is_single_segment) {
            (0, false) => 0,
            (0, true) => 1,
            (1, _) => 2,
            (2, _) => 4,
            _ => 8,
        };
        let dictionary_bytes = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let window_bytes = usize::from(!is_single_segment);
        let header_bytes = 5 + window_bytes + dictionary_bytes + content_size_bytes;
        let Some(header) = bytes.get(..header_bytes) else {
            return Ok(None);
        };
        self.decoder.reset(header).map_err(|_| NotCoded)?;
        self.given_bytes = 0;
        self.place = Place::Block {
            has_checksum: descriptor & 4 != 0,
        };
        Ok(Some(header_bytes))
    }

    fn decode_block(
        &mut self,
        bytes: &[u8],
        has_checksum: bool,
    ) -> Result<Option<usize>, NotCoded> {
        let [b0, b1, b2, ..] = *bytes else {
            return Ok(None);
        };
        let header = u32::from_le_bytes([b0, b1, b2, 0]);
        let (is_last, kind) = (header & 1 != 0, header >> 1 & 3);
        let content_bytes = match kind {
            // One byte, repeated.
            1 => 1,
            _ => (header >> 3) as usize,
        };
        if content_bytes > MAX_BLOCK_BYTES {
            return Err(NotCoded);
        }
        let checksum_bytes = if is_last && has_checksum { 4 } else { 0 };
        let block_bytes = BLOCK_HEADER_BYTES + content_bytes + checksum_bytes;
        let Some(block) = bytes.get(..block_bytes) else {
            return Ok(None);
        };
        self.given_bytes += match kind {
            2 => MAX_BLOCK_BYTES as u64,
            _ => u64::from(header >> 3),
        };
        let one = BlockDecodingStrategy::UptoBlocks(1);
        let decoded = self.decoder.decode_blocks(block, one);
        decoded.map_err(|_| NotCoded)?;
        let collected = self.decoder.collect_to_writer(&mut self.output);
        collected.map_err(|_| NotCoded)?;
        if is_last {
            self.place = Place::FrameHeader;
        }
        Ok(Some(block_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "a page, " a hundred times, as `zstd -19` has it.
    const PAGE: &str = "28b52ffd04687d0000406120706167652c2001001557970bc0d2606e";

    fn hex(text: &str) -> Vec<u8> {
        let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
        (0..text.len()).step_by(2).map(byte).collect()
    }

    fn decoded(bytes: &[u8], piece_bytes: usize) -> (Vec<u8>, bool) {
        let mut zstd = Zstd::new(Vec::new());
        let result = (bytes.chunks(piece_bytes)).try_for_each(|piece| zstd.decode(piece));
        (zstd.output, result.is_ok())
    }

    #[test]
    fn frames_are_decoded_however_they_are_cut() {
        let page = hex(PAGE);
        let text = b"a page, ".repeat(100);
        for piece_bytes in [1, 2, 7, 4096] {
            assert_eq!(decoded(&page, piece_bytes), (text.clone(), true));
        }
        // Frame by frame, and over one that is to be skipped.
        let skipped = [0x57, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 0xff, 0xff];
        let empty = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
        let several = [&page[..], &skipped, &empty, &page].concat();
        for piece_bytes in [1, 4096] {
            assert_eq!(decoded(&several, piece_bytes), (text.repeat(2), true));
        }
    }

    /// Blocks of 128 KiB that are one byte, repeated: nothing is given before the window is full,
    /// and what is kept is no more than that.
    #[test]
    fn bombs_fill_a_window_and_no_more() {
        let mut zstd = Zstd::new(Vec::new());
        zstd.decode(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x68])
            .expect("a header");
        let block = [0x02, 0, 0x10, b'a'];
        for number in 0..200_usize {
            zstd.decode(&block).expect("a block");
            let window = MAX_WINDOW_BYTES as usize;
            let given = (number + 1) * MAX_BLOCK_BYTES;
            assert_eq!(zstd.output.len(), given.saturating_sub(window));
            assert!(zstd.memory_bytes() <= window + 1024);
        }
        zstd.decode(&[1, 0, 0]).expect("the last block");
        assert_eq!(zstd.output, vec![b'a'; 200 * MAX_BLOCK_BYTES]);
    }

    #[test]
    fn what_is_not_zstd_is_refused() {
        assert_eq!(decoded(b"<html>", 1), (Vec::new(), false));
        // A window of 16 MiB, and a block of the reserved type.
        assert!(!decoded(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0x70], 9).1);
        assert!(!decoded(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0, 7, 0, 0], 9).1);
        // A dictionary that is not there.
        assert!(!decoded(&[0x28, 0xb5, 0x2f, 0xfd, 1, 0, 9], 9).1);
    }
}
