/* Intel's Multi-Buffer Crypto for IPsec, as its users call it: GCM packet by
 * packet with the direct functions, encrypt-then-MAC by bursts of jobs whose
 * ciphers run in parallel and then their hashes, ChaCha20-Poly1305 by single
 * jobs. The header's macros call through the manager's table, which Rust cannot
 * read; hence this file.
 */

#include <intel-ipsec-mb.h>
#include <stdlib.h>
#include <string.h>

/* The instructions that a manager may use. The same as `Code` of
 * src/cipher/ipsec_mb/mod.rs. */
enum code {
    /* All that the processor has. */
    CODE_WIDEST,
    /* AVX2, and SHA, GFNI and the like where its code has them. */
    CODE_AVX2,
    /* The same without GFNI, without which the library uses no VAES either. */
    CODE_AVX2_ALONE,
    /* SSE with SHA, without GFNI. */
    CODE_SSE_ALONE,
};

IMB_MGR *weir_ipsec_mb_manager(int code)
{
    const int is_alone = code == CODE_AVX2_ALONE || code == CODE_SSE_ALONE;
    IMB_MGR *manager = alloc_mb_mgr(is_alone ? IMB_FLAG_GFNI_OFF : 0);
    if (manager == NULL)
        return NULL;
    if (code == CODE_WIDEST)
        init_mb_mgr_auto(manager, NULL);
    else if (code == CODE_SSE_ALONE)
        init_mb_mgr_sse(manager);
    else
        init_mb_mgr_avx2(manager);
    if (imb_get_errno(manager) != 0) {
        free_mb_mgr(manager);
        return NULL;
    }
    return manager;
}

void weir_ipsec_mb_free(IMB_MGR *manager)
{
    free_mb_mgr(manager);
}

const char *weir_ipsec_mb_version(void)
{
    return imb_get_version_str();
}

const char *weir_ipsec_mb_arch(const IMB_MGR *manager)
{
    switch (manager->used_arch) {
    case IMB_ARCH_NOAESNI: return "no AES-NI";
    case IMB_ARCH_SSE: return "sse";
    case IMB_ARCH_AVX: return "avx";
    case IMB_ARCH_AVX2: return "avx2";
    case IMB_ARCH_AVX512: return "avx512";
    default: return "unknown";
    }
}

/* Memory for `count` keys, each aligned as the library requires. */
void *weir_ipsec_mb_gcm_keys(size_t count)
{
    return aligned_alloc(64, count * sizeof(struct gcm_key_data));
}

size_t weir_ipsec_mb_gcm_key_bytes(void)
{
    return sizeof(struct gcm_key_data);
}

void weir_ipsec_mb_gcm_expand(const IMB_MGR *manager, const uint8_t *raw,
                              struct gcm_key_data *key)
{
    IMB_AES128_GCM_PRE(manager, raw, key);
}

/* The functions themselves, to be called directly. */
aes_gcm_enc_dec_t weir_ipsec_mb_gcm_seal(const IMB_MGR *manager)
{
    return manager->gcm128_enc;
}

aes_gcm_enc_dec_t weir_ipsec_mb_gcm_open(const IMB_MGR *manager)
{
    return manager->gcm128_dec;
}

size_t weir_ipsec_mb_gcm_context_bytes(void)
{
    return sizeof(struct gcm_context_data);
}

/* An expanded key of encrypt-then-MAC. */
struct etm_key {
    _Alignas(64) uint8_t encrypt[16 * 11];
    _Alignas(16) uint8_t decrypt[16 * 11];
    _Alignas(16) uint8_t inner[IMB_SHA256_DIGEST_SIZE_IN_BYTES];
    _Alignas(16) uint8_t outer[IMB_SHA256_DIGEST_SIZE_IN_BYTES];
};

struct etm_key *weir_ipsec_mb_etm_keys(size_t count)
{
    return aligned_alloc(64, count * sizeof(struct etm_key));
}

void weir_ipsec_mb_free_keys(void *keys)
{
    free(keys);
}

enum { HMAC_BLOCK_BYTES = 64, BURST_JOBS = 32 };

static void hash_pad(const IMB_MGR *manager, int sha256, const uint8_t *key,
                     size_t key_bytes, uint8_t pad, uint8_t *state)
{
    uint8_t block[HMAC_BLOCK_BYTES];
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < key_bytes; i++)
        block[i] ^= key[i];
    if (sha256)
        IMB_SHA256_ONE_BLOCK(manager, block, state);
    else
        IMB_SHA1_ONE_BLOCK(manager, block, state);
}

/* Keys of HMAC are no longer than a block of its hash. */
void weir_ipsec_mb_etm_expand(const IMB_MGR *manager, int sha256, const uint8_t *cipher_key,
                              const uint8_t *mac_key, size_t mac_key_bytes,
                              struct etm_key *keys, size_t index)
{
    struct etm_key *key = &keys[index];
    IMB_AES_KEYEXP_128(manager, cipher_key, key->encrypt, key->decrypt);
    hash_pad(manager, sha256, mac_key, mac_key_bytes, 0x36, key->inner);
    hash_pad(manager, sha256, mac_key, mac_key_bytes, 0x5c, key->outer);
}

/* One packet: what the MAC covers begins at `record`, and the tag follows the
 * text. The first block is CBC's IV or CTR's first counter block. */
struct record {
    uint8_t *record;
    uint8_t first_block[16];
    uint32_t key;
    uint32_t text_offset;
    uint32_t text_bytes;
    uint32_t tag_bytes;
};

