//! Curves of the thesis's figures, beside the values that are printed of them.

mod inspection;

use super::Thesis;
use super::aes::{self, LARGEST};
use super::hashing::mmh_cycles;
use crate::shared::model::Bench;
use crate::shared::report::{Mark, Plot, Scale, Series};
use crate::stream_processor::applications::aes::programs::Width;
use crate::stream_processor::cost::Shape;
use crate::stream_processor::failure::ModelError;
use crate::stream_processor::lengths::{Lengths, aix_like};

/// All curves that the report shows.
///
/// # Errors
/// Models that fail.
pub(in crate::stream_processor) fn figures(bench: &Bench) -> Result<Vec<Plot>, ModelError> {
    let mut figures = vec![
        rounds(bench)?,
        packets(bench)?,
        kernel_share(bench)?,
        mmh(bench)?,
    ];
    figures.extend(inspection::figures(bench)?);
    figures.extend([
        efficiency(),
        within_clusters(bench)?,
        between_clusters(bench)?,
    ]);
    Ok(figures)
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.to_owned(),
        mark: Mark::Line,
        points,
    }
}

fn published(name: &str, points: &[(f64, f64)]) -> Series {
    Series {
        name: format!("published: {name}"),
        mark: Mark::Published,
        points: points.to_vec(),
    }
}

fn plot(title: &str, [x, y]: [&str; 2], scales: [Scale; 2], series: Vec<Series>) -> Plot {
    Plot {
        title: title.to_owned(),
        x: x.to_owned(),
        y: y.to_owned(),
        x_scale: scales[0],
        y_scale: scales[1],
        series,
    }
}

/// Points of a curve whose values may fail.
fn curve(
    at: &[f64],
    mut of: impl FnMut(f64) -> Result<f64, ModelError>,
) -> Result<Vec<(f64, f64)>, ModelError> {
    at.iter().map(|&x| Ok((x, of(x)?))).collect()
}

fn rounds(bench: &Bench) -> Result<Plot, ModelError> {
    let mut series = Vec::new();
    for (scratchpads, stated) in [
        (1, &[(3.0, 25.0), (4.0, 25.0), (6.0, 25.0)][..]),
        (2, &[(3.0, 21.0), (4.0, 17.0), (6.0, 17.0)]),
        (4, &[(4.0, 13.0), (6.0, 12.0)]),
    ] {
        let name = format!("{scratchpads} scratchpads");
        let points = curve(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], |adders| {
            aes::round_cycles(bench, adders as u32, scratchpads)
        })?;
        series.push(line(&name, points));
        series.push(published(&name, stated));
    }
    Ok(plot(
        "Table 2.2: a round of AES (used to fit)",
        ["adders", "cycles"],
        [Scale::Linear; 2],
        series,
    ))
}

const BLOCKS: [f64; 6] = [8.0, 16.0, 24.0, 32.0, 64.0, LARGEST as f64];

fn packets(bench: &Bench) -> Result<Plot, ModelError> {
    let single = curve(&BLOCKS, |blocks| {
        let run = aes::single_stream(bench, 6, blocks as usize, Width::Single)?;
        Ok(run.cycles_per_block())
    })?;
    let one_key = curve(&BLOCKS, |blocks| {
        Ok(aes::packets(bench, blocks as usize, false)?.cycles_per_block())
    })?;
    let keys = curve(&BLOCKS, |blocks| {
        Ok(aes::packets(bench, blocks as usize, true)?.cycles_per_block())
    })?;
    Ok(plot(
        "Figures 2.12, 2.13, 2.17: AES by packet length",
        ["blocks of a packet", "cycles per block"],
        [Scale::Log; 2],
        vec![
            line("one stream, 6 adders", single),
            published("one stream", &[(96.0, 31.5)]),
            line("many packets, one key, 4 adders", one_key),
            line("many packets, a key each, 4 adders", keys),
            published("a key each", &[(8.0, 72.0), (96.0, 35.0)]),
        ],
    ))
}

