use proptest::prelude::*;

use super::*;
use crate::agreement::{LongKey, assert_lanes_equal_scalar, assert_lanes_equal_scalar_over};
use crate::family::MAX_WIDTH;

fn determinant(mut m: Vec<Vec<i64>>) -> i64 {
    let p = i64::from(PRIME);
    let mut det = 1;
    for i in 0..m.len() {
        let Some(pivot) = (i..m.len()).find(|row| m[*row][i] != 0) else {
            return 0;
        };
        m.swap(i, pivot);
        det = det * m[i][i] % p;
        let inverse = (1..p).find(|y| m[i][i] * y % p == 1).unwrap();
        let (above, below) = m.split_at_mut(i + 1);
        for row in below {
            let factor = row[i] * inverse % p;
            for (entry, upper) in row.iter_mut().zip(&above[i]) {
                *entry = (*entry - factor * upper).rem_euclid(p);
            }
        }
    }
    det
}

/// All minors of the 4x3 matrix, and 2,000 of the 40x39 one.
#[test]
fn square_minors_are_not_zero() {
    let minor = |matrix: &[Vec<u32>], rows: &[usize], columns: &[usize]| {
        let row = |row: &usize| {
            columns
                .iter()
                .map(|c| i64::from(matrix[*row][*c]))
                .collect()
        };
        determinant(rows.iter().map(row).collect())
    };
    let chosen = |mask: usize, n: usize| (0..n).filter(|i| mask >> i & 1 == 1).collect();
    let small = cauchy(4, 3);
    for rows in 1..16 {
        for columns in 1..8 {
            let (rows, columns): (Vec<_>, Vec<_>) = (chosen(rows, 4), chosen(columns, 3));
            if rows.len() == columns.len() {
                assert_ne!(minor(&small, &rows, &columns), 0);
            }
        }
    }
    let large = cauchy(40, 39);
    let mut random = SeedStream::new(Seed::from_u64(1));
    for _ in 0..2000 {
        let mut pick = |n: usize, size: usize| {
            let mut all: Vec<usize> = (0..n).collect();
            all.sort_by_cached_key(|_| random.next_u64());
            all[..size].to_vec()
        };
        let size = 1 + pick(6, 1)[0];
        let (rows, columns) = (pick(40, size), pick(39, size));
        assert_ne!(minor(&large, &rows, &columns), 0);
    }
    let all: Vec<usize> = (0..3).collect();
    let vandermonde_of_twins = vec![vec![1, 2, 4], vec![1, 2, 4], vec![1, 3, 9]];
    assert_eq!(minor(&vandermonde_of_twins, &all, &all), 0);
}

/// Whether some position has a character that only one of the keys has.
fn has_a_single_character(keys: &[Vec<u32>]) -> bool {
    (0..keys[0].len()).any(|position| {
        let column: Vec<u32> = keys.iter().map(|key| key[position]).collect();
        column
            .iter()
            .any(|one| column.iter().filter(|other| *other == one).count() == 1)
    })
}

/// Quadruples without a single character among the inputs, the only hard
/// ones: 20,000 pairings and differences for each of three key lengths.
#[test]
fn derived_characters_tell_paired_keys_apart() {
    let mut random = SeedStream::new(Seed::from_u64(2));
    for characters in [2, 4, 8, 40] {
        let matrix = cauchy(characters, characters - 1);
        let mut tested = 0;
        while tested < 20_000 {
            let mut keys = vec![Vec::new(); 4];
            for _ in 0..characters {
                let pair = [random.next_bits(8) as u32, random.next_bits(8) as u32];
                // Which of the keys 2, 3, 4 agrees with key 1; 0: all do.
                let with_first = random.next_bits(2) as usize;
                for (number, key) in keys.iter_mut().enumerate() {
                    let is_first = number == 0 || with_first == 0 || number == with_first;
                    key.push(pair[usize::from(!is_first)]);
                }
            }
            let mut distinct = keys.clone();
            distinct.sort();
            distinct.dedup();
            if distinct.len() < 4 {
                continue;
            }
            assert!(!has_a_single_character(&keys));
            for key in &mut keys {
                let input = key.iter().map(|character| *character as usize);
                let derived = derived_characters(&matrix, input);
                key.extend_from_slice(&derived[..characters - 1]);
            }
            assert!(has_a_single_character(&keys), "{keys:?}");
            tested += 1;
        }
    }
}

