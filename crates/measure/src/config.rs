//! Configuration of a measurement.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use weir_hash::{Seed, SeedError};
use weir_packet::wire::KeyKind;
use weir_simd::Tier;

use crate::accuracy::{Accuracy, Shape, SizeError};
use crate::change::{ChangeConfig, ChangeError, Draws};
use crate::collector::{Collector, Observer};
use crate::contents::Sketched;
use crate::interval::{IntervalClock, Timekeeper, Timeline};
use crate::meter::Meter;

/// The most keys in a top list.
const MAX_TOP: usize = 10_000;

/// What is summed per key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Value {
    /// Packets.
    Packets,
    /// Bytes on the wire, link header included.
    #[default]
    Bytes,
}

/// An unknown value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {0:?}: use packets or bytes")]
pub struct ValueError(String);

impl FromStr for Value {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Value, ValueError> {
        match text {
            "packets" => Ok(Value::Packets),
            "bytes" => Ok(Value::Bytes),
            _ => Err(ValueError(text.to_owned())),
        }
    }
}

impl Value {
    /// The name in configurations and reports.
    pub fn name(self) -> &'static str {
        match self {
            Value::Packets => "packets",
            Value::Bytes => "bytes",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Configuration of a measurement of packets: key, value, interval and accuracy.
///
/// ```
/// use std::time::Duration;
/// use weir_measure::{Accuracy, Arrival, MeasureConfig};
/// use weir_packet::wire::{FlowKey, KeyKind};
///
/// let config = MeasureConfig {
///     interval: Some(Duration::from_secs(10)),
///     accuracy: Accuracy { epsilon: 1e-4, delta: 0.01 },
///     ..MeasureConfig::new(KeyKind::Source)
/// };
/// let mut measurement = config.build(1)?;
/// for (number, source) in [1, 2, 1].into_iter().enumerate() {
///     let (time_ns, wire_bytes) = (1_000_000_000, 1500);
///     let flow = FlowKey { source, ip_version: 4, ..FlowKey::default() };
///     for meter in &mut measurement.meters {
///         meter.tick(number as u64, time_ns);
///         meter.count(&Arrival::at(time_ns, wire_bytes), wire_bytes, Some(&flow));
///     }
/// }
/// measurement.meters.iter_mut().for_each(|meter| meter.finish());
/// let [report] = &measurement.collector.finish()[..] else { return Err("one interval".into()) };
/// assert_eq!((report.top[0].key.as_str(), report.top[0].estimate), ("0.0.0.1", 3000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MeasureConfig {
    /// Part of the flow that is the key.
    pub key: KeyKind,
    /// What is summed per key.
    pub value: Value,
    /// Length of an interval; without one the whole stream is one interval.
    pub interval: Option<Duration>,
    /// Accuracy of the sums.
    pub accuracy: Accuracy,
    /// Keys in the top list of an interval: 1 to 10,000.
    pub top: usize,
    /// Keeps all keys in a table too, to report exact sums and the sketch's
    /// error. Takes memory for every key of an interval.
    pub exact: bool,
    /// Change detection from interval to interval.
    pub change: Option<ChangeConfig>,
    /// Puts the sketches of each interval into its report, as bytes with their
    /// seeds.
    pub sketches: bool,
    /// Seed of the hash functions. Without one it is drawn at random and kept secret, so
    /// that a sender cannot choose addresses that collide.
    pub seed: Option<Seed>,
    /// Instruction set of the kernels.
    pub tier: Tier,
}

impl MeasureConfig {
    /// Bytes by `key` over the whole stream: default accuracy, top 10, no
    /// exact table, no change detection, secret seed, the active tier.
    pub fn new(key: KeyKind) -> MeasureConfig {
        MeasureConfig {
            key,
            value: Value::default(),
            interval: None,
            accuracy: Accuracy::default(),
            top: 10,
            exact: false,
            change: None,
            sketches: false,
            seed: None,
            tier: weir_simd::tier(),
        }
    }

    /// Validates the configuration.
    ///
    /// # Errors
    /// As for [`MeasureConfig::build`], except those of starting a thread.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.plan().map(drop)
    }

    /// Creates the meters of `shards` shards (at least 1), the timeline that they share, and
    /// the collector of their results.
    ///
    /// # Errors
    /// An accuracy or a size out of range, an interval of no length, no entropy
    /// for a seed or no thread for the collector.
    pub fn build(&self, shards: usize) -> Result<Measurement, ConfigError> {
        self.build_observed(shards, None)
    }

    /// The same, with an observer that receives every report as soon as it is complete.
    ///
    /// # Errors
    /// As for [`MeasureConfig::build`].
    pub fn build_observed(
        &self,
        shards: usize,
        observer: Option<Observer>,
    ) -> Result<Measurement, ConfigError> {
        let plan = Arc::new(self.plan()?);
        let shards = shards.max(1);
        let collector = Collector::new(&plan, shards, observer)?;
        let clock = IntervalClock::new(plan.interval_ns);
        let meter = |shard, time| Meter::new(&plan, shard, time, &collector);
        if shards == 1 {
            return Ok(Measurement {
                meters: vec![meter(0, Timekeeper::Whole(clock))],
                timeline: None,
                collector,
            });
        }
        let mut timeline = Timeline::new(clock);
        Ok(Measurement {
            meters: (0..shards)
                .map(|shard| meter(shard, Timekeeper::Part(timeline.follower())))
                .collect(),
            timeline: Some(timeline),
            collector,
        })
    }

