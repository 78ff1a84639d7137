//! How full the lanes were.

use std::ops::AddAssign;

/// How many lanes of a batch's vectors held a block of a packet, and how many
/// there were: one count per lane and per block that went through the cipher,
/// with the block that masks the tag. Lanes that are counted but not filled ran
/// along on nothing.
///
/// This is the efficiency of Y.-K. Lai, Packet Processing on Stream Architecture
/// (dissertation, North Carolina State University), section 2.2: "the average
/// ratio of the number of clusters processing valid data over the total number
/// of clusters involved (the clusters working on valid data + the clusters
/// working on null data)", with lanes for clusters. A kernel of one block per
/// register has nothing to leave empty.
///
/// Packets of AES-GCM are counted; those of other suites add nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LaneUse {
    /// Lanes that held a block.
    pub filled: u64,
    /// Lanes of all vectors.
    pub offered: u64,
}

impl LaneUse {
    /// The share of lanes that were filled, in `0.0..=1.0`; `None` where no
    /// vector was processed.
    pub fn efficiency(self) -> Option<f64> {
        (self.offered > 0).then(|| self.filled as f64 / self.offered as f64)
    }
}

impl AddAssign for LaneUse {
    fn add_assign(&mut self, other: LaneUse) {
        self.filled += other.filled;
        self.offered += other.offered;
    }
}
