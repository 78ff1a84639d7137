//! What became of a record.

use std::marker::PhantomData;

use crate::word::Word;

/// The fate of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Disposition {
    /// Goes on to the next stage, and out at the end.
    #[default]
    Forward,
    /// Ends here, counted by its reason.
    Drop(DropCode),
    /// Taken out by a stage that will release it later.
    Held,
    /// Consumed by a stage: it went into other records, or was addressed to
    /// the gateway itself.
    Absorbed,
    /// Went to another worker, which counts what became of it.
    HandedOver,
}

/// The most drop reasons in a pipeline. Every batch has a counter for each.
pub const MAX_DROP_REASONS: usize = 128;

/// The number that a drop reason has in a pipeline: the index of its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DropCode(u8);

impl DropCode {
    /// Below [`MAX_DROP_REASONS`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    pub(crate) fn all() -> impl Iterator<Item = DropCode> {
        (0..MAX_DROP_REASONS as u8).map(DropCode)
    }
}

/// The drop reasons of a crate: an enumeration that
/// [`drop_reasons!`](crate::drop_reasons) declares.
pub trait DropReason: Copy + 'static {
    /// Every reason.
    const ALL: &'static [Self];

    /// What each of them is called, in the same order.
    const WORDS: &'static [Word];

    /// Where a reason stands in both.
    fn index(self) -> usize;

    /// What it is called.
    fn word(self) -> &'static Word {
        &Self::WORDS[self.index()]
    }
}

/// The codes of a crate's drop reasons in a pipeline
/// ([`Vocabulary::drop_reasons`](crate::Vocabulary::drop_reasons)).
#[derive(Clone, Copy, Debug)]
pub struct DropCodes<R> {
    first: u8,
    reasons: PhantomData<R>,
}

impl<R: DropReason> DropCodes<R> {
    /// Codes from a place in the vocabulary on.
    pub(crate) fn starting_at(first: usize) -> DropCodes<R> {
        DropCodes {
            first: first as u8,
            reasons: PhantomData,
        }
    }

    /// The code of a reason.
    #[inline]
    pub fn code(self, reason: R) -> DropCode {
        // Never that of another crate, whatever a type says of itself.
        let index = reason.index().min(R::WORDS.len().saturating_sub(1));
        DropCode(self.first + index as u8)
    }

    /// The reason that has a code, if it is one of these.
    pub fn reason(self, code: DropCode) -> Option<R> {
        let index = code.index().checked_sub(usize::from(self.first))?;
        R::ALL.get(index).copied()
    }
}

/// Declares the reasons for which a crate, or a stage, drops packets: an enumeration, the name
/// of each in reports, and as its documentation what it means.
///
/// ```
/// use weir_stream::DropReason;
///
/// weir_stream::drop_reasons! {
///     /// Why this stage drops packets.
///     pub enum Reason {
///         /// Its TTL is used up (RFC 791, section 3.2).
///         Expired = "expired",
///     }
/// }
/// assert_eq!(Reason::Expired.word().meaning, "Its TTL is used up (RFC 791, section 3.2).");
/// ```
#[macro_export]
macro_rules! drop_reasons {
    ($(#[$attribute:meta])* $visibility:vis enum $reasons:ident {
        $($(#[doc = $doc:literal])* $reason:ident = $name:literal,)*
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        $visibility enum $reasons {
            $($(#[doc = $doc])* $reason,)*
        }

        impl $crate::DropReason for $reasons {
            const ALL: &'static [$reasons] = &[$($reasons::$reason,)*];
            const WORDS: &'static [$crate::Word] = &[$(
                $crate::Word::new(env!("CARGO_PKG_NAME"), $name, concat!($($doc),*)),
            )*];

            #[inline]
            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
