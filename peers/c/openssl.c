/* OpenSSL by EVP, as its manual shows: a context for each key; a packet only brings
 * its nonce. Where each packet brings its key, one context gets new keys.
 */

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

const char *weir_openssl_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}

/* A context of the cipher without key; NULL where OpenSSL has no such cipher. */
EVP_CIPHER_CTX *weir_openssl_cipher(const char *name, int encrypt)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int done = cipher != NULL && context != NULL &&
               EVP_CipherInit_ex2(context, cipher, NULL, NULL, encrypt, NULL) &&
               EVP_CIPHER_CTX_set_padding(context, 0);
    EVP_CIPHER_free(cipher);
    if (!done) {
        EVP_CIPHER_CTX_free(context);
        return NULL;
    }
    return context;
}

int weir_openssl_key_bytes(const EVP_CIPHER_CTX *context)
{
    return EVP_CIPHER_CTX_get_key_length(context);
}

void weir_openssl_free_cipher(EVP_CIPHER_CTX *context)
{
    EVP_CIPHER_CTX_free(context);
}

int weir_openssl_set_key(EVP_CIPHER_CTX *context, const uint8_t *key)
{
    return EVP_CipherInit_ex2(context, NULL, key, NULL, -1, NULL);
}

/* Encrypts in place and writes 16 bytes of tag. Without key (NULL) the one
 * that was set last. */
int weir_openssl_aead_seal(EVP_CIPHER_CTX *context, const uint8_t *key, const uint8_t *nonce,
                           const uint8_t *associated, int associated_bytes, uint8_t *text,
                           int text_bytes, uint8_t *tag)
{
    int bytes, rest;
    return EVP_EncryptInit_ex2(context, NULL, key, nonce, NULL) &&
           EVP_EncryptUpdate(context, NULL, &bytes, associated, associated_bytes) &&
           EVP_EncryptUpdate(context, text, &bytes, text, text_bytes) &&
           EVP_EncryptFinal_ex(context, text + bytes, &rest) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag);
}

/* Decrypts in place; 0 where the tag is not that of the packet. */
int weir_openssl_aead_open(EVP_CIPHER_CTX *context, const uint8_t *key, const uint8_t *nonce,
                           const uint8_t *associated, int associated_bytes, uint8_t *text,
                           int text_bytes, uint8_t *tag)
{
    int bytes, rest;
    return EVP_DecryptInit_ex2(context, NULL, key, nonce, NULL) &&
           EVP_DecryptUpdate(context, NULL, &bytes, associated, associated_bytes) &&
           EVP_DecryptUpdate(context, text, &bytes, text, text_bytes) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, tag) &&
           EVP_DecryptFinal_ex(context, text + bytes, &rest);
}

/* A context of HMAC without key. */
EVP_MAC_CTX *weir_openssl_hmac(const char *digest)
{
    OSSL_PARAM parameters[2] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)digest, 0),
        OSSL_PARAM_construct_end(),
    };
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    if (context != NULL && !EVP_MAC_CTX_set_params(context, parameters)) {
        EVP_MAC_CTX_free(context);
        return NULL;
    }
    return context;
}

void weir_openssl_free_hmac(EVP_MAC_CTX *context)
{
    EVP_MAC_CTX_free(context);
}

int weir_openssl_set_hmac_key(EVP_MAC_CTX *context, const uint8_t *key, size_t key_bytes)
{
    return EVP_MAC_init(context, key, key_bytes, NULL);
}

/* Encrypts the text in place and tags all from the start of the record to the
 * end of the text. Without keys (NULL) the ones that were set last. */
int weir_openssl_etm_seal(EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, const uint8_t *key,
                          const uint8_t *mac_key, size_t mac_key_bytes, const uint8_t *counter,
                          uint8_t *record, int text_offset, int text_bytes, int tag_bytes)
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    uint8_t *text = record + text_offset;
    size_t digest_bytes;
    int bytes, rest;
    if (!(EVP_EncryptInit_ex2(cipher, NULL, key, counter, NULL) &&
          EVP_EncryptUpdate(cipher, text, &bytes, text, text_bytes) &&
          EVP_EncryptFinal_ex(cipher, text + bytes, &rest) &&
          EVP_MAC_init(mac, mac_key, mac_key_bytes, NULL) &&
          EVP_MAC_update(mac, record, text_offset + text_bytes) &&
          EVP_MAC_final(mac, digest, &digest_bytes, sizeof digest)))
        return 0;
    memcpy(text + text_bytes, digest, tag_bytes);
    return 1;
}
