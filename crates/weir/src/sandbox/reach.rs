//! What a command needs.

use std::path::PathBuf;

use weir_gateway::{Gateway, default_socket};

use crate::cli::Serving;

/// The files and ports that stay within reach.
#[derive(Debug, Default)]
pub struct Reach {
    /// Read, also again.
    pub inputs: Vec<PathBuf>,
    /// Written, replaced, renamed or removed.
    pub outputs: Vec<PathBuf>,
    /// TCP ports that are listened at.
    pub tcp_ports: Vec<u16>,
}

impl Reach {
    /// What a gateway needs, with its control socket and metrics.
    pub fn of_gateway(gateway: &Gateway, serving: &Serving) -> Reach {
        let mut outputs = gateway.outputs();
        outputs.extend(control_socket(serving));
        Reach {
            inputs: gateway.inputs(),
            outputs,
            tcp_ports: serving
                .metrics
                .iter()
                .map(std::net::SocketAddr::port)
                .collect(),
        }
    }
}

fn control_socket(serving: &Serving) -> Option<PathBuf> {
    let named = serving.control.as_ref()?;
    named.clone().or_else(default_socket)
}
