//! The two ends of a network interface, by packet sockets (AF_PACKET).

mod block;
mod rx;
mod tx;

pub use rx::{InterfaceRx, RxOptions};
pub use tx::{InterfaceTx, TxOptions};
