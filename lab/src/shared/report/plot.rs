//! Curves and points in a picture.

use std::fmt::Write;

use super::axis::{Axis, Scale, label};
use super::escaped;

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
/// Height of a line of the legend, which stands below the picture.
const LINE: f64 = 18.0;
/// Told apart by people who do not see all colours, too.
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#555555", "#000000",
];

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Points that a line joins.
    Line,
    /// Hollow diamonds, as for published values.
    Published,
}

/// Points that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// How they are drawn.
    pub mark: Mark,
    /// The points, in order.
    pub points: Vec<(f64, f64)>,
}

/// A picture. The colour of a series follows from its place; a published series
/// has that of the line before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What is to the right, and in which unit.
    pub x: String,
    /// What is upwards, and in which unit.
    pub y: String,
    /// How x is spread.
    pub x_scale: Scale,
    /// How y is spread.
    pub y_scale: Scale,
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Plot {
    /// The picture, as an element of SVG.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let frame = Frame {
            x: Axis::of(self.x_scale, points().map(|(x, _)| *x)),
            y: Axis::of(self.y_scale, points().map(|(_, y)| *y)),
        };
        let height = HEIGHT + LINE * self.series.len() as f64 + 8.0;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"11\">\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>"
        );
        frame.draw(self, &mut svg);
        let mut colour = 0;
        for (number, series) in self.series.iter().enumerate() {
            if number > 0 && series.mark == Mark::Line {
                colour = (colour + 1) % COLOURS.len();
            }
            frame.draw_series(series, COLOURS[colour], &mut svg);
            let y = HEIGHT + LINE * number as f64 + 4.0;
            match series.mark {
                Mark::Line => {
                    let _ = write!(
                        svg,
                        "<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"{}\" stroke-width=\"2\"/>",
                        LEFT + 22.0,
                        COLOURS[colour]
                    );
                }
                Mark::Published => diamond(&mut svg, LEFT + 11.0, y, COLOURS[colour]),
            }
            text(&mut svg, LEFT + 30.0, y + 4.0, "start", &series.name);
        }
        svg.push_str("</svg>");
        svg
    }
}

/// The axes of a picture.
struct Frame {
    x: Axis,
    y: Axis,
}

impl Frame {
    fn right() -> f64 {
        WIDTH - 18.0
    }

    fn floor() -> f64 {
        HEIGHT - BOTTOM
    }

    /// Where a point lies.
    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let across = LEFT + self.x.place(x)? * (Frame::right() - LEFT);
        let up = Frame::floor() - self.y.place(y)? * (Frame::floor() - TOP);
        Some((across, up))
    }

    fn draw(&self, plot: &Plot, svg: &mut String) {
        let (right, floor) = (Frame::right(), Frame::floor());
        for tick in self.y.ticks() {
            let Some(place) = self.y.place(tick) else {
                continue;
            };
            let y = floor - place * (floor - TOP);
            let _ = write!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>"
            );
            text(svg, LEFT - 6.0, y + 4.0, "end", &label(tick));
        }
        for tick in self.x.ticks() {
            let Some(place) = self.x.place(tick) else {
                continue;
            };
            let x = LEFT + place * (right - LEFT);
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{floor}\" stroke=\"#eee\"/>"
            );
            text(svg, x, floor + 15.0, "middle", &label(tick));
        }
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{floor}H{right}\" fill=\"none\" stroke=\"#444\"/>\
             <text x=\"8\" y=\"16\" font-size=\"13\" font-weight=\"bold\">{}</text>\
             <text x=\"12\" y=\"{}\" transform=\"rotate(-90 12 {})\" text-anchor=\"middle\">{}</text>",
            escaped(&plot.title),
            (TOP + floor) / 2.0,
            (TOP + floor) / 2.0,
            escaped(&plot.y),
        );
        text(svg, (LEFT + right) / 2.0, floor + 32.0, "middle", &plot.x);
    }

    fn draw_series(&self, series: &Series, colour: &str, svg: &mut String) {
        let places: Vec<(f64, f64)> = series
            .points
            .iter()
            .filter_map(|&point| self.at(point))
            .collect();
        if series.mark == Mark::Published {
            for (x, y) in places {
                diamond(svg, x, y, colour);
            }
            return;
        }
        let line: Vec<String> = places
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            line.join(" ")
        );
        for (x, y) in places {
            let _ = write!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{colour}\"/>"
            );
        }
    }
}

fn diamond(svg: &mut String, x: f64, y: f64, colour: &str) {
    let _ = write!(
        svg,
        "<path d=\"M{:.1} {y:.1}l6 -6l6 6l-6 6z\" fill=\"white\" fill-opacity=\"0.6\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        x - 6.0
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let _ = write!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escaped(words)
    );
}
