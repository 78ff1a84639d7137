//! How packets of real lengths fill clusters (figures 2.3, 2.4 and 8.4 of the
//! thesis): no kernel runs, only blocks are counted.
//!
//! Blocks of a packet lie across clusters, and the last row of a packet is
//! filled with blocks that nobody needs.

use std::collections::BTreeMap;

/// Packets by their lengths in blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    block_bytes: u32,
    packets_by_blocks: BTreeMap<u64, u64>,
    packets: u64,
    bytes: u64,
}

/// Clusters that work on packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// The clusters.
    pub clusters: u64,
    /// The share of clusters with a block of the packet, on average over
    /// packets.
    pub efficiency: f64,
    /// The share of clusters with a block, over all rows.
    pub utilisation: f64,
    /// Share of what is stored that is padding.
    pub padding: f64,
    /// How many times as fast as one cluster.
    pub speedup: f64,
}

impl Lengths {
    /// No packets; blocks of `block_bytes` bytes, at least 1.
    pub fn new(block_bytes: u32) -> Lengths {
        Lengths {
            block_bytes: block_bytes.max(1),
            ..Lengths::default()
        }
    }

    /// Packets of lengths in bytes, each with its share.
    pub fn of(block_bytes: u32, shares: &[(u32, u64)]) -> Lengths {
        let mut lengths = Lengths::new(block_bytes);
        for &(bytes, packets) in shares {
            lengths.add(bytes, packets);
        }
        lengths
    }

    /// Adds packets of one length; those without bytes have no blocks and are
    /// left out.
    pub fn add(&mut self, bytes: u32, packets: u64) {
        if bytes == 0 || packets == 0 {
            return;
        }
        let blocks = u64::from(bytes.div_ceil(self.block_bytes));
        *self.packets_by_blocks.entry(blocks).or_default() += packets;
        self.packets += packets;
        self.bytes += u64::from(bytes) * packets;
    }

    /// Packets with blocks.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes of all packets.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lengths in blocks, and how many packets have each.
    pub fn by_blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        self.packets_by_blocks
            .iter()
            .map(|(&blocks, &packets)| (blocks, packets))
    }

    /// How a number of clusters is filled; none without packets or clusters.
    pub fn filling(&self, clusters: u64) -> Option<Filling> {
        if self.packets == 0 || clusters == 0 {
            return None;
        }
        let (mut blocks, mut rows, mut shares) = (0.0, 0.0, 0.0);
        for (of_packet, packets) in self.by_blocks() {
            let rows_of_packet = of_packet.div_ceil(clusters);
            let packets = packets as f64;
            blocks += packets * of_packet as f64;
            rows += packets * rows_of_packet as f64;
            shares += packets * of_packet as f64 / (rows_of_packet * clusters) as f64;
        }
        let stored = rows * clusters as f64 * f64::from(self.block_bytes);
        Some(Filling {
            clusters,
            efficiency: shares / self.packets as f64,
            utilisation: blocks / (rows * clusters as f64),
            padding: 1.0 - self.bytes as f64 / stored,
            speedup: blocks / rows,
        })
    }
}

/// IPv4 packet lengths with the published statistics of the thesis's trace
/// AIX-1054837521-1 (2.6.2.1 and 8.1.1): 44.6 % below 64 bytes, half below 128, 31 %
/// above 1000, 22 % of 1500 bytes. The rest is as short as that allows, for the
/// packets of 1500 bytes carry three quarters of all bytes there, and two thirds
/// here. Shares are in parts of 1000.
pub fn aix_like() -> Vec<(u32, u64)> {
    let mut lengths = vec![(40, 330), (52, 116), (96, 54), (1500, 220)];
    lengths.extend((0..19).map(|step| (130 + 10 * step, 10)));
    lengths.extend((0..9).map(|step| (1001 + 10 * step, 10)));
    lengths
}

