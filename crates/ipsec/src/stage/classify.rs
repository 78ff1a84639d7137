//! Classifiers: what a record needs, by the policies and associations.

use std::sync::Arc;

use weir_packet::wire::Fragment;
use weir_stream::{
    Batch, Context, Mailbox, Stage, StageError, Steering, SteeringRule, Vocabulary, VocabularyError,
};

use super::words::Words;
use super::{LOOK_AHEAD, LOOK_AHEAD_FURTHER};
use crate::databases::{Arrived, Databases, Newest};
use crate::fragments::Fragments;
use crate::policy::Verdict;
use crate::reason::DropReason;
use crate::slots::Tagged;

const OUTBOUND: &str = "classify outbound";
const INBOUND: &str = "classify inbound";

/// Decides about packets on their way out: protect, bypass or drop.
pub struct ClassifyOutbound {
    databases: Arc<Databases>,
    /// Databases that take the place of these, in a gateway that runs.
    commands: Option<Mailbox<Arc<Databases>>>,
    steering: SteeringRule,
    words: Option<Words>,
    fragments: Fragments,
    bypassed: u64,
}

impl ClassifyOutbound {
    /// A classifier by these databases.
    pub fn new(databases: Arc<Databases>) -> ClassifyOutbound {
        ClassifyOutbound {
            steering: databases.outbound_steering(),
            databases,
            commands: None,
            words: None,
            fragments: Fragments::default(),
            bypassed: 0,
        }
    }

    /// By databases that others take the place of.
    pub(crate) fn following(
        self,
        newest: &Arc<Newest>,
        commands: Mailbox<Arc<Databases>>,
    ) -> ClassifyOutbound {
        ClassifyOutbound {
            commands: Some(commands),
            steering: newest.outbound_steering(),
            ..self
        }
    }

    /// Packets that passed by.
    pub fn bypassed(&self) -> u64 {
        self.bypassed
    }
}

impl Stage for ClassifyOutbound {
    fn name(&self) -> &str {
        OUTBOUND
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words::register(vocabulary)?);
        Ok(())
    }

    fn steering(&self) -> Steering {
        Steering::By(self.steering.clone())
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(OUTBOUND, self.words)?;
        while let Some(databases) = self.commands.as_mut().and_then(Mailbox::take) {
            self.databases = databases;
        }
        for index in batch.live() {
            if batch.headers(index).fragment != Fragment::Whole {
                if let Some(verdict) = self.of_fragment(batch, index) {
                    apply(batch, index, verdict, &words, &mut self.bypassed);
                }
                continue;
            }
            let verdict = self.of_packet(batch, index);
            apply(batch, index, verdict, &words, &mut self.bypassed);
        }
        if !self.fragments.is_idle() {
            self.release(batch, &words);
        }
        Ok(())
    }

    fn drain(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(OUTBOUND, self.words)?;
        self.fragments.end();
        self.release(batch, &words);
        Ok(())
    }
}

impl ClassifyOutbound {
    #[inline(always)]
    fn of_packet(&self, batch: &Batch, index: usize) -> Verdict {
        self.databases.spd.outbound(
            batch.headers(index),
            batch.record(index),
            batch.arrival(index).interface,
            batch.flow_hash(index),
        )
    }

    /// `None` where the fragment waits for its first one.
    #[cold]
    fn of_fragment(&mut self, batch: &mut Batch, index: usize) -> Option<Verdict> {
        let interface = batch.arrival(index).interface;
        let (headers, record) = (batch.headers(index), batch.record(index));
        let follows_first = (self.databases.spd).outbound_follows_first(headers, record, interface);
        let verdict = self.of_packet(batch, index);
        if follows_first {
            return self.fragments.follow_first(batch, index, None, verdict);
        }
        Some(verdict)
    }

    fn release(&mut self, batch: &mut Batch, words: &Words) {
        let bypassed = &mut self.bypassed;
        self.fragments.release(batch, |batch, index, verdict| {
            apply(batch, index, verdict, words, bypassed);
        });
    }
}

