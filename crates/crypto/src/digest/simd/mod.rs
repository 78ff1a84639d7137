//! Kernels of the compression functions: several messages side by side.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod sha_ni;

use weir_simd::{Lanes, Tier};

use super::compression::Word;
#[cfg(target_arch = "x86_64")]
use super::rounds::{Rounds, Vector};

/// Lanes of the widest kernel.
pub(crate) const MOST_LANES: usize = 16;

/// Up to eight words of state of every lane, word by word: a row is one word
/// of all lanes. Kernels with fewer lanes use the front of each row.
pub(super) type States<W> = Lanes<[W; MOST_LANES], 8>;

/// One block of every lane, word by word, as [`States`].
pub(crate) type Words<W> = Lanes<[W; MOST_LANES], 16>;

/// What each lane reads next; as many as the kernel has lanes count.
pub(super) type Streams<'a> = [&'a [u8]; MOST_LANES];

/// One compression function in lanes. References to it come from
/// [`Candidate::under`] alone, so there is one only on a processor that has the
/// instructions.
pub(super) struct LaneKernel<W> {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name what failed"))]
    pub(super) name: &'static str,
    pub(super) tier: Tier,
    pub(super) lanes: usize,
    /// With fewer messages than this a narrower kernel is done sooner.
    pub(super) fewest: u32,
    advance: Advance<W>,
    take_words: TakeWords<W>,
    /// Where states need not leave the registers between the hashes of HMAC.
    hmac: Option<Hmac<W>>,
}

/// A message of each lane and what HMAC makes of it. All are cut alike.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(
        dead_code,
        reason = "kernels of other processors take the hashes one by one"
    )
)]
pub(crate) struct HmacRow<'a, W> {
    /// The states behind the inner and the outer pad.
    pub(crate) pads: [&'a [[W; 8]; 2]; MOST_LANES],
    /// Whole blocks of the message.
    pub(crate) bodies: Streams<'a>,
    pub(crate) body_blocks: usize,
    /// Its end, padded.
    pub(crate) ends: Streams<'a>,
    pub(crate) end_blocks: usize,
    /// The block of the outer hash, padded, but for the digest.
    pub(crate) outer: &'a Words<W>,
    pub(crate) digest_words: usize,
}

