//! The stage that learns what traffic is made of.

use weir_match::Profile;
use weir_stream::{Batch, Context, Stage, StageError};

use crate::packet::Packet;

/// Adds the payload of each record to a [`Profile`]; records go on as they are.
#[derive(Default)]
pub struct ProfileStage {
    profile: Profile,
}

impl ProfileStage {
    /// The profile of what came so far.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}

impl Stage for ProfileStage {
    fn name(&self) -> &str {
        "profile"
    }

    fn process(&mut self, batch: &mut Batch, _cx: &mut Context) -> Result<(), StageError> {
        for index in batch.live() {
            let packet = Packet {
                headers: *batch.headers(index),
                bytes: batch.record(index),
                ..Packet::default()
            };
            self.profile.add(packet.payload());
        }
        Ok(())
    }
}
