//! Configurations right and wrong.

use std::path::Path;

use super::*;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(Path::new("conf/weir.toml"), text).map_err(|failure| failure.to_string())
}

fn error(text: &str) -> String {
    parse(text).err().expect("an error")
}

#[test]
fn the_short_form_is_one_pipeline_with_paths_beside_the_file() {
    let config = parse(
        r#"
        [input]
        pcap = ["in.pcapng", "/abs.pcap", "-"]
        [pipeline]
        stages = "measure"
        [output]
        pcap = "../out/out.pcapng"
        [measure]
        key = "source/24"
        "#,
    )
    .expect("a configuration");
    let [pipeline] = &config.pipelines[..] else {
        panic!("one pipeline");
    };
    let read: Vec<&str> = pipeline
        .read
        .iter()
        .filter_map(|path| path.to_str())
        .collect();
    assert_eq!(read, ["conf/in.pcapng", "/abs.pcap", "-"]);
    assert_eq!(
        pipeline.write.as_deref(),
        Some(Path::new("conf/../out/out.pcapng"))
    );
    assert_eq!(pipeline.stages, [StageName::Measure]);
}

const PORTS: &str = r#"
    [[port]]
    name = "lan"
    kind = "pcap"
    side = "plain"
    read = ["lan.pcap"]
    write = "lan-out.pcap"
    [[port]]
    name = "wan"
    kind = "pcap"
    side = "cipher"
    read = ["wan.pcap"]
    write = "wan-out.pcap"
    [ipsec]
    sa = "sa.toml"
"#;

#[test]
fn the_long_form_has_a_pipeline_per_direction() {
    let text = format!(
        r#"{PORTS}
        [pipeline.outbound]
        from = "lan"
        to = "wan"
        stages = ["protect"]
        [pipeline.inbound]
        from = "wan"
        to = "lan"
        stages = ["unprotect"]
        "#
    );
    let config = parse(&text).expect("a configuration");
    let names: Vec<&str> = config.pipelines.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["inbound", "outbound"]);
}

#[test]
fn errors_name_the_place_and_the_way_out() {
    let unknown_key = "[input]\npcap = [\"a\"]\n[pipeline]\nstages = []\n[filter]\ndefalt = 1\n";
    assert_eq!(
        error(unknown_key),
        "conf/weir.toml:6:1: unknown key \"defalt\"; did you mean \"default\"?"
    );
    let unknown_stage = "[input]\npcap = [\"a\"]\n[pipeline]\nstages = [\"encrypt\"]\n";
    assert!(
        error(unknown_stage)
            .starts_with("conf/weir.toml:4:11: stages: unknown value \"encrypt\"; known values:")
    );
    let cases = [
        ("", "no pipeline: add [pipeline]"),
        ("[pipeline]\nstages = []", "needs an [input]"),
        (
            "[input]\npcap = [\"a\"]\n[pipeline]\nstages = [\"filter\"]",
            "needs a table [filter]",
        ),
        (
            "[input]\npcap = []\n[pipeline]\nstages = []",
            "no file to read",
        ),
        (
            "[input]\npcap = [\"a\"]\n[measure]\n[pipeline]\nstages = [\"measure\", \"measure\"]",
            "named twice",
        ),
        (
            "[input]\npcap = [\"a\"]\n[measure]\nkey = \"nose\"\n[pipeline]\nstages = []",
            "unknown key \"nose\"",
        ),
    ];
    for (text, expected) in cases {
        assert!(error(text).contains(expected), "{}", error(text));
    }
    let wrong_way =
        format!("{PORTS}\n[pipeline.out]\nfrom = \"wan\"\nto = \"lan\"\nstages = [\"protect\"]");
    assert!(error(&wrong_way).contains("protect needs side = \"plain\" at port \"wan\""));
    let nowhere = format!("{PORTS}\n[pipeline.out]\nfrom = \"moon\"\nstages = []");
    assert!(error(&nowhere).contains("no [[port]] named \"moon\""));
    let live = |port: &str| {
        let text = "[[port]]\nname = \"e\"\nside = \"plain\"\n";
        error(&format!(
            "{text}{port}\n[pipeline.x]\nfrom = \"e\"\nstages = []"
        ))
    };
    let files = live("kind = \"interface\"\ninterface = \"eth0\"\nread = \"a.pcap\"");
    assert!(files.contains("neither read nor write"), "{files}");
    let none = live("kind = \"xdp\"");
    assert!(none.contains("has interface = \"NAME\""), "{none}");
    let udp = live("kind = \"udp\"\ninterface = \"eth0\"");
    assert!(udp.contains("ADDRESS:PORT"), "{udp}");
    let pcap = live("kind = \"pcap\"\ninterface = \"eth0\"");
    assert!(pcap.contains("no interface or address"), "{pcap}");
    let mixed = format!(
        "{PORTS}[[port]]\nname = \"e\"\nkind = \"interface\"\nside = \"plain\"\ninterface = \"eth0\"\n"
    );
    let one = format!("{mixed}[pipeline.x]\nfrom = \"e\"\nto = \"wan\"\nstages = []");
    assert!(error(&one).contains("one of its ports is live"));
    let two = format!(
        "{mixed}[pipeline.x]\nfrom = \"e\"\nstages = []\n[pipeline.y]\nfrom = \"lan\"\nstages = []"
    );
    assert!(error(&two).contains("run them as two gateways"));
}

#[test]
fn live_ports_are_numbered_as_pipelines_use_them() {
    let port = |name: &str, kind: &str| {
        format!(
            "[[port]]\nname = \"{name}\"\nkind = \"{kind}\"\nside = \"plain\"\ninterface = \"{name}0\"\n"
        )
    };
    let text = [
        port("unused", "xdp"),
        port("a", "interface"),
        port("b", "xdp"),
    ]
    .concat()
        + "[pipeline.back]\nfrom = \"b\"\nto = \"a\"\nstages = []\n\
           [pipeline.forth]\nfrom = \"a\"\nto = \"b\"\nstages = []\n";
    let config = parse(&text).expect("a configuration");
    let names: Vec<_> = config
        .ports
        .iter()
        .map(|port| port.interface.as_str())
        .collect();
    assert_eq!(names, ["b0", "a0"]);
    let paths: Vec<_> = config
        .pipelines
        .iter()
        .filter_map(|pipeline| pipeline.live)
        .collect();
    let path = |from, to| LivePath { from, to: Some(to) };
    assert_eq!(paths, [path(0, 1), path(1, 0)]);
}
