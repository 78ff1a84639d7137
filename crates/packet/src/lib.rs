//! Packets as bytes: wire formats, capture files and traffic generation.
