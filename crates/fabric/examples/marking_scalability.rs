//! The largest fabrics whose packets 38 bits can trace: tables II and III of the dissertation that
//! proposes the marks, as printed and as computed from the marks of this crate.
//!
//! ```text
//! cargo run -p weir-fabric --example marking_scalability
//! ```

use weir_fabric::marks::scalability::{fat_tree_row, network_rows};

fn main() {
    println!("Table II: deterministic packet marking on fat trees");
    println!("ports   levels printed, computed          nodes printed, computed");
    for ports in [2, 3, 4, 8, 12, 16, 24, 32, 36, 48, 64, 128] {
        let row = fat_tree_row(ports);
        let note = if row.levels == row.published_levels {
            ""
        } else {
            "   differs: a port takes whole bits"
        };
        println!(
            "{ports:5}   {:14}  {:8}   {:>20}  {:>13}{note}",
            row.published_levels, row.levels, row.published_nodes, row.nodes,
        );
    }

    println!();
    println!("Table III: deterministic distance packet marking");
    println!("topology                nodes printed, computed   bits printed, computed");
    for row in network_rows() {
        let note = if row.bits == row.published_bits {
            ""
        } else {
            "   differs: a difference takes log n bits and one more for its sign"
        };
        println!(
            "{:22}  {:>13}  {:>8}   {:12}  {:8}{note}",
            row.topology,
            format!("2^{}", row.published_log2_nodes),
            format!("2^{}", row.log2_nodes),
            row.published_bits,
            row.bits,
        );
    }
}
