//! Forecasters against the definitions of Krishnamurthy et al. 2003 (section
//! 3.2) and of Box and Jenkins, written down as they stand there: `o[0]` is the
//! first observation.

use proptest::prelude::*;

use super::*;

/// Forecasts of `o[0]`, `o[1]`, …, as the forecaster makes them.
fn forecasts(model: &str, o: &[f64]) -> Vec<Option<f64>> {
    let mut forecaster = Forecaster::new(&model.parse().unwrap()).unwrap();
    o.iter()
        .map(|observed| {
            let forecast = forecaster.forecast().copied();
            let error = forecaster.observe(observed).unwrap().copied();
            assert_eq!(error.is_some(), forecast.is_some());
            if let (Some(error), Some(forecast)) = (error, forecast) {
                assert!((observed - forecast - error).abs() < 1e-6);
            }
            forecast
        })
        .collect()
}

#[track_caller]
fn assert_forecasts(model: &str, o: &[f64], definition: impl Fn(usize) -> Option<f64>) {
    for (t, forecast) in forecasts(model, o).into_iter().enumerate() {
        let expected = definition(t);
        match (forecast, expected) {
            (None, None) => {}
            (Some(forecast), Some(expected)) => {
                assert!(
                    (forecast - expected).abs() < 1e-6,
                    "{model}, interval {t}: {forecast} instead of {expected}"
                );
            }
            other => panic!("{model}, interval {t}: {other:?}"),
        }
    }
}

/// The mean with weight `w(i)` for the observation `i` intervals back.
fn weighted_mean(o: &[f64], t: usize, window: usize, w: impl Fn(usize) -> f64) -> Option<f64> {
    (t >= window).then(|| {
        let sum: f64 = (1..=window).map(|i| w(i) * o[t - i]).sum();
        sum / (1..=window).map(&w).sum::<f64>()
    })
}

fn series() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((0u32..100_000).prop_map(f64::from), 0..40)
}

proptest! {
    #[test]
    fn moving_average_is_the_mean_of_the_window(o in series(), window in 1usize..12) {
        assert_forecasts(&format!("ma:{window}"), &o, |t| {
            weighted_mean(&o, t, window, |_| 1.0)
        });
    }

    /// The weights of TFRC's loss history (Floyd et al., SIGCOMM 2000), which
    /// the paper refers to: 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2 for eight.
    #[test]
    fn s_shaped_average_falls_in_the_older_half(o in series(), half in 1usize..6) {
        let n = 2 * half;
        assert_forecasts(&format!("sma:{n}"), &o, |t| {
            weighted_mean(&o, t, n, |i| {
                if i <= half { 1.0 } else { 1.0 - (i - half) as f64 / (half as f64 + 1.0) }
            })
        });
    }

    #[test]
    fn ewma_mixes_the_last_observation_and_its_forecast(o in series(), alpha in 0.05f64..=1.0) {
        let mut f = vec![None];
        for t in 1..o.len() {
            f.push(Some(match f[t - 1] {
                None => o[0],
                Some(f) => alpha * o[t - 1] + (1.0 - alpha) * f,
            }));
        }
        assert_forecasts(&format!("ewma:{alpha}"), &o, |t| f[t]);
    }

    /// Level and trend as the paper defines them from the second interval on,
    /// whose own observation gives the first trend.
    #[test]
    fn holt_winters_smooths_level_and_trend(
        o in series(), alpha in 0.05f64..=1.0, beta in 0.0f64..=1.0,
    ) {
        let mut f = vec![None, None];
        if o.len() > 2 {
            let (mut level, mut trend) = (o[0], o[1] - o[0]);
            for t in 2..o.len() {
                let next = alpha * o[t - 1] + (1.0 - alpha) * (level + trend);
                trend = beta * (next - level) + (1.0 - beta) * trend;
                level = next;
                f.push(Some(level + trend));
            }
        }
        assert_forecasts(&format!("nshw:{alpha},{beta}"), &o, |t| f[t]);
    }

    /// Z differenced d times, errors before the first forecast zero.
    #[test]
    fn arima_is_as_box_and_jenkins_write_it(
        o in series(),
        p in 0usize..=2, d in 0usize..=1, q in 0usize..=2,
        phi in (-0.45f64..0.45, -0.45f64..0.45), theta in (-0.45f64..0.45, -0.45f64..0.45),
    ) {
        prop_assume!(p + d + q > 0);
        let phi = [phi.0, phi.1];
        let theta = [theta.0, theta.1];
        let z = |t: usize| if d == 1 { o[t] - o[t - 1] } else { o[t] };
        let mut e: Vec<f64> = Vec::new();
        let mut f = Vec::new();
        for t in 0..o.len() {
            if t < p + d {
                f.push(0.0);
                e.push(0.0);
                continue;
            }
            let mut next: f64 = (1..=p).map(|i| phi[i - 1] * z(t - i)).sum();
            next -= (1..=q.min(t)).map(|j| theta[j - 1] * e[t - j]).sum::<f64>();
            e.push(z(t) - next);
            f.push(if d == 1 { o[t - 1] + next } else { next });
        }
        let list = |c: &[f64]| c.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let model = format!("arima:{}/{d}/{}", list(&phi[..p]), list(&theta[..q]));
        assert_forecasts(&model, &o, |t| (t >= (p + d).max(1)).then(|| f[t]));
    }

    /// What makes forecasts on sketches right: a sum's forecast is the sum of
    /// the forecasts, cell by cell.
    #[test]
    fn forecasts_are_linear(o in series(), scale in -3.0f64..3.0) {
        for model in ["ma:3", "sma:5", "ewma:0.3", "nshw:0.4,0.2", "arima:0.5,0.1/1/0.3"] {
            let model: Model = model.parse().unwrap();
            let (mut cells, mut cell) = (
                Forecaster::new(&model).unwrap(),
                Forecaster::new(&model).unwrap(),
            );
            for (t, observed) in o.iter().enumerate() {
                let other = (t * t % 17) as f64;
                cells.observe(&vec![*observed, other, observed + scale * other]).unwrap();
                cell.observe(observed).unwrap();
                if let Some(forecast) = cells.forecast() {
                    prop_assert!((forecast[0] + scale * forecast[1] - forecast[2]).abs() < 1e-6);
                    prop_assert_eq!(Some(&forecast[0]), cell.forecast());
                }
            }
        }
    }
}

