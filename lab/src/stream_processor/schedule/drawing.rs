//! A schedule as a picture: functional units by cycles, block by block, like
//! figures 2.9 to 2.11 of the thesis.

use std::fmt::Write;

use super::{BlockSchedule, Class, Node, Op, Schedule};
use crate::shared::report::escaped;

const COLUMN: u32 = 84;
const ROW: u32 = 16;
const MARGIN: u32 = 56;
const HEAD: u32 = 44;

impl Schedule {
    /// The picture, as a document of SVG 1.1.
    pub fn svg(&self) -> String {
        let columns = self.units().len() as u32;
        let width = MARGIN + columns * COLUMN + 16;
        let blocks: Vec<(&BlockSchedule, &[Op])> = self
            .blocks()
            .iter()
            .zip(blocks(self.kernel.body()))
            .collect();
        let height: u32 = blocks
            .iter()
            .map(|(block, _)| HEAD + block.cycles * ROW + 24)
            .sum::<u32>()
            + HEAD;

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"10\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"8\" y=\"20\" font-size=\"15\">{} on {}: {} instructions</text>\n",
            escaped(self.kernel.name()),
            escaped(self.machine.name()),
            self.instructions(),
        );
        let mut top = HEAD;
        for (block, ops) in blocks {
            self.draw_block(&mut svg, block, ops, top);
            top += HEAD + block.cycles * ROW + 24;
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn draw_block(&self, svg: &mut String, block: &BlockSchedule, ops: &[Op], top: u32) {
        let overlap = block.pipeline.map_or(String::new(), |pipeline| {
            format!(
                ", a new iteration every {} cycles, {} at once",
                pipeline.interval, pipeline.stages
            )
        });
        text(
            svg,
            8,
            top + 12,
            13,
            &format!(
                "block {}: {} cycles{overlap}; {} operations, {:.2} per cycle",
                block.label,
                block.cycles,
                block.operations,
                block.parallelism()
            ),
        );
        for (column, unit) in (0..).zip(self.units()) {
            let x = MARGIN + column * COLUMN;
            text(svg, x + 4, top + 32, 11, &unit.to_string());
        }
        let top = top + HEAD - 4;
        for row in 0..block.cycles {
            let y = top + row * ROW;
            let fill = if row % 2 == 0 { "#f4f4f4" } else { "#ffffff" };
            let width = self.units().len() as u32 * COLUMN;
            let _ = writeln!(
                svg,
                "<rect x=\"{MARGIN}\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\" fill=\"{fill}\"/>"
            );
            text(svg, 16, y + 12, 10, &row.to_string());
        }
        for (op, slot) in ops.iter().zip(&block.slots) {
            for &unit in &slot.units {
                let x = MARGIN + unit as u32 * COLUMN;
                let y = top + slot.cycle * ROW;
                let _ = writeln!(
                    svg,
                    "<g><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"{}\"/>",
                    escaped(&format!("cycle {}: {}", slot.cycle, self.kernel.op(op))),
                    x + 1,
                    y + 1,
                    COLUMN - 2,
                    ROW - 2,
                    colour(op.code.class())
                );
                text(svg, x + 5, y + 12, 10, op.code.name());
                svg.push_str("</g>\n");
            }
        }
    }
}

/// The operations of each block, in the order of the program.
fn blocks(nodes: &[Node]) -> Vec<&[Op]> {
    nodes
        .iter()
        .flat_map(|node| match node {
            Node::Block(block) => vec![block.ops.as_slice()],
            Node::Loop(looped) => blocks(&looped.body),
        })
        .collect()
}

fn text(svg: &mut String, x: u32, y: u32, size: u32, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\">{}</text>",
        escaped(words)
    );
}

fn colour(class: Class) -> &'static str {
    match class {
        Class::Broadcast => "#d9d9d9",
        Class::Add | Class::Add64 => "#fdb462",
        Class::Logic => "#fccde5",
        Class::Shift => "#ffffb3",
        Class::Select | Class::Shuffle => "#b3de69",
        Class::Multiply => "#fb8072",
        Class::ScratchRead | Class::ScratchWrite => "#80b1d3",
        Class::IndexedRead | Class::IndexedWrite => "#8dd3c7",
        Class::Communicate => "#bebada",
        Class::Input | Class::Output => "#ccebc5",
    }
}
