//! Commands, events, and packets for control.

use serde::Serialize;

use super::*;
use crate::event::Members;

const JUDGED: Word = Word::new("tests", "judged", "A packet was judged.");

/// What packets are judged by: two halves that belong together.
#[derive(Clone, Serialize)]
struct Policy {
    first: u64,
    second: u64,
}

/// Notes under which generation it judged every hundredth packet.
struct Judge {
    mailbox: Mailbox<Arc<Policy>>,
    policy: Arc<Policy>,
    judged: Option<EventKind>,
}

impl Stage for Judge {
    fn name(&self) -> &str {
        "judge"
    }
    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.judged = Some(vocabulary.event_kind(&JUDGED)?);
        Ok(())
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        while let Some(policy) = self.mailbox.take() {
            self.policy = policy;
        }
        let judged = self
            .judged
            .ok_or_else(|| StageError::unregistered("judge"))?;
        for index in batch.live() {
            if number(batch.record(index)).is_multiple_of(100) {
                let event = batch.notice(index, judged);
                event.generation = Some(self.mailbox.generation());
                event.members = Some(Members::of(&*self.policy));
            }
        }
        Ok(())
    }
}

#[test]
fn commands_under_load_lose_no_packet_and_none_is_judged_by_half() {
    const COMMANDS: u64 = 1000;
    let (left, mut at_left) = port("left", 2, 1 << 16);
    let (right, mut at_right) = port("right", 2, 1 << 16);
    let commands = Commands::new(4);
    let subscribed = commands.clone();
    let factory = move |_worker, _path| {
        let judge = Judge {
            mailbox: subscribed.subscribe(),
            policy: Arc::new(Policy {
                first: 0,
                second: 0,
            }),
            judged: None,
        };
        Ok(vec![Box::new(judge) as _])
    };
    let mut running = Live::new(2, factory)
        .port(left)
        .port(right)
        .path(0, Egress::port(1))
        .start()
        .expect("a start");
    let events = running.take_events().expect("once");
    let (mut sent, mut received, mut posted) = (0, 0, 0);
    let mut noted = Vec::new();
    while posted < COMMANDS {
        let policy = Policy {
            first: posted + 1,
            second: 7 * (posted + 1),
        };
        if commands.post(Arc::new(policy)).is_ok() {
            posted += 1;
        }
        if sent - received < 10_000 {
            let more = packets(sent..sent + 200, 10);
            at_left.send(0, &more[..100]);
            at_left.send(1, &more[100..]);
            sent += 200;
        }
        received += (at_right.receive(0).len() + at_right.receive(1).len()) as u32;
        noted.extend(std::iter::from_fn(|| events.try_receive()).flatten());
    }
    wait_until(|| commands.adopted() == COMMANDS);
    let count = at_right.receive_all((sent - received) as usize);
    assert_eq!(
        received + count.iter().map(Vec::len).sum::<usize>() as u32,
        sent
    );
    let statistics = stop(running);
    assert_eq!(statistics.forwarded(), u64::from(sent));
    assert_eq!(statistics.drops_by_reason().count(), 0);

    let (mut judged, mut last) = (0, 0);
    noted.extend(std::iter::from_fn(|| events.try_receive()).flatten());
    for event in noted {
        let generation = event.generation.expect("a judge says it");
        let members = event.members.expect("a judge says them");
        assert_eq!(
            *members,
            *format!(r#""first":{generation},"second":{}"#, 7 * generation)
        );
        (judged, last) = (judged + 1, last.max(generation));
    }
    assert_eq!((judged, events.lost()), (sent / 100, 0));
    assert!(last > 0);
}

#[test]
fn events_that_nobody_takes_are_lost_and_counted() {
    let (left, mut at_left) = port("left", 1, 16);
    let commands = Commands::new(1);
    let factory = move |_worker, _path| {
        let judge = Judge {
            mailbox: commands.subscribe(),
            policy: Arc::new(Policy {
                first: 0,
                second: 0,
            }),
            judged: None,
        };
        Ok(vec![Box::new(judge) as _])
    };
    let mut running = Live::new(1, factory)
        .port(left)
        .path(0, Egress::NONE)
        .limits(BatchLimits::new(1, 1 << 20))
        .start()
        .expect("a start");
    let events = running.take_events().expect("once");
    // Each batch has one record, which is judged.
    let judged = vec![packets(0..1, 1).remove(0); RING_CAPACITY + 500];
    at_left.send(0, &judged);
    let sent = judged.len() as u64;
    balanced_until(&running, |snapshot| snapshot.packets() == sent);
    let statistics = stop(running);
    assert_eq!((statistics.events(), statistics.forwarded()), (sent, sent));
    assert_eq!(events.lost(), 500);
    let kept = std::iter::from_fn(|| events.try_receive()).flatten();
    assert_eq!(kept.count(), RING_CAPACITY);
}

#[test]
fn packets_for_control_leave_by_a_queue_of_their_own() {
    let (left, mut at_left) = port("left", 1, 16);
    let factory = |_worker, _path| {
        Ok(vec![does(|batch, _cx| {
            for index in batch.live() {
                match number(batch.record(index)) % 4 {
                    0 => batch.set_egress(index, Egress::CONTROL),
                    1 => batch.set_egress(index, Egress::NONE),
                    _ => {}
                }
            }
            Ok(())
        })])
    };
    // Back to where they came from.
    let mut running = Live::new(1, factory)
        .port(left)
        .path(0, Egress::port(0))
        .start()
        .expect("a start");
    let control = running.take_control().expect("once");
    let to_control = RING_CAPACITY as u32 + 5;
    at_left.send(0, &packets(0..4 * to_control, 1));
    let sent = u64::from(4 * to_control);
    balanced_until(&running, |snapshot| snapshot.packets() == sent);
    let statistics = stop(running);
    assert_eq!(statistics.drops(FrameDrop::ControlFull), 5);
    // A quarter goes to control, one nowhere; the port has space for 16 of the others.
    let not_sent = sent / 2 - 16;
    assert_eq!(statistics.drops(FrameDrop::OutputFull), not_sent);
    assert_eq!(statistics.forwarded(), sent - 5 - not_sent);
    let numbers = std::iter::from_fn(|| control.try_receive()).map(|packet| number(&packet.bytes));
    assert!(numbers.eq((0..RING_CAPACITY as u32).map(|packet| 4 * packet)));
    assert_eq!(at_left.receive(0).len(), 16);
}

/// Writes its command into a byte of every packet.
struct Marks {
    mailbox: Mailbox<u8>,
    present: u8,
    at: usize,
    steering: Steering,
}

impl Stage for Marks {
    fn name(&self) -> &str {
        "marks"
    }
    fn steering(&self) -> Steering {
        self.steering.clone()
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        while let Some(command) = self.mailbox.take() {
            self.present = command;
        }
        for index in batch.live() {
            batch.record_mut(index)[self.at] = self.present;
        }
        Ok(())
    }
}

/// Two stages, between which most packets go to the other worker, are changed a thousand times.
#[test]
fn every_packet_meets_all_of_a_change_or_nothing_of_it() {
    const CHANGES: u32 = 1000;
    let (left, mut at_left) = port("left", 2, 1 << 16);
    let (right, mut at_right) = port("right", 2, 1 << 16);
    let commands = [Commands::of_states(), Commands::of_states()];
    let subscribed = commands.clone();
    let factory = move |_worker, _path| {
        let marks = |number: usize, steering| {
            let mailbox = subscribed[number].subscribe();
            let (present, at) = (0, 50 + number);
            Box::new(Marks {
                mailbox,
                present,
                at,
                steering,
            }) as _
        };
        let by_number = SteeringRule::new("number", |batch, index| number(batch.record(index)));
        Ok(vec![
            marks(0, Steering::Any),
            marks(1, Steering::By(by_number)),
        ])
    };
    let live = Live::new(2, factory)
        .port(left)
        .port(right)
        .path(0, Egress::port(1));
    let boundary = live.boundary();
    let running = live.start().expect("a start");
    let (mut sent, mut received, mut changed) = (0, 0, 0);
    let mut seen = [0; 256];
    wait_until(|| {
        if sent - received < 2000 && changed < CHANGES {
            let more = packets(sent..sent + 200, 10);
            at_left.send(0, &more[..100]);
            at_left.send(1, &more[100..]);
            sent += 200;
        }
        if changed < CHANGES {
            changed += 1;
            let is_whole = boundary.change(|| {
                for commands in &commands {
                    commands.post(changed as u8).expect("space");
                }
            });
            assert!(is_whole, "a worker stood still");
        }
        for queue in &mut at_right.from_port {
            while queue.fill(&mut at_right.frames, 256) > 0 {
                for packet in at_right.frames.packets() {
                    assert_eq!(packet.bytes[50], packet.bytes[51], "half of a change");
                    seen[usize::from(packet.bytes[50])] += 1;
                    received += 1;
                }
                at_right.frames.clear();
            }
        }
        changed == CHANGES && received == sent
    });
    assert!(seen.iter().filter(|count| **count > 0).count() > 100);
    let statistics = stop(running);
    assert_eq!(statistics.forwarded(), u64::from(sent));
    assert_eq!(statistics.drops_by_reason().count(), 0);
}

#[test]
fn a_change_does_not_wait_for_a_worker_that_stands_still() {
    let (left, mut at_left) = port("left", 1, 16);
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    let waits = Arc::new(Mutex::new(waits));
    let stands = Arc::new(AtomicBool::new(false));
    let says = Arc::clone(&stands);
    let factory = move |_worker, _path| {
        let (waits, says) = (Arc::clone(&waits), Arc::clone(&says));
        Ok(vec![does(move |batch, _cx| {
            if !batch.is_empty() {
                says.store(true, Ordering::Release);
                let _ = waits.lock().expect("a lock").recv();
            }
            Ok(())
        })])
    };
    let live = Live::new(1, factory).port(left).path(0, Egress::NONE);
    let boundary = live.boundary();
    let running = live.start().expect("a start");
    at_left.send(0, &packets(0..1, 1));
    wait_until(|| stands.load(Ordering::Acquire));
    let mut is_changed = false;
    assert!(!boundary.change(|| is_changed = true));
    assert!(is_changed);
    drop(go_on);
    assert!(boundary.change(|| ()));
    assert_eq!(stop(running).packets(), 1);
}
