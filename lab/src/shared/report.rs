//! Reports as one file of HTML, with pictures and no scripts: nothing is
//! fetched from elsewhere.

use std::fmt::{Display, Write};

pub use axis::Scale;
pub use plot::{Mark, Plot, Series};
pub use timeline::{Bar, Timeline};

mod axis;
mod plot;
#[cfg(test)]
mod tests;
mod timeline;

/// A page that is being written.
#[derive(Clone, Debug)]
pub struct Page {
    html: String,
}

const STYLE: &str = "\
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1100px;padding:0 1em;color:#222}\
h1{font-size:1.6em}h2{font-size:1.25em;margin-top:2em;border-bottom:1px solid #ccc}\
table{border-collapse:collapse;font-size:13px;margin:1em 0;width:100%}\
th{text-align:left;border-bottom:2px solid #888;padding:3px 8px;vertical-align:bottom}\
td{border-bottom:1px solid #ddd;padding:3px 8px;vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\
td.good{background:#e3f4e3}td.bad{background:#fbe3e0}td.odd{background:#fdf3d6}td.none{background:#eee}\
figure{display:inline-block;margin:1em 1em 1em 0;max-width:100%}svg{max-width:100%;height:auto}";

/// How a cell of a table looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Words.
    Words,
    /// A number.
    Number,
    /// Something that is as it should be.
    Good,
    /// Something that is not.
    Bad,
    /// A value to notice.
    Odd,
    /// Something that does not count.
    None,
}

impl Look {
    fn class(self) -> &'static str {
        match self {
            Look::Words => "",
            Look::Number => " class=\"n\"",
            Look::Good => " class=\"good\"",
            Look::Bad => " class=\"bad\"",
            Look::Odd => " class=\"odd\"",
            Look::None => " class=\"none\"",
        }
    }
}

/// A cell of a table.
pub type Cell = (Look, String);

impl Page {
    /// A page with a title.
    pub fn new(title: &str) -> Page {
        let title = escaped(title);
        Page {
            html: format!(
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
                 <title>{title}</title><style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n"
            ),
        }
    }

    fn add(&mut self, html: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.html, "{html}");
    }

    /// A heading.
    pub fn heading(&mut self, words: &str) {
        self.add(format_args!("<h2>{}</h2>", escaped(words)));
    }

    /// A paragraph.
    pub fn text(&mut self, words: &str) {
        self.add(format_args!("<p>{}</p>", escaped(words)));
    }

    /// A picture of curves.
    pub fn plot(&mut self, plot: &Plot) {
        self.picture(&plot.svg());
    }

    /// A picture, as an element of SVG.
    pub fn picture(&mut self, svg: &str) {
        self.add(format_args!("<figure>{svg}</figure>"));
    }

    /// A table.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<Cell>]) {
        self.add("<table><thead><tr>");
        for name in header {
            self.add(format_args!("<th>{}</th>", escaped(name)));
        }
        self.add("</tr></thead><tbody>");
        for row in rows {
            let cells: String = row
                .iter()
                .map(|(look, words)| format!("<td{}>{}</td>", look.class(), escaped(words)))
                .collect();
            self.add(format_args!("<tr>{cells}</tr>"));
        }
        self.add("</tbody></table>");
    }

    /// The whole page.
    pub fn finish(mut self) -> String {
        self.add("</body></html>");
        self.html
    }
}

/// Words as HTML and SVG need them.
pub(crate) fn escaped(words: &str) -> String {
    words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
