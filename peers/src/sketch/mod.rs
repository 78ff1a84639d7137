//! Sums per key: Weir's sketches beside the `datasketches` crate's Count-Min sketch, an
//! exact hash table, and the floor of the machine: additions to counters at known
//! positions.
//!
//! An update is a packet: its source address is the key, its bytes are the
//! value. All candidates get the same updates and come to the same total; all
//! sketches have counters of 64 bits. Tables stay as they are from round to
//! round, so that the hash table finds every key.

mod candidates;
mod streams;

use std::thread;

use anyhow::Result;
use weir_hash::{Family, Ms52, Poly44};
use weir_measure::Shape;

use crate::harness::{Comparison, FLOOR, ONE_SHARD, Recorder, SHORT_KEYS, WEIR, timed};
use crate::machine::versioned;
use candidates::{Buffered, Exact, Floor, Peer, Shared, Weir};
use streams::{Stream, UPDATES};

/// Packets of the Gbit/s: the shortest of Ethernet.
const PACKET_BYTES: usize = 64;

/// Sketches of shards are combined once in this many updates.
const INTERVAL: usize = 4 * UPDATES;

/// Whether a work is a comparison of sketches.
pub fn is_sketch(work: &str) -> bool {
    ["count-min ", "k-ary "]
        .iter()
        .any(|name| work.starts_with(name))
}

/// All comparisons of sketches.
pub fn measure(recorder: &mut Recorder) -> Result<()> {
    let streams = [Stream::zipf(), Stream::trains()?, Stream::uniform()];
    for rows in [4, 8] {
        for stream in &streams {
            let width = 27_183;
            compare::<Ms52>(recorder, "count-min", Shape { rows, width }, stream)?;
        }
    }
    for width in [1024, 1 << 20] {
        let shape = Shape { rows: 4, width };
        compare::<Ms52>(recorder, "count-min", shape, &streams[0])?;
    }
    let k_ary = Shape {
        rows: 5,
        width: 32_768,
    };
    for stream in &streams {
        compare::<Poly44>(recorder, "k-ary", k_ary, stream)?;
    }
    let count_min = Shape {
        rows: 4,
        width: 27_183,
    };
    let uniform = &streams[2];
    for words in [4, 10] {
        lengths::<Ms52>(recorder, "count-min", count_min, words, uniform)?;
        lengths::<Poly44>(recorder, "k-ary", count_min, words, uniform)?;
    }
    shards(recorder, count_min, uniform)?;
    shards(recorder, count_min, &Stream::one_key())
}

/// One sketch beside its peers over one stream.
fn compare<F: Family>(
    recorder: &mut Recorder,
    sketch: &str,
    shape: Shape,
    stream: &Stream,
) -> Result<()> {
    let Shape { rows, width } = shape;
    let work = format!("{sketch} {rows}x{width}");
    if !recorder.wants(&work, PACKET_BYTES, stream.name) {
        return Ok(());
    }
    let mut comparison = Comparison::new(&work, PACKET_BYTES, stream.name);
    let packets = UPDATES as u64;
    let mut exact = Exact::default();
    exact.add(stream);

    let mut weir = Weir::<F>::new(shape, 1)?;
    weir.add(stream);
    let note = note(weir.memory_bytes(), weir.mean_error(&exact));
    comparison.add(WEIR, timed(packets, move || Ok(Some(weir.add(stream)))));
    comparison.note(note);

    let mut buffered = Buffered::<F>::new(shape)?;
    comparison.add(
        "weir, one update at a time",
        timed(packets, move || Ok(Some(buffered.add(stream)))),
    );

    let mut peer = Peer::new(shape)?;
    peer.add(stream);
    let note = self::note(rows * width as usize * 8, peer.mean_error(&exact));
    let name = versioned("datasketches");
    comparison.add(name, timed(packets, move || Ok(Some(peer.add(stream)))));
    comparison.note(note);

    let note = self::note(exact.memory_bytes(), 0.0);
    let name = format!("{} and ahash", versioned("hashbrown"));
    comparison.add(name, timed(packets, move || Ok(Some(exact.add(stream)))));
    comparison.note(note);

    let mut floor = Floor::new::<F>(shape, stream)?;
    comparison.add(FLOOR, timed(packets, move || Ok(Some(floor.add(stream)))));
    recorder.run(comparison)
}

