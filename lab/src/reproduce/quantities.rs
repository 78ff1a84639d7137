//! Rows that are no independent evidence for each other.

/// Rows that measure one quantity: one modelled number in several units, a count
/// and its parts, or one mechanism at two sizes. Rows that are in no group
/// measure a quantity each.
pub(super) const GROUPS: [(&str, &[&str]); 12] = [
    (
        "scratchpad accesses of the AES core",
        &["imagine-006", "imagine-007", "imagine-008", "imagine-009"],
    ),
    (
        "cycles of the AES key expansion",
        &["imagine-020", "imagine-021", "imagine-033"],
    ),
    (
        "AES, single stream of 96 blocks",
        &["imagine-026", "imagine-027"],
    ),
    (
        "SRF bandwidth of AES with a key for each packet",
        &["imagine-036", "imagine-040"],
    ),
    (
        "AES with the lengths of the AIX trace",
        &["imagine-043", "imagine-046"],
    ),
    (
        "MMH loop, one iteration and pipelined",
        &["imagine-057", "imagine-058"],
    ),
    ("lengths of Snort patterns", &["imagine-068", "imagine-069"]),
    (
        "time of inspection with tabulation over shift-add-xor",
        &["imagine-074", "imagine-075", "imagine-text-03"],
    ),
    (
        "index assist for tabulation",
        &["imagine-076", "imagine-077"],
    ),
    (
        "sketch update, 2-universal",
        &["imagine-080", "imagine-081", "imagine-082", "imagine-085"],
    ),
    (
        "sketch update, 4-universal",
        &["imagine-083", "imagine-084", "imagine-086"],
    ),
    (
        "load of sketches from memory",
        &["imagine-087", "imagine-088"],
    ),
];

/// The quantity of a row, if it shares one.
pub(super) fn group_of(id: &str) -> Option<&'static str> {
    let group = GROUPS.iter().find(|(_, ids)| ids.contains(&id));
    group.map(|(quantity, _)| *quantity)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::GROUPS;
    use crate::reproduce::published;

    #[test]
    fn groups_have_rows_of_the_table_once() {
        let rows: BTreeSet<String> = published().into_iter().map(|row| row.id).collect();
        let mut seen = BTreeSet::new();
        for (quantity, ids) in GROUPS {
            assert!(ids.len() > 1, "{quantity}");
            for id in ids {
                assert!(rows.contains(*id), "{id}");
                assert!(seen.insert(*id), "{id} is in two groups");
            }
        }
    }
}
