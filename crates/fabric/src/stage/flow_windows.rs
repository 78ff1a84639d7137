//! How far unlisted queue pairs have come, which appear while a stage runs.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

use weir_ledger::{
    Fingerprint, Journal, JournalKey, KeyIdentity, Kind, LedgerError, Owner, Shortage, Step,
};

use super::Traffic;
use super::steering::home;
use crate::secure::{
    Address, Endpoint, Flow, NodeEpochs, Note, ReceiveFrom, Receiver, Unlisted, is_reliable,
    partition,
};

/// What the ledger has of the unlisted queue pairs of a partition.
#[derive(Debug)]
pub(super) struct FlowWindows {
    partition_key: u16,
    /// Nothing where every run begins anew.
    journal: Option<Journal>,
    waits: bool,
}

/// How far one of them has come.
#[derive(Debug)]
pub(super) struct FlowWindow {
    key: JournalKey,
    /// Where it began.
    from: ReceiveFrom,
    /// Numbers below these were taken, or nobody will take them.
    next: ReceiveFrom,
    /// Numbers below these may be taken.
    granted: ReceiveFrom,
    requested: Option<Requested>,
    step: Step,
    /// Reliable transports recognize what they had, so that what was taken is written down, and not what
    /// may be taken.
    is_reliable: bool,
}

#[derive(Clone, Copy, Debug)]
struct Requested {
    change: u64,
    grants: ReceiveFrom,
}

const DOMAIN: &str = "weir fabric windows of unlisted queue pairs";

impl FlowWindows {
    pub(super) fn new_in_every_run(unlisted: &Unlisted) -> FlowWindows {
        FlowWindows {
            partition_key: partition(unlisted.partition_key),
            journal: None,
            waits: false,
        }
    }

    /// Opens those of a partition.
    ///
    /// # Errors
    /// The ledger cannot be relied on.
    pub(super) fn open(
        name: &str,
        unlisted: &Unlisted,
        path: &Path,
        traffic: Traffic,
    ) -> Result<FlowWindows, LedgerError> {
        let key = KeyIdentity {
            kind: Kind::ReplayWindow,
            fingerprint: Fingerprint::over(DOMAIN, &[&unlisted.identity()]),
            owner: Owner::new("partition", name),
            // To receive needs no nonce: an unknown key has seen nothing.
            may_be_new: true,
        };
        Ok(FlowWindows {
            partition_key: partition(unlisted.partition_key),
            journal: Some(Journal::open(path, &key)?),
            waits: traffic == Traffic::Capture,
        })
    }

    pub(super) fn is_of(&self, partition_key: u16) -> bool {
        self.partition_key == partition(partition_key)
    }

    /// Tells the receiver of a worker what is written down.
    pub(super) fn recall(&self, receiver: &mut Receiver, worker: usize, workers: usize) {
        let Some(journal) = &self.journal else {
            return;
        };
        for (key, value) in journal.entries() {
            match Entry::of(&key) {
                Some(Entry::Flow(ends)) if home(ends.map(|end| end.address), workers) == worker => {
                    receiver.recall_flow(self.partition_key, ends, ReceiveFrom::from(value));
                }
                Some(Entry::Flow(_)) | None => {}
                Some(Entry::Node(address, _)) => {
                    let [newest, lowest, _] = value;
                    let epochs = NodeEpochs { newest, lowest };
                    receiver.recall_node(self.partition_key, address, epochs);
                }
            }
        }
    }

    /// Writes down what the receiver of a worker notes of nodes and of flows that were forgotten.
    pub(super) fn note(&self, notes: &[Note], worker: usize) {
        let entries = notes.iter().filter_map(|note| match *note {
            Note::Node {
                partition_key,
                address,
                epochs,
            } if self.is_of(partition_key) => {
                let value = [epochs.newest, epochs.lowest, 0];
                // Each worker has a table of its own.
                Some((Entry::Node(address, worker as u32).key(), Some(value)))
            }
            Note::Forgotten {
                partition_key,
                ends,
            } if self.is_of(partition_key) => Some((Entry::Flow(ends).key(), None)),
            _ => None,
        });
        if let Some(journal) = &self.journal {
            journal.put(entries);
        }
    }

    /// Writes down how far flows have come.
    pub(super) fn settle(
        &self,
        flows: impl IntoIterator<Item = ([Endpoint; 2], ReceiveFrom)>,
    ) -> Result<(), Arc<LedgerError>> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let flows = flows.into_iter();
        journal.wait(
            journal.put(flows.map(|(ends, from)| (Entry::Flow(ends).key(), Some(from.numbers())))),
        )
    }
}

impl FlowWindow {
    /// Of a flow that begins.
    pub(super) fn new(flow: &Flow, from: ReceiveFrom) -> FlowWindow {
        FlowWindow {
            key: Entry::Flow([flow.sender, flow.receiver]).key(),
            from,
            next: from,
            granted: ReceiveFrom::default(),
            requested: None,
            step: Step::default(),
            is_reliable: is_reliable(flow.transport),
        }
    }

