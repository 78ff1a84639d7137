//! Kernels of the compression functions: several messages side by side.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod kernels;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod sha_ni;

use weir_simd::{Lanes, Tier};

use super::compression::Word;

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
    hmac: Hmac<W>,
}

/// A message of each lane and what HMAC makes of it. All are cut alike.
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "other processors have no kernels")
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

    /// Leaves the state behind the outer hash of each lane in `states`.
    ///
    /// # Panics
    /// A stream is shorter than its blocks, or the kernel's lanes.
    pub(super) fn hmac(&self, row: &HmacRow<'_, W>, states: &mut States<W>) {
        let has = |streams: &Streams<'_>, blocks: usize| {
            let bytes = blocks * W::BLOCK_BYTES;
            streams[..self.lanes].iter().all(|s| s.len() >= bytes)
        };
        assert!(has(&row.bodies, row.body_blocks) && has(&row.ends, row.end_blocks));
        // SAFETY: `Candidate::under` has found the instructions, and the
        // streams are long enough.
        unsafe { (self.hmac)(row, states) }
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
/// messages, module of the code. Empty on processors without any.
macro_rules! candidates {
    ($name:ident: $word:ty; $(
        $kernel:literal, $tier:ident, $beyond_tier:expr, $lanes:expr, $fewest:literal,
        $module:ident::$function:ident;
    )*) => {
        #[cfg(target_arch = "x86_64")]
        pub(super) static $name: Candidates<$word> = &[$(Candidate {
            kernel: LaneKernel {
                name: $kernel,
                tier: Tier::$tier,
                lanes: $lanes,
                fewest: $fewest,
                advance: kernels::$module::$function::advance,
                take_words: kernels::$module::$function::take_words,
                hmac: kernels::$module::$function::hmac,
            },
            beyond_tier: $beyond_tier,
        }),*];
        #[cfg(not(target_arch = "x86_64"))]
        pub(super) static $name: Candidates<$word> = &[];
    };
}

candidates! {
    MD5: u32;
    "md5-avx512-x16", Avx512, always, 16, 9, avx512::md5;
    "md5-avx2-x8", Aesni, always, 8, 2, avx2::md5;
}
candidates! {
    SHA1: u32;
    "sha1-avx512-x16", Avx512, always, 16, 9, avx512::sha1;
    "sha1-avx2-x8", Aesni, always, 8, 7, avx2::sha1;
    "sha1-sha-ni-x2", Aesni, has_sha, sha_ni::LANES, 2, sha_ni::sha1;
}
candidates! {
    SHA256: u32;
    "sha256-avx512-x16", Avx512, always, 16, 14, avx512::sha256;
    "sha256-sha-ni-x2", Aesni, has_sha, sha_ni::LANES, 2, sha_ni::sha256;
    "sha256-avx2-x8", Aesni, always, 8, 5, avx2::sha256;
}
candidates! {
    SHA512: u64;
    "sha512-avx512-x8", Avx512, always, 8, 5, avx512::sha512;
    "sha512-avx2-x4", Aesni, always, 4, 2, avx2::sha512;
}

#[cfg(target_arch = "x86_64")]
fn always() -> bool {
    true
}

#[cfg(target_arch = "x86_64")]
fn has_sha() -> bool {
    is_x86_feature_detected!("sha")
}
