//! The association database: which association an ESP packet belongs to, and
//! which shard an association belongs to (RFC 4301, sections 4.1 and 4.4.2).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use weir_select::Selector;

use crate::esp::Arrival;
use crate::policy::{Action, Policy};
use crate::sa::Parameters;

/// The associations of a gateway, by index.
#[derive(Clone, Debug)]
pub struct Sad {
    associations: Vec<Arc<Parameters>>,
    /// SPI and index, sorted.
    by_spi: Vec<(u32, u32)>,
    nat_t_ports: Vec<u16>,
    /// Per association, the number that steers its packets.
    homes: Vec<u32>,
}

impl Sad {
    /// Builds the database. The policies tell which associations carry the two
    /// directions of the same flows and so must live together.
    pub fn new(associations: Vec<Arc<Parameters>>, policies: &[Policy]) -> Sad {
        let mut by_spi: Vec<(u32, u32)> = (0..)
            .zip(&associations)
            .map(|(index, parameters)| (parameters.spi, index))
            .collect();
        by_spi.sort_unstable();
        let mut nat_t_ports: Vec<u16> = associations
            .iter()
            .filter_map(|parameters| Some(parameters.nat_t?.destination))
            .collect();
        nat_t_ports.sort_unstable();
        nat_t_ports.dedup();
        Sad {
            homes: homes(associations.len(), policies),
            associations,
            by_spi,
            nat_t_ports,
        }
    }

    /// The parameters of all associations.
    pub fn associations(&self) -> &[Arc<Parameters>] {
        &self.associations
    }

    /// The UDP ports behind which ESP is looked for (RFC 3948).
    pub fn nat_t_ports(&self) -> &[u16] {
        &self.nat_t_ports
    }

    /// The association of a received ESP packet: its SPI, the destination
    /// address where the association is a tunnel's, and the way of
    /// encapsulation must fit.
    pub fn find(&self, arrival: &Arrival, destination: IpAddr) -> Option<u32> {
        let from = self.by_spi.partition_point(|(spi, _)| *spi < arrival.spi);
        self.by_spi[from..]
            .iter()
            .take_while(|(spi, _)| *spi == arrival.spi)
            .map(|(_, index)| *index)
            .find(|index| {
                self.associations
                    .get(*index as usize)
                    .is_some_and(|parameters| {
                        parameters.nat_t.is_some() == arrival.in_udp
                            && parameters
                                .destination()
                                .is_none_or(|end| end == destination)
                    })
            })
    }

    /// The number that steers an association's packets to a shard, modulo the
    /// number of shards. Associations that carry the two directions of the
    /// same flows share it.
    pub fn home(&self, association: u32) -> u32 {
        self.homes
            .get(association as usize)
            .copied()
            .unwrap_or(association)
    }
}

/// Groups associations whose policies mirror each other, and numbers the
/// groups from 0 without gaps.
fn homes(association_count: usize, policies: &[Policy]) -> Vec<u32> {
    let mut leader: Vec<u32> = (0..association_count as u32).collect();
    let protecting = || {
        policies.iter().filter_map(|policy| match &policy.action {
            Action::Protect(by) if policy.direction.is_outbound() => Some((&policy.selector, by)),
            _ => None,
        })
    };
    let by_selector: HashMap<&Selector, &Vec<u32>> = protecting().collect();
    for (selector, there) in protecting() {
        let Some(back) = by_selector.get(&selector.reversed()) else {
            continue;
        };
        // Of two lists alike in length, a flow takes the same place in both.
        let places = if there.len() == back.len() {
            there.len()
        } else {
            1
        };
        for (place, association) in there.iter().chain(*back).enumerate() {
            if let Some(first) = there.get(place % places) {
                join(&mut leader, *first, *association);
            }
        }
    }
    let mut numbers = HashMap::new();
    (0..association_count as u32)
        .map(|association| {
            let fresh = numbers.len() as u32;
            *numbers.entry(lead(&leader, association)).or_insert(fresh)
        })
        .collect()
}

/// Follows leaders to the one that leads itself; each has a lower index, so
/// this ends.
fn lead(leader: &[u32], mut association: u32) -> u32 {
    while let Some(next) = leader.get(association as usize)
        && *next != association
    {
        association = *next;
    }
    association
}

