//! What a line says of the rule that matched.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Serialize;
use weir_packet::wire::FlowKey;

use super::line::{has_ports, timestamp};
use crate::application::AppProtocol;
use crate::direction::Direction;
use crate::flow::FlowRecord;
use crate::inspector::Alert;
use crate::rule::{Action, Rule, Target};

/// Writes what alerts say beside the line's own members.
#[derive(Debug, Default)]
pub(crate) struct AlertText {
    /// The `alert` object of each rule, made when it is first raised.
    objects: Vec<Option<String>>,
    is_inline: bool,
}

impl AlertText {
    /// For alerts of an inspector that is inline, or not.
    pub(crate) fn new(is_inline: bool) -> AlertText {
        AlertText {
            objects: Vec::new(),
            is_inline,
        }
    }

    /// Forgets the rules: others take their places.
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
    }

    /// The members for an alert.
    pub(crate) fn members(&mut self, rule: &Rule, alert: &Alert) -> Box<str> {
        let place = alert.rule as usize;
        if self.objects.len() <= place {
            self.objects.resize(place + 1, None);
        }
        let is_inline = self.is_inline;
        let object = self.objects[place].get_or_insert_with(|| json(&Object::new(rule, is_inline)));
        let mut text = format!("\"alert\":{object}");
        if let Some(target) = rule.description.target {
            text.pop();
            text.push(',');
            text.push_str(&json(&Ends::new(&alert.flow, target))[1..]);
        }
        if let Some(record) = &alert.flow_record {
            text.push(',');
            text.push_str(&json(&OfFlow::new(&alert.flow, record))[1..]);
            text.pop();
        }
        if let Some(transaction) = &alert.transaction {
            text.push(',');
            text.push_str(&json(&**transaction)[1..]);
            text.pop();
        }
        text.into()
    }
}

/// What a line says of the flow so far.
#[derive(Serialize)]
struct OfFlow {
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

impl OfFlow {
    fn new(packet: &FlowKey, record: &FlowRecord) -> OfFlow {
        let flow = match record.direction {
            Direction::ToServer => *packet,
            Direction::ToClient => packet.reversed(),
        };
        let has_ports = has_ports(&flow);
        OfFlow {
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

/// A value in JSON. Maps with names for keys cannot fail to be written.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// What a line says of the rule.
#[derive(Serialize)]
struct Object<'a> {
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
}

impl<'a> Object<'a> {
    fn new(rule: &'a Rule, is_inline: bool) -> Object<'a> {
        let description = &rule.description;
        let mut metadata: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (key, value) in &description.metadata {
            if !value.is_empty() {
                metadata.entry(key).or_default().push(value);
            }
        }
        Object {
            action: match rule.action {
                Action::Drop | Action::Reject(_) if is_inline => "blocked",
                _ => "allowed",
            },
            gid: description.gid,
            signature_id: description.sid,
            rev: description.rev,
            signature: &description.message,
            category: description.category,
            severity: description.priority,
            metadata,
        }
    }
}

/// Who attacks and who is attacked, of a rule that says so.
#[derive(Serialize)]
struct Ends {
    source: End,
    target: End,
}

#[derive(Serialize)]
struct End {
    ip: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
}

impl Ends {
    fn new(flow: &FlowKey, target: Target) -> Ends {
        let attacked = match target {
            Target::Source => *flow,
            Target::Destination => flow.reversed(),
        };
        let end = |flow: FlowKey| End {
            ip: flow.source_address(),
            port: has_ports(&flow).then_some(flow.source_port),
        };
        Ends {
            source: end(attacked.reversed()),
            target: end(attacked),
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
        let ends = serde_json::to_string(&Ends::new(&flow, Target::Destination)).expect("JSON");
        assert_eq!(
            ends,
            r#"{"source":{"ip":"10.0.0.1","port":3},"target":{"ip":"10.0.0.2","port":80}}"#
        );
        let ends = Ends::new(&flow, Target::Source);
        assert_eq!((ends.source.port, ends.target.port), (Some(80), Some(3)));
    }
}
