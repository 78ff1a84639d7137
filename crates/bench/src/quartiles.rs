//! Medians and quartiles.

/// Median and quartiles, interpolated between neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// A quarter of the values is at most this.
    pub lower: f64,
    /// Half of them are.
    pub median: f64,
    /// Three quarters of them are.
    pub upper: f64,
}

impl Quartiles {
    /// Of values in any order; `None` without values.
    pub fn of(values: &[f64]) -> Option<Quartiles> {
        let last = values.len().checked_sub(1)?;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * last as f64;
            let (below, above) = (
                sorted[place.floor() as usize],
                sorted[place.ceil() as usize],
            );
            below + (above - below) * place.fract()
        };
        Some(Quartiles {
            lower: at(0.25),
            median: at(0.5),
            upper: at(0.75),
        })
    }

    /// Of the ratios of `these` to `others`, round by round.
    pub fn of_ratios(these: &[f64], others: &[f64]) -> Option<Quartiles> {
        let ratios = these.iter().zip(others).map(|(this, other)| this / other);
        Quartiles::of(&ratios.collect::<Vec<f64>>())
    }

    /// The lower and the upper quartile.
    pub fn outer(self) -> [f64; 2] {
        [self.lower, self.upper]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_neighbours() {
        let expected = Quartiles {
            lower: 1.75,
            median: 2.5,
            upper: 3.25,
        };
        assert_eq!(Quartiles::of(&[4.0, 1.0, 3.0, 2.0]), Some(expected));
        assert_eq!(Quartiles::of(&[]), None);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let ratio = Quartiles::of_ratios(&[8.0, 2.0, 3.0], &[2.0, 1.0, 1.0]);
        assert_eq!(ratio.map(|ratio| ratio.median), Some(3.0));
    }
}
