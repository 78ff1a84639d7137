//! The operations of the language, as methods of the builder.

use std::ops::Range;

use super::build::Cause;
use super::{
    Addressing, ArrayId, Builder, IndexedId, InputId, Opcode, OutputId, ScalarId, Type, Value,
};

const WORD: Type = Type::Word;

macro_rules! of_two_words {
    ($($(#[$doc:meta])* $name:ident: $code:ident -> $result:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name(&mut self, a: Value, b: Value) -> Value {
            self.push(Opcode::$code, &[a, b], &[WORD, WORD], &[Type::$result])[0]
        }
    )*};
}

impl Builder {
    /// The same word in all clusters. Each constant is made once.
    #[track_caller]
    pub fn constant(&mut self, word: u32) -> Value {
        self.broadcast(Opcode::Constant(word))
    }

    /// The host's scalar.
    #[track_caller]
    pub fn scalar(&mut self, scalar: ScalarId) -> Value {
        self.broadcast(Opcode::Scalar(scalar))
    }

    /// This cluster's number, from 0.
    #[track_caller]
    pub fn cluster_id(&mut self) -> Value {
        self.broadcast(Opcode::ClusterId)
    }

    /// The number of clusters.
    #[track_caller]
    pub fn cluster_count(&mut self) -> Value {
        self.broadcast(Opcode::ClusterCount)
    }

    of_two_words! {
        /// `a + b`, modulo 2³².
        add: Add -> Word;
        /// `a - b`, modulo 2³².
        sub: Sub -> Word;
        /// Whether `a < b`, unsigned.
        less: Less -> Flag;
        /// Whether `a < b` as two's complement numbers.
        less_signed: LessSigned -> Flag;
        /// Whether `a = b`.
        equal: Equal -> Flag;
        /// The lower word of `a · b`.
        multiply_low: MultiplyLow -> Word;
        /// The upper word of the unsigned product `a · b`.
        multiply_high: MultiplyHigh -> Word;
    }

    /// Bitwise and, of two words or of two flags.
    #[track_caller]
    pub fn and(&mut self, a: Value, b: Value) -> Value {
        self.logic(Opcode::And, a, b)
    }

    /// Bitwise or, of two words or of two flags.
    #[track_caller]
    pub fn or(&mut self, a: Value, b: Value) -> Value {
        self.logic(Opcode::Or, a, b)
    }

    /// Bitwise exclusive or, of two words or of two flags.
    #[track_caller]
    pub fn xor(&mut self, a: Value, b: Value) -> Value {
        self.logic(Opcode::Xor, a, b)
    }

    #[track_caller]
    fn logic(&mut self, code: Opcode, a: Value, b: Value) -> Value {
        let of = self.kernel.type_of(a);
        self.push(code, &[a, b], &[of, of], &[of])[0]
    }

    /// The exclusive or of all words; at least one.
    #[track_caller]
    pub fn xor_all(&mut self, words: &[Value]) -> Value {
        let mut level = words.to_vec();
        while level.len() > 1 {
            let mut next = Vec::with_capacity(level.len().div_ceil(2));
            for pair in level.chunks(2) {
                next.push(match *pair {
                    [a, b] => self.xor(a, b),
                    [a] => a,
                    _ => continue,
                });
            }
            level = next;
        }
        match level.first() {
            Some(&value) => value,
            None => {
                self.fail(Cause::Hint("xor_all takes at least one word".to_owned()));
                self.constant(0)
            }
        }
    }

    /// `a << bits`.
    #[track_caller]
    pub fn shift_left(&mut self, a: Value, bits: u32) -> Value {
        self.shifted(Opcode::ShiftLeft, a, bits)
    }

    /// `a >> bits`, zeros coming in.
    #[track_caller]
    pub fn shift_right(&mut self, a: Value, bits: u32) -> Value {
        self.shifted(Opcode::ShiftRight, a, bits)
    }

