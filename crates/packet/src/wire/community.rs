//! Community ID, version 1: an identifier of a flow that many tools compute alike.
//! <https://github.com/corelight/community-id-spec>

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

use super::flow::FlowKey;
use super::protocol::{ICMP, ICMPV6, SCTP, TCP, UDP};

impl FlowKey {
    /// The Community ID, version 1 with seed 0, as in `1:LQU9qZlK+B5F3KDmev6m5PMibrg=`: the same in
    /// both directions, and of every connection of the 5-tuple.
    ///
    /// `icmp` is type and code of an ICMP or ICMPv6 packet. `None` without these; for TCP, UDP and
    /// SCTP without ports, as in fragments; and for a part of a 5-tuple.
    pub fn community_id(&self, icmp: Option<(u8, u8)>) -> Option<String> {
        let (source_port, destination_port, is_one_way) = match self.protocol {
            TCP | UDP | SCTP if self.source_port == 0 && self.destination_port == 0 => return None,
            TCP | UDP | SCTP => (self.source_port, self.destination_port, false),
            ICMP | ICMPV6 => {
                let (kind, code) = icmp?;
                match answered_by(self.protocol, kind) {
                    Some(answer) => (kind.into(), answer.into(), false),
                    None => (kind.into(), code.into(), true),
                }
            }
            0 => return None,
            _ => (0, 0, false),
        };
        let ends = [
            (self.source, source_port),
            (self.destination, destination_port),
        ];
        let [first, second] = match ends[1] < ends[0] && !is_one_way {
            true => [ends[1], ends[0]],
            false => ends,
        };
        // Seed, addresses, protocol, a byte of padding, ports.
        let mut hash = Sha1::new_with_prefix([0, 0]);
        for (address, _) in [first, second] {
            let address = address.to_be_bytes();
            hash.update(if self.ip_version == 4 {
                &address[12..]
            } else {
                &address[..]
            });
        }
        hash.update([self.protocol, 0]);
        if matches!(self.protocol, TCP | UDP | SCTP | ICMP | ICMPV6) {
            hash.update(first.1.to_be_bytes());
            hash.update(second.1.to_be_bytes());
        }
        Some(format!("1:{}", STANDARD.encode(hash.finalize())))
    }
}

/// The type of message that answers another, or is answered by it.
fn answered_by(protocol: u8, kind: u8) -> Option<u8> {
    const ICMP_PAIRS: &[(u8, u8)] = &[(8, 0), (13, 14), (15, 16), (10, 9), (17, 18)];
    const ICMPV6_PAIRS: &[(u8, u8)] = &[
        (128, 129),
        (133, 134),
        (135, 136),
        (130, 131),
        (139, 140),
        (144, 145),
    ];
    let pairs = match protocol {
        ICMP => ICMP_PAIRS,
        _ => ICMPV6_PAIRS,
    };
    pairs.iter().find_map(|(request, answer)| match kind {
        kind if kind == *request => Some(*answer),
        kind if kind == *answer => Some(*request),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn flow(protocol: u8, source: (&str, u16), destination: (&str, u16)) -> FlowKey {
        let number = |address: &str| match address.parse().expect("an address") {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 4),
            IpAddr::V6(address) => (address.to_bits(), 6),
        };
        let (source_number, ip_version) = number(source.0);
        FlowKey {
            source: source_number,
            destination: number(destination.0).0,
            source_port: source.1,
            destination_port: destination.1,
            protocol,
            ip_version,
        }
    }

    /// From tshark 4.0 (`--enable-protocol communityid`); the first is an example of the
    /// specification's reference implementation.
    #[test]
    fn identifiers_are_those_of_other_tools() {
        let (a, b) = ("192.0.2.9", "192.0.2.3");
        let (c, d) = ("2001:db8::2", "2001:db8::1");
        let cases = [
            (
                flow(TCP, ("128.232.110.120", 34855), ("66.35.250.204", 80)),
                None,
                "1:LQU9qZlK+B5F3KDmev6m5PMibrg=",
            ),
            (
                flow(TCP, ("10.0.0.1", 10), ("10.0.0.2", 20)),
                None,
                "1:9j2Dzwrw7T9E+IZi4b4IVT66HBI=",
            ),
            (
                flow(UDP, (c, 5353), (d, 53)),
                None,
                "1:tajKKCYPX5Fr60+44RSdKtpFb4s=",
            ),
            (
                flow(SCTP, (a, 9), (b, 3)),
                None,
                "1:So7tEJcGu05o4JO+8GgN9aeBUDo=",
            ),
            (
                flow(ICMP, (a, 0), (b, 0)),
                Some((8, 0)),
                "1:DiIRBjWbciuSWtrjc68q+uUJPmE=",
            ),
            (
                flow(ICMP, (b, 0), (a, 0)),
                Some((0, 0)),
                "1:DiIRBjWbciuSWtrjc68q+uUJPmE=",
            ),
            (
                flow(ICMP, (a, 0), (b, 0)),
                Some((3, 1)),
                "1:mDdLtS0nvqKceQPSjURqaxIx1/A=",
            ),
            (
                flow(ICMP, (b, 0), (a, 0)),
                Some((3, 1)),
                "1:N5MH8BQlsWDT8o1yi+chNOPEpCM=",
            ),
            (
                flow(ICMPV6, (c, 0), (d, 0)),
                Some((128, 0)),
                "1:YDcnf7YthUKAbDNo6Cs3rX4jq4w=",
            ),
            (
                flow(ICMPV6, (c, 0), (d, 0)),
                Some((135, 0)),
                "1:piFQJmm/6+NlvVh+iLYDZMGiCm8=",
            ),
            (
                flow(47, (a, 0), (b, 0)),
                None,
                "1:2iSjIG+d3iqXyUL/mwYeLGuG8WA=",
            ),
        ];
        for (flow, icmp, expected) in cases {
            assert_eq!(flow.community_id(icmp).as_deref(), Some(expected), "{flow}");
            if icmp.is_none() {
                let reversed = flow.reversed().community_id(None);
                assert_eq!(reversed.as_deref(), Some(expected), "{flow} reversed");
            }
        }
    }

    #[test]
    fn packets_without_ports_or_types_have_none() {
        for protocol in [0, TCP, UDP, SCTP, ICMP, ICMPV6] {
            let flow = flow(protocol, ("10.0.0.1", 0), ("10.0.0.2", 0));
            assert_eq!(flow.community_id(None), None, "protocol {protocol}");
        }
    }
}
