//! What a command at network interfaces gives up before it opens anything.

use anyhow::Context;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};
use weir_console::{Failure, Outcome};

/// Keeps the capabilities that ports and files need, of those that the process has, and gives up
/// all others for good. To be called before there are other threads, which inherit what is left.
pub fn keep_those_of_ports() -> Outcome {
    let keep = || {
        let kept = capabilities(None)?.permitted & OF_PORTS;
        set_capabilities(
            None,
            CapabilitySets {
                effective: kept,
                permitted: kept,
                inheritable: CapabilitySet::empty(),
            },
        )?;
        set_no_new_privs(true)
    };
    keep()
        .context("cannot give up capabilities")
        .map_err(Failure::Running)
}

/// Packet sockets, TUN devices and AF_XDP, also when an interface comes back; and files, as
/// their owner may be another user than root.
const OF_PORTS: CapabilitySet = CapabilitySet::NET_RAW
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH);
