//! Point queries of a Count-Min sketch (equation 6.4): the least of a key's
//! counters.

use super::{Hashing, row};
use crate::stream_processor::applications::broadcast;
use crate::stream_processor::applications::lanes::Lanes;
use crate::stream_processor::applications::tree::Tree;
use crate::stream_processor::kernel::{BuildError, Builder, Kernel, Over, Value};

/// The estimates of keys, by 2-universal hash functions.
///
/// Every cluster reads its counter of each key, and a tree over clusters finds
/// the least; the estimate goes to the cluster that had the key.
pub fn query_2(clusters: usize) -> Result<Kernel, BuildError> {
    let mut k = Builder::new("sketch-query-2");
    let parameters = k.input("parameters", 1);
    let keys = k.input("keys", 1);
    let sketch = k.indexed("sketch");
    let estimates = k.output("estimates", 1);
    let function: Vec<Value> = (0..Hashing::Two.words())
        .map(|_| k.read(parameters)[0])
        .collect();
    let lanes = Lanes::new(clusters);
    let own = k.cluster_id();
    let tree = Tree::declare(&mut k, clusters);
    k.repeat(Over::records(keys).label("keys").pipeline(), &[], |k, _| {
        let keys = k.read(keys);
        let mut estimate = None;
        for source in 0..clusters as u32 {
            let key = broadcast(k, clusters, keys[0], source);
            let row = row(k, Hashing::Two, &function, key);
            let counter = lanes.read(k, sketch, row);
            let least = tree.fold(k, counter, |k, least, other| {
                let is_less = k.less(least, other);
                k.select(is_less, least, other)
            });
            estimate = Some(match estimate {
                None => least,
                Some(before) => {
                    let source = k.constant(source);
                    let is_own = k.equal(own, source);
                    k.select(is_own, least, before)
                }
            });
        }
        k.write(estimates, estimate.as_slice());
        vec![]
    });
    k.finish()
}
