//! Capture files: known answers byte by byte, damage, block boundaries,
//! properties, and what the writer leaves on disk.

mod boundaries;
mod damage;
mod formats;
mod output;
mod properties;
mod samples;
