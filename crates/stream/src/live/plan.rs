//! What all workers of a live pipeline know.

use std::sync::Arc;
use std::time::Duration;

use weir_packet::file::Interface;

use super::boundary::Boundary;
use super::exchange::Rendezvous;
use super::reason::FrameDrop;
use super::report::{ControlPacket, LiveReport};
use crate::batch::BatchLimits;
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

#[derive(Clone, Copy)]
pub(super) struct PathPlan {
    pub from: usize,
    pub egress: Egress,
}

/// What the workers of a pipeline have in common.
pub(super) struct Shared {
    pub interfaces: Arc<[Interface]>,
    pub plans: Vec<Plan>,
    pub factory: Box<StageFactory>,
    pub vocabulary: Arc<Vocabulary>,
    pub codes: DropCodes<FrameDrop>,
    pub limits: BatchLimits,
    pub max_wait: Duration,
    pub rendezvous: Rendezvous,
    pub events: RingSender<Vec<Event>>,
    pub control: RingSender<ControlPacket>,
    pub reports: RingSender<LiveReport>,
    pub stop: StopFlag,
    pub boundary: Boundary,
}

/// How the records of a path go through its stages.
pub(super) struct Plan {
    pub path: PathPlan,
    pub segments: Vec<Segment>,
    /// Whether the ports bring records to the workers that the first segment needs them on.
    pub is_steered: bool,
}

impl Plan {
    /// The plan of a path whose port brings both directions of every flow to one worker of
    /// `workers`, or does not.
    pub fn new(
        path: PathPlan,
        stages: &[Box<dyn Stage>],
        keeps_flows: bool,
        workers: usize,
    ) -> Plan {
        let segments = segments(stages);
        let needs_steering =
            (stages.iter()).any(|stage| !matches!(stage.steering(), Steering::Any));
        let is_met = segments[0].rule.is_by_flow() && keeps_flows;
        Plan {
            path,
            segments,
            is_steered: !needs_steering || is_met || workers == 1,
        }
    }
}
