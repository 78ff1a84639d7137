//! Stages that fail, and ports that do not take what they are given.

use super::*;

/// Holds the first record of every batch until the next one, and panics at packets whose
/// number a flag asks for.
struct Fragile {
    held: Option<HeldRecord>,
    panics_at: u32,
}

impl Stage for Fragile {
    fn name(&self) -> &str {
        "fragile"
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            assert!(number(batch.record(index)) != self.panics_at, "it broke");
        }
        let first = batch.live().next();
        if let Some(held) = self.held.take() {
            self.held = batch.release(held).err();
        }
        if let (None, Some(first)) = (&self.held, first) {
            self.held = Some(batch.hold(first));
        }
        Ok(())
    }
}

#[test]
fn a_stage_that_panics_is_made_again_and_reported() {
    let (left, mut at_left) = port("left", 1, 1 << 16);
    let (right, mut at_right) = port("right", 1, 1 << 16);
    let made = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&made);
    let factory = move |_worker, path| {
        if path == 1 {
            return Ok(Vec::new());
        }
        counted.fetch_add(1, Ordering::Relaxed);
        let fragile = Fragile {
            held: None,
            panics_at: 700,
        };
        Ok(vec![Box::new(fragile) as _])
    };
    let mut running = Live::new(1, factory)
        .port(left)
        .port(right)
        .path(0, Egress::port(1))
        .path(1, Egress::port(0))
        .start()
        .expect("a start");
    let reports = running.take_reports().expect("once");
    for round in 1..=3 {
        at_left.send(0, &packets(0..1000, 10));
        at_right.send(0, &packets(0..1000, 10));
        balanced_until(&running, |snapshot| snapshot.packets() == 2000 * round);
        // The other path's packets pass, whatever happens to this one.
        assert!(at_left.receive_all(1000)[0].iter().copied().eq(0..1000));
        let message = loop {
            match reports.receive(PATIENCE) {
                Received::Value(LiveReport::StageFailed { message, path, .. }) => {
                    assert_eq!(path, 0);
                    break message;
                }
                Received::Value(LiveReport::PortChanged { .. }) => {}
                other => panic!("{other:?}"),
            }
        };
        assert!(message.contains("it broke"), "{message}");
        wait_until(|| made.load(Ordering::Relaxed) == 1 + round);
    }
    let statistics = stop(running);
    assert!(statistics.drops(FrameDrop::StageFailed) > 0);
    let dropped = statistics.drops(FrameDrop::StageFailed) + statistics.held();
    assert_eq!(statistics.forwarded() + dropped, 6000);
    assert!(statistics.held() <= 1);
    let received = at_right.receive(0);
    assert!(!received.contains(&700));
}

#[test]
fn an_error_of_a_stage_is_no_end_either() {
    let (left, mut at_left) = port("left", 1, 16);
    let factory = |_worker, _path| {
        Ok(vec![does(|batch, _cx| match batch.is_empty() {
            true => Ok(()),
            false => Err(StageError::new("does", "the disk is full")),
        })])
    };
    let mut running = Live::new(1, factory)
        .port(left)
        .path(0, Egress::NONE)
        .start()
        .expect("a start");
    let reports = running.take_reports().expect("once");
    at_left.send(0, &packets(0..10, 1));
    let report = reports.receive(PATIENCE);
    let Received::Value(LiveReport::StageFailed { message, .. }) = report else {
        panic!("{report:?}");
    };
    assert_eq!(message, "does: the disk is full");
    let statistics = stop(running);
    assert_eq!(statistics.drops(FrameDrop::StageFailed), 10);
}

#[test]
fn stages_that_cannot_be_made_again_end_the_run() {
    let (left, mut at_left) = port("left", 2, 1 << 16);
    let starts = AtomicU64::new(0);
    let factory = move |worker, _path| {
        if starts.fetch_add(1, Ordering::Relaxed) >= 2 {
            return Err(StageError::new("fragile", "no memory"));
        }
        let fragile = Fragile {
            held: None,
            panics_at: if worker == 1 { 5 } else { u32::MAX },
        };
        Ok(vec![Box::new(fragile) as _])
    };
    let running = Live::new(2, factory)
        .port(left)
        .path(0, Egress::port(0))
        .start()
        .expect("a start");
    at_left.send(0, &packets(0..100, 3));
    at_left.send(1, &packets(0..100, 3));
    let meters = running.meters().clone();
    let error = running.join().err().expect("no memory");
    assert_eq!(error.to_string(), "fragile: no memory");
    // All others ended in order.
    let statistics = meters.snapshot().expect("balanced");
    assert!(statistics.drops(FrameDrop::StageFailed) > 0);
}

