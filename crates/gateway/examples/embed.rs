//! A sensor inside another program: alerts of a capture while a thread watches the counts.
//!
//! `cargo run --example embed -p weir-gateway`

use std::path::Path;
use std::thread;
use std::time::Duration;

use weir_gateway::{Config, Error, Gateway, Options};

fn main() -> Result<(), Error> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let text = "[input]\npcap = \"traffic.pcapng\"\n\
                [pipeline]\nstages = [\"inspect\", \"measure\"]\n\
                [inspect]\nrules = \"example.rules\"\n\
                [measure]\nkey = \"source\"\n";
    // Paths in the configuration are relative to the place that is given here.
    let config = Config::parse(&examples.join("sensor.toml"), text)?;
    let gateway = Gateway::from_config(config, &Options::default())?;
    let handle = gateway.handle();
    thread::spawn(move || {
        loop {
            println!("{} packets so far", handle.packets());
            thread::sleep(Duration::from_millis(100));
        }
    });
    let report = gateway.run()?.report;
    println!(
        "{} packets, {} alerts",
        report.traffic.packets, report.alerts
    );
    for row in report.top.iter().take(3) {
        println!("{}: {} bytes", row.key, row.estimate);
    }
    Ok(())
}
