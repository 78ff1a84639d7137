//! Operators and functions of the language: what each does with lists of words.

use super::super::{Builder, Opcode, Value};
use super::{At, TextError};

/// The word of a list that has one.
pub(super) fn one(words: &[Value], what: &str, at: At) -> Result<Value, TextError> {
    match words {
        [word] => Ok(*word),
        words => Err(at.wrong(format!("{what} is one word, not {}", words.len()))),
    }
}

/// An operator: word by word where it is bitwise, else on one word of each side.
pub(super) fn operation(
    k: &mut Builder,
    sign: &str,
    left: &[Value],
    right: &[Value],
    at: At,
) -> Result<Vec<Value>, TextError> {
    k.set_place(at.place());
    let is_bitwise = matches!(sign, "&" | "|" | "^");
    if left.len() != right.len() || left.is_empty() || (left.len() != 1 && !is_bitwise) {
        let what = if is_bitwise {
            "as many words on both sides"
        } else {
            "one word on each side"
        };
        let (left, right) = (left.len(), right.len());
        return Err(at.wrong(format!("{sign} takes {what}, not {left} and {right}")));
    }
    let pairs = left.iter().zip(right);
    pairs.map(|(&a, &b)| on_two(k, sign, a, b, at)).collect()
}

fn on_two(k: &mut Builder, sign: &str, a: Value, b: Value, at: At) -> Result<Value, TextError> {
    let code = match sign {
        "+" => Opcode::Add,
        "-" => Opcode::Sub,
        "*" => Opcode::MultiplyLow,
        "&" => Opcode::And,
        "|" => Opcode::Or,
        "^" => Opcode::Xor,
        "<<" => Opcode::ShiftLeft,
        ">>" => Opcode::ShiftRight,
        "<" => return Ok(k.less(a, b)),
        "==" => return Ok(k.equal(a, b)),
        _ => return Err(at.wrong(format!("{sign} is no operator"))),
    };
    let bits = k.known_number(b);
    // Shifts by more than a word are errors, which the builder finds.
    let is_shift = matches!(code, Opcode::ShiftLeft | Opcode::ShiftRight);
    if let (Some(a), Some(b)) = (k.known_number(a), bits)
        && !(is_shift && b >= u32::BITS)
        && let Some(result) = code.on_words(a, b)
    {
        return Ok(k.constant(result));
    }
    Ok(match (code, bits) {
        (Opcode::Add, _) => k.add(a, b),
        (Opcode::Sub, _) => k.sub(a, b),
        (Opcode::MultiplyLow, _) => k.multiply_low(a, b),
        (Opcode::And, _) => k.and(a, b),
        (Opcode::Or, _) => k.or(a, b),
        (Opcode::Xor, _) => k.xor(a, b),
        (Opcode::ShiftLeft, Some(bits)) => k.shift_left(a, bits),
        (Opcode::ShiftLeft, None) => k.shift_left_by(a, b),
        (_, Some(bits)) => k.shift_right(a, bits),
        (_, None) => k.shift_right_by(a, b),
    })
}

/// The functions of the language, and how many values each takes.
const BUILT_IN: [(&str, usize); 11] = [
    ("add64", 2),
    ("cluster_count", 0),
    ("cluster_id", 0),
    ("communicate", 2),
    ("less_signed", 2),
    ("multiply_high", 2),
    ("multiply_wide", 2),
    ("rotate_left", 2),
    ("select", 3),
    ("shift_right_signed", 2),
    ("shuffle", 2),
];

pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|(known, _)| *known == name)
}

/// A call of a function of the language.
pub(super) fn built_in(
    k: &mut Builder,
    function: &str,
    lists: &[Vec<Value>],
    at: At,
) -> Result<Vec<Value>, TextError> {
    let Some((_, expected)) = BUILT_IN.iter().find(|(known, _)| *known == function) else {
        return Err(at.wrong(format!("no function is called {function}")));
    };
    if lists.len() != *expected {
        let found = lists.len();
        return Err(at.wrong(format!("{function} takes {expected} values, not {found}")));
    }
    k.set_place(at.place());
    let word = |place: usize| {
        one(
            &lists[place],
            &format!("value {} of {function}", place + 1),
            at,
        )
    };
    let pair = |place: usize| match lists[place].as_slice() {
        [low, high] => Ok([*low, *high]),
        words => Err(at.wrong(format!(
            "value {} of {function} is two words, lower and upper, not {}",
            place + 1,
            words.len()
        ))),
    };
    let number = |k: &Builder, place: usize| {
        let known = k.known_number(word(place)?);
        known.ok_or_else(|| at.wrong(format!("value {} of {function} is a number", place + 1)))
    };
    Ok(match function {
        "add64" => k.add64(pair(0)?, pair(1)?).to_vec(),
        "cluster_count" => vec![k.cluster_count()],
        "cluster_id" => vec![k.cluster_id()],
        "communicate" => vec![k.communicate(word(0)?, word(1)?)],
        "less_signed" => vec![k.less_signed(word(0)?, word(1)?)],
        "multiply_high" => vec![k.multiply_high(word(0)?, word(1)?)],
        "multiply_wide" => k.multiply_wide(word(0)?, word(1)?).to_vec(),
        "rotate_left" => {
            let bits = number(k, 1)?;
            vec![k.rotate_left(word(0)?, bits)]
        }
        "shuffle" => {
            let pattern = number(k, 1)?;
            vec![k.shuffle(word(0)?, pattern)]
        }
        "select" => {
            let flag = word(0)?;
            if lists[1].len() != lists[2].len() {
                return Err(at.wrong("select chooses between as many words"));
            }
            let pairs = lists[1].iter().zip(&lists[2]);
            pairs.map(|(&a, &b)| k.select(flag, a, b)).collect()
        }
        "shift_right_signed" => {
            let (word, bits) = (word(0)?, word(1)?);
            vec![match k.known_number(bits) {
                Some(bits) => k.shift_right_signed(word, bits),
                None => k.shift_right_signed_by(word, bits),
            }]
        }
        _ => return Err(at.wrong(format!("no function is called {function}"))),
    })
}