/// Holds every record, and releases them one by one at the end.
struct Keeper(Vec<HeldRecord>);

impl Stage for Keeper {
    fn name(&self) -> &str {
        "keeper"
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        self.0.extend(batch.live().map(|index| batch.hold(index)));
        Ok(())
    }
    fn drain(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let next = self.0.pop().map(|record| batch.release(record));
        next.map_or(Ok(()), |released| {
            assert!(released.is_ok(), "an empty batch has space");
            Ok(())
        })
    }
}

/// Notes the records that it lets pass, and fails at one.
struct Gate(Arc<Mutex<Vec<u32>>>);

impl Stage for Gate {
    fn name(&self) -> &str {
        "gate"
    }
    fn steering(&self) -> Steering {
        Steering::By(SteeringRule::new("one", |_, _| 0))
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            let number = number(batch.record(index));
            assert!(number != 50, "it broke");
            self.0.lock().expect("no panic").push(number);
        }
        Ok(())
    }
}

/// What an earlier segment releases at the end does not pass a later one that has failed.
#[test]
fn a_failure_at_the_end_lets_nothing_pass_unseen() {
    let (left, mut at_left) = port("left", 1, 16);
    let (right, mut at_right) = port("right", 1, 1 << 10);
    let passed = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&passed);
    let factory = move |_worker, _path| {
        let gate = Gate(Arc::clone(&noted));
        Ok(vec![Box::new(Keeper(Vec::new())) as _, Box::new(gate) as _])
    };
    let running = Live::new(1, factory)
        .port(left)
        .port(right)
        .path(0, Egress::port(1))
        .start()
        .expect("a start");
    at_left.send(0, &packets(0..100, 10));
    balanced_until(&running, |snapshot| snapshot.packets() == 100);
    let statistics = stop(running);
    let received = at_right.receive(0);
    assert_eq!(received, *passed.lock().expect("no panic"));
    assert_eq!(received.len(), 49);
    assert_eq!(statistics.forwarded(), 49);
    assert_eq!(statistics.drops(FrameDrop::StageFailed), 51);
    assert_eq!(statistics.held(), 0);
}

#[test]
fn what_a_port_does_not_take_is_dropped_by_reason() {
    let (left, mut at_left) = port("left", 1, 16);
    let (right, mut at_right) = port("right", 1, 100);
    let (mut gone, at_gone) = port("gone", 1, 16);
    gone.rx.clear();
    drop(at_gone);
    let factory = |_worker, _path| {
        Ok(vec![does(|batch, _cx| {
            for index in batch.live() {
                match number(batch.record(index)) % 10 {
                    // Longer than the MTU; it grows beyond its frame and moves.
                    1 => drop(batch.grow(index, 0, 5000)),
                    2 => batch.set_egress(index, Egress::port(2)),
                    3 => batch.set_egress(index, Egress::port(9)),
                    // It grows within its frame.
                    4 => drop(batch.grow(index, 0, 40)),
                    // Shorter than an Ethernet header.
                    5 => batch.shrink(index, 0, 50),
                    _ => {}
                }
            }
            Ok(())
        })])
    };
    let running = Live::new(1, factory)
        .port(left)
        .port(right)
        .port(gone)
        .path(0, Egress::port(1))
        .start()
        .expect("a start");
    at_left.send(0, &packets(0..1000, 10));
    balanced_until(&running, |snapshot| snapshot.packets() == 1000);
    let statistics = stop(running);
    assert_eq!(statistics.drops(FrameDrop::ExceedsMtu), 100);
    assert_eq!(statistics.drops(FrameDrop::PortDown), 200);
    assert_eq!(statistics.drops(FrameDrop::OutputRefused), 100);
    assert_eq!(statistics.drops(FrameDrop::OutputFull), 500);
    assert_eq!(statistics.forwarded(), 100);
    let frames = &mut at_right.frames;
    at_right.from_port[0].fill(frames, 256);
    let bytes: usize = frames.packets().map(|packet| packet.bytes.len()).sum();
    assert_eq!(statistics.forwarded_bytes(), bytes as u64);
    let longest = frames.packets().map(|packet| packet.bytes.len()).max();
    assert_eq!(longest, Some(100));
}
