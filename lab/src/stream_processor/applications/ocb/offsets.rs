//! L(i) and offsets.

use super::{BLOCKS, Block, PARAMETERS, by_trailing_zeros, read, xor};
use crate::stream_processor::kernel::{BuildError, Builder, Kernel, OutputId, Over, Value};

/// Bytes of a word in the other order: a block is a number whose first byte is
/// the highest.
const REVERSED: u32 = 0x0123;

/// L and the nonce in one block, of which the first offset is the encryption.
pub fn nonce() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("ocb-nonce");
    let (l, nonces) = (k.input("L", 4), k.input("nonces", 4));
    let out = k.output("blocks", 4);
    let (l, nonce) = (read(&mut k, l), read(&mut k, nonces));
    let block = xor(&mut k, l, nonce);
    k.write(out, &block);
    k.finish()
}

/// L(-1) to L(6), and the tweak of a special block of 128 bits.
pub fn parameters() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("ocb-parameters");
    make_parameters(&mut k);
    k.finish()
}

/// The same and the offsets of all blocks of the largest packet.
pub fn offsets() -> Result<Kernel, BuildError> {
    /// Blocks of an iteration: L(0), L(1) and L(2) come in a fixed order.
    const AT_ONCE: usize = 8;
    let mut k = Builder::new("ocb-offsets");
    let first = k.input("first offset", 4);
    let l = make_parameters(&mut k);
    let out = k.output("offsets", 4);
    let first = read(&mut k, first);
    let one = k.constant(1);
    let carried = [&[one][..], &first].concat();
    let over = Over::count((BLOCKS / AT_ONCE) as u32).label("offsets");
    k.repeat(over, &carried, |k, carried| {
        let mut offset: Block = std::array::from_fn(|column| carried[1 + column]);
        for number in 1..=AT_ONCE {
            let l = match number {
                AT_ONCE => by_trailing_zeros(k, carried[0], &l[4..]),
                number => l[1 + number.trailing_zeros() as usize],
            };
            offset = xor(k, offset, l);
            k.write(out, &offset);
        }
        [&[k.add(carried[0], one)][..], &offset].concat()
    });
    k.finish()
}

/// Reads L, gives out L(-1) to L(6) and the tweak, and returns the former.
fn make_parameters(k: &mut Builder) -> Vec<Block> {
    let input = k.input("L", 4);
    let (out, tweaks) = (k.output("parameters", 4), k.output("tweaks", 4));
    let l = read(k, input).map(|word| k.shuffle(word, REVERSED));
    let mut numbers = vec![halved(k, l), l];
    while let [.., last] = numbers.as_slice()
        && numbers.len() < PARAMETERS
    {
        let next = doubled(k, *last);
        numbers.push(next);
    }
    let blocks: Vec<Block> = numbers
        .into_iter()
        .map(|number| number.map(|word| k.shuffle(word, REVERSED)))
        .collect();
    give(k, out, &blocks);
    // A length of 128 is in the last byte.
    let length = k.constant(128 << 24);
    let mut tweak = blocks[0];
    tweak[3] = k.xor(tweak[3], length);
    k.write(tweaks, &tweak);
    blocks
}

fn give(k: &mut Builder, out: OutputId, blocks: &[Block]) {
    for block in blocks {
        k.write(out, block);
    }
}

/// A shift to the left by one bit, `low` being the words to the right.
fn shifted_left(k: &mut Builder, word: Value, right: Value) -> Value {
    let moved = k.shift_left(word, 1);
    let top = k.shift_right(right, 31);
    k.or(moved, top)
}

/// Twice an element of GF(2¹²⁸), the highest word first.
fn doubled(k: &mut Builder, number: Block) -> Block {
    let reduction = k.constant(0x87);
    let sign = k.shift_right_signed(number[0], 31);
    let reduced = k.and(sign, reduction);
    let low = k.shift_left(number[3], 1);
    [
        shifted_left(k, number[0], number[1]),
        shifted_left(k, number[1], number[2]),
        shifted_left(k, number[2], number[3]),
        k.xor(low, reduced),
    ]
}

/// Half of an element: the number of which it is twice.
fn halved(k: &mut Builder, number: Block) -> Block {
    let (one, zero) = (k.constant(1), k.constant(0));
    let (top, low) = (k.constant(0x8000_0000), k.constant(0x43));
    let odd = k.and(number[3], one);
    let is_odd = k.sub(zero, odd);
    let words: Block = std::array::from_fn(|column| {
        let moved = k.shift_right(number[column], 1);
        match column {
            0 => moved,
            _ => {
                let bit = k.shift_left(number[column - 1], 31);
                k.or(moved, bit)
            }
        }
    });
    let (top, low) = (k.and(is_odd, top), k.and(is_odd, low));
    [
        k.xor(words[0], top),
        words[1],
        words[2],
        k.xor(words[3], low),
    ]
}
