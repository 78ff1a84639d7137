//! IPsec ESP: associations, policies, anti-replay, and the gateway stages.
