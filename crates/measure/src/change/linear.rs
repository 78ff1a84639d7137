//! Values that can be added and scaled.

/// A value that forecasts are made of: one number, or the cells of a sketch.
/// A sketch is a linear function of its stream, so whatever is linear in the
/// observations may be computed on sketches cell by cell, and the result is
/// the sketch of what would have been computed key by key.
pub trait Linear: Clone {
    /// Zero, in the shape of `self`.
    #[must_use]
    fn zero(&self) -> Self;

    /// Whether the two have the same shape, and so may be added.
    fn is_like(&self, other: &Self) -> bool;

    /// Makes this zero.
    fn set_zero(&mut self);

    /// Adds `factor` times `other`, which is like `self`.
    fn add_scaled(&mut self, factor: f64, other: &Self);
}

impl Linear for f64 {
    fn zero(&self) -> f64 {
        0.0
    }

    fn is_like(&self, _other: &f64) -> bool {
        true
    }

    fn set_zero(&mut self) {
        *self = 0.0;
    }

    fn add_scaled(&mut self, factor: f64, other: &f64) {
        *self += factor * other;
    }
}

impl Linear for Vec<f64> {
    fn zero(&self) -> Vec<f64> {
        vec![0.0; self.len()]
    }

    fn is_like(&self, other: &Vec<f64>) -> bool {
        self.len() == other.len()
    }

    fn set_zero(&mut self) {
        self.fill(0.0);
    }

    fn add_scaled(&mut self, factor: f64, other: &Vec<f64>) {
        for (cell, more) in self.iter_mut().zip(other) {
            *cell += factor * more;
        }
    }
}
