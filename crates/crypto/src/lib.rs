//! Packet ciphers and authenticators behind one job interface.
