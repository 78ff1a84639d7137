//! What a bad network does to packets, decided by a seeded generator.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// What happens to packets, each independently of the others unless it says so. Shares are
/// between 0 and 1.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Share of packets that are lost.
    pub loss: f64,
    /// Mean number of packets that are lost one after the other; at least 1.
    pub burst_packets: f64,
    /// Share that come later than `reorder_packets` of their successors.
    pub reorder: f64,
    /// How many packets overtake.
    pub reorder_packets: u64,
    /// Share that come twice.
    pub duplicate: f64,
    /// Share with one bit changed, behind the link header.
    pub corrupt: f64,
    /// How long each packet takes at least.
    pub delay: Duration,
    /// How much longer it takes at most; packets stay in order.
    pub jitter: Duration,
    /// The same seed makes the same faults of the same packets.
    pub seed: u64,
}

impl Default for Faults {
    /// None.
    fn default() -> Faults {
        Faults {
            loss: 0.0,
            burst_packets: 1.0,
            reorder: 0.0,
            reorder_packets: 3,
            duplicate: 0.0,
            corrupt: 0.0,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            seed: 1,
        }
    }
}

/// What became of the packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came.
    pub received: u64,
    /// Of these, packets that were lost.
    pub lost: u64,
    /// Packets that were added.
    pub duplicated: u64,
    /// Packets that others overtook.
    pub reordered: u64,
    /// Packets with a changed bit.
    pub corrupted: u64,
    /// Packets that were handed on: `received - lost + duplicated` once none is under way.
    pub sent: u64,
}

/// One direction of a bad network. It knows no time but what it is told.
pub struct Impaired {
    faults: Faults,
    random: Random,
    /// Packets that follow in the present burst of losses.
    burst_left: u64,
    /// When the last packet is due, so that jitter keeps the order.
    last_due_ns: u64,
    under_way: BinaryHeap<Reverse<UnderWay>>,
    /// Packets held back until others have overtaken them.
    held: Vec<(u64, Vec<u8>)>,
    sequence: u64,
    counts: Counts,
}

/// Ordered by when it is due, then by when it came.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct UnderWay {
    due_ns: u64,
    sequence: u64,
    bytes: Vec<u8>,
}

impl Impaired {
    /// A direction with these faults.
    pub fn new(faults: Faults) -> Impaired {
        Impaired {
            random: Random(faults.seed),
            faults,
            burst_left: 0,
            last_due_ns: 0,
            under_way: BinaryHeap::new(),
            held: Vec::new(),
            sequence: 0,
            counts: Counts::default(),
        }
    }

    /// A packet comes.
    pub fn push(&mut self, now_ns: u64, packet: &[u8]) {
        self.counts.received += 1;
        if self.is_lost() {
            self.counts.lost += 1;
            return;
        }
        let mut bytes = packet.to_vec();
        if self.random.chance(self.faults.corrupt) && bytes.len() > LINK_BYTES {
            let bits = (bytes.len() - LINK_BYTES) as u64 * 8;
            let bit = self.random.below(bits) as usize;
            bytes[LINK_BYTES + bit / 8] ^= 1 << (bit % 8);
            self.counts.corrupted += 1;
        }
        if self.random.chance(self.faults.duplicate) {
            self.counts.duplicated += 1;
            self.deliver(now_ns, bytes.clone());
        }
        if self.random.chance(self.faults.reorder) {
            self.counts.reordered += 1;
            let release_at = self.counts.received + self.faults.reorder_packets;
            self.held.push((release_at, bytes));
        } else {
            self.deliver(now_ns, bytes);
        }
        self.release(now_ns, self.counts.received);
    }

    /// The next packet that is due, if there is one.
    pub fn pop(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let Reverse(first) = self.under_way.peek()?;
        if first.due_ns > now_ns {
            return None;
        }
        let Reverse(first) = self.under_way.pop()?;
        self.counts.sent += 1;
        Some(first.bytes)
    }

    /// Nothing else comes for a while: packets that wait to be overtaken go on.
    pub fn release_held(&mut self, now_ns: u64) {
        self.release(now_ns, u64::MAX);
    }

    /// What became of the packets.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn is_lost(&mut self) -> bool {
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return true;
        }
        // A burst begins with this packet: its further packets are geometrically distributed, so
        // that the mean is `burst_packets`, and bursts are rarer by that.
        let mean = self.faults.burst_packets.max(1.0);
        let loss = self.faults.loss;
        let begins = loss / (mean * (1.0 - loss) + loss).max(f64::MIN_POSITIVE);
        if !self.random.chance(begins) {
            return false;
        }
        while self.random.chance(1.0 - 1.0 / mean) {
            self.burst_left += 1;
        }
        true
    }

    fn release(&mut self, now_ns: u64, received: u64) {
        while let Some(index) = self.held.iter().position(|(at, _)| *at <= received) {
            let (_, bytes) = self.held.remove(index);
            self.deliver(now_ns, bytes);
        }
    }

    fn deliver(&mut self, now_ns: u64, bytes: Vec<u8>) {
        let jitter_ns = self.faults.jitter.as_nanos() as u64;
        let jitter_ns = match jitter_ns {
            0 => 0,
            most => self.random.below(most),
        };
        let due_ns = now_ns + self.faults.delay.as_nanos() as u64 + jitter_ns;
        self.last_due_ns = self.last_due_ns.max(due_ns);
        self.sequence += 1;
        self.under_way.push(Reverse(UnderWay {
            due_ns: self.last_due_ns,
            sequence: self.sequence,
            bytes,
        }));
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// True in a share of the cases.
    fn chance(&mut self, share: f64) -> bool {
        share > 0.0 && ((self.next() >> 11) as f64) < share * (1_u64 << 53) as f64
    }
}

