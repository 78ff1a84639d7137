//! Which associations must live on one shard.
//!
//! Both directions of a flow have to meet on one shard, where its state is, and
//! an association belongs to one shard, where its counter is. So the
//! associations that protect the two directions of the same flows live
//! together. They are found by the policies: a few typical packets of each policy are
//! reversed, and the association that protects the reply joins those of the policy.
//!
//! Fragments are steered without ports. Where policies name some, the
//! associations between the same addresses live together too.
//!
//! Typical packets are not all packets: a flow whose two directions meet
//! policies that no typical packet brought together is still protected, and
//! still in order, but its directions are seen by two shards.

use std::collections::HashMap;
use std::net::IpAddr;

use ipnet::IpNet;
use weir_packet::wire::FlowKey;
use weir_packet::wire::protocol::{TCP, UDP};
use weir_select::{AddressSet, PortSet, ProtocolSet, Tuple};

use crate::policy::{Action, Policy, Spd};

/// So many ranges of a set of addresses are looked at.
const TYPICAL_RANGES: usize = 4;

/// The ports of a flow whose policy leaves them open: above the registered
/// ones.
const OPEN_PORT: u16 = 50_000;

/// The number that steers each association's packets: one for all that must
/// live together, from 0 without gaps.
pub(crate) fn homes(association_count: usize, policies: &[Policy], spd: &Spd) -> Vec<u32> {
    let mut groups = Groups::new(association_count);
    for policy in policies {
        let Action::Protect(there) = &policy.action else {
            continue;
        };
        for reply in replies(policy) {
            let back = [spd.protecting(&reply), spd.opening(&reply)];
            for back in back.into_iter().flatten() {
                groups.join_lists(there, back);
            }
        }
    }
    if spd.steers_fragments() {
        join_what_fragments_share(&mut groups, policies);
    }
    groups.numbers()
}

/// The most pairs of policies that are compared.
const MOST_PAIRS: usize = 1 << 22;

/// Joins the associations that protect datagrams between the same addresses where
/// policies name ports: fragments are steered without them, since most do not
/// show any, and so each must find its association where it comes to.
fn join_what_fragments_share(groups: &mut Groups, policies: &[Policy]) {
    let protecting: Vec<(&Policy, &[u32])> = policies
        .iter()
        .filter(|policy| policy.direction.is_outbound())
        .filter_map(|policy| match &policy.action {
            Action::Protect(associations) => Some((policy, associations.as_slice())),
            _ => None,
        })
        .collect();
    let choosy: Vec<_> = protecting
        .iter()
        .filter(|(policy, _)| policy.selector.selects_ports())
        .collect();
    if choosy.len().saturating_mul(protecting.len()) > MOST_PAIRS {
        // To compare them all would take long: one shard takes them all.
        for (_, associations) in &protecting {
            groups.join_all(
                protecting.first().map_or(&[], |(_, first)| *first),
                associations,
            );
        }
        return;
    }
    for (policy, there) in choosy {
        for (other, back) in &protecting {
            if policy.selector.shares_addresses_with(&other.selector) {
                groups.join_lists(there, back);
            }
        }
    }
}

/// The replies to a policy's typical packets.
fn replies(policy: &Policy) -> impl Iterator<Item = Tuple> {
    let selector = &policy.selector;
    let sources = typical_addresses(&selector.source);
    let destinations = typical_addresses(&selector.destination);
    let protocols = typical_protocols(&selector.protocol);
    let source_port = typical_port(&selector.source_port);
    let destination_port = typical_port(&selector.destination_port);
    sources.into_iter().flat_map(move |source| {
        let protocols = protocols.clone();
        destinations
            .clone()
            .into_iter()
            .filter(move |destination| destination.is_ipv4() == source.is_ipv4())
            .flat_map(move |destination| {
                protocols.clone().into_iter().map(move |protocol| Tuple {
                    key: FlowKey {
                        source: number(destination),
                        destination: number(source),
                        source_port: destination_port,
                        destination_port: source_port,
                        protocol,
                        ip_version: if source.is_ipv4() { 4 } else { 6 },
                    },
                    interface: 0,
                    ports_known: matches!(protocol, TCP | UDP),
                })
            })
    })
}

/// Addresses of a set, by the ranges that it is written as: the ends of a few
/// of them. Anywhere is somewhere in the documentation's own networks.
fn typical_addresses(set: &AddressSet) -> Vec<IpAddr> {
    if set.is_any() {
        return vec![
            IpAddr::from([192, 0, 2, 1]),
            IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]),
        ];
    }
    let text = set.to_string();
    let mut addresses = Vec::new();
    for range in text
        .trim_matches(['[', ']'])
        .split(',')
        .take(TYPICAL_RANGES)
    {
        if let Ok(prefix) = range.parse::<IpNet>() {
            addresses.extend([prefix.network(), prefix.broadcast()]);
        } else {
            addresses.extend(
                range
                    .split('-')
                    .filter_map(|end| end.parse::<IpAddr>().ok()),
            );
        }
    }
    addresses
}

