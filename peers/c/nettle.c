/* GNU Nettle's UMAC: a context for each key; a packet brings its nonce, or Nettle
 * counts nonces by itself and encrypts each AES block only once, which suffices for
 * a sender.
 */

#include "mac.h"
#include <nettle/umac.h>
#include <nettle/version.h>
#include <stdlib.h>

#define TEXT(number) #number
#define DOTTED(major, minor) TEXT(major) "." TEXT(minor)

const char *weir_nettle_version(void)
{
    return DOTTED(NETTLE_VERSION_MAJOR, NETTLE_VERSION_MINOR);
}

/* The three functions for one length of tag, over contexts in one array. */
#define UMAC(bits)                                                                        \
    void *weir_nettle_umac##bits##_new(size_t count)                                      \
    {                                                                                     \
        return calloc(count, sizeof(struct umac##bits##_ctx));                            \
    }                                                                                     \
    void weir_nettle_umac##bits##_keys(void *state, const uint8_t (*secrets)[SECRET_BYTES], \
                                       size_t count)                                      \
    {                                                                                     \
        struct umac##bits##_ctx *contexts = state;                                        \
        static const uint8_t first_nonce[8] = {0, 0, 0, 0, 0, 0, 0, 1};                   \
        for (size_t i = 0; i < count; i++) {                                              \
            umac##bits##_set_key(&contexts[i], secrets[i]);                               \
            umac##bits##_set_nonce(&contexts[i], sizeof first_nonce, first_nonce);        \
        }                                                                                 \
    }                                                                                     \
    int weir_nettle_umac##bits##_counted(void *state, const struct mac_batch *batch)      \
    {                                                                                     \
        struct umac##bits##_ctx *contexts = state;                                        \
        for (size_t i = 0; i < batch->count; i++) {                                       \
            struct umac##bits##_ctx *context = &contexts[batch->keys[i]];                 \
            umac##bits##_update(context, batch->bytes, batch->messages + i * batch->stride); \
            umac##bits##_digest(context, bits / 8, batch->tags[i]);                       \
        }                                                                                 \
        return 1;                                                                         \
    }                                                                                     \
    int weir_nettle_umac##bits##_tags(void *state, const struct mac_batch *batch)         \
    {                                                                                     \
        struct umac##bits##_ctx *contexts = state;                                        \
        for (size_t i = 0; i < batch->count; i++) {                                       \
            struct umac##bits##_ctx *context = &contexts[batch->keys[i]];                 \
            umac##bits##_set_nonce(context, 8, batch->nonces[i] + 4);                     \
            umac##bits##_update(context, batch->bytes, batch->messages + i * batch->stride); \
            umac##bits##_digest(context, bits / 8, batch->tags[i]);                       \
        }                                                                                 \
        return 1;                                                                         \
    }

UMAC(32)
UMAC(64)
UMAC(96)
UMAC(128)

void weir_nettle_free(void *state)
{
    free(state);
}
