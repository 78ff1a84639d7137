//! The filter stage: a first-match firewall over selector tables.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use weir_packet::file::Interface;
#[cfg(test)]
use weir_reference::shapes;
use weir_select::{AddressSet, PortSet, ProtocolSet, Selector, Table, Tuple};
use weir_stream::{
    Batch, Context, DropCode, Stage, StageError, Steering, Vocabulary, VocabularyError, Word,
    WorkBit,
};

const NAME: &str = "filter";

weir_stream::drop_reasons! {
    /// Why the filter drops packets.
    pub enum DropReason {
        /// A filter rule or the filter's default policy denied it.
        FilterDenied = "filter_denied",
    }
}

/// The work of filtering a record.
const FILTER: Word = Word::new(env!("CARGO_PKG_NAME"), NAME, "It is to be filtered.");

/// The numbers that these words have in a pipeline.
#[derive(Clone, Copy)]
struct Words {
    denied: DropCode,
    filter: WorkBit,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Action {
    Allow,
    Deny,
}

/// The `[filter]` table of a configuration.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FilterConfig {
    /// What happens to packets that no rule matches.
    pub default: Action,
    /// Rules in order; the first match decides.
    #[serde(default, rename = "rule")]
    pub rules: Vec<FilterRule>,
}

/// One rule; what it leaves out matches everything.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FilterRule {
    /// Name in reports. Default: its number.
    pub name: Option<String>,
    /// What happens to packets that match.
    pub action: Action,
    /// Source addresses: addresses, prefixes or ranges. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "shapes::addresses"))]
    pub source: AddressSet,
    /// Destination addresses. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "shapes::addresses"))]
    pub destination: AddressSet,
    /// Names or numbers of protocols. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "shapes::protocols"))]
    pub protocol: ProtocolSet,
    /// Source ports or ranges. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "shapes::ports"))]
    pub source_port: PortSet,
    /// Destination ports or ranges. Default: any.
    #[serde(default)]
    #[cfg_attr(test, schemars(schema_with = "shapes::ports"))]
    pub destination_port: PortSet,
    /// Name, in the capture, of the interface that packets came in by. Default: any.
    pub interface: Option<String>,
}

/// How often a rule decided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    /// Its name.
    pub rule: String,
    /// Packets that it decided about.
    pub packets: u64,
    /// Their captured bytes.
    pub bytes: u64,
}

/// The filter that stages follow while packets run.
///
/// Each stage takes a new filter between two batches, so no packet waits for it and none is judged
/// by half of each.
pub struct LiveFilter {
    current: Mutex<Arc<FilterConfig>>,
    /// Goes up with every replacement, so that a stage need not take the lock to see that there
    /// was none.
    generation: AtomicU64,
}

impl LiveFilter {
    /// The filter to begin with.
    pub fn new(config: FilterConfig) -> Arc<LiveFilter> {
        Arc::new(LiveFilter {
            current: Mutex::new(Arc::new(config)),
            generation: AtomicU64::new(0),
        })
    }

    /// Replaces the active filter.
    pub fn replace(&self, config: FilterConfig) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(config);
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn current(&self) -> Arc<FilterConfig> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current)
    }
}

/// Allows or denies records; the first rule that matches decides.
pub struct FilterStage {
    words: Option<Words>,
    live: Arc<LiveFilter>,
    generation: u64,
    config: Arc<FilterConfig>,
    interfaces: Arc<[Interface]>,
    table: Table,
    /// One per rule, then one for the default.
    counts: Vec<RuleCount>,
    /// Those of rules that are no more.
    removed: RuleCount,
}

impl FilterStage {
    /// A stage with its own counts.
    pub fn following(live: &Arc<LiveFilter>) -> FilterStage {
        let generation = live.generation.load(Ordering::Acquire);
        let config = live.current();
        let mut stage = FilterStage {
            words: None,
            live: Arc::clone(live),
            generation,
            counts: zero_counts(&config),
            config,
            interfaces: Arc::new([]),
            table: Table::new(&[]),
            removed: RuleCount {
                rule: REMOVED.to_owned(),
                ..RuleCount::default()
            },
        };
        stage.build_table();
        stage
    }

