use proptest::prelude::*;
use weir_guard::{Side, guarded};
use weir_simd::for_each_tier;

use super::*;

/// Hashes by definition, by appending in two parts, and in lanes over all
/// windows of a text and all lengths; in buffers that lie at unmapped pages, so that an
/// access beyond them ends the program.
fn check_appending<F: StringFamily>(text: &[u8], longest: usize) {
    for side in Side::ALL {
        guarded(side, || {
            let text = Vec::from(text);
            check_appending_in_place::<F>(&text, longest);
        });
    }
}

fn check_appending_in_place<F: StringFamily>(text: &[u8], longest: usize) {
    let family = F::draw(3, longest, Seed::from_u64(7));
    assert_eq!(family.functions(), 3);
    for function in 0..3 {
        for_each_tier(|tier| {
            let mut states = vec![family.start(function); text.len()];
            for length in 1..=longest.min(text.len()) {
                let windows = text.len() - length + 1;
                let bytes = &text[length - 1..];
                states.truncate(windows);
                states.shrink_to_fit();
                family.append_to_each(tier, function, &mut states, length - 1, bytes);
                let mut hashes = vec![0; windows];
                family.finish_each(tier, function, &states, &mut hashes);
                for (window, (state, hash)) in text.windows(length).zip(states.iter().zip(&hashes))
                {
                    let expected = family.hash(function, window);
                    assert_eq!(*hash, expected, "{}, {tier}", F::NAME);
                    assert_eq!(family.finish(function, *state), expected);
                }
            }
        });
    }
}

proptest! {
    #[test]
    fn appending_is_hashing(text in prop::collection::vec(any::<u8>(), 0..150), longest in 1usize..20) {
        check_appending::<ShiftAddXor>(&text, longest);
        check_appending::<Tabulation>(&text, longest);
        check_appending::<Radix<1>>(&text, longest);
        check_appending::<Radix<3>>(&text, longest);
    }

    /// A window that goes on in another segment, by its state.
    #[test]
    fn a_state_is_all_that_a_segment_hands_on(
        string in prop::collection::vec(any::<u8>(), 1..16),
        cut in 0usize..16,
    ) {
        let family = ShiftAddXor::draw(1, 16, Seed::from_u64(3));
        let (head, tail) = string.split_at(cut.min(string.len()));
        let mut state = family.start(0);
        for (place, byte) in head.iter().enumerate() {
            state = family.append(0, state, place, *byte);
        }
        for (place, byte) in tail.iter().enumerate() {
            state = family.append(0, state, head.len() + place, *byte);
        }
        prop_assert_eq!(family.finish(0, state), family.hash(0, &string));
    }
}

/// Worked by hand: seed 0, "a" = 97: h = 0 ^ (0 + 0 + 97) = 97; then "b" = 98:
/// (97 << 5) + (97 >> 2) + 98 = 3104 + 24 + 98 = 3226; 97 ^ 3226 = 3323.
#[test]
fn steps_of_shift_add_xor() {
    let (a, b) = (shift_add_xor::step(0, b'a'), shift_add_xor::step(97, b'b'));
    assert_eq!((a, b), (97, 3323));
}
