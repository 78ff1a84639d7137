//! The security policy database (RFC 4301, section 4.4.1): what is protected,
//! what passes by, what is discarded.

use weir_packet::wire::{Fault, Headers};
use weir_select::{Ranged, Selector, Table, Tuple};
use weir_simd::prefetch;
use weir_stream::DropReason;

/// Which packets a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Direction {
    /// Packets on their way out, before they are protected.
    Outbound,
    /// Packets that came in, protected or not.
    Inbound,
    /// Both.
    #[default]
    Both,
}

impl Direction {
    /// Whether the policy sees packets on their way out.
    pub fn is_outbound(self) -> bool {
        self != Direction::Inbound
    }

    /// Whether the policy sees packets that came in.
    pub fn is_inbound(self) -> bool {
        self != Direction::Outbound
    }
}

/// What happens to the packets of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// They are protected by one of these associations, by index; each flow
    /// keeps to one (RFC 9611).
    Protect(Vec<u32>),
    /// They pass by.
    Bypass,
    /// They are dropped.
    Discard,
}

/// One policy. Of several that match a packet, the first decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Which packets.
    pub selector: Selector,
    /// Packets of which direction.
    pub direction: Direction,
    /// What happens to them.
    pub action: Action,
}

/// What happens to IP packets that no policy matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Unmatched {
    /// They are dropped (RFC 4301, section 5).
    #[default]
    Discard,
    /// They pass by.
    Bypass,
}

/// What the policy database says of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Protect it by the association of this index.
    Protect(u32),
    /// Let it pass.
    Bypass,
    /// Drop it.
    Drop(DropReason),
}

/// The policy database. It governs IP; ARP and other protocols beside IP pass
/// by, but a packet that should be IP and cannot be read is dropped, since
/// nobody can say which policy it would have met.
#[derive(Clone, Debug)]
pub struct Spd {
    outbound: Ordered,
    inbound: Ordered,
    /// Per association, what may come out of it.
    accepted: Vec<Accepted>,
    unmatched: Unmatched,
    clear_text_is_checked: bool,
}

/// What may come out of an association.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct Accepted(AnyOf);

#[derive(Clone, Debug)]
enum AnyOf {
    Anything,
    /// What one selector matches that can lie here.
    One(Ranged),
    /// What one of so few selectors matches that asking each takes less time,
    /// and less memory, than a table of them.
    Few(Box<[Selector]>),
    Many(Box<Table>),
}

// Two of them fill a cache line.
const _: () = assert!(size_of::<Accepted>() == 32);

/// Selectors up to which each is asked.
const FEW_SELECTORS: usize = 4;

/// The policies of one direction, in order.
#[derive(Clone, Debug)]
struct Ordered {
    table: Table,
    actions: Vec<Action>,
}

impl Spd {
    /// Builds the database. `association_count` bounds the indices in the
    /// policies' actions; `clear_text_is_checked` says whether policies apply
    /// to inbound packets without protection ([`Spd::inbound_clear_text`]).
    pub fn new(
        policies: &[Policy],
        unmatched: Unmatched,
        association_count: usize,
        clear_text_is_checked: bool,
    ) -> Spd {
        let mut selectors: Vec<Vec<Selector>> = vec![Vec::new(); association_count];
        for policy in policies.iter().filter(|p| p.direction.is_inbound()) {
            let Action::Protect(associations) = &policy.action else {
                continue;
            };
            for association in associations {
                if let Some(selectors) = selectors.get_mut(*association as usize) {
                    selectors.push(policy.selector.clone());
                }
            }
        }
        let accepted = selectors.into_iter().map(Accepted::by).collect();
        Spd {
            outbound: Ordered::new(policies, Direction::is_outbound),
            inbound: Ordered::new(policies, Direction::is_inbound),
            accepted,
            unmatched,
            clear_text_is_checked,
        }
    }

