//! Every function of vectors against words one by one.

use weir_simd::Tier;

use super::{Avx2, Avx512, Isa, Vector, transpose_double_words, transpose_quads, transpose_words};

/// What the tests do with the vectors of each instruction set.
trait Check {
    fn check<I: Isa>(isa: I);
}

/// Those that the processor has.
fn with_every_isa<C: Check>() {
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: it was just found.
        C::check(unsafe { Avx2::new() });
    }
    if Tier::Avx512.is_available() {
        // SAFETY: it was just found.
        C::check(unsafe { Avx512::new() });
    }
}

/// Of the longest vector.
type Words = [u32; 16];

/// Words that are not alike, other ones for each `seed`.
fn words(seed: u32) -> Words {
    std::array::from_fn(|i| {
        let x = (i as u32 + 1).wrapping_mul(0x9e37_79b9) ^ seed.wrapping_mul(0x85eb_ca6b);
        x ^ x.rotate_left(seed % 31 + 1)
    })
}

fn double_words(words: &Words) -> [u64; 8] {
    std::array::from_fn(|i| u64::from(words[2 * i + 1]) << 32 | u64::from(words[2 * i]))
}

/// The words of a vector.
fn stored<V: Vector>(vector: V) -> Vec<u32> {
    let mut words = [0; 16];
    vector.store(&mut words);
    words[..4 * V::QUADS].to_vec()
}

struct WordByWord;

impl Check for WordByWord {
    fn check<I: Isa>(isa: I) {
        let (a, b, c) = (words(1), words(2), words(3));
        let [x, y, z] = [a, b, c].map(|words| isa.load(&words));
        let len = 4 * I::Vector::QUADS;
        let each = |f: &dyn Fn(u32, u32, u32) -> u32| -> Vec<u32> {
            (0..len).map(|i| f(a[i], b[i], c[i])).collect()
        };
        assert_eq!(stored(isa.zero()), vec![0; len]);
        assert_eq!(stored(isa.all_32(7)), vec![7; len]);
        assert_eq!(stored(x.xor(y)), each(&|a, b, _| a ^ b));
        assert_eq!(stored(x.and(y)), each(&|a, b, _| a & b));
        assert_eq!(stored(x.or(y)), each(&|a, b, _| a | b));
        assert_eq!(stored(x.xor3(y, z)), each(&|a, b, c| a ^ b ^ c));
        assert_eq!(stored(x.choose(y, z)), each(&|a, b, c| a & b | !a & c));
        let majority = |a, b, c| a & b | a & c | b & c;
        assert_eq!(stored(x.majority(y, z)), each(&majority));
        assert_eq!(stored(x.xor_or_not(y, z)), each(&|a, b, c| b ^ (a | !c)));
        assert_eq!(stored(x.add_32(y)), each(&|a, b, _| a.wrapping_add(b)));
        let rotated = |by: u32| each(&|a, _, _| a.rotate_right(by));
        assert_eq!(stored(x.rotate_right_32::<16>()), rotated(16));
        assert_eq!(stored(x.rotate_right_32::<24>()), rotated(24));
        assert_eq!(stored(x.rotate_right_32::<7>()), rotated(7));
        assert_eq!(stored(x.shift_right_32(5)), each(&|a, _, _| a >> 5));

        let (a, b) = (double_words(&a), double_words(&b));
        let each = |f: &dyn Fn(u64, u64) -> u64| -> Vec<u32> {
            let both = (0..len / 2).map(|i| f(a[i], b[i]));
            both.flat_map(|x| [x as u32, (x >> 32) as u32]).collect()
        };
        assert_eq!(stored(isa.all_64(1 << 40)), each(&|_, _| 1 << 40));
        assert_eq!(stored(x.add_64(y)), each(&|a, b| a.wrapping_add(b)));
        let rotated = |by: u32| each(&|a, _| a.rotate_right(by));
        assert_eq!(stored(x.rotate_right_64::<8>()), rotated(8));
        assert_eq!(stored(x.rotate_right_64::<41>()), rotated(41));
        assert_eq!(stored(x.shift_right_64(33)), each(&|a, _| a >> 33));
        assert_eq!(stored(x.shift_left_64(12)), each(&|a, _| a << 12));
        let funnel = |a: u64, b: u64| a >> 44 | b << 20;
        assert_eq!(stored(x.funnel_right_64(y, 44)), each(&funnel));
        let product = |a: u64, b: u64| (a & 0xffff_ffff) * (b & 0xffff_ffff);
        assert_eq!(stored(x.multiply_32(y)), each(&product));
        let greater = |a: u64, b: u64| match a.cast_signed() > b.cast_signed() {
            true => u64::MAX,
            false => 0,
        };
        assert_eq!(stored(x.greater_64(y)), each(&greater));
    }
}

#[test]
fn words_are_computed_one_by_one() {
    with_every_isa::<WordByWord>();
}

struct Places;

