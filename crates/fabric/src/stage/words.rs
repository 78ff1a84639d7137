//! What the stages enter into the vocabulary of their pipeline.

use weir_stream::{
    Batch, DropCodes, EventKind, StageError, Vocabulary, VocabularyError, Word, WorkBit,
};

use crate::secure::DropReason;

const OWNER: &str = env!("CARGO_PKG_NAME");

/// The work of protecting a packet of InfiniBand or RoCEv2.
pub const PROTECT: Word = Word::new(
    OWNER,
    "fabric_protect",
    "Its ICRC is to be replaced by an authentication tag.",
);

/// The work of verifying a secure packet of InfiniBand or RoCEv2.
pub const UNPROTECT: Word = Word::new(
    OWNER,
    "fabric_unprotect",
    "Its authentication tag is to be verified and replaced by an ICRC.",
);

/// The work of comparing a P_Key with those of the node that sends it.
pub const FILTER: Word = Word::new(OWNER, "fabric_filter", "Its P_Key is to be looked up.");

/// The event that tags of a flow were wrong. The members are
/// `"fabric_alarm":{"from":ADDRESS,"to":ADDRESS,"queue_pair":N,"cause":CAUSE}`.
pub const ALARM: Word = Word::new(
    OWNER,
    "fabric_alarm",
    "Several tags of a flow in a row were wrong, or a mode is refused until its key is renewed.",
);

weir_stream::drop_reasons! {
    /// Why a stage drops a packet beside the reasons of [`DropReason`].
    pub enum StageDropReason {
        /// The ledger has not granted the epochs of this start yet.
        EpochPending = "epoch_pending",
        /// The ledger does not say yet that a receiver has come as far as the packet's number.
        WindowPending = "window_pending",
        /// Its P_Key is none that the node behind the port may send.
        PartitionKeyBlocked = "partition_key_blocked",
        /// Its P_Key is none that the node that it goes to accepts.
        PartitionKeyRefused = "partition_key_refused",
    }
}

/// The numbers that the words of this crate have in a pipeline.
#[derive(Clone, Copy)]
pub(super) struct Words {
    secure: DropCodes<DropReason>,
    stage: DropCodes<StageDropReason>,
    pub alarm: EventKind,
    pub protect: WorkBit,
    pub unprotect: WorkBit,
    pub filter: WorkBit,
}

impl Words {
    pub fn register(vocabulary: &mut Vocabulary) -> Result<Words, VocabularyError> {
        Ok(Words {
            secure: vocabulary.drop_reasons()?,
            stage: vocabulary.drop_reasons()?,
            alarm: vocabulary.event_kind(&ALARM)?,
            protect: vocabulary.work_bit(&PROTECT)?,
            unprotect: vocabulary.work_bit(&UNPROTECT)?,
            filter: vocabulary.work_bit(&FILTER)?,
        })
    }

    /// Those of a stage that has registered them.
    pub fn of(stage: &str, registered: Option<Words>) -> Result<Words, StageError> {
        registered.ok_or_else(|| StageError::unregistered(stage))
    }

    pub fn drop_record(&self, batch: &mut Batch, index: usize, reason: DropReason) {
        batch.drop_record(index, self.secure.code(reason));
    }

    pub fn drop_for(&self, batch: &mut Batch, index: usize, reason: StageDropReason) {
        batch.drop_record(index, self.stage.code(reason));
    }
}
