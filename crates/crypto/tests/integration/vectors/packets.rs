//! Cases laid out in one buffer, at any alignment and in any order of the batch, between guard
//! bytes.

use super::case::Case;
use super::shuffle::Shuffle;
use crate::support::laid::Laid;

/// The cases before they are sealed.
pub fn lay_out_plain<'c>(cases: impl Iterator<Item = &'c Case>, shuffle: &mut Shuffle) -> Laid {
    lay_out(cases, shuffle, |case| {
        // Neither was ever right: both must be written.
        let tag = case.tag.iter().map(|byte| !byte).collect();
        (vec![0xee; case.iv.len()], case.payload.clone(), tag)
    })
}

/// The cases as they are received.
pub fn lay_out_sealed<'c>(cases: impl Iterator<Item = &'c Case>, shuffle: &mut Shuffle) -> Laid {
    lay_out(cases, shuffle, |case| {
        (case.iv.clone(), case.sealed.clone(), case.tag.clone())
    })
}

fn lay_out<'c>(
    cases: impl Iterator<Item = &'c Case>,
    shuffle: &mut Shuffle,
    parts: impl Fn(&Case) -> (Vec<u8>, Vec<u8>, Vec<u8>),
) -> Laid {
    let mut laid = Laid::default();
    for case in cases {
        let (iv, payload, tag) = parts(case);
        // A cache line: every alignment that a kernel may care for lies within.
        let (skipped, gap) = (shuffle.below(64), shuffle.below(2) * shuffle.below(9));
        let parts = [&case.aad[..], &iv, &payload, &tag];
        laid.push(skipped, gap, case.esn_high.is_some(), parts);
    }
    // Half of the batches are out of order.
    if shuffle.below(2) == 1 {
        laid.order = shuffle.order(laid.packets.len());
    }
    laid
}

pub fn expect_sealed<'c>(laid: &Laid, cases: impl Iterator<Item = &'c Case>) {
    for (index, case) in cases.enumerate() {
        let expected = [&case.aad, &case.iv, &case.sealed, &case.tag];
        let names = ["AAD", "IV", "ciphertext", "tag"];
        for ((found, expected), name) in laid.parts(index).iter().zip(expected).zip(names) {
            assert_eq!(*found, expected, "{}: {name}", case.source);
        }
    }
    assert!(laid.is_guarded());
}

/// Whether a packet that was opened is as it must be: decrypted, or zeros.
pub fn expect_opened(laid: &Laid, index: usize, case: &Case, is_authentic: bool, is_good: bool) {
    let source = &case.source;
    assert_eq!(is_good, is_authentic, "{source}: the verdict");
    let [aad, iv, payload, _] = laid.parts(index);
    assert_eq!(iv.len(), case.iv.len(), "{source}");
    assert_eq!(aad.len(), case.aad.len(), "{source}");
    match is_good {
        true => assert_eq!(payload, case.payload, "{source}: the payload"),
        false => assert!(
            payload.iter().all(|byte| *byte == 0),
            "{source}: releases a payload"
        ),
    }
}
