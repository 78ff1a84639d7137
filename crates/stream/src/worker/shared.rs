//! What all workers of a run know.

use std::sync::Arc;

use weir_packet::file::Interface;

use super::boundary::Boundary;
use super::reason::FrameDrop;
use super::report::{ControlPacket, LiveReport};
use crate::chain::{Segment, segments};
use crate::disposition::DropCodes;
use crate::egress::Egress;
use crate::event::Event;
use crate::ring::RingSender;
use crate::stage::{Stage, StageError};
use crate::steering::Steering;
use crate::stop::StopFlag;
use crate::vocabulary::Vocabulary;

/// What makes the stages of a worker for a path, by the numbers of both: at the start, and
/// again after one of them has failed.
pub type StageFactory =
    dyn Fn(usize, usize) -> Result<Vec<Box<dyn Stage>>, StageError> + Send + Sync;

/// What the workers of a run have in common.
pub(crate) struct Shared {
    pub vocabulary: Arc<Vocabulary>,
    pub boundary: Boundary,
    pub stop: StopFlag,
    /// What is raised where a worker fails: the flags of this run, and of those beside it.
    pub ends: Arc<[StopFlag]>,
    /// Of a run between ports. Over files, records wait where something is full, and a stage
    /// that fails ends the run; between ports they are dropped and counted, and the stages are made
    /// again.
    pub live: Option<SharedLive>,
}

/// What the workers between ports have in common.
pub(crate) struct SharedLive {
    pub interfaces: Arc<[Interface]>,
    pub factory: Box<StageFactory>,
    pub codes: DropCodes<FrameDrop>,
    pub events: RingSender<Vec<Event>>,
    pub control: RingSender<ControlPacket>,
    pub reports: RingSender<LiveReport>,
}

impl Shared {
    /// Ends the run, and those beside it.
    pub fn end(&self) {
        self.ends.iter().for_each(StopFlag::stop);
    }
}

/// How the records of a path go through its stages.
pub(crate) struct Plan {
    /// Where records leave unless a stage says otherwise.
    pub egress: Egress,
    pub segments: Vec<Segment>,
    /// Whether records come to the workers that the first segment needs them on.
    pub is_steered: bool,
}

impl Plan {
    /// The plan of a path whose records come to the right workers anyway, or both directions of
    /// every flow to one worker, or neither.
    pub fn new(
        egress: Egress,
        stages: &[Box<dyn Stage>],
        is_steered: bool,
        keeps_flows: bool,
    ) -> Plan {
        let segments = segments(stages);
        let needs_steering =
            (stages.iter()).any(|stage| !matches!(stage.steering(), Steering::Any));
        let is_met = segments[0].rule.is_by_flow() && keeps_flows;
        Plan {
            egress,
            segments,
            is_steered: is_steered || !needs_steering || is_met,
        }
    }
}
