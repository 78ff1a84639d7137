//! Work descriptors: what a record still needs.

/// The most kinds of work without an argument in a pipeline.
pub const MAX_WORK_BITS: usize = 32 - MAX_WORK_ARGUMENTS;

/// The most kinds of work with an argument in a pipeline.
pub const MAX_WORK_ARGUMENTS: usize = 3;

/// What is still to be done to a record: the command header of deferred
/// processing. A classifier sets it, stages consume their part, and it is set
/// anew when a record's headers change.
///
/// The stages of the pipeline say what its bits mean
/// ([`Vocabulary::work_bit`](crate::Vocabulary::work_bit)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    /// [`WorkBit`]s from the lowest one on, [`WorkArgument`]s above them.
    bits: u32,
    arguments: [u32; MAX_WORK_ARGUMENTS],
}

/// Something that every record needs until it is done or a classifier takes it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkBit(u32);

/// Something that a record needs where a classifier says so, with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkArgument(u8);

impl WorkBit {
    /// With a place below [`MAX_WORK_BITS`].
    pub(crate) fn at(place: usize) -> WorkBit {
        WorkBit(1 << (place % MAX_WORK_BITS))
    }
}

impl WorkArgument {
    /// With a place below [`MAX_WORK_ARGUMENTS`].
    pub(crate) fn at(place: usize) -> WorkArgument {
        WorkArgument((place % MAX_WORK_ARGUMENTS) as u8)
    }

    fn place(self) -> usize {
        usize::from(self.0) % MAX_WORK_ARGUMENTS
    }

    fn bit(self) -> u32 {
        1 << (MAX_WORK_BITS + self.place())
    }
}

impl Work {
    /// What every record gets that no classifier has seen: everything that needs
    /// no argument.
    pub const UNCLASSIFIED: Work = Work {
        bits: (1 << MAX_WORK_BITS) - 1,
        arguments: [0; MAX_WORK_ARGUMENTS],
    };

    /// Whether the record needs this.
    #[inline]
    pub fn needs(self, bit: WorkBit) -> bool {
        self.bits & bit.0 != 0
    }

    /// Requests it.
    #[must_use]
    pub fn with(self, bit: WorkBit) -> Work {
        Work {
            bits: self.bits | bit.0,
            ..self
        }
    }

    /// Takes it off the list, as done or not wanted.
    #[must_use]
    #[inline]
    pub fn without(self, bit: WorkBit) -> Work {
        Work {
            bits: self.bits & !bit.0,
            ..self
        }
    }

    /// The argument, where the record needs this.
    #[inline]
    pub fn argument(self, of: WorkArgument) -> Option<u32> {
        (self.bits & of.bit() != 0).then_some(self.arguments[of.place()])
    }

    /// Requests it with an argument.
    #[must_use]
    #[inline]
    pub fn with_argument(mut self, of: WorkArgument, argument: u32) -> Work {
        self.bits |= of.bit();
        self.arguments[of.place()] = argument;
        self
    }

    /// Takes it off the list, as done or not wanted.
    #[must_use]
    #[inline]
    pub fn without_argument(mut self, of: WorkArgument) -> Work {
        self.bits &= !of.bit();
        self.arguments[of.place()] = 0;
        self
    }
}

impl Default for Work {
    fn default() -> Work {
        Work::UNCLASSIFIED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_requested_and_consumed_one_by_one() {
        let [first, last] = [0, MAX_WORK_BITS - 1].map(WorkBit::at);
        let [near, far] = [0, MAX_WORK_ARGUMENTS - 1].map(WorkArgument::at);
        let work = Work::default().with_argument(near, 7).without(last);
        assert!(work.needs(first) && !work.needs(last));
        assert_eq!((work.argument(near), work.argument(far)), (Some(7), None));
        let work = work.with_argument(far, u32::MAX).without_argument(near);
        assert_eq!(
            (work.argument(near), work.argument(far)),
            (None, Some(u32::MAX))
        );
        let work = work.without_argument(far).with(last);
        assert_eq!(work, Work::UNCLASSIFIED);
    }
}
