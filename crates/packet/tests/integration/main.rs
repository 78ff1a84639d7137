//! The crate through its public interface: capture files, and headers beside `etherparse`.

mod captures;
mod etherparse;
