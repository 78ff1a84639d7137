//! How large a Count-Min sketch must be.

use std::f64::consts::E;

use weir_hash::{MAX_ROWS, MAX_WIDTH, ShapeError};

/// Accuracy of a Count-Min sketch: an estimate is never below the truth, and above it by
/// more than ε times the sum of all values (L1) with probability at most δ (Cormode and
/// Muthukrishnan, *An improved data stream summary: the Count-Min sketch and its
/// applications*, J. Algorithms 55, 2005, theorem 1).
///
/// ```
/// use weir_measure::{Accuracy, Shape};
///
/// let shape = Accuracy { epsilon: 1e-4, delta: 0.01 }.shape()?;
/// assert_eq!(shape, Shape { rows: 5, width: 27_184 });
/// # Ok::<(), weir_measure::AccuracyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Error relative to L1.
    pub epsilon: f64,
    /// Probability of a larger error.
    pub delta: f64,
}

/// ε = 10⁻⁴, δ = 2 %: four rows of 27,184 counters, 850 KB.
impl Default for Accuracy {
    fn default() -> Accuracy {
        Accuracy {
            epsilon: 1e-4,
            delta: 0.02,
        }
    }
}

/// An accuracy out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum AccuracyError {
    /// ε out of range.
    #[error("epsilon {0}: use {min:.2e} to 1", min = epsilon(f64::from(MAX_WIDTH)))]
    Epsilon(f64),
    /// δ out of range.
    #[error("delta {0}: use 1e-12 to 0.99")]
    Delta(f64),
    /// ε of a K-ary sketch out of range.
    #[error("epsilon {0}: use 0.002 to 1 of the root of F2")]
    MomentEpsilon(f64),
    /// δ of a K-ary sketch out of range.
    #[error("delta {0}: use 1e-6 to 0.99")]
    MomentDelta(f64),
}

impl Accuracy {
    /// Rows, ⌈ln 1/δ⌉, and counters per row: the fewest whose [`Shape::epsilon`] is ε
    /// or less. That is ⌈e/ε⌉ as in the paper, and as many more as make up for what
    /// the rows' hash family collides more than at random (one at ε = 10⁻⁴).
    ///
    /// # Errors
    /// ε below that of 2²¹ counters, 1.62·10⁻⁶, or above 1; δ below 10⁻¹² or above
    /// 0.99; either not a number.
    pub fn shape(self) -> Result<Shape, AccuracyError> {
        // The lesser w for which ε = (e/w)(1 + w²/2⁴⁴); not a number where there is
        // none.
        let paper = E / self.epsilon;
        let root = (1.0 - 4.0 * paper * paper * COLLISIONS).sqrt();
        let width = (2.0 * paper / (1.0 + root)).ceil();
        if !(self.epsilon <= 1.0 && (1.0..=f64::from(MAX_WIDTH)).contains(&width)) {
            return Err(AccuracyError::Epsilon(self.epsilon));
        }
        if !(1e-12..=0.99).contains(&self.delta) {
            return Err(AccuracyError::Delta(self.delta));
        }
        Ok(Shape {
            rows: (1.0 / self.delta).ln().ceil() as usize,
            width: width as u32,
        })
    }
}

/// Accuracy of a K-ary sketch: an estimate is off by more than ε·√F₂ with probability at
/// most δ, where F₂ is the sum over all keys of the squared sum (Krishnamurthy et al. 2003,
/// appendix, with exact binomial tails).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MomentAccuracy {
    /// Error relative to √F₂.
    pub epsilon: f64,
    /// Probability of a larger error.
    pub delta: f64,
}

impl MomentAccuracy {
    /// Counters per row, 1 + ⌈8/ε²⌉, so that by Chebyshev a row errs by more
    /// than that with probability at most 1/8, and the least odd number of rows
    /// of which half do so with probability at most δ.
    ///
    /// # Errors
    /// ε below 0.002 or above 1; δ below 10⁻⁶ or above 0.99; either not a number.
    pub fn shape(self) -> Result<Shape, AccuracyError> {
        if !(0.002..=1.0).contains(&self.epsilon) {
            return Err(AccuracyError::MomentEpsilon(self.epsilon));
        }
        if !(1e-6..=0.99).contains(&self.delta) {
            return Err(AccuracyError::MomentDelta(self.delta));
        }
        let rows = (1..MAX_ROWS).step_by(2);
        let mut enough = rows.filter(|rows| half_err(*rows as i32, 0.125) <= self.delta);
        Ok(Shape {
            rows: enough
                .next()
                .ok_or(AccuracyError::MomentDelta(self.delta))?,
            width: 1 + (8.0 / (self.epsilon * self.epsilon)).ceil() as u32,
        })
    }
}

/// The probability that at least half of `rows` err, each with probability
/// `each`: without that their median does not.
fn half_err(rows: i32, each: f64) -> f64 {
    let mut choices = 1.0;
    let mut tail = 0.0;
    for erring in 0..=rows {
        if 2 * erring >= rows {
            tail += choices * each.powi(erring) * (1.0 - each).powi(rows - erring);
        }
        choices *= f64::from(rows - erring) / f64::from(erring + 1);
    }
    tail
}

/// What the hash family of Count-Min sketches adds to a collision probability of
/// 1/w: this times w.
const COLLISIONS: f64 = 1.0 / (1u64 << 44) as f64;

/// The ε of rows of `width` counters.
fn epsilon(width: f64) -> f64 {
    E / width * (1.0 + width * width * COLLISIONS)
}

