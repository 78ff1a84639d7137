//! Does the time that `weir-crypto` takes depend on a secret? Keys, and payloads
//! before they are encrypted, are declared undefined to valgrind's memcheck,
//! which then reports every branch and every address that depends on them.
//!
//! ```text
//! key, salt, integrity key  ── poisoned ──►  key set-up
//! payload                   ── poisoned ──►  seal  ──►  IV, payload, tag: published
//! IV, payload, tag          ── public ────►  open  ──►  verdict: published by the crate
//! ```
//!
//! `weir-constant-time` runs every suite and MAC, and fails where
//! memcheck reports anything; `weir-constant-time NAME` those whose names contain NAME.
//! `weir-constant-time planted` does what code must
//! not do and fails where memcheck does not report it. Both need valgrind and
//! are started by `.ci/constant-time`, once per CPU tier that valgrind knows.

#![deny(unsafe_code)]

mod headers;
mod packets;
mod planted;
mod secret;

use std::process::ExitCode;

use weir_crypto::memcheck;

/// Something to do with secrets.
struct Case {
    name: String,
    run: Box<dyn Fn()>,
}

impl Case {
    fn new(name: impl Into<String>, run: impl Fn() + 'static) -> Case {
        Case {
            name: name.into(),
            run: Box::new(run),
        }
    }

    /// How many times memcheck reported something meanwhile.
    fn reports(&self) -> usize {
        let before = memcheck::errors();
        (self.run)();
        memcheck::errors() - before
    }
}

fn main() -> ExitCode {
    if !memcheck::is_running() {
        eprintln!("weir-constant-time: valgrind is not running: start this by .ci/constant-time");
        return ExitCode::from(2);
    }
    if let Err(error) = weir_simd::force_from_environment() {
        eprintln!("weir-constant-time: {error}");
        return ExitCode::from(2);
    }
    let passed = match std::env::args().nth(1).as_deref() {
        Some("planted") => run_planted(),
        name => run_all(name.unwrap_or_default()),
    };
    if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Nothing may be reported of the cases whose names contain `name`.
fn run_all(name: &str) -> bool {
    println!("tier {}; {}", weir_simd::tier(), instructions());
    let mut cases = packets::cases();
    cases.extend(headers::cases());
    cases.retain(|case| case.name.contains(name));
    let mut leaks = 0;
    for case in &cases {
        let reports = case.reports();
        if reports > 0 {
            println!("{}: depends on a secret, {reports} reports", case.name);
            leaks += 1;
        }
    }
    println!("{} cases, {leaks} depend on a secret", cases.len());
    leaks == 0 && !cases.is_empty()
}

/// Everything must be reported.
fn run_planted() -> bool {
    let mut cases = planted::cases();
    cases.extend(packets::exceptions());
    let mut missed = 0;
    for case in &cases {
        let reports = case.reports();
        println!("{}: {reports} reports", case.name);
        missed += usize::from(reports == 0);
    }
    missed == 0
}

/// The instructions by which kernels and other crates choose their code, as this
/// processor, or what valgrind makes of it, has them.
#[cfg(target_arch = "x86_64")]
fn instructions() -> String {
    let has = |name, there| format!("{}{name}", if there { "" } else { "no " });
    [
        has("aes", is_x86_feature_detected!("aes")),
        has("pclmulqdq", is_x86_feature_detected!("pclmulqdq")),
        has("avx2", is_x86_feature_detected!("avx2")),
        has("sha", is_x86_feature_detected!("sha")),
        has("avx512f", is_x86_feature_detected!("avx512f")),
    ]
    .join(", ")
}

#[cfg(not(target_arch = "x86_64"))]
fn instructions() -> String {
    std::env::consts::ARCH.into()
}