/// All pairs of differences of 16-bit characters in miniature, of 4 bits:
/// the integer sum tells every rectangle's keys apart, exclusive or does not.
#[test]
fn sums_tell_rectangles_apart_and_exclusive_or_does_not() {
    let failures = |derive: fn(u32, u32) -> u32| {
        let mut failures = 0;
        for [a, c, b, d] in (0..1u32 << 16).map(|n| [0, 4, 8, 12].map(|at| n >> at & 15)) {
            if a == c || b == d {
                continue;
            }
            let keys = [(a, b), (a, d), (c, b), (c, d)].map(|(x, y)| vec![x, y, derive(x, y)]);
            failures += u32::from(!has_a_single_character(&keys));
        }
        failures
    };
    assert_eq!(failures(|x, y| x + y), 0);
    assert_eq!(failures(|x, y| x ^ y), 16 * 15 * 16);
}

#[test]
fn longer_keys_need_the_form_for_them() {
    assert_eq!(
        ThorupZhang16::draw(1, 2, 2, Seed::from_u64(0)),
        Err(ShapeError::Words(2, 1))
    );
    let family = ThorupZhang8::draw(2, 1 << 21, 10, Seed::from_u64(0)).unwrap();
    let buckets = |key: &[u32]| [family.bucket(0, key), family.bucket(1, key)];
    assert_eq!(buckets(&[1, 2]), buckets(&[1, 2, 0, 0]));
    assert_ne!(buckets(&[1, 2]), buckets(&[1, 2, 0, 1]));
}

/// The largest characters and sums, and every residue modulo 257 in a derived one.
#[test]
fn lanes_equal_scalar_at_the_limits() {
    for words in [1, 2, MAX_KEY_WORDS] {
        let family = ThorupZhang8::draw(3, MAX_WIDTH, words, Seed::from_u64(5)).unwrap();
        let mut keys = KeyColumns::new(MAX_KEY_WORDS, 259);
        assert!(keys.push(&[u32::MAX; MAX_KEY_WORDS]) && keys.push(&[]));
        for key in 0..257 {
            assert!(keys.push(&[key << 8 | key >> 7, key]));
        }
        assert_lanes_equal_scalar(&family, &keys);
    }
}

proptest! {
    /// Every key length, every number of keys from 0 to 40, every number of
    /// rows, keys shorter and longer than the family counts.
    #[test]
    fn lanes_of_bytes_equal_scalar(
        rows in 1usize..=MAX_ROWS,
        width in 1u32..=MAX_WIDTH,
        family_words in 1usize..=MAX_KEY_WORDS,
        key_words in 1usize..=MAX_KEY_WORDS,
        seed: u64,
        keys in prop::collection::vec(any::<LongKey>(), 0..40),
    ) {
        let family = ThorupZhang8::draw(rows, width, family_words, Seed::from_u64(seed)).unwrap();
        assert_lanes_equal_scalar_over(&family, key_words, &keys);
    }
}

/// Drawing takes a mebibyte a row: few families, each over keys of every kind.
#[test]
fn lanes_of_half_words_equal_scalar() {
    let mut random = SeedStream::new(Seed::from_u64(6));
    for (rows, width) in [(1, 1), (3, MAX_WIDTH), (8, 1000), (9, 77)] {
        let family = ThorupZhang16::draw(rows, width, 1, Seed::from_u64(7)).unwrap();
        for words in [1, 2] {
            for count in [0, 1, 15, 16, 17, 39] {
                let mut keys = KeyColumns::new(words, 40);
                assert!(keys.push(&[u32::MAX; 2][..words]));
                for _ in 0..count {
                    let key = [random.next_u64() as u32, 9];
                    assert!(keys.push(&key[..words]));
                }
                assert_lanes_equal_scalar(&family, &keys);
            }
        }
    }
}
