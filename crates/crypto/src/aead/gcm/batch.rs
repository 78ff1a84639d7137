//! The packets of a batch on their way to the kernels, and their tags back.

use arrayvec::ArrayVec;
use weir_simd::Tier;

use super::occupancy::lane_use;
use super::packet::{GcmJob, Packet, tags_agree};
use super::plan::{KINDS, Kind, ShortTexts, Task};
use super::simd::LaneLimits;
use super::{scalar, simd};
use crate::aead::plan::{MOST_PACKETS, Plan};
use crate::cipher::Block;
use crate::frames;
use crate::impossible::{Impossible, happens};
use crate::lane_use::LaneUse;
use crate::tags::Tags;

/// Seals or opens the GCM packets among `jobs` with the kernels of `tier`. Jobs whose
/// tags were not computed are left as they are.
pub(crate) fn process<J: GcmJob>(tier: Tier, jobs: &mut [J]) -> LaneUse {
    let mut lanes = LaneUse::default();
    for jobs in jobs.chunks_mut(MOST_PACKETS) {
        let mut computed = Computed::new();
        let packets = jobs.iter_mut().map(J::begin);
        lanes += compute_tags(tier, J::OPEN, packets, &mut computed);
        for (place, tag) in computed.iter() {
            if let Some(job) = jobs.get_mut(place) {
                job.finish(tag);
            }
        }
    }
    lanes
}

/// The tags of some of up to [`MOST_PACKETS`] packets.
pub(super) struct Computed {
    /// In the order of the plan.
    tags: Tags<MOST_PACKETS>,
    /// Which packet each of the plan is.
    places: ArrayVec<u8, MOST_PACKETS>,
}

impl Computed {
    /// None yet.
    #[inline]
    pub(super) fn new() -> Computed {
        Computed {
            tags: Tags::new(),
            places: ArrayVec::new(),
        }
    }

    /// The tags that were computed, and which packets they belong to.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Block)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(planned, place)| Some((usize::from(*place), self.tags.get(planned)?)))
    }
}

/// Encrypts or decrypts the texts of those of up to [`MOST_PACKETS`] packets that are
/// there, and computes their tags.
#[inline]
pub(super) fn compute_tags<'a>(
    tier: Tier,
    open: bool,
    packets: impl Iterator<Item = Option<Packet<'a>>>,
    computed: &mut Computed,
) -> LaneUse {
    let mut plan = Packets::new();
    for (place, packet) in (0..=u8::MAX).zip(packets) {
        if let Some(packet) = packet
            && plan.add(packet)
        {
            computed.places.push(place);
        }
    }
    run(tier, open, &plan, &mut computed.tags)
}

/// Encrypts or decrypts the texts of a plan, and writes their tags in the order
/// in which the packets were added.
fn run(tier: Tier, open: bool, plan: &Packets<'_>, tags: &mut Tags<MOST_PACKETS>) -> LaneUse {
    let short = ShortTexts::of(&LaneLimits::of(tier));
    let mut lanes = LaneUse::default();
    let kind_of = |packet: &Packet<'_>| Kind::number(&short, packet);
    plan.for_each(kind_of, |these| {
        if happens(Impossible::KernelReturns) {
            return;
        }
        let mut task = Task {
            kind: Kind::of(these.kind),
            open,
            alike: these.alike,
            packets: these.packets,
            places: these.places,
            tags,
        };
        let tier = match task.kind.route.computes_keys() {
            false => frames::cleared_of::<FRAMES_BYTES, _>(|| run_kernel(tier, &mut task)),
            true => frames::cleared_of::<COMPUTED_FRAMES_BYTES, _>(|| run_kernel(tier, &mut task)),
        };
        lanes += lane_use(tier, &task);
    });
    lanes
}

/// More than the frames of kernels that have all keys at hand, and no time to lose.
const FRAMES_BYTES: usize = 8 * 1024;

/// More than those of kernels that compute keys, and have tables of them.
const COMPUTED_FRAMES_BYTES: usize = 24 * 1024;

/// Processes the packets of a task, and says with the kernels of which tier.
fn run_kernel(tier: Tier, task: &mut Task<'_, '_>) -> Tier {
    if simd::run(tier, task) {
        return tier;
    }
    frames::cleared(|| scalar::run(task));
    Tier::Scalar
}

/// Memory for packets that are gathered. It is large: whoever uses it has it in a
/// variable of its own, for to move it is to copy it.
pub(crate) type Packets<'a> = Plan<Packet<'a>, KINDS>;

/// Where the result of each gathered packet goes.
pub(crate) type Outcomes<P> = ArrayVec<P, MOST_PACKETS>;

