//! Networks for tests, on Linux and as root: network namespaces with virtual cables between
//! them, and a relay that treats packets as a bad network does.
//!
//! ```no_run
//! use weir_netlab::{Cable, inside};
//!
//! // A namespace with two connected interfaces, `a` and `b`; it is deleted afterwards.
//! inside(Cable::default(), |namespace| {
//!     namespace.ip("link set dev b mtu 9000");
//!     let output = namespace.command("ip").args(["link", "show", "b"]).output();
//!     assert!(output.expect("ip runs").status.success());
//! });
//! ```
//!
//! Where there are no namespaces, [`inside`] says so and does not run the test; with
//! `WEIR_REQUIRE_PEERS=1` in the environment it fails.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod faults;
mod namespace;
mod relay;

pub use faults::{Counts, Faults, Impaired};
pub use namespace::{Cable, Namespace, inside, until};
pub use relay::Relay;
