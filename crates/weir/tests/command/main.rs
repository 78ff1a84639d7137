//! The command as scripts see it: exit statuses, streams, files.
//!
//! Nothing here looks inside: every test starts `weir` and reads what it
//! wrote.

mod bench;
mod captures;
#[cfg(target_os = "linux")]
mod confined;
mod contract;
mod control;
mod damage;
mod documents;
mod fabric;
#[cfg(target_os = "linux")]
mod fabric_live;
#[cfg(target_os = "linux")]
mod fabric_net;
mod fabric_protect;
mod histories;
mod implausible;
mod inspect;
mod lab;
#[cfg(target_os = "linux")]
mod live;
mod measure;
mod nonces;
mod processes;
mod references;
#[cfg(target_os = "linux")]
mod replayed;
mod round_trip;
mod run;
mod running;
mod sharding;
#[cfg(target_os = "linux")]
mod tunnel;
