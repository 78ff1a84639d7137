//! CPU tiers, aligned lanes, and the test helper that holds a kernel against its scalar twin.
