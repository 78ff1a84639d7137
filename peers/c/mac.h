/* The input of all MACs in C: a batch of messages, each with its key, its nonce and
 * space for its tag. The same as `CBatch` of src/mac/foreign/ffi.rs.
 */

#ifndef WEIR_PEERS_MAC_H
#define WEIR_PEERS_MAC_H

#include <stddef.h>
#include <stdint.h>

struct mac_batch {
    /* Message i begins at i * stride. */
    const uint8_t *messages;
    size_t stride;
    size_t bytes;
    size_t count;
    /* Numbers of keys. */
    const uint32_t *keys;
    /* Bytes 4 to 11 count; GCM's nonce are bytes 0 to 11. */
    const uint8_t (*nonces)[16];
    uint8_t (*tags)[16];
};

enum { SECRET_BYTES = 32 };

#endif
