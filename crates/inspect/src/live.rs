//! Rules that are replaced while packets run.

use std::sync::{Arc, Mutex, PoisonError};

use weir_stream::{Commands, Mailbox};

use crate::inspector::{GroupStatistics, InspectStatistics};
use crate::rate::SharedTrackers;
use crate::rule_set::{ForeignRules, RuleSet};

/// The rules that the stages of all shards follow.
///
/// The stages count rates and keep the bits of hosts together: with several
/// shards as with one, but for which of the packets that two shards inspect at
/// the same time counts first.
///
/// Each stage takes new rules between two batches, so no packet waits for
/// them and none is matched by half of each set.
pub struct LiveRules {
    current: Mutex<Arc<RuleSet>>,
    /// To the stages that follow.
    commands: Commands<Arc<RuleSet>>,
    trackers: SharedTrackers,
    /// What each stage did, as it said last.
    snapshots: Mutex<Vec<SharedSnapshot>>,
}

/// What stages did so far.
#[derive(Clone, Debug, Default)]
pub struct InspectSnapshot {
    /// The sums.
    pub statistics: InspectStatistics,
    /// What the groups of rules were searched for.
    pub groups: Vec<GroupStatistics>,
}

/// Where a stage says what it did.
pub(crate) type SharedSnapshot = Arc<Mutex<InspectSnapshot>>;

impl LiveRules {
    /// The rules to begin with.
    pub fn new(rules: Arc<RuleSet>) -> Arc<LiveRules> {
        Arc::new(LiveRules {
            current: Mutex::new(rules),
            commands: Commands::of_states(),
            trackers: SharedTrackers::default(),
            snapshots: Mutex::default(),
        })
    }

    /// The active rules.
    pub fn current(&self) -> Arc<RuleSet> {
        let current = self.current.lock();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the active rules by others, made by [`RuleSet::reload`] from those that
    /// are, or from any before them. Returns their generation: 1 for the first that replace
    /// others. Alerts say it ([`Event::generation`](weir_stream::Event::generation)).
    ///
    /// # Errors
    /// [`ForeignRules`]: they were not. Nothing changes.
    pub fn replace(&self, rules: Arc<RuleSet>) -> Result<u64, ForeignRules> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if !rules.is_kin_of(&current) {
            return Err(ForeignRules);
        }
        *current = Arc::clone(&rules);
        // A state always finds space.
        let posted = self.commands.post(rules);
        Ok(posted.unwrap_or_else(|_| self.commands.latest()))
    }

    /// The generation of the rules that all stages match packets against: it reaches what
    /// [`LiveRules::replace`] returned when each has begun its next batch.
    pub fn adopted(&self) -> u64 {
        self.commands.adopted()
    }

    /// What all stages that follow the rules did so far: those that still run,
    /// up to a tenth of a second before their last batch.
    pub fn snapshot(&self) -> InspectSnapshot {
        let mut sum = InspectSnapshot::default();
        let snapshots = self.snapshots.lock();
        for snapshot in snapshots.unwrap_or_else(PoisonError::into_inner).iter() {
            let snapshot = snapshot.lock().unwrap_or_else(PoisonError::into_inner);
            sum.statistics.merge(&snapshot.statistics);
            GroupStatistics::merge(&mut sum.groups, &snapshot.groups);
        }
        sum
    }

    /// A place for one more stage to say what it did.
    pub(crate) fn add_snapshot(&self) -> SharedSnapshot {
        let snapshot = SharedSnapshot::default();
        let snapshots = self.snapshots.lock();
        let mut snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        snapshots.push(Arc::clone(&snapshot));
        snapshot
    }

    /// What the stages count together.
    pub(crate) fn trackers(&self) -> SharedTrackers {
        self.trackers.clone()
    }

    /// The active rules, and the mailbox for those that replace them.
    pub(crate) fn follow(&self) -> (Arc<RuleSet>, Mailbox<Arc<RuleSet>>) {
        // Nothing is replaced in between.
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&current), self.commands.subscribe())
    }
}
