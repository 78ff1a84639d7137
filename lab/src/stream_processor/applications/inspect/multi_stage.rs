//! A multi-stage filter (5.4.3): every cluster is a stage with counters in its
//! lane, and a flow is large whose counter is large in all stages.

use super::QUERIES;
use super::query::append;
use crate::stream_processor::applications::broadcast;
use crate::stream_processor::applications::lanes::Lanes;
use crate::stream_processor::applications::sketch::{self, Hashing};
use crate::stream_processor::applications::tree::Tree;
use crate::stream_processor::kernel::{BuildError, Builder, Kernel, Over, Value};

/// Adds the bytes of packets to their flows' counters, and tells for each
/// packet whether its flow has reached the scalar `threshold` in all stages: a
/// bit each for 32 packets, the latest lowest.
///
/// Its inputs are the parameters of a 2-universal function for each cluster,
/// word by word, and packets as records of flow and bytes.
pub fn multi_stage(clusters: usize) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("multi-stage-filter");
    let parameters = k.input("parameters", Hashing::Two.words() as u32);
    let packets = k.input("packets", 2);
    let counters = k.indexed("counters");
    let large = k.output("large", 1);
    let threshold = k.scalar_parameter("threshold");
    let function = k.read(parameters);
    let tree = Tree::declare(&mut k, clusters);
    let threshold = k.scalar(threshold);
    let (zero, one) = (k.constant(0), k.constant(1));
    let rows = QUERIES / clusters;
    let lanes = Lanes::new(clusters);
    k.repeat(
        Over::several_records(packets, rows as u32).label("packets"),
        &[],
        |k, _| {
            let mut results: Option<Value> = None;
            for _ in 0..rows {
                let record = k.read(packets);
                for source in 0..clusters as u32 {
                    let flow = broadcast(k, clusters, record[0], source);
                    let bytes = broadcast(k, clusters, record[1], source);
                    let row = sketch::row(k, Hashing::Two, &function, flow);
                    let sum = lanes.count(k, counters, row, bytes);
                    let is_small = k.less(sum, threshold);
                    let bit = k.select(is_small, zero, one);
                    results = Some(append(k, results, bit));
                }
            }
            if let Some(word) = results {
                let agreed = tree.fold(k, word, Builder::and);
                k.write(large, &[agreed]);
            }
            vec![]
        },
    );
    k.finish()
}
