//! Welch's t-test over two classes of times.

use std::fmt;
use std::hint::black_box;

/// Which of the two classes a turn was of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Fixed,
    Random,
}

impl Class {
    /// No bit of a random secret, or all of them.
    pub fn mask(self) -> u8 {
        black_box((self as u8).wrapping_neg())
    }
}

/// How long a turn took.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub class: Class,
    pub ns: f64,
}

/// The cut with the largest t, by its magnitude.
#[derive(Clone, Copy, Default)]
pub struct Comparison {
    pub t: f64,
    /// How much longer the fixed class takes, on average.
    pub difference_ns: f64,
    /// How long the random class takes.
    pub random_ns: f64,
}

/// What t says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    NothingSeen,
    Doubtful,
    Seen,
}

/// Beyond this, chance is an explanation that gets hard to believe.
const DOUBTFUL: f64 = 4.5;

/// Beyond this, it is none.
const SEEN: f64 = 10.0;

/// Shares of the turns, the fastest first, that are compared: interrupted turns
/// say nothing, and which are slow for a reason is not known beforehand.
const CUTS: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.97, 1.0];

/// Compares the classes over each cut.
pub fn compare(mut turns: Vec<Turn>) -> Comparison {
    turns.sort_by(|a, b| a.ns.total_cmp(&b.ns));
    CUTS.into_iter()
        .map(|share| {
            let slowest = turns[((turns.len() - 1) as f64 * share) as usize].ns;
            let kept = turns.partition_point(|turn| turn.ns <= slowest);
            compare_cut(&turns[..kept])
        })
        .fold(Comparison::default(), |most, cut| {
            if cut.t.abs() > most.t.abs() {
                cut
            } else {
                most
            }
        })
}

/// Welch's t: positive where the fixed class is slower. It is taken to be nearly
/// normal, as it is for thousands of turns.
fn compare_cut(turns: &[Turn]) -> Comparison {
    let fixed = Moments::of(turns, Class::Fixed);
    let random = Moments::of(turns, Class::Random);
    let error = (fixed.variance_of_mean() + random.variance_of_mean()).sqrt();
    let difference_ns = fixed.mean - random.mean;
    let t = match error > 0.0 {
        true => difference_ns / error,
        false if difference_ns == 0.0 => 0.0,
        false => f64::INFINITY.copysign(difference_ns),
    };
    Comparison {
        t,
        difference_ns,
        random_ns: random.mean,
    }
}

/// Count, mean and squared deviations of one class.
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn of(turns: &[Turn], class: Class) -> Moments {
        let ns = || {
            turns
                .iter()
                .filter(|turn| turn.class == class)
                .map(|turn| turn.ns)
        };
        let count = ns().count() as f64;
        let mean = ns().sum::<f64>() / count.max(1.0);
        let squares = ns().map(|ns| (ns - mean).powi(2)).sum();
        Moments {
            count,
            mean,
            squares,
        }
    }

    fn variance_of_mean(&self) -> f64 {
        self.squares / (self.count - 1.0).max(1.0) / self.count.max(1.0)
    }
}

impl Comparison {
    pub fn verdict(&self) -> Verdict {
        match self.t.abs() {
            t if t < DOUBTFUL => Verdict::NothingSeen,
            t if t < SEEN => Verdict::Doubtful,
            _ => Verdict::Seen,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::NothingSeen => "nothing seen",
            Verdict::Doubtful => "doubtful: run it again, on a quiet machine",
            Verdict::Seen => "a difference is seen",
        })
    }
}
