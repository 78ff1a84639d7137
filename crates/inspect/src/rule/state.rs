//! What a rule remembers and asks to be remembered.

/// What is done with a bit, or asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BitAction {
    /// Set it when the rule matches.
    Set,
    /// Clear it when the rule matches.
    Unset,
    /// Turn it when the rule matches.
    Toggle,
    /// The rule matches only where it is set.
    IsSet,
    /// The rule matches only where it is not set.
    IsNotSet,
}

impl BitAction {
    /// Whether it is a condition, not a change.
    pub fn is_query(self) -> bool {
        matches!(self, BitAction::IsSet | BitAction::IsNotSet)
    }
}

/// By what occurrences are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Track {
    /// The sender's address.
    Source,
    /// The receiver's address.
    Destination,
    /// Both addresses, in either direction.
    Pair,
    /// The rule.
    Rule,
}

/// The `xbits` option: a bit of a host or of a pair of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HostBit {
    /// What is done or asked.
    pub action: BitAction,
    /// Number of the bit's name.
    pub bit: u32,
    /// Whose bit.
    pub track: Track,
    /// Time after which it is forgotten.
    pub seconds: u32,
}

/// Which of many matches are alerts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateKind {
    /// The first `count` in each `seconds` (`threshold:type limit`).
    Limit,
    /// Every `count`th in each `seconds` (`type threshold`).
    Threshold,
    /// One in each `seconds` in which there are `count` (`type both`).
    Both,
    /// All after `count` in each `seconds` (`detection_filter`).
    Filter,
}

/// The `threshold` and `detection_filter` options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    /// Which matches are alerts.
    pub kind: RateKind,
    /// By what they are counted.
    pub track: Track,
    /// How many.
    pub count: u32,
    /// In what time.
    pub seconds: u32,
}

/// What a rule remembers. The default requires nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateConditions {
    /// The `flowbits` options: of the bits of a query one must be as asked.
    pub flow_bits: Vec<(BitAction, Vec<u32>)>,
    /// The `xbits` options.
    pub host_bits: Vec<HostBit>,
    /// The `threshold` or `detection_filter` option.
    pub rate: Option<Rate>,
    /// Whether matches raise no alert (`noalert`).
    pub is_silent: bool,
}

impl StateConditions {
    /// Where the rule stands among those that are tried for the same text:
    /// those that set bits come before those that ask for them.
    pub(crate) fn rank(&self) -> u8 {
        let actions = || {
            let flow = self.flow_bits.iter().map(|(action, _)| *action);
            flow.chain(self.host_bits.iter().map(|bit| bit.action))
        };
        let (mut sets, mut asks) = (false, false);
        for action in actions() {
            sets |= !action.is_query();
            asks |= action.is_query();
        }
        match (sets, asks) {
            (true, false) => 0,
            (true, true) => 1,
            (false, true) => 2,
            (false, false) => 3,
        }
    }
}
