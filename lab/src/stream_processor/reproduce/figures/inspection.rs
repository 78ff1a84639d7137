//! Curves of chapter 5.

use super::{curve, line, plot, published};
use crate::shared::model::Bench;
use crate::shared::report::{Plot, Scale};
use crate::stream_processor::applications::inspect::Family;
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::reproduce::{bloom_false_positives, inspection};

/// All of them.
pub(super) fn figures(bench: &Bench) -> Result<Vec<Plot>, ModelError> {
    Ok(vec![false_positives(), loops(bench)?, rates(bench)?])
}

fn false_positives() -> Plot {
    let bits: Vec<f64> = (2..=18).map(|step| f64::from(4 * step)).collect();
    let mut series: Vec<_> = [8.0, 16.0]
        .map(|hashes| {
            let of = |&bits: &f64| (bits, bloom_false_positives(bits, hashes));
            line(
                &format!("{hashes} hash functions"),
                bits.iter().map(of).collect(),
            )
        })
        .to_vec();
    series.push(published(
        "16 hash functions",
        &[(32.0, 1e-7), (41.0, 1.43e-8), (64.0, 1e-11)],
    ));
    plot(
        "Figure 5.1: false positives of a Bloom filter",
        ["bits for each entry", "rate"],
        [Scale::Linear, Scale::Log],
        series,
    )
}

fn loops(bench: &Bench) -> Result<Plot, ModelError> {
    let mut series = Vec::new();
    for (name, family) in [
        ("shift-add-xor", Family::ShiftAddXor),
        ("tabulation", Family::Tabulation),
        ("H1", Family::H1),
    ] {
        let points = curve(&[4.0, 5.0, 6.0, 7.0, 8.0], |adders| {
            inspection::scan_cycles(bench, family, adders as u32)
        })?;
        series.push(line(name, points));
    }
    Ok(plot(
        "Figure 5.8: the loop over the packet",
        ["adders", "cycles for 32 bytes"],
        [Scale::Linear, Scale::Linear],
        series,
    ))
}

fn rates(bench: &Bench) -> Result<Plot, ModelError> {
    let points = curve(&[64.0, 128.0, 256.0, 512.0, 1024.0, 1500.0], |bytes| {
        inspection::pipeline_mbit_per_s(bench, bytes as usize)
    })?;
    Ok(plot(
        "Figure 5.9: inspection with shift-add-xor, 8 adders",
        ["bytes of a packet", "Mbit/s"],
        [Scale::Log, Scale::Linear],
        vec![
            line("four processors", points),
            published("shortest and 1500 bytes", &[(64.0, 150.0), (1500.0, 400.0)]),
        ],
    ))
}
