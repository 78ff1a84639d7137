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

mod node;
mod parse;
mod run;

use node::{Assertion, ByteSet, Greed, Node};
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
}

#[cfg(test)]
mod tests;