fn typical_protocols(set: &ProtocolSet) -> Vec<u8> {
    let common: Vec<u8> = [TCP, UDP]
        .into_iter()
        .filter(|protocol| set.contains(*protocol))
        .collect();
    if common.is_empty() {
        (0..=u8::MAX)
            .find(|protocol| set.contains(*protocol))
            .into_iter()
            .collect()
    } else {
        common
    }
}

fn typical_port(set: &PortSet) -> u16 {
    if set.contains(OPEN_PORT) {
        return OPEN_PORT;
    }
    (0..=u16::MAX)
        .find(|port| set.contains(*port))
        .unwrap_or(OPEN_PORT)
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Associations in groups. Each points to one of a lower index in its group,
/// or leads it.
struct Groups {
    leader: Vec<u32>,
}

impl Groups {
    fn new(count: usize) -> Groups {
        Groups {
            leader: (0..count as u32).collect(),
        }
    }

    /// Joins the associations between which a flow goes there and back. A
    /// flow takes the same place in two lists of one length, and any places
    /// in others.
    fn join_lists(&mut self, there: &[u32], back: &[u32]) {
        let places = if there.len() == back.len() {
            there.len()
        } else {
            1
        };
        for (place, association) in there.iter().chain(back).enumerate() {
            if let Some(first) = there.get(place % places) {
                self.join(*first, *association);
            }
        }
    }

    /// Joins all associations of two lists.
    fn join_all(&mut self, these: &[u32], those: &[u32]) {
        if let Some(first) = these.first() {
            for association in these.iter().chain(those) {
                self.join(*first, *association);
            }
        }
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.lead(one), self.lead(other));
        if let Some(of_higher) = self.leader.get_mut(one.max(other) as usize) {
            *of_higher = one.min(other);
        }
    }

    /// Follows leaders to the one that leads itself.
    fn lead(&self, mut association: u32) -> u32 {
        while let Some(next) = self.leader.get(association as usize)
            && *next != association
        {
            association = *next;
        }
        association
    }

    fn numbers(&self) -> Vec<u32> {
        let mut numbers = HashMap::new();
        (0..self.leader.len() as u32)
            .map(|association| {
                let fresh = numbers.len() as u32;
                *numbers.entry(self.lead(association)).or_insert(fresh)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use weir_select::Selector;

    use super::*;
    use crate::policy::{Defaults, Direction};

    fn policy(from: &str, to: &str, service: &str, by: &[u32]) -> Policy {
        let (protocol, port) = service.split_once('/').unwrap_or((service, "any"));
        Policy {
            selector: Selector {
                source: from.parse().expect("addresses"),
                destination: to.parse().expect("addresses"),
                protocol: protocol.parse().expect("a protocol"),
                destination_port: port.parse().expect("ports"),
                ..Selector::default()
            },
            direction: Direction::Both,
            action: Action::Protect(by.to_vec()),
        }
    }

    fn homes_of(association_count: usize, policies: &[Policy]) -> Vec<u32> {
        let spd = Spd::new(policies, Defaults::default(), association_count);
        homes(association_count, policies, &spd)
    }

    #[test]
    fn policies_that_mirror_each_other() {
        let policies = [
            policy("10.0.0.0/8", "fd00::/8,192.0.2.128/25", "any", &[0, 1]),
            policy("10.0.0.0/8", "198.51.100.0/24", "any", &[2]),
            policy("192.0.2.128/25", "10.0.0.0/8", "any", &[5, 4]),
            policy("203.0.113.1", "any", "any", &[6]),
            policy(
                "192.0.2.0/25",
                "fd01::/16,203.0.113.7-203.0.113.9",
                "any",
                &[7, 8],
            ),
            policy("203.0.113.8/29", "192.0.2.0/25", "any", &[9]),
        ];
        let homes = homes_of(10, &policies);
        assert_eq!(homes[..7], [0, 1, 2, 3, 1, 0, 4]);
        assert_eq!(homes[7..], [5, 5, 5], "lists of two lengths");
    }

    #[test]
    fn a_service_there_and_everything_back() {
        let policies = [
            policy("10.1.0.0/16", "10.2.0.0/16", "tcp/22", &[0]),
            policy("10.1.0.0/16", "10.2.0.0/16", "udp", &[1]),
            policy("10.2.0.0/16", "10.1.0.0/16", "any", &[2]),
            policy("fd00:1::/32", "fd00:2::/32", "any", &[3]),
        ];
        assert_eq!(homes_of(4, &policies), [0, 0, 0, 1]);
    }

    #[test]
    fn spokes_of_a_hub_live_apart() {
        let policies: Vec<Policy> = (0..20)
            .flat_map(|spoke| {
                let network = format!("10.{}.0.0/16", spoke + 1);
                [
                    policy("10.0.0.0/16", &network, "any", &[2 * spoke]),
                    policy(&network, "10.0.0.0/16", "any", &[2 * spoke + 1]),
                ]
            })
            .collect();
        let homes = homes_of(40, &policies);
        let expected: Vec<u32> = (0..40).map(|association| association / 2).collect();
        assert_eq!(homes, expected);
    }

    #[test]
    fn one_policy_for_everything() {
        let policies = [policy("any", "any", "any", &[0, 1, 2])];
        assert_eq!(homes_of(3, &policies), [0, 1, 2]);
    }
}
