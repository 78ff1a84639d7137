//! Every row is printed, and what was met stays met.

use super::*;

#[test]
fn every_row_has_a_verdict() {
    let rows = reproduce(&[], Effort::SHORT, |_, _| {}).expect("rows");
    assert_eq!(rows.len(), 103);
    for row in &rows {
        let id = &row.published.id;
        match row.verdict {
            Verdict::NotModelled | Verdict::ReferenceOnly => {
                assert!(row.modelled.is_none(), "{id}")
            }
            _ => assert!(row.modelled.is_some(), "{id}"),
        }
        let wants_reason = matches!(
            row.verdict,
            Verdict::Differs | Verdict::NotModelled | Verdict::SourceInconsistent
        );
        assert!(
            !wants_reason || !row.note.is_empty(),
            "{id} has no reason: {row:?}"
        );
        // A fitted row does not count, and all of them are of AES.
        assert!(!row.fitted || row.published.place.contains("2."), "{id}");
    }
    let fitted = rows.iter().filter(|row| row.fitted).count();
    assert_eq!(fitted, 10);
}

#[test]
fn a_row_that_is_not_there_is_named() {
    let error = reproduce(&["imagine-104".to_owned()], Effort::SHORT, |_, _| {});
    assert_eq!(
        error,
        Err(ReproduceError::Unknown("imagine-104".to_owned()))
    );
}
