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
use crate::lane_use::LaneUse;

/// Seals or opens the GCM packets among `jobs` with the kernels of `tier`.
pub(crate) fn process<J: GcmJob>(tier: Tier, jobs: &mut [J]) -> LaneUse {
    let mut lanes = LaneUse::default();
    for jobs in jobs.chunks_mut(MOST_PACKETS) {
        let mut tags = [[0; 16]; MOST_PACKETS];
        let packets = jobs.iter_mut().filter_map(J::begin);
        lanes += compute_tags(tier, J::OPEN, packets, &mut tags);
        let mut tags = tags.iter();
        for job in jobs {
            if job.packet().is_some()
                && let Some(tag) = tags.next()
            {
                job.finish(tag);
            }
        }
    }
    lanes
}

/// Encrypts or decrypts the texts of up to [`MOST_PACKETS`] packets, and writes
/// their tags in order.
#[inline]
pub(super) fn compute_tags<'a>(
    tier: Tier,
    open: bool,
    packets: impl Iterator<Item = Packet<'a>>,
    tags: &mut [Block; MOST_PACKETS],
) -> LaneUse {
    let mut plan = Packets::new();
    packets.for_each(|packet| plan.add(packet));
    run(tier, open, &plan, tags)
}

/// Encrypts or decrypts the texts of a plan, and writes their tags in the order
/// in which the packets were added.
fn run(tier: Tier, open: bool, plan: &Packets<'_>, tags: &mut [Block; MOST_PACKETS]) -> LaneUse {
    let short = ShortTexts::of(&LaneLimits::of(tier));
    let mut lanes = LaneUse::default();
    let kind_of = |packet: &Packet<'_>| Kind::number(&short, packet);
    plan.for_each(kind_of, |these| {
        let mut task = Task {
            kind: Kind::of(these.kind),
            open,
            alike: these.alike,
            packets: these.packets,
            places: these.places,
            tags,
        };
        if simd::run(tier, &mut task) {
            lanes += lane_use(tier, &task);
        } else {
            scalar::run(&mut task);
            lanes += lane_use(Tier::Scalar, &task);
        }
    });
    lanes
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
}

/// A packet that is sealed takes its tag.
impl Outcome for &mut Block {
    const OPEN: bool = false;

    #[inline]
    fn finish(self, _: &Packet<'_>, tag: &Block) {
        *self = *tag;
    }
}

/// The tag that came with a packet, and where the verdict on it goes.
pub(crate) struct Received<'a> {
    pub(crate) tag: &'a Block,
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
            for byte in packet.text {
                byte.set(0);
            }
        }
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
        }
    }

    /// Adds a packet and where its result goes. Packets before it are processed
    /// where there is no room for more.
    #[inline]
    pub(crate) fn add(&mut self, packet: Packet<'a>, outcome: P) {
        if self.outcomes.is_full() {
            self.process();
        }
        self.plan.add(packet);
        let _ = self.outcomes.try_push(outcome);
    }

    /// Seals or opens the packets, and returns how full the lanes were since this
    /// was called last.
    pub(crate) fn finish(&mut self) -> LaneUse {
        self.process();
        std::mem::take(&mut self.lanes)
    }

    #[inline(never)]
    fn process(&mut self) {
        let mut tags = [[0; 16]; MOST_PACKETS];
        self.lanes += run(self.tier, P::OPEN, self.plan, &mut tags);
        let packets = self.plan.packets().iter().zip(&tags);
        for (outcome, (packet, tag)) in self.outcomes.drain(..).zip(packets) {
            outcome.finish(packet, tag);
        }
        self.plan.clear();
    }
}
