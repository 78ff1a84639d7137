//! DPDK's testpmd with AF_XDP, where it is installed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::run::Run;

/// Whether the program is there.
pub fn is_installed() -> bool {
    let found = Command::new("dpdk-testpmd").arg("--version").output();
    found.is_ok()
}

/// Forwards until the run ends. It counts for itself: nothing is returned.
pub fn forward(from: &str, to: &str, run: &Run) -> u64 {
    let mut child = Command::new("dpdk-testpmd")
        .args([
            "--no-huge",
            "--no-pci",
            "-m",
            "256",
            "-l",
            "0,1",
            "--main-lcore",
            "0",
        ])
        .arg(format!(
            "--vdev=net_af_xdp0,iface={from},start_queue=0,queue_count=1,force_copy=1"
        ))
        .arg(format!(
            "--vdev=net_af_xdp1,iface={to},start_queue=0,queue_count=1,force_copy=1"
        ))
        .args([
            "--",
            "--forward-mode=io",
            "--auto-start",
            "--total-num-mbufs=8192",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("testpmd starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    // The prompt that follows is no line.
    let started = lines.find(|line| {
        line.as_ref().is_ok_and(|line| {
            line.contains("Press enter to exit") || line.contains("io packet forwarding")
        })
    });
    let has_started = started.is_some();
    run.begin();
    while has_started && run.goes_on() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    // Its program is not taken off with it.
    for interface in [from, to] {
        let off = ["link", "set", "dev", interface, "xdp", "off"];
        let _ = Command::new("ip").args(off).status();
    }
    0
}
