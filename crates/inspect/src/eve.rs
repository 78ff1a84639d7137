//! Alerts as lines of JSON in the layout of Suricata's EVE log.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use weir_packet::file::Interface;
use weir_packet::time::Timestamp;
use weir_packet::wire::FlowKey;
use weir_packet::wire::protocol::{AH, ESP, GRE, ICMP, ICMPV6, SCTP, TCP, UDP};
use weir_stream::{Batch, Event, EventKind, Stage, StageError};

use crate::rule::{Rule, Target};
use crate::rule_set::RuleSet;

const NAME: &str = "eve";

/// Lines are on disk after this time at the latest, as long as batches come.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A sink that writes every alert of the batches that pass as a line of JSON.
///
/// Lines are written in place as they come, and flushed every second and at
/// the end. A write that fails ends the run.
pub struct EveWriter {
    rules: Arc<RuleSet>,
    output: BufWriter<Box<dyn Write + Send>>,
    /// Where it goes, for messages.
    place: String,
    reopened: Option<(PathBuf, Arc<AtomicBool>)>,
    /// The `alert` object of each rule, made when it is first raised.
    alert_objects: Vec<Option<Box<[u8]>>>,
    line: Vec<u8>,
    flushed: Instant,
}

impl EveWriter {
    /// A writer into an opened file or another stream.
    pub fn new(rules: Arc<RuleSet>, output: impl Write + Send + 'static) -> EveWriter {
        EveWriter {
            alert_objects: vec![None; rules.rules().len()],
            rules,
            output: BufWriter::with_capacity(64 << 10, Box::new(output)),
            place: "alerts".to_owned(),
            reopened: None,
            line: Vec::new(),
            flushed: Instant::now(),
        }
    }

    /// A writer that appends to a file. Whenever `reopen` is set, as by a
    /// handler of SIGHUP, it closes the file and opens the path again, so that
    /// logs can be rotated by renaming.
    ///
    /// # Errors
    /// The file cannot be opened for appending.
    pub fn append_to(
        rules: Arc<RuleSet>,
        path: &Path,
        reopen: Arc<AtomicBool>,
    ) -> io::Result<EveWriter> {
        let mut writer = EveWriter::new(rules, open(path)?);
        writer.place = path.display().to_string();
        writer.reopened = Some((path.to_owned(), reopen));
        Ok(writer)
    }