    /// `a >> bits`, the sign coming in.
    #[track_caller]
    pub fn shift_right_signed(&mut self, a: Value, bits: u32) -> Value {
        self.shifted(Opcode::ShiftRightSigned, a, bits)
    }

    /// `a` rotated left.
    #[track_caller]
    pub fn rotate_left(&mut self, a: Value, bits: u32) -> Value {
        self.shifted(Opcode::RotateLeft, a, bits)
    }

    #[track_caller]
    fn shifted(&mut self, code: Opcode, a: Value, bits: u32) -> Value {
        if bits >= 32 {
            self.fail(Cause::Hint(format!(
                "{} by {bits} bits: at most 31",
                code.name()
            )));
        }
        let bits = self.constant(bits);
        self.push(code, &[a, bits], &[WORD, WORD], &[WORD])[0]
    }

    /// `a >> bits` by as many bits as another word says, modulo 32.
    #[track_caller]
    pub fn shift_right_by(&mut self, a: Value, bits: Value) -> Value {
        self.push(Opcode::ShiftRight, &[a, bits], &[WORD, WORD], &[WORD])[0]
    }

    /// `a >> bits` by as many bits as another word says, modulo 32, the sign
    /// coming in.
    #[track_caller]
    pub fn shift_right_signed_by(&mut self, a: Value, bits: Value) -> Value {
        let code = Opcode::ShiftRightSigned;
        self.push(code, &[a, bits], &[WORD, WORD], &[WORD])[0]
    }

    /// `a << bits` by as many bits as another word says, modulo 32.
    #[track_caller]
    pub fn shift_left_by(&mut self, a: Value, bits: Value) -> Value {
        self.push(Opcode::ShiftLeft, &[a, bits], &[WORD, WORD], &[WORD])[0]
    }

    /// `a` where the flag is set, else `b`.
    #[track_caller]
    pub fn select(&mut self, flag: Value, a: Value, b: Value) -> Value {
        self.push(
            Opcode::Select,
            &[flag, a, b],
            &[Type::Flag, WORD, WORD],
            &[WORD],
        )[0]
    }

    /// Bytes of `a` as a pattern of four selectors says: digit `i` of the
    /// pattern, in hexadecimal, names the byte of `a` that becomes byte `i`
    /// (0 is the least significant), or clears it with an 8.
    #[track_caller]
    pub fn shuffle(&mut self, a: Value, pattern: u32) -> Value {
        let pattern = self.constant(pattern);
        self.push(Opcode::Shuffle, &[a, pattern], &[WORD, WORD], &[WORD])[0]
    }

    /// Both words of `a · b`, unsigned: lower, upper.
    #[track_caller]
    pub fn multiply_wide(&mut self, a: Value, b: Value) -> [Value; 2] {
        let product = self.push(Opcode::MultiplyWide, &[a, b], &[WORD; 2], &[WORD; 2]);
        [product[0], product[1]]
    }

    /// The sum of two 64-bit numbers, each lower word first, modulo 2⁶⁴.
    #[track_caller]
    pub fn add64(&mut self, a: [Value; 2], b: [Value; 2]) -> [Value; 2] {
        let args = [a[0], a[1], b[0], b[1]];
        let sum = self.push(Opcode::Add64, &args, &[WORD; 4], &[WORD; 2]);
        [sum[0], sum[1]]
    }

    /// `sum + a · b`, modulo 2⁶⁴: a multiplication and a 64-bit addition.
    #[track_caller]
    pub fn multiply_accumulate(&mut self, sum: [Value; 2], a: Value, b: Value) -> [Value; 2] {
        let product = self.multiply_wide(a, b);
        self.add64(sum, product)
    }

    /// The word of the array at `index + offset`.
    #[track_caller]
    pub fn scratch_read(&mut self, array: ArrayId, index: Value, offset: u32) -> Value {
        self.check_index(array, index, offset);
        let code = Opcode::ScratchRead { array, offset };
        self.push(code, &[index], &[WORD], &[WORD])[0]
    }

