//! Content codings (RFC 9110, section 8.4), and transfer codings other than chunked
//! (RFC 9112, section 7.2): a body is decoded as browsers and servers do, also
//! where several codings were applied, and where what is announced is not what came.

use std::io::{self, Write};

use brotli_decompressor::BrotliDecoderParameter::BROTLI_DECODER_PARAM_LARGE_WINDOW;
use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::zstd::Zstd;

/// Most codings of one body, as curl has it.
const MAX_CODINGS: usize = 5;
/// Bytes that a coding is given at once, so that a bomb bursts small.
const PIECE_BYTES: usize = 512;
/// What brotli hands on at once.
const BROTLI_BUFFER_BYTES: usize = 4096;
/// Most bytes that brotli and zstd make of a piece: unlike deflate, they repeat megabytes in a few bytes.
const MAX_BURST_BYTES: usize = 1 << 20;
/// Most bytes that all codings of a body but the last give together: bombs within bombs.
const MAX_INTERMEDIATE_BYTES: usize = 4 << 20;

/// The codings of a body, the one that was applied last first.
pub(super) struct Codings {
    chain: Vec<Coding>,
    /// What the codings but the last may still give.
    left_bytes: usize,
}

enum Coding {
    /// Before the first byte: what is called gzip may be none, and what is called deflate
    /// comes with the header of zlib or without.
    Undecided {
        is_gzip: bool,
    },
    Gzip(MultiGzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
    Deflate(DeflateDecoder<Vec<u8>>),
    Brotli(Box<DecompressorWriter<Burst>>),
    Zstd(Box<Zstd<Burst>>),
    /// It was no coding after all.
    Identity,
}

/// What comes of a piece; an error where it is too much.
struct Burst(Vec<u8>);

impl Write for Burst {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_BURST_BYTES {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body that is not what its head says, or a bomb: it is taken as it is from here on.
#[derive(Debug)]
pub(super) struct NotCoded;

impl Codings {
    /// The codings that a field lists, in the order in which they were applied; `None` where there are none that are known, or too many.
    pub(super) fn of_field(value: &[u8]) -> Option<Codings> {
        let names = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let chain: Vec<Coding> = names.rev().filter_map(Coding::named).collect();
        if chain.is_empty() || chain.len() > MAX_CODINGS {
            return None;
        }
        Some(Codings {
            chain,
            left_bytes: MAX_INTERMEDIATE_BYTES,
        })
    }

    /// Decodes a piece, and appends to `out` while it is shorter than `most` bytes.
    pub(super) fn decode(
        &mut self,
        piece: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<(), NotCoded> {
        decode(&mut self.chain, piece, &mut self.left_bytes, out, most)
    }

    /// Memory of the decoders, about.
    pub(super) fn memory_bytes(&self) -> usize {
        self.chain.iter().map(Coding::memory_bytes).sum()
    }
}

fn decode(
    chain: &mut [Coding],
    bytes: &[u8],
    left_bytes: &mut usize,
    out: &mut Vec<u8>,
    most: usize,
) -> Result<(), NotCoded> {
    let Some((first, rest)) = chain.split_first_mut() else {
        out.extend_from_slice(&bytes[..bytes.len().min(most - out.len())]);
        return Ok(());
    };
    for piece in bytes.chunks(PIECE_BYTES) {
        if out.len() >= most {
            return Ok(());
        }
        let (decoded, result) = first.decode(piece);
        if !rest.is_empty() {
            *left_bytes = left_bytes.checked_sub(decoded.len()).ok_or(NotCoded)?;
        }
        decode(rest, decoded, left_bytes, out, most)?;
        result?;
    }
    Ok(())
}

impl Coding {
    fn named(name: &[u8]) -> Option<Coding> {
        let is_named = |names: &[&[u8]]| names.iter().any(|n| n.eq_ignore_ascii_case(name));
        if is_named(&[b"gzip", b"x-gzip"]) {
            Some(Coding::Undecided { is_gzip: true })
        } else if is_named(&[b"deflate", b"x-deflate"]) {
            Some(Coding::Undecided { is_gzip: false })
        } else if is_named(&[b"br"]) {
            let mut decoder = DecompressorWriter::new(Burst(Vec::new()), BROTLI_BUFFER_BYTES);
            // Windows of more than 16 MiB are not part of RFC 7932.
            decoder.set_parameter(BROTLI_DECODER_PARAM_LARGE_WINDOW, 0);
            Some(Coding::Brotli(Box::new(decoder)))
        } else if is_named(&[b"zstd"]) {
            Some(Coding::Zstd(Box::new(Zstd::new(Burst(Vec::new())))))
        } else {
            None
        }
    }

    /// Windows and tables. That of brotli grows with what it gives, of which a body keeps little.
    fn memory_bytes(&self) -> usize {
        match self {
            Coding::Undecided { .. } | Coding::Identity => 0,
            Coding::Gzip(_) | Coding::Zlib(_) | Coding::Deflate(_) => 48 << 10,
            Coding::Brotli(_) => 256 << 10,
            Coding::Zstd(decoder) => decoder.memory_bytes(),
        }
    }

