//! A kernel as text.

use std::fmt;

use super::{Kernel, Loop, Node, Op, Opcode, Placement, Trip};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {}", self.name)?;
        for port in &self.inputs {
            writeln!(f, "  input {}: {} words", port.name, port.record_words)?;
        }
        for port in &self.outputs {
            writeln!(f, "  output {}: {} words", port.name, port.record_words)?;
        }
        for name in &self.indexed {
            writeln!(f, "  indexed {name}")?;
        }
        for array in &self.arrays {
            let place = match array.placement {
                Placement::Every => "in every scratchpad".to_owned(),
                Placement::Unit(unit) => format!("in scratchpad {unit}"),
            };
            writeln!(f, "  array {}: {} words {place}", array.name, array.words)?;
        }
        for name in &self.scalars {
            writeln!(f, "  scalar {name}")?;
        }
        self.nodes(f, &self.body, 1)
    }
}

impl Kernel {
    fn nodes(&self, f: &mut fmt::Formatter<'_>, nodes: &[Node], depth: usize) -> fmt::Result {
        let margin = "  ".repeat(depth);
        for node in nodes {
            match node {
                Node::Block(block) => {
                    for op in &block.ops {
                        writeln!(f, "{margin}{}", self.op(op))?;
                    }
                }
                Node::Loop(looped) => {
                    writeln!(f, "{margin}{}", self.head(looped))?;
                    self.nodes(f, &looped.body, depth + 1)?;
                    for carried in &looped.carried {
                        writeln!(
                            f,
                            "{margin}  next %{} = %{}, after the loop %{}",
                            carried.inside.0, carried.next.0, carried.after.0
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    fn head(&self, looped: &Loop) -> String {
        let trip = match looped.trip {
            Trip::Records {
                stream,
                per_iteration,
            } => format!("{per_iteration} of {}", self.inputs[stream.index()].name),
            Trip::Count(count) => format!("{count} times"),
            Trip::Scalar(scalar) => format!("{} times", self.scalars[scalar.index()]),
        };
        let carried: Vec<String> = looped
            .carried
            .iter()
            .map(|carried| format!("%{} = %{}", carried.inside.0, carried.before.0))
            .collect();
        let pipeline = if looped.pipeline { ", pipelined" } else { "" };
        format!(
            "loop {} ({trip}{pipeline}) {}",
            looped.label,
            carried.join(", ")
        )
    }

    /// One operation on one line.
    pub(crate) fn op(&self, op: &Op) -> String {
        let what = match op.code {
            Opcode::Constant(word) => format!(" {word:#x}"),
            Opcode::Scalar(scalar) => format!(" {}", self.scalars[scalar.index()]),
            Opcode::ScratchRead { array, offset } | Opcode::ScratchWrite { array, offset } => {
                format!(" {}+{offset}", self.arrays[array.index()].name)
            }
            Opcode::ScratchBit { array } => format!(" {}", self.arrays[array.index()].name),
            Opcode::IndexedRead { stream, .. } | Opcode::IndexedWrite { stream, .. } => {
                format!(" {}", self.indexed[stream.index()])
            }
            Opcode::Input { stream, word } => {
                format!(" {}.{word}", self.inputs[stream.index()].name)
            }
            Opcode::Output { stream, word } => {
                format!(" {}.{word}", self.outputs[stream.index()].name)
            }
            _ => String::new(),
        };
        let list = |values: &[super::Value]| {
            let names: Vec<String> = values.iter().map(|value| format!("%{}", value.0)).collect();
            names.join(", ")
        };
        let results = match op.results.as_slice() {
            [] => String::new(),
            some => format!("{} = ", list(some)),
        };
        let args = match op.args.as_slice() {
            [] => String::new(),
            some => format!(" {}", list(some)),
        };
        format!("{results}{}{what}{args}", op.code.name())
    }
}
