//! Work on many items, on all cores.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The number of cores.
pub fn cores() -> NonZero<usize> {
    thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN)
}

/// The results of a function for each item, in the order of the items, computed
/// on at most `threads` threads. A thread takes the next item when it is done
/// with one.
pub fn map<T: Sync, R: Send>(
    items: &[T],
    threads: NonZero<usize>,
    of: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let made = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        while let Some((index, item)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            items.get(index).map(|item| (index, item))
        } {
            let result = of(item);
            if let Ok(mut made) = made.lock() {
                made.push((index, result));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.get().min(items.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut made = made.into_inner().unwrap_or_default();
    made.sort_by_key(|(index, _)| *index);
    made.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        let items: Vec<u32> = (0..100).collect();
        for threads in [1, 2, 7, 200] {
            let threads = NonZero::new(threads).expect("not 0");
            let squares = map(&items, threads, |item| item * item);
            assert!(
                squares
                    .iter()
                    .zip(&items)
                    .all(|(square, item)| *square == item * item)
            );
            assert_eq!(squares.len(), items.len());
        }
        assert!(map(&[0; 0], cores(), |item| *item).is_empty());
    }
}
