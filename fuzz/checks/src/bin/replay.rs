//! Runs the checks without libFuzzer: every file of the corpus, then
//! mutations of it for as long as asked.
//!
//! An input that breaks a promise, or that takes longer than
//! [`LONGEST_INPUT`], is written to `artifacts/TARGET`, named on standard
//! error, and ends the program with status 1.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use weir_fuzz_checks::mutation::Mutator;
use weir_fuzz_checks::{TARGETS, Target};

/// A parser that works on one input for so long hangs. Inputs take
/// microseconds; a machine may be busy.
const LONGEST_INPUT: Duration = Duration::from_secs(20);

/// No input may make the process larger than this.
const MOST_MEMORY_BYTES: u64 = 1 << 30;

/// Checks Weir's parsers with the inputs of the corpus, and with mutations of them.
#[derive(Parser)]
struct Arguments {
    /// How long mutations are tried on each target.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Choice of mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Targets, or files to check with the one target named; all targets
    /// where none is named.
    targets: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("replay: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let mut chosen: Vec<&Target> = Vec::new();
    let mut files: Vec<&Path> = Vec::new();
    for name in &arguments.targets {
        match TARGETS.iter().find(|target| target.name == name) {
            Some(target) => chosen.push(target),
            None if Path::new(name).is_file() => files.push(Path::new(name)),
            None => {
                let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                return Err(format!(
                    "no target or file {name}: use {}",
                    names.join(", ")
                ));
            }
        }
    }
    if chosen.is_empty() {
        chosen.extend(TARGETS);
    }
    let guard = Guard::start();
    if let [target] = chosen[..]
        && !files.is_empty()
    {
        for file in files {
            guard.check(target, &read(file)?)?;
        }
        return Ok(());
    }
    for target in chosen {
        replay(target, arguments, &guard)?;
    }
    Ok(())
}

fn replay(target: &Target, arguments: &Arguments, guard: &Guard) -> Result<(), String> {
    let corpus = corpus(target)?;
    if corpus.is_empty() {
        return Err(format!("the corpus of {} is empty", target.name));
    }
    for input in &corpus {
        guard.check(target, input)?;
    }
    let mut mutator = Mutator::new(&corpus, target.words, arguments.seed);
    let mut mutations = 0u64;
    let mut input = Vec::new();
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < arguments.seconds {
        mutator.fill(&mut input);
        guard.check(target, &input)?;
        mutations += 1;
    }
    let peak_bytes = peak_memory_bytes().unwrap_or_default();
    println!(
        "{:12} {:4} corpus inputs, {:8} mutations in {:.1} s, nothing found, peak memory {} MiB",
        target.name,
        corpus.len(),
        mutations,
        start.elapsed().as_secs_f64(),
        peak_bytes >> 20,
    );
    if peak_bytes > MOST_MEMORY_BYTES {
        return Err(format!(
            "{} took {peak_bytes} bytes of memory, more than {MOST_MEMORY_BYTES}",
            target.name
        ));
    }
    Ok(())
}

/// The inputs of a target's corpus, in the order of their names.
fn corpus(target: &Target) -> Result<Vec<Vec<u8>>, String> {
    let folder = project().join("corpus").join(target.name);
    let entries = fs::read_dir(&folder)
        .map_err(|error| format!("{}: {error}; run the program `seeds`", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// The folder of the fuzzing workspace.
fn project() -> &'static Path {
    let checks = Path::new(env!("CARGO_MANIFEST_DIR"));
    checks.parent().unwrap_or(checks)
}

/// Largest size that this process ever had in memory; `None` where the system
/// does not tell.
fn peak_memory_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Runs checks under the eyes of a second thread.
struct Guard {
    watched: Arc<Mutex<Watched>>,
}

#[derive(Default)]
struct Watched {
    target: &'static str,
    input: Vec<u8>,
    /// When the check began; `None` between checks.
    since: Option<Instant>,
}

impl Guard {
    fn start() -> Guard {
        let watched = Arc::new(Mutex::new(Watched::default()));
        let watcher = Arc::clone(&watched);
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                let watched = lock(&watcher);
                if watched
                    .since
                    .is_some_and(|since| since.elapsed() > LONGEST_INPUT)
                {
                    let saved = save(watched.target, &watched.input);
                    eprintln!("replay: {} hangs on {saved}", watched.target);
                    std::process::exit(1);
                }
            }
        });
        Guard { watched }
    }

    fn check(&self, target: &Target, input: &[u8]) -> Result<(), String> {
        {
            let mut watched = lock(&self.watched);
            watched.target = target.name;
            watched.input.clear();
            watched.input.extend_from_slice(input);
            watched.since = Some(Instant::now());
        }
        let outcome = panic::catch_unwind(|| (target.check)(input));
        lock(&self.watched).since = None;
        outcome.map_err(|_| {
            let saved = save(target.name, input);
            format!(
                "{} broke a promise on {saved}; to see it again: replay {} {saved}",
                target.name, target.name
            )
        })
    }
}

fn lock(watched: &Mutex<Watched>) -> MutexGuard<'_, Watched> {
    watched.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes an input that failed, and says where.
fn save(target: &str, input: &[u8]) -> String {
    let folder = project().join("artifacts").join(target);
    let sum = input.iter().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let file = folder.join(format!("replay-{sum:016x}"));
    match fs::create_dir_all(&folder).and_then(|()| fs::write(&file, input)) {
        Ok(()) => file.display().to_string(),
        Err(error) => format!("an input that could not be saved ({error}): {input:02x?}"),
    }
}
