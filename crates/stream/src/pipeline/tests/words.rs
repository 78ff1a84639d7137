//! What stages call things: sums over pipelines, clashes, and stages without their words.

use super::*;
use crate::{DropCodes, DropReason};

crate::drop_reasons! {
    /// The same name as that of the juggler's reason.
    enum OtherDropped {
        /// It fell out of a hole.
        Slipped = "slipped",
    }
}

/// Enters the words of `R`, which it drops every record with.
#[derive(Default)]
struct Dropping<R>(Option<DropCodes<R>>);

impl<R: DropReason + Send> Stage for Dropping<R> {
    fn name(&self) -> &str {
        "dropping"
    }
    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.0 = Some(vocabulary.drop_reasons()?);
        Ok(())
    }
    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let codes = self.0.ok_or_else(|| StageError::unregistered("dropping"))?;
        for index in batch.live() {
            batch.drop_record(index, codes.code(R::ALL[0]));
        }
        Ok(())
    }
}

/// Pipelines of different stages count in one vocabulary, and their sum says what was counted.
#[test]
fn drops_of_pipelines_side_by_side_add_up_by_reason() {
    crate::drop_reasons! {
        /// Of the second pipeline.
        enum Torn {
            /// It is in two parts.
            Torn = "torn",
        }
    }
    let source = || MemorySource::new(LinkType::RawIp, &packets(300, 7));
    let (sum, outcomes) = run_side_by_side(vec![
        Pipeline::new(source()).stage(Dropping::<Dropped>(None)),
        Pipeline::new(source())
            .stage(Juggler::default())
            .stage(Dropping::<Torn>(None)),
    ])
    .expect("runs");
    let of = |statistics: &Statistics| {
        [
            statistics.drops(Dropped::Slipped),
            statistics.drops(Torn::Torn),
        ]
    };
    assert_eq!(of(&outcomes[0].statistics), [300, 0]);
    let [slipped, torn] = of(&outcomes[1].statistics);
    assert_eq!(slipped, 30);
    assert_eq!(of(&sum), [330, torn]);
    let by_name: Vec<_> = sum
        .drops_by_reason()
        .map(|(word, n)| (word.name, n))
        .collect();
    assert_eq!(by_name, [("slipped", 330), ("torn", torn)]);
}

#[test]
fn stages_whose_words_clash_do_not_run() {
    let source = || MemorySource::new(LinkType::RawIp, &packets(9, 1));
    let error = Pipeline::new(source())
        .stage(Juggler::default())
        .stage(Dropping::<OtherDropped>(None))
        .run()
        .err();
    let clash = VocabularyError::Clash {
        what: "drop reason",
        word: OtherDropped::WORDS[0],
        known: Dropped::WORDS[0],
    };
    assert!(matches!(error, Some(PipelineError::Vocabulary(error)) if error == clash));
    let error = run_side_by_side(vec![
        Pipeline::new(source()).stage(Juggler::default()),
        Pipeline::new(source()).stage(Dropping::<OtherDropped>(None)),
    ])
    .err();
    assert!(matches!(error, Some(PipelineError::Vocabulary(error)) if error == clash));
}

#[test]
fn a_stage_without_its_words_fails() {
    let batch = &mut Batch::new(BatchLimits::default());
    let error = Dropping::<Dropped>(None)
        .process(batch, &mut Context::default())
        .expect_err("no words");
    assert!(error.to_string().contains("not registered"), "{error}");
}
