//! Prints the exact values of all rows of `weir-lab reproduce --short`, for
//! `src/stream_processor/reproduce/golden.csv`:
//!
//! ```sh
//! cargo run -p weir-lab --example golden > golden.csv
//! mv golden.csv lab/src/stream_processor/reproduce/golden.csv
//! ```
//!
//! With `full`, those of a full run, as `freeze-1.csv` has them of the day when the model was frozen.

use weir_lab::shared::model::{Effort, Failure, Model};
use weir_lab::shared::parameters::Parameters;
use weir_lab::shared::reproduce::{ReproduceError, golden_table, reproduce};
use weir_lab::stream_processor::StreamProcessor;

fn main() -> Result<(), ReproduceError> {
    let model = StreamProcessor;
    let machine = Parameters::load("imagine", model.machines()).map_err(Failure::from)?;
    let is_full = std::env::args().nth(1).is_some_and(|word| word == "full");
    let effort = if is_full { Effort::Full } else { Effort::Short };
    let rows = reproduce(&model, &machine, &[], &[], effort, |_| {})?;
    print!("{}", golden_table(&rows));
    Ok(())
}
