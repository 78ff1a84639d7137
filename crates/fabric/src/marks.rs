//! Packet marking by switches, and traceback to the source of one packet.
