//! Universal hash families, in lanes.
