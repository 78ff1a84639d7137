//! The security policy database (RFC 4301, section 4.4.1): what is protected,
//! what passes by, what is discarded.

use weir_packet::wire::{Fault, Fragment, Headers, Network};
use weir_select::{Ranged, Selector, Table, Tuple};
use weir_simd::prefetch;

use crate::reason::DropReason;

mod link_protocol;
#[cfg(test)]
mod tests;

pub use link_protocol::{LinkProtocolError, LinkProtocols};

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
    /// It is a later fragment: the first one of its datagram decides, since only
    /// that shows the ports, or the protocol, that policies name (RFC 4301,
    /// section 7).
    AsFirstFragment,
}

/// What holds beside the policies.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// What happens to IP packets that no policy matches.
    pub unmatched: Unmatched,
    /// What may pass although it carries no IP that policies could decide about.
    pub allowed: LinkProtocols,
    /// Whether policies apply to inbound packets without protection
    /// ([`Spd::inbound_clear_text`]).
    pub clear_text_is_checked: bool,
}

/// The policy database. It decides about IP packets, by their outermost IP
/// header: behind VLAN tags, MPLS labels, a PPPoE header or LLC and SNAP. What
/// carries no IP there is dropped unless its protocol is allowed by name, and so
/// is a packet that should be IP and cannot be read, since nobody can say which
/// policy it would have met.
#[derive(Clone, Debug)]
pub struct Spd {
    outbound: Ordered,
    inbound: Ordered,
    /// Of outbound policies that protect, without ports: what the fragments of a
    /// datagram have in common. Only where policies name ports.
    protecting_fragments: Option<Ordered>,
    /// Per association, what may come out of it.
    accepted: Vec<Accepted>,
    /// The associations, in order, where that depends on more than addresses.
    accepted_behind_addresses: Vec<u32>,
    defaults: Defaults,
}

/// What may come out of an association.
#[derive(Clone, Debug)]
#[repr(align(32))]
struct Accepted(AnyOf);

#[derive(Clone, Debug)]
enum AnyOf {
    /// No inbound policy names it (RFC 4301, section 5.2, step 4).
    Nothing,
    /// What one selector matches that can lie here.
    One(Ranged),
    /// What one of so few selectors matches that asking each takes less time,
    /// and less memory, than a table of them.
    Few(Box<[Selector]>),
    Many(Box<Table>),
}

// Two of them fill a cache line.
const _: () = assert!(size_of::<Accepted>() == 32);

/// Up to this number, selectors are compared one by one.
const FEW_SELECTORS: usize = 4;

/// The policies of one direction, in order.
#[derive(Clone, Debug)]
struct Ordered {
    table: Table,
    actions: Vec<Action>,
    /// The same policies with all ports open, where one names ports.
    open_ports: Option<Box<Table>>,
    /// Whether one names a protocol.
    selects_protocol: bool,
}

impl Spd {
    /// Builds the database. `association_count` bounds the indices in the
    /// policies' actions.
    pub fn new(policies: &[Policy], defaults: Defaults, association_count: usize) -> Spd {
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
        let accepted_behind_addresses = (0..)
            .zip(&selectors)
            .filter(|(_, some)| some.iter().any(Selector::looks_behind_addresses))
            .map(|(association, _)| association)
            .collect();
        let accepted = selectors.into_iter().map(Accepted::by).collect();
        let outbound = Ordered::new(policies, Direction::is_outbound);
        Spd {
            protecting_fragments: outbound.open_ports.is_some().then(|| {
                let protecting: Vec<Policy> = policies
                    .iter()
                    .filter(|policy| matches!(policy.action, Action::Protect(_)))
                    .map(|policy| Policy {
                        selector: policy.selector.without_ports(),
                        ..policy.clone()
                    })
                    .collect();
                Ordered::new(&protecting, Direction::is_outbound)
            }),
            outbound,
            inbound: Ordered::new(policies, Direction::is_inbound),
            accepted,
            accepted_behind_addresses,
            defaults,
        }
    }

    /// What becomes of a packet on its way out. `flow_hash` is
    /// [`Headers::symmetric_flow_hash`], which chooses among the associations
    /// of a policy.
    #[inline(always)]
    pub fn outbound(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
        flow_hash: u32,
    ) -> Verdict {
        if let Some(verdict) = self.beside_ip(headers) {
            return verdict;
        }
        match self.outbound.decide(headers, record, interface) {
            Ok(Some(Action::Protect(associations))) => match pick(associations, flow_hash) {
                Some(association) => Verdict::Protect(association),
                None => Verdict::Drop(DropReason::NoSecurityAssociation),
            },
            Ok(Some(Action::Bypass)) => Verdict::Bypass,
            Ok(Some(Action::Discard)) => Verdict::Drop(DropReason::PolicyDiscard),
            Ok(None) => self.unmatched(),
            Err(unreadable) => unreadable,
        }
    }

