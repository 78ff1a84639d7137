//! Policies and associations together: what becomes of a packet.

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::IpAddr;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use weir_packet::wire::protocol::{ESP, UDP};
use weir_packet::wire::{Fragment, Headers};
use weir_select::{Selector, Table, Tuple};
use weir_stream::{Batch, SteeringRule};

use crate::affinity;
use crate::esp::Arrival;
use crate::policy::{Action, Defaults, Policy, Spd, Verdict};
use crate::reason::DropReason;
use crate::sa::{Mode, Parameters};
use crate::sad::Sad;
use crate::slots::Slots;

/// Policies and associations, which all shards share. They do not change: where an SA file is
/// replaced, others of the next generation take their place.
#[derive(Clone, Debug)]
pub struct Databases {
    pub(crate) spd: Spd,
    pub(crate) sad: Sad,
    /// How many times the SA file was replaced.
    pub(crate) generation: u32,
    /// Between which addresses there is ESP in transport mode for this device.
    transport_ends: Table,
}

/// What a received packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// ESP for this device, under the association in this slot.
    Esp(u32),
    /// Something else, or ESP that is refused.
    Other(Verdict),
}

impl Databases {
    /// Of associations in `slots`. `policies` name them by their place in the SA file.
    pub(crate) fn new(
        associations: Vec<Arc<Parameters>>,
        policies: &[Policy],
        defaults: Defaults,
        slots: &Slots,
    ) -> Databases {
        let transport_ends = transport_ends(&associations, policies);
        let policies: Vec<Policy> = policies.iter().map(|one| slots.in_slots(one)).collect();
        let spd = Spd::new(&policies, defaults, slots.capacity());
        let homes = slots.homes(affinity::homes(slots.capacity(), &policies, &spd));
        Databases {
            spd,
            transport_ends,
            sad: Sad::new(associations, slots.by_place(), homes),
            generation: slots.generation(),
        }
    }

    /// How many times the SA file was replaced before these came.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The policies.
    pub fn spd(&self) -> &Spd {
        &self.spd
    }

    /// The associations.
    pub fn sad(&self) -> &Sad {
        &self.sad
    }

    /// How packets are steered that are to be protected: by the association of their
    /// flow, so that it belongs to one shard, or else by flow. Both directions
    /// of a flow go to one shard, also where policies protect only one.
    pub fn outbound_steering(self: &Arc<Databases>) -> SteeringRule {
        Arc::new(Newest::new(Arc::clone(self))).outbound_steering()
    }

    /// How packets are steered that are to be unprotected: ESP by its association,
    /// the rest as by [`outbound_steering`](Databases::outbound_steering).
    pub fn inbound_steering(self: &Arc<Databases>) -> SteeringRule {
        Arc::new(Newest::new(Arc::clone(self))).inbound_steering()
    }

    fn home_of_esp(&self, batch: &Batch, index: usize) -> u32 {
        let (headers, record) = (batch.headers(index), batch.record(index));
        match self.esp_for_us(headers, record) {
            Some(Ok(association)) => self.sad.home(association),
            _ => self.home_of_flow(batch, index),
        }
    }

    fn home_of_flow(&self, batch: &Batch, index: usize) -> u32 {
        let interface = batch.arrival(index).interface;
        let flow_hash = batch.flow_hash(index);
        let headers = batch.headers(index);
        let tuple = Tuple::from_headers(headers, batch.record(index), interface);
        let association = if headers.fragment != Fragment::Whole && self.spd.steers_fragments() {
            self.spd.association_of_fragments(&tuple, flow_hash)
        } else {
            self.spd.association_of_flow(&tuple, flow_hash)
        };
        match association {
            Some(association) => self.sad.home(association),
            None => flow_hash,
        }
    }

    /// Prefetches what [`classify_inbound`](Databases::classify_inbound) will read for
    /// the record at `index`, in two steps; the `further` one needs the data of the first.
    #[inline]
    pub(crate) fn look_ahead_inbound(&self, batch: &Batch, index: usize, further: bool) {
        if index >= batch.len() {
            return;
        }
        let headers = batch.headers(index);
        let esp = headers.payload(batch.record(index));
        if let Some(spi) = esp.first_chunk()
            && matches!(headers.protocol, ESP | UDP)
        {
            let spi = u32::from_be_bytes(*spi);
            match further {
                false => self.sad.look_ahead(spi),
                true => self.sad.look_ahead_at_rows(spi),
            }
        }
    }