/// The same for TXG-1054945463-1 (2.2): 21.3 % below 64 bytes, 32 % above 1000. The
/// rest is spread evenly between.
pub fn txg_like() -> Vec<(u32, u64)> {
    let mut lengths = vec![(40, 150), (52, 63), (1500, 320), (1000, 7)];
    lengths.extend((0..46).map(|step| (64 + 20 * step, 10)));
    lengths
}

/// N packets with the lengths of [`aix_like`], mixed; deterministic.
pub fn trace_like(packets: usize) -> Vec<u32> {
    let lengths = aix_like();
    let total: u64 = lengths.iter().map(|(_, share)| share).sum();
    (0..packets as u64)
        .filter_map(|step| {
            // A permutation of the shares.
            let mut place = step * 619 % total;
            let found = lengths.iter().find(|(_, share)| {
                let is_here = place < *share;
                place = place.wrapping_sub(*share);
                is_here
            });
            found.map(|(length, _)| *length)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_of_few_packets() {
        let mut lengths = Lengths::new(16);
        // 4 blocks, and 94 of which the last has 12 bytes.
        lengths.add(64, 1);
        lengths.add(1500, 1);
        lengths.add(0, 7);
        assert_eq!((lengths.packets(), lengths.bytes()), (2, 1564));
        let eight = lengths.filling(8).expect("packets");
        assert!((eight.efficiency - (4.0 / 8.0 + 94.0 / 96.0) / 2.0).abs() < 1e-12);
        assert!((eight.utilisation - 98.0 / 104.0).abs() < 1e-12);
        assert!((eight.speedup - 98.0 / 13.0).abs() < 1e-12);
        assert!((eight.padding - (1.0 - 1564.0 / (13.0 * 128.0))).abs() < 1e-12);
        let one = lengths.filling(1).expect("packets");
        assert_eq!((one.efficiency, one.speedup), (1.0, 1.0));
    }

    #[test]
    fn more_clusters_are_filled_less() {
        let mut lengths = Lengths::new(16);
        for bytes in 1..2000 {
            lengths.add(bytes, u64::from(bytes % 7));
        }
        let fillings: Vec<Filling> = (0..=6)
            .filter_map(|log2| lengths.filling(1 << log2))
            .collect();
        for pair in fillings.windows(2) {
            assert!(pair[1].efficiency < pair[0].efficiency);
            assert!(pair[1].speedup > pair[0].speedup);
            assert!(pair[1].speedup <= pair[1].clusters as f64);
        }
        assert_eq!(Lengths::new(16).filling(8), None);
        assert_eq!(lengths.filling(0), None);
    }

    #[test]
    fn substituted_traces_have_the_published_statistics() {
        let packets = |lengths: &[(u32, u64)], least: u32, most: u32| -> u64 {
            let some = lengths.iter().filter(|(it, _)| (least..=most).contains(it));
            some.map(|(_, share)| share).sum()
        };
        let aix = aix_like();
        assert_eq!(packets(&aix, 0, u32::MAX), 1000);
        assert_eq!(packets(&aix, 0, 63), 446);
        assert_eq!(packets(&aix, 0, 127), 500);
        assert_eq!(packets(&aix, 1001, u32::MAX), 310);
        assert_eq!(packets(&aix, 1500, 1500), 220);
        let bytes = |lengths: &[(u32, u64)]| -> u64 {
            lengths
                .iter()
                .map(|&(it, share)| u64::from(it) * share)
                .sum()
        };
        let small: Vec<(u32, u64)> = aix.iter().filter(|it| it.0 < 128).copied().collect();
        assert!(bytes(&small) * 100 < 6 * bytes(&aix));
        let txg = txg_like();
        assert_eq!(packets(&txg, 0, u32::MAX), 1000);
        assert_eq!(packets(&txg, 0, 63), 213);
        assert_eq!(packets(&txg, 1001, u32::MAX), 320);
    }
}
