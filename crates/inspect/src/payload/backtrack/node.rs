//! Patterns as they are written.

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    pub(super) fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    pub(super) fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 != 0
    }

    pub(super) fn all() -> ByteSet {
        ByteSet([u64::MAX; 4])
    }

    pub(super) fn union(self, other: ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }
}

/// How often a quantifier repeats first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greed {
    Greedy,
    Lazy,
    /// As often as it can, and that stays.
    Possessive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    TextStart,
    TextEnd,
    WordBoundary,
    NoWordBoundary,
}

/// A pattern as it is written.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Byte(ByteSet),
    Assertion(Assertion),
    Concat(Vec<Node>),
    Alternation(Vec<Node>),
    /// With the number of the group.
    Capture(usize, Box<Node>),
    Repeat {
        node: Box<Node>,
        least: usize,
        most: Option<usize>,
        greed: Greed,
    },
    LookAhead {
        node: Box<Node>,
        negated: bool,
    },
    LookBehind {
        node: Box<Node>,
        negated: bool,
    },
    Atomic(Box<Node>),
    Reference {
        group: usize,
        nocase: bool,
    },
}

impl Node {
    /// Bytes of every match, where all have as many.
    pub(super) fn fixed_bytes(&self) -> Option<usize> {
        match self {
            Node::Byte(_) => Some(1),
            Node::Assertion(_) | Node::LookAhead { .. } | Node::LookBehind { .. } => Some(0),
            Node::Concat(nodes) => {
                let mut lengths = nodes.iter().map(Node::fixed_bytes);
                lengths.try_fold(0usize, |sum, bytes| sum.checked_add(bytes?))
            }
            Node::Alternation(nodes) => {
                let mut lengths = nodes.iter().map(Node::fixed_bytes);
                let first = lengths.next()??;
                lengths.all(|length| length == Some(first)).then_some(first)
            }
            Node::Capture(_, node) | Node::Atomic(node) => node.fixed_bytes(),
            Node::Repeat {
                node, least, most, ..
            } => (*most == Some(*least))
                .then(|| node.fixed_bytes())?
                .and_then(|bytes| bytes.checked_mul(*least)),
            Node::Reference { .. } => None,
        }
    }

    /// Whether every match begins at the start of the text.
    pub(super) fn is_anchored(&self) -> bool {
        match self {
            Node::Assertion(assertion) => *assertion == Assertion::TextStart,
            Node::Concat(nodes) => {
                let is_empty = |node: &&Node| node.fixed_bytes() == Some(0);
                let mut behind = nodes
                    .iter()
                    .skip_while(|node| is_empty(node) && !node.is_anchored());
                behind.next().is_some_and(Node::is_anchored)
            }
            Node::Alternation(nodes) => nodes.iter().all(Node::is_anchored),
            Node::Capture(_, node) | Node::Atomic(node) => node.is_anchored(),
            Node::Repeat { node, least, .. } => *least > 0 && node.is_anchored(),
            Node::Byte(_)
            | Node::LookAhead { .. }
            | Node::LookBehind { .. }
            | Node::Reference { .. } => false,
        }
    }

    /// The bytes with which a match can begin, and whether one can be empty.
    pub(super) fn first(&self) -> (ByteSet, bool) {
        match self {
            Node::Byte(set) => (*set, false),
            Node::Assertion(_) | Node::LookAhead { .. } | Node::LookBehind { .. } => {
                (ByteSet::default(), true)
            }
            Node::Concat(nodes) => {
                let mut all = ByteSet::default();
                for node in nodes {
                    let (set, may_be_empty) = node.first();
                    all = all.union(set);
                    if !may_be_empty {
                        return (all, false);
                    }
                }
                (all, true)
            }
            Node::Alternation(nodes) => {
                let all = nodes.iter().map(Node::first);
                all.fold((ByteSet::default(), false), |(set, empty), (other, too)| {
                    (set.union(other), empty | too)
                })
            }
            Node::Capture(_, node) | Node::Atomic(node) => node.first(),
            Node::Repeat { node, least, .. } => {
                let (set, may_be_empty) = node.first();
                (set, may_be_empty || *least == 0)
            }
            Node::Reference { .. } => (ByteSet::all(), true),
        }
    }
}
