//! A reader over zstd data: any number of frames, skippable frames between
//! them, checksums compared (RFC 8878).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Decompresses as it is read. The decoder keeps one window (at most 128 MiB,
/// otherwise the frame is refused) and one block of 128 KiB in memory.
pub(super) struct ZstdReader<R> {
    source: Source<R>,
    decoder: FrameDecoder,
    state: State,
}

enum State {
    BetweenFrames,
    InFrame,
    /// The source ended inside a frame; what was decoded before is still handed out.
    Cut,
}

impl<R: BufRead> ZstdReader<R> {
    pub fn new(inner: R) -> Self {
        ZstdReader {
            source: Source {
                inner,
                ended: false,
            },
            decoder: FrameDecoder::new(),
            state: State::BetweenFrames,
        }
    }

    /// Reads the next frame's header. False at the end of the source.
    fn begin_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.inner.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let mut skipped = Read::take(&mut self.source, length);
                    if io::copy(&mut skipped, &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(self.failure(error)),
            }
        }
    }

    /// Decodes until something can be handed out or the frame is complete.
    fn decode_some(&mut self) -> io::Result<()> {
        while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
            let decoded = self
                .decoder
                .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
            if let Err(error) = decoded {
                if !self.source.ended {
                    return Err(self.failure(error));
                }
                // The decoder holds a window back until the frame is complete.
                // An empty last block completes it, so that a file cut short
                // still yields everything in front of the cut.
                self.state = State::Cut;
                self.decoder
                    .decode_blocks(EMPTY_LAST_BLOCK, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            }
        }
        Ok(())
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.state = State::BetweenFrames;
        match self.decoder.get_checksum_from_data() {
            Some(stored) if self.decoder.get_calculated_checksum() != Some(stored) => Err(
                io::Error::new(io::ErrorKind::InvalidData, "checksum mismatch"),
            ),
            _ => Ok(()),
        }
    }

    fn failure(&self, error: FrameDecoderError) -> io::Error {
        if self.source.ended {
            io::ErrorKind::UnexpectedEof.into()
        } else {
            io::Error::new(io::ErrorKind::InvalidData, error.to_string())
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if target.is_empty() {
            return Ok(0);
        }
        loop {
            match self.state {
                State::BetweenFrames => {
                    if !self.begin_frame()? {
                        return Ok(0);
                    }
                    self.state = State::InFrame;
                }
                State::InFrame => {
                    self.decode_some()?;
                    let bytes = self.decoder.read(target)?;
                    if bytes > 0 {
                        return Ok(bytes);
                    }
                    if let State::InFrame = self.state {
                        self.end_frame()?;
                    }
                }
                State::Cut => {
                    let bytes = self.decoder.read(target)?;
                    if bytes > 0 {
                        return Ok(bytes);
                    }
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}

/// Remembers that the compressed data ran out: the decoder's errors do not
/// distinguish this reliably from damage.
struct Source<R> {
    inner: R,
    ended: bool,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(target)?;
        self.ended |= bytes == 0 && !target.is_empty();
        Ok(bytes)
    }
}

/// Header of a raw block of no bytes with the last-block bit set (RFC 8878,
/// 3.1.1.2), and space for a content checksum, which is not compared.
const EMPTY_LAST_BLOCK: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn compressed(data: &[u8]) -> Vec<u8> {
        compress_to_vec(data, CompressionLevel::Fastest)
    }

    fn decompressed(data: &[u8]) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut out = Vec::new();
        let end = ZstdReader::new(data).read_to_end(&mut out);
        (out, end.err().map(|error| error.kind()))
    }

    /// Bytes that do not compress: a 64-bit linear congruential sequence.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1u64;
        (0..bytes)
            .map(|_| {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (state >> 56) as u8
            })
            .collect()
    }

    #[test]
    fn frames_and_skippable_frames_are_joined() {
        let mut file = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        file.extend(compressed(b"first "));
        file.extend([0x5f, 0x2a, 0x4d, 0x18, 0, 0, 0, 0]);
        file.extend(compressed(b"second"));
        assert_eq!(decompressed(&file), (b"first second".to_vec(), None));
    }

    #[test]
    fn a_cut_frame_yields_the_blocks_in_front_of_the_cut() {
        let data = noise(1_000_000);
        let file = compressed(&data);
        let (out, error) = decompressed(&file[..file.len() - 10_000]);
        assert_eq!(error, Some(io::ErrorKind::UnexpectedEof));
        assert!(out.len() > 500_000);
        assert_eq!(out, data[..out.len()]);
    }

    #[test]
    fn every_cut_is_noticed() {
        let file = compressed(b"a capture, a capture, a capture");
        for cut in 1..file.len() {
            let (_, error) = decompressed(&file[..cut]);
            assert_eq!(error, Some(io::ErrorKind::UnexpectedEof), "cut at {cut}");
        }
    }

    #[test]
    fn a_wrong_checksum_is_noticed() {
        let mut file = compressed(&noise(1000));
        let last = file.len() - 1;
        file[last] ^= 1;
        assert_eq!(decompressed(&file).1, Some(io::ErrorKind::InvalidData));
    }
}