    /// How often each rule decided; then the default; then rules that were replaced, where
    /// there are some, as one.
    pub fn counts(&self) -> impl Iterator<Item = &RuleCount> {
        let removed = Some(&self.removed).filter(|removed| removed.packets > 0);
        self.counts.iter().chain(removed)
    }

    /// Takes the active filter.
    fn adopt(&mut self) {
        self.generation = self.live.generation.load(Ordering::Acquire);
        self.config = self.live.current();
        let mut before: BTreeMap<String, RuleCount> = BTreeMap::new();
        for count in self.counts.drain(..) {
            before.insert(count.rule.clone(), count);
        }
        self.counts = zero_counts(&self.config);
        for count in &mut self.counts {
            if let Some(before) = before.remove(&count.rule) {
                *count = before;
            }
        }
        for count in before.into_values() {
            self.removed.packets += count.packets;
            self.removed.bytes += count.bytes;
        }
        self.build_table();
    }

    fn build_table(&mut self) {
        let selectors: Vec<Selector> = self
            .config
            .rules
            .iter()
            .map(|rule| Selector {
                source: rule.source.clone(),
                destination: rule.destination.clone(),
                protocol: rule.protocol.clone(),
                source_port: rule.source_port.clone(),
                destination_port: rule.destination_port.clone(),
                interface: rule.interface.as_deref().map(|name| self.number_of(name)),
            })
            .collect();
        self.table = Table::new(&selectors);
    }

    /// Number of an interface by its name. One that the capture does not have
    /// (yet) gets a number that no record carries.
    fn number_of(&self, name: &str) -> u16 {
        self.interfaces
            .iter()
            .position(|interface| interface.name.as_deref() == Some(name))
            .and_then(|number| u16::try_from(number).ok())
            .unwrap_or(u16::MAX)
    }
}

/// What counts of rules that were replaced are reported as.
const REMOVED: &str = "(removed)";

fn zero_counts(config: &FilterConfig) -> Vec<RuleCount> {
    let named = |(index, rule): (usize, &FilterRule)| {
        let number = index + 1;
        rule.name
            .clone()
            .unwrap_or_else(|| format!("rule {number}"))
    };
    let names = config.rules.iter().enumerate().map(named);
    let names = names.chain(["default".to_owned()]);
    let count = |rule| RuleCount {
        rule,
        ..RuleCount::default()
    };
    names.map(count).collect()
}

impl Stage for FilterStage {
    fn name(&self) -> &str {
        NAME
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words {
            denied: vocabulary.drop_reasons()?.code(DropReason::FilterDenied),
            filter: vocabulary.work_bit(&FILTER)?,
        });
        Ok(())
    }

    /// Each record is judged by itself.
    fn steering(&self) -> Steering {
        Steering::Any
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = self.words.ok_or_else(|| StageError::unregistered(NAME))?;
        if self.live.generation.load(Ordering::Relaxed) != self.generation {
            self.adopt();
        }
        if !Arc::ptr_eq(&self.interfaces, batch.interfaces()) {
            self.interfaces = Arc::clone(batch.interfaces());
            self.build_table();
        }
        for index in batch.live() {
            let work = batch.work(index);
            if !work.needs(words.filter) {
                continue;
            }
            let arrival = *batch.arrival(index);
            let tuple =
                Tuple::from_headers(batch.headers(index), batch.record(index), arrival.interface);
            let (decided_by, action) = match self.table.first(&tuple) {
                Some(rule) => (rule, self.config.rules[rule].action),
                None => (self.config.rules.len(), self.config.default),
            };
            let count = &mut self.counts[decided_by];
            count.packets += 1;
            count.bytes += u64::from(batch.captured_bytes(index));
            match action {
                Action::Allow => batch.set_work(index, work.without(words.filter)),
                Action::Deny => batch.drop_record(index, words.denied),
            }
        }
        Ok(())
    }
}