/// Does to a record what was decided about it.
#[inline(always)]
fn apply(batch: &mut Batch, index: usize, verdict: Verdict, words: &Words, bypassed: &mut u64) {
    match verdict {
        Verdict::Protect(association) => {
            let work = batch.work(index).with_argument(words.protect, association);
            batch.set_work(index, work);
        }
        Verdict::Bypass => *bypassed += 1,
        Verdict::Drop(reason) => words.drop_record(batch, index, reason),
        // It is held until that decides.
        Verdict::AsFirstFragment => {
            words.drop_record(batch, index, DropReason::FirstFragmentMissing);
        }
    }
}

/// Decides about packets that came in: ESP goes to its association, and what
/// came without protection passes by or is dropped.
pub struct ClassifyInbound {
    databases: Arc<Databases>,
    /// Databases that take the place of these, in a gateway that runs.
    commands: Option<Mailbox<Arc<Databases>>>,
    steering: SteeringRule,
    words: Option<Words>,
    fragments: Fragments,
    bypassed: u64,
}

impl ClassifyInbound {
    /// A classifier by these databases.
    pub fn new(databases: Arc<Databases>) -> ClassifyInbound {
        ClassifyInbound {
            steering: databases.inbound_steering(),
            databases,
            commands: None,
            words: None,
            fragments: Fragments::default(),
            bypassed: 0,
        }
    }

    /// By databases that others take the place of.
    pub(crate) fn following(
        self,
        newest: &Arc<Newest>,
        commands: Mailbox<Arc<Databases>>,
    ) -> ClassifyInbound {
        ClassifyInbound {
            commands: Some(commands),
            steering: newest.inbound_steering(),
            ..self
        }
    }

    /// Packets that passed by.
    pub fn bypassed(&self) -> u64 {
        self.bypassed
    }
}

impl Stage for ClassifyInbound {
    fn name(&self) -> &str {
        INBOUND
    }

    fn register(&mut self, vocabulary: &mut Vocabulary) -> Result<(), VocabularyError> {
        self.words = Some(Words::register(vocabulary)?);
        Ok(())
    }

    fn steering(&self) -> Steering {
        Steering::By(self.steering.clone())
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(INBOUND, self.words)?;
        while let Some(databases) = self.commands.as_mut().and_then(Mailbox::take) {
            self.databases = databases;
        }
        for index in batch.live() {
            self.databases
                .look_ahead_inbound(batch, index + LOOK_AHEAD, false);
            self.databases
                .look_ahead_inbound(batch, index + LOOK_AHEAD_FURTHER, true);
            let (headers, record) = (batch.headers(index), batch.record(index));
            let interface = batch.arrival(index).interface;
            if headers.fragment != Fragment::Whole {
                if let Some(verdict) = self.of_fragment(batch, index) {
                    apply(batch, index, verdict, &words, &mut self.bypassed);
                }
                continue;
            }
            match self.databases.classify_inbound(headers, record, interface) {
                Arrived::Esp(slot) => {
                    let tagged = Tagged::new(slot, self.databases.generation());
                    let work =
                        (batch.work(index)).with_argument(words.unprotect, tagged.argument());
                    batch.set_work(index, work);
                }
                Arrived::Other(verdict) => apply(batch, index, verdict, &words, &mut self.bypassed),
            }
        }
        if !self.fragments.is_idle() {
            self.release(batch, &words);
        }
        Ok(())
    }

    fn drain(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        let words = Words::of(INBOUND, self.words)?;
        self.fragments.end();
        self.release(batch, &words);
        Ok(())
    }
}

impl ClassifyInbound {
    /// `None` where the fragment waits for its first one.
    #[cold]
    fn of_fragment(&mut self, batch: &mut Batch, index: usize) -> Option<Verdict> {
        let interface = batch.arrival(index).interface;
        let (headers, record) = (batch.headers(index), batch.record(index));
        let databases = &self.databases;
        let follows_first = databases.inbound_follows_first(headers, record, interface);
        let verdict = match databases.classify_inbound(headers, record, interface) {
            Arrived::Other(verdict) => verdict,
            // Only whole packets are.
            Arrived::Esp(_) => Verdict::Drop(DropReason::EspFragment),
        };
        if follows_first {
            return self.fragments.follow_first(batch, index, None, verdict);
        }
        Some(verdict)
    }

    fn release(&mut self, batch: &mut Batch, words: &Words) {
        let bypassed = &mut self.bypassed;
        self.fragments.release(batch, |batch, index, verdict| {
            apply(batch, index, verdict, words, bypassed);
        });
    }
}
