//! What is unsafe and belongs to no kernel.

#![allow(unsafe_code)]

mod cells;
mod view;
mod wipe;

pub(crate) use cells::block_of;
pub(crate) use view::{front, front_mut};
pub(crate) use wipe::{Numbers, Wiped, wipe};