/// Size of a sketch: `rows` · `width` counters of 4 bytes, or of 12 once one of them
/// leaves the range of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows, each with its own hash function: 1 to 32.
    pub rows: usize,
    /// Counters per row: 1 to 2²¹.
    pub width: u32,
}

impl Shape {
    /// The ε for which the bound holds with probability 1 - e⁻ʳᵒʷˢ: e times the
    /// collision probability (1/w)(1 + w²/2⁴⁴) of the rows' hash family.
    pub fn epsilon(self) -> f64 {
        epsilon(self.width.into())
    }

    /// The δ with which the bound may fail: e⁻ʳᵒʷˢ.
    pub(crate) fn delta(self) -> f64 {
        (-(self.rows as f64)).exp()
    }

    /// The share of F₂ by which a K-ary sketch's estimate of it is off with
    /// probability at most `delta`: a row's variance is at most 2F₂²/(w - 1), so that
    /// by Chebyshev a row is off by more with a probability p of which follows that
    /// half of all rows are with probability δ.
    pub(crate) fn moment_error(self, delta: f64) -> f64 {
        let (mut low, mut high) = (0.0, 0.5);
        for _ in 0..50 {
            let middle = (low + high) / 2.0;
            if half_err(self.rows as i32, middle) <= delta {
                low = middle;
            } else {
                high = middle;
            }
        }
        (2.0 / (f64::from(self.width - 1) * low)).sqrt()
    }

    /// The error bound ε·L1 of an estimate, where all values add up to `total` (L1).
    pub fn bound(self, total: u64) -> u64 {
        (self.epsilon() * total as f64).ceil() as u64
    }
}

/// An accuracy or a size out of range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SizeError {
    /// The accuracy is out of range.
    #[error(transparent)]
    Accuracy(#[from] AccuracyError),
    /// The shape is out of range.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(epsilon: f64, delta: f64) -> Result<Shape, AccuracyError> {
        Accuracy { epsilon, delta }.shape()
    }

    #[test]
    fn sizes_follow_the_paper() {
        let rows_and_width = |e, d| shape(e, d).map(|s| (s.rows, s.width));
        assert_eq!(rows_and_width(1e-4, 0.02), Ok((4, 27_184)));
        assert_eq!(rows_and_width(0.01, 0.01), Ok((5, 272)));
        assert_eq!(rows_and_width(1.0, 0.99), Ok((1, 3)));
        assert_eq!(Accuracy::default().shape(), shape(1e-4, 0.02));
    }

    /// By hand: of three rows two err with 3·(1/8)²·(7/8) + (1/8)³ = 0.04297.
    #[test]
    fn sizes_of_k_ary_sketches() {
        assert!((half_err(1, 0.125) - 0.125).abs() < 1e-12);
        assert!((half_err(3, 0.125) - 0.042_968_75).abs() < 1e-12);
        // Either of two: 1 - (7/8)².
        assert!((half_err(2, 0.125) - 0.234_375).abs() < 1e-12);
        let shape = |epsilon, delta| MomentAccuracy { epsilon, delta }.shape();
        let rows_and_width = |e, d| shape(e, d).map(|s| (s.rows, s.width));
        assert_eq!(rows_and_width(0.1, 0.13), Ok((1, 801)));
        assert_eq!(rows_and_width(0.1, 0.05), Ok((3, 801)));
        assert!(shape(0.002, 1e-6).is_ok_and(|s| s.rows < 32 && s.width <= MAX_WIDTH));
        for epsilon in [0.0, 0.001, 1.1, f64::NAN] {
            assert!(shape(epsilon, 0.1).is_err(), "{epsilon}");
        }
        for delta in [0.0, 1e-7, 1.0, f64::NAN] {
            assert!(shape(0.1, delta).is_err(), "{delta}");
        }
    }

    /// Where half of five rows err with the probability of an eighth each.
    #[test]
    fn error_of_a_moment_follows_from_the_rows() {
        let shape = Shape { rows: 5, width: 33 };
        let share = shape.moment_error(half_err(5, 0.125));
        assert!(
            (share - (2.0f64 / 32.0 * 8.0).sqrt()).abs() < 1e-9,
            "{share}"
        );
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        for epsilon in [0.0, -1.0, 1.1, 1e-6, f64::NAN, f64::INFINITY] {
            assert!(shape(epsilon, 0.1).is_err(), "{epsilon}");
        }
        for delta in [0.0, -0.5, 1.0, 1e-13, f64::NAN] {
            assert!(shape(0.1, delta).is_err(), "{delta}");
        }
    }

    /// The ε kept is no more than the one asked for, and one counter fewer would
    /// not keep it.
    #[test]
    fn bound_is_epsilon_of_the_total() {
        for step in 0..2000 {
            let asked = 1.63e-6 * 1.0067f64.powi(step);
            let Ok(shape) = shape(asked, 0.02) else {
                assert!(asked > 1.0, "{asked}");
                continue;
            };
            assert!(shape.epsilon() <= asked, "{asked}");
            assert!(epsilon(f64::from(shape.width - 1)) > asked, "{asked}");
        }
        let least = epsilon(f64::from(MAX_WIDTH));
        assert!(shape(least * 1.000_001, 0.02).is_ok_and(|s| s.width <= MAX_WIDTH));
        let error = shape(least * 0.999, 0.02).unwrap_err();
        assert!(error.to_string().contains("use 1.62e-6 to 1"), "{error}");
        let shape = Accuracy::default().shape().unwrap();
        assert_eq!(shape.bound(0), 0);
        assert_eq!(shape.bound(1), 1);
        assert!(shape.bound(u64::MAX) < u64::MAX / 9_999);
    }
}
