//! Packets from port to port, over one worker or several.

use super::*;

#[test]
fn packets_cross_between_ports_and_the_accounts_balance_all_the_time() {
    const PACKETS: u32 = 20_000;
    let (left, mut at_left) = port("left", 2, 1 << 16);
    let (right, mut at_right) = port("right", 2, 1 << 16);
    let running = Live::new(2, no_stages)
        .port(left)
        .port(right)
        .path(0, Egress::port(1))
        .path(1, Egress::port(0))
        .start()
        .expect("a start");
    let sent = packets(0..PACKETS, 10);
    for (queue, half) in sent.chunks(sent.len() / 2).enumerate() {
        at_left.send(queue, half);
        at_right.send(1 - queue, half);
    }
    balanced_until(&running, |snapshot| {
        snapshot.forwarded() == 2 * u64::from(PACKETS)
    });
    let meters = running.meters().clone();
    let statistics = stop(running);
    assert_eq!(statistics.packets(), 2 * u64::from(PACKETS));
    assert_eq!(statistics.forwarded_bytes(), statistics.bytes());
    // Queue i comes out of queue i, in order.
    let half = PACKETS / 2;
    for outside in [&mut at_right, &mut at_left] {
        let mut received: Vec<Vec<u32>> = (0..2).map(|queue| outside.receive(queue)).collect();
        received.sort();
        assert!(received[0].iter().copied().eq(0..half));
        assert!(received[1].iter().copied().eq(half..PACKETS));
    }
    let of_paths = meters.of_paths().expect("balanced");
    assert!((of_paths.iter()).all(|path| path.forwarded() == u64::from(PACKETS)));
    let readings = meters.queues();
    assert_eq!(readings.len(), 8);
    let received = readings.iter().filter_map(|reading| reading.rx);
    let sent = readings.iter().filter_map(|reading| reading.tx);
    assert_eq!(
        received.map(|rx| rx.received).sum::<u64>(),
        2 * u64::from(PACKETS)
    );
    assert_eq!(sent.map(|tx| tx.sent).sum::<u64>(), 2 * u64::from(PACKETS));
}

#[test]
fn what_exceeds_the_mtu_of_its_port_is_dropped_and_counted() {
    let (left, mut at_left) = port("left", 1, 16);
    let (mut narrow, mut at_narrow) = port("narrow", 1, 16);
    let (tx, from_port) = memory_queue(&pool(), 16, 100);
    narrow.tx = vec![Box::new(tx)];
    at_narrow.from_port = vec![from_port];
    let running = Live::new(1, no_stages)
        .port(left)
        .port(narrow)
        .path(0, Egress::port(1))
        .start()
        .expect("a start");
    let mut packets = packets(0..10, 1);
    packets[..3]
        .iter_mut()
        .for_each(|packet| packet.resize(200, 0));
    at_left.send(0, &packets);
    balanced_until(&running, |snapshot| snapshot.packets() == 10);
    let statistics = stop(running);
    assert_eq!(statistics.drops(FrameDrop::ExceedsMtu), 3);
    assert_eq!(
        (statistics.forwarded(), statistics.forwarded_bytes()),
        (7, 7 * 60)
    );
    assert!(at_narrow.receive(0).into_iter().eq(3..10));
}

/// A rule that has nothing to do with flows.
fn by_number() -> Steering {
    Steering::By(SteeringRule::new("number", |batch, index| {
        number(batch.record(index)) / 3
    }))
}

/// Checks that every record is on the worker that the rule says.
struct Homed {
    worker: usize,
    workers: u32,
    rewrites: bool,
}

impl Stage for Homed {
    fn name(&self) -> &str {
        "homed"
    }
    fn steering(&self) -> Steering {
        by_number()
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            let number = number(batch.record(index));
            assert_eq!((number / 3 % self.workers) as usize, self.worker);
            if self.rewrites {
                batch.record_mut(index)[50] = 7;
            }
        }
        Ok(())
    }
}

/// A stage that needs flows together, in front of one that needs them apart.
struct Whole;

impl Stage for Whole {
    fn name(&self) -> &str {
        "whole"
    }
    fn process(&mut self, _batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        Ok(())
    }
}

