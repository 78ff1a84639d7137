//! A picture of all rows that can be compared: the model's number over the
//! stated one.

use std::fmt::Write;

use super::row::{Row, Verdict};
use crate::shared::report::escaped;

const LINE: f64 = 17.0;
const LEFT: f64 = 390.0;
const WIDTH: f64 = 820.0;
const RIGHT: f64 = WIDTH - 70.0;
const TOP: f64 = 34.0;
/// Ratios beyond are drawn at the edge, with their number.
const MOST: f64 = 4.0;

/// The picture, as an element of SVG.
pub(super) fn svg(rows: &[Row]) -> String {
    let compared: Vec<(&Row, f64)> = rows
        .iter()
        .filter_map(|row| Some((row, 1.0 + row.error_percent? / 100.0)))
        .filter(|(_, ratio)| ratio.is_finite())
        .collect();
    let height = TOP + LINE * compared.len() as f64 + 12.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>"
    );
    // Writing to a string does not fail.
    for (percent, fill) in [(30.0, "#f3f3e4"), (15.0, "#e3f0e3")] {
        let [from, to] = [1.0 - percent / 100.0, 1.0 + percent / 100.0].map(place);
        let _ = write!(
            svg,
            "<rect x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\" fill=\"{fill}\"/>",
            to - from,
            height - TOP
        );
    }
    for tick in [0.25, 0.5, 0.7, 1.0, 1.3, 2.0, 4.0] {
        let x = place(tick);
        let _ = write!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{height}\" stroke=\"#ccc\"/>\
             <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{tick}</text>",
            TOP - 8.0
        );
    }
    for (number, (row, ratio)) in compared.iter().enumerate() {
        draw(&mut svg, row, *ratio, TOP + LINE * (number as f64 + 0.7));
    }
    svg.push_str("</svg>");
    svg
}

fn place(ratio: f64) -> f64 {
    let share = (ratio.clamp(1.0 / MOST, MOST).ln() / MOST.ln() + 1.0) / 2.0;
    LEFT + share * (RIGHT - LEFT)
}

fn draw(svg: &mut String, row: &Row, ratio: f64, y: f64) {
    let colour = match row.verdict {
        Verdict::Agrees => "#009e73",
        Verdict::Differs => "#d55e00",
        _ => "#b8860b",
    };
    let fill = if row.entry.fitted { "white" } else { colour };
    let x = place(ratio);
    let (id, quantity) = (&row.published.id, &row.published.quantity);
    let quantity: String = quantity.chars().take(50).collect();
    let _ = write!(
        svg,
        "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{} {id}</text>\
         <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        LEFT - 8.0,
        y + 4.0,
        escaped(&quantity),
    );
    if !(1.0 / MOST..=MOST).contains(&ratio) {
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{ratio:.2}</text>",
            if ratio > 1.0 { x + 8.0 } else { x + 10.0 },
            y + 4.0
        );
    }
}
