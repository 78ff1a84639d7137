//! What the stages enter into the vocabulary of their pipeline.

use serde::Serialize;
use weir_stream::{
    Batch, DropCodes, EventKind, Members, StageError, Vocabulary, VocabularyError, Word,
    WorkArgument,
};

use crate::reason::DropReason;

const OWNER: &str = env!("CARGO_PKG_NAME");

/// The work of protecting a record. Its argument is the index of the association.
pub const PROTECT: Word = Word::new(OWNER, "protect", "It is to be protected by an association.");

/// The work of unprotecting a record. Its argument is the index of the association.
pub const UNPROTECT: Word = Word::new(
    OWNER,
    "unprotect",
    "Its protection by an association is to be removed.",
);

/// The event that an association passed its soft lifetime. The members are
/// `"soft_lifetime":{"spi":N}`.
pub const SOFT_LIFETIME: Word = Word::new(
    OWNER,
    "soft_lifetime",
    "A security association passed its soft lifetime and wants a successor.",
);

#[derive(Serialize)]
struct SoftLifetimeMembers {
    soft_lifetime: SpiObject,
}

#[derive(Serialize)]
struct SpiObject {
    spi: u32,
}

/// The numbers that the words of this crate have in a pipeline.
#[derive(Clone, Copy)]
pub(super) struct Words {
    reasons: DropCodes<DropReason>,
    soft_lifetime: EventKind,
    pub protect: WorkArgument,
    pub unprotect: WorkArgument,
}

impl Words {
    pub fn register(vocabulary: &mut Vocabulary) -> Result<Words, VocabularyError> {
        Ok(Words {
            reasons: vocabulary.drop_reasons()?,
            soft_lifetime: vocabulary.event_kind(&SOFT_LIFETIME)?,
            protect: vocabulary.work_argument(&PROTECT)?,
            unprotect: vocabulary.work_argument(&UNPROTECT)?,
        })
    }

    /// Those of a stage that has registered them.
    pub fn of(stage: &str, registered: Option<Words>) -> Result<Words, StageError> {
        registered.ok_or_else(|| StageError::unregistered(stage))
    }

    pub fn reasons(&self) -> DropCodes<DropReason> {
        self.reasons
    }

    pub fn drop_record(&self, batch: &mut Batch, index: usize, reason: DropReason) {
        batch.drop_record(index, self.reasons.code(reason));
    }

    /// Notes that the association with an SPI passed its soft lifetime by a record.
    #[cold]
    pub fn notice_soft_lifetime(&self, batch: &mut Batch, index: usize, spi: u32) {
        let event = batch.notice(index, self.soft_lifetime);
        event.members = Some(Members::of(&SoftLifetimeMembers {
            soft_lifetime: SpiObject { spi },
        }));
    }
}
