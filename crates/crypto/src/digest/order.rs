//! The order in which messages take lanes.

/// Calls `each` for those of `jobs` that have a length, with their index, the
/// longest of any 64 neighbours first, so that lanes end at about the same time.
pub(crate) fn longest_first<'a, T>(
    jobs: &'a mut [T],
    bytes: impl Fn(&T) -> Option<u64>,
    mut each: impl FnMut(usize, &'a mut T),
) {
    for (chunk, neighbours) in jobs.chunks_mut(NEIGHBOURS).enumerate() {
        let mut order = [0; NEIGHBOURS];
        let mut places = [const { None }; NEIGHBOURS];
        let mut count = 0;
        for (place, job) in neighbours.iter_mut().enumerate() {
            if let Some(bytes) = bytes(job) {
                // Negated, so that equal lengths are in order already.
                let key = !u32::try_from(bytes).unwrap_or(u32::MAX);
                order[count] = u64::from(key) << 32 | place as u64;
                places[place] = Some(job);
                count += 1;
            }
        }
        let order = &mut order[..count];
        order.sort_unstable();
        for key in order {
            let place = *key as u32 as usize;
            if let Some(job) = places[place].take() {
                each(chunk * NEIGHBOURS + place, job);
            }
        }
    }
}

/// Enough to fill the lanes several times over, few enough to sort in passing.
const NEIGHBOURS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_with_a_length_comes_once_and_the_longest_first() {
        for count in [0, 1, 2, 63, 64, 65, 300] {
            let mut jobs: Vec<u64> = (0..count).map(|i| (i * 7919) % 97).collect();
            let mut came: Vec<u64> = Vec::new();
            let odd = |bytes: &u64| (bytes % 2 == 1).then_some(*bytes);
            let unsorted = jobs.clone();
            longest_first(&mut jobs, odd, |index, bytes| {
                assert_eq!(*bytes, unsorted[index]);
                came.push(*bytes);
            });
            let mut expected = Vec::new();
            for neighbours in jobs.chunks(64) {
                let mut odd: Vec<u64> = neighbours.iter().filter_map(odd).collect();
                odd.sort_unstable_by(|a, b| b.cmp(a));
                expected.append(&mut odd);
            }
            assert_eq!(came, expected);
        }
    }
}