/// Bytes of a packet that are never changed: without its addresses it would not arrive.
const LINK_BYTES: usize = 14;

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u32) -> Vec<u8> {
        let mut packet = vec![0; 64];
        packet[60..].copy_from_slice(&number.to_be_bytes());
        packet
    }

    /// All packets that come out of `count`, a microsecond apart.
    fn run(faults: Faults, count: u32) -> (Vec<Vec<u8>>, Counts) {
        let mut impaired = Impaired::new(faults);
        let mut out = Vec::new();
        for number in 0..count {
            let now_ns = u64::from(number) * 1000;
            impaired.push(now_ns, &packet(number));
            while let Some(packet) = impaired.pop(now_ns) {
                out.push(packet);
            }
        }
        impaired.release_held(u64::from(count) * 1000);
        while let Some(packet) = impaired.pop(u64::MAX) {
            out.push(packet);
        }
        (out, impaired.counts())
    }

    /// Within five standard deviations of a binomial's mean, for a fixed seed.
    fn assert_share(count: u64, of: u64, share: f64) {
        let expected = of as f64 * share;
        let deviation = (of as f64 * share * (1.0 - share)).sqrt();
        let difference = (count as f64 - expected).abs();
        assert!(difference < 5.0 * deviation, "{count} of {of}, not {share}");
    }

    #[test]
    fn without_faults_all_pass_in_order() {
        let (out, counts) = run(Faults::default(), 1000);
        assert!(out.iter().eq(&(0..1000).map(packet).collect::<Vec<_>>()));
        assert_eq!((counts.received, counts.sent), (1000, 1000));
    }

    #[test]
    fn shares_are_as_asked_and_repeat() {
        let faults = Faults {
            loss: 0.1,
            reorder: 0.05,
            duplicate: 0.02,
            corrupt: 0.03,
            jitter: Duration::from_micros(50),
            ..Faults::default()
        };
        let (out, counts) = run(faults.clone(), 100_000);
        assert_share(counts.lost, 100_000, 0.1);
        assert_share(counts.duplicated, 90_000, 0.02);
        assert_share(counts.reordered, 90_000, 0.05);
        assert_share(counts.corrupted, 90_000, 0.03);
        assert_eq!(counts.sent, 100_000 - counts.lost + counts.duplicated);
        assert_eq!(out.len() as u64, counts.sent);
        assert_eq!(run(faults.clone(), 100_000), (out.clone(), counts));
        assert_ne!(run(Faults { seed: 2, ..faults }, 100_000).0, out);
    }

    #[test]
    fn a_corrupt_packet_differs_by_one_bit() {
        let faults = Faults {
            corrupt: 1.0,
            ..Faults::default()
        };
        let (out, _) = run(faults, 1000);
        for (number, found) in (0..).zip(&out) {
            let sent = packet(number);
            let bits = sent.iter().zip(found).map(|(a, b)| (a ^ b).count_ones());
            assert_eq!(bits.sum::<u32>(), 1);
            assert_eq!(sent[..LINK_BYTES], found[..LINK_BYTES]);
        }
    }

    #[test]
    fn losses_come_in_bursts() {
        let faults = Faults {
            loss: 0.2,
            burst_packets: 8.0,
            ..Faults::default()
        };
        let (out, counts) = run(faults, 200_000);
        // A burst's length varies by about its mean: the count's deviation is some 4 times the
        // independent one's.
        let share = counts.lost as f64 / 200_000.0;
        assert!((share - 0.2).abs() < 0.02, "{share}");
        let numbers = out
            .iter()
            .map(|packet| u32::from_be_bytes(packet[60..].try_into().expect("a number")));
        let numbers: Vec<u32> = numbers.collect();
        let bursts = numbers.windows(2).filter(|pair| pair[1] > pair[0] + 1);
        let mean = counts.lost as f64 / bursts.count() as f64;
        assert!((mean - 8.0).abs() < 1.5, "{mean}");
    }

    #[test]
    fn a_late_packet_is_overtaken_by_as_many() {
        let faults = Faults {
            reorder: 0.01,
            reorder_packets: 5,
            ..Faults::default()
        };
        let (out, counts) = run(faults, 10_000);
        let numbers = out
            .iter()
            .map(|packet| u32::from_be_bytes(packet[60..].try_into().expect("a number")));
        let mut numbers: Vec<u32> = numbers.collect();
        assert!(!numbers.is_sorted());
        let late = numbers.windows(2).filter(|pair| pair[1] < pair[0]);
        assert_eq!(late.count() as u64, counts.reordered);
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..10_000));
    }

    #[test]
    fn packets_take_their_time() {
        let mut impaired = Impaired::new(Faults {
            delay: Duration::from_millis(2),
            jitter: Duration::from_millis(3),
            ..Faults::default()
        });
        for number in 0..100 {
            impaired.push(1_000_000, &packet(number));
        }
        assert_eq!(impaired.pop(2_999_999), None);
        let mut count = 0;
        while let Some(found) = impaired.pop(6_000_000) {
            assert_eq!(found, packet(count));
            count += 1;
        }
        assert_eq!(count, 100);
    }
}
