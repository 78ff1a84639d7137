//! ICMP errors about packets that would not fit the path once they are protected (RFC 4301,
//! section 8.2.1), so that their senders make shorter ones (RFC 1191, RFC 8201).

use weir_packet::wire::reply::{IcmpError, Towards, allows_icmp_error, framed, is_for_group};
use weir_packet::wire::{FlowKey, Network};
use weir_stream::{Batch, Egress};

use crate::header;

/// Errors in a second, and at once. A sender needs one for each path.
const ERRORS_PER_S: u64 = 1000;
const BURST: u64 = 50;

const NS_PER_ERROR: u64 = 1_000_000_000 / ERRORS_PER_S;

/// The shortest MTU of a link (RFC 791; RFC 8200, section 5): no sender makes shorter packets for
/// an error.
const LOWEST_IPV4_MTU_BYTES: usize = 68;
const LOWEST_IPV6_MTU_BYTES: usize = 1280;

/// What limits the rate of errors (RFC 4443, section 2.4 (f)): a bucket of tokens.
#[derive(Debug, Default)]
pub(super) struct TooBig {
    /// When the bucket, which fills at the rate of errors, was empty.
    empty_ns: u64,
}

impl TooBig {
    /// Adds an error about a record to the batch, by which its sender learns the longest packet
    /// that fits. It comes from the record's destination, as the gateway need not have an address
    /// that is routed to the sender, and leaves by the port that the record came by.
    ///
    /// False, and nothing was added, where the sender did not forbid that routers fragment, where
    /// the record may not be answered, where it would do no good, and beyond the rate.
    pub fn tell_sender(
        &mut self,
        batch: &mut Batch,
        index: usize,
        mtu_bytes: usize,
        now_ns: u64,
    ) -> bool {
        let (headers, record) = (batch.headers(index), batch.record(index));
        let arrival = batch.arrival(index);
        let packet = headers.ip_packet(record);
        let mtu_bytes = mtu_bytes.max(match headers.network {
            Network::Ipv6 => LOWEST_IPV6_MTU_BYTES,
            _ => LOWEST_IPV4_MTU_BYTES,
        });
        if !header::inherited(packet).dont_fragment
            || packet.len() <= mtu_bytes
            || is_for_group(arrival.link, headers, record)
            || !allows_icmp_error(headers, record)
            || !self.take_token(now_ns)
        {
            return false;
        }
        let error = IcmpError::TooBig {
            mtu_bytes: mtu_bytes as u32,
        };
        let reply = FlowKey::from_headers(headers, record)
            .map(|key| error.packet(&key.reversed(), packet))
            .and_then(|error| framed(arrival.link, headers, record, Towards::Sender, &error));
        let came_in_by = usize::from(arrival.interface);
        let Some(Ok(created)) = reply.map(|reply| batch.create(index, &reply)) else {
            return false;
        };
        batch.set_egress(created, Egress::port(came_in_by));
        true
    }

    fn take_token(&mut self, now_ns: u64) -> bool {
        let full_ns = now_ns.saturating_sub(BURST * NS_PER_ERROR);
        let empty_ns = self.empty_ns.max(full_ns) + NS_PER_ERROR;
        let is_there = empty_ns <= now_ns;
        if is_there {
            self.empty_ns = empty_ns;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_at_a_bounded_rate() {
        let mut errors = TooBig::default();
        let start_ns = 5_000_000_000;
        let mut sent_by = |until_ns: u64| {
            let moments = (start_ns..until_ns).step_by(100_000);
            moments.filter(|now_ns| errors.take_token(*now_ns)).count() as u64
        };
        // Ten calls for each token.
        assert_eq!(sent_by(start_ns + 1_000_000_000), BURST + ERRORS_PER_S - 1);
    }
}
