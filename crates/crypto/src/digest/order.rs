//! The order in which messages take lanes.

/// Calls `each` for all of `jobs`, the longest of any 256 neighbours first, so
/// that lanes end at about the same time.
pub(crate) fn longest_first<'a, T>(
    jobs: &'a mut [T],
    bytes: impl Fn(&T) -> usize,
    mut each: impl FnMut(&'a mut T),
) {
    for neighbours in jobs.chunks_mut(NEIGHBOURS) {
        let mut order = [(0, 0u8); NEIGHBOURS];
        let mut places = [const { None }; NEIGHBOURS];
        let count = neighbours.len();
        for (((key, place), job), index) in order
            .iter_mut()
            .zip(&mut places)
            .zip(neighbours)
            .zip(0..=u8::MAX)
        {
            // Negated, so that equal lengths are in order already.
            *key = (!bytes(job), index);
            *place = Some(job);
        }
        let order = &mut order[..count];
        order.sort_unstable();
        for (_, index) in order {
            if let Some(job) = places[usize::from(*index)].take() {
                each(job);
            }
        }
    }
}

/// As many as a byte can tell apart.
const NEIGHBOURS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_comes_once_and_the_longest_first() {
        for count in [0, 1, 2, 255, 256, 257, 700] {
            let mut jobs: Vec<usize> = (0..count).map(|i| (i * 7919) % 97).collect();
            let mut sorted: Vec<usize> = Vec::new();
            longest_first(&mut jobs, |&bytes| bytes, |&mut bytes| sorted.push(bytes));
            assert_eq!(sorted.len(), count);
            for (jobs, sorted) in jobs.chunks_mut(256).zip(sorted.chunks(256)) {
                jobs.sort_unstable_by(|a, b| b.cmp(a));
                assert_eq!(jobs, sorted);
            }
        }
    }
}
