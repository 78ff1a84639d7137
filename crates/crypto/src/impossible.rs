//! Branches that cannot happen, and how tests force them.
//!
//! A packet counts as failed until its tag has been written or compared, so that a
//! branch which gives a packet up needs to do nothing else. Tests show that for each
//! of these branches; in a build for use, [`happens`] is the constant `false`.

/// What cannot happen to a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Impossible {
    /// The IV could not be written.
    NoIv,
    /// The packet could not be cut from its buffer.
    NotCut,
    /// The plan had no room for the packet.
    NotPlanned,
    /// The kernel returned before it had processed anything.
    KernelReturns,
    /// The key is not in the form that the kernel takes.
    NoKey,
    /// The cipher refused lengths that were checked.
    CipherRefuses,
    /// The key has no states of the hash function that packets are authenticated by.
    NoPads,
    /// The tag went nowhere.
    TagLost,
}

#[cfg(not(test))]
#[inline(always)]
pub(crate) fn happens(_: Impossible) -> bool {
    false
}

#[cfg(test)]
pub(crate) use forced::{force, happens};

#[cfg(test)]
mod tests;

#[cfg(test)]
mod forced {
    use super::Impossible;
    use std::cell::Cell;

    thread_local! {
        /// What is to happen, and how many times it does not before that.
        static FORCED: Cell<Option<(Impossible, usize)>> = const { Cell::new(None) };
    }

    pub(crate) fn happens(what: Impossible) -> bool {
        let Some((forced, left)) = FORCED.get().filter(|(forced, _)| *forced == what) else {
            return false;
        };
        FORCED.set(left.checked_sub(1).map(|left| (forced, left)));
        left == 0
    }

    /// Lets `what` happen once while `work` runs, the time after `after` others, and
    /// says whether it did.
    pub(crate) fn force<T>(what: Impossible, after: usize, work: impl FnOnce() -> T) -> (T, bool) {
        FORCED.set(Some((what, after)));
        let result = work();
        (result, FORCED.take().is_none())
    }
}
