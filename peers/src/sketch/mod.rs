//! Sums per key: Weir's sketches beside the `datasketches` crate's Count-Min
//! sketch, an exact hash table, and the floor of the machine, which is adding to
//! counters whose places are known.
//!
//! An update is a packet: its source address is the key, its bytes are the
//! value. All subjects get the same updates and come to the same total; all
//! sketches have counters of 64 bits. Tables stay as they are from round to
//! round, so that the hash table finds every key it is asked for.

mod streams;
mod subjects;

use anyhow::Result;
use weir_hash::{Family, Ms52, Poly44};
use weir_measure::Shape;

use crate::harness::{Contest, Scoreboard, WEIR, timed};
use crate::machine::versioned;
use streams::{Stream, UPDATES};
use subjects::{Exact, Floor, Peer, Weir};

/// Packets that the table's Gbit/s are of: the shortest that Ethernet has.
const PACKET_BYTES: usize = 64;

/// All contests of sketches.
pub fn measure(scoreboard: &mut Scoreboard) -> Result<()> {
    let streams = [Stream::zipf(), Stream::trains()?, Stream::uniform()];
    for (rows, width) in [(4, 27_183), (8, 27_183)] {
        for stream in &streams {
            compare::<Ms52>(scoreboard, "count-min", Shape { rows, width }, stream)?;
        }
    }
    for width in [1024, 1 << 20] {
        let shape = Shape { rows: 4, width };
        compare::<Ms52>(scoreboard, "count-min", shape, &streams[0])?;
    }
    let shape = Shape {
        rows: 5,
        width: 32_768,
    };
    for stream in &streams {
        compare::<Poly44>(scoreboard, "k-ary", shape, stream)?;
    }
    Ok(())
}

/// One sketch beside its peers over one stream.
fn compare<F: Family>(
    scoreboard: &mut Scoreboard,
    sketch: &str,
    shape: Shape,
    stream: &Stream,
) -> Result<()> {
    let Shape { rows, width } = shape;
    let work = format!("{sketch} {rows}x{width}");
    if !scoreboard.wants(&work, PACKET_BYTES, stream.name) {
        return Ok(());
    }
    let mut contest = Contest::new(&work, PACKET_BYTES, stream.name);
    let packets = UPDATES as u64;

    let mut weir = Weir::<F>::new(shape, 1)?;
    contest.enter(
        WEIR,
        timed(packets, move || {
            Ok(Some(weir.add(&[&stream.keys], &stream.values)))
        }),
    );

    let mut peer = Peer::new(shape)?;
    contest.enter(
        versioned("datasketches"),
        timed(packets, move || Ok(Some(peer.add(stream)))),
    );

    let mut exact = Exact::default();
    contest.enter(
        format!("{} and ahash", versioned("hashbrown")),
        timed(packets, move || Ok(Some(exact.add(stream)))),
    );

    let mut floor = Floor::new::<F>(shape, stream)?;
    contest.enter(
        "counter adds alone",
        timed(packets, move || Ok(Some(floor.add(stream)))),
    );
    scoreboard.run(contest)
}