    /// Notes how far the flow has come, before its packets go on.
    ///
    /// # Errors
    /// They must not: it is not written down yet.
    pub(super) fn advance(
        &mut self,
        to: ReceiveFrom,
        windows: &FlowWindows,
    ) -> Result<(), Shortage> {
        self.next = self.next.max(to);
        let Some(journal) = windows.journal.as_ref().filter(|_| self.is_short()) else {
            return Ok(());
        };
        let mut failure = self.collect(journal).err();
        if self.requested.is_none() && self.is_short() {
            self.request(journal);
        }
        // What was requested before may end in front of a number that stepped ahead.
        while windows.waits && !self.is_granted() && failure.is_none() {
            if let Some(requested) = self.requested {
                failure = journal.wait(requested.change).err().map(Shortage::Failed);
            }
            failure = self.collect(journal).err().or(failure);
            if !self.is_granted() && failure.is_none() {
                self.request(journal);
            }
        }
        match self.is_granted() {
            true => Ok(()),
            false => Err(failure.unwrap_or(Shortage::Pending)),
        }
    }

    fn is_granted(&self) -> bool {
        self.granted == self.granted.max(self.next)
    }

    /// Whether a number is not granted, or only half a step is left of a kind that is in use.
    fn is_short(&self) -> bool {
        let half = self.step.half();
        !self.is_granted() || self.granted != self.granted.max(self.ahead(half))
    }

    /// A number of packets further, of each kind that is in use.
    fn ahead(&self, packets: u64) -> ReceiveFrom {
        let ahead = |next: u64, from| match next > from {
            true => next.saturating_add(packets),
            false => next,
        };
        ReceiveFrom {
            requests: ahead(self.next.requests, self.from.requests),
            responses: ahead(self.next.responses, self.from.responses),
            extended: ahead(self.next.extended, self.from.extended),
        }
    }

    fn request(&mut self, journal: &Journal) {
        let packets = self.step.adapt();
        let grants = self.ahead(packets);
        let written = match self.is_reliable {
            true => self.next,
            false => grants,
        };
        let change = journal.put([(self.key, Some(written.numbers()))]);
        self.requested = Some(Requested { change, grants });
    }

    fn collect(&mut self, journal: &Journal) -> Result<(), Shortage> {
        let Some(requested) = self.requested else {
            return Ok(());
        };
        match journal.is_written(requested.change) {
            Ok(true) => self.granted = self.granted.max(requested.grants),
            Ok(false) => return Ok(()),
            Err(error) => {
                self.requested = None;
                return Err(Shortage::Failed(error));
            }
        }
        self.requested = None;
        Ok(())
    }
}

/// What an entry of the table is about. Nodes come first: a flow is not forgotten before its node
/// says so.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// A node, as a worker knows it.
    Node(Address, u32),
    /// The flow from one to the other.
    Flow([Endpoint; 2]),
}

const NODE: u8 = 1;
const FLOW: u8 = 2;

impl Entry {
    /// Kind, then addresses with numbers of queue pairs, or an address with the number of the worker.
    fn key(&self) -> JournalKey {
        let mut key = [0; 48];
        let node;
        let (kind, ends) = match self {
            Entry::Node(address, worker) => {
                node = [Endpoint {
                    address: *address,
                    queue_pair: *worker,
                }];
                (NODE, &node[..])
            }
            Entry::Flow(ends) => (FLOW, &ends[..]),
        };
        key[0] = kind;
        let (_, fields) = key.split_at_mut(1);
        for (field, end) in fields.chunks_exact_mut(END_BYTES).zip(ends) {
            let (kind, address) = match end.address {
                Address::Lid(lid) => (LID, u128::from(lid)),
                Address::Ipv4(address) => (IPV4, u128::from(u32::from(address))),
                Address::Gid(gid) => (GID, u128::from(gid)),
            };
            field[0] = kind;
            field[1..17].copy_from_slice(&address.to_be_bytes());
            field[17..].copy_from_slice(&end.queue_pair.to_be_bytes());
        }
        key
    }

    fn of(key: &JournalKey) -> Option<Entry> {
        let (fields, _) = key[1..].as_chunks::<END_BYTES>();
        let mut ends = fields.iter().map(|field| {
            let address = u128::from_be_bytes(*field[1..].first_chunk()?);
            let address = match field[0] {
                LID => Address::Lid(address as u16),
                IPV4 => Address::Ipv4(Ipv4Addr::from(address as u32)),
                GID => Address::Gid(Ipv6Addr::from(address)),
                _ => return None,
            };
            let queue_pair = u32::from_be_bytes(*field[17..].first_chunk()?);
            Some(Endpoint {
                address,
                queue_pair,
            })
        });
        let first = ends.next()??;
        match key[0] {
            NODE => Some(Entry::Node(first.address, first.queue_pair)),
            FLOW => Some(Entry::Flow([first, ends.next()??])),
            _ => None,
        }
    }
}

const END_BYTES: usize = 21;
const LID: u8 = 1;
const IPV4: u8 = 2;
const GID: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_they_are_of() {
        let addresses = [
            Address::Lid(0xfffe),
            Address::Ipv4(Ipv4Addr::new(192, 0, 2, 1)),
            Address::Gid(Ipv6Addr::from(0xfe80 << 112 | 7)),
        ];
        for one in addresses {
            let node = Entry::Node(one, 3);
            assert_eq!(Entry::of(&node.key()), Some(node));
            for other in addresses {
                let ends = [(one, 0xff_ffff), (other, 0)];
                let ends = ends.map(|(address, queue_pair)| Endpoint {
                    address,
                    queue_pair,
                });
                let flow = Entry::Flow(ends);
                assert!(flow.key() > Entry::Node(other, u32::MAX).key());
                assert_eq!(Entry::of(&flow.key()), Some(flow));
            }
        }
        assert_eq!(Entry::of(&[0; 48]), None);
    }
}
