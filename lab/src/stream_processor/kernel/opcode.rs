//! What one operation does to the words of one cluster.

use super::{ArrayId, IndexedId, InputId, OutputId, ScalarId};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 32 bits.
    Word,
    /// The outcome of a comparison: what `select` chooses by.
    Flag,
}

impl Type {
    /// The name that errors and listings use.
    pub fn name(self) -> &'static str {
        match self {
            Type::Word => "word",
            Type::Flag => "flag",
        }
    }
}

/// How an index into an indexed stream is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// The index of a word of the whole stream, which has to lie in the
    /// cluster's own lane: `row × clusters + cluster`.
    Stream,
    /// The row within the cluster's lane; an assist in hardware forms the
    /// stream index.
    Row,
}

/// An operation of the kernel language. Words are 32 bits; arithmetic wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// A constant, broadcast by the microcontroller.
    Constant(u32),
    /// A scalar that the host gave to the microcontroller.
    Scalar(ScalarId),
    /// This cluster's number.
    ClusterId,
    /// How many clusters there are.
    ClusterCount,
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// Bitwise and, of words or of flags.
    And,
    /// Bitwise or, of words or of flags.
    Or,
    /// Bitwise exclusive or, of words or of flags.
    Xor,
    /// `a << (b mod 32)`.
    ShiftLeft,
    /// `a >> (b mod 32)`, zeros coming in.
    ShiftRight,
    /// `a >> (b mod 32)`, the sign coming in.
    ShiftRightSigned,
    /// `a` rotated left by `b mod 32`.
    RotateLeft,
    /// Whether `a < b`, unsigned.
    Less,
    /// Whether `a < b` as two's complement numbers.
    LessSigned,
    /// Whether `a = b`.
    Equal,
    /// The second operand where the flag is set, else the third.
    Select,
    /// Byte `i` of the result is the byte of `a` that bits `4i..4i+2` of the
    /// pattern name, or zero where bit `4i+3` is set; byte 0 is the least
    /// significant.
    Shuffle,
    /// The lower word of the product.
    MultiplyLow,
    /// The upper word of the unsigned product.
    MultiplyHigh,
    /// Both words of the unsigned product: lower, upper.
    MultiplyWide,
    /// The sum of two 64-bit numbers, each lower word first.
    Add64,
    /// A word of a scratchpad array, at `index + offset`.
    ScratchRead {
        /// The array.
        array: ArrayId,
        /// Added to the index.
        offset: u32,
    },
    /// A bit of a scratchpad array, counted from the lowest of its first word:
    /// what an assist in hardware gives. The number of a bit is taken modulo
    /// how many there are.
    ScratchBit {
        /// The array.
        array: ArrayId,
    },
    /// Sets a word of a scratchpad array: index, word.
    ScratchWrite {
        /// The array.
        array: ArrayId,
        /// Added to the index.
        offset: u32,
    },
    /// A word of an indexed stream.
    IndexedRead {
        /// The stream.
        stream: IndexedId,
        /// What the index means.
        addressing: Addressing,
    },
    /// Sets a word of an indexed stream: index, word.
    IndexedWrite {
        /// The stream.
        stream: IndexedId,
        /// What the index means.
        addressing: Addressing,
    },
    /// The first operand as the cluster has it that the second one names,
    /// modulo the number of clusters.
    Communicate,
    /// The next word of an input stream.
    Input {
        /// The stream.
        stream: InputId,
        /// Its place in the record.
        word: u32,
    },
    /// Appends a word to an output stream.
    Output {
        /// The stream.
        stream: OutputId,
        /// Its place in the record.
        word: u32,
    },
}

/// Operations that a machine file times together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Constants, scalars and cluster numbers from the microcontroller.
    Broadcast,
    /// Addition, subtraction, comparison.
    Add,
    /// Bitwise operations.
    Logic,
    /// Shifts and rotations.
    Shift,
    /// Selection by a flag.
    Select,
    /// Byte shuffles.
    Shuffle,
    /// Multiplications.
    Multiply,
    /// 64-bit addition.
    Add64,
    /// Scratchpad reads.
    ScratchRead,
    /// Scratchpad writes.
    ScratchWrite,
    /// Indexed reads of the stream register file.
    IndexedRead,
    /// Indexed writes of the stream register file.
    IndexedWrite,
    /// Communication between clusters.
    Communicate,
    /// Words from input streams.
    Input,
    /// Words to output streams.
    Output,
}

impl Class {
    /// All classes, in the order of listings.
    pub const ALL: [Class; 15] = [
        Class::Broadcast,
        Class::Add,
        Class::Logic,
        Class::Shift,
        Class::Select,
        Class::Shuffle,
        Class::Multiply,
        Class::Add64,
        Class::ScratchRead,
        Class::ScratchWrite,
        Class::IndexedRead,
        Class::IndexedWrite,
        Class::Communicate,
        Class::Input,
        Class::Output,
    ];

    /// The name in machine files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::Broadcast => "broadcast",
            Class::Add => "add",
            Class::Logic => "logic",
            Class::Shift => "shift",
            Class::Select => "select",
            Class::Shuffle => "shuffle",
            Class::Multiply => "multiply",
            Class::Add64 => "add64",
            Class::ScratchRead => "scratch_read",
            Class::ScratchWrite => "scratch_write",
            Class::IndexedRead => "indexed_read",
            Class::IndexedWrite => "indexed_write",
            Class::Communicate => "communicate",
            Class::Input => "input",
            Class::Output => "output",
        }
    }

    /// Whether operations of this class count as arithmetic, as in operations
    /// per second: what adders, multipliers and dividers do.
    pub fn is_arithmetic(self) -> bool {
        (Class::Add..=Class::Add64).contains(&self)
    }
}

