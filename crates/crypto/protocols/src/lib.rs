//! Holds `weir-crypto` against implementations of protocols by others: boringtun (WireGuard)
//! and rustls (QUIC and TLS 1.3), and against the published packets of QUIC and SRTP. The tests
//! are in `tests/foreign`. The crate is not among the workspace's default members, because its
//! dependencies take long to build.
