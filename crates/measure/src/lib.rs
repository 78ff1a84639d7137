//! Traffic measurement by sketches.
