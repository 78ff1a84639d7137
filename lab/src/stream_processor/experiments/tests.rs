//! Experiments find what has to be so.

use super::*;

fn findings(name: &str) -> Vec<Finding> {
    let machine = Machine::load("imagine", &[]).expect("a machine");
    let found = (experiment(name).expect("an experiment").run)(&machine).expect("findings");
    assert!(found.iter().all(|finding| finding.value.is_finite()));
    found
}

fn values(findings: &[Finding], setting: &str, quantity: &str) -> Vec<f64> {
    findings
        .iter()
        .filter(|it| it.setting.contains(setting) && it.quantity == quantity)
        .map(|it| it.value)
        .collect()
}

#[test]
fn what_waits_for_memory_is_faster_from_the_network() {
    let found = findings("network-interface");
    for name in ["aes", "mmh"] {
        let memory = values(
            &found,
            &format!("{name}, packets of 1536 bytes from memory"),
            "throughput",
        );
        let network = values(
            &found,
            &format!("{name}, packets of 1536 bytes from network"),
            "throughput",
        );
        assert!(
            network[0] >= 0.99 * memory[0],
            "{name}: {memory:?} {network:?}"
        );
    }
}

#[test]
fn larger_arrays_need_less_of_the_host() {
    let found = findings("stream-arrays");
    for name in ["aes", "mmh"] {
        let cycles = values(&found, name, "cycles per packet");
        assert_eq!(cycles.len(), 5);
        assert!(
            cycles.windows(2).all(|pair| pair[1] <= pair[0] * 1.001),
            "{cycles:?}"
        );
    }
}

#[test]
fn idle_clusters_save_energy() {
    let found = findings("hidden-clusters");
    let padded = values(&found, "", "energy of a busy cycle per block, padded");
    let off = values(
        &found,
        "",
        "energy of a busy cycle per block, idle clusters off",
    );
    assert_eq!(padded.len(), 6);
    assert!(padded.iter().zip(&off).all(|(padded, off)| off <= padded));
    // One cluster has a block always.
    assert!((padded[0] / off[0] - 1.0).abs() < 1e-12);
}

#[test]
fn smaller_groups_are_fuller() {
    let found = findings("multi-simd");
    let filled = values(&found, "", "cluster occupancy");
    assert_eq!(filled.len(), 4);
    assert!(
        filled.windows(2).all(|pair| pair[1] > pair[0]),
        "{filled:?}"
    );
}

#[test]
fn headers_scale_with_clusters() {
    let found = findings("several-headers");
    let cycles = values(&found, "", "cycles per key");
    assert!((cycles[0] / cycles[1] - 2.0).abs() < 0.1, "{cycles:?}");
    assert!((cycles[0] / cycles[2] - 4.0).abs() < 0.4, "{cycles:?}");
}

#[test]
fn updates_are_the_slowest_part_of_change_detection() {
    let found = findings("change-detection");
    let cycles = |part: &str| values(&found, part, "cycles per interval")[0];
    assert!(cycles("update") > 2.0 * cycles("forecast"));
    assert!(cycles("update") > 2.0 * cycles("detection"));
}

#[test]
fn sub_keys_that_stay_save_key_expansions() {
    let found = findings("sub-key-cache");
    let calls = values(&found, "", "packets per key expansion");
    assert!(calls.is_sorted(), "{calls:?}");
    let cycles = values(&found, "", "kernel cycles per packet");
    assert!(cycles.is_sorted_by(|one, other| one >= other), "{cycles:?}");
}

/// "The kernel run time remains the same" (5.2.1).
#[test]
fn more_functions_cost_no_time() {
    let found = findings("more-functions");
    let cycles = values(&found, "", "cycles per packet");
    assert!((cycles[1] / cycles[0] - 1.0).abs() < 0.15, "{cycles:?}");
    let decades = values(&found, "", "false positives, 2,000 patterns");
    assert!(decades[1] > 1.9 * decades[0], "{decades:?}");
}
