//! Networks beside each other over the same wires: VLANs, and what tunnels carry.

use std::hash::{BuildHasher, Hash};
use std::sync::LazyLock;

use hashbrown::DefaultHashBuilder;
use weir_packet::wire::{FlowKey, Headers};

/// Bits of a VLAN identifier (IEEE 802.1Q, section 9.6).
const VLAN_ID_MASK: u16 = 0x0fff;

/// What becomes of equal addresses in several VLANs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vlans {
    /// They are those of different hosts.
    #[default]
    Separate,
    /// They are those of one host: for networks where the two directions of a flow have different
    /// tags, or different network identifiers of VXLAN, Geneve or NVGRE.
    Ignore,
}

impl Vlans {
    /// The number of the network that a packet belongs to by its tags: that of its tunnel, `around`,
    /// where it has none.
    #[inline]
    pub(crate) fn network_of(self, headers: &Headers, bytes: &[u8], around: u64) -> u64 {
        if headers.vlan_tags == 0 || self == Vlans::Ignore {
            return around;
        }
        // A tag of identifier 0 has a priority, and says nothing of the VLAN.
        let ids = headers.vlan_tcis(bytes).map(|tci| tci & VLAN_ID_MASK);
        ids.filter(|id| *id != 0).fold(around, within)
    }

    /// The number of the network inside a tunnel, by its ends and its network identifier; `around`
    /// is that of the tunnel itself.
    pub(crate) fn network_in(self, tunnel: &Headers, bytes: &[u8], around: u64) -> u64 {
        let ends = FlowKey::from_headers(tunnel, bytes).unwrap_or_default();
        let between = within(around, pair_number(&ends));
        match (self, tunnel.virtual_network(bytes)) {
            (Vlans::Separate, Some(identifier)) => within(between, identifier),
            _ => between,
        }
    }
}

static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// A number for a flow's pair of addresses, whatever the direction. It is another one in every
/// process: senders choose neither the shard of their packets nor addresses that are one tunnel.
pub(crate) fn pair_number(flow: &FlowKey) -> u64 {
    HASHER.hash_one((
        flow.source.min(flow.destination),
        flow.source.max(flow.destination),
    ))
}

/// The number of a network inside another one.
fn within(network: u64, part: impl Hash) -> u64 {
    HASHER.hash_one((network, part)) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_addresses_with_equal_exclusive_ors_are_different_tunnels() {
        let pair = |source, destination| FlowKey {
            source,
            destination,
            ..FlowKey::default()
        };
        let flow = pair(5 << 64 | 3, 1);
        assert_eq!(pair_number(&flow), pair_number(&flow.reversed()));
        assert_ne!(pair_number(&flow), pair_number(&pair(3 << 64 | 5, 1)));
    }
}
