//! Searches that backtrack, for what the linear engine lacks: look-around,
//! back-references, atomic groups, possessive quantifiers.
//!
//! ```text
//!  (a+)(?!b)\1   Save 2, Loop a, Save 3, Look(Byte b, Accept), Reference 1, Accept
//! ```
//!
//! A program runs from each place where a match can begin. What may have to be
//! undone stands on a stack: other ways to go on, and former values of slots.
//! Every instruction, every byte that one looks at and every entry of the stack
//! is a step, and a search has a number of them ([`MAX_PATTERN_STEPS`]). It takes at
//! most 8 MiB of memory.

mod parse;

use std::ops::Range;

pub(super) use parse::parse;

/// Most steps of one search by a pattern with look-around, a back-reference, an
/// atomic group or a possessive quantifier. One that would need more is given up:
/// it found no match.
pub const MAX_PATTERN_STEPS: usize = 2 << 20;
/// Most instructions of a program.
const MAX_INSTRUCTIONS: usize = 16 << 10;
/// Most entries of the stack, of which each has 64 bytes at most.
const MAX_STACK: usize = 128 << 10;
/// A slot without a value.
const NOWHERE: usize = usize::MAX;

/// A search took [`MAX_PATTERN_STEPS`], or too much memory, and was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 != 0
    }

    fn all() -> ByteSet {
        ByteSet([u64::MAX; 4])
    }

    fn union(self, other: ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|at| self.0[at] | other.0[at]))
    }
}

/// How often a quantifier repeats first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Greed {
    Greedy,
    Lazy,
    /// As often as it can, and that stays.
    Possessive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assertion {
    TextStart,
    TextEnd,
    WordBoundary,
    NoWordBoundary,
}

