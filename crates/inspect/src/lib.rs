//! Content inspection by Snort rules.