/// Counts of all filter stages, rule by rule.
pub fn filter_counts<'a>(counts: impl Iterator<Item = &'a RuleCount>) -> Vec<RuleCount> {
    let mut order: Vec<String> = Vec::new();
    let mut sums: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for count in counts {
        if !sums.contains_key(&count.rule) {
            order.push(count.rule.clone());
        }
        let sum = sums.entry(count.rule.clone()).or_default();
        sum.0 += count.packets;
        sum.1 += count.bytes;
    }
    order
        .into_iter()
        .map(|rule| {
            let (packets, bytes) = sums.get(&rule).copied().unwrap_or_default();
            RuleCount {
                rule,
                packets,
                bytes,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_packet::wire::LinkType;
    use weir_stream::{MemorySource, Pipeline};

    /// An IPv4/UDP packet to `port` of 198.18.2.1.
    fn packet(source: [u8; 4], port: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
        packet.extend(source);
        packet.extend([198, 18, 2, 1, 0x80, 0]);
        packet.extend(port.to_be_bytes());
        packet.extend([0, 8, 0, 0]);
        packet
    }

    fn decide(config: &str, packets: &[Vec<u8>]) -> (u64, Vec<(String, u64)>) {
        let config: FilterConfig = toml::from_str(config).expect("a configuration");
        let outcome = Pipeline::new(MemorySource::new(LinkType::RawIp, packets))
            .stage(FilterStage::following(&LiveFilter::new(config)))
            .run()
            .expect("a run");
        let stage = outcome.stages::<FilterStage>().next().expect("the stage");
        let counts = stage.counts().map(|c| (c.rule.clone(), c.packets));
        (
            outcome.statistics.drops(DropReason::FilterDenied),
            counts.collect(),
        )
    }

    #[test]
    fn the_first_match_decides_and_is_counted() {
        let config = r#"
            default = "deny"
            [[rule]]
            name = "one bad host"
            action = "deny"
            source = "198.18.1.66"
            [[rule]]
            action = "allow"
            source = "198.18.1.0/24"
            protocol = "udp"
            destination_port = ["53", "5000-5010"]
        "#;
        let packets = [
            packet([198, 18, 1, 66], 53),
            packet([198, 18, 1, 7], 53),
            packet([198, 18, 1, 7], 5005),
            packet([198, 18, 1, 7], 54),
            packet([198, 18, 9, 9], 53),
        ];
        let (denied, counts) = decide(config, &packets);
        assert_eq!(denied, 3);
        let expected = [("one bad host", 1), ("rule 2", 2), ("default", 2)];
        assert_eq!(
            counts,
            expected.map(|(name, count)| (name.to_owned(), count))
        );
    }

    #[test]
    fn a_filter_is_replaced_between_two_batches() {
        let config = |text| toml::from_str::<FilterConfig>(text).expect("a configuration");
        let live = LiveFilter::new(config(
            "default = \"deny\"\n[[rule]]\nname = \"old\"\naction = \"allow\"",
        ));
        let mut stage = FilterStage::following(&live);
        stage.counts[0].packets = 3;
        stage.counts[1].packets = 5;
        live.replace(config(
            "default = \"allow\"\n[[rule]]\nname = \"new\"\naction = \"deny\"",
        ));
        stage.adopt();
        let counts: Vec<_> = stage
            .counts()
            .map(|c| (c.rule.as_str(), c.packets))
            .collect();
        assert_eq!(counts, [("new", 0), ("default", 5), (REMOVED, 3)]);
        assert_eq!(stage.config.default, Action::Allow);
    }

    #[test]
    fn a_rule_for_an_interface_that_is_not_there_matches_nothing() {
        let config = r#"
            default = "allow"
            [[rule]]
            action = "deny"
            interface = "nowhere0"
        "#;
        assert_eq!(decide(config, &[packet([198, 18, 1, 7], 53)]).0, 0);
    }
}
