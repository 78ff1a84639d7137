//! What is unsafe and belongs to no kernel.

#![allow(unsafe_code)]

mod wipe;

pub(crate) use wipe::{Numbers, Wiped, wipe};
