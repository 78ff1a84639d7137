//! The comparison finds defects, and leaves little out.

use super::host::Doubt;
use super::*;
use crate::mutation::Mutator;

/// What a sensor does not look at, though receivers do.
#[derive(Clone, Copy, Debug)]
enum Defect {
    /// A RST of any sequence number ends the connection.
    Reset,
    /// A SYN of any sequence number begins the stream anew.
    Syn,
    /// A FIN of any sequence number ends the stream where it stands.
    Finish,
    /// What is acknowledged is passed, whether it was sent or not.
    Acknowledgement,
    /// Checksums are not looked at.
    Checksum,
    /// Timestamps are not looked at.
    Timestamp,
    /// What lies behind the window is taken.
    Window,
}

const DEFECTS: [Defect; 7] = [
    Defect::Reset,
    Defect::Syn,
    Defect::Finish,
    Defect::Acknowledgement,
    Defect::Checksum,
    Defect::Timestamp,
    Defect::Window,
];

/// A sensor that sees what the reference delivers, but for a defect.
struct Defective {
    reference: Reference,
    defect: Option<Defect>,
}

impl Observer for Defective {
    fn see(&mut self, from: usize, segment: &Segment, _: &Build) -> Seen {
        let mut segment = segment.clone();
        let [client, server] = &mut self.reference.connection.hosts;
        let (sender, receiver) = match from {
            0 => (client, server),
            _ => (server, client),
        };
        let has = |flag| segment.flags & flag != 0;
        match self.defect {
            Some(Defect::Reset) if has(flags::RST) => segment.sequence = receiver.receive_next,
            Some(Defect::Syn) if has(flags::SYN) => {
                receiver.receive_next = segment.sequence.wrapping_add(1);
            }
            Some(Defect::Finish) if has(flags::FIN) => {
                let payload_bytes = segment.payload.len() as u32;
                segment.sequence = receiver.receive_next.wrapping_sub(payload_bytes);
            }
            Some(Defect::Acknowledgement) if has(flags::ACK) => {
                sender.receive_next = segment.acknowledgement;
                receiver.send_next = segment.acknowledgement;
            }
            Some(Defect::Checksum) => segment.is_whole = true,
            Some(Defect::Timestamp) => segment.timestamp = None,
            Some(Defect::Window) => {
                receiver.given_edge = receiver.receive_next.wrapping_add(1 << 30);
            }
            _ => {}
        }
        self.reference.take(from, &segment).1
    }

    fn sees_all(&self) -> bool {
        true
    }
}

fn finds(bytes: &[u8], defect: Option<Defect>) -> bool {
    let input = Input::read(bytes);
    let reference = Reference::new(&input.opening);
    compare(&input, &mut Defective { reference, defect }).is_err()
}

fn seed_bytes() -> Vec<Vec<u8>> {
    seeds().into_iter().map(|seed| seed.bytes).collect()
}

/// By the seeds, and by mutations of one plain connection as well.
#[test]
fn defects_are_found() {
    let plain = vec![seeds::plain()];
    for defect in DEFECTS {
        assert!(
            seed_bytes().iter().any(|seed| finds(seed, Some(defect))),
            "{defect:?}"
        );
        let mut mutator = Mutator::new(&plain, WORDS, 1);
        let mut input = Vec::new();
        let found = (0..200_000).any(|_| {
            mutator.fill(&mut input);
            finds(&input, Some(defect))
        });
        assert!(found, "{defect:?} by mutation");
    }
    assert!(!seed_bytes().iter().any(|seed| finds(seed, None)));
}

/// Every reason to be in doubt occurs, and few segments are.
#[test]
fn few_segments_are_in_doubt() {
    let seeds = seed_bytes();
    let mut mutator = Mutator::new(&seeds, WORDS, 1);
    let (mut bytes, mut doubts, mut segments) = (Vec::new(), Vec::new(), 0);
    for _ in 0..20_000 {
        mutator.fill(&mut bytes);
        let input = Input::read(&bytes);
        let mut reference = Reference::new(&input.opening);
        for step in &input.steps {
            let segment = step.segment(&reference.connection, &input.opening);
            segments += 1;
            match reference.take(step.from, &segment).0 {
                Outcome::InDoubt(doubt) => doubts.push(doubt),
                Outcome::Over => break,
                Outcome::Refused | Outcome::Taken => {}
            }
        }
    }
    for doubt in [
        Doubt::AcknowledgesAhead,
        Doubt::AcknowledgesLongAgo,
        Doubt::CrossesEdge,
        Doubt::Forgets,
        Doubt::DependsOnMerging,
    ] {
        assert!(doubts.contains(&doubt), "{doubt:?}");
    }
    assert!(
        doubts.len() * 10 < segments,
        "{} of {segments}",
        doubts.len()
    );
}
