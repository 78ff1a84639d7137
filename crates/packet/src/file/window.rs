//! A moving window over an input: always one block, in which the unread bytes
//! lie contiguously.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use super::CaptureError;
use super::block::{BLOCK_BYTES, Block, BlockPool};
use super::framing::Cursor;
use super::input::Input;

pub(super) struct Window {
    input: Input,
    pool: BlockPool,
    block: Arc<Block>,
    /// First unread byte in the block.
    position: usize,
    /// Where in the (decompressed) input the block begins.
    block_offset: u64,
    end: Option<End>,
    /// How long a pipe is waited for; `None` is as long as it takes.
    patience: Option<Duration>,
}

/// How the input ended.
enum End {
    Clean,
    /// A compressed stream stopped in the middle.
    Cut,
    Failed(io::Error),
}

impl Window {
    pub fn new(input: Input) -> Self {
        Window {
            input,
            pool: BlockPool::default(),
            block: Arc::new(Block::from(Vec::new())),
            position: 0,
            block_offset: 0,
            end: None,
            patience: None,
        }
    }

    pub fn input(&self) -> &Input {
        &self.input
    }

    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Whether nothing follows the unread bytes.
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The block that holds the unread bytes.
    pub fn block(&self) -> &Arc<Block> {
        &self.block
    }

    pub fn unread(&self) -> &[u8] {
        &self.block[self.position..]
    }

    /// The unread bytes, for a framing to walk through.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor {
            file: self.input.name(),
            block_offset: self.block_offset,
            bytes: &self.block,
            position: self.position,
        }
    }

    /// Moves to where a cursor came to.
    pub fn advance_to(&mut self, position: usize) {
        self.position = position.clamp(self.position, self.block.len());
    }

    /// Makes at least `bytes` unread bytes available, in a new block if need
    /// be. False if the input ends before, or if a pipe has no more within the
    /// patience: [`Self::has_ended`] distinguishes them.
    pub fn require(&mut self, bytes: usize) -> bool {
        if self.unread().len() >= bytes {
            return true;
        }
        if self.end.is_some() {
            return false;
        }
        let limit = bytes.max(BLOCK_BYTES);
        let unread = &self.block[self.position..];
        let mut next = self.pool.take(unread, limit);
        loop {
            let enough = self.input.is_live() && next.len() >= bytes;
            if enough || next.spare_mut(limit).is_empty() {
                break;
            }
            if let Some(patience) = self.patience
                && !self.input.wait(patience)
            {
                break;
            }
            match self.input.read(next.spare_mut(limit)) {
                Ok(0) => {
                    self.end = Some(End::Clean);
                    break;
                }
                Ok(read) => next.extend_used(read),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::UnexpectedEof => {
                        self.end = Some(End::Cut);
                        break;
                    }
                    _ => {
                        self.end = Some(End::Failed(error));
                        break;
                    }
                },
            }
        }
        self.block_offset += self.position as u64;
        self.position = 0;
        self.block = self.freeze(next);
        self.block.len() >= bytes
    }

    /// Shares a filled block. A slow pipe fills little at a time: that is
    /// copied, so that a record held back does not hold a whole block with it.
    fn freeze(&mut self, block: Block) -> Arc<Block> {
        if block.len() >= BLOCK_BYTES / 16 {
            return self.pool.share(block);
        }
        let small = Arc::new(Block::from(block.to_vec()));
        self.pool.put_back(block);
        small
    }

    /// The result of reading when [`Self::require`] could not provide `bytes`:
    /// a clean end, or what went wrong. `begun` is the start of a block whose
    /// body was already skipped in part.
    pub fn conclude(&mut self, bytes: usize, begun: Option<u64>) -> Result<(), CaptureError> {
        let clean = matches!(self.end, None | Some(End::Clean));
        if clean && begun.is_none() && self.unread().is_empty() {
            return Ok(());
        }
        let begun = begun.unwrap_or(self.block_offset + self.position as u64);
        Err(self.incomplete(bytes, begun))
    }

    /// Why a header, record or block at `offset`, of which `bytes` were needed
    /// from here, is not whole.
    pub fn incomplete(&mut self, bytes: usize, offset: u64) -> CaptureError {
        match self.end.take() {
            Some(End::Failed(source)) => self.failure(source),
            None | Some(End::Clean | End::Cut) => CaptureError::Truncated {
                file: self.input.name().to_owned(),
                offset,
                missing_bytes: bytes.saturating_sub(self.unread().len()).max(1) as u64,
            },
        }
    }

    fn failure(&self, source: io::Error) -> CaptureError {
        let file = self.input.name().to_owned();
        let offset = self.block_offset + self.block.len() as u64;
        match (self.input.compression(), source.kind()) {
            (
                Some(compression),
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other,
            ) => CaptureError::Decompression {
                file,
                offset,
                method: compression.name(),
                reason: source.to_string(),
            },
            _ => CaptureError::Io {
                file,
                offset,
                action: "reading",
                source,
            },
        }
    }
}
