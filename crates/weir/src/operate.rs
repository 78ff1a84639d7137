//! Runs a gateway as a command does: with signals, a progress bar, a control socket and metrics.

use std::path::Path;

use anyhow::anyhow;
use weir_console::progress::{Bar, Extent, Place};
use weir_console::{Failure, Outcome};
use weir_gateway::{ControlSocket, Finished, Gateway, Handle, MetricsEndpoint, default_socket};

use crate::cli::Serving;
use crate::failure::failure;
#[cfg(target_os = "linux")]
use crate::sandbox;
use crate::{rules, signals};

/// Runs to the end, or until a signal ends it.
pub fn operate(gateway: Gateway, serving: &Serving, quiet: bool) -> Outcome<Finished> {
    let handle = gateway.handle();
    let is_live = gateway.config().is_live();
    #[cfg(target_os = "linux")]
    if is_live {
        sandbox::confine_files(&sandbox::Reach::of_gateway(&gateway, serving))?;
    }
    obey_signals(&handle)?;
    let control = match &serving.control {
        None => None,
        Some(path) => Some(control_socket(path.as_deref(), &handle)?),
    };
    let metrics = serving
        .metrics
        .map(|address| MetricsEndpoint::serve(address, handle.clone()));
    let metrics = metrics.transpose().map_err(failure)?;
    let extent = Extent::of_captures(handle.total_bytes());
    let bar = Bar::watch(extent, quiet, move || Place {
        position: handle.bytes_read(),
        packets: handle.packets(),
        note: handle
            .inspection()
            .as_ref()
            .map(rules::note)
            .unwrap_or_default(),
    });
    #[cfg(target_os = "linux")]
    if is_live {
        sandbox::confine_calls()?;
    }
    let finished = gateway.run();
    drop((bar, control, metrics));
    finished.map_err(failure)
}

/// Without a path, at the default one.
fn control_socket(path: Option<&Path>, handle: &Handle) -> Outcome<ControlSocket> {
    let path = path.map(Path::to_owned).or_else(default_socket);
    let path = path.ok_or_else(|| {
        Failure::usage(anyhow!(
            "XDG_RUNTIME_DIR is not set: name the control socket, as in --control=PATH"
        ))
    })?;
    ControlSocket::serve(&path, handle.clone()).map_err(failure)
}

/// Lets signals stop the run, reload the configuration, and open the logs again.
fn obey_signals(handle: &Handle) -> Outcome {
    signals::stop_on_interrupt(handle.stop_flag())?;
    signals::on_reopen({
        let handle = handle.clone();
        move || handle.reopen_outputs()
    })?;
    let handle = handle.clone();
    signals::on_reload(move || rules::tell_reloaded(handle.reload()))
}
