//! Writes the seeds of every target into `corpus/TARGET`. Files of other
//! names, such as inputs that once broke something, stay as they are.

use std::fs;
use std::io;
use std::path::Path;

use weir_fuzz_checks::TARGETS;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for target in TARGETS {
        let folder = corpus.join(target.name);
        fs::create_dir_all(&folder)?;
        let seeds = (target.seeds)();
        for seed in &seeds {
            fs::write(folder.join(seed.name), &seed.bytes)?;
        }
        println!("{}: {} seeds", target.name, seeds.len());
    }
    Ok(())
}