    /// Whether the verdict on a fragment's datagram can depend on what only the
    /// first fragment shows.
    pub(crate) fn outbound_follows_first(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> bool {
        self.outbound.follows_first(headers, record, interface)
    }

    /// As [`outbound_follows_first`](Spd::outbound_follows_first), of packets
    /// that came in without protection.
    pub(crate) fn inbound_follows_first(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> bool {
        self.defaults.clear_text_is_checked
            && self.inbound.follows_first(headers, record, interface)
    }

    /// The association that protects the flow of a packet in either
    /// direction: the packet's own, or else that of the replies.
    pub fn association_of_flow(&self, tuple: &Tuple, flow_hash: u32) -> Option<u32> {
        let protecting = |tuple: &Tuple| pick(self.protecting(tuple)?, flow_hash);
        protecting(tuple).or_else(|| {
            protecting(&Tuple {
                key: tuple.key.reversed(),
                ..*tuple
            })
        })
    }

    /// The association that all fragments of a datagram are steered by, in either
    /// direction; `None` where they are steered as other packets are.
    pub(crate) fn association_of_fragments(&self, tuple: &Tuple, flow_hash: u32) -> Option<u32> {
        let protecting = self.protecting_fragments.as_ref()?;
        let reversed = Tuple {
            key: tuple.key.reversed(),
            ..*tuple
        };
        [tuple, &reversed]
            .into_iter()
            .find_map(|tuple| match protecting.first(tuple) {
                Some(Action::Protect(associations)) => pick(associations, flow_hash),
                _ => None,
            })
    }

    /// Whether fragments of a datagram are steered by
    /// [`association_of_fragments`](Spd::association_of_fragments).
    pub(crate) fn steers_fragments(&self) -> bool {
        self.protecting_fragments.is_some()
    }

    /// The associations of the policy that opens what arrives as this packet.
    pub(crate) fn opening(&self, tuple: &Tuple) -> Option<&[u32]> {
        match self.inbound.first(tuple) {
            Some(Action::Protect(associations)) => Some(associations),
            _ => None,
        }
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
        if !self.defaults.clear_text_is_checked {
            return Verdict::Bypass;
        }
        if let Some(verdict) = self.beside_ip(headers) {
            return verdict;
        }
        match self.inbound.decide(headers, record, interface) {
            Ok(Some(Action::Protect(_))) => Verdict::Drop(DropReason::UnprotectedInbound),
            Ok(Some(Action::Bypass)) => Verdict::Bypass,
            Ok(Some(Action::Discard)) => Verdict::Drop(DropReason::PolicyDiscard),
            Ok(None) => self.unmatched(),
            Err(unreadable) => unreadable,
        }
    }

    /// Whether a packet may come out of an association: whether one of the
    /// inbound policies that name it matches (RFC 4301, section 5.2, step 4).
    /// Nothing may come out of an association that none names.
    #[inline]
    pub fn accepts(&self, association: u32, tuple: &Tuple) -> bool {
        match self.accepted.get(association as usize) {
            Some(accepted) => accepted.contains(tuple),
            None => false,
        }
    }

    /// As [`accepts`](Spd::accepts), of a fragment: [`Verdict::Bypass`] where it
    /// may come out of the association.
    pub(crate) fn accepts_fragment(
        &self,
        association: u32,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> Verdict {
        let tuple = Tuple::of_datagram(headers, record, interface);
        let is_named = |tuple: &Tuple| self.accepts(association, tuple);
        if self.asks_behind_addresses(association) {
            if headers.is_protocol_unknown() {
                return Verdict::Drop(DropReason::ProtocolHidden);
            }
            let is_later = headers.fragment == Fragment::Later;
            if is_later && tuple.lacks_ports() && !is_named(&tuple) {
                return Verdict::AsFirstFragment;
            }
        }
        match is_named(&tuple) {
            true => Verdict::Bypass,
            false => Verdict::Drop(DropReason::SelectorMismatch),
        }
    }

    /// Whether what an association may carry depends on more than addresses.
    pub(crate) fn asks_behind_addresses(&self, association: u32) -> bool {
        (self.accepted_behind_addresses)
            .binary_search(&association)
            .is_ok()
    }

    /// Prefetches the selector header of an SA.
    #[inline]
    pub(crate) fn look_ahead(&self, association: u32) {
        if let Some(accepted) = self.accepted.get(association as usize) {
            prefetch(accepted);
        }
    }

    /// Prefetches the selectors of an SA.
    #[inline]
    pub(crate) fn look_ahead_at_selectors(&self, association: u32) {
        if let Some(Accepted(AnyOf::Few(selectors))) = self.accepted.get(association as usize) {
            prefetch(&**selectors);
        }
    }

    /// The verdict on a packet to which no policy can apply.
    #[inline(always)]
    fn beside_ip(&self, headers: &Headers) -> Option<Verdict> {
        match (headers.network, headers.fault) {
            (
                Network::Ipv4 | Network::Ipv6,
                None
                | Some(Fault::PacketCut | Fault::TransportHeaderCut | Fault::BadTransportHeader),
            ) => None,
            (Network::Arp | Network::Other, None) => {
                Some(match self.defaults.allowed.contains(headers) {
                    true => Verdict::Bypass,
                    false => Verdict::Drop(DropReason::NotSeenThrough),
                })
            }
            _ => Some(Verdict::Drop(DropReason::MalformedHeaders)),
        }
    }

    fn unmatched(&self) -> Verdict {
        match self.defaults.unmatched {
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
            0 => AnyOf::Nothing,
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
            AnyOf::Nothing => false,
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
        let open_ports = selectors.iter().any(Selector::selects_ports).then(|| {
            let open: Vec<Selector> = selectors.iter().map(Selector::without_ports).collect();
            Box::new(Table::new(&open))
        });
        Ordered {
            table: Table::new(&selectors),
            actions: seen().map(|policy| policy.action.clone()).collect(),
            open_ports,
            selects_protocol: selectors.iter().any(|selector| !selector.protocol.is_any()),
        }
    }

    #[inline]
    fn first(&self, tuple: &Tuple) -> Option<&Action> {
        self.actions.get(self.table.first(tuple)?)
    }

    /// The action of the first policy that matches a packet.
    ///
    /// # Errors
    /// The verdict where ports decide and the packet does not show them.
    #[inline(always)]
    fn decide(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> Result<Option<&Action>, Verdict> {
        // A packet like that shows its protocol, and its ports where it has some.
        if headers.fragment == Fragment::Whole && headers.fault.is_none() {
            return Ok(self.first(&Tuple::from_headers(headers, record, interface)));
        }
        self.decide_partly_hidden(headers, record, interface)
    }

    #[cold]
    #[inline(never)]
    fn decide_partly_hidden(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> Result<Option<&Action>, Verdict> {
        let tuple = Tuple::of_datagram(headers, record, interface);
        let first = self.table.first(&tuple);
        self.check_ports_do_not_matter(headers, &tuple, first)?;
        Ok(first.and_then(|first| self.actions.get(first)))
    }

    /// Refuses a packet that does not show the ports, or the protocol, that
    /// decide about it.
    fn check_ports_do_not_matter(
        &self,
        headers: &Headers,
        tuple: &Tuple,
        first: Option<usize>,
    ) -> Result<(), Verdict> {
        if headers.is_protocol_unknown() && self.looks_behind_addresses() {
            return Err(Verdict::Drop(DropReason::ProtocolHidden));
        }
        if !tuple.lacks_ports() || self.is_first_with_open_ports(tuple, first) {
            return Ok(());
        }
        Err(match (headers.fragment, headers.fault) {
            (Fragment::Later, _) => Verdict::AsFirstFragment,
            (_, Some(Fault::TransportHeaderCut)) => Verdict::Drop(DropReason::PacketCut),
            _ => Verdict::Drop(DropReason::MalformedHeaders),
        })
    }

    /// Whether a fragment's verdict can depend on what only the first fragment of
    /// its datagram shows.
    fn follows_first(&self, headers: &Headers, record: &[u8], interface: u16) -> bool {
        let tuple = Tuple::from_headers(headers, record, interface);
        tuple.lacks_ports() && !self.is_first_with_open_ports(&tuple, self.table.first(&tuple))
    }

    /// Whether `first`, which decides where ports are not known, also decides
    /// whatever they are.
    fn is_first_with_open_ports(&self, tuple: &Tuple, first: Option<usize>) -> bool {
        match &self.open_ports {
            Some(open) => open.first(tuple) == first,
            None => true,
        }
    }

    /// Whether a policy names more than addresses.
    fn looks_behind_addresses(&self) -> bool {
        self.selects_protocol || self.open_ports.is_some()
    }
}

#[inline]
fn pick(associations: &[u32], flow_hash: u32) -> Option<u32> {
    let chosen = (flow_hash as usize).checked_rem(associations.len())?;
    associations.get(chosen).copied()
}