/// Whole numbers stay whole in a window: after a burst of 2⁵⁰ has left it, the
/// forecast is exact again. Adding and subtracting o/W, as equation 6.16 reads
/// at first sight, would leave the rounding of the burst behind for ever.
#[test]
fn windows_forget_a_burst_without_a_trace() {
    for model in ["ma:3", "sma:4"] {
        let mut o = vec![7.0; 20];
        o[5] = 2f64.powi(50) + 1.0;
        assert_eq!(forecasts(model, &o).last(), Some(&Some(7.0)));
    }
}

#[test]
fn windows_keep_their_intervals_and_the_one_before() {
    let mut forecaster = Forecaster::new(&"ma:3".parse().unwrap()).unwrap();
    for t in 0..10 {
        forecaster.observe(&f64::from(t)).unwrap();
    }
    let past: Vec<_> = forecaster.past().copied().collect();
    assert_eq!(past, [9.0, 8.0, 7.0, 6.0]);
}

#[test]
fn a_restart_forgets_everything() {
    for model in ["ma:2", "sma:3", "ewma:0.3", "nshw:0.4,0.2", "arima:/1/0.3"] {
        let model: Model = model.parse().unwrap();
        let mut used = Forecaster::new(&model).unwrap();
        for o in [5.0, 900.0, 2.0, 8.0] {
            used.observe(&o).unwrap();
        }
        used.restart();
        let mut fresh = Forecaster::new(&model).unwrap();
        for o in [1.0, 4.0, 9.0, 16.0] {
            assert_eq!(used.forecast(), fresh.forecast());
            assert_eq!(used.observe(&o), fresh.observe(&o));
        }
    }
}

#[test]
fn strangers_are_refused() {
    let mut forecaster = Forecaster::new(&"ewma:0.5".parse().unwrap()).unwrap();
    forecaster.observe(&vec![1.0, 2.0]).unwrap();
    assert_eq!(forecaster.observe(&vec![1.0]), Err(UnlikeError));
    assert_eq!(forecaster.forecast(), Some(&vec![1.0, 2.0]), "as before");
}

#[test]
fn models_out_of_range_make_no_forecaster() {
    assert!(Forecaster::<f64>::new(&Model::MovingAverage { window: 0 }).is_err());
    assert!(Forecaster::<f64>::new(&Model::Ewma { alpha: f64::NAN }).is_err());
}
