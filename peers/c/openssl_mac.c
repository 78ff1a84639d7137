/* MACs of OpenSSL by EVP, as its manual shows: a context for each key. GMAC is GCM of
 * no text, which avoids the layer of EVP_MAC over the same code.
 */

#include "mac.h"
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

enum kind { GMAC, HMAC_SHA1, POLY1305, POLY1305_CHACHA20 };

struct state {
    size_t count;
    enum kind kind;
    /* For each key one of these. */
    EVP_CIPHER_CTX **ciphers;
    EVP_MAC_CTX **macs;
    /* Poly1305 takes its key with the message. */
    uint8_t (*secrets)[SECRET_BYTES];
};

EVP_CIPHER_CTX *weir_openssl_cipher(const char *name, int encrypt);
EVP_MAC_CTX *weir_openssl_hmac(const char *digest);

static EVP_MAC_CTX *poly1305(void)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "POLY1305", NULL);
    EVP_MAC_CTX *context = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    return context;
}

void weir_openssl_mac_free(void *state_)
{
    struct state *state = state_;
    for (size_t i = 0; i < state->count; i++) {
        EVP_CIPHER_CTX_free(state->ciphers[i]);
        EVP_MAC_CTX_free(state->macs[i]);
    }
    free(state->ciphers);
    free(state->macs);
    free(state->secrets);
    free(state);
}

static void *new_state(size_t count, enum kind kind)
{
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return NULL;
    state->kind = kind;
    state->ciphers = calloc(count, sizeof *state->ciphers);
    state->macs = calloc(count, sizeof *state->macs);
    state->secrets = calloc(count, sizeof *state->secrets);
    int done = state->ciphers != NULL && state->macs != NULL && state->secrets != NULL;
    state->count = done ? count : 0;
    for (size_t i = 0; done && i < count; i++) {
        if (kind == GMAC || kind == POLY1305_CHACHA20)
            done = (state->ciphers[i] = weir_openssl_cipher(
                        kind == GMAC ? "AES-128-GCM" : "ChaCha20", 1)) != NULL;
        if (done && kind != GMAC)
            done = (state->macs[i] = kind == HMAC_SHA1 ? weir_openssl_hmac("SHA1")
                                                       : poly1305()) != NULL;
    }
    if (!done) {
        weir_openssl_mac_free(state);
        return NULL;
    }
    return state;
}

void *weir_openssl_gmac_new(size_t count)
{
    return new_state(count, GMAC);
}

void *weir_openssl_hmac_sha1_new(size_t count)
{
    return new_state(count, HMAC_SHA1);
}

void *weir_openssl_poly1305_new(size_t count)
{
    return new_state(count, POLY1305);
}

void *weir_openssl_poly1305_chacha20_new(size_t count)
{
    return new_state(count, POLY1305_CHACHA20);
}

void weir_openssl_mac_keys(void *state_, const uint8_t (*secrets)[SECRET_BYTES], size_t count)
{
    struct state *state = state_;
    memcpy(state->secrets, secrets, count * sizeof *secrets);
    for (size_t i = 0; i < count; i++) {
        if (state->ciphers[i] != NULL)
            EVP_CipherInit_ex2(state->ciphers[i], NULL, secrets[i], NULL, -1, NULL);
        else if (state->kind == HMAC_SHA1)
            EVP_MAC_init(state->macs[i], secrets[i], 20, NULL);
    }
}

int weir_openssl_gmac(void *state_, const struct mac_batch *batch)
{
    struct state *state = state_;
    for (size_t i = 0; i < batch->count; i++) {
        EVP_CIPHER_CTX *context = state->ciphers[batch->keys[i]];
        uint8_t nothing;
        int bytes;
        if (!EVP_EncryptInit_ex2(context, NULL, NULL, batch->nonces[i], NULL) ||
            !EVP_EncryptUpdate(context, NULL, &bytes, batch->messages + i * batch->stride,
                               (int)batch->bytes) ||
            !EVP_EncryptFinal_ex(context, &nothing, &bytes) ||
            !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, batch->tags[i]))
            return 0;
    }
    return 1;
}

/* The one-time key of RFC 8439 section 2.6: block 0 of ChaCha20. */
static int one_time_key(EVP_CIPHER_CTX *context, const uint8_t *nonce, uint8_t *key)
{
    static const uint8_t zeros[32];
    uint8_t counter_and_nonce[16] = {0};
    int bytes;
    memcpy(counter_and_nonce + 4, nonce, 12);
    return EVP_EncryptInit_ex2(context, NULL, NULL, counter_and_nonce, NULL) &&
           EVP_EncryptUpdate(context, key, &bytes, zeros, sizeof zeros);
}

/* HMAC under the key that the context has; Poly1305 under one that is new. */
int weir_openssl_mac(void *state_, const struct mac_batch *batch)
{
    struct state *state = state_;
    uint8_t once[32];
    for (size_t i = 0; i < batch->count; i++) {
        const uint32_t key = batch->keys[i];
        EVP_MAC_CTX *context = state->macs[key];
        uint8_t tag[20];
        size_t bytes;
        int init;
        if (state->kind == HMAC_SHA1)
            init = EVP_MAC_init(context, NULL, 0, NULL);
        else if (state->kind == POLY1305)
            init = EVP_MAC_init(context, state->secrets[key], 32, NULL);
        else
            init = one_time_key(state->ciphers[key], batch->nonces[i], once) &&
                   EVP_MAC_init(context, once, sizeof once, NULL);
        if (!init ||
            !EVP_MAC_update(context, batch->messages + i * batch->stride, batch->bytes) ||
            !EVP_MAC_final(context, tag, &bytes, sizeof tag))
            return 0;
        memcpy(batch->tags[i], tag, sizeof batch->tags[i]);
    }
    return 1;
}
