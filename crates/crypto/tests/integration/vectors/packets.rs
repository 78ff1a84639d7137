//! The parts of a packet in memory, at any alignment, between guard bytes.

use weir_crypto::{OpenJob, OpeningKey};

use super::case::Case;
use super::shuffle::Shuffle;

/// A cache line: every alignment that a kernel may care for lies within.
const LINE_BYTES: usize = 64;

const GUARD: u8 = 0xa5;

/// Bytes that a job may write, between bytes that it may not.
pub struct Guarded {
    buffer: Vec<u8>,
    at: usize,
    bytes: usize,
}

impl Guarded {
    pub fn new(content: &[u8], shuffle: &mut Shuffle) -> Guarded {
        let mut buffer = vec![GUARD; content.len() + 3 * LINE_BYTES];
        let at = LINE_BYTES + shuffle.below(LINE_BYTES);
        buffer[at..][..content.len()].copy_from_slice(content);
        Guarded {
            buffer,
            at,
            bytes: content.len(),
        }
    }

    pub fn get(&self) -> &[u8] {
        &self.buffer[self.at..][..self.bytes]
    }

    pub fn get_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.at..][..self.bytes]
    }

    pub fn is_guarded(&self) -> bool {
        let after = self.at + self.bytes;
        let mut guards = self.buffer[..self.at].iter().chain(&self.buffer[after..]);
        guards.all(|&byte| byte == GUARD)
    }
}

/// A packet of a batch. What jobs only read is guarded too, so that it lies at
/// all alignments.
pub struct Packet {
    pub prefix: Guarded,
    pub iv: Guarded,
    pub text: Guarded,
    pub suffix: Guarded,
    pub tag: Guarded,
}

impl Packet {
    pub fn before_sealing(case: &Case, shuffle: &mut Shuffle) -> Packet {
        // Neither was ever right: both must be written.
        let tag: Vec<u8> = case.tag.iter().map(|byte| !byte).collect();
        Packet::new(case, &case.text, &tag, shuffle)
    }

    pub fn before_opening(case: &Case, shuffle: &mut Shuffle) -> Packet {
        Packet::new(case, &case.sealed, &case.tag, shuffle)
    }

    fn new(case: &Case, text: &[u8], tag: &[u8], shuffle: &mut Shuffle) -> Packet {
        Packet {
            prefix: Guarded::new(&case.prefix, shuffle),
            iv: Guarded::new(&case.iv, shuffle),
            text: Guarded::new(text, shuffle),
            suffix: Guarded::new(&case.suffix, shuffle),
            tag: Guarded::new(tag, shuffle),
        }
    }

    pub fn open_job<'a>(&'a mut self, key: &'a OpeningKey) -> OpenJob<'a> {
        OpenJob {
            key,
            prefix: self.prefix.get(),
            iv: self.iv.get(),
            text: self.text.get_mut(),
            suffix: self.suffix.get(),
            tag: self.tag.get(),
            // Whatever it held before.
            verified: true,
        }
    }

    pub fn expect_sealed(&self, case: &Case) {
        let source = &case.source;
        assert_eq!(self.text.get(), case.sealed, "{source}: ciphertext");
        assert_eq!(self.tag.get(), case.tag, "{source}: tag");
        self.expect_guarded(case);
    }

    pub fn expect_opened(&self, case: &Case, verified: bool) {
        let source = &case.source;
        assert!(verified, "{source}: does not open");
        assert_eq!(self.text.get(), case.text, "{source}: text");
        self.expect_guarded(case);
    }

    pub fn expect_refused(&self, case: &Case, verified: bool) {
        let source = &case.source;
        assert!(!verified, "{source}: is taken for authentic");
        let is_clear = self.text.get().iter().all(|&byte| byte == 0);
        assert!(is_clear, "{source}: releases text");
        self.expect_guarded(case);
    }

    fn expect_guarded(&self, case: &Case) {
        for part in [&self.prefix, &self.iv, &self.text, &self.suffix, &self.tag] {
            assert!(part.is_guarded(), "{}: wrote beyond a part", case.source);
        }
    }
}
