//! A topology, and the GIDs of its nodes.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::path::Path;

use hashbrown::HashMap;
use serde::Deserialize;
use toml::Spanned;

use crate::config_error::{Blame, ConfigError};
use crate::marks::{MarkingField, Topology};

/// A topology, and which node has which GID.
///
/// ```toml
/// topology = "mesh:4x4"        # as weir_fabric::marks::Topology describes them
///
/// [nodes]
/// "fe80::2:c903:0:1" = "1,1"   # GID = coordinates
/// "fec0::7:2:c903:0:1" = "1,1" # a port may have several
/// ```
///
/// Nodes may be left out: packets to them cannot be traced, and what others claim to be theirs is not
/// compared.
#[derive(Clone, Debug)]
pub struct TopologyMap {
    topology: Topology,
    nodes: HashMap<u128, u64>,
}

/// A topology, and which node has which GID.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    /// `fat-tree:PORTS^LEVELS`, `mesh:NxN`, `torus:NxNxN` or `hypercube:DIMENSIONS`.
    #[cfg_attr(test, schemars(with = "String"))]
    topology: Spanned<String>,
    /// A GID for each node, and its coordinates.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    nodes: BTreeMap<Spanned<String>, Spanned<String>>,
}

impl TopologyMap {
    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(path: &Path, text: &str) -> Result<TopologyMap, ConfigError> {
        let blame = Blame { path, text };
        let document: Document = toml::from_str(text).map_err(|error| blame.toml(&error))?;
        let described = &document.topology;
        let topology: Topology = (described.get_ref().parse())
            .map_err(|error| blame.at(described.span(), format!("topology: {error}")))?;
        let mut nodes = HashMap::with_capacity(document.nodes.len());
        for (gid, coordinates) in &document.nodes {
            let wrong = |message: &str| blame.at(gid.span(), format!("nodes: {message}"));
            let parsed: Ipv6Addr = (gid.get_ref().parse())
                .map_err(|_| wrong("not a GID, which is written as an IPv6 address"))?;
            match MarkingField::of_gid(&parsed.octets()) {
                Ok(MarkingField::ZERO) => {}
                Ok(_) => return Err(wrong("the GID is not zero in the 38 bits of marks")),
                Err(error) => return Err(wrong(&error.to_string())),
            }
            let Some(node) = topology.parse_node(coordinates.get_ref()) else {
                let message = format!(
                    "nodes: `{}` is no node of {topology}",
                    coordinates.get_ref()
                );
                return Err(blame.at(coordinates.span(), message));
            };
            if nodes.insert(parsed.to_bits(), node).is_some() {
                return Err(wrong("the GID is given twice"));
            }
        }
        Ok(TopologyMap { topology, nodes })
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The node with a GID whose marks are zero.
    pub fn node(&self, gid: u128) -> Option<u64> {
        self.nodes.get(&gid).copied()
    }
}
