//! Records, batches, stages and shards: the frame that runs kernels over packets.
