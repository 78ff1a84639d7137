//! Packet ciphers and authenticators behind one job interface.

#![forbid(unsafe_code)]

mod aead;
mod cipher;
mod engine;
mod job;
mod kernel;
mod keys;
mod limits;
mod mac;
mod mode;
mod suite;

#[cfg(feature = "hazmat")]
pub mod hazmat;
#[cfg(not(feature = "hazmat"))]
mod hazmat;

pub use engine::{Engine, SELF_DETECTING, SelfTestError, engines};
pub use job::{JobError, JobFault, OpenJob, SealJob, open, seal};
pub use keys::{Exhausted, IvSource, KeyError, KeyMaterial, OpeningKey, SealingKey, Ticket};
pub use limits::{Limit, Limits};
pub use suite::{Aead, AesKeySize, Cipher, Mac, Suite, SuiteError};