#[test]
fn records_go_to_the_workers_that_stages_need_them_on() {
    const PACKETS: u32 = 30_000;
    for with_flows_first in [false, true] {
        let (mut left, mut at_left) = port("left", 2, 1 << 16);
        left.tx.clear();
        let (right, mut at_right) = port("right", 3, 1 << 16);
        let factory = move |worker, _path| {
            let homed = Homed {
                worker,
                workers: 3,
                rewrites: worker > 0,
            };
            let mut stages: Vec<Box<dyn Stage>> = vec![Box::new(homed)];
            if with_flows_first {
                stages.insert(0, Box::new(Whole));
            }
            Ok(stages)
        };
        // Two queues for three workers: the third gets all its records from the others.
        let running = Live::new(3, factory)
            .port(left)
            .port(right)
            .path(0, Egress::port(1))
            .start()
            .expect("a start");
        let mut received = vec![Vec::new(); 3];
        for part in packets(0..PACKETS, 10).chunks(500) {
            // No more at once than the queues between the workers hold.
            at_left.send(0, part);
            let more = at_right.receive_all(part.len());
            received
                .iter_mut()
                .zip(more)
                .for_each(|(all, more)| all.extend(more));
        }
        let statistics = stop(running);
        assert_eq!(statistics.drops_by_reason().count(), 0);
        assert_eq!(statistics.forwarded(), u64::from(PACKETS));
        for (worker, numbers) in (0..).zip(&received) {
            for flow in 0..10 {
                let of_flow = numbers.iter().filter(|number| *number % 10 == flow);
                assert!(of_flow.is_sorted(), "the order of each flow is kept");
            }
            assert!(numbers.iter().all(|number| number / 3 % 3 == worker));
        }
    }
}

#[test]
fn a_full_queue_between_workers_drops_and_counts() {
    let (mut left, mut at_left) = port("left", 1, 1 << 16);
    left.tx.clear();
    let (right, mut at_right) = port("right", 2, 1 << 16);
    let gate = Arc::new(AtomicBool::new(false));
    let opened = Arc::clone(&gate);
    let factory = move |worker, _path| {
        let gate = Arc::clone(&gate);
        let stuck = does(move |batch, _cx| {
            while worker == 1 && !batch.is_empty() && !gate.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            Ok(())
        });
        let homed = Homed {
            worker,
            workers: 2,
            rewrites: false,
        };
        Ok(vec![Box::new(homed) as _, stuck])
    };
    let running = Live::new(2, factory)
        .port(left)
        .port(right)
        .path(0, Egress::port(1))
        .start()
        .expect("a start");
    at_left.send(0, &packets(0..60_000, 10));
    balanced_until(&running, |snapshot| {
        snapshot.packets() == 60_000 && snapshot.drops(FrameDrop::HandoverFull) > 0
    });
    opened.store(true, Ordering::Relaxed);
    let statistics = stop(running);
    let dropped = statistics.drops(FrameDrop::HandoverFull);
    assert_eq!(statistics.forwarded() + dropped, 60_000);
    // Only records of the other worker are dropped.
    assert!(dropped <= 30_000);
    let received: usize = at_right.receive(0).len() + at_right.receive(1).len();
    assert_eq!(received as u64, statistics.forwarded());
}

#[test]
fn stages_are_called_without_packets_and_know_the_time() {
    let (left, _at_left) = port("left", 1, 16);
    let calls = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&calls);
    let factory = move |_worker, _path| {
        let noted = Arc::clone(&noted);
        let note = move |batch: &mut Batch, cx: &mut Context| {
            assert!(batch.is_empty() && cx.is_live);
            let mut calls = noted.lock().expect("calls");
            calls.push((cx.batch_sequence, cx.now_ns, cx.stream_ns().expect("live")));
            Ok(())
        };
        Ok(vec![does(note)])
    };
    let running = Live::new(1, factory).port(left).path(0, Egress::NONE);
    let running = running.start().expect("a start");
    wait_until(|| calls.lock().expect("calls").len() >= 5);
    let statistics = stop(running);
    assert_eq!((statistics.packets(), statistics.forwarded()), (0, 0));
    let calls = calls.lock().expect("calls");
    assert!(calls.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
}

#[test]
fn a_batch_waits_for_more_packets_as_long_as_it_may() {
    let (left, mut at_left) = port("left", 1, 16);
    let batches = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&batches);
    let factory = move |_worker, _path| {
        let counted = Arc::clone(&counted);
        Ok(vec![does(move |batch, _cx| {
            counted.fetch_add(u64::from(!batch.is_empty()), Ordering::Relaxed);
            Ok(())
        })])
    };
    let running = Live::new(1, factory)
        .port(left)
        .path(0, Egress::NONE)
        // Longer than the test takes: only a full batch closes.
        .max_wait_us(60_000_000)
        .start()
        .expect("a start");
    for part in packets(0..256, 10).chunks(8) {
        at_left.send(0, part);
    }
    balanced_until(&running, |snapshot| snapshot.packets() == 256);
    assert_eq!(batches.load(Ordering::Relaxed), 1);
    stop(running);
}

#[test]
fn ports_that_do_not_suffice_are_refused() {
    let start = |live: Live| live.start().err().expect("refused");
    let error = start(Live::new(1, no_stages).path(0, Egress::NONE));
    assert!(matches!(error, PipelineError::NoPort { number: 0 }));
    let live = Live::new(1, no_stages).port(port("left", 1, 1).0);
    let error = start(live.path(0, Egress::port(3)));
    assert!(matches!(error, PipelineError::NoPort { number: 3 }));
    let live = Live::new(2, no_stages).port(port("left", 1, 1).0);
    let error = start(live.path(0, Egress::NONE)).to_string();
    assert!(
        error.contains("left") && error.contains("worker 1"),
        "{error}"
    );
}
