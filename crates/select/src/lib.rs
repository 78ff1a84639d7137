//! Selector tables: which rule do a packet's addresses, protocol, ports and interface meet first.
