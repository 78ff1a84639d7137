//! The prototype in C: AES-128-GCM with one packet in each 128-bit lane and a new key
//! for every packet, sealing. It bounds what a library can reach: packets lie in
//! arrays that suit it, which are filled and read while no clock runs.

#[cfg(prototype)]
mod ffi;
#[cfg(prototype)]
mod worker;

#[cfg(not(prototype))]
use super::comparison::{Lack, Worker};
use super::comparison::{Peer, Setting};
use crate::harness::PROTOTYPE;

/// Which of the kernels runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kernel {
    /// For texts of 64 bytes.
    Fixed,
    /// For texts of any multiple of 64 bytes.
    Any,
}

/// Both kernels, for new keys; none for keys that are expanded beforehand.
pub fn gcm(setting: &Setting) -> Vec<Peer> {
    if !setting.new_keys {
        return Vec::new();
    }
    let kernels = [(Kernel::Fixed, "64 bytes"), (Kernel::Any, "any length")];
    let peers = kernels.into_iter().map(|(kernel, name)| Peer {
        name: format!("{PROTOTYPE}, {name}"),
        worker: gcm_worker(setting, kernel),
    });
    peers.collect()
}

#[cfg(prototype)]
use worker::gcm as gcm_worker;

#[cfg(not(prototype))]
fn gcm_worker(_: &Setting, _: Kernel) -> Result<Box<dyn Worker>, Lack> {
    Err(Lack::Suite(
        crate::instructions::PROTOTYPE_NOT_COMPILED.to_owned(),
    ))
}
