/* MACs of Intel's Multi-Buffer Crypto for IPsec, as its users call them: GMAC
 * with the direct functions, packet by packet, by both interfaces; HMAC by
 * bursts; Poly1305 by jobs, since it has neither.
 */

#include "mac.h"
#include <intel-ipsec-mb.h>
#include <stdlib.h>
#include <string.h>

IMB_MGR *weir_ipsec_mb_manager(int code);

struct mac_key {
    struct gcm_key_data gcm;
    _Alignas(16) uint8_t inner[IMB_SHA1_DIGEST_SIZE_IN_BYTES];
    _Alignas(16) uint8_t outer[IMB_SHA1_DIGEST_SIZE_IN_BYTES];
    uint8_t poly1305[32];
};

struct state {
    IMB_MGR *manager;
    struct mac_key *keys;
};

static void *new_state(size_t count, int code)
{
    struct state *state = malloc(sizeof *state);
    if (state == NULL)
        return NULL;
    state->manager = weir_ipsec_mb_manager(code);
    state->keys = aligned_alloc(64, count * sizeof *state->keys);
    if (state->manager == NULL || state->keys == NULL) {
        if (state->manager != NULL)
            free_mb_mgr(state->manager);
        free(state->keys);
        free(state);
        return NULL;
    }
    return state;
}

/* Codes of `enum code` of ipsec_mb.c. */
void *weir_ipsec_mb_mac_new(size_t count)
{
    return new_state(count, 0);
}

void *weir_ipsec_mb_mac_new_avx2(size_t count)
{
    return new_state(count, 1);
}

void *weir_ipsec_mb_mac_new_avx2_alone(size_t count)
{
    return new_state(count, 2);
}

void *weir_ipsec_mb_mac_new_sse_alone(size_t count)
{
    return new_state(count, 3);
}

void weir_ipsec_mb_mac_free(void *state_)
{
    struct state *state = state_;
    free_mb_mgr(state->manager);
    free(state->keys);
    free(state);
}

static void hash_pad(const IMB_MGR *manager, const uint8_t *key, uint8_t pad, uint8_t *hash)
{
    uint8_t block[64];
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < IMB_SHA1_DIGEST_SIZE_IN_BYTES; i++)
        block[i] ^= key[i];
    IMB_SHA1_ONE_BLOCK(manager, block, hash);
}

/* Every secret becomes a key of each kind. */
void weir_ipsec_mb_mac_keys(void *state_, const uint8_t (*secrets)[SECRET_BYTES], size_t count)
{
    struct state *state = state_;
    for (size_t i = 0; i < count; i++) {
        struct mac_key *key = &state->keys[i];
        IMB_AES128_GCM_PRE(state->manager, secrets[i], &key->gcm);
        hash_pad(state->manager, secrets[i], 0x36, key->inner);
        hash_pad(state->manager, secrets[i], 0x5c, key->outer);
        memcpy(key->poly1305, secrets[i], sizeof key->poly1305);
    }
}

/* GMAC as GCM of no text, which needs an address all the same. */
int weir_ipsec_mb_gmac_by_gcm(void *state_, const struct mac_batch *batch)
{
    struct state *state = state_;
    struct gcm_context_data context;
    uint8_t text[1];
    for (size_t i = 0; i < batch->count; i++)
        IMB_AES128_GCM_ENC(state->manager, &state->keys[batch->keys[i]].gcm, &context, text,
                           text, 0, batch->nonces[i], batch->messages + i * batch->stride,
                           batch->bytes, batch->tags[i], 16);
    return 1;
}

/* GMAC by the functions of that name. */
int weir_ipsec_mb_gmac(void *state_, const struct mac_batch *batch)
{
    struct state *state = state_;
    struct gcm_context_data context;
    for (size_t i = 0; i < batch->count; i++) {
        const struct gcm_key_data *key = &state->keys[batch->keys[i]].gcm;
        IMB_AES128_GMAC_INIT(state->manager, key, &context, batch->nonces[i], 12);
        IMB_AES128_GMAC_UPDATE(state->manager, key, &context,
                               batch->messages + i * batch->stride, batch->bytes);
        IMB_AES128_GMAC_FINALIZE(state->manager, key, &context, batch->tags[i], 16);
    }
    return 1;
}

enum { BURST_JOBS = 32 };

int weir_ipsec_mb_hmac_sha1(void *state_, const struct mac_batch *batch)
{
    struct state *state = state_;
    IMB_JOB jobs[BURST_JOBS];
    memset(jobs, 0, sizeof jobs);
    for (size_t done = 0; done < batch->count;) {
        const size_t rest = batch->count - done;
        const uint32_t burst = rest < BURST_JOBS ? rest : BURST_JOBS;
        for (uint32_t i = 0; i < burst; i++) {
            const struct mac_key *key = &state->keys[batch->keys[done + i]];
            IMB_JOB *job = &jobs[i];
            job->hash_alg = IMB_AUTH_HMAC_SHA_1;
            job->src = batch->messages + (done + i) * batch->stride;
            job->msg_len_to_hash_in_bytes = batch->bytes;
            job->auth_tag_output = batch->tags[done + i];
            job->auth_tag_output_len_in_bytes = 12;
            job->u.HMAC._hashed_auth_key_xor_ipad = key->inner;
            job->u.HMAC._hashed_auth_key_xor_opad = key->outer;
        }
        if (IMB_SUBMIT_HASH_BURST_NOCHECK(state->manager, jobs, burst, IMB_AUTH_HMAC_SHA_1) !=
            burst)
            return 0;
        done += burst;
    }
    return 1;
}

int weir_ipsec_mb_poly1305(void *state_, const struct mac_batch *batch)
{
    struct state *state = state_;
    size_t done = 0;
    for (size_t i = 0; i < batch->count; i++) {
        IMB_JOB *job = IMB_GET_NEXT_JOB(state->manager);
        job->cipher_mode = IMB_CIPHER_NULL;
        job->cipher_direction = IMB_DIR_ENCRYPT;
        job->chain_order = IMB_ORDER_HASH_CIPHER;
        job->hash_alg = IMB_AUTH_POLY1305;
        job->src = batch->messages + i * batch->stride;
        job->hash_start_src_offset_in_bytes = 0;
        job->msg_len_to_hash_in_bytes = batch->bytes;
        job->msg_len_to_cipher_in_bytes = 0;
        job->auth_tag_output = batch->tags[i];
        job->auth_tag_output_len_in_bytes = 16;
        job->u.POLY1305._key = state->keys[batch->keys[i]].poly1305;
        for (job = IMB_SUBMIT_JOB_NOCHECK(state->manager); job != NULL;
             job = IMB_GET_COMPLETED_JOB(state->manager))
            done += job->status == IMB_STATUS_COMPLETED;
    }
    for (IMB_JOB *job = IMB_FLUSH_JOB(state->manager); job != NULL;
         job = IMB_FLUSH_JOB(state->manager))
        done += job->status == IMB_STATUS_COMPLETED;
    return done == batch->count;
}
