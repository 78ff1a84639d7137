//! The association database: which association an ESP packet belongs to, and
//! which shard an association belongs to (RFC 4301, sections 4.1 and 4.4.2).

use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

use weir_simd::prefetch;

use crate::esp::Arrival;
use crate::sa::Parameters;

/// The associations of a gateway. Packets name them by slot: the number that an association
/// keeps as long as it is there, also where the SA file is replaced.
#[derive(Clone, Debug)]
pub struct Sad {
    /// In the order of the SA file.
    associations: Vec<Arc<Parameters>>,
    /// What received packets are held against, by [`bucket`](Sad::bucket) and then by
    /// slot.
    rows: Vec<Row>,
    /// Where in `rows` each bucket starts, and at the end where the last one does.
    starts: Box<[u32]>,
    /// There are two to the power of this many buckets, no fewer than associations.
    bucket_bits: u32,
    nat_t_ports: Vec<u16>,
    /// Where tunnels end here.
    tunnel_ends: HashSet<IpAddr>,
    /// By slot, the number that steers an association's packets.
    homes: Vec<u32>,
}

/// What identifies an association.
#[derive(Clone, Copy, Debug)]
struct Row {
    spi: u32,
    slot: u32,
    in_udp: bool,
    destination: Option<IpAddr>,
}

impl Sad {
    /// Builds the database of associations in these slots. `homes` steer the packets of each
    /// slot ([`Sad::home`]).
    pub(crate) fn new(associations: Vec<Arc<Parameters>>, slots: &[u32], homes: Vec<u32>) -> Sad {
        let bucket_bits = associations.len().next_power_of_two().ilog2();
        let inbound = || {
            associations
                .iter()
                .filter(|parameters| parameters.may_open())
        };
        let mut rows: Vec<Row> = slots
            .iter()
            .zip(&associations)
            .filter(|(_, parameters)| parameters.may_open())
            .map(|(slot, parameters)| Row {
                spi: parameters.spi,
                slot: *slot,
                in_udp: parameters.nat_t.is_some(),
                destination: parameters.destination(),
            })
            .collect();
        rows.sort_unstable_by_key(|row| (bucket(row.spi, bucket_bits), row.slot));
        let starts = (0..=1usize << bucket_bits)
            .map(|at| rows.partition_point(|row| bucket(row.spi, bucket_bits) < at) as u32)
            .collect();
        let tunnel_ends = inbound()
            .filter_map(|parameters| parameters.destination())
            .collect();
        let mut nat_t_ports: Vec<u16> = inbound()
            .filter_map(|parameters| Some(parameters.nat_t?.destination))
            .collect();
        nat_t_ports.sort_unstable();
        nat_t_ports.dedup();
        Sad {
            homes,
            tunnel_ends,
            associations,
            rows,
            starts,
            bucket_bits,
            nat_t_ports,
        }
    }

    /// The parameters of all associations, in the order of the SA file.
    pub fn associations(&self) -> &[Arc<Parameters>] {
        &self.associations
    }

    /// The UDP ports behind which ESP is looked for (RFC 3948).
    pub fn nat_t_ports(&self) -> &[u16] {
        &self.nat_t_ports
    }

    /// Whether a tunnel ends at this address.
    pub(crate) fn is_tunnel_end(&self, destination: IpAddr) -> bool {
        self.tunnel_ends.contains(&destination)
    }

    /// The slot of the inbound association of a received ESP packet: its SPI, the way of
    /// encapsulation, and the destination address must fit, which in transport
    /// mode `is_transport_end` decides.
    #[inline]
    pub(crate) fn find(
        &self,
        arrival: &Arrival,
        destination: IpAddr,
        is_transport_end: impl Fn() -> bool,
    ) -> Option<u32> {
        self.rows
            .get(self.bucket(arrival.spi))?
            .iter()
            .find(|row| {
                row.spi == arrival.spi
                    && row.in_udp == arrival.in_udp
                    && match row.destination {
                        Some(end) => end == destination,
                        None => is_transport_end(),
                    }
            })
            .map(|row| row.slot)
    }

