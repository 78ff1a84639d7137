//! How packets are wrapped: transport or tunnel, the tunnel's header, UDP around
//! it.

use toml::Spanned;

use super::Blamed;
use crate::config::document::{CopyOrNumber, DontFragmentWord, ModeWord, NatTEntry, TunnelEntry};
use crate::nat_t::UdpPorts;
use crate::outer::{DontFragment, Dscp, FlowLabel, Tunnel, TunnelEnds};
use crate::sa::Mode;

pub(super) fn mode(
    mode: &Spanned<ModeWord>,
    tunnel: Option<Spanned<TunnelEntry>>,
) -> Result<Mode, Blamed> {
    let entry = match (mode.get_ref(), tunnel) {
        (ModeWord::Transport, None) => return Ok(Mode::Transport),
        (ModeWord::Transport, Some(tunnel)) => {
            let message = "tunnel: transport mode has none; remove it, or set mode = \"tunnel\"";
            return Err((tunnel.span(), message.into()));
        }
        (ModeWord::Tunnel, None) => {
            let message = "tunnel: missing; write tunnel = { source = \"…\", destination = \"…\" }";
            return Err((mode.span(), message.into()));
        }
        (ModeWord::Tunnel, Some(tunnel)) => tunnel.into_inner(),
    };
    let destination = entry.destination.get_ref();
    let ends = TunnelEnds::new(entry.source, *destination).ok_or_else(|| {
        let message = "tunnel: source and destination must be of one IP version";
        (entry.destination.span(), message.to_owned())
    })?;
    if entry.source == *destination {
        let message = "tunnel: source and destination must differ";
        return Err((entry.destination.span(), message.into()));
    }
    let mut tunnel = Tunnel::between(ends);
    if let Some(ttl) = entry.ttl {
        tunnel.ttl = *ttl.get_ref();
        if tunnel.ttl == 0 {
            return Err((ttl.span(), "tunnel.ttl: must be 1 to 255".into()));
        }
    }
    if let Some(dscp) = entry.dscp {
        tunnel.dscp = match dscp.get_ref() {
            CopyOrNumber::Copy => Dscp::Copy,
            CopyOrNumber::Number(number @ 0..=63) => Dscp::Fixed(*number as u8),
            CopyOrNumber::Number(_) => {
                let message = "tunnel.dscp: must be \"copy\" or 0 to 63";
                return Err((dscp.span(), message.into()));
            }
        };
    }
    if let Some(label) = entry.flow_label {
        tunnel.flow_label = match label.get_ref() {
            CopyOrNumber::Copy => FlowLabel::Copy,
            CopyOrNumber::Number(number @ 0..=0xf_ffff) => FlowLabel::Fixed(*number),
            CopyOrNumber::Number(_) => {
                let message = "tunnel.flow_label: must be \"copy\" or 0 to 0xfffff";
                return Err((label.span(), message.into()));
            }
        };
    }
    tunnel.dont_fragment = match entry.df {
        DontFragmentWord::Copy => DontFragment::Copy,
        DontFragmentWord::Set => DontFragment::Set,
        DontFragmentWord::Clear => DontFragment::Clear,
    };
    Ok(Mode::Tunnel(tunnel))
}

pub(super) fn udp_ports(entry: Option<Spanned<NatTEntry>>) -> Result<Option<UdpPorts>, Blamed> {
    let Some(entry) = entry else {
        return Ok(None);
    };
    let NatTEntry::On(given) = *entry.get_ref() else {
        return Ok(None);
    };
    let default = UdpPorts::default();
    let ports = UdpPorts {
        source: given.source_port.unwrap_or(default.source),
        destination: given.destination_port.unwrap_or(default.destination),
    };
    if ports.source == 0 || ports.destination == 0 {
        return Err((entry.span(), "nat_t: ports must be 1 to 65535".into()));
    }
    Ok(Some(ports))
}
