//! Headers and packets of InfiniBand and RoCEv2.
