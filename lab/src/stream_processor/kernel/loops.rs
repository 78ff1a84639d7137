//! Loops of the builder.

use super::build::{CLOSED, Cause};
use super::{Builder, Carried, InputId, Loop, Node, ScalarId, Trip, Type, Value};

/// What a loop runs over, and how it is to be compiled.
#[derive(Clone, Debug)]
pub struct Over {
    trip: Trip,
    label: String,
    unroll: u32,
    pipeline: bool,
}

impl Over {
    fn new(trip: Trip, label: &str) -> Over {
        Over {
            trip,
            label: label.to_owned(),
            unroll: 1,
            pipeline: false,
        }
    }

    /// All records of an input stream, one per cluster and iteration.
    pub fn records(stream: InputId) -> Over {
        Over::several_records(stream, 1)
    }

    /// All records of an input stream, several per cluster and iteration.
    pub fn several_records(stream: InputId, per_iteration: u32) -> Over {
        Over::new(
            Trip::Records {
                stream,
                per_iteration,
            },
            "records",
        )
    }

    /// A fixed number of iterations.
    pub fn count(times: u32) -> Over {
        Over::new(Trip::Count(times), "repeat")
    }

    /// As many iterations as a scalar says.
    pub fn scalar(times: ScalarId) -> Over {
        Over::new(Trip::Scalar(times), "repeat")
    }

    /// The loop's name in reports.
    pub fn label(mut self, label: &str) -> Over {
        label.clone_into(&mut self.label);
        self
    }

    /// Writes the body `times` times, for that fraction of the iterations (the
    /// hint `UNROLL`).
    pub fn unroll(mut self, times: u32) -> Over {
        self.unroll = times;
        self
    }

    /// Lets iterations overlap (the hint `PIPELINE`).
    pub fn pipeline(mut self) -> Over {
        self.pipeline = true;
        self
    }
}

impl Builder {
    /// A loop. The body gets the carried words and returns those for the next
    /// iteration; the call returns the last ones.
    #[track_caller]
    pub fn repeat(
        &mut self,
        over: Over,
        carried: &[Value],
        body: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let place = self.place();
        self.check("loop", carried, &vec![Type::Word; carried.len()]);
        self.check_trip(&over);

        self.open_scope();
        let inside: Vec<Value> = carried.iter().map(|_| self.new_value(Type::Word)).collect();
        let next = body(self, &inside);
        self.check("the next iteration", &next, &vec![Type::Word; next.len()]);
        if next.len() != carried.len() {
            self.fail(Cause::CarriedCount {
                expected: carried.len(),
                found: next.len(),
            });
        }
        let body = self.close_scope();

        let after: Vec<Value> = carried.iter().map(|_| self.new_value(Type::Word)).collect();
        let carried = (0..next.len().min(carried.len()))
            .map(|index| Carried {
                before: carried[index],
                inside: inside[index],
                next: next[index],
                after: after[index],
            })
            .collect();
        let mut made = Loop {
            label: over.label,
            trip: over.trip,
            carried,
            body,
            pipeline: over.pipeline,
            place,
        };
        if over.unroll > 1
            && let Err(reason) = made.unroll(over.unroll, &mut self.kernel.types)
        {
            self.fail(Cause::Hint(reason));
        }
        self.scopes.resize(self.kernel.types.len(), CLOSED);
        if over.pipeline && !matches!(made.body.as_slice(), [Node::Block(_)]) {
            self.fail(Cause::Hint(format!(
                "loop {} is to be pipelined, but it holds another loop",
                made.label
            )));
        }
        if let Some(outer) = self.bodies.last_mut() {
            outer.push(Node::Loop(made));
        }
        after
    }

    #[track_caller]
    fn check_trip(&mut self, over: &Over) {
        let wrong = match over.trip {
            Trip::Records {
                per_iteration: 0, ..
            } => "a loop over records takes at least one in each iteration",
            Trip::Count(0) => "a loop runs at least once",
            _ if over.unroll == 0 => "a loop is unrolled at least once",
            _ => return,
        };
        self.fail(Cause::Hint(wrong.to_owned()));
    }
}
