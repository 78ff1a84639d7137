//! Medians and quartiles.

/// Median and quartiles, interpolated between neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quartiles {
    pub(crate) lower: f64,
    pub(crate) median: f64,
    pub(crate) upper: f64,
}

impl Quartiles {
    /// Of any order of values; `None` of none.
    pub(crate) fn of(values: &[f64]) -> Option<Quartiles> {
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
}