/// Needs the instructions that its module names, and streams as long as the row says.
type Hmac<W> = unsafe fn(&HmacRow<'_, W>, &mut States<W>);

/// Needs the instructions that its module names, and streams of at least
/// this number of blocks.
type Advance<W> = unsafe fn(&mut States<W>, &Streams<'_>, usize);

/// Needs the instructions that its module names.
type TakeWords<W> = unsafe fn(&mut States<W>, &Words<W>);

impl<W: Word> LaneKernel<W> {
    /// Takes `blocks` blocks of every stream into the state of its lane.
    ///
    /// # Panics
    /// A stream is shorter than that, or the kernel's lanes.
    pub(super) fn advance(&self, states: &mut States<W>, streams: &Streams<'_>, blocks: usize) {
        let bytes = blocks * W::BLOCK_BYTES;
        assert!(streams[..self.lanes].iter().all(|s| s.len() >= bytes));
        // SAFETY: `Candidate::under` has found the instructions, and the
        // streams are long enough.
        unsafe { (self.advance)(states, streams, blocks) }
    }

    /// Leaves the state behind the outer hash of each lane in `states` and returns true; or
    /// returns false where the kernel takes the hashes one by one.
    ///
    /// # Panics
    /// A stream is shorter than its blocks, or the kernel's lanes.
    pub(super) fn hmac(&self, row: &HmacRow<'_, W>, states: &mut States<W>) -> bool {
        let Some(hmac) = self.hmac else {
            return false;
        };
        let has = |streams: &Streams<'_>, blocks: usize| {
            let bytes = blocks * W::BLOCK_BYTES;
            streams[..self.lanes].iter().all(|s| s.len() >= bytes)
        };
        assert!(has(&row.bodies, row.body_blocks) && has(&row.ends, row.end_blocks));
        // SAFETY: `Candidate::under` has found the instructions, and the
        // streams are long enough.
        unsafe { hmac(row, states) };
        true
    }

    /// Takes one block of every lane, given as words, into its state.
    pub(super) fn take_words(&self, states: &mut States<W>, words: &Words<W>) {
        // SAFETY: `Candidate::under` has found the instructions.
        unsafe { (self.take_words)(states, words) }
    }
}

/// The kernels of one compression function, the one with most lanes first.
pub(super) type Candidates<W> = &'static [Candidate<W>];

/// A kernel that this processor may lack.
pub(super) struct Candidate<W> {
    kernel: LaneKernel<W>,
    /// Whether the processor has what the tier does not promise.
    beyond_tier: fn() -> bool,
}

impl<W> Candidate<W> {
    /// The kernel, where `tier` includes it and the processor can run it.
    pub(super) fn under(&self, tier: Tier) -> Option<&LaneKernel<W>> {
        let runs = self.kernel.tier <= tier && self.kernel.tier.is_available();
        (runs && (self.beyond_tier)()).then_some(&self.kernel)
    }
}

/// A table of candidates: name, tier and its further condition, lanes, fewest
/// messages, code. Empty on processors without any.
macro_rules! candidates {
    ($name:ident: $word:ty; $(
        $kernel:literal, $tier:ident, $beyond_tier:expr, $lanes:expr, $fewest:literal,
        $module:ident::$function:ident, $hmac:expr;
    )*) => {
        #[cfg(target_arch = "x86_64")]
        pub(super) static $name: Candidates<$word> = &[$(Candidate {
            kernel: LaneKernel {
                name: $kernel,
                tier: Tier::$tier,
                lanes: $lanes,
                fewest: $fewest,
                advance: $module::$function::advance,
                take_words: $module::$function::take_words,
                hmac: $hmac,
            },
            beyond_tier: $beyond_tier,
        }),*];
        #[cfg(not(target_arch = "x86_64"))]
        pub(super) static $name: Candidates<$word> = &[];
    };
}

candidates! {
    MD5: u32;
    "md5-avx512-x16", Avx512, always, 16, 9,
        avx512::md5, Some(avx512::md5::hmac);
    "md5-avx2-x8", Aesni, always, 8, 2,
        avx2::md5, Some(avx2::md5::hmac);
}
candidates! {
    SHA1: u32;
    "sha1-avx512-x16", Avx512, always, 16, 9,
        avx512::sha1, Some(avx512::sha1::hmac);
    "sha1-avx2-x8", Aesni, always, 8, 7,
        avx2::sha1, Some(avx2::sha1::hmac);
    "sha1-sha-ni-x2", Aesni, has_sha, sha_ni::LANES, 2,
        sha_ni::sha1, None;
}
candidates! {
    SHA256: u32;
    "sha256-avx512-x16", Avx512, always, 16, 14,
        avx512::sha256, Some(avx512::sha256::hmac);
    "sha256-sha-ni-x2", Aesni, has_sha, sha_ni::LANES, 2,
        sha_ni::sha256, None;
    "sha256-avx2-x8", Aesni, always, 8, 5,
        avx2::sha256, Some(avx2::sha256::hmac);
}
candidates! {
    SHA512: u64;
    "sha512-avx512-x8", Avx512, always, 8, 5,
        avx512::sha512, Some(avx512::sha512::hmac);
    "sha512-avx2-x4", Aesni, always, 4, 2,
        avx2::sha512, Some(avx2::sha512::hmac);
}

#[cfg(target_arch = "x86_64")]
fn always() -> bool {
    true
}

#[cfg(target_arch = "x86_64")]
fn has_sha() -> bool {
    is_x86_feature_detected!("sha")
}

/// A set of vector instructions, seen as lanes of words `W`.
#[cfg(target_arch = "x86_64")]
trait Isa<W>: Copy {
    type Vector: Vector<W>;

    fn load(self, row: &[W; MOST_LANES]) -> Self::Vector;
    fn store(self, row: &mut [W; MOST_LANES], vector: Self::Vector);

    /// The 16 words at byte `at` of every stream: word by word, lanes are
    /// streams.
    ///
    /// # Safety
    /// The streams of all lanes go on for 16 words from there.
    unsafe fn load_block(
        self,
        streams: &Streams<'_>,
        at: usize,
        big_endian: bool,
    ) -> [Self::Vector; 16];
}

/// The body of a kernel. It becomes code of its instruction set by being
/// inlined into a function that enables it.
///
/// # Safety
/// The streams of all lanes have at least `blocks` blocks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn advance<W: Word, R: Rounds<W>, I: Isa<W>>(
    isa: I,
    states: &mut States<W>,
    streams: &Streams<'_>,
    blocks: usize,
) {
    let mut state = load_state::<W, R, I>(isa, states);
    for block in 0..blocks {
        // SAFETY: the block lies within the streams, as the caller promises.
        let words = unsafe { isa.load_block(streams, block * W::BLOCK_BYTES, R::BIG_ENDIAN) };
        R::compress(&mut state, words);
    }
    store_state::<W, R, I>(isa, states, &state);
}

