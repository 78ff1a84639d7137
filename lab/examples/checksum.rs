//! The Internet checksum (RFC 1071) as a kernel: written, executed, scheduled
//! for machines with more and more adders, and replayed.
//!
//! ```text
//! records ──▶ cluster 0..7: sums of their halfwords ──▶ host: total, folded
//! ```

use std::error::Error;

use weir_lab::stream_processor::execute::{Arguments, Scratchpads, execute};
use weir_lab::stream_processor::kernel::{BuildError, Builder, Kernel, Over};
use weir_lab::stream_processor::machine::Machine;
use weir_lab::stream_processor::schedule::Schedule;

/// Each cluster's sum of the halfwords of its records. A sum of 32 bits holds
/// those of 65,535 bytes.
fn checksum() -> Result<Kernel, BuildError> {
    let mut k = Builder::new("checksum");
    let packet = k.input("packet", 4);
    let sums = k.output("sums", 1);
    let (zero, half) = (k.constant(0), k.constant(0xffff));
    let sum = k.repeat(
        Over::records(packet).label("records").pipeline(),
        &[zero],
        |k, carried| {
            let mut sum = carried[0];
            for word in k.read(packet) {
                let low = k.and(word, half);
                let high = k.shift_right(word, 16);
                let both = k.add(low, high);
                sum = k.add(sum, both);
            }
            vec![sum]
        },
    );
    k.write(sums, &sum);
    k.finish()
}

/// The carries of a sum, added in.
fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn main() -> Result<(), Box<dyn Error>> {
    let kernel = checksum()?;
    print!("{kernel}");
    println!("{} operations\n", kernel.counts().total());

    const RECORDS: usize = 96;
    let packet: Vec<u32> = (0..4 * RECORDS as u32)
        .map(|word| word.wrapping_mul(0x9e37_79b9))
        .collect();
    let given = Arguments {
        inputs: vec![packet.clone()],
        ..Arguments::default()
    };
    let sums = execute(&kernel, 8, &mut given.clone(), &mut Scratchpads::new())?;
    let found = folded(sums[0].iter().sum());
    let halves = packet.iter().map(|word| (word & 0xffff) + (word >> 16));
    assert_eq!(found, folded(halves.sum()), "as RFC 1071 says");
    println!("checksum {found:04x}\n");

    for adders in [3, 4, 6] {
        let machine = Machine::load(
            "imagine",
            &[("cluster.adders".to_owned(), f64::from(adders))],
        )?;
        let schedule = Schedule::of(&kernel, &machine)?;
        let (replayed, cycles) = schedule.replay(&mut given.clone(), &mut Scratchpads::new())?;
        assert_eq!(replayed, sums, "the schedule gives what the kernel gives");
        if let Some(block) = schedule.block_of("records") {
            println!(
                "{adders} adders: {} cycles from record to record (resources {}, recurrence {}), {cycles} for {} records",
                block.steady_cycles(),
                block.bounds.resources,
                block.bounds.recurrence,
                RECORDS / 8
            );
        }
    }
    Ok(())
}
