//! Building a kernel: declarations, scopes, and what can be wrong.

use std::collections::HashMap;
use std::panic::Location;

use super::{
    Array, ArrayId, Block, IndexedId, InputId, Kernel, Node, Op, Opcode, OutputId, Place,
    Placement, ScalarId, StreamPort, Type, Value,
};

/// A kernel that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel {kernel}, {place}: {cause}")]
pub struct BuildError {
    /// The kernel's name.
    pub kernel: String,
    /// The line of the program.
    pub place: Place,
    /// What is wrong there.
    pub cause: Cause,
}

/// What is wrong with a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// An operand is of another type.
    #[error("{operation} takes a {expected} as operand {operand}, not a {found}")]
    Type {
        /// The operation.
        operation: &'static str,
        /// Which operand, from 1.
        operand: usize,
        /// The type that it takes.
        expected: &'static str,
        /// The type that it was given.
        found: &'static str,
    },
    /// A value is used outside the loop that defines it.
    #[error(
        "operand {operand} of {operation} is defined inside a loop that is closed here: carry it out of the loop"
    )]
    Scope {
        /// The operation.
        operation: &'static str,
        /// Which operand, from 1.
        operand: usize,
    },
    /// A constant index is outside its array.
    #[error("index {index} is outside array {array} of {words} words")]
    Index {
        /// The array.
        array: String,
        /// The index with its offset.
        index: u64,
        /// The array's size.
        words: u32,
    },
    /// A record of the wrong size.
    #[error("a record of {stream} has {expected} words, not {found}")]
    Record {
        /// The stream.
        stream: String,
        /// Its words per record.
        expected: u32,
        /// The words given.
        found: usize,
    },
    /// A loop that passes on another number of values than it carries.
    #[error("the loop carries {expected} values, and its body returns {found}")]
    CarriedCount {
        /// How many it carries.
        expected: usize,
        /// How many its body returns.
        found: usize,
    },
    /// A loop's hint that cannot be followed.
    #[error("{0}")]
    Hint(String),
    /// Two declarations of one name, or one of no size.
    #[error("{0}")]
    Declaration(String),
}

/// The scope of values that no later operation may name.
pub(super) const CLOSED: u32 = u32::MAX;

/// Writes a kernel, operation by operation. The first error is kept, and
/// [`Builder::finish`] returns it.
#[derive(Debug)]
pub struct Builder {
    pub(super) kernel: Kernel,
    /// The scope that defines each value.
    pub(super) scopes: Vec<u32>,
    /// Scopes that are open now, outermost first.
    pub(super) open: Vec<u32>,
    next_scope: u32,
    /// Operations and loops of each open scope.
    pub(super) bodies: Vec<Vec<Node>>,
    /// Broadcasts, which move to the start of the kernel.
    broadcasts: Vec<Op>,
    known: HashMap<Opcode, Value>,
    constants: HashMap<Value, u32>,
    error: Option<BuildError>,
    /// Where in a text the next operations are written; none in code.
    text: Option<Place>,
}

impl Builder {
    /// A kernel without streams and operations.
    pub fn new(name: &str) -> Builder {
        Builder {
            kernel: Kernel {
                name: name.to_owned(),
                types: Vec::new(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                indexed: Vec::new(),
                arrays: Vec::new(),
                scalars: Vec::new(),
                body: Vec::new(),
            },
            scopes: Vec::new(),
            open: vec![0],
            next_scope: 1,
            bodies: vec![Vec::new()],
            broadcasts: Vec::new(),
            known: HashMap::new(),
            constants: HashMap::new(),
            error: None,
            text: None,
        }
    }

    /// The place in a text of the operations that follow.
    pub(super) fn set_place(&mut self, place: Place) {
        self.text = Some(place);
    }

    #[track_caller]
    pub(super) fn place(&self) -> Place {
        let location = Location::caller();
        self.text.unwrap_or(Place::Code {
            file: location.file(),
            line: location.line(),
        })
    }

    /// The number that a value stands for, where that is known.
    pub(super) fn known_number(&self, value: Value) -> Option<u32> {
        self.constants.get(&value).copied()
    }

    /// The first thing that was wrong so far.
    pub(super) fn failure(&self) -> Option<BuildError> {
        self.error.clone()
    }

    /// How many values the kernel names so far.
    pub(super) fn value_count(&self) -> usize {
        self.kernel.value_count()
    }

    /// An input stream whose records have `record_words` words.
    #[track_caller]
    pub fn input(&mut self, name: &str, record_words: u32) -> InputId {
        let port = self.port(name, record_words);
        self.kernel.inputs.push(port);
        InputId(self.kernel.inputs.len() as u32 - 1)
    }

    /// An output stream whose records have `record_words` words.
    #[track_caller]
    pub fn output(&mut self, name: &str, record_words: u32) -> OutputId {
        let port = self.port(name, record_words);
        self.kernel.outputs.push(port);
        OutputId(self.kernel.outputs.len() as u32 - 1)
    }

    #[track_caller]
    fn port(&mut self, name: &str, record_words: u32) -> StreamPort {
        self.declare(name, record_words > 0, "a record has at least one word");
        StreamPort {
            name: name.to_owned(),
            record_words,
        }
    }

    /// A scratchpad array of `words` words in each cluster.
    #[track_caller]
    pub fn array(&mut self, name: &str, words: u32, placement: Placement) -> ArrayId {
        self.declare(name, words > 0, "an array has at least one word");
        self.kernel.arrays.push(Array {
            name: name.to_owned(),
            words,
            placement,
        });
        ArrayId(self.kernel.arrays.len() as u32 - 1)
    }

    /// A stream that clusters read and write by index in the stream register
    /// file, each in its own lane.
    #[track_caller]
    pub fn indexed(&mut self, name: &str) -> IndexedId {
        self.declare(name, true, "");
        self.kernel.indexed.push(name.to_owned());
        IndexedId(self.kernel.indexed.len() as u32 - 1)
    }

    /// The name of a scalar that the host gives.
    #[track_caller]
    pub fn scalar_parameter(&mut self, name: &str) -> ScalarId {
        self.declare(name, true, "");
        self.kernel.scalars.push(name.to_owned());
        ScalarId(self.kernel.scalars.len() as u32 - 1)
    }

    #[track_caller]
    fn declare(&mut self, name: &str, has_size: bool, otherwise: &str) {
        let kernel = &self.kernel;
        let streams = kernel.inputs.iter().chain(&kernel.outputs);
        let taken = streams
            .map(|port| &port.name)
            .chain(&kernel.indexed)
            .chain(kernel.arrays.iter().map(|array| &array.name))
            .chain(&kernel.scalars)
            .any(|other| other == name);
        if taken {
            self.fail(Cause::Declaration(format!("{name} is declared twice")));
        }
        if !has_size {
            self.fail(Cause::Declaration(format!("{name}: {otherwise}")));
        }
    }

    /// The kernel, without operations whose results nothing uses.
    ///
    /// # Errors
    /// The first thing that was wrong, with its place.
    pub fn finish(mut self) -> Result<Kernel, BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut body = self.bodies.pop().unwrap_or_default();
        match body.first_mut() {
            Some(Node::Block(block)) => {
                block.ops.splice(0..0, self.broadcasts);
            }
            _ => body.insert(
                0,
                Node::Block(Block {
                    ops: self.broadcasts,
                }),
            ),
        }
        self.kernel.body = body;
        self.kernel.prune();
        Ok(self.kernel)
    }