    /// The bit of the array that a number names, its lowest word's lowest bit
    /// being 0, as an assist in hardware finds it: 0 or 1. The number is taken
    /// modulo how many bits there are.
    #[track_caller]
    pub fn scratch_bit(&mut self, array: ArrayId, number: Value) -> Value {
        let code = Opcode::ScratchBit { array };
        self.push(code, &[number], &[WORD], &[WORD])[0]
    }

    /// Sets the word of the array at `index + offset`.
    #[track_caller]
    pub fn scratch_write(&mut self, array: ArrayId, index: Value, offset: u32, word: Value) {
        self.check_index(array, index, offset);
        let code = Opcode::ScratchWrite { array, offset };
        self.push(code, &[index, word], &[WORD, WORD], &[]);
    }

    /// A word of an indexed stream; see [`Addressing`] for the index.
    #[track_caller]
    pub fn indexed_read(
        &mut self,
        stream: IndexedId,
        addressing: Addressing,
        index: Value,
    ) -> Value {
        let code = Opcode::IndexedRead { stream, addressing };
        self.push(code, &[index], &[WORD], &[WORD])[0]
    }

    /// Sets a word of an indexed stream; see [`Addressing`] for the index.
    #[track_caller]
    pub fn indexed_write(
        &mut self,
        stream: IndexedId,
        addressing: Addressing,
        index: Value,
        word: Value,
    ) {
        let code = Opcode::IndexedWrite { stream, addressing };
        self.push(code, &[index, word], &[WORD, WORD], &[]);
    }

    /// The word as the cluster has it that `source` names, modulo the number
    /// of clusters.
    #[track_caller]
    pub fn communicate(&mut self, word: Value, source: Value) -> Value {
        self.push(Opcode::Communicate, &[word, source], &[WORD, WORD], &[WORD])[0]
    }

    /// The next record of an input stream, word by word.
    #[track_caller]
    pub fn read(&mut self, stream: InputId) -> Vec<Value> {
        let words = self.kernel.inputs[stream.index()].record_words;
        self.read_words(stream, 0..words)
    }

    /// Some of the words of the next record, where the words before them have
    /// been read: a long record need not be in registers at once.
    #[track_caller]
    pub fn read_words(&mut self, stream: InputId, words: Range<u32>) -> Vec<Value> {
        let port = &self.kernel.inputs[stream.index()];
        let (name, record_words) = (port.name.clone(), port.record_words);
        self.check_words(&name, record_words, words.end as usize);
        let mut record = Vec::with_capacity(words.len());
        for word in words {
            record.extend(self.push(Opcode::Input { stream, word }, &[], &[], &[WORD]));
        }
        record
    }

    /// Appends a record to an output stream.
    #[track_caller]
    pub fn write(&mut self, stream: OutputId, record: &[Value]) {
        let port = &self.kernel.outputs[stream.index()];
        if record.len() != port.record_words as usize {
            let cause = Cause::Record {
                stream: port.name.clone(),
                expected: port.record_words,
                found: record.len(),
            };
            self.fail(cause);
        }
        self.write_words(stream, 0, record);
    }

    /// Appends some of the words of a record from word `first` on, where the
    /// words before them have been written.
    #[track_caller]
    pub fn write_words(&mut self, stream: OutputId, first: u32, words: &[Value]) {
        let port = &self.kernel.outputs[stream.index()];
        let (name, record_words) = (port.name.clone(), port.record_words);
        self.check_words(&name, record_words, first as usize + words.len());
        for (word, &value) in (first..).zip(words) {
            self.push(Opcode::Output { stream, word }, &[value], &[WORD], &[]);
        }
    }

    #[track_caller]
    fn check_words(&mut self, stream: &str, record_words: u32, end: usize) {
        if end > record_words as usize {
            self.fail(Cause::Record {
                stream: stream.to_owned(),
                expected: record_words,
                found: end,
            });
        }
    }
}
