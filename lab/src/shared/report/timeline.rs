//! What the units of a machine did, and when: a lane for each, in one picture.

use std::fmt::Write;

use super::axis::{Axis, Scale, label};
use super::escaped;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const LANE: f64 = 26.0;
/// Height of a line of the legend.
const LINE: f64 = 18.0;
/// More cannot be distinguished, and drawings of more are slow.
const MOST_BARS: usize = 20_000;
const COLOURS: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8860b", "#7b68ee",
    "#8c8c8c", "#4d4d4d", "#a0522d", "#9acd32",
];

/// What a unit did for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The unit, by its place.
    pub lane: usize,
    /// What it did, by its place among the names.
    pub name: usize,
    /// When it began.
    pub begins_ns: f64,
    /// How long it took.
    pub length_ns: f64,
}

/// A picture of lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline<'a> {
    /// What it shows.
    pub title: &'a str,
    /// The units, from top to bottom.
    pub lanes: &'a [String],
    /// The names of what they did; each has a colour.
    pub names: &'a [String],
    /// What they did.
    pub bars: Vec<Bar>,
}

impl Timeline<'_> {
    /// The picture, as a document of SVG 1.1. Of more than 20,000 bars it has the
    /// first ones, and says so.
    pub fn svg(&self) -> String {
        let bars = &self.bars[..self.bars.len().min(MOST_BARS)];
        let ends = bars.iter().map(|bar| bar.begins_ns + bar.length_ns);
        let axis = Axis::of(
            Scale::Linear,
            std::iter::once(0.0).chain(ends).map(|ns| ns / 1000.0),
        );
        let x = |ns: f64| {
            let place = axis.place(ns / 1000.0).unwrap_or(0.0);
            LEFT + place * (WIDTH - LEFT - RIGHT)
        };
        let bottom = TOP + LANE * self.lanes.len() as f64;
        let height = bottom + 44.0 + LINE * self.names.len().div_ceil(3) as f64;
        let left_out = match self.bars.len() - bars.len() {
            0 => String::new(),
            more => format!("; {more} later activities are left out"),
        };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"8\" y=\"20\" font-size=\"15\">{}{left_out}</text>\n",
            escaped(self.title),
        );
        for tick in axis.ticks() {
            let x = x(tick * 1000.0);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 14.0,
                label(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">microseconds</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            bottom + 30.0
        );
        for (lane, name) in self.lanes.iter().enumerate() {
            let y = TOP + LANE * lane as f64;
            let _ = writeln!(
                svg,
                "<text x=\"8\" y=\"{:.1}\">{}</text>\
                 <line x1=\"8\" y1=\"{:.1}\" x2=\"{WIDTH}\" y2=\"{:.1}\" stroke=\"#eee\"/>",
                y + 17.0,
                escaped(name),
                y + LANE,
                y + LANE
            );
        }
        for bar in bars {
            let begins = x(bar.begins_ns);
            let name = self.names.get(bar.name).map_or("", String::as_str);
            let _ = writeln!(
                svg,
                "<g><title>{}: {:.3} to {:.3} µs</title><rect x=\"{begins:.2}\" y=\"{:.1}\" \
                 width=\"{:.2}\" height=\"{:.1}\" fill=\"{}\"/></g>",
                escaped(name),
                bar.begins_ns / 1000.0,
                (bar.begins_ns + bar.length_ns) / 1000.0,
                TOP + LANE * bar.lane as f64 + 4.0,
                (x(bar.begins_ns + bar.length_ns) - begins).max(0.2),
                LANE - 8.0,
                colour(bar.name)
            );
        }
        for (place, name) in self.names.iter().enumerate() {
            let x = 8.0 + (place % 3) as f64 * (WIDTH - 16.0) / 3.0;
            let y = bottom + 44.0 + LINE * (place / 3) as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                y,
                colour(place),
                x + 18.0,
                y + 10.0,
                escaped(name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn colour(name: usize) -> &'static str {
    COLOURS[name % COLOURS.len()]
}
