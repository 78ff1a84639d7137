//! Packets in columns, and which of them can be added in one go.

use std::hint::select_unpredictable;
use std::ops::Range;

use weir_packet::wire::{FlowKey, Ipv4Flow};
use weir_stream::Arrival;

use crate::aggregation::{self, PUT_MAX};
use crate::config::Value;
use crate::report::Counts;

/// Packets in order of arrival, by their place among them.
pub(crate) trait Packets {
    /// At most 2¹⁶.
    fn len(&self) -> usize;
    /// Number in the stream's order, and time by the stream's clock.
    fn time(&self, index: usize) -> (u64, u64);
    /// Whether a packet is counted, or only advances the clock.
    fn is_counted(&self, index: usize) -> bool;
    fn arrival(&self, index: usize) -> &Arrival;
    fn captured_bytes(&self, index: usize) -> u32;
    fn flow(&self, index: usize) -> Option<FlowKey>;
    /// The flows of all, as far as they are at hand and of IPv4: else nothing.
    fn ipv4_flows(&self) -> &[Ipv4Flow];
}

/// Packets of one interval, apart: those of IPv4 whose values can be added in one
/// go, and the others. So no loop over them has a branch that a random packet
/// misleads.
#[derive(Debug)]
pub(crate) struct Sorted {
    values: [u32; PUT_MAX],
    /// Places of the others.
    others: [u16; PUT_MAX],
    others_count: usize,
}

impl Sorted {
    pub fn new() -> Sorted {
        Sorted {
            values: [0; PUT_MAX],
            others: [0; PUT_MAX],
            others_count: 0,
        }
    }

    /// Takes at most [`PUT_MAX`] packets of the interval that begins at `start_ns`,
    /// and says what is counted of all of them.
    ///
    /// On its own, so that it has the registers for itself.
    #[inline(never)]
    pub fn fill(
        &mut self,
        packets: &impl Packets,
        range: Range<usize>,
        value: Value,
        start_ns: u64,
    ) -> Counts {
        let mut counts = Counts::default();
        let mut others_count = 0;
        let flows = &packets.ipv4_flows()[range.clone()];
        for ((index, flow), place) in range.zip(flows).zip(&mut self.values) {
            if !packets.is_counted(index) {
                *place = 0;
                continue;
            }
            let arrival = packets.arrival(index);
            counts.note(arrival, packets.captured_bytes(index), start_ns);
            let value = match value {
                Value::Bytes => arrival.wire_bytes,
                Value::Packets => 1,
            };
            let is_common = flow.is_something() & aggregation::fits(value.into());
            *place = select_unpredictable(is_common, value, 0);
            self.others[others_count] = index as u16;
            others_count += usize::from(!is_common);
        }
        self.others_count = others_count;
        counts
    }

    /// The value of each packet of IPv4; 0 of others and of those that do not count.
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// Places of the others.
    pub fn others(&self) -> impl Iterator<Item = usize> {
        let others = &self.others[..self.others_count];
        others.iter().map(|index| usize::from(*index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a packet counts and its arrival, and its flow if it is of IPv4. Half
    /// of its bytes were captured.
    struct Given(Vec<(bool, Arrival)>, Vec<Ipv4Flow>);

    impl Packets for Given {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn time(&self, index: usize) -> (u64, u64) {
            (index as u64, self.arrival(index).clock_ns())
        }
        fn is_counted(&self, index: usize) -> bool {
            self.0[index].0
        }
        fn arrival(&self, index: usize) -> &Arrival {
            &self.0[index].1
        }
        fn captured_bytes(&self, index: usize) -> u32 {
            self.0[index].1.wire_bytes / 2
        }
        fn flow(&self, index: usize) -> Option<FlowKey> {
            self.1[index].key()
        }
        fn ipv4_flows(&self) -> &[Ipv4Flow] {
            &self.1
        }
    }

    /// Every packet that counts is in one part and in the counts; values that have
    /// do not fit into an addition are with the others.
    #[test]
    fn each_packet_is_in_one_part() {
        let ipv4 = Ipv4Flow::from(&FlowKey {
            source: 5,
            ip_version: 4,
            ..FlowKey::default()
        });
        let given = [
            (true, 60, true),
            (false, 60, true),
            (true, 0, true),
            (true, u32::MAX, true),
            (true, 1500, false),
            (false, 1500, false),
            (true, 1 << 20, true),
            (true, (1 << 20) - 1, true),
        ];
        let arrivals = (0..).zip(given).map(|(index, (counts, wire_bytes, _))| {
            (counts, Arrival::at(1000 - index, wire_bytes))
        });
        let packets = Given(
            arrivals.collect(),
            given
                .map(|(_, _, is_ipv4)| if is_ipv4 { ipv4 } else { Ipv4Flow::default() })
                .into(),
        );
        let mut sorted = Sorted::new();
        // Overwrites entries of previous packets.
        sorted.fill(&packets, 0..3, Value::Bytes, 0);
        let counts = sorted.fill(&packets, 1..8, Value::Bytes, 996);
        assert_eq!(sorted.values()[..7], [0, 0, 0, 0, 0, 0, (1 << 20) - 1]);
        assert_eq!(sorted.others().collect::<Vec<_>>(), [2, 3, 4, 6]);
        assert_eq!((counts.packets, counts.late, counts.last_ns), (5, 2, 998));
        let wire_bytes = u64::from(u32::MAX) + 1500 + (2 << 20) - 1;
        assert_eq!(counts.wire_bytes, wire_bytes);
        // Of two lengths half a byte is lost.
        assert_eq!(counts.bytes, wire_bytes / 2 - 1);
        sorted.fill(&packets, 0..8, Value::Packets, 0);
        assert_eq!(sorted.values()[..8], [1, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(sorted.others().collect::<Vec<_>>(), [4]);
    }
}