fn kernel_share(bench: &Bench) -> Result<Plot, ModelError> {
    let share = curve(&BLOCKS, |blocks| {
        Ok(aes::packets(bench, blocks as usize, false)?.kernel_share())
    })?;
    Ok(plot(
        "Figure 2.14: the kernels' share of the time",
        ["blocks of a packet", "%"],
        [Scale::Log, Scale::Linear],
        vec![
            line("many packets, one key", share),
            published(
                "8 blocks (used to fit), large packets",
                &[(8.0, 60.0), (96.0, 98.0)],
            ),
        ],
    ))
}

fn mmh(bench: &Bench) -> Result<Plot, ModelError> {
    let points = curve(&[128.0, 256.0, 512.0, 768.0, 1024.0, 1536.0], |bytes| {
        Ok(bench.gbit_per_s(8.0 * bytes, mmh_cycles(bench, bytes as usize)?)?)
    })?;
    Ok(plot(
        "Figure 4.5: MMH with four tags",
        ["bytes of a packet", "Gbit/s"],
        [Scale::Log, Scale::Linear],
        vec![
            line("4 adders", points),
            published("4 adders", &[(128.0, 2.23), (1536.0, 7.14)]),
        ],
    ))
}

const BLOCK_BYTES: u32 = 16;

fn efficiency() -> Plot {
    let lengths = Lengths::of(BLOCK_BYTES, &aix_like());
    let points = [1u64, 2, 4, 8, 16, 32]
        .into_iter()
        .filter_map(|clusters| lengths.filling(clusters))
        .map(|filling| (filling.clusters as f64, 100.0 * filling.efficiency))
        .collect();
    plot(
        "Figure 8.4: clusters with a block to work on",
        ["clusters", "%"],
        [Scale::Log, Scale::Linear],
        vec![
            line("lengths with the trace's statistics", points),
            published("AIX trace", &[(8.0, 79.0), (32.0, 50.0)]),
        ],
    )
}

/// Area and energy for each unit, over those of 8 clusters of 5.
fn growth(
    bench: &Bench,
    at: &[f64],
    shape: impl Fn(f64) -> (f64, f64),
) -> Result<[Vec<(f64, f64)>; 2], ModelError> {
    let costs = bench.imagine(3, 1)?.costs;
    let each = |(clusters, alus): (f64, f64)| {
        let shape = Shape::scaled(clusters, alus, costs);
        let units = clusters * alus;
        [shape.area().total() / units, shape.busy_cycle() / units]
    };
    let base = each((8.0, 5.0));
    Ok([0, 1].map(|which| {
        at.iter()
            .map(|&x| (x, each(shape(x))[which] / base[which]))
            .collect()
    }))
}

fn within_clusters(bench: &Bench) -> Result<Plot, ModelError> {
    let alus: Vec<f64> = (2..=16).map(f64::from).collect();
    let [area, energy] = growth(bench, &alus, |alus| (8.0, alus))?;
    Ok(plot(
        "Figure 8.2: more units in each of 8 clusters (printed: least with 5)",
        ["arithmetic units of a cluster", "over that of 5"],
        [Scale::Linear; 2],
        vec![
            line("area for each unit", area),
            line("energy for each operation", energy),
        ],
    ))
}

fn between_clusters(bench: &Bench) -> Result<Plot, ModelError> {
    let clusters = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
    let [area, energy] = growth(bench, &clusters, |clusters| (clusters, 5.0))?;
    Ok(plot(
        "Figure 8.4: more clusters of 5 units",
        ["clusters", "over that of 8"],
        [Scale::Log, Scale::Linear],
        vec![
            line("area for each unit", area),
            published("Khailany et al. 2003: area", &[(128.0, 1.02)]),
            line("energy for each operation", energy),
            published("Khailany et al. 2003: energy", &[(128.0, 1.07)]),
        ],
    ))
}