fn join(leader: &mut [u32], one: u32, other: u32) {
    let (one, other) = (lead(leader, one), lead(leader, other));
    if let Some(of_higher) = leader.get_mut(one.max(other) as usize) {
        *of_higher = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use weir_crypto::Suite;

    use super::*;
    use crate::lifetime::Lifetime;
    use crate::nat_t::UdpPorts;
    use crate::outer::{Ends, Tunnel};
    use crate::policy::Direction;
    use crate::sa::Mode;

    fn association(spi: u32, destination: Option<[u8; 4]>, in_udp: bool) -> Arc<Parameters> {
        let mode = match destination {
            None => Mode::Transport,
            Some(destination) => Mode::Tunnel(Tunnel::between(Ends::V4 {
                source: [198, 18, 0, 1].into(),
                destination: destination.into(),
            })),
        };
        Arc::new(Parameters {
            name: format!("{spi}"),
            spi,
            suite: Suite::parse("aes-128-gcm-16").expect("a suite"),
            mode,
            esn: false,
            replay_window: 64,
            nat_t: in_udp.then(UdpPorts::default),
            decrement_ttl: false,
            mtu_bytes: u32::MAX,
            lifetime: Lifetime::UNLIMITED,
        })
    }

    fn arrival(spi: u32, in_udp: bool) -> Arrival {
        Arrival {
            spi,
            sequence_low: 1,
            in_udp,
            esp_offset: 20,
            esp_bytes: 100,
        }
    }

    #[test]
    fn found_by_spi_destination_and_encapsulation() {
        let sad = Sad::new(
            vec![
                association(0x2000, Some([198, 18, 0, 2]), false),
                association(0x1000, Some([198, 18, 0, 2]), false),
                association(0x1000, Some([198, 18, 0, 3]), false),
                association(0x3000, None, true),
            ],
            &[],
        );
        let (two, three) = (IpAddr::from([198, 18, 0, 2]), IpAddr::from([198, 18, 0, 3]));
        for (arrival, destination, expected) in [
            (arrival(0x1000, false), two, Some(1)),
            (arrival(0x1000, false), three, Some(2)),
            (arrival(0x1000, false), [1, 1, 1, 1].into(), None),
            (arrival(0x1000, true), two, None),
            (arrival(0x2000, false), two, Some(0)),
            (arrival(0x3000, true), three, Some(3)),
            (arrival(0x3000, false), three, None),
            (arrival(0x4000, false), two, None),
            (arrival(0, false), two, None),
        ] {
            assert_eq!(sad.find(&arrival, destination), expected, "{arrival:?}");
        }
        assert_eq!(sad.nat_t_ports(), [4500]);
    }

    #[test]
    fn collisions_are_those_a_receiver_cannot_resolve() {
        let here = association(0x1000, Some([198, 18, 0, 2]), false);
        let there = association(0x1000, Some([198, 18, 0, 3]), false);
        let transport = association(0x1000, None, false);
        let other = association(0x1001, Some([198, 18, 0, 2]), false);
        assert!(here.collides_with(&here) && here.collides_with(&transport));
        assert!(!here.collides_with(&there) && !here.collides_with(&other));
    }

    #[test]
    fn mirrored_policies_bring_their_associations_together() {
        let policy = |from: &str, to: &str, by: &[u32]| Policy {
            selector: Selector {
                source: from.parse().expect("addresses"),
                destination: to.parse().expect("addresses"),
                ..Selector::default()
            },
            direction: Direction::Both,
            action: Action::Protect(by.to_vec()),
        };
        let associations = (0..10)
            .map(|index| association(0x1000 + index, Some([198, 18, 0, 2]), false))
            .collect();
        let sad = Sad::new(
            associations,
            &[
                policy("10.0.0.0/8", "fd00::/8", &[0, 1]),
                policy("10.0.0.0/8", "192.0.2.0/24", &[2]),
                policy("fd00::/8", "10.0.0.0/8", &[5, 4]),
                policy("any", "any", &[6]),
                policy("192.0.2.0/24", "fd01::/16", &[7, 8]),
                policy("fd01::/16", "192.0.2.0/24", &[9]),
            ],
        );
        let homes: Vec<u32> = (0..10).map(|index| sad.home(index)).collect();
        assert_eq!(homes, [0, 1, 2, 3, 1, 0, 4, 5, 5, 5]);
    }
}
