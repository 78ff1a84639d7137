//! What is unsafe and belongs to no kernel.

#![allow(unsafe_code)]

mod cells;
#[cfg(target_arch = "x86_64")]
pub(crate) mod vector;
mod view;
mod wipe;

pub(crate) use cells::block_of;
pub(crate) use view::{front, front_mut};
pub(crate) use wipe::{Numbers, Wiped, wipe};
