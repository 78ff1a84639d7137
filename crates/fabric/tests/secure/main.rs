//! Secure packets from sender to receiver: round trips, forgeries, traffic with losses.

mod forgeries;
mod known_answers;
mod network;
mod restarts;
mod round_trip;
mod timestamps;
mod traffic;
mod unlisted;
