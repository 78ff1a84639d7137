//! Machine files: what is wrong is named by file and key.

use super::*;

const IMAGINE: &str = BUILT_IN[0].1;

fn error_of(text: &str) -> String {
    Parameters::parse("a.toml", text)
        .and_then(|parameters| Machine::of(&parameters))
        .expect_err("an error")
        .to_string()
}

/// Imagine's file with the line of one key replaced.
fn with_line(key: &str, line: &str) -> String {
    let mut found = false;
    let lines: Vec<&str> = IMAGINE
        .lines()
        .map(|old| {
            let is_it = !found && old.starts_with(&format!("{key} ="));
            found |= is_it;
            if is_it { line } else { old }
        })
        .collect();
    assert!(found, "{key} is in the file");
    lines.join("\n")
}

#[test]
fn imagine_is_as_the_thesis_says() {
    let machine = Machine::load("imagine", &[]).expect("a machine");
    assert_eq!((machine.clusters, machine.clock_mhz), (8, 500.0));
    let cluster = machine.cluster;
    let units = (cluster.adders, cluster.multipliers, cluster.dividers);
    assert_eq!(units, (3, 2, 1));
}

#[test]
fn wrong_values_are_named() {
    for (key, line, says) in [
        ("adders", "", "a.toml, cluster.adders: it is missing"),
        (
            "adders",
            "adders = { value = -3, source = \"P 1\" }",
            "cluster.adders: -3 is not",
        ),
        (
            "adders",
            "adders = { value = 2.5, source = \"P 1\" }",
            "2.5 is not a whole number",
        ),
        (
            "adders",
            "adders = { value = 3 }",
            "a.toml, line 16, cluster.adders: no source",
        ),
        (
            "adders",
            "adders = { value = 3, source = \"T\" }",
            "no source",
        ),
        (
            "adders",
            "adders = { value = 3, source = \"? no\" }",
            "no source",
        ),
        (
            "adders",
            "adders = 3",
            "a.toml, line 16, cluster.adders: write {",
        ),
        (
            "adders",
            "adders = { value = \"3\", source = \"P 1\" }",
            "not a number",
        ),
        (
            "adders",
            "adders = { value = 3, source = \"P 1\", unit = 1 }",
            "unit is not known",
        ),
        ("adders", "adders = [", "a.toml: TOML parse error at line"),
        (
            "clusters",
            "clusters = { value = 12, source = \"P 1\" }",
            "line 13, clusters: 12 is no power of two",
        ),
        (
            "stream_bytes_per_cycle",
            "stream_bytes_per_cycle = { value = 64, source = \"P 1\" }",
            "cannot be faster than memory",
        ),
        (
            "bytes",
            "bytes = { value = 131073, source = \"P 1\" }",
            "srf.bytes: its bytes are no whole number of words",
        ),
        (
            "bytes_per_cycle",
            "bytes_per_cycle = { value = 1, source = \"P 1\" }",
            "memory cannot be faster than srf.bytes_per_cycle",
        ),
        (
            "register_words",
            "register_words = { value = 8, source = \"P 1\" }",
            "less than two words for each adder",
        ),
        (
            "latency_cycles",
            "latency_cycles = { value = inf, source = \"P 1\" }",
            "memory.latency_cycles: inf is not from 0",
        ),
        (
            "latency_cycles",
            "latency_cycles = { value = 99999999999999999999, source = \"P 1\" }",
            "not a number",
        ),
        (
            "start_cycles",
            "start_cycles = { value = 5, source = \"C on a figure\", range = [0, 2] }",
            "start_cycles: 5 is not from 0 to 2, the range that it declares",
        ),
        (
            "start_cycles",
            "start_cycles = { value = 5, source = \"C on a figure\" }",
            "start_cycles: a value with the tag T, R or C declares its range",
        ),
        (
            "start_cycles",
            "start_cycles = { value = 5, source = \"R\", range = [9, 2] }",
            "no source",
        ),
        (
            "start_cycles",
            "start_cycles = { value = 5, source = \"R papers\", range = [9, 2] }",
            "the range is not [LEAST, MOST]",
        ),
        (
            "model",
            "",
            "a.toml, model: the file does not name its model",
        ),
        (
            "model",
            "model = \"abacus\"",
            "a.toml describes a machine of the model abacus, not of stream-processor",
        ),
        (
            "supply_v",
            "supply_v = { value = -1.5, source = \"P 1\" }",
            "technology.supply_v: -1.5 is not",
        ),
    ] {
        let error = error_of(&with_line(key, line));
        assert!(error.contains(says), "{error}");
    }
    let more = format!("{IMAGINE}\n[more]\nthing = {{ value = 1, source = \"P 1\" }}\n");
    assert!(error_of(&more).contains("more.thing: no such parameter"));
}

#[test]
fn parameters_can_be_set() {
    let six = [("cluster.adders".to_owned(), 6.0)];
    let machine = Machine::load("imagine", &six).expect("one");
    assert_eq!(machine.cluster.adders, 6);
    assert_eq!(machine.with("clusters", 16.0).expect("one").clusters, 16);
    assert!(machine.with("cluster.subtractors", 1.0).is_err());
    assert!(machine.with("cluster.adders", f64::NAN).is_err());
    let unknown = Machine::load("imagin", &[]);
    assert!(matches!(unknown, Err(ParameterError::Unknown { .. })));
    let unread = Machine::load("/none.toml", &[]);
    assert!(matches!(unread, Err(ParameterError::Read { .. })));
}
