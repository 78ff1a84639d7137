//! The flows of a plan.

use super::random::{mix, share_bound};
use super::{PayloadModel, Plan};
use crate::wire::{FlowKey, protocol};

/// Names the flows of a plan: every number gets a distinct 5-tuple.
pub(super) struct Flows {
    seed: u64,
    udp_bound: u64,
    ipv6_bound: u64,
    is_http: bool,
}

/// First of the dynamic ports, 2^14 of them (RFC 6335, section 6).
const FIRST_CLIENT_PORT: u32 = 49_152;
/// Bits of a client's host number and port: enough for [`Plan::MAX_FLOWS`].
const CLIENT_END_BITS: u32 = 16 + 14;

const HTTP_SERVER_PORTS: [u16; 4] = [80, 80, 80, 8080];
const SERVER_PORTS: [u16; 4] = [40_000, 41_000, 42_000, 43_000];

const IPV4_CLIENTS: u128 = 0xc612_0000;
const IPV4_SERVERS: u128 = 0xc613_0000;
const IPV6_CLIENTS: u128 = 0xfd00_0018 << 96;
const IPV6_SERVERS: u128 = 0xfd00_0019 << 96;

impl Flows {
    pub(super) fn new(plan: &Plan) -> Flows {
        Flows {
            seed: mix(plan.seed.wrapping_add(0x9e37_79b9_7f4a_7c15)),
            udp_bound: share_bound(plan.udp_share),
            ipv6_bound: share_bound(plan.ipv6_share),
            is_http: plan.payload == PayloadModel::Http,
        }
    }

    /// The 5-tuple of a flow's packets from client to server.
    pub(super) fn key(&self, flow: u32) -> FlowKey {
        let client = self.client_end(flow);
        let kind = mix(self.seed ^ u64::from(client) ^ 1 << 32);
        let server = mix(self.seed ^ u64::from(client) ^ 2 << 32);
        let is_udp = kind & 0xffff_ffff < self.udp_bound;
        let is_ipv6 = kind >> 32 < self.ipv6_bound;
        let client_host = client & 0xffff;
        let server_host = server as u32 & 0xffff;
        let ports = if self.is_http && !is_udp {
            HTTP_SERVER_PORTS
        } else {
            SERVER_PORTS
        };
        let (source, destination) = if is_ipv6 {
            (
                IPV6_CLIENTS | ipv6_host(client_host),
                IPV6_SERVERS | ipv6_host(server_host),
            )
        } else {
            (
                IPV4_CLIENTS | u128::from(client_host),
                IPV4_SERVERS | u128::from(server_host),
            )
        };
        FlowKey {
            source,
            destination,
            source_port: (FIRST_CLIENT_PORT + (client >> 16)) as u16,
            destination_port: ports[(server >> 62) as usize],
            protocol: if is_udp { protocol::UDP } else { protocol::TCP },
            ip_version: if is_ipv6 { 6 } else { 4 },
        }
    }

    /// First sequence numbers of a TCP flow: the client's and the server's.
    pub(super) fn initial_sequences(&self, flow: u32) -> [u32; 2] {
        let bits = mix(self.seed ^ u64::from(flow) ^ 3 << 32);
        [bits as u32, (bits >> 32) as u32]
    }

    /// A permutation of all client ends: different flows have different ones.
    fn client_end(&self, flow: u32) -> u32 {
        const MASK: u32 = (1 << CLIENT_END_BITS) - 1;
        // Each step can be undone within the bits of the mask.
        let mut end = (flow ^ self.seed as u32) & MASK;
        end = (end ^ end >> 15).wrapping_mul(0x7feb_352d) & MASK;
        end = (end ^ end >> 14).wrapping_mul(0x846c_a68b) & MASK;
        end ^ end >> 15
    }
}

/// The lower 96 bits of an IPv6 address: a subnet of 256 and an interface
/// identifier that belongs to 16 bits of host number.
fn ipv6_host(host: u32) -> u128 {
    u128::from(host >> 8) << 64 | u128::from(mix(host.into()))
}