    /// What becomes of a packet on its way out. `flow_hash` is
    /// [`Headers::symmetric_flow_hash`], which chooses among the associations
    /// of a policy.
    pub fn outbound(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
        flow_hash: u32,
    ) -> Verdict {
        if let Some(verdict) = beside_ip(headers) {
            return verdict;
        }
        match self
            .outbound
            .first(&Tuple::from_headers(headers, record, interface))
        {
            Some(Action::Protect(associations)) => match pick(associations, flow_hash) {
                Some(association) => Verdict::Protect(association),
                None => Verdict::Drop(DropReason::NoSecurityAssociation),
            },
            Some(Action::Bypass) => Verdict::Bypass,
            Some(Action::Discard) => Verdict::Drop(DropReason::PolicyDiscard),
            None => self.unmatched(),
        }
    }

    /// The association that protects the flow of a packet in either
    /// direction: the packet's own, or else that of the packets which answer
    /// it.
    pub fn association_of_flow(&self, tuple: &Tuple, flow_hash: u32) -> Option<u32> {
        let protecting = |tuple: &Tuple| pick(self.protecting(tuple)?, flow_hash);
        protecting(tuple).or_else(|| {
            protecting(&Tuple {
                key: tuple.key.reversed(),
                ..*tuple
            })
        })
    }

    /// The associations of the policy that protects a packet on its way out.
    pub(crate) fn protecting(&self, tuple: &Tuple) -> Option<&[u32]> {
        match self.outbound.first(tuple) {
            Some(Action::Protect(associations)) => Some(associations),
            _ => None,
        }
    }

    /// What becomes of a packet that came in without protection (RFC 4301,
    /// section 5.2): it is dropped where a policy would have it protected.
    pub fn inbound_clear_text(&self, headers: &Headers, record: &[u8], interface: u16) -> Verdict {
        if !self.clear_text_is_checked {
            return Verdict::Bypass;
        }
        if let Some(verdict) = beside_ip(headers) {
            return verdict;
        }
        match self
            .inbound
            .first(&Tuple::from_headers(headers, record, interface))
        {
            Some(Action::Protect(_)) => Verdict::Drop(DropReason::UnprotectedInbound),
            Some(Action::Bypass) => Verdict::Bypass,
            Some(Action::Discard) => Verdict::Drop(DropReason::PolicyDiscard),
            None => self.unmatched(),
        }
    }

    /// Whether a packet may come out of an association: whether one of the
    /// inbound policies that name it matches (RFC 4301, section 5.2, step 4).
    /// An association that none names may carry anything.
    #[inline]
    pub fn accepts(&self, association: u32, tuple: &Tuple) -> bool {
        match self.accepted.get(association as usize) {
            Some(accepted) => accepted.contains(tuple),
            None => false,
        }
    }

    /// Asks for what says where the selectors of an association lie.
    #[inline]
    pub(crate) fn look_ahead(&self, association: u32) {
        if let Some(accepted) = self.accepted.get(association as usize) {
            prefetch(accepted);
        }
    }

    /// Asks for the selectors themselves.
    #[inline]
    pub(crate) fn look_ahead_at_selectors(&self, association: u32) {
        if let Some(Accepted(AnyOf::Few(selectors))) = self.accepted.get(association as usize) {
            prefetch(&**selectors);
        }
    }

    fn unmatched(&self) -> Verdict {
        match self.unmatched {
            Unmatched::Discard => Verdict::Drop(DropReason::NoPolicy),
            Unmatched::Bypass => Verdict::Bypass,
        }
    }
}

impl Accepted {
    fn by(selectors: Vec<Selector>) -> Accepted {
        if let [selector] = selectors.as_slice()
            && let Some(ranged) = Ranged::of(selector)
        {
            return Accepted(AnyOf::One(ranged));
        }
        Accepted(match selectors.len() {
            0 => AnyOf::Anything,
            1..=FEW_SELECTORS => AnyOf::Few(selectors.into()),
            _ => AnyOf::Many(Box::new(Table::new(&selectors))),
        })
    }

