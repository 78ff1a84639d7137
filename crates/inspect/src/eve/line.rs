//! What every line says of its packet, or of the key that it is about.

use std::net::IpAddr;

use serde::Serialize;
use weir_packet::file::Interface;
use weir_packet::time::Timestamp;
use weir_packet::wire::protocol::{AH, ESP, GRE, ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_stream::Event;

/// One line, but for what the stage adds.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    timestamp: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    community_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_iface: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pcap_cnt: Option<u64>,
    event_type: &'static str,
    /// Of the rules, the policy or the association, from their first replacement on.
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vlan: Option<[u16; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_ip: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proto: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp_code: Option<u8>,
}

impl<'a> Line<'a> {
    pub(super) fn new(event: &Event, interfaces: &'a [Interface]) -> Line<'a> {
        let (flow, known) = (&event.flow, event.key);
        let is_whole = known == KeyKind::FiveTuple;
        let has_ports = is_whole && has_ports(flow);
        let interface = event.interface.map(usize::from);
        let interface = interface.and_then(|interface| interfaces.get(interface));
        // A prefix is nobody's address.
        let has_source = matches!(known, KeyKind::Source | KeyKind::Pair);
        let has_destination = matches!(known, KeyKind::Destination | KeyKind::Pair);
        Line {
            timestamp: timestamp(event.timestamp_ns),
            flow_id: event.flow_id,
            community_id: flow.community_id(event.icmp),
            in_iface: interface.and_then(|interface| interface.name.as_deref()),
            pcap_cnt: event.arrival.map(|number| number + 1),
            event_type: event.kind.word().name,
            generation: event.generation.filter(|generation| *generation > 0),
            vlan: event.vlan_tci.map(|tci| [tci & 0x0fff]),
            src_ip: (is_whole || has_source).then(|| flow.source_address()),
            src_port: has_ports.then_some(flow.source_port),
            dest_ip: (is_whole || has_destination).then(|| flow.destination_address()),
            dest_port: has_ports.then_some(flow.destination_port),
            proto: is_whole.then(|| protocol_name(flow.protocol)),
            icmp_type: event.icmp.map(|(kind, _)| kind),
            icmp_code: event.icmp.map(|(_, code)| code),
        }
    }
}

pub(super) fn has_ports(flow: &FlowKey) -> bool {
    matches!(flow.protocol, TCP | UDP | SCTP) && (flow.source_port, flow.destination_port) != (0, 0)
}

/// The registered name as Suricata writes it; a number without a name in
/// three digits.
fn protocol_name(protocol: u8) -> String {
    let name = match protocol {
        ICMP => "ICMP",
        TCP => "TCP",
        UDP => "UDP",
        GRE => "GRE",
        ESP => "ESP",
        AH => "AH",
        ICMPV6 => "IPv6-ICMP",
        SCTP => "SCTP",
        number => return format!("{number:03}"),
    };
    name.to_owned()
}

/// Time as in `2026-03-01T12:34:56.789012+0000`, always in UTC.
pub(super) fn timestamp(since_1970_ns: u64) -> String {
    let time = Timestamp(since_1970_ns).calendar();
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}+0000",
        time.year,
        time.month,
        time.day,
        time.hour,
        time.minute,
        time.second,
        time.nanosecond / 1_000
    )
}

#[cfg(test)]
mod tests {
    use weir_stream::{Vocabulary, Word};

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        let cases = [
            (0, "1970-01-01T00:00:00.000000+0000"),
            (951_782_400_000_001_999, "2000-02-29T00:00:00.000001+0000"),
            (1_491_600_277_251_547_000, "2017-04-07T21:24:37.251547+0000"),
            (4_107_542_399_999_999_999, "2100-02-28T23:59:59.999999+0000"),
            (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000+0000"),
            (u64::MAX, "2554-07-21T23:34:33.709551+0000"),
        ];
        for (ns, expected) in cases {
            assert_eq!(timestamp(ns), expected);
        }
    }

    /// Only what the key keeps is said of a flow: a prefix is no address, and a
    /// flow has a Community ID where it is whole.
    #[test]
    fn lines_of_alarms_say_what_the_key_keeps() {
        let flow = FlowKey {
            source: 1,
            destination: 2,
            source_port: 3,
            destination_port: 4,
            protocol: TCP,
            ip_version: 4,
        };
        const ALARM: Word = Word::new("tests", "alarm", "A key changed.");
        let kind = (Vocabulary::default().event_kind(&ALARM)).expect("the first");
        let said = |key: &str| -> String {
            let key: KeyKind = key.parse().expect("a kind of key");
            let event = Event {
                arrival: None,
                timestamp_ns: 0,
                flow: flow.project(key),
                flow_id: None,
                icmp: None,
                vlan_tci: None,
                interface: None,
                key,
                kind,
                generation: None,
                members: None,
            };
            let line = serde_json::to_value(Line::new(&event, &[])).expect("JSON");
            assert_eq!(line["event_type"], "alarm");
            let members = line.as_object().expect("an object").keys().cloned();
            let members = members.filter(|name| name != "timestamp" && name != "event_type");
            members.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said("source"), "src_ip");
        assert_eq!(said("destination"), "dest_ip");
        assert_eq!(said("pair"), "dest_ip src_ip");
        assert_eq!(said("source/24"), "");
        assert_eq!(
            said("5-tuple"),
            "community_id dest_ip dest_port proto src_ip src_port"
        );
    }

    #[test]
    fn protocols_have_the_names_of_the_log() {
        assert_eq!(protocol_name(58), "IPv6-ICMP");
        assert_eq!(protocol_name(2), "002");
    }
}
