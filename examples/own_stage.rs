//! Custom stages in one file: drops packets whose TTL or hop limit is nearly used up, notes
//! those that only just pass, and counts packets by its value.
//!
//! The stages have words of their own: a drop reason, a kind of event and a part of the work.
//! The pipeline gives each a number, and refuses two with one name.
//!
//! ```sh
//! cargo run --example own_stage -- examples/traffic.pcapng
//! ```
//!
//! With `-i` and an interface in place of the capture, as root, it watches that until standard
//! input ends (Ctrl-D).

use std::error::Error;
use std::path::Path;

use weir_capture::CaptureSource;
use weir_packet::file::Reader;
use weir_packet::wire::Network;
use weir_stream::{
    Batch, Context, DropCode, EventKind, Pipeline, Stage, StageError, Statistics, Vocabulary,
    VocabularyError, Word, WorkBit,
};

const OWNER: &str = env!("CARGO_PKG_NAME");

weir_stream::drop_reasons! {
    /// Why packets are dropped here.
    enum Reason {
        /// It would not live for as many hops as are configured.
        TooFewHops = "too_few_hops",
    }
}

/// The event that a packet has just as many hops left as it needs.
const LAST_HOP: Word = Word::new(OWNER, "last_hop", "One hop less, and it is dropped.");

/// The work of looking at a packet's hops. Every packet needs it until somebody takes it off.
const COUNT_HOPS: Word = Word::new(OWNER, "count_hops", "Its hops are to be counted.");

/// Drops packets that would not live for another `least` hops.
struct HopLimit {
    words: Option<Words>,
    least: u8,
    seen: [u64; 256],
}

/// The numbers that the words have in the pipeline.
#[derive(Clone, Copy)]
struct Words {
    too_few_hops: DropCode,
    last_hop: EventKind,
    count_hops: WorkBit,
}

impl Stage for HopLimit {
    fn name(&self) -> &str {
        "hop limit"
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words {
            too_few_hops: vocabulary.drop_reasons()?.code(Reason::TooFewHops),
            last_hop: vocabulary.event_kind(&LAST_HOP)?,
            count_hops: vocabulary.work_bit(&COUNT_HOPS)?,
        });
        Ok(())
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = self.words;
        let words = words.ok_or_else(|| StageError::unregistered(self.name()))?;
        for index in batch.live() {
            if !batch.work(index).needs(words.count_hops) {
                continue;
            }
            let headers = batch.headers(index);
            let packet = headers.ip_packet(batch.record(index));
            let hops = match (headers.network, packet) {
                (Network::Ipv4, [_, _, _, _, _, _, _, _, ttl, ..]) => *ttl,
                (Network::Ipv6, [_, _, _, _, _, _, _, hop_limit, ..]) => *hop_limit,
                _ => continue,
            };
            self.seen[usize::from(hops)] += 1;
            if hops < self.least {
                batch.drop_record(index, words.too_few_hops);
            } else if hops == self.least {
                batch.notice(index, words.last_hop);
            }
        }
        Ok(())
    }
}

/// Takes the hops of packets to multicast groups off the work: they need not get far.
#[derive(Default)]
struct ExceptMulticast {
    count_hops: Option<WorkBit>,
}

impl Stage for ExceptMulticast {
    fn name(&self) -> &str {
        "except multicast"
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.count_hops = Some(vocabulary.work_bit(&COUNT_HOPS)?);
        Ok(())
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let bit = self.count_hops;
        let bit = bit.ok_or_else(|| StageError::unregistered(self.name()))?;
        for index in batch.live() {
            let flow = batch.flow_key(index);
            if flow.is_some_and(|flow| flow.destination_address().is_multicast()) {
                batch.set_work(index, batch.work(index).without(bit));
            }
        }
        Ok(())
    }
}

/// The stages of a pipeline, or of a worker of a live one.
fn stages() -> (ExceptMulticast, HopLimit) {
    let limit = HopLimit {
        words: None,
        least: LEAST,
        seen: [0; 256],
    };
    (ExceptMulticast::default(), limit)
}

/// The example's capture has packets with fewer hops left, and with as many.
const LEAST: u8 = 41;

fn of_capture(path: &str) -> Result<Statistics, Box<dyn Error>> {
    let source = CaptureSource::new(vec![Reader::open(Path::new(path))?]);
    let (except, limit) = stages();
    let outcome = Pipeline::new(source).stage(except).stage(limit).run()?;
    for stage in outcome.stages::<HopLimit>() {
        let seen = stage.seen.iter().enumerate();
        for (hops, count) in seen.filter(|(_, count)| **count > 0) {
            println!("{hops:>5} hops left: {count} packets");
        }
    }
    Ok(outcome.statistics)
}

/// Watches an interface until standard input ends.
#[cfg(target_os = "linux")]
fn at_interface(name: &str) -> Result<Statistics, Box<dyn Error>> {
    use weir_port::{FrameLayout, FramePool, InterfaceRx, RxOptions};
    use weir_stream::{Egress, Live, LivePort};

    let pool = FramePool::new(FrameLayout {
        frame_bytes: 10_240,
        ..FrameLayout::default()
    })?;
    let rx = InterfaceRx::open(name, &pool, RxOptions::default())?;
    let port = LivePort {
        name: name.to_owned(),
        rx: vec![Box::new(rx)],
        tx: Vec::new(),
        keeps_flows: true,
    };
    let made_by = |_worker, _path| {
        let (except, limit) = stages();
        Ok(vec![Box::new(except) as Box<dyn Stage>, Box::new(limit)])
    };
    let running = Live::new(1, made_by)
        .port(port)
        .path(0, Egress::NONE)
        .start()?;
    for _ in std::io::stdin().lines() {
        let so_far = running.meters().snapshot()?;
        println!("{} packets so far", so_far.packets());
    }
    running.stop_flag().stop();
    Ok(running.join()?.statistics)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let statistics = match &arguments[..] {
        [path] => of_capture(path)?,
        #[cfg(target_os = "linux")]
        [flag, interface] if flag == "-i" => at_interface(interface)?,
        _ => return Err("give a capture, or -i and an interface".into()),
    };
    println!("{} packets", statistics.packets());
    for (reason, count) in statistics.drops_by_reason() {
        println!("{}: {count} packets. {}", reason.name, reason.meaning);
    }
    println!("{}: {} packets", LAST_HOP.name, statistics.events());
    Ok(())
}