    #[inline(always)]
    fn contains(&self, tuple: &Tuple) -> bool {
        match &self.0 {
            AnyOf::One(selector) => selector.matches(tuple),
            // Where the tuple must lie in memory.
            several => several.contains(&{ *tuple }),
        }
    }
}

impl AnyOf {
    #[inline(never)]
    fn contains(&self, tuple: &Tuple) -> bool {
        match self {
            AnyOf::Anything => true,
            AnyOf::One(selector) => selector.matches(tuple),
            AnyOf::Few(selectors) => selectors.iter().any(|selector| selector.matches(tuple)),
            AnyOf::Many(table) => table.first(tuple).is_some(),
        }
    }
}

impl Ordered {
    fn new(policies: &[Policy], is_seen: fn(Direction) -> bool) -> Ordered {
        let seen = || policies.iter().filter(|policy| is_seen(policy.direction));
        let selectors: Vec<Selector> = seen().map(|policy| policy.selector.clone()).collect();
        Ordered {
            table: Table::new(&selectors),
            actions: seen().map(|policy| policy.action.clone()).collect(),
        }
    }

    #[inline]
    fn first(&self, tuple: &Tuple) -> Option<&Action> {
        self.actions.get(self.table.first(tuple)?)
    }
}

/// The verdict on a packet to which no policy can apply.
#[inline]
fn beside_ip(headers: &Headers) -> Option<Verdict> {
    match (headers.is_ip(), headers.fault) {
        (
            true,
            None | Some(Fault::PacketCut | Fault::TransportHeaderCut | Fault::BadTransportHeader),
        ) => None,
        (false, None) => Some(Verdict::Bypass),
        _ => Some(Verdict::Drop(DropReason::MalformedHeaders)),
    }
}

#[inline]
fn pick(associations: &[u32], flow_hash: u32) -> Option<u32> {
    let chosen = (flow_hash as usize).checked_rem(associations.len())?;
    associations.get(chosen).copied()
}

#[cfg(test)]
mod tests {
    use weir_packet::wire::LinkType;

    use super::*;

    fn selector(source: &str, destination: &str, destination_port: &str) -> Selector {
        Selector {
            source: source.parse().expect("addresses"),
            destination: destination.parse().expect("addresses"),
            destination_port: destination_port.parse().expect("ports"),
            ..Selector::default()
        }
    }

    fn policy(selector: Selector, direction: Direction, action: Action) -> Policy {
        Policy {
            selector,
            direction,
            action,
        }
    }