fn note(memory_bytes: usize, mean_error: f64) -> String {
    format!(
        "{} KiB, estimates {mean_error:.0} bytes too high on average",
        memory_bytes / 1024
    )
}

/// Longer keys beside those of 32 bits: addresses of IPv6 take four words, its
/// 5-tuples ten. A part of the stream, again and again: keys come from packets
/// that were just read, not from main memory.
fn lengths<F: Family>(
    recorder: &mut Recorder,
    sketch: &str,
    shape: Shape,
    words: usize,
    stream: &Stream,
) -> Result<()> {
    let keys = if words == 4 { "ipv6" } else { "5-tuple" };
    let work = format!("{sketch} {}x{}", shape.rows, shape.width);
    if !recorder.wants(&work, PACKET_BYTES, keys) {
        return Ok(());
    }
    let mut comparison = Comparison::new(&work, PACKET_BYTES, keys);
    let part = UPDATES / 16;
    for (name, words) in [(WEIR, words), (SHORT_KEYS, 1)] {
        let columns = (0..words).map(|word| stream.column(word, part));
        let columns: Vec<Vec<u32>> = columns.collect();
        let values = &stream.values[..part];
        let mut weir = Weir::<F>::new(shape, words)?;
        comparison.add(
            name,
            timed(UPDATES as u64, move || {
                let sum = repeat(UPDATES / part, || weir.add_columns(&columns, values));
                Ok(Some(sum))
            }),
        );
    }
    recorder.run(comparison)
}

/// Two threads, each with a sketch of its own for half of the stream, which are
/// combined; beside one thread, and beside two that add to one sketch
/// atomically.
fn shards(recorder: &mut Recorder, shape: Shape, stream: &Stream) -> Result<()> {
    let work = format!("count-min {}x{}, two shards", shape.rows, shape.width);
    if !recorder.wants(&work, PACKET_BYTES, stream.name) {
        return Ok(());
    }
    let mut comparison = Comparison::new(&work, PACKET_BYTES, stream.name);
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        comparison.add_missing(WEIR, "two shards need two processors, and here is one");
        return recorder.run(comparison);
    }
    let packets = INTERVAL as u64;
    let passes = INTERVAL / UPDATES;
    let half = UPDATES / 2;
    let [front, back] = stream.halves(half);

    let (mut one, mut two) = (Weir::<Ms52>::new(shape, 1)?, Weir::<Ms52>::new(shape, 1)?);
    comparison.add(
        WEIR,
        timed(packets, move || {
            let sum = thread::scope(|scope| {
                let other = scope.spawn(|| repeat(passes, || two.add_part(back.0, back.1)));
                let own = repeat(passes, || one.add_part(front.0, front.1));
                other.join().map(|sum| sum + own)
            });
            one.take(&mut two)?;
            Ok(sum.ok())
        }),
    );
    let mut alone = Weir::<Ms52>::new(shape, 1)?;
    comparison.add(
        ONE_SHARD,
        timed(packets, move || {
            Ok(Some(repeat(passes, || alone.add(stream))))
        }),
    );
    let shared = Shared::new(shape)?;
    comparison.add(
        "weir, two threads on one sketch",
        timed(packets, move || {
            let before = shared.total();
            thread::scope(|scope| {
                scope.spawn(|| (0..passes).for_each(|_| shared.add_part(back.0, back.1)));
                (0..passes).for_each(|_| shared.add_part(front.0, front.1));
            });
            Ok(Some(shared.total() - before))
        }),
    );
    recorder.run(comparison)
}

fn repeat(times: usize, mut add: impl FnMut() -> u64) -> u64 {
    (0..times).map(|_| add()).sum()
}
