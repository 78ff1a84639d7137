//! Pages hold what they were given, and nothing from elsewhere.

use super::axis::{Axis, label};
use super::*;

fn plot(scale: Scale, points: Vec<(f64, f64)>) -> Plot {
    Plot {
        title: "cycles < \"all\"".to_owned(),
        x: "bytes".to_owned(),
        y: "cycles".to_owned(),
        x_scale: scale,
        y_scale: scale,
        series: vec![
            Series {
                name: "model".to_owned(),
                mark: Mark::Line,
                points: points.clone(),
            },
            Series {
                name: "published".to_owned(),
                mark: Mark::Published,
                points,
            },
        ],
    }
}

#[test]
fn every_point_is_drawn() {
    let points = vec![(16.0, 72.0), (96.0, 35.0), (1536.0, 31.5)];
    for scale in [Scale::Linear, Scale::Log] {
        let svg = plot(scale, points.clone()).svg();
        assert_eq!(svg.matches("<circle").count(), 3);
        // One more in the legend.
        assert_eq!(svg.matches("<path d=").count(), 3 + 1 + 1);
        assert!(svg.contains("cycles &lt; &quot;all&quot;"), "{svg}");
    }
}

#[test]
fn what_cannot_be_drawn_is_left_out() {
    for points in [
        vec![],
        vec![(f64::NAN, 1.0)],
        vec![(0.0, -1.0), (0.0, f64::INFINITY)],
        vec![(5.0, 5.0)],
    ] {
        for scale in [Scale::Linear, Scale::Log] {
            let svg = plot(scale, points.clone()).svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

#[test]
fn axes_hold_their_values_between_ticks() {
    for values in [[0.0, 7.0], [95.0, 100.0], [-3.0, 3.0], [0.001, 0.002]] {
        let axis = Axis::of(Scale::Linear, values.into_iter());
        let ticks = axis.ticks();
        assert!((3..=12).contains(&ticks.len()), "{ticks:?}");
        for value in values {
            assert!(axis.place(value).is_some());
            assert!(ticks[0] <= value + 1e-9 && value <= ticks[ticks.len() - 1] + 1e-9);
        }
    }
    let log = Axis::of(Scale::Log, [16.0, 1536.0].into_iter());
    assert!(log.ticks().len() >= 4);
    assert_eq!(label(0.5), "0.5");
    assert_eq!(label(1500.0), "1500");
}

#[test]
fn a_page_stands_alone() {
    let mut page = Page::new("Report & more");
    page.heading("A");
    page.text("1 < 2");
    page.table(&["a", "b"], &[vec![(Look::Good, "<x>".to_owned())]]);
    page.plot(&plot(Scale::Log, vec![(1.0, 2.0)]));
    let html = page.finish();
    assert!(html.contains("<td class=\"good\">&lt;x&gt;</td>"));
    assert!(!html.contains("<script") && !html.contains("src=") && !html.contains("href="));
    for tag in ["html", "body", "table", "figure", "svg"] {
        let opened = html.matches(&format!("<{tag}")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}