impl Opcode {
    /// The class that times this operation.
    pub fn class(self) -> Class {
        match self {
            Opcode::Constant(_) | Opcode::Scalar(_) | Opcode::ClusterId | Opcode::ClusterCount => {
                Class::Broadcast
            }
            Opcode::Add | Opcode::Sub | Opcode::Less | Opcode::LessSigned | Opcode::Equal => {
                Class::Add
            }
            Opcode::And | Opcode::Or | Opcode::Xor => Class::Logic,
            Opcode::ShiftLeft
            | Opcode::ShiftRight
            | Opcode::ShiftRightSigned
            | Opcode::RotateLeft => Class::Shift,
            Opcode::Select => Class::Select,
            Opcode::Shuffle => Class::Shuffle,
            Opcode::MultiplyLow | Opcode::MultiplyHigh | Opcode::MultiplyWide => Class::Multiply,
            Opcode::Add64 => Class::Add64,
            Opcode::ScratchRead { .. } | Opcode::ScratchBit { .. } => Class::ScratchRead,
            Opcode::ScratchWrite { .. } => Class::ScratchWrite,
            Opcode::IndexedRead { .. } => Class::IndexedRead,
            Opcode::IndexedWrite { .. } => Class::IndexedWrite,
            Opcode::Communicate => Class::Communicate,
            Opcode::Input { .. } => Class::Input,
            Opcode::Output { .. } => Class::Output,
        }
    }

    /// The name in listings.
    pub fn name(self) -> &'static str {
        match self {
            Opcode::Constant(_) => "constant",
            Opcode::Scalar(_) => "scalar",
            Opcode::ClusterId => "cluster_id",
            Opcode::ClusterCount => "cluster_count",
            Opcode::Add => "add",
            Opcode::Sub => "sub",
            Opcode::And => "and",
            Opcode::Or => "or",
            Opcode::Xor => "xor",
            Opcode::ShiftLeft => "shift_left",
            Opcode::ShiftRight => "shift_right",
            Opcode::ShiftRightSigned => "shift_right_signed",
            Opcode::RotateLeft => "rotate_left",
            Opcode::Less => "less",
            Opcode::LessSigned => "less_signed",
            Opcode::Equal => "equal",
            Opcode::Select => "select",
            Opcode::Shuffle => "shuffle",
            Opcode::MultiplyLow => "multiply_low",
            Opcode::MultiplyHigh => "multiply_high",
            Opcode::MultiplyWide => "multiply_wide",
            Opcode::Add64 => "add64",
            Opcode::ScratchRead { .. } => "scratch_read",
            Opcode::ScratchBit { .. } => "scratch_bit",
            Opcode::ScratchWrite { .. } => "scratch_write",
            Opcode::IndexedRead { .. } => "indexed_read",
            Opcode::IndexedWrite { .. } => "indexed_write",
            Opcode::Communicate => "communicate",
            Opcode::Input { .. } => "input",
            Opcode::Output { .. } => "output",
        }
    }

    /// Whether the operation is there for more than its results, so that it
    /// stays when nothing uses them. An input word has to be taken for the
    /// next one to come.
    pub fn has_effect(self) -> bool {
        matches!(
            self,
            Opcode::ScratchWrite { .. }
                | Opcode::IndexedWrite { .. }
                | Opcode::Input { .. }
                | Opcode::Output { .. }
        )
    }

    /// The result of an operation on words that looks at nothing but its
    /// operands; none where the operation is not of this kind.
    pub(crate) fn on_words(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            Opcode::Add => a.wrapping_add(b),
            Opcode::Sub => a.wrapping_sub(b),
            Opcode::And => a & b,
            Opcode::Or => a | b,
            Opcode::Xor => a ^ b,
            Opcode::ShiftLeft => a << (b % 32),
            Opcode::ShiftRight => a >> (b % 32),
            Opcode::ShiftRightSigned => ((a as i32) >> (b % 32)) as u32,
            Opcode::RotateLeft => a.rotate_left(b % 32),
            Opcode::Less => u32::from(a < b),
            Opcode::LessSigned => u32::from((a as i32) < (b as i32)),
            Opcode::Equal => u32::from(a == b),
            Opcode::Shuffle => shuffle(a, b),
            Opcode::MultiplyLow => a.wrapping_mul(b),
            Opcode::MultiplyHigh => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            _ => return None,
        })
    }
}

/// See [`Opcode::Shuffle`].
fn shuffle(word: u32, pattern: u32) -> u32 {
    let bytes = word.to_le_bytes();
    u32::from_le_bytes(std::array::from_fn(|index| {
        let selector = pattern >> (4 * index);
        if selector & 8 != 0 {
            0
        } else {
            bytes[selector as usize & 3]
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_move_and_clear_bytes() {
        assert_eq!(shuffle(0x4433_2211, 0x3210), 0x4433_2211);
        assert_eq!(shuffle(0x4433_2211, 0x8883), 0x0000_0044);
        assert_eq!(shuffle(0x4433_2211, 0x0123), 0x1122_3344);
    }

    #[test]
    fn names_of_classes_differ() {
        let names: std::collections::BTreeSet<_> =
            Class::ALL.iter().map(|class| class.name()).collect();
        assert_eq!(names.len(), Class::ALL.len());
    }
}
