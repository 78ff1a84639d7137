//! What ingress filters cost a fabric: table I of the dissertation that proposes them, for 16 nodes on
//! a 4x4 mesh of switches with five ports.
//!
//! ```text
//! cargo run -p weir-fabric --example partition_enforcement
//! ```

use weir_fabric::filter::Scheme;
use weir_fabric::filter::cost::Fabric;

fn main() {
    let fabric = Fabric::MESH_OF_16;
    println!("scheme            bytes/switch   bytes in all   entries   look-ups/packet");
    for (name, scheme) in [
        ("duplicate table", Scheme::DuplicateTable),
        ("ingress", Scheme::Ingress),
        ("stateful ingress", Scheme::StatefulIngress),
    ] {
        println!(
            "{name:16}  {:12.0}   {:12}   {:7}   {:15.3}",
            scheme.bytes_per_switch(&fabric),
            scheme.bytes_in_fabric(&fabric),
            scheme.table_entries(&fabric),
            scheme.lookups_per_packet(&fabric),
        );
    }
}
