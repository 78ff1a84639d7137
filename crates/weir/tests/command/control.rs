//! `weir status` and `weir reload` of a run that waits for more packets.

use std::fs::File;
use std::io::Write;

use serde_json::Value;

use crate::processes::{Folder, beside, example, until, weir};

#[test]
fn a_run_is_watched_and_reloaded_through_its_socket() {
    let folder = Folder::new();
    let pipe = folder.pipe("in");
    let config = |action: &str| {
        format!(
            "[input]\npcap = \"in\"\n[pipeline]\nstages = [\"filter\"]\n\
             [filter]\ndefault = \"{action}\"\n[report]\njson = \"report.json\"\n"
        )
    };
    let path = folder.write("weir.toml", config("allow"));
    let socket = folder.name("control");
    weir(["status", "--socket", &socket]).failed(1, &["no gateway runs"]);

    let control = format!("--control={socket}");
    let running = beside(["run", &path, "--quiet", &control]);
    let mut feed = File::create(pipe).expect("the writing end");
    let traffic = std::fs::read(example("traffic.pcapng")).expect("read");
    let (first, second) = traffic.split_at(traffic.len() / 2);
    feed.write_all(first).expect("fed");
    let status = || -> Value {
        weir(["status", "--socket", &socket, "--json", "-"])
            .done()
            .json()
    };
    until(|| folder.path("control").exists().then_some(()));
    until(|| (status()["packets"].as_u64() > Some(1000)).then_some(()));
    assert_eq!(status()["command"], "status");
    assert_eq!(status()["pipelines"], serde_json::json!(["main"]));
    let said = weir(["status", "--socket", &socket]).done();
    assert!(said.text().contains("generation"), "{}", said.text());

    folder.write("weir.toml", config("maybe"));
    weir(["reload", "--socket", &socket]).failed(1, &["weir.toml:6"]);
    assert_eq!(status()["generation"], 0);
    folder.write("weir.toml", config("deny"));
    let reloaded = weir(["reload", "--socket", &socket, "--json", "-"])
        .done()
        .json();
    assert_eq!(reloaded["generation"], 1);
    assert_eq!(reloaded["filter_rules"], 0);

    feed.write_all(second).expect("fed");
    drop(feed);
    running.wait().done();
    assert!(!folder.path("control").exists());
    let report = crate::processes::json_file(&folder.path("report.json"));
    let denied = report["drops"]["filter_denied"].as_u64().expect("a count");
    assert!((1..2500).contains(&denied), "{denied}");
    assert_eq!(report["filter"][0]["packets"], 3564);
}
