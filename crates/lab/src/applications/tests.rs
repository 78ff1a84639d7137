//! The kernels as they were committed: those of AES before the machine was
//! calibrated on them, the others after they had been scheduled for it, when
//! nothing was calibrated any more. A change here is a change of a kernel, and is
//! told with its reason.

use super::kernels;

#[test]
fn operation_counts_are_as_committed() {
    let counts: Vec<(&str, u32)> = kernels()
        .iter()
        .map(|entry| {
            let kernel = (entry.build)(8).expect("a kernel");
            (entry.name, kernel.counts().total())
        })
        .collect();
    assert_eq!(
        counts,
        [
            ("aes-table", 5),
            ("aes-key-expansion", 63),
            ("aes-key-expansion-dual", 108),
            ("aes-core", 122),
            ("aes-core-dual", 206),
            ("aes-final-round", 111),
            ("aes-final-round-dual", 203),
            ("mmh-level-1-keys", 5),
            ("mmh-level-2-keys", 5),
            ("mmh-level-1s", 100),
            ("mmh-level-1", 98),
            ("mmh-level-2", 24),
            ("sketch-update-2", 269),
            ("sketch-update-4", 709),
            ("sketch-combine", 4),
            ("sketch-forecast", 8),
            ("sketch-error", 4),
        ]
    );
}
