//! Known answers of universal-hash MACs through their job interface.

use weir_simd::Tier;

use super::known_answers::unhex;
use super::known_answers::universal::{KEY, MMH, NONCE, TagsAnswer, UMAC};
use super::self_test::{SelfTestError, Tested};
use crate::hazmat::mac::{self, RawMacKey, RawTagJob};
use crate::mac::{Algorithm, Material, TagWords};

/// Messages of an answer: more than are hashed side by side.
const COPIES: usize = 9;

/// Tests one MAC with the kernels of `tier` and counts the messages compared.
/// GMAC, HMAC and Poly1305 are tested with the suites that are made of them.
pub(super) fn of(algorithm: Algorithm, tier: Tier) -> Result<usize, SelfTestError> {
    let (answers, words, published_in) = match algorithm {
        Algorithm::Umac(words) => (UMAC, words, "RFC 4418 appendix"),
        Algorithm::Mmh(words) => (MMH, words, "the documentation of weir_crypto::mac"),
        Algorithm::Gmac(_) | Algorithm::Poly1305 | Algorithm::Hmac(_) => return Ok(0),
    };
    check(algorithm, words, answers, tier).map_err(|what| SelfTestError {
        subject: Tested::Mac(algorithm),
        published_in,
        what,
    })
}

/// All answers in one batch, so that messages of different lengths share lanes,
/// and each in one batch of its own.
fn check(
    algorithm: Algorithm,
    words: TagWords,
    answers: &[TagsAnswer],
    tier: Tier,
) -> Result<usize, &'static str> {
    let key = Material::new(algorithm, KEY)
        .and_then(|material| RawMacKey::new(&material, tier))
        .map_err(|_| "the key is refused")?;
    let expected: Option<Vec<(Vec<u8>, Vec<u8>)>> = answers
        .iter()
        .map(|answer| {
            let message = unhex(answer.unit)?.repeat(answer.count);
            Some((message, unhex(answer.tags[words as usize])?))
        })
        .collect();
    let expected = expected.ok_or("the answer cannot be read")?;
    let mut messages = 0;
    for one in &expected {
        let short = if one.0.len() < 4096 { COPIES } else { 1 };
        messages += compare(&key, tier, &vec![one; short])?;
    }
    let all: Vec<&(Vec<u8>, Vec<u8>)> = expected.iter().collect();
    Ok(messages + compare(&key, tier, &all)?)
}

fn compare(
    key: &RawMacKey,
    tier: Tier,
    answers: &[&(Vec<u8>, Vec<u8>)],
) -> Result<usize, &'static str> {
    let mut tags: Vec<Vec<u8>> = answers.iter().map(|(_, tag)| vec![0; tag.len()]).collect();
    let mut jobs: Vec<RawTagJob<'_>> = answers
        .iter()
        .zip(&mut tags)
        .enumerate()
        .map(|(index, ((message, _), tag))| {
            let (head, rest) = message.split_at(message.len().min(index));
            RawTagJob {
                key,
                nonce: NONCE,
                parts: [head, &[], rest, &[]],
                tag,
            }
        })
        .collect();
    mac::tag(tier, &mut jobs).map_err(|_| "the message is refused")?;
    match answers
        .iter()
        .zip(&tags)
        .all(|((_, expected), tag)| tag == expected)
    {
        true => Ok(answers.len()),
        false => Err("the tag differs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_fails_the_test() {
        let mut answers = UMAC.to_vec();
        answers[1].tags[1] = "0011223344556677";
        let umac_64 = Algorithm::Umac(TagWords::Two);
        let result = check(umac_64, TagWords::Two, &answers, Tier::Scalar);
        assert_eq!(result, Err("the tag differs"));
        answers[1].tags[1] = "0x";
        let result = check(umac_64, TagWords::Two, &answers, Tier::Scalar);
        assert_eq!(result, Err("the answer cannot be read"));
    }
}
