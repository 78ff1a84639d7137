//! What ingress filters cost a fabric: table I of the dissertation that proposes them, for 16 nodes on
//! a 4x4 mesh of switches with five ports.
//!
//! ```text
//! cargo run -p weir-fabric --example partition_enforcement
//! ```

use weir_fabric::filter::Scheme;
use weir_fabric::filter::cost::Fabric;

fn main() {
    // Every port with all the P_Keys that it can have, 64 KiB; one node in a hundred attacks, with
    // four forged keys. Two nodes of a 4x4 mesh are 8/3 links, so 11/3 switches, apart.
    let fabric = Fabric {
        nodes: 16,
        switches: 16,
        ports: 5,
        partitions: 32_768,
        key_bytes: 2,
        mean_hops: 11.0 / 3.0,
        invalid_keys: 4,
        attack_probability: 0.01,
    };
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