/// What becomes of a packet whose tag was computed.
pub(crate) trait Outcome {
    /// Whether packets are opened, not sealed.
    const OPEN: bool;

    /// Takes the tag that was computed for `packet`, whose text has been encrypted
    /// or decrypted.
    fn finish(self, packet: &Packet<'_>, tag: &Block);

    /// The packet is given up: no tag was computed, and its text may be in any state.
    fn refuse(self, packet: &Packet<'_>);
}

/// Where the tag of a packet goes that is sealed, and whether it is.
pub(crate) struct Sealed<'a> {
    pub(crate) tag: &'a mut Block,
    /// False before.
    pub(crate) is_sealed: &'a mut bool,
}

/// A packet that is sealed takes its tag.
impl Outcome for Sealed<'_> {
    const OPEN: bool = false;

    #[inline]
    fn finish(self, _: &Packet<'_>, tag: &Block) {
        *self.tag = *tag;
        *self.is_sealed = true;
    }

    #[cold]
    fn refuse(self, packet: &Packet<'_>) {
        packet.clear_text();
        *self.tag = [0; 16];
    }
}

/// The tag that came with a packet, and where the verdict on it goes.
pub(crate) struct Received<'a> {
    pub(crate) tag: &'a Block,
    /// False before.
    pub(crate) verdict: &'a mut bool,
}

/// A packet that is opened is held against the tag that came with it; unless they
/// are equal, its text is cleared.
impl Outcome for Received<'_> {
    const OPEN: bool = true;

    #[inline]
    fn finish(self, packet: &Packet<'_>, tag: &Block) {
        *self.verdict = tags_agree(self.tag, tag);
        if !*self.verdict {
            packet.clear_text();
        }
    }

    #[cold]
    fn refuse(self, packet: &Packet<'_>) {
        packet.clear_text();
    }
}

/// Packets that are gathered one by one as they are made or found, and sealed or
/// opened together.
pub(crate) struct Gathered<'m, 'a, P> {
    tier: Tier,
    plan: &'m mut Packets<'a>,
    outcomes: &'m mut Outcomes<P>,
    /// Of packets that are done.
    lanes: LaneUse,
    /// Whether a packet was given up.
    has_refused: bool,
}

impl<'m, 'a, P: Outcome> Gathered<'m, 'a, P> {
    /// For the kernels of `tier`, in memory that is empty.
    #[inline]
    pub(crate) fn new(
        tier: Tier,
        plan: &'m mut Packets<'a>,
        outcomes: &'m mut Outcomes<P>,
    ) -> Gathered<'m, 'a, P> {
        Gathered {
            tier,
            plan,
            outcomes,
            lanes: LaneUse::default(),
            has_refused: false,
        }
    }

    /// Adds a packet and where its result goes. Packets before it are processed
    /// where there is no room for more.
    #[inline]
    pub(crate) fn add(&mut self, packet: Packet<'a>, outcome: P) {
        if self.outcomes.is_full() {
            self.process();
        }
        if self.plan.add(packet) {
            self.outcomes.push(outcome);
        } else {
            self.refuse(&packet, outcome);
        }
    }

    /// Gives a packet up.
    #[cold]
    pub(crate) fn refuse(&mut self, packet: &Packet<'_>, outcome: P) {
        outcome.refuse(packet);
        self.has_refused = true;
    }

    /// Gives up all packets that were added since packets were processed last.
    #[cold]
    pub(crate) fn refuse_all(&mut self) {
        let outcomes = self.outcomes.drain(..);
        for (outcome, packet) in outcomes.zip(self.plan.packets()) {
            outcome.refuse(packet);
        }
        self.plan.clear();
        self.has_refused = true;
    }

    /// Whether a packet was given up.
    pub(crate) fn has_refused(&self) -> bool {
        self.has_refused
    }

    /// Seals or opens the packets, and returns how full the lanes were since this
    /// was called last.
    pub(crate) fn finish(&mut self) -> LaneUse {
        self.process();
        std::mem::take(&mut self.lanes)
    }

    #[inline(never)]
    fn process(&mut self) {
        let mut tags = Tags::new();
        self.lanes += run(self.tier, P::OPEN, self.plan, &mut tags);
        let packets = self.plan.packets().iter().enumerate();
        for (outcome, (planned, packet)) in self.outcomes.drain(..).zip(packets) {
            if let Some(tag) = tags.get(planned) {
                outcome.finish(packet, tag);
            } else {
                outcome.refuse(packet);
                self.has_refused = true;
            }
        }
        self.plan.clear();
    }
}
