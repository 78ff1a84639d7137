//! Axes of pictures: where values lie, and which are written beside them.

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from 0 where that is near.
    Linear,
    /// By their logarithms; values have to be above 0.
    Log,
}

/// An axis that holds some values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    scale: Scale,
    least: f64,
    most: f64,
    /// Distance of ticks of a linear axis.
    step: f64,
}

impl Axis {
    /// An axis for values; those that it cannot show are left out.
    pub(super) fn of(scale: Scale, values: impl Iterator<Item = f64>) -> Axis {
        let usable = |value: &f64| value.is_finite() && (scale == Scale::Linear || *value > 0.0);
        let (least, most) = values.filter(usable).fold(
            (f64::INFINITY, f64::NEG_INFINITY),
            |(least, most), value| (least.min(value), most.max(value)),
        );
        if least > most {
            return Axis {
                scale: Scale::Linear,
                least: 0.0,
                most: 1.0,
                step: 0.5,
            };
        }
        match scale {
            Scale::Log => Axis {
                scale,
                least: least / 1.15,
                most: most * 1.15,
                step: 0.0,
            },
            Scale::Linear => {
                let from_zero = least >= 0.0 && least < 0.6 * most;
                let least = if from_zero { 0.0 } else { least };
                let span = if most > least {
                    most - least
                } else {
                    least.abs().max(1.0)
                };
                let step = round_step(span / 5.0);
                Axis {
                    scale,
                    least: (least / step).floor() * step,
                    most: (((least + span) / step).ceil() * step).max(least + step),
                    step,
                }
            }
        }
    }

    /// Where a value lies, from 0 to 1; none where it is off the axis.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.least) / (self.most - self.least),
            Scale::Log => (value / self.least).ln() / (self.most / self.least).ln(),
        };
        (-1e-9..=1.0 + 1e-9).contains(&place).then_some(place)
    }

    /// The values that are written.
    pub(super) fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let count = ((self.most - self.least) / self.step).round() as u32;
                (0..=count)
                    .map(|tick| self.least + f64::from(tick) * self.step)
                    .collect()
            }
            Scale::Log => {
                let decades = (self.least.log10().floor() as i32)..=(self.most.log10() as i32);
                // Few decades have room for more ticks in each.
                let within: &[f64] = match (self.most / self.least).log10() {
                    span if span > 3.0 => &[1.0],
                    span if span > 1.2 => &[1.0, 2.0, 5.0],
                    _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0],
                };
                decades
                    .flat_map(|decade| within.iter().map(move |part| part * 10f64.powi(decade)))
                    .filter(|tick| self.place(*tick).is_some())
                    .collect()
            }
        }
    }
}

/// 1, 2 or 5 times a power of ten, near a step.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let part = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|part| part * power >= step)
        .unwrap_or(10.0);
    part * power
}

/// A number, short enough to stand at a tick.
pub(super) fn label(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 || (size < 1e-3 && size > 0.0) {
        return format!("{value:.0e}");
    }
    let digits = format!("{value:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if digits == "-0" {
        "0".to_owned()
    } else {
        digits.to_owned()
    }
}
