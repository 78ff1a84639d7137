//! Is a difference to be measured between work on a secret that is always the
//! same and work on secrets that are not? (O. Reparaz, J. Balasch, I.
//! Verbauwhede, "Dude, is my code constant time?", DATE 2017.)
//!
//! Each row takes its turns in two classes, in random order: `fixed` with one
//! key and payload, `random` with new ones each time. Welch's t says by how many
//! standard errors the mean times differ. Keys are set up, and inputs brought
//! to the same place, before the clock starts. The last rows leak on purpose:
//! where those are not seen, neither would others be, and the run fails.
//!
//! Times are noisy, so this is a bench and no test: of a hundred rows one or two
//! differ by less than a thousandth, others in the next run. What is checked on
//! every change is the code itself, by `.ci/constant-time`. Arguments select rows by
//! what their names contain: `cargo bench -p weir-crypto --bench dudect -- avx512 gcm`.

mod subjects;
mod welch;

use std::process::ExitCode;

use subjects::Subject;
use welch::Verdict;

/// Turns of a row.
const TURNS: usize = 30_000;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    println!("{TURNS} turns a row; tiers up to {}", weir_simd::tier());
    let is_wanted = |subject: &Subject| wanted.iter().all(|part| subject.name.contains(part));
    for subject in subjects::of_the_crate().iter().filter(|s| is_wanted(s)) {
        row(subject);
    }
    let seen: Vec<bool> = subjects::planted()
        .iter()
        .map(|leak| row(leak) == Verdict::Seen)
        .collect();
    if seen.contains(&false) {
        println!("a planted leak was not seen: this machine is too noisy for a verdict");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn row(subject: &Subject) -> Verdict {
    let result = welch::compare((subject.turns)(TURNS));
    let verdict = result.verdict();
    println!(
        "{:<58} t {:>8.1}  {:>+8.2} of {:>8.1} ns  {verdict}",
        subject.name, result.t, result.difference_ns, result.random_ns
    );
    verdict
}