    /// Writes one more document as a line, as the summary of a run, and
    /// flushes.
    ///
    /// # Errors
    /// The document cannot be written.
    pub fn write_document(&mut self, document: &impl Serialize) -> Result<(), StageError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, document)
            .map_err(io::Error::from)
            .and_then(|()| {
                self.line.push(b'\n');
                self.output.write_all(&self.line)
            })
            .and_then(|()| self.output.flush())
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> StageError {
        StageError::new(&self.place, error)
    }

    fn write_alert(
        &mut self,
        event: &Event,
        rule: u32,
        interfaces: &[Interface],
    ) -> io::Result<()> {
        let Some(known) = self.rules.rules().get(rule as usize) else {
            return Ok(());
        };
        let object = match &mut self.alert_objects[rule as usize] {
            Some(object) => object,
            empty => empty.insert(alert_object(known)?),
        };
        self.line.clear();
        serde_json::to_writer(&mut self.line, &EveEvent::new(event, interfaces))?;
        // The object of the rule is the last field of the line's.
        self.line.pop();
        self.line.extend_from_slice(b",\"alert\":");
        self.line.extend_from_slice(object);
        if let Some(target) = known.description.target {
            self.line.pop();
            self.line.push(b',');
            let ends = serde_json::to_vec(&Ends::new(&event.flow, target))?;
            self.line.extend_from_slice(&ends[1..]);
        }
        self.line.extend_from_slice(b"}\n");
        self.output.write_all(&self.line)
    }

    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        self.reopen_where_asked()?;
        for event in batch.events() {
            if let EventKind::Alert { rule } = event.kind {
                self.write_alert(event, rule, batch.interfaces())?;
            }
        }
        if self.flushed.elapsed() >= FLUSH_EVERY {
            self.output.flush()?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    fn reopen_where_asked(&mut self) -> io::Result<()> {
        if let Some((path, reopen)) = &self.reopened
            && reopen.swap(false, Ordering::Relaxed)
        {
            self.output.flush()?;
            *self.output.get_mut() = Box::new(open(path)?);
        }
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl Stage for EveWriter {
    fn name(&self) -> &str {
        NAME
    }

    fn process(&mut self, batch: &mut Batch) -> Result<(), StageError> {
        self.write(batch).map_err(|error| self.failed(error))
    }

    fn finish(&mut self) -> Result<(), StageError> {
        self.output.flush().map_err(|error| self.failed(error))
    }
}

/// One line, but for the rule's object.
#[derive(Serialize)]
struct EveEvent<'a> {
    timestamp: String,
    flow_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_iface: Option<&'a str>,
    pcap_cnt: u64,
    event_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    vlan: Option<[u16; 1]>,
    src_ip: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_port: Option<u16>,
    dest_ip: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_port: Option<u16>,
    proto: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp_code: Option<u8>,
}

impl<'a> EveEvent<'a> {
    fn new(event: &Event, interfaces: &'a [Interface]) -> EveEvent<'a> {
        let flow = &event.flow;
        let has_ports = has_ports(flow);
        let interface = interfaces.get(usize::from(event.interface));
        EveEvent {
            timestamp: timestamp(event.timestamp_ns),
            flow_id: flow_id(flow),
            in_iface: interface.and_then(|interface| interface.name.as_deref()),
            pcap_cnt: event.arrival + 1,
            event_type: "alert",
            vlan: event.vlan_tci.map(|tci| [tci & 0x0fff]),
            src_ip: flow.source_address(),
            src_port: has_ports.then_some(flow.source_port),
            dest_ip: flow.destination_address(),
            dest_port: has_ports.then_some(flow.destination_port),
            proto: protocol_name(flow.protocol),
            icmp_type: event.icmp.map(|(kind, _)| kind),
            icmp_code: event.icmp.map(|(_, code)| code),
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

fn has_ports(flow: &FlowKey) -> bool {
    matches!(flow.protocol, TCP | UDP | SCTP) && (flow.source_port, flow.destination_port) != (0, 0)
}

/// What a line says of the rule.
#[derive(Serialize)]
struct AlertObject<'a> {
    /// Nothing stands in the way of packets.
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

fn alert_object(rule: &Rule) -> io::Result<Box<[u8]>> {
    let description = &rule.description;
    let mut metadata: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (key, value) in &description.metadata {
        if !value.is_empty() {
            metadata.entry(key).or_default().push(value);
        }
    }
    let object = AlertObject {
        action: "allowed",
        gid: description.gid,
        signature_id: description.sid,
        rev: description.rev,
        signature: &description.message,
        category: description.category,
        severity: description.priority,
        metadata,
    };
    Ok(serde_json::to_vec(&object)?.into_boxed_slice())
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

/// A number for a flow that is the same in both directions and in every run.
/// It has 53 bits, which every reader of JSON keeps.
fn flow_id(flow: &FlowKey) -> u64 {
    let (key, _) = flow.canonical();
    let hash = key
        .words()
        .iter()
        .fold(0x9e37_79b9_7f4a_7c15_u64, |hash, word| {
            let product = u128::from(hash ^ u64::from(*word)) * 0xd6e8_feb8_6659_fd93;
            (product >> 64) as u64 ^ product as u64
        });
    hash >> 11
}

/// Time as in `2026-03-01T12:34:56.789012+0000`, always in UTC.
fn timestamp(since_1970_ns: u64) -> String {
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

    #[test]
    fn a_flow_has_one_number_in_both_directions() {
        let flow = FlowKey {
            source: 1,
            destination: 2,
            source_port: 3,
            destination_port: 4,
            protocol: TCP,
            ip_version: 4,
        };
        assert_eq!(flow_id(&flow), flow_id(&flow.reversed()));
        let other = FlowKey {
            source_port: 5,
            ..flow
        };
        assert_ne!(flow_id(&flow), flow_id(&other));
        assert!(flow_id(&flow) < 1 << 53);
    }

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

    #[test]
    fn protocols_have_the_names_of_the_log() {
        assert_eq!(protocol_name(58), "IPv6-ICMP");
        assert_eq!(protocol_name(2), "002");
    }
}
