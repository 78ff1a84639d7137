//! Ingress filters by partition key.
