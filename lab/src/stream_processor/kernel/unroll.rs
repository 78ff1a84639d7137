//! Unrolling: the body several times in one iteration.

use std::collections::HashMap;

use super::{Block, Loop, Node, Op, Trip, Type, Value};

impl Loop {
    /// Writes the body `times` times. New values are added to `types`, and
    /// what the scope rules said of the old ones holds for them.
    ///
    /// # Errors
    /// In words, where the number of iterations is not a multiple of `times`,
    /// is not known, or the body holds another loop.
    pub(super) fn unroll(&mut self, times: u32, types: &mut Vec<Type>) -> Result<(), String> {
        let [Node::Block(block)] = self.body.as_slice() else {
            return Err(format!(
                "loop {} is to be unrolled, but it holds another loop",
                self.label
            ));
        };
        self.trip = match self.trip {
            Trip::Count(count) if count.is_multiple_of(times) => Trip::Count(count / times),
            Trip::Records {
                stream,
                per_iteration,
            } => Trip::Records {
                stream,
                per_iteration: per_iteration * times,
            },
            _ => {
                return Err(format!(
                    "loop {} is to be unrolled {times} times, which does not divide its iterations",
                    self.label
                ));
            }
        };

        let mut ops: Vec<Op> = block.ops.clone();
        let mut names: HashMap<Value, Value> = HashMap::new();
        for _ in 1..times {
            let entering: Vec<(Value, Value)> = self
                .carried
                .iter()
                .map(|carried| {
                    let next = names.get(&carried.next).copied();
                    (carried.inside, next.unwrap_or(carried.next))
                })
                .collect();
            names = entering.into_iter().collect();
            for op in &block.ops {
                let renamed = |value: &Value| names.get(value).copied().unwrap_or(*value);
                let args = op.args.iter().map(renamed).collect();
                let results: Vec<Value> = op
                    .results
                    .iter()
                    .map(|result| {
                        types.push(types[result.index()]);
                        Value(types.len() as u32 - 1)
                    })
                    .collect();
                names.extend(op.results.iter().copied().zip(results.iter().copied()));
                ops.push(Op {
                    args,
                    results,
                    ..op.clone()
                });
            }
        }
        for carried in &mut self.carried {
            if let Some(&last) = names.get(&carried.next) {
                carried.next = last;
            }
        }
        self.body = vec![Node::Block(Block { ops })];
        Ok(())
    }
}