    /// A UDP packet from 198.18.1.1 to `198.18.to.1:port`.
    fn udp(to: u8, port: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend([198, 18, 1, 1, 198, 18, to, 1]);
        packet.extend([0x30, 0x39]);
        packet.extend(port.to_be_bytes());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    fn outbound(spd: &Spd, packet: &[u8]) -> Verdict {
        let headers = Headers::parse(LinkType::RawIp, packet);
        spd.outbound(&headers, packet, 0, 7)
    }

    fn clear_text(spd: &Spd, packet: &[u8]) -> Verdict {
        let headers = Headers::parse(LinkType::RawIp, packet);
        spd.inbound_clear_text(&headers, packet, 0)
    }

    fn tuple(packet: &[u8]) -> Tuple {
        let headers = Headers::parse(LinkType::RawIp, packet);
        Tuple::from_headers(&headers, packet, 0)
    }

    fn gateway(unmatched: Unmatched) -> Spd {
        let out = Direction::Outbound;
        Spd::new(
            &[
                policy(
                    selector("any", "198.18.2.0/24", "22"),
                    Direction::Both,
                    Action::Bypass,
                ),
                policy(
                    selector("any", "198.18.2.0/24", "any"),
                    out,
                    Action::Protect(vec![0, 1]),
                ),
                policy(
                    selector("198.18.1.0/24", "198.18.3.0/24", "any"),
                    Direction::Inbound,
                    Action::Protect(vec![2]),
                ),
                policy(
                    selector("any", "198.18.4.0/24", "any"),
                    Direction::Both,
                    Action::Discard,
                ),
            ],
            unmatched,
            4,
            true,
        )
    }

    #[test]
    fn first_match_decides_per_direction() {
        let spd = gateway(Unmatched::Discard);
        assert_eq!(outbound(&spd, &udp(2, 22)), Verdict::Bypass);
        assert_eq!(outbound(&spd, &udp(2, 80)), Verdict::Protect(1));
        let no_policy = Verdict::Drop(DropReason::NoPolicy);
        assert_eq!(outbound(&spd, &udp(3, 80)), no_policy);
        let discard = Verdict::Drop(DropReason::PolicyDiscard);
        assert_eq!(outbound(&spd, &udp(4, 80)), discard);

        assert_eq!(clear_text(&spd, &udp(2, 22)), Verdict::Bypass);
        assert_eq!(clear_text(&spd, &udp(2, 80)), no_policy);
        assert_eq!(
            clear_text(&spd, &udp(3, 80)),
            Verdict::Drop(DropReason::UnprotectedInbound)
        );
        assert_eq!(clear_text(&spd, &udp(4, 80)), discard);

        let spd = gateway(Unmatched::Bypass);
        assert_eq!(outbound(&spd, &udp(3, 80)), Verdict::Bypass);
        assert_eq!(clear_text(&spd, &udp(2, 80)), Verdict::Bypass);
    }

    #[test]
    fn what_may_come_out_of_an_association() {
        let spd = gateway(Unmatched::Discard);
        assert!(spd.accepts(2, &tuple(&udp(3, 80))));
        assert!(!spd.accepts(2, &tuple(&udp(2, 80))));
        assert!(spd.accepts(3, &tuple(&udp(2, 80))), "no policy names it");
        assert!(!spd.accepts(4, &tuple(&udp(3, 80))), "there is none");
    }

    #[test]
    fn both_directions_of_a_flow_have_one_association() {
        let spd = gateway(Unmatched::Discard);
        let there = tuple(&udp(2, 80));
        let back = Tuple {
            key: there.key.reversed(),
            ..there
        };
        for hash in 0..4 {
            assert_eq!(spd.association_of_flow(&there, hash), Some(hash % 2));
            assert_eq!(spd.association_of_flow(&back, hash), Some(hash % 2));
        }
        assert_eq!(spd.association_of_flow(&tuple(&udp(3, 80)), 1), None);
    }

    #[test]
    fn what_is_not_ip_passes_and_what_cannot_be_read_does_not() {
        let spd = gateway(Unmatched::Discard);
        let malformed = Verdict::Drop(DropReason::MalformedHeaders);
        let mut arp = vec![0; 12];
        arp.extend([8, 6]);
        arp.extend([0; 28]);
        let headers = Headers::parse(LinkType::Ethernet, &arp);
        assert_eq!(spd.outbound(&headers, &arp, 0, 0), Verdict::Bypass);
        assert_eq!(spd.inbound_clear_text(&headers, &arp, 0), Verdict::Bypass);

        assert_eq!(outbound(&spd, &udp(2, 80)[..19]), malformed);
        assert_eq!(clear_text(&spd, &udp(2, 80)[..19]), malformed);
        assert_eq!(outbound(&spd, &[]), malformed);
        let headers = Headers::parse(LinkType::Other(1), &[0; 60]);
        assert_eq!(spd.outbound(&headers, &[0; 60], 0, 0), malformed);
    }

    #[test]
    fn fragments_meet_policies_without_ports_only() {
        let spd = gateway(Unmatched::Discard);
        let mut first = udp(2, 22);
        first[6] = 0x20;
        assert_eq!(outbound(&spd, &first), Verdict::Protect(1));
    }
}
