//! Work descriptors: what a record still needs.

/// What is still to be done to a record: the command header of deferred
/// processing. A classifier sets it, stages consume their part, and it is set
/// anew when a record's headers change (after decryption).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Work {
    flags: u8,
    association: u32,
}

impl Work {
    const FILTER: u8 = 1;
    const INSPECT: u8 = 2;
    const MEASURE: u8 = 4;
    const PROTECT: u8 = 8;
    const UNPROTECT: u8 = 16;

    /// What every record gets that no classifier has seen: filter, inspect
    /// and measure, but neither protect nor unprotect.
    pub const UNCLASSIFIED: Work = Work {
        flags: Work::FILTER | Work::INSPECT | Work::MEASURE,
        association: 0,
    };

    /// Nothing.
    pub const NONE: Work = Work {
        flags: 0,
        association: 0,
    };

    /// Whether the record is to be filtered.
    pub fn filter(self) -> bool {
        self.flags & Work::FILTER != 0
    }

    /// Whether the record is to be inspected.
    pub fn inspect(self) -> bool {
        self.flags & Work::INSPECT != 0
    }

    /// Whether the record is to be measured.
    pub fn measure(self) -> bool {
        self.flags & Work::MEASURE != 0
    }

    /// The index of the association that protects the record.
    pub fn protect(self) -> Option<u32> {
        (self.flags & Work::PROTECT != 0).then_some(self.association)
    }

    /// The index of the association that unprotects the record.
    pub fn unprotect(self) -> Option<u32> {
        (self.flags & Work::UNPROTECT != 0).then_some(self.association)
    }

    /// Asks for protection by an association.
    #[must_use]
    pub fn with_protect(self, association: u32) -> Work {
        Work {
            flags: self.flags & !Work::UNPROTECT | Work::PROTECT,
            association,
        }
    }

    /// Asks for the removal of protection by an association.
    #[must_use]
    pub fn with_unprotect(self, association: u32) -> Work {
        Work {
            flags: self.flags & !Work::PROTECT | Work::UNPROTECT,
            association,
        }
    }

    /// Leaves inspection out.
    #[must_use]
    pub fn without_inspect(self) -> Work {
        self.without(Work::INSPECT)
    }

    /// Leaves measurement out.
    #[must_use]
    pub fn without_measure(self) -> Work {
        self.without(Work::MEASURE)
    }

    /// Leaves the filter out.
    #[must_use]
    pub fn without_filter(self) -> Work {
        self.without(Work::FILTER)
    }

    /// Takes protection and its removal off the list, as done.
    #[must_use]
    pub fn without_association(self) -> Work {
        self.without(Work::PROTECT | Work::UNPROTECT)
    }

    fn without(self, flags: u8) -> Work {
        Work {
            flags: self.flags & !flags,
            ..self
        }
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
    fn parts_are_asked_for_and_consumed_one_by_one() {
        let work = Work::default().with_protect(7).without_inspect();
        assert!(work.filter() && work.measure() && !work.inspect());
        assert_eq!((work.protect(), work.unprotect()), (Some(7), None));
        let work = work.with_unprotect(8);
        assert_eq!((work.protect(), work.unprotect()), (None, Some(8)));
        assert_eq!(work.without_association().unprotect(), None);
        assert!(!Work::NONE.filter());
    }
}