    #[track_caller]
    pub(super) fn fail(&mut self, cause: Cause) {
        let place = self.place();
        if self.error.is_none() {
            self.error = Some(BuildError {
                kernel: self.kernel.name.clone(),
                place,
                cause,
            });
        }
    }

    pub(super) fn new_value(&mut self, of: Type) -> Value {
        self.kernel.types.push(of);
        self.scopes
            .push(self.open.last().copied().unwrap_or_default());
        Value(self.kernel.types.len() as u32 - 1)
    }

    pub(super) fn open_scope(&mut self) {
        self.open.push(self.next_scope);
        self.next_scope += 1;
        self.bodies.push(Vec::new());
    }

    /// What was written in the scope.
    pub(super) fn close_scope(&mut self) -> Vec<Node> {
        self.open.pop();
        self.bodies.pop().unwrap_or_default()
    }

    /// Reports operands that are of another type or out of scope.
    #[track_caller]
    pub(super) fn check(&mut self, operation: &'static str, args: &[Value], types: &[Type]) {
        for (index, (&arg, &expected)) in args.iter().zip(types).enumerate() {
            let found = self.kernel.type_of(arg);
            if found != expected {
                self.fail(Cause::Type {
                    operation,
                    operand: index + 1,
                    expected: expected.name(),
                    found: found.name(),
                });
            }
            if !self.open.contains(&self.scopes[arg.index()]) {
                self.fail(Cause::Scope {
                    operation,
                    operand: index + 1,
                });
            }
        }
    }

    /// Writes an operation and returns what it defines.
    #[track_caller]
    pub(super) fn push(
        &mut self,
        code: Opcode,
        args: &[Value],
        takes: &[Type],
        gives: &[Type],
    ) -> Vec<Value> {
        self.check(code.name(), args, takes);
        let results: Vec<Value> = gives.iter().map(|&of| self.new_value(of)).collect();
        let place = self.place();
        let op = Op {
            code,
            args: args.to_vec(),
            results: results.clone(),
            place,
        };
        if let Some(body) = self.bodies.last_mut() {
            match body.last_mut() {
                Some(Node::Block(block)) => block.ops.push(op),
                _ => body.push(Node::Block(Block { ops: vec![op] })),
            }
        }
        results
    }

    /// A value that the microcontroller broadcasts: made once, at the start.
    #[track_caller]
    pub(super) fn broadcast(&mut self, code: Opcode) -> Value {
        if let Some(&value) = self.known.get(&code) {
            return value;
        }
        let value = self.new_value(Type::Word);
        self.scopes[value.index()] = 0;
        let place = self.place();
        self.broadcasts.push(Op {
            code,
            args: Vec::new(),
            results: vec![value],
            place,
        });
        self.known.insert(code, value);
        if let Opcode::Constant(word) = code {
            self.constants.insert(value, word);
        }
        value
    }

    /// Reports an index known now that is outside its array.
    #[track_caller]
    pub(super) fn check_index(&mut self, array: ArrayId, index: Value, offset: u32) {
        let Array { name, words, .. } = &self.kernel.arrays[array.index()];
        let index = u64::from(self.known_number(index).unwrap_or(0)) + u64::from(offset);
        if index >= u64::from(*words) {
            let cause = Cause::Index {
                array: name.clone(),
                index,
                words: *words,
            };
            self.fail(cause);
        }
    }
}
