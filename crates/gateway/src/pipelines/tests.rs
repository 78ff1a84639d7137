//! What pipelines of all stages call things.

use std::fmt::Write;

use weir_processes::Folder;
use weir_reference::assert_page;
use weir_stream::{FrameDrop, Vocabulary};

use super::*;

/// The vocabulary of a pipeline of the example, with all stages that there are.
fn vocabulary() -> Vocabulary {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = std::fs::read_to_string(examples.join("gateway.toml")).expect("read");
    let folder = Folder::new();
    folder.write("fabric.toml", "other_packets = \"allow\"\n");
    let text = text.replace("../out/", &folder.name(""))
        + &format!(
            "[fabric]\nfile = {:?}\nrepeatable_insecure = true\n\
             [[fabric-filter.port]]\nname = \"input\"\npartition_keys = [0x8001]\n",
            folder.name("fabric.toml")
        );
    let mut config = Config::parse(&examples.join("gateway.toml"), &text).expect("right");
    let names = schemars::schema_for!(StageName).as_value()["enum"].clone();
    config.pipelines[0].stages = serde_json::from_value(names).expect("every stage");
    let shared = Shared::load(&config, true).expect("rules and associations");
    let built = build(&Building {
        config: &config,
        shared: &shared,
        shards: 2,
        stop: &StopFlag::default(),
        reopen: &Reopen::default(),
        on_interval: None,
        cpus: &[],
    });
    let mut vocabulary = Vocabulary::default();
    // Those of live pipelines.
    vocabulary.drop_reasons::<FrameDrop>().expect("no clash");
    for mut pipeline in built.expect("pipelines").pipelines {
        pipeline.register(&mut vocabulary).expect("no clash");
    }
    vocabulary
}

#[test]
fn references_describe_every_drop_reason() {
    let mut text = String::from(
        "# Drop reasons\n\nWhy packets are dropped, by the names that `drops` of the [JSON documents](json.md) and \
         the tables use.\n\n| reason | crate | meaning |\n| --- | --- | --- |\n",
    );
    for (_, word) in vocabulary().drop_reason_words() {
        let _ = writeln!(
            text,
            "| `{}` | `{}` | {} |",
            word.name, word.owner, word.meaning
        );
    }
    assert_page("drop-reasons.md", &text);
}
