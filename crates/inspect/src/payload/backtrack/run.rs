//! Runs of a program: one way after the other.

use std::ops::Range;

use super::node::{Assertion, ByteSet, Greed};
use super::{GaveUp, Instruction, MAX_PATTERN_STEPS, MAX_STACK, NOWHERE, Program};

impl Program {
    /// The first match that begins at `from` or later. Adds its steps to
    /// `steps`.
    ///
    /// # Errors
    /// [`GaveUp`].
    pub(in crate::payload) fn find_at(
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
