//! Prints the exact values of all rows of `weir-lab reproduce --short`, for
//! `src/reproduce/golden.csv`:
//!
//! ```sh
//! cargo run -p weir-lab --example golden > golden.csv
//! mv golden.csv lab/src/reproduce/golden.csv
//! ```

use weir_lab::reproduce::{Effort, ReproduceError, reproduce};

fn main() -> Result<(), ReproduceError> {
    println!("id,values");
    for row in reproduce(&[], Effort::SHORT, |_, _| {})? {
        let values: Vec<String> = row.values.iter().map(f64::to_string).collect();
        println!("{},{}", row.published.id, values.join(" "));
    }
    Ok(())
}
