//! What each scheme costs a fabric: table I of the source, "Partition enforcement overhead".
//!
//! The sizes are those of tables with a P_Key per entry, as the source counts them. The filters of this
//! crate use bitmaps instead, whose size does not depend on the number of keys
//! ([`PartitionTable`](super::PartitionTable)).

use super::Scheme;

/// A fabric in which all nodes belong to the same number of partitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fabric {
    /// Nodes, *n*.
    pub nodes: u64,
    /// Switches, *s*; at least one.
    pub switches: u64,
    /// Ports of a switch, *r*.
    pub ports: u64,
    /// Partitions that a node belongs to, *p*.
    pub partitions: u64,
    /// Bytes of a key, *k*: 2 for a P_Key.
    pub key_bytes: u64,
    /// Switches that a packet passes on average, *h*.
    pub mean_hops: f64,
    /// Invalid P_Keys that an attacker uses, *p′*.
    pub invalid_keys: u64,
    /// The probability that a node takes part in an attack, *Pr(n)*.
    pub attack_probability: f64,
}

impl Fabric {
    /// 16 nodes on a 4x4 mesh of switches with five ports. Every port has all 32,768 P_Keys that the
    /// specification allows, for which the source counts 64 KiB; one node in a hundred attacks, with
    /// four forged keys. Two nodes of the mesh are 8/3 links, so 11/3 switches, apart.
    pub const MESH_OF_16: Fabric = Fabric {
        nodes: 16,
        switches: 16,
        ports: 5,
        partitions: 32_768,
        key_bytes: 2,
        mean_hops: 11.0 / 3.0,
        invalid_keys: 4,
        attack_probability: 0.01,
    };
}

impl Scheme {
    /// Entries of the table that a packet is looked up in.
    #[must_use]
    pub fn table_entries(self, fabric: &Fabric) -> u64 {
        match self {
            Scheme::DuplicateTable | Scheme::Ingress => fabric.partitions,
            Scheme::StatefulIngress => fabric.invalid_keys.min(fabric.partitions),
        }
    }

    /// Bytes of the tables of all switches.
    #[must_use]
    pub fn bytes_in_fabric(self, fabric: &Fabric) -> u64 {
        let tables = match self {
            Scheme::DuplicateTable => fabric.ports.saturating_mul(fabric.switches),
            Scheme::Ingress | Scheme::StatefulIngress => fabric.nodes,
        };
        tables
            .saturating_mul(self.table_entries(fabric))
            .saturating_mul(fabric.key_bytes)
    }

    /// Bytes of the tables of a switch, on average.
    #[must_use]
    pub fn bytes_per_switch(self, fabric: &Fabric) -> f64 {
        self.bytes_in_fabric(fabric) as f64 / fabric.switches as f64
    }

    /// Look-ups per packet, on average.
    #[must_use]
    pub fn lookups_per_packet(self, fabric: &Fabric) -> f64 {
        match self {
            Scheme::DuplicateTable => fabric.mean_hops,
            Scheme::Ingress => 1.0,
            Scheme::StatefulIngress => fabric.attack_probability,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_published_sizes() {
        let port_bytes = 64 * 1024;
        let bytes = |scheme: Scheme| {
            (
                scheme.bytes_per_switch(&Fabric::MESH_OF_16),
                scheme.bytes_in_fabric(&Fabric::MESH_OF_16),
            )
        };
        assert_eq!(
            bytes(Scheme::DuplicateTable),
            (5.0 * f64::from(port_bytes), 80 * port_bytes as u64)
        );
        assert_eq!(
            bytes(Scheme::Ingress),
            (f64::from(port_bytes), 16 * port_bytes as u64)
        );
        assert_eq!(bytes(Scheme::StatefulIngress), (8.0, 128));
    }

    #[test]
    fn a_stateful_table_is_never_larger_than_the_valid_one() {
        let flooded = Fabric {
            invalid_keys: 65_000,
            ..Fabric::MESH_OF_16
        };
        assert_eq!(
            Scheme::StatefulIngress.bytes_in_fabric(&flooded),
            Scheme::Ingress.bytes_in_fabric(&flooded)
        );
    }

    #[test]
    fn packets_are_looked_up_at_every_hop_once_or_under_attack() {
        let lookups = [
            Scheme::DuplicateTable,
            Scheme::Ingress,
            Scheme::StatefulIngress,
        ]
        .map(|scheme| scheme.lookups_per_packet(&Fabric::MESH_OF_16));
        assert_eq!(lookups, [11.0 / 3.0, 1.0, 0.01]);
    }
}
