//! What a line says of an alert.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use weir_packet::wire::FlowKey;

use super::line::{has_ports, timestamp};
use crate::application::AppProtocol;
use crate::direction::Direction;
use crate::flow::FlowRecord;
use crate::inspector::Alert;
use crate::message::Transaction;
use crate::rule::{Action, Rule, Target};

/// The members of an alert beside those of its packet.
#[derive(Serialize)]
pub(crate) struct AlertMembers<'a> {
    alert: AlertObject<'a>,
    #[serde(flatten)]
    flow: Option<FlowMembers>,
    #[serde(flatten)]
    transaction: Option<&'a Transaction>,
}

impl<'a> AlertMembers<'a> {
    /// Those of an alert of a rule, in an inspector that is inline or not.
    pub(crate) fn new(rule: &'a Rule, alert: &'a Alert, is_inline: bool) -> AlertMembers<'a> {
        let record = alert.flow_record.as_ref();
        AlertMembers {
            alert: AlertObject::new(rule, &alert.flow, is_inline),
            flow: record.map(|record| FlowMembers::new(&alert.flow, record)),
            transaction: alert.transaction.as_deref(),
        }
    }
}

/// The rule that matched.
#[derive(Serialize)]
struct AlertObject<'a> {
    /// Whether the packet goes on.
    action: &'static str,
    gid: u32,
    signature_id: u32,
    rev: u32,
    signature: &'a str,
    category: &'a str,
    severity: u8,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<&'a str, Vec<&'a str>>,
    /// The attacker, where the rule says who that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<End>,
    /// The attacked.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<End>,
}

#[derive(Serialize)]
struct End {
    ip: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
}

impl<'a> AlertObject<'a> {
    fn new(rule: &'a Rule, flow: &FlowKey, is_inline: bool) -> AlertObject<'a> {
        let description = &rule.description;
        let mut metadata: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (key, value) in &description.metadata {
            if !value.is_empty() {
                metadata.entry(key).or_default().push(value);
            }
        }
        let (source, target) = description.target.map(|target| ends(flow, target)).unzip();
        AlertObject {
            action: match rule.action {
                Action::Drop | Action::Reject(_) if is_inline => "blocked",
                _ => "allowed",
            },
            gid: description.gid,
            signature_id: description.sid,
            rev: description.rev,
            signature: &description.message,
            category: &description.category,
            severity: description.priority,
            metadata,
            source,
            target,
        }
    }
}

/// The attacker and the attacked.
fn ends(flow: &FlowKey, target: Target) -> (End, End) {
    let attacked = match target {
        Target::Source => *flow,
        Target::Destination => flow.reversed(),
    };
    let end = |flow: FlowKey| End {
        ip: flow.source_address(),
        port: has_ports(&flow).then_some(flow.source_port),
    };
    (end(attacked.reversed()), end(attacked))
}

/// The flow so far.
#[derive(Serialize)]
struct FlowMembers {
    #[serde(skip_serializing_if = "Option::is_none")]
    app_proto: Option<&'static str>,
    direction: &'static str,
    flow: FlowObject,
}

/// The client of a flow is its source.
#[derive(Serialize)]
struct FlowObject {
    pkts_toserver: u64,
    pkts_toclient: u64,
    bytes_toserver: u64,
    bytes_toclient: u64,
    start: String,
    src_ip: IpAddr,
    dest_ip: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_port: Option<u16>,
}

impl FlowMembers {
    fn new(packet: &FlowKey, record: &FlowRecord) -> FlowMembers {
        let flow = match record.direction {
            Direction::ToServer => *packet,
            Direction::ToClient => packet.reversed(),
        };
        let has_ports = has_ports(&flow);
        FlowMembers {
            app_proto: record.application.map(AppProtocol::name),
            direction: record.direction.name(),
            flow: FlowObject {
                pkts_toserver: record.packets_to_server,
                pkts_toclient: record.packets_to_client,
                bytes_toserver: record.bytes_to_server,
                bytes_toclient: record.bytes_to_client,
                start: timestamp(record.start_ns),
                src_ip: flow.source_address(),
                dest_ip: flow.destination_address(),
                src_port: has_ports.then_some(flow.source_port),
                dest_port: has_ports.then_some(flow.destination_port),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_packet::wire::protocol::TCP;

    use super::*;

    #[test]
    fn targets_are_named_with_their_ports() {
        let flow = FlowKey {
            source: 0x0a00_0001,
            destination: 0x0a00_0002,
            source_port: 3,
            destination_port: 80,
            protocol: TCP,
            ip_version: 4,
        };
        let destination = ends(&flow, Target::Destination);
        assert_eq!(
            serde_json::to_string(&destination).expect("JSON"),
            r#"[{"ip":"10.0.0.1","port":3},{"ip":"10.0.0.2","port":80}]"#
        );
        let (source, target) = ends(&flow, Target::Source);
        assert_eq!((source.port, target.port), (Some(80), Some(3)));
    }
}
