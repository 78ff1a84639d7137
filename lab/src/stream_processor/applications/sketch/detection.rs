//! The kernels of change detection that the others lack (6.5): moments of an error
//! sketch, and alarms.

use super::COUNTERS;
use crate::stream_processor::applications::lanes::Lanes;
use crate::stream_processor::applications::tree::Tree;
use crate::stream_processor::kernel::{BuildError, Builder, Kernel, Over};

/// What each cluster's array of a sketch adds up to: the squares of its counters,
/// lower word first, and the counters. They are numbers with a sign.
pub fn moments() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("sketch-moments");
    let sketch = k.input("sketch", 1);
    let sums = k.output("sums", 3);
    let zero = k.constant(0);
    let over = Over::records(sketch).label("counters").pipeline();
    let totals = k.repeat(over, &[zero; 3], |k, carried| {
        let counter = k.read(sketch)[0];
        let sign = k.shift_right_signed(counter, 31);
        let flipped = k.xor(counter, sign);
        let size = k.sub(flipped, sign);
        let squares = k.multiply_accumulate([carried[0], carried[1]], size, size);
        vec![squares[0], squares[1], k.add(carried[2], counter)]
    });
    k.write(sums, &totals);
    k.finish()
}

/// Whether the median of a key's counters is above the scalar `bound`: so many bits
/// as there are clusters for a record of rows, the last key's lowest. The median is
/// above where more than half of the counters are.
pub fn alarms(clusters: usize) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("sketch-alarms");
    let rows = k.input("rows", clusters as u32);
    let sketch = k.indexed("sketch");
    let alarms = k.output("alarms", 1);
    let bound = k.scalar_parameter("bound");
    let bound = k.scalar(bound);
    let lanes = Lanes::new(clusters);
    let (zero, one, half) = (
        k.constant(0),
        k.constant(1),
        k.constant(clusters as u32 / 2),
    );
    // Whatever a row is, it names a counter.
    let mask = k.constant(COUNTERS - 1);
    // Numbers with a sign compare as those without when it is turned over.
    let sign = k.constant(1 << 31);
    let bound = k.xor(bound, sign);
    let tree = Tree::declare(&mut k, clusters);
    k.repeat(Over::records(rows).label("keys"), &[], |k, _| {
        let rows = k.read(rows);
        let mut word = zero;
        for row in rows {
            let row = k.and(row, mask);
            let counter = lanes.read(k, sketch, row);
            let counter = k.xor(counter, sign);
            let is_above = k.less(bound, counter);
            let vote = k.select(is_above, one, zero);
            let votes = tree.fold(k, vote, Builder::add);
            let is_alarm = k.less(half, votes);
            let alarm = k.select(is_alarm, one, zero);
            let earlier = k.shift_left(word, 1);
            word = k.or(earlier, alarm);
        }
        k.write(alarms, &[word]);
        vec![]
    });
    k.finish()
}

/// The bound of [`alarms`] for estimates above `factor` times the root of the second
/// moment (equations 6.7 to 6.9), from the sums of [`moments`], three words of each
/// cluster.
pub fn bound(sums: &[u32], factor: f64) -> u32 {
    let counters = f64::from(COUNTERS);
    let (words, _) = sums.as_chunks::<3>();
    let mut second_moments: Vec<f64> = words
        .iter()
        .map(|&[low, high, sum]| {
            let squares = (u64::from(high) << 32 | u64::from(low)) as f64;
            let sum = f64::from(sum as i32);
            (counters * squares - sum * sum) / (counters - 1.0)
        })
        .collect();
    second_moments.sort_by(f64::total_cmp);
    let (Some(&[_, _, sum]), Some(&median)) = (
        words.first(),
        second_moments.get(second_moments.len().saturating_sub(1) / 2),
    ) else {
        return 0;
    };
    let threshold = factor * median.max(0.0).sqrt();
    let bound = threshold * (1.0 - 1.0 / counters) + f64::from(sum as i32) / counters;
    bound.floor() as i32 as u32
}