    /// What a received packet is: ESP for this device, or something that the
    /// policies decide about.
    #[inline]
    pub(crate) fn classify_inbound(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> Arrived {
        match self.esp_for_us(headers, record) {
            Some(Ok(association)) => Arrived::Esp(association),
            Some(Err(reason)) => Arrived::Other(Verdict::Drop(reason)),
            None if headers.is_protocol_unknown() && self.may_be_esp_in_udp(headers, record) => {
                Arrived::Other(Verdict::Drop(DropReason::ProtocolHidden))
            }
            None => Arrived::Other(self.spd.inbound_clear_text(headers, record, interface)),
        }
    }

    /// Whether the verdict on a received fragment's datagram can depend on what
    /// only the first fragment shows: whether ESP in UDP is in it, or what the
    /// policies say.
    pub(crate) fn inbound_follows_first(
        &self,
        headers: &Headers,
        record: &[u8],
        interface: u16,
    ) -> bool {
        (headers.protocol == UDP && self.may_be_esp_in_udp(headers, record))
            || self.spd.inbound_follows_first(headers, record, interface)
    }

    /// Whether a fragment of UDP may be one of ESP for this device.
    fn may_be_esp_in_udp(&self, headers: &Headers, record: &[u8]) -> bool {
        !self.sad.nat_t_ports().is_empty()
            && headers
                .addresses(record)
                .is_some_and(|(_, destination)| self.is_for_us(headers, record, destination))
    }

    /// The association of an ESP packet for this device (RFC 4301, section 5.2,
    /// step 3), or why it is refused; `None` for all other packets.
    #[inline]
    fn esp_for_us(&self, headers: &Headers, record: &[u8]) -> Option<Result<u32, DropReason>> {
        let arrival = match Arrival::find(headers, record, self.sad.nat_t_ports()) {
            Ok(None) => return None,
            Ok(Some(arrival)) => Ok(arrival),
            Err(reason) => Err(reason),
        };
        let (_, destination) = headers.addresses(record)?;
        let found = arrival.and_then(|arrival| {
            self.sad
                .find(&arrival, destination, || {
                    self.is_transport_end(headers, record)
                })
                .ok_or(DropReason::UnknownSpi)
        });
        if found.is_err() && !self.is_for_us(headers, record, destination) {
            return None;
        }
        Some(found)
    }

    /// Whether ESP between these addresses is for this device.
    #[cold]
    fn is_for_us(&self, headers: &Headers, record: &[u8], destination: IpAddr) -> bool {
        self.sad.is_tunnel_end(destination) || self.is_transport_end(headers, record)
    }

    fn is_transport_end(&self, headers: &Headers, record: &[u8]) -> bool {
        let tuple = Tuple::from_headers(headers, record, 0);
        self.transport_ends.first(&tuple).is_some()
    }
}

/// The databases in force, for steering, which is decided before a packet meets a stage.
pub(crate) struct Newest {
    generation: AtomicU32,
    databases: RwLock<Arc<Databases>>,
}

impl Newest {
    pub fn new(databases: Arc<Databases>) -> Newest {
        Newest {
            generation: AtomicU32::new(databases.generation),
            databases: RwLock::new(databases),
        }
    }

    pub fn set(&self, databases: Arc<Databases>) {
        let generation = databases.generation;
        *self
            .databases
            .write()
            .unwrap_or_else(PoisonError::into_inner) = databases;
        self.generation.store(generation, Ordering::Release);
    }

    /// As [`Databases::outbound_steering`], by those in force.
    pub fn outbound_steering(self: &Arc<Newest>) -> SteeringRule {
        let newest = Arc::clone(self);
        SteeringRule::new("outbound associations", move |batch, index| {
            newest.read(|databases| databases.home_of_flow(batch, index))
        })
    }

    /// As [`Databases::inbound_steering`], by those in force.
    pub fn inbound_steering(self: &Arc<Newest>) -> SteeringRule {
        let newest = Arc::clone(self);
        SteeringRule::new("inbound associations", move |batch, index| {
            newest.read(|databases| databases.home_of_esp(batch, index))
        })
    }

    /// Shows them to `look`. A thread that did so before for the same generation touches no
    /// memory that others write.
    fn read<R>(self: &Arc<Newest>, look: impl FnOnce(&Databases) -> R) -> R {
        LAST_READ.with_borrow_mut(|last| {
            let generation = self.generation.load(Ordering::Acquire);
            let is_newest = |last: &&LastRead| {
                last.generation == generation && ptr::eq(last.of.as_ptr(), Arc::as_ptr(self))
            };
            if let Some(last) = last.as_ref().filter(is_newest) {
                return look(&last.databases);
            }
            let databases = self
                .databases
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            let last = last.insert(LastRead {
                of: Arc::downgrade(self),
                generation: databases.generation,
                databases: Arc::clone(&databases),
            });
            look(&last.databases)
        })
    }
}

/// The databases that a thread has read last.
struct LastRead {
    of: Weak<Newest>,
    generation: u32,
    databases: Arc<Databases>,
}

thread_local! {
    static LAST_READ: RefCell<Option<LastRead>> = const { RefCell::new(None) };
}

/// The addresses between which inbound policies name associations in transport
/// mode.
fn transport_ends(associations: &[Arc<Parameters>], policies: &[Policy]) -> Table {
    let opens_transport = |association: &u32| {
        associations
            .get(*association as usize)
            .is_some_and(|parameters| parameters.mode == Mode::Transport && parameters.may_open())
    };
    let mut ends: Vec<Selector> = policies
        .iter()
        .filter(|policy| policy.direction.is_inbound())
        .filter(|policy| match &policy.action {
            Action::Protect(associations) => associations.iter().any(opens_transport),
            _ => false,
        })
        .map(|policy| policy.selector.without_protocol())
        .collect();
    let mut known = HashSet::new();
    ends.retain(|selector| known.insert(selector.clone()));
    Table::new(&ends)
}