    /// Creates a measurement of a live stream: its intervals follow the clock, so that they end
    /// without packets, too, and every worker knows them by itself. Intervals begin where the
    /// first packet, or the first call without packets, says so.
    ///
    /// # Errors
    /// As for [`MeasureConfig::build`].
    pub fn build_live(
        &self,
        workers: usize,
        observer: Option<Observer>,
    ) -> Result<LiveMeasurement, ConfigError> {
        let plan = Arc::new(self.plan()?);
        let collector = Collector::new(&plan, workers.max(1), observer)?;
        Ok(LiveMeasurement {
            plan,
            origin_ns: Arc::default(),
            collector,
        })
    }

    pub(crate) fn plan(&self) -> Result<Plan, ConfigError> {
        let shape = self.accuracy.shape().map_err(SizeError::from)?;
        let seed = match self.seed {
            Some(seed) => seed,
            None => Seed::random()?,
        };
        let interval_ns = match self.interval {
            None => None,
            Some(length) => {
                let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
                Some(NonZeroU64::new(length_ns).ok_or(ConfigError::Interval)?)
            }
        };
        if !(1..=MAX_TOP).contains(&self.top) {
            return Err(ConfigError::Top(self.top));
        }
        if let Some(change) = &self.change {
            change.check()?;
            if interval_ns.is_none() {
                return Err(ChangeError::NoInterval.into());
            }
        }
        let blank = Sketched::new(self, shape, seed)?;
        Ok(Plan {
            key: self.key,
            value: self.value,
            interval_ns,
            shape,
            top: self.top,
            exact: self.exact,
            change: self.change.clone(),
            sketches: self.sketches,
            seed,
            draws: Draws::new(seed.derive(purpose::SAMPLE)),
            tier: self.tier,
            blank,
        })
    }
}

/// The parts of a measurement.
#[derive(Debug)]
pub struct Measurement {
    /// One meter per shard.
    pub meters: Vec<Meter>,
    /// For more than one shard: pass every packet to it, in order of arrival, before the
    /// meter of a shard.
    pub timeline: Option<Timeline>,
    /// Merges the results of the meters.
    pub collector: Collector,
}

/// The parts of a live measurement.
#[derive(Debug)]
pub struct LiveMeasurement {
    plan: Arc<Plan>,
    origin_ns: Arc<OnceLock<u64>>,
    collector: Collector,
}

impl LiveMeasurement {
    /// The meter of a worker, by its number below that of workers. Made again, it takes the place
    /// of one that is gone: what that one had counted in the open interval is missing there.
    pub fn meter(&self, worker: usize) -> Meter {
        let clock = IntervalClock::beside(self.plan.interval_ns, &self.origin_ns);
        Meter::new(&self.plan, worker, Timekeeper::Live(clock), &self.collector)
    }

    /// Merges the results of the meters.
    pub fn collector(&self) -> &Collector {
        &self.collector
    }
}

/// An invalid configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// Accuracy or size out of range.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// An interval of zero nanoseconds.
    #[error("interval of no length: use at least a nanosecond")]
    Interval,
    /// Length of the top list out of range.
    #[error("top list of {0} keys: use 1 to {MAX_TOP}")]
    Top(usize),
    /// Invalid change detection.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// No thread for the collector.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::ErrorKind),
    /// No seed was given and none can be drawn.
    #[error(transparent)]
    Seed(#[from] SeedError),
}

/// What the seed of a measurement is expanded for, beside the sums.
pub(crate) mod purpose {
    /// The sketches that changes are looked for in.
    pub const CHANGE: u32 = u32::from_be_bytes(*b"chng");
    /// Fingerprints of distinct keys.
    pub const DISTINCT: u32 = u32::from_be_bytes(*b"dist");
    /// Which packets are sampled.
    pub const SAMPLE: u32 = u32::from_be_bytes(*b"smpl");
    /// Slots of the caches of recent keys.
    pub const IPV4_CACHE: u32 = u32::from_be_bytes(*b"che4");
    pub const IPV6_CACHE: u32 = u32::from_be_bytes(*b"che6");
}

/// A configuration that was checked.
pub(crate) struct Plan {
    pub key: KeyKind,
    pub value: Value,
    pub interval_ns: Option<NonZeroU64>,
    pub shape: Shape,
    pub top: usize,
    pub exact: bool,
    pub change: Option<ChangeConfig>,
    pub sketches: bool,
    pub seed: Seed,
    /// By which packets are sampled.
    pub draws: Draws,
    pub tier: Tier,
    /// Empty sketches, from which those of an interval are cloned.
    pub blank: Sketched,
}

/// The seed may be secret.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("key", &self.key)
            .field("value", &self.value)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let good = MeasureConfig::new(KeyKind::Source);
        assert!(
            good.build(0)
                .is_ok_and(|m| m.meters.len() == 1 && m.timeline.is_none())
        );
        assert!(
            good.build(3)
                .is_ok_and(|m| m.meters.len() == 3 && m.timeline.is_some())
        );
        let mut bad = vec![good.clone(); 4];
        bad[0].interval = Some(Duration::ZERO);
        bad[1].top = 0;
        bad[2].top = MAX_TOP + 1;
        bad[3].accuracy.epsilon = 0.0;
        for config in bad {
            assert!(config.build(1).is_err(), "{config:?}");
        }
    }

    #[test]
    fn values_read_as_they_are_written() {
        for value in [Value::Packets, Value::Bytes] {
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        assert!("octets".parse::<Value>().is_err());
    }
}
