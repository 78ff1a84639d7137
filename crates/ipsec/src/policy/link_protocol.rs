//! Protocols beside IP, by the names and numbers that a configuration allows
//! them by.

use weir_packet::wire::protocol::{
    ETHER_ARP, ETHER_IPV4, ETHER_IPV6, ETHER_LONGEST_LLC, ETHER_LOWEST, ETHER_MPLS,
    ETHER_MPLS_UPSTREAM, ETHER_PPPOE_SESSION, ETHER_QINQ, ETHER_QINQ_OLD, ETHER_VLAN,
};
use weir_packet::wire::{Headers, Network};

/// A set of protocols that an Ethernet header can announce.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkProtocols {
    /// EtherTypes, in order.
    ether_types: Vec<u16>,
    /// Frames with LLC (IEEE 802.2), which have a length in place of an EtherType.
    llc: bool,
}

/// A protocol that cannot be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkProtocolError {
    /// No such name.
    #[error("not a known protocol; write its EtherType, as in \"0x88cc\"")]
    Unknown,
    /// A number that is no EtherType.
    #[error("not an EtherType (0x0600 to 0xffff); frames without one are \"llc\"")]
    NoEtherType,
    /// IP, or the tags in front of it.
    #[error(
        "policies decide about IP, also behind VLAN tags; write a policy with action = \"bypass\""
    )]
    Ip,
}

/// The name of frames with a length in place of an EtherType.
const LLC: &str = "llc";

/// Names of EtherTypes.
const NAMES: [(&str, u16); 14] = [
    ("arp", ETHER_ARP),
    ("cfm", 0x8902),
    ("eapol", 0x888e),
    ("lacp", 0x8809),
    ("lldp", 0x88cc),
    ("loopback", 0x9000),
    ("macsec", 0x88e5),
    ("mpls", ETHER_MPLS),
    ("mpls-upstream", ETHER_MPLS_UPSTREAM),
    ("pppoe", ETHER_PPPOE_SESSION),
    ("pppoe-discovery", 0x8863),
    ("ptp", 0x88f7),
    ("rarp", 0x8035),
    ("wake-on-lan", 0x0842),
];

impl LinkProtocols {
    /// The names that [`LinkProtocols::add`] takes.
    #[cfg(test)]
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name).chain([LLC])
    }

    /// Adds a protocol by its name, or by its EtherType as in `0x88cc`.
    ///
    /// # Errors
    /// It cannot be allowed.
    pub fn add(&mut self, word: &str) -> Result<(), LinkProtocolError> {
        if word == LLC {
            self.llc = true;
            return Ok(());
        }
        if let Some((_, ether_type)) = NAMES.iter().find(|(name, _)| *name == word) {
            return self.add_ether_type(u64::from(*ether_type));
        }
        let digits = word.strip_prefix("0x").ok_or(LinkProtocolError::Unknown)?;
        let number = u64::from_str_radix(digits, 16).map_err(|_| LinkProtocolError::Unknown)?;
        self.add_ether_type(number)
    }

    /// Adds a protocol by its EtherType.
    ///
    /// # Errors
    /// It cannot be allowed.
    pub fn add_ether_type(&mut self, number: u64) -> Result<(), LinkProtocolError> {
        let ether_type = u16::try_from(number)
            .ok()
            .filter(|number| *number >= ETHER_LOWEST)
            .ok_or(LinkProtocolError::NoEtherType)?;
        if matches!(
            ether_type,
            ETHER_IPV4 | ETHER_IPV6 | ETHER_VLAN | ETHER_QINQ | ETHER_QINQ_OLD
        ) {
            return Err(LinkProtocolError::Ip);
        }
        if let Err(place) = self.ether_types.binary_search(&ether_type) {
            self.ether_types.insert(place, ether_type);
        }
        Ok(())
    }

    /// Whether the protocol of a packet that carries no IP is in the set.
    pub fn contains(&self, headers: &Headers) -> bool {
        match (headers.network, headers.ether_type) {
            (Network::Arp, _) => self.has(ETHER_ARP),
            (_, 1..=ETHER_LONGEST_LLC) => self.llc,
            (_, ether_type) => self.has(ether_type),
        }
    }

    fn has(&self, ether_type: u16) -> bool {
        self.ether_types.binary_search(&ether_type).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use weir_packet::wire::LinkType;

    use super::*;

    fn set(words: &[&str]) -> Result<LinkProtocols, LinkProtocolError> {
        let mut set = LinkProtocols::default();
        words.iter().try_for_each(|word| set.add(word))?;
        Ok(set)
    }

    fn headers(ether_type: u16) -> Headers {
        let mut frame = vec![0; 12];
        frame.extend(ether_type.to_be_bytes());
        frame.extend([0; 46]);
        Headers::parse(LinkType::Ethernet, &frame)
    }

    #[test]
    fn allowed_by_name_or_number() {
        let some = set(&["lldp", "arp", "0x88f7", "arp"]).expect("protocols");
        for (ether_type, is_in) in [
            (0x88cc, true),
            (0x0806, true),
            (0x88f7, true),
            (0x8847, false),
            (38, false),
            (1501, false),
            (0, false),
        ] {
            assert_eq!(
                some.contains(&headers(ether_type)),
                is_in,
                "{ether_type:#x}"
            );
        }
        let llc = set(&["llc"]).expect("a protocol");
        assert!(llc.contains(&headers(38)) && llc.contains(&headers(1500)));
        assert!(!llc.contains(&headers(1501)) && !llc.contains(&headers(0)));
        for (name, _) in NAMES {
            assert!(set(&[name]).is_ok(), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_allowed() {
        for (word, error) in [
            ("ip", LinkProtocolError::Unknown),
            ("2054", LinkProtocolError::Unknown),
            ("0x", LinkProtocolError::Unknown),
            ("0x05ff", LinkProtocolError::NoEtherType),
            ("0x10000", LinkProtocolError::NoEtherType),
            ("0x0800", LinkProtocolError::Ip),
            ("0x86dd", LinkProtocolError::Ip),
            ("0x8100", LinkProtocolError::Ip),
        ] {
            assert_eq!(set(&[word]), Err(error), "{word}");
        }
    }
}