    /// What a piece gives, also in front of what is wrong.
    fn decode<'a>(&'a mut self, piece: &'a [u8]) -> (&'a [u8], Result<(), NotCoded>) {
        if let (Coding::Undecided { is_gzip }, Some(first)) = (&self, piece.first()) {
            *self = match (is_gzip, first) {
                (_, 0x1f) => Coding::Gzip(MultiGzDecoder::new(Vec::new())),
                (true, _) => Coding::Identity,
                (false, first) if first & 0x0f == 8 => Coding::Zlib(ZlibDecoder::new(Vec::new())),
                (false, _) => Coding::Deflate(DeflateDecoder::new(Vec::new())),
            };
        }
        let (result, decoded) = match self {
            Coding::Undecided { .. } | Coding::Identity => return (piece, Ok(())),
            Coding::Gzip(decoder) => {
                decoder.get_mut().clear();
                (write(decoder, piece), decoder.get_ref())
            }
            Coding::Zlib(decoder) => {
                decoder.get_mut().clear();
                (write(decoder, piece), decoder.get_ref())
            }
            Coding::Deflate(decoder) => {
                decoder.get_mut().clear();
                (write(decoder, piece), decoder.get_ref())
            }
            Coding::Brotli(decoder) => {
                decoder.get_mut().0.clear();
                (write(decoder, piece), &decoder.get_ref().0)
            }
            Coding::Zstd(decoder) => {
                decoder.output_mut().0.clear();
                let result = decoder.decode(piece);
                return (&decoder.output().0, result);
            }
        };
        (decoded, result.map_err(|_| NotCoded))
    }
}

/// The decoders hold back what they have until they are asked to flush.
fn write(decoder: &mut impl Write, piece: &[u8]) -> io::Result<()> {
    decoder.write_all(piece)?;
    decoder.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    fn decoded(field: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut codings = Codings::of_field(field)?;
        let mut out = Vec::new();
        codings.decode(bytes, &mut out, 1 << 20).ok()?;
        Some(out)
    }

    #[test]
    fn codings_are_undone_in_the_order_of_the_list() {
        let text = b"a text that is said again, a text that is said again".to_vec();
        let twice = gzip(&gzip(&text));
        for field in [
            "gzip, gzip",
            "GZIP,\r\n\tx-gzip",
            "identity, gzip , deflate",
            "gzip,deflate",
        ] {
            assert_eq!(
                decoded(field.as_bytes(), &twice),
                Some(text.clone()),
                "{field}"
            );
        }
        // Members of gzip one after the other are one body.
        let members = [gzip(&text[..9]), gzip(&text[9..])].concat();
        assert_eq!(decoded(b"gzip", &members), Some(text.clone()));
        // Announced twice, applied once.
        assert_eq!(decoded(b"gzip, gzip", &gzip(&text)), Some(text.clone()));
        assert_eq!(decoded(b"identity", &text), None);
        assert!(decoded(b"gzip, gzip, gzip, gzip, gzip, gzip", &text).is_none());
    }

    #[test]
    fn brotli_is_decoded_and_its_bombs_burst_small() {
        // "a page, a page, a page, a page, a page\n", as `brotli --best` has it.
        let page = hex("1b2600f88d946edeb406092b83930a2c67a5483fe14090bd00");
        let text = b"a page, a page, a page, a page, a page\n";
        assert_eq!(decoded(b"br", &page).as_deref(), Some(&text[..]));
        assert_eq!(
            decoded(b"br, gzip", &gzip(&page)).as_deref(),
            Some(&text[..])
        );
        let mut codings = Codings::of_field(b"BR").expect("a coding");
        let mut out = Vec::new();
        for piece in page.chunks(1) {
            codings.decode(piece, &mut out, 1 << 20).expect("a page");
        }
        assert_eq!(out, text);
        // 64 MiB of zeros.
        let bomb = hex(
            "cfffff7ff82700e2b14020f7fe9ffffffff04f00c4610180eefd3fffffffe19f0088c32200ddfb7ffeffffc33f0110870500baf7ff03",
        );
        let mut codings = Codings::of_field(b"br").expect("a coding");
        let mut out = Vec::new();
        assert!(codings.decode(&bomb, &mut out, 100_000).is_err());
        assert_eq!(out.len(), 100_000);
        assert!(out.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn zstd_is_decoded_and_its_bombs_burst_small() {
        let page = hex("28b52ffd04687d0000406120706167652c2001001557970bc0d2606e");
        let text = b"a page, ".repeat(100);
        assert_eq!(decoded(b"zstd", &page).as_deref(), Some(&text[..]));
        assert_eq!(
            decoded(b"ZSTD, gzip", &gzip(&page)).as_deref(),
            Some(&text[..])
        );
        assert_eq!(decoded(b"zstd", &text), None);
        // 128 blocks of 128 KiB of zeros in a piece: a window of 8 MiB, and then too much.
        let bomb = [
            &[0x28, 0xb5, 0x2f, 0xfd, 0, 0x68][..],
            &[0x02, 0, 0x10, 0].repeat(128),
        ];
        let mut codings = Codings::of_field(b"zstd").expect("a coding");
        let mut out = Vec::new();
        assert!(codings.decode(&bomb.concat(), &mut out, 100_000).is_err());
        assert_eq!(out.len(), 100_000);
        assert!(codings.memory_bytes() <= 9 << 20);
    }

    fn hex(text: &str) -> Vec<u8> {
        let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
        (0..text.len()).step_by(2).map(byte).collect()
    }

    #[test]
    fn bombs_within_bombs_burst_small() {
        let zeros = vec![0; 64 << 20];
        let bomb = gzip(&gzip(&zeros));
        let out = decoded(b"gzip, gzip", &bomb).expect("up to the bound");
        assert_eq!(out.len(), 1 << 20);
        // Nothing comes out of the last coding, and much goes in.
        let empty_members = gzip(b"").repeat(1 << 20);
        let bomb = gzip(&gzip(&empty_members));
        assert!(decoded(b"gzip, gzip, gzip", &bomb).is_none());
    }
}