    /// The places of the rows among which those with this SPI are.
    #[inline]
    fn bucket(&self, spi: u32) -> Range<usize> {
        let at = bucket(spi, self.bucket_bits);
        match self.starts.get(at..at + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    /// Prefetches the bucket of `spi`.
    #[inline]
    pub(crate) fn look_ahead(&self, spi: u32) {
        if let Some(start) = self.starts.get(bucket(spi, self.bucket_bits)) {
            prefetch(start);
        }
    }

    /// Prefetches the rows of `spi`.
    #[inline]
    pub(crate) fn look_ahead_at_rows(&self, spi: u32) {
        if let Some(row) = self.rows.get(self.bucket(spi).start) {
            prefetch(row);
        }
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

/// Which of two to the power of `bits` buckets an SPI is in: multiplicative hashing,
/// by the golden ratio. Who sends packets chooses their SPIs, but only those of the
/// associations fill buckets.
#[inline]
fn bucket(spi: u32, bits: u32) -> usize {
    (u64::from(spi.wrapping_mul(0x9e37_79b9)) >> (32 - bits)) as usize
}

#[cfg(test)]
mod tests {
    use weir_crypto::Suite;

    use super::*;
    use crate::lifetime::Lifetime;
    use crate::nat_t::UdpPorts;
    use crate::outer::{Tunnel, TunnelEnds};
    use crate::sa::{Mode, SaDirection};

    fn association(spi: u32, destination: Option<[u8; 4]>, in_udp: bool) -> Arc<Parameters> {
        let mode = match destination {
            None => Mode::Transport,
            Some(destination) => Mode::Tunnel(Tunnel::between(TunnelEnds::V4 {
                source: [198, 18, 0, 1].into(),
                destination: destination.into(),
            })),
        };
        Arc::new(Parameters {
            name: format!("{spi}"),
            spi,
            direction: None,
            suite: Suite::parse("aes-128-gcm-16").expect("a suite"),
            mode,
            esn: false,
            replay_window: 64,
            expected_sequence: None,
            keeps_replay_state: None,
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
            &[0, 1, 2, 3],
            vec![0, 1, 2, 3],
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
            let found = sad.find(&arrival, destination, || destination == three);
            assert_eq!(found, expected, "{arrival:?}");
        }
        assert_eq!(sad.find(&arrival(0x3000, true), two, || false), None);
        assert!(sad.is_tunnel_end(two) && sad.is_tunnel_end(three));
        assert!(!sad.is_tunnel_end([1, 1, 1, 1].into()));
        assert_eq!(sad.nat_t_ports(), [4500]);
    }

    #[test]
    fn every_spi_is_found_among_however_many() {
        let two = IpAddr::from([198, 18, 0, 2]);
        for count in [0, 1, 2, 3, 700] {
            let spi = |number: u32| 0x100 + number * number * 977;
            let associations = (0..count).map(|number| association(spi(number), None, false));
            let slots: Vec<u32> = (0..count).collect();
            let sad = Sad::new(associations.collect(), &slots, slots.clone());
            for number in 0..count {
                assert_eq!(
                    sad.find(&arrival(spi(number), false), two, || true),
                    Some(number)
                );
                assert_eq!(
                    sad.find(&arrival(spi(number) + 1, false), two, || true),
                    None
                );
                sad.look_ahead(spi(number));
                sad.look_ahead_at_rows(spi(number) + 1);
            }
            assert_eq!(sad.find(&arrival(u32::MAX, false), two, || true), None);
        }
    }

    #[test]
    fn outbound_associations_are_not_found() {
        let mut outbound = (*association(0x1000, Some([198, 18, 0, 2]), true)).clone();
        outbound.direction = Some(SaDirection::Outbound);
        let end = IpAddr::from([198, 18, 0, 2]);
        let sad = Sad::new(vec![Arc::new(outbound)], &[0], vec![0]);
        assert_eq!(sad.find(&arrival(0x1000, true), end, || true), None);
        assert!(!sad.is_tunnel_end(end) && sad.nat_t_ports().is_empty());
    }

    #[test]
    fn collisions_are_those_a_receiver_cannot_resolve() {
        let here = association(0x1000, Some([198, 18, 0, 2]), false);
        let there = association(0x1000, Some([198, 18, 0, 3]), false);
        let transport = association(0x1000, None, false);
        let other = association(0x1001, Some([198, 18, 0, 2]), false);
        assert!(here.collides_with(&here) && here.collides_with(&transport));
        assert!(!here.collides_with(&there) && !here.collides_with(&other));
        let directed = |direction| {
            let mut parameters = (*here).clone();
            parameters.direction = Some(direction);
            parameters
        };
        let (sent, received) = (
            directed(SaDirection::Outbound),
            directed(SaDirection::Inbound),
        );
        assert!(!sent.collides_with(&received) && sent.collides_with(&sent));
        assert!(received.collides_with(&here) && sent.collides_with(&here));
    }
}
