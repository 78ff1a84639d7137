//! The kernels as they were committed: those of AES before the machine was
//! calibrated on them; those of inspection, OCB, queries and the other layouts of
//! AES before they were scheduled for it; the others after the calibration. A change
//! here is a change of a kernel: list it with its reason in a decision record, as
//! docs/decisions/0043 and 0066 do.

use super::kernels;

#[test]
fn kernels_have_the_names_that_are_listed() {
    for entry in kernels() {
        for clusters in [1, 8] {
            let kernel = (entry.build)(clusters).expect("a kernel");
            assert_eq!(kernel.name(), entry.name);
        }
    }
}

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
            ("aes-key-expansion-cached", 64),
            ("aes-core", 122),
            ("aes-core-dual", 206),
            ("aes-final-round", 111),
            ("aes-final-round-dual", 203),
            ("aes-core-per-cluster", 102),
            ("aes-final-round-per-cluster", 106),
            ("aes-core-merged", 141),
            ("aes-final-round-merged", 130),
            ("ocb-nonce", 16),
            ("ocb-parameters", 178),
            ("ocb-offsets", 267),
            ("ocb-enter", 31),
            ("ocb-enter-on-the-fly", 141),
            ("ocb-leave", 87),
            ("mmh-level-1-keys", 5),
            ("mmh-level-2-keys", 5),
            ("mmh-level-1s", 100),
            ("mmh-level-1", 98),
            ("mmh-level-2", 24),
            ("inspect-filter", 5),
            ("inspect-first-1", 284),
            ("inspect-first-2", 2208),
            ("inspect-1-shift-add-xor", 365),
            ("inspect-2-shift-add-xor", 1686),
            ("inspect-1-tabulation", 149),
            ("inspect-2-tabulation", 1366),
            ("inspect-2-tabulation-index", 1302),
            ("inspect-2-tabulation-bits", 789),
            ("inspect-1-h1", 705),
            ("inspect-2-h1", 3676),
            ("inspect-2-lane", 1942),
            ("inspect-2-memory", 1535),
            ("inspect-query", 795),
            ("multi-stage-filter", 1155),
            ("sketch-update-2", 268),
            ("sketch-update-4", 708),
            ("sketch-update-2-groups", 278),
            ("sketch-query-2", 333),
            ("sketch-combine", 4),
            ("sketch-forecast", 8),
            ("sketch-error", 4),
            ("sketch-update-4-rows", 716),
            ("sketch-moments", 12),
            ("sketch-alarms", 158),
        ]
    );
}
