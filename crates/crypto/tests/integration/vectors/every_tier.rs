//! The tests of this module again under each narrower tier.

use std::process::Command;
use weir_simd::{FORCE_TIER, REQUIRE_TIERS, Tier, for_each_tier, tier};

/// Packets are processed by the tier of their process, so every other tier needs a process.
/// Where a tier is forced already, the caller runs the others.
#[test]
fn all_of_this_holds_under_every_tier() {
    if std::env::var_os(FORCE_TIER).is_some_and(|forced| !forced.is_empty()) {
        println!(
            "{FORCE_TIER} forces {}: no other tier is tested here",
            tier()
        );
        return;
    }
    for_each_tier(|narrower| {
        if narrower < tier() {
            passes_under(narrower);
        }
    });
}

fn passes_under(tier: Tier) {
    let program = std::env::current_exe().expect("a test knows its program");
    let run = Command::new(program)
        .arg("vectors::")
        .env(FORCE_TIER, tier.name())
        .env_remove(REQUIRE_TIERS)
        .output()
        .expect("the program starts");
    assert!(
        run.status.success(),
        "under {tier}:\n{}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
}