/// A pattern as it is written.
#[derive(Clone, Debug)]
enum Node {
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
    fn fixed_bytes(&self) -> Option<usize> {
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
    fn is_anchored(&self) -> bool {
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
    fn first(&self) -> (ByteSet, bool) {
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

/// One instruction; the next one follows it unless it says otherwise.
#[derive(Clone, Copy, Debug)]
enum Instruction {
    Byte(ByteSet),
    /// Bytes of a set, `least` to `most`.
    Loop {
        set: ByteSet,
        least: usize,
        most: usize,
        greed: Greed,
    },
    Assertion(Assertion),
    /// Goes on at the first place, and where that fails at the second.
    Split(usize, usize),
    Jump(usize),
    /// Notes the place in a slot.
    Save(usize),
    /// A group matched, from the place in a slot.
    Capture {
        group: usize,
        begins: usize,
    },
    /// Leaves a loop whose body matched nothing since its `Save`.
    Progress {
        slot: usize,
        out: usize,
    },
    Reference {
        group: usize,
        nocase: bool,
    },
    /// Runs what follows, up to its `Accept`, from `behind` bytes back; goes on
    /// at `next`, from the same place.
    Look {
        behind: usize,
        negated: bool,
        next: usize,
    },
    /// Runs what follows, up to its `Accept`, and keeps to what it matched.
    Atomic {
        next: usize,
    },
    Accept,
}

/// A pattern that can be searched for.
#[derive(Clone, Debug)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
    groups: usize,
    slots: usize,
    /// The bytes with which a match begins; `None` where it may be empty.
    first: Option<ByteSet>,
    is_anchored: bool,
}

/// Why a pattern is no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramError {
    TooLarge,
    Syntax(&'static str),
}

impl Program {
    fn new(node: &Node, groups: usize) -> Result<Program, ProgramError> {
        let (first, may_be_empty) = node.first();
        let mut program = Program {
            instructions: Vec::new(),
            groups,
            slots: 2 * (groups + 1),
            first: (!may_be_empty).then_some(first),
            is_anchored: node.is_anchored(),
        };
        program.add(node)?;
        program.push(Instruction::Accept)?;
        Ok(program)
    }

    fn push(&mut self, instruction: Instruction) -> Result<usize, ProgramError> {
        if self.instructions.len() == MAX_INSTRUCTIONS {
            return Err(ProgramError::TooLarge);
        }
        self.instructions.push(instruction);
        Ok(self.instructions.len() - 1)
    }

    fn end(&self) -> usize {
        self.instructions.len()
    }

    fn add(&mut self, node: &Node) -> Result<(), ProgramError> {
        match node {
            Node::Byte(set) => _ = self.push(Instruction::Byte(*set))?,
            Node::Assertion(assertion) => _ = self.push(Instruction::Assertion(*assertion))?,
            Node::Concat(nodes) => {
                for node in nodes {
                    self.add(node)?;
                }
            }
            Node::Alternation(nodes) => {
                let mut jumps = Vec::new();
                for (at, node) in nodes.iter().enumerate() {
                    if at + 1 == nodes.len() {
                        self.add(node)?;
                        break;
                    }
                    let split = self.push(Instruction::Jump(0))?;
                    self.add(node)?;
                    jumps.push(self.push(Instruction::Jump(0))?);
                    self.instructions[split] = Instruction::Split(split + 1, self.end());
                }
                for jump in jumps {
                    self.instructions[jump] = Instruction::Jump(self.end());
                }
            }
            Node::Capture(group, node) => {
                // The start counts once the end is known, as a reference within
                // the group is to what it matched before.
                let begins = self.slot();
                self.push(Instruction::Save(begins))?;
                self.add(node)?;
                self.push(Instruction::Capture {
                    group: *group,
                    begins,
                })?;
            }
            Node::Repeat {
                node,
                least,
                most,
                greed,
            } => self.repeat(node, *least, *most, *greed)?,
            Node::LookAhead { node, negated } => self.look(node, 0, *negated)?,
            Node::LookBehind { node, negated } => {
                let alternatives = match &**node {
                    Node::Alternation(nodes) => nodes.as_slice(),
                    node => std::slice::from_ref(node),
                };
                self.look_behind(alternatives, *negated)?;
            }
            Node::Atomic(node) => {
                let atomic = self.push(Instruction::Jump(0))?;
                self.add(node)?;
                self.push(Instruction::Accept)?;
                self.instructions[atomic] = Instruction::Atomic { next: self.end() };
            }
            Node::Reference { group, nocase } => {
                let (group, nocase) = (*group, *nocase);
                if group > self.groups {
                    return Err(ProgramError::Syntax("reference to no group"));
                }
                self.push(Instruction::Reference { group, nocase })?;
            }
        }
        Ok(())
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    fn look(&mut self, node: &Node, behind: usize, negated: bool) -> Result<(), ProgramError> {
        let look = self.push(Instruction::Jump(0))?;
        self.add(node)?;
        self.push(Instruction::Accept)?;
        self.instructions[look] = Instruction::Look {
            behind,
            negated,
            next: self.end(),
        };
        Ok(())
    }

    /// Each alternative by itself: one of them, or where negated none.
    fn look_behind(&mut self, nodes: &[Node], negated: bool) -> Result<(), ProgramError> {
        let mut jumps = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let length = node.fixed_bytes();
            let behind = length.ok_or(ProgramError::Syntax("look-behind of no fixed length"))?;
            if negated || at + 1 == nodes.len() {
                self.look(node, behind, negated)?;
                continue;
            }
            let split = self.push(Instruction::Jump(0))?;
            self.look(node, behind, false)?;
            jumps.push(self.push(Instruction::Jump(0))?);
            self.instructions[split] = Instruction::Split(split + 1, self.end());
        }
        for jump in jumps {
            self.instructions[jump] = Instruction::Jump(self.end());
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        least: usize,
        most: Option<usize>,
        greed: Greed,
    ) -> Result<(), ProgramError> {
        if let Node::Byte(set) = node {
            let (set, most) = (*set, most.unwrap_or(usize::MAX));
            self.push(Instruction::Loop {
                set,
                least,
                most,
                greed,
            })?;
            return Ok(());
        }
        if greed == Greed::Possessive {
            let greedy = Node::Repeat {
                node: Box::new(node.clone()),
                least,
                most,
                greed: Greed::Greedy,
            };
            return self.add(&Node::Atomic(Box::new(greedy)));
        }
        for _ in 0..least {
            let start = self.end();
            self.add(node)?;
            if self.end() == start {
                // Nothing, however often.
                return Ok(());
            }
        }
        let split = |inside, out| match greed {
            Greed::Lazy => Instruction::Split(out, inside),
            Greed::Greedy | Greed::Possessive => Instruction::Split(inside, out),
        };
        let Some(most) = most else {
            let begins = self.slot();
            let top = self.push(Instruction::Jump(0))?;
            self.push(Instruction::Save(begins))?;
            self.add(node)?;
            let progress = self.push(Instruction::Jump(0))?;
            self.push(Instruction::Jump(top))?;
            let out = self.end();
            self.instructions[top] = split(top + 1, out);
            self.instructions[progress] = Instruction::Progress { slot: begins, out };
            return Ok(());
        };
        let mut splits = Vec::new();
        // Each adds an instruction at least, whose number is limited.
        for _ in least..most {
            splits.push(self.push(Instruction::Jump(0))?);
            self.add(node)?;
        }
        for place in splits {
            self.instructions[place] = split(place + 1, self.end());
        }
        Ok(())
    }

    /// The first match that begins at `from` or later. Adds its steps to
    /// `steps`.
    ///
    /// # Errors
    /// [`GaveUp`].
    pub(super) fn find_at(
        &self,
        text: &[u8],
        from: usize,
        steps: &mut usize,
    ) -> Result<Option<Range<usize>>, GaveUp> {
        let mut run = Run {
            program: self,
            text,
            slots: vec![NOWHERE; self.slots],
            stack: Vec::new(),
            steps_left: MAX_PATTERN_STEPS,
        };
        let found = run.find_at(from);
        *steps += MAX_PATTERN_STEPS - run.steps_left;
        found
    }
}

/// What is undone where a way does not lead to a match.
#[derive(Clone, Copy, Debug)]
enum Undo {
    /// Go on here instead.
    Way { instruction: usize, at: usize },
    /// Go on here with fewer bytes of a greedy loop, `least_end` at the fewest.
    Shorter {
        instruction: usize,
        least_end: usize,
        end: usize,
    },
    /// Go on here with more bytes of a lazy loop, `left` at the most.
    Longer {
        instruction: usize,
        end: usize,
        left: usize,
        set: ByteSet,
    },
    /// A slot had this value.
    Slot { slot: usize, value: usize },
}

struct Run<'a> {
    program: &'a Program,
    text: &'a [u8],
    /// Start and end of each group, then starts of iterations.
    slots: Vec<usize>,
    stack: Vec<Undo>,
    steps_left: usize,
}

impl Run<'_> {
    fn find_at(&mut self, from: usize) -> Result<Option<Range<usize>>, GaveUp> {
        self.spend(self.slots.len())?;
        let last = match self.program.is_anchored {
            true => 0,
            false => self.text.len(),
        };
        for start in from..=last {
            self.spend(1)?;
            let can_begin = self.program.first.is_none_or(|first| {
                let byte = self.text.get(start);
                byte.is_some_and(|byte| first.contains(*byte))
            });
            // A run without a match undoes all it did.
            if can_begin && let Some(end) = self.run(0, start)? {
                return Ok(Some(start..end));
            }
        }
        Ok(None)
    }

    fn spend(&mut self, steps: usize) -> Result<(), GaveUp> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or(GaveUp)?;
        Ok(())
    }

    fn save(&mut self, slot: usize, value: usize) {
        let former = std::mem::replace(&mut self.slots[slot], value);
        self.stack.push(Undo::Slot {
            slot,
            value: former,
        });
    }

    /// Undoes up to the newest other way that stands above `floor`, and takes it.
    fn back(&mut self, floor: usize) -> Result<Option<(usize, usize)>, GaveUp> {
        while self.stack.len() > floor {
            self.spend(1)?;
            match self.stack.pop() {
                Some(Undo::Way { instruction, at }) => return Ok(Some((instruction, at))),
                Some(Undo::Shorter {
                    instruction,
                    least_end,
                    end,
                }) => {
                    if end - 1 > least_end {
                        self.stack.push(Undo::Shorter {
                            instruction,
                            least_end,
                            end: end - 1,
                        });
                    }
                    return Ok(Some((instruction, end - 1)));
                }
                Some(Undo::Longer {
                    instruction,
                    end,
                    left,
                    set,
                }) => {
                    if !self.text.get(end).is_some_and(|byte| set.contains(*byte)) {
                        continue;
                    }
                    if left > 1 {
                        self.stack.push(Undo::Longer {
                            instruction,
                            end: end + 1,
                            left: left - 1,
                            set,
                        });
                    }
                    return Ok(Some((instruction, end + 1)));
                }
                Some(Undo::Slot { slot, value }) => self.slots[slot] = value,
                None => break,
            }
        }
        Ok(None)
    }

    /// Takes the other ways above `floor` away, and keeps what slots had.
    fn keep_to_match(&mut self, floor: usize) -> Result<(), GaveUp> {
        self.spend(self.stack.len() - floor)?;
        let mut kept = floor;
        for at in floor..self.stack.len() {
            if matches!(self.stack[at], Undo::Slot { .. }) {
                self.stack.swap(kept, at);
                kept += 1;
            }
        }
        self.stack.truncate(kept);
        Ok(())
    }

    /// Undoes all above `floor`.
    fn undo(&mut self, floor: usize) -> Result<(), GaveUp> {
        while self.back(floor)?.is_some() {
            // A loop stays on the stack with other lengths: away with it.
            while self.stack.len() > floor && !matches!(self.stack.last(), Some(Undo::Slot { .. }))
            {
                self.spend(1)?;
                self.stack.pop();
            }
        }
        Ok(())
    }

    /// Whether a byte of a word ends or begins here.
    fn is_word_boundary(&self, at: usize) -> bool {
        let is_word = |at: Option<usize>| {
            let byte = at.and_then(|at| self.text.get(at));
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        is_word(at.checked_sub(1)) != is_word(Some(at))
    }

    /// What a group captured, if it did.
    fn captured(&self, group: usize) -> Option<Range<usize>> {
        let (start, end) = (self.slots[2 * group], self.slots[2 * group + 1]);
        (start != NOWHERE).then_some(start..end)
    }

    /// Runs from an instruction and a place up to an `Accept`: where the match
    /// ends. Calls itself for what stands in parentheses, whose depth the parser
    /// limits.
    fn run(&mut self, instruction: usize, at: usize) -> Result<Option<usize>, GaveUp> {
        let floor = self.stack.len();
        let (mut instruction, mut at) = (instruction, at);
        loop {
            self.spend(1)?;
            if self.stack.len() > MAX_STACK {
                return Err(GaveUp);
            }
            let mut next = instruction + 1;
            let goes_on = match self.program.instructions[instruction] {
                Instruction::Byte(set) => {
                    let is_there = self.text.get(at).is_some_and(|byte| set.contains(*byte));
                    at += 1;
                    is_there
                }
                Instruction::Loop {
                    set,
                    least,
                    most,
                    greed,
                } => match self.repeated(set, at, least, most, greed)? {
                    Some(end) => {
                        self.note_loop(next, (at, end), (least, most), set, greed);
                        at = end;
                        true
                    }
                    None => false,
                },
                Instruction::Assertion(assertion) => match assertion {
                    Assertion::TextStart => at == 0,
                    Assertion::TextEnd => at == self.text.len(),
                    Assertion::WordBoundary => self.is_word_boundary(at),
                    Assertion::NoWordBoundary => !self.is_word_boundary(at),
                },
                Instruction::Split(first, second) => {
                    self.stack.push(Undo::Way {
                        instruction: second,
                        at,
                    });
                    next = first;
                    true
                }
                Instruction::Jump(place) => {
                    next = place;
                    true
                }
                Instruction::Save(slot) => {
                    self.save(slot, at);
                    true
                }
                Instruction::Capture { group, begins } => {
                    let start = self.slots[begins];
                    self.save(2 * group, start);
                    self.save(2 * group + 1, at);
                    true
                }
                Instruction::Progress { slot, out } => {
                    if self.slots[slot] == at {
                        next = out;
                    }
                    true
                }
                Instruction::Reference { group, nocase } => match self.captured(group) {
                    Some(captured) => {
                        let end = at + captured.len();
                        self.spend(captured.len())?;
                        let (text, captured) = (self.text.get(at..end), &self.text[captured]);
                        at = end;
                        text.is_some_and(|text| match nocase {
                            true => text.eq_ignore_ascii_case(captured),
                            false => text == captured,
                        })
                    }
                    None => false,
                },
                Instruction::Look {
                    behind,
                    negated,
                    next: after,
                } => {
                    let floor = self.stack.len();
                    let found = match at.checked_sub(behind) {
                        Some(start) => self.run(instruction + 1, start)?.is_some(),
                        None => false,
                    };
                    match (found, negated) {
                        (true, false) => self.keep_to_match(floor)?,
                        (true, true) => self.undo(floor)?,
                        (false, _) => {}
                    }
                    next = after;
                    found != negated
                }
                Instruction::Atomic { next: after } => {
                    let floor = self.stack.len();
                    let end = self.run(instruction + 1, at)?;
                    if let Some(end) = end {
                        self.keep_to_match(floor)?;
                        at = end;
                    }
                    next = after;
                    end.is_some()
                }
                Instruction::Accept => return Ok(Some(at)),
            };
            if goes_on {
                instruction = next;
            } else {
                match self.back(floor)? {
                    Some(way) => (instruction, at) = way,
                    None => return Ok(None),
                }
            }
        }
    }

    /// Where a loop over one set ends first; `None` where there are too few
    /// bytes.
    fn repeated(
        &mut self,
        set: ByteSet,
        at: usize,
        least: usize,
        most: usize,
        greed: Greed,
    ) -> Result<Option<usize>, GaveUp> {
        let wanted = if greed == Greed::Lazy { least } else { most };
        let bytes = self.text.get(at..).unwrap_or_default().iter();
        // No more than the steps that are left.
        let looked_at = wanted.min(self.steps_left);
        let there = bytes
            .take(looked_at)
            .take_while(|byte| set.contains(**byte));
        let there = there.count();
        self.spend(there)?;
        Ok((there >= least).then_some(at + there))
    }

    /// The other lengths that a loop may have.
    fn note_loop(
        &mut self,
        instruction: usize,
        (start, end): (usize, usize),
        (least, most): (usize, usize),
        set: ByteSet,
        greed: Greed,
    ) {
        match greed {
            Greed::Greedy if end > start + least => self.stack.push(Undo::Shorter {
                instruction,
                least_end: start + least,
                end,
            }),
            Greed::Lazy if most > least => self.stack.push(Undo::Longer {
                instruction,
                end,
                left: most - least,
                set,
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
