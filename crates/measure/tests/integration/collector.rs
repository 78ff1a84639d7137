//! The collector's thread: nothing is lost before a slow observer, and its
//! panics reach whoever waits for it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_measure::{Collector, IntervalReport, MeasureConfig, Meter, Observer, Seed};
use weir_packet::wire::{FlowKey, KeyKind};
use weir_stream::Arrival;

const SECOND: u64 = 1_000_000_000;

fn measure(shards: usize, observer: Observer) -> (Vec<Meter>, Collector) {
    let config = MeasureConfig {
        interval: Some(Duration::from_secs(1)),
        seed: Some(Seed::from_u64(1)),
        ..MeasureConfig::new(KeyKind::Source)
    };
    let mut measurement = config
        .build_observed(shards, Some(observer))
        .expect("a configuration");
    let flow = FlowKey {
        source: 5,
        ip_version: 4,
        ..FlowKey::default()
    };
    // So many intervals that the queue is full again and again.
    for number in 0..1000 {
        let timestamp_ns = number * SECOND / 10;
        if let Some(timeline) = &mut measurement.timeline {
            timeline.observe(number, timestamp_ns);
        }
        for (shard, meter) in measurement.meters.iter_mut().enumerate() {
            meter.tick(number, timestamp_ns);
            if number as usize % shards == shard {
                meter.count(&Arrival::at(timestamp_ns, 100), 100, Some(&flow));
            }
        }
    }
    (measurement.meters, measurement.collector)
}

#[test]
fn a_slow_observer_sees_every_interval_in_order() {
    for shards in [1, 3] {
        let seen: Arc<Mutex<Vec<IntervalReport>>> = Arc::default();
        let observer = Box::new({
            let seen = Arc::clone(&seen);
            move |report: IntervalReport| {
                std::thread::yield_now();
                seen.lock().expect("no panic").push(report);
            }
        });
        let (mut meters, collector) = measure(shards, observer);
        meters.iter_mut().for_each(Meter::finish);
        // What an observer took is not kept.
        assert_eq!(collector.finish(), []);
        let reports = seen.lock().expect("no panic");
        assert_eq!(reports.len(), 100);
        assert!(reports.is_sorted_by_key(|report| report.start_ns));
        assert!(reports.iter().all(|report| report.packets == 10));
    }
}

#[test]
fn a_panic_of_the_observer_goes_on_in_who_waits() {
    let caught = std::panic::catch_unwind(|| {
        let (mut meters, collector) = measure(1, Box::new(|_| panic!("the observer's own")));
        meters.iter_mut().for_each(Meter::finish);
        collector.finish();
    });
    let panic = caught.expect_err("the panic goes on");
    assert_eq!(panic.downcast_ref(), Some(&"the observer's own"));
}
