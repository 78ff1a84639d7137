//! Comparison of values with what is published.

use super::compare::agrees;
use super::*;

fn holds(published: &str, values: &[f64], tolerance_percent: f64) -> bool {
    agrees(&Claim::of(published), values, tolerance_percent)
}

#[test]
fn values_agree_within_rounding_and_tolerance() {
    assert!(holds("31.5", &[31.549], 0.0));
    assert!(!holds("31.5", &[31.56], 0.0));
    assert!(holds("100", &[114.9], 15.0));
    assert!(!holds("100", &[115.1], 15.0));
    assert!(holds("<4", &[3.9], 0.0));
    assert!(!holds("<4", &[4.0], 15.0));
    assert!(holds(">=88", &[88.0], 0.0));
    // Each number has to agree, and there has to be one.
    assert!(!holds("35 -> 85", &[35.0, 50.0], 15.0));
    assert!(!holds("35 -> 85", &[], 15.0));
    assert!(!holds("35", &[35.0, 85.0], 15.0));
    assert!(!holds("35", &[f64::NAN], 15.0));
}

#[test]
fn efforts_scale() {
    assert_eq!(Effort::Full.of(61_440), 61_440);
    assert_eq!(Effort::Short.of(61_440), 6_144);
}
