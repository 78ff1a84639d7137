//! `weir bench`: rows and arguments. How long anything takes is no matter here.

use crate::processes::weir;

#[test]
fn rows_are_those_that_were_asked_for() {
    let said = weir([
        "bench",
        "cipher",
        "--algorithm",
        "aes-128-gcm-16,umac-64",
        "--bytes",
        "64,100",
        "--rounds",
        "1",
        "--keys",
        "2",
        "--threads",
        "2",
        "--json",
        "-",
    ]);
    let document = said.done().json();
    assert_eq!(document["interrupted"], false);
    let rows = document["rows"].as_array().expect("rows");
    let told: Vec<_> = rows
        .iter()
        .map(|row| {
            assert_eq!((&row["threads"], &row["keys"]), (&2.into(), &2.into()));
            for number in ["gbit_per_s", "ns_per_packet"] {
                assert!(
                    row[number].as_f64().is_some_and(|value| value > 0.0),
                    "{row}"
                );
            }
            let text = |name: &str| row[name].as_str().expect("a text").to_owned();
            (text("algorithm"), text("mode"), row["bytes"].as_u64())
        })
        .collect();
    let mut expected = Vec::new();
    for bytes in [64, 100] {
        for algorithm in ["aes-128-gcm-16", "aes-128-ctr+umac-64"] {
            for mode in ["seal", "open"] {
                expected.push((algorithm.to_owned(), mode.to_owned(), Some(bytes)));
            }
        }
    }
    assert_eq!(told, expected);
}

#[test]
fn people_see_a_table_for_each_size() {
    let said = weir([
        "bench",
        "mac",
        "--algorithm",
        "hmac-sha1",
        "--bytes",
        "64,100",
        "--rounds",
        "1",
    ]);
    let said = said.done();
    let text = said.text();
    for part in [
        "64 bytes",
        "100 bytes",
        "64 keys",
        "hmac-sha1",
        "verify",
        "cycles per byte",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn wrong_arguments_say_what_is_allowed() {
    let bench = |more: &[&str]| weir(["bench", "mac"].iter().chain(more));
    bench(&["--algorithm", "rot13"]).failed(2, &["`rot13`", "umac-128"]);
    bench(&["--bytes", "15"]).failed(2, &["15", "16 to 65535"]);
    bench(&["--bytes", "many"]).failed(2, &["many", "--bytes"]);
    bench(&["--keys", "0"]).failed(2, &["keys", "1 to 65536"]);
    bench(&["--threads", "257"]).failed(2, &["threads", "1 to 256"]);
    bench(&["--rounds", "0"]).failed(2, &["rounds", "1 to 10000"]);
    weir(["bench", "nonsense"]).failed(2, &["nonsense", "cipher, mac"]);
}
