//! The instructions that candidates may use: all that the processor has, or those of
//! a CPU tier of Weir.
//!
//! Libraries read the limits from their environment when they start, some before
//! `main`. A limited run is therefore this program once more, with the environment
//! set.

use std::env;
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use clap::ValueEnum;

/// A tier that candidates can be limited to.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Limit {
    /// AES-NI, PCLMULQDQ, AVX2 and SHA instructions; no AVX-512, VAES, VPCLMULQDQ
    /// and GFNI.
    Aesni,
}

/// What OpenSSL and AWS-LC do not use: in the second 64 bits, which are EBX and ECX
/// of CPUID's leaf 7, the bits of AVX-512 (F, DQ, IFMA, PF, ER, CD, BW, VL; VBMI,
/// VBMI2, VNNI, BITALG, VPOPCNTDQ), GFNI, VAES and VPCLMULQDQ. Both have the format.
const CAPABILITIES: (&str, &str) = ("OPENSSL_ia32cap", "~0x0:~0x00005f42dc230000");

impl Limit {
    /// The tier's name, as [`weir_simd::FORCE_TIER`] takes it.
    fn name(self) -> &'static str {
        match self {
            Limit::Aesni => "aesni",
        }
    }

    fn variables(self) -> [(&'static str, &'static str); 2] {
        [(weir_simd::FORCE_TIER, self.name()), CAPABILITIES]
    }

    /// Whether this process is limited already.
    pub fn is_active(self) -> bool {
        let is_set = |(name, value)| env::var_os(name).is_some_and(|found| found == value);
        self.variables().into_iter().all(is_set)
    }

    /// Runs this program again, limited, with the same arguments.
    pub fn restart(self) -> Result<ExitStatus> {
        let program = env::current_exe().context("the path of this program is not known")?;
        Command::new(program)
            .args(env::args_os().skip(1))
            .envs(self.variables())
            .status()
            .context("this program cannot be started again")
    }
}

/// Why the prototypes in C are missing.
#[cfg(not(prototype))]
pub const PROTOTYPE_NOT_COMPILED: &str = "the C compiler has no AVX-512 for this target";
#[cfg(prototype)]
pub const PROTOTYPE_DOES_NOT_RUN: &str = "it needs AVX-512, VAES and VPCLMULQDQ";

/// Whether the processor, and the limit, allow the prototypes in C: the extensions
/// that the build enables for them.
#[cfg(prototype)]
pub fn prototype_runs() -> bool {
    !are_limited()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("bmi2")
}

/// The limit of this process.
fn limit() -> Option<Limit> {
    static LIMIT: OnceLock<Option<Limit>> = OnceLock::new();
    let find = || {
        let mut limits = Limit::value_variants().iter().copied();
        limits.find(|limit| limit.is_active())
    };
    *LIMIT.get_or_init(find)
}

/// Whether candidates are limited to a tier.
pub fn are_limited() -> bool {
    limit().is_some()
}

/// The name of the tier that candidates are limited to.
pub fn limited_to() -> Option<String> {
    limit().map(|limit| limit.name().to_owned())
}

/// Whether a limit has no effect on a subject: ring detects VAES and VPCLMULQDQ by
/// itself (it has no AVX-512 code).
pub fn cannot_be_limited(subject: &str) -> bool {
    subject.starts_with("ring")
}

/// A remark of a limited run on the instructions of a subject.
pub fn remark(subject: &str) -> Option<String> {
    if !are_limited() {
        return None;
    }
    if cannot_be_limited(subject) {
        return Some("cannot be limited: it detects wider instructions by itself".to_owned());
    }
    let is_compiled = subject.starts_with("RustCrypto");
    is_compiled.then(|| format!("as compiled, with {}", compiled()))
}

/// The extensions beyond SSE2 that the compiler used everywhere.
fn compiled() -> String {
    let features = [
        ("AES-NI", cfg!(target_feature = "aes")),
        ("PCLMULQDQ", cfg!(target_feature = "pclmulqdq")),
        ("AVX2", cfg!(target_feature = "avx2")),
        ("SHA", cfg!(target_feature = "sha")),
        ("VAES", cfg!(target_feature = "vaes")),
        ("VPCLMULQDQ", cfg!(target_feature = "vpclmulqdq")),
        ("AVX-512F", cfg!(target_feature = "avx512f")),
    ];
    let used = features.iter().filter(|(_, is_used)| *is_used);
    let names: Vec<&str> = used.map(|(name, _)| *name).collect();
    match names.is_empty() {
        true => "no extensions beyond SSE2".to_owned(),
        false => names.join(", "),
    }
}
