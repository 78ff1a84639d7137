//! Rows with nothing to compare: parameters of the machine, constants of the
//! text, what the thesis cites from elsewhere, and statistics with which a
//! workload was made.

use crate::shared::model::Entry;

const MADE: &str = "The lengths of the substituted trace were made with this statistic \
     (rows imagine-043 to -051).";

pub(super) static ENTRIES: &[Entry] = &[
    Entry::reference("imagine-001", "The parameter clock_mhz has this value."),
    Entry::reference(
        "imagine-003",
        "The parameters of the machine file have these values, but for the scratchpad: the \
         thesis simulates 512 words (2.4), and the file describes that machine.",
    ),
    Entry::reference("imagine-004", "Cited by the thesis; no machine of the lab."),
    Entry::reference(
        "imagine-025",
        "Eight keys of 44 words each, in records of four words.",
    ),
    Entry::reference(
        "imagine-031",
        "61,440 blocks of 16 bytes over the 128 KB of the parameter srf.bytes; the runs of row \
         imagine-028 have this many blocks.",
    ),
    Entry::reference("imagine-034", "11 round keys of four words (FIPS 197)."),
    Entry::reference(
        "imagine-041",
        "The parameter host.length_cycles has this value.",
    ),
    Entry::reference(
        "imagine-042",
        "The parameter host.bus_mhz has this value; bus words have 32 bits.",
    ),
    Entry::reference("imagine-048", MADE),
    Entry::reference("imagine-049", MADE),
    Entry::reference("imagine-052", MADE),
    Entry::reference(
        "imagine-061",
        "The depth of the tree, 2, times 1.5 × 2^-30.",
    ),
    Entry::reference("imagine-063", "Cited by the thesis; no machine of the lab."),
    Entry::reference(
        "imagine-089",
        "The parameter memory.bytes_per_cycle has this value.",
    ),
    Entry::reference(
        "imagine-090",
        "The parameters of the network interface (network.*) have these values.",
    ),
    Entry::reference(
        "imagine-091",
        "The parameter srf.bytes_per_cycle has this value.",
    ),
    Entry::reference(
        "imagine-097",
        "The parameter energy.indexed_factor has this value.",
    ),
    Entry::reference(
        "imagine-098",
        "The parameter operation.indexed_read.latency has this value.",
    ),
];

#[cfg(test)]
mod tests {
    use crate::stream_processor::lengths::{aix_like, txg_like};
    use crate::stream_processor::machine::Machine;

    /// The machine file has the values that the rows state, in the file's units.
    #[test]
    fn parameters_have_the_published_values() {
        let machine = Machine::load("imagine", &[]).expect("a machine");
        let gigabytes_per_s = 500.0 / 1000.0;
        for (key, published) in [
            ("clock_mhz", 500.0),
            ("cluster.adders", 3.0),
            ("cluster.multipliers", 2.0),
            ("cluster.dividers", 1.0),
            ("cluster.scratchpads", 1.0),
            ("cluster.communicators", 1.0),
            ("srf.bytes", 128.0 * 1024.0),
            ("host.length_cycles", 400.0),
            ("host.bus_mhz", 200.0),
            ("memory.bytes_per_cycle", 2.0 / gigabytes_per_s),
            ("network.streams", 8.0),
            ("network.stream_bytes_per_cycle", 2.0 / gigabytes_per_s),
            ("network.bytes_per_cycle", 16.0 / gigabytes_per_s),
            ("srf.bytes_per_cycle", 32.0 / gigabytes_per_s),
            ("energy.indexed_factor", 4.0),
            ("operation.indexed_read.latency", 4.0),
        ] {
            let parameter = machine.parameters().iter().find(|(name, _)| *name == key);
            let value = parameter.map(|(_, parameter)| parameter.value);
            assert_eq!(value, Some(published), "{key}");
        }
    }

    /// The substituted lengths have the published statistics.
    #[test]
    fn lengths_have_the_published_statistics() {
        let percent = |lengths: &[(u32, u64)], least: u32, most: u32| {
            let of = |range: std::ops::RangeInclusive<u32>| -> u64 {
                let some = lengths.iter().filter(|(length, _)| range.contains(length));
                some.map(|(_, share)| share).sum()
            };
            100.0 * of(least..=most) as f64 / of(0..=u32::MAX) as f64
        };
        assert!((percent(&aix_like(), 0, 127) - 50.0).abs() < 0.5);
        assert!((percent(&aix_like(), 1500, 1500) - 22.0).abs() < 0.5);
        assert!((percent(&txg_like(), 0, 63) - 21.3).abs() < 0.05);
        assert!((percent(&txg_like(), 1001, 1500) - 32.0).abs() < 0.5);
    }
}
