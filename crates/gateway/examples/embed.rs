//! A sensor inside another program: alerts and top talkers of a network interface or a capture.
//!
//! `cargo run --example embed -p weir-gateway` reads the example's capture. With the name of an
//! interface behind `--`, as root, it watches that: a line of standard input shows how many packets
//! there are so far, and its end (Ctrl-D) ends the run.

use std::path::Path;
use std::{env, io, thread};

use weir_gateway::{Config, Error, Gateway, Options};

fn main() -> Result<(), Error> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let interface = env::args().nth(1);
    let mut text = match &interface {
        Some(name) => format!(
            "[[port]]\nname = \"lan\"\nkind = \"interface\"\nside = \"plain\"\n\
             interface = {name:?}\n[pipeline.sensor]\nfrom = \"lan\"\n"
        ),
        None => "[input]\npcap = \"traffic.pcapng\"\n[pipeline]\n".to_owned(),
    };
    text += "stages = [\"inspect\", \"measure\"]\n\
             [inspect]\nrules = \"example.rules\"\n[measure]\nkey = \"source\"\n";
    // Paths in the configuration are relative to the place that is given here.
    let config = Config::parse(&examples.join("sensor.toml"), &text)?;
    let gateway = Gateway::from_config(config, &Options::default())?;
    let handle = gateway.handle();
    if interface.is_some() {
        thread::spawn(move || {
            for _ in io::stdin().lines() {
                println!("{} packets so far", handle.packets());
            }
            handle.stop();
        });
    }
    let report = gateway.run()?.report;
    let packets = report.traffic.read.packets;
    println!("{packets} packets, {} alerts", report.alerts);
    for row in report.top.iter().take(3) {
        println!("{}: {} bytes", row.key, row.estimate);
    }
    Ok(())
}