impl Check for Places {
    fn check<I: Isa>(isa: I) {
        let quads = I::Vector::QUADS;
        let rows: [Words; 4] = std::array::from_fn(|row| words(row as u32 + 4));
        let vectors = rows.map(|row| isa.load(&row));
        let [x, y, ..] = vectors;

        // Word w of quad q of the two rows.
        let expect = |f: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
            (0..quads)
                .flat_map(|q| (0..4).map(move |w| (q, w)))
                .map(|(q, w)| f(q, w))
                .collect()
        };
        let unpacked = |from: usize, size: usize| {
            expect(&|q, w| rows[w / size % 2][4 * q + from + w / (2 * size) * size + w % size])
        };
        assert_eq!(stored(x.unpack_low_32(y)), unpacked(0, 1));
        assert_eq!(stored(x.unpack_high_32(y)), unpacked(2, 1));
        assert_eq!(stored(x.unpack_low_64(y)), unpacked(0, 2));
        assert_eq!(stored(x.unpack_high_64(y)), unpacked(2, 2));
        let picked =
            |odd: usize| expect(&|q, w| rows[2 * q / quads][4 * ((2 * q + odd) % quads) + w]);
        assert_eq!(stored(x.even_quads(y)), picked(0));
        assert_eq!(stored(x.odd_quads(y)), picked(1));

        let order = std::array::from_fn(|byte| (7 * byte as u8 + 3) % 16);
        let mut bytes: Vec<u8> = Vec::new();
        for quad in rows[0].as_chunks::<4>().0 {
            let quad = quad.map(u32::to_le_bytes);
            bytes.extend(order.map(|byte| quad.as_flattened()[usize::from(byte)]));
        }
        let shuffled = expect(&|q, w| u32::from_le_bytes(bytes.as_chunks().0[4 * q + w]));
        assert_eq!(stored(x.shuffle_bytes(isa.all_quads(&order))), shuffled);

        let rows_of_8: [Words; 8] = std::array::from_fn(|row| words(row as u32 + 9));
        let turned = transpose_double_words(rows_of_8.map(|row| isa.load(&row)));
        for (i, vector) in turned.into_iter().take(2 * quads).enumerate() {
            let word = |q: usize, w: usize| rows_of_8[2 * q + w / 2][2 * i + w % 2];
            assert_eq!(stored(vector), expect(&word), "{i}");
        }
        for (i, vector) in transpose_words(vectors).into_iter().enumerate() {
            assert_eq!(stored(vector), expect(&|q, w| rows[w][4 * q + i]), "{i}");
        }
        for (i, vector) in transpose_quads(vectors).into_iter().take(quads).enumerate() {
            assert_eq!(stored(vector), expect(&|q, w| rows[q][4 * i + w]), "{i}");
        }
    }
}

#[test]
fn words_move_to_their_places() {
    with_every_isa::<Places>();
}

struct FirstBytes;

impl Check for FirstBytes {
    fn check<I: Isa>(isa: I) {
        let vector_bytes = 16 * I::Vector::QUADS;
        let from: Vec<u8> = (1..=vector_bytes as u8).collect();
        let bytes_of = |vector: I::Vector| {
            let mut bytes = [0u8; 64];
            vector.store(&mut bytes);
            bytes[..vector_bytes].to_vec()
        };
        for bytes in 0..=vector_bytes {
            // SAFETY: as many are readable.
            let vector = unsafe { isa.load_first(from.as_ptr(), bytes) };
            let padded = [&from[..bytes], &vec![0; vector_bytes - bytes]].concat();
            assert_eq!(bytes_of(vector), padded);
            let mut to = vec![0xee; vector_bytes];
            // SAFETY: as many are writable.
            unsafe { vector.store_first(to.as_mut_ptr(), bytes) };
            assert_eq!(
                to,
                [&from[..bytes], &vec![0xee; vector_bytes - bytes]].concat()
            );
        }
        for bytes in 0..=16 {
            let lengths = [bytes, 16 - bytes, 3, 0];
            // SAFETY: 16 bytes are readable of each.
            let vector = unsafe { isa.load_first_of_quads([from.as_ptr(); 4], lengths) };
            let quads = lengths.map(|bytes| [&from[..bytes], &vec![0; 16 - bytes]].concat());
            assert_eq!(bytes_of(vector), quads[..I::Vector::QUADS].concat());
        }
        let (first, second) = ([7; 32], [9; 32]);
        let pair = [first, second].concat();
        assert_eq!(
            bytes_of(isa.load_pair(&first, &second)),
            pair[..vector_bytes]
        );
    }
}

#[test]
fn first_bytes_are_read_and_written_and_no_others() {
    with_every_isa::<FirstBytes>();
}

/// Against the products of whole numbers.
#[test]
fn products_of_52_bits_are_added_by_halves() {
    if !Tier::Avx512.is_available() {
        return;
    }
    // SAFETY: it was just found.
    let isa = unsafe { Avx512::new() };
    let [a, b, c] = [1, 2, 3].map(words);
    let [x, y, z] = [a, b, c].map(|words| isa.load(&words));
    let [a, b, c] = [a, b, c].map(|words| double_words(&words));
    let low_52 = (1 << 52) - 1;
    let product = |i: usize| u128::from(a[i] & low_52) * u128::from(b[i] & low_52);
    let expect = |half: &dyn Fn(u128) -> u64| -> Vec<u32> {
        let sums = (0..8).map(|i| c[i].wrapping_add(half(product(i))));
        sums.flat_map(|x| [x as u32, (x >> 32) as u32]).collect()
    };
    assert_eq!(stored(z.add_low_52(x, y)), expect(&|p| p as u64 & low_52));
    assert_eq!(stored(z.add_high_52(x, y)), expect(&|p| (p >> 52) as u64));
}
