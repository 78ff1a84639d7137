//! By which route a packet goes through the kernels.

use weir_simd::Tier;

use super::key::KeyForm;
use super::simd::LaneLimits;
use crate::batch::Place;
use crate::suite::AesKeySize;

/// Associated data that fits the block in front of the text, as all of ESP's
/// does (RFC 4106 section 5).
pub(super) const SHORT_ASSOCIATED_BYTES: usize = 16;

/// The longest text that takes no more than twelve slots with the tag's.
pub(super) const SHORT_TEXT_BYTES: usize = 11 * 16;

/// How a packet is processed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Route {
    /// One packet in each 128-bit lane, its key expanded on the way.
    RawLanes,
    /// All lanes on one packet, sixteen keys expanded ahead.
    RawWide,
    /// All lanes on one packet, several packets in flight: those of at most
    /// [`SHORT_ASSOCIATED_BYTES`] and [`SHORT_TEXT_BYTES`].
    FullShort,
    /// All lanes on one packet.
    FullWide,
}

impl Route {
    /// Whether the kernel computes round keys or powers of the hash key.
    pub(super) fn computes_keys(self) -> bool {
        match self {
            Route::RawLanes | Route::RawWide => true,
            Route::FullShort | Route::FullWide => false,
        }
    }
}

/// Packets that run through one kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind {
    pub(super) route: Route,
    pub(super) size: AesKeySize,
}

/// By [`super::Form`], for packets that are not short and for those that are.
const ROUTES_OF_FORMS: [[Route; 2]; 2] = [
    [Route::RawWide, Route::RawLanes],
    [Route::FullWide, Route::FullShort],
];

/// Numbers of kinds: a form, a size, and whether packets are short.
pub(super) const KINDS: usize = ROUTES_OF_FORMS.len() * AesKeySize::ALL.len() * 2;

/// The longest texts of short packets, by [`super::Form`].
#[derive(Clone, Copy)]
pub(super) struct ShortTexts([usize; ROUTES_OF_FORMS.len()]);

impl ShortTexts {
    /// Where lanes have these limits.
    pub(super) fn of(lanes: &LaneLimits) -> ShortTexts {
        ShortTexts([lanes.raw_text_bytes, SHORT_TEXT_BYTES])
    }
}

/// Whether kernels of `tier` take keys of 128 bits raw though they are expanded, for a batch of
/// this many packets that are all alike: up to some length, round keys are expanded in lanes in
/// less time than powers of each packet's hash key are loaded, from memory if its key has not
/// been used lately.
#[inline]
pub(crate) fn takes_raw_keys(tier: Tier, uniform: Option<(Place, usize)>) -> bool {
    let lanes = LaneLimits::of(tier);
    uniform.is_some_and(|(place, packets)| {
        packets >= lanes.alike_packets
            && place.payload_bytes() <= lanes.alike_text_bytes
            && place.aad_bytes() <= SHORT_ASSOCIATED_BYTES
    })
}

impl Kind {
    /// The number of a packet's kind.
    #[inline]
    pub(super) fn number(short: &ShortTexts, key: KeyForm, place: Place) -> usize {
        let (form, size) = (key.form(), key.size());
        let is_short =
            place.aad_bytes() <= SHORT_ASSOCIATED_BYTES && place.payload_bytes() <= short.0[form];
        (AesKeySize::ALL.len() * form + size) * 2 + usize::from(is_short)
    }

    /// The kind of this number.
    pub(super) fn of(number: usize) -> Kind {
        let (form_and_size, is_short) = (number / 2, number % 2);
        Kind {
            route: ROUTES_OF_FORMS[form_and_size / AesKeySize::ALL.len()][is_short],
            size: AesKeySize::ALL[form_and_size % AesKeySize::ALL.len()],
        }
    }
}
