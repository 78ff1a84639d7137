//! Bounds by enumeration of all keys in miniature, and the 32-bit functions
//! against whole numbers. Nothing is drawn at random but proptest's cases, which
//! compare exactly: no right implementation fails.

use proptest::prelude::*;

use super::*;

/// MMH with words of `bits` bits and the prime next above 2^`bits`: equation 4.5 in
/// whole numbers.
fn mmh(bits: u32, prime: u128, key: &[u32], message: &[u32]) -> u32 {
    let products = message.iter().zip(key);
    let sum: u128 = products.map(|(m, x)| u128::from(*m) * u128::from(*x)).sum();
    (sum % (1 << (2 * bits)) % prime % (1 << bits)) as u32
}

proptest! {
    #[test]
    fn values_are_those_of_whole_numbers(
        pairs in prop::collection::vec((any::<u32>(), prop_oneof![any::<u32>(), Just(u32::MAX)]), 0..70),
        more in prop::collection::vec(any::<u32>(), 3),
    ) {
        let (message, mut key): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        key.extend(more);
        let exact: u128 = message.iter().zip(&key).map(|(m, x)| u128::from(*m) * u128::from(*x)).sum();
        prop_assert_eq!(Mmh32Star::new(&key).hash(&message), Ok((exact % u128::from(P32)) as u64));
        let tags = Mmh32::<4>::new(&key).hash(&message);
        let expected = std::array::from_fn(|t| mmh(32, P32.into(), &key[t..], &message));
        prop_assert_eq!(tags, Ok(expected));
        let wide: Vec<u64> = message.iter().map(|word| u64::from(*word)).collect();
        let key: Vec<u64> = key.iter().map(|word| u64::from(*word)).collect();
        let star = MmhStar::new(P32, &key).hash(&wide);
        prop_assert_eq!(star, Ok((exact % u128::from(P32)) as u64));
    }
}

#[test]
fn messages_that_do_not_fit_are_refused() {
    let too_long = |most_words, given_words| {
        Err(MessageError::TooLong {
            most_words,
            given_words,
        })
    };
    assert_eq!(
        Mmh32::<4>::new(&[1; 8]).hash(&[0; 6]),
        too_long(5, 6).map(|()| [0; 4])
    );
    assert_eq!(
        Mmh32Star::new(&[1; 8]).hash(&[0; 9]),
        too_long(8, 9).map(|()| 0)
    );
    let word = MessageError::Word {
        index: 1,
        word: 7,
        most: 6,
    };
    assert_eq!(MmhStar::new(7, &[1, 2]).hash(&[6, 7]), Err(word));
}

const BITS: u32 = 4;
const PRIME: u128 = 17;
const WORDS: u32 = 1 << BITS;

/// The most keys, of all, under which three tags of some two messages of two words
/// differ by some amount, in units of what the proof allows. `tags` hashes a
/// message in miniature under a key of four words.
fn worst(tags: impl Fn(&[u32; 4], &[u32; 2]) -> [u32; 3]) -> f64 {
    let message = |m: u32| [m % WORDS, m / WORDS];
    let mut worst = 0.0f64;
    for (a, b) in [
        (0, 1),
        (0, 16),
        (0, 8),
        (0, 136),
        (37, 101),
        (255, 0),
        (255, 239),
    ] {
        let (a, b) = (message(a), message(b));
        let keys = WORDS.pow(4);
        let mut counts = vec![0u32; WORDS.pow(3) as usize];
        for key in 0..keys {
            let key = [0, 1, 2, 3].map(|word| key / WORDS.pow(word) % WORDS);
            let (a, b) = (tags(&key, &a), tags(&key, &b));
            let difference = |t: usize| a[t].wrapping_sub(b[t]) % WORDS;
            let place = difference(0) + WORDS * (difference(1) + WORDS * difference(2));
            counts[place as usize] += 1;
        }
        for (place, count) in (0..).zip(counts) {
            // Three residues for a difference of zero, two for others.
            let differences = [0, 1, 2].map(|t| place / WORDS.pow(t) % WORDS);
            let values = differences.map(|d| if d == 0 { 9.0 } else { 6.0 });
            let allowed: f64 = values.iter().map(|v| v / f64::from(WORDS)).product();
            worst = worst.max(f64::from(count) / f64::from(keys) / allowed);
        }
    }
    worst
}

/// The proof of Toeplitz tags, counted over all keys.
#[test]
fn toeplitz_tags_of_mmh_keep_their_bound() {
    let tags = |key: &[u32; 4], m: &[u32; 2]| [0, 1, 2].map(|t| mmh(BITS, PRIME, &key[t..], m));
    assert!(worst(tags) <= 1.0);
    // Broken: all tags from the same words of the key.
    let same = |key: &[u32; 4], m: &[u32; 2]| [mmh(BITS, PRIME, key, m); 3];
    assert!(worst(same) > 1.0);
}

/// One tag, for every pair of messages, difference and key: at most 6·2⁻⁴, or 9·2⁻⁴
/// for a difference of zero.
#[test]
fn mmh_keeps_its_bound_and_needs_its_prime() {
    let within = |hash: &dyn Fn(&[u32; 2], &[u32; 2]) -> u32| {
        let words: Vec<[u32; 2]> = (0..WORDS * WORDS).map(|m| [m % WORDS, m / WORDS]).collect();
        words.iter().enumerate().all(|(index, a)| {
            words[..index].iter().all(|b| {
                let mut counts = [0; WORDS as usize];
                for key in &words {
                    counts[(hash(key, a).wrapping_sub(hash(key, b)) % WORDS) as usize] += 1;
                }
                let most = |d| if d == 0 { 9 * WORDS } else { 6 * WORDS };
                counts
                    .iter()
                    .enumerate()
                    .all(|(d, count)| *count <= most(d))
            })
        })
    };
    assert!(within(&|key, m| mmh(BITS, PRIME, key, m)));
    // Broken: the lower bits of the sum, without a prime.
    assert!(!within(&|key, m| mmh(BITS, 1 << (2 * BITS), key, m)));
}

/// MMH* over small fields: exactly 1/p for every pair and difference. Modulo a
/// number that is no prime it is not.
#[test]
fn mmh_star_is_delta_universal_over_a_prime_only() {
    for (modulus, is_prime) in [(3, true), (5, true), (7, true), (4, false), (6, false)] {
        let pairs: Vec<[u64; 2]> = (0..modulus * modulus)
            .map(|i| [i % modulus, i / modulus])
            .collect();
        let mut worst = 0;
        for (index, a) in pairs.iter().enumerate() {
            for b in &pairs[..index] {
                let mut counts = vec![0; modulus as usize];
                for key in &pairs {
                    let hash = |m| MmhStar::new(modulus, key).hash(m).expect("small words");
                    counts[((hash(a) + modulus - hash(b)) % modulus) as usize] += 1;
                }
                worst = worst.max(counts.into_iter().max().unwrap_or(0));
            }
        }
        assert_eq!(worst == modulus, is_prime, "{modulus}");
    }
}
