//! Arguments of the commands that talk to a running gateway.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use weir_console::Common;
use weir_gateway::metrics_address;

/// How a running gateway is watched and controlled.
#[derive(Args, Debug)]
#[command(next_help_heading = "Watching and control")]
pub struct Serving {
    /// Serve weir status and weir reload on a Unix socket [without a path: /run/weir/control for
    /// root, else weir/control in $XDG_RUNTIME_DIR].
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub control: Option<PathBuf>,
    /// Serve metrics to Prometheus (/metrics) and a health check (/healthz) over HTTP at an
    /// address, or at a port of the loopback interface.
    #[arg(long, value_name = "ADDR", value_parser = metrics_address)]
    pub metrics: Option<SocketAddr>,
}

/// Where a running gateway is reached.
#[derive(Args, Debug)]
pub struct Socket {
    /// Control socket of the gateway [default: /run/weir/control for root, else weir/control in
    /// $XDG_RUNTIME_DIR].
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}

/// Show what a running gateway did so far.
///
/// The gateway is one that was started with a control socket (weir run --control).
#[derive(Args, Debug)]
pub struct Status {
    #[command(flatten)]
    pub socket: Socket,
    /// Show it again every S seconds, until interrupted; with --json as one line each.
    #[arg(long, value_name = "S", num_args = 0..=1, default_missing_value = "1", require_equals = true)]
    pub watch: Option<f64>,
    #[command(flatten)]
    pub common: Common,
}

/// Load the configuration of a running gateway again.
///
/// The filter, the rules and the associations are replaced between two batches; no packet is
/// dropped. If a file is
/// wrong, nothing changes, and the exit status is 1.
#[derive(Args, Debug)]
pub struct Reload {
    #[command(flatten)]
    pub socket: Socket,
    #[command(flatten)]
    pub common: Common,
}