/// The body of an HMAC kernel.
///
/// # Safety
/// The streams of all lanes have at least `body_blocks` and `end_blocks` blocks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn hmac<W: Word, R: Rounds<W>, I: Isa<W>>(
    isa: I,
    row: &HmacRow<'_, W>,
    states: &mut States<W>,
) {
    let mut pads = [&[][..]; MOST_LANES];
    for (stream, pads) in pads.iter_mut().zip(&row.pads) {
        let bytes = size_of_val(*pads);
        // SAFETY: numbers are bytes.
        *stream = unsafe { std::slice::from_raw_parts(pads.as_ptr().cast(), bytes) };
    }
    // SAFETY: the states of two pads are 16 words.
    let pads = unsafe { isa.load_block(&pads, 0, false) };
    let [mut inner, mut outer] = [[pads[0]; 8]; 2];
    for index in 0..8 {
        (inner[index], outer[index]) = (pads[index], pads[8 + index]);
    }
    let runs = [(&row.bodies, row.body_blocks), (&row.ends, row.end_blocks)];
    for (streams, blocks) in runs {
        for block in 0..blocks {
            let at = block * W::BLOCK_BYTES;
            // SAFETY: the block lies within the streams, as the caller promises.
            let words = unsafe { isa.load_block(streams, at, R::BIG_ENDIAN) };
            R::compress(&mut inner, words);
        }
    }
    let mut block = [inner[0]; 16];
    for (index, (vector, padding)) in block.iter_mut().zip(row.outer.iter()).enumerate() {
        *vector = match inner.get(index) {
            Some(digest) if index < row.digest_words => *digest,
            _ => isa.load(padding),
        };
    }
    R::compress(&mut outer, block);
    store_state::<W, R, I>(isa, states, &outer);
}

/// The body of a kernel that is given words.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn take_words<W: Word, R: Rounds<W>, I: Isa<W>>(isa: I, states: &mut States<W>, words: &Words<W>) {
    let mut state = load_state::<W, R, I>(isa, states);
    let [first, ..] = &words.0;
    let mut block = [isa.load(first); 16];
    for (vector, row) in block.iter_mut().zip(words.iter()) {
        *vector = isa.load(row);
    }
    R::compress(&mut state, block);
    store_state::<W, R, I>(isa, states, &state);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn load_state<W: Word, R: Rounds<W>, I: Isa<W>>(isa: I, states: &States<W>) -> [I::Vector; 8] {
    let [first, ..] = &states.0;
    let mut state = [isa.load(first); 8];
    for (vector, row) in state[1..R::STATE_WORDS].iter_mut().zip(&states[1..]) {
        *vector = isa.load(row);
    }
    state
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn store_state<W: Word, R: Rounds<W>, I: Isa<W>>(
    isa: I,
    states: &mut States<W>,
    state: &[I::Vector; 8],
) {
    for (vector, row) in state[..R::STATE_WORDS].iter().zip(&mut states.0) {
        isa.store(row, *vector);
    }
}
