//! Streams of updates: a key, its source address, and the bytes of a packet.

use anyhow::Result;
use weir_packet::generate::{Generator, Plan};

use crate::numbers::Numbers;

/// Updates of a stream.
pub const UPDATES: usize = 1 << 20;

/// Keys in columns, and the value of each.
pub struct Stream {
    /// What the table calls it.
    pub name: &'static str,
    /// Addresses.
    pub keys: Vec<u32>,
    /// Bytes of the packets.
    pub values: Vec<u32>,
}

impl Stream {
    /// The k-th of 2²⁰ sources gets a share proportional to k^-1.1; the first
    /// one has an eighth of all packets.
    pub fn zipf() -> Stream {
        let mut random = Numbers(1);
        let ranks = Ranks::new(1 << 20, 1.1);
        Stream::new("zipf", || scattered(ranks.draw(&mut random)))
    }

    /// Every key as likely as any other of the 2³².
    pub fn uniform() -> Stream {
        let mut random = Numbers(2);
        Stream::new("uniform", || random.bits(32) as u32)
    }

    /// What sources look like where packets are captured: addresses of few
    /// networks, as Weir's traffic generator gives them to 20,000 flows, and
    /// packets that come in trains, so that 32 % of all have their
    /// predecessor's source.
    pub fn trains() -> Result<Stream> {
        let flows = 20_000;
        let plan = Plan {
            flows,
            ipv6_share: 0.0,
            ..Plan::default()
        };
        let generator = Generator::new(&plan)?;
        let mut random = Numbers(3);
        let ranks = Ranks::new(flows, 1.1);
        let mut source = 0;
        Ok(Stream::new("trains", || {
            // Two neighbours are equal by chance, too: in 4 % of all cases.
            if source == 0 || random.bits(20) as f64 > 0.29 * f64::from(1 << 20) {
                source = generator.flow_key(ranks.draw(&mut random)).source as u32;
            }
            source
        }))
    }

    /// One key and no other.
    pub fn one_key() -> Stream {
        Stream::new("one", || 0xc612_0001)
    }

    /// Keys and values before and after a place.
    pub fn halves(&self, at: usize) -> [(&[u32], &[u32]); 2] {
        let (keys, values) = (self.keys.split_at(at), self.values.split_at(at));
        [(keys.0, values.0), (keys.1, values.1)]
    }

    /// Column `word` of longer keys, one for each of the first `count` keys of
    /// this: the key itself, and words that follow from it as if drawn at random.
    pub fn column(&self, word: usize, count: usize) -> Vec<u32> {
        let of = |key: &u32| match word {
            0 => *key,
            _ => Numbers(u64::from(*key) << 8 | word as u64).bits(32) as u32,
        };
        self.keys[..count].iter().map(of).collect()
    }

    fn new(name: &'static str, mut key: impl FnMut() -> u32) -> Stream {
        let mut random = Numbers(4);
        Stream {
            name,
            keys: (0..UPDATES).map(|_| key()).collect(),
            // Half of them small, the others up to a full frame.
            values: (0..UPDATES)
                .map(|_| match random.bits(1) {
                    0 => 60 + random.bits(4) as u32,
                    _ => 490 + random.bits(10) as u32,
                })
                .collect(),
        }
    }
}

fn scattered(rank: u32) -> u32 {
    (rank + 1).wrapping_mul(0x9e37_79b1)
}

/// Ranks with a Zipf distribution.
struct Ranks {
    /// Share of all ranks up to each.
    up_to: Vec<f64>,
}

impl Ranks {
    fn new(count: u32, exponent: f64) -> Ranks {
        let mut sum = 0.0;
        let up_to = (1..=count)
            .map(|rank| {
                sum += f64::from(rank).powf(-exponent);
                sum
            })
            .collect();
        Ranks { up_to }
    }

    fn draw(&self, random: &mut Numbers) -> u32 {
        let whole = self.up_to[self.up_to.len() - 1];
        let place = random.bits(53) as f64 * 2f64.powi(-53) * whole;
        self.up_to.partition_point(|up_to| *up_to <= place) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of the neighbours that are equal, of 2²⁰, each within a
    /// percentage point of what was seen in captures.
    #[test]
    fn streams_are_what_they_are_called() {
        let share = |stream: &Stream| {
            let equal = stream.keys.windows(2).filter(|pair| pair[0] == pair[1]);
            equal.count() as f64 / UPDATES as f64
        };
        let trains = Stream::trains().unwrap();
        assert!((share(&trains) - 0.32).abs() < 0.01, "{}", share(&trains));
        assert!((share(&Stream::zipf()) - 0.02).abs() < 0.01);
        assert!(share(&Stream::uniform()) < 1e-4);
    }
}
