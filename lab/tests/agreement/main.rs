//! What the lab models is what the product computes: kernels, executed on the models of
//! machines, beside `weir-crypto`, `weir-hash`, `weir-measure` and `weir-match`.
//!
//! Where the thesis and the product have different algorithms of one name, the test
//! gives the product's generic code the thesis's definition, which it states
//! independently of the lab.

mod capture;
mod ciphers;
mod inspection;
mod sketches;