/* Seals records with AES-128-CBC or -CTR and HMAC; returns how many were done. */
size_t weir_ipsec_mb_etm_seal(IMB_MGR *manager, int sha256, int ctr,
                              const struct etm_key *keys, const struct record *records,
                              size_t count)
{
    const IMB_HASH_ALG hash = sha256 ? IMB_AUTH_HMAC_SHA_256 : IMB_AUTH_HMAC_SHA_1;
    const IMB_CIPHER_MODE mode = ctr ? IMB_CIPHER_CNTR : IMB_CIPHER_CBC;
    IMB_JOB jobs[BURST_JOBS];
    size_t done = 0;

    memset(jobs, 0, sizeof jobs);
    for (int i = 0; i < BURST_JOBS; i++) {
        jobs[i].cipher_mode = mode;
        jobs[i].cipher_direction = IMB_DIR_ENCRYPT;
        jobs[i].chain_order = IMB_ORDER_CIPHER_HASH;
        jobs[i].hash_alg = hash;
        jobs[i].key_len_in_bytes = 16;
        jobs[i].iv_len_in_bytes = 16;
    }
    while (done < count) {
        const uint32_t burst = count - done < BURST_JOBS ? count - done : BURST_JOBS;
        for (uint32_t i = 0; i < burst; i++) {
            const struct record *record = &records[done + i];
            const struct etm_key *key = &keys[record->key];
            IMB_JOB *job = &jobs[i];
            job->enc_keys = key->encrypt;
            job->dec_keys = key->decrypt;
            job->src = record->record;
            job->dst = record->record + record->text_offset;
            job->cipher_start_src_offset_in_bytes = record->text_offset;
            job->msg_len_to_cipher_in_bytes = record->text_bytes;
            job->hash_start_src_offset_in_bytes = 0;
            job->msg_len_to_hash_in_bytes = record->text_offset + record->text_bytes;
            job->iv = record->first_block;
            job->auth_tag_output = job->dst + record->text_bytes;
            job->auth_tag_output_len_in_bytes = record->tag_bytes;
            job->u.HMAC._hashed_auth_key_xor_ipad = key->inner;
            job->u.HMAC._hashed_auth_key_xor_opad = key->outer;
        }
        if (IMB_SUBMIT_CIPHER_BURST_NOCHECK(manager, jobs, burst, mode, IMB_DIR_ENCRYPT,
                                            IMB_KEY_128_BYTES) != burst)
            break;
        if (IMB_SUBMIT_HASH_BURST_NOCHECK(manager, jobs, burst, hash) != burst)
            break;
        done += burst;
    }
    return done;
}

/* ---- ChaCha20-Poly1305 (RFC 8439) ---- */

enum { CHACHA_KEY_BYTES = 32, CHACHA_NONCE_BYTES = 12, POLY1305_TAG_BYTES = 16 };

/* Memory for `count` keys, which the library takes as they are. */
uint8_t (*weir_ipsec_mb_chacha_keys(size_t count))[CHACHA_KEY_BYTES]
{
    return aligned_alloc(64, count * CHACHA_KEY_BYTES);
}

void weir_ipsec_mb_chacha_set_key(uint8_t (*keys)[CHACHA_KEY_BYTES], size_t index,
                                  const uint8_t *key)
{
    memcpy(keys[index], key, CHACHA_KEY_BYTES);
}

static void submit_chacha(IMB_MGR *manager, int open, const uint8_t *key,
                          const struct record *record, size_t associated_bytes, uint8_t *tag,
                          size_t *done)
{
    IMB_JOB *job = IMB_GET_NEXT_JOB(manager);
    job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
    job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
    job->cipher_direction = open ? IMB_DIR_DECRYPT : IMB_DIR_ENCRYPT;
    job->chain_order = open ? IMB_ORDER_HASH_CIPHER : IMB_ORDER_CIPHER_HASH;
    job->enc_keys = key;
    job->dec_keys = key;
    job->key_len_in_bytes = CHACHA_KEY_BYTES;
    job->iv = record->first_block;
    job->iv_len_in_bytes = CHACHA_NONCE_BYTES;
    job->src = record->record + record->text_offset;
    job->dst = record->record + record->text_offset;
    job->cipher_start_src_offset_in_bytes = 0;
    job->msg_len_to_cipher_in_bytes = record->text_bytes;
    job->hash_start_src_offset_in_bytes = 0;
    job->msg_len_to_hash_in_bytes = record->text_bytes;
    job->auth_tag_output = tag;
    job->auth_tag_output_len_in_bytes = POLY1305_TAG_BYTES;
    job->u.CHACHA20_POLY1305.aad = record->record;
    job->u.CHACHA20_POLY1305.aad_len_in_bytes = associated_bytes;
    for (job = IMB_SUBMIT_JOB_NOCHECK(manager); job != NULL;
         job = IMB_GET_COMPLETED_JOB(manager))
        *done += job->status == IMB_STATUS_COMPLETED;
}

/* Seals or opens records; returns how many were done. Their first bytes are the
 * associated data. Tags are written behind the texts, or to `computed` where
 * records are opened: the caller compares them. */
size_t weir_ipsec_mb_chacha(IMB_MGR *manager, int open, const uint8_t (*keys)[CHACHA_KEY_BYTES],
                            const struct record *records, size_t count, size_t associated_bytes,
                            uint8_t (*computed)[POLY1305_TAG_BYTES])
{
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        const struct record *record = &records[i];
        uint8_t *tag = record->record + record->text_offset + record->text_bytes;
        submit_chacha(manager, open, keys[record->key], record, associated_bytes,
                      open ? computed[i] : tag, &done);
    }
    for (IMB_JOB *job = IMB_FLUSH_JOB(manager); job != NULL; job = IMB_FLUSH_JOB(manager))
        done += job->status == IMB_STATUS_COMPLETED;
    return done;
}
