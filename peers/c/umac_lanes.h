/* Prototype: UMAC (RFC 4418) over batches of messages of one length, and the
 * set-up of its keys, sixteen at a time. Included by one file per tag length,
 * which defines STREAMS: the number of 32-bit words of the tag, each of which
 * has a stream of NH, a polynomial and an inner product of its own.
 *
 * An NH key is 64 + STREAMS - 1 blocks of 16 bytes, K0 K1 K2 ... In a group of
 * 32 bytes, NH multiplies word j by word j + 4: the even block by the odd one.
 * Even and odd key blocks are stored apart, so that both factors are plain
 * loads and the Toeplitz shift of stream s, 16 s bytes, is a shift of the index
 * (g is the number of the group):
 *
 *     stream          0        1          2          3
 *     even message   even[g]  odd[g]     even[g+1]  odd[g+1]
 *     odd message    odd[g]   even[g+1]  odd[g+1]   even[g+2]
 */

#include "lanes.h"
#include "mac.h"
#include <stdlib.h>
#include <string.h>

enum {
    KEY_BYTES = 16,
    WORD_BYTES = 4,
    /* Bytes of a message that one application of NH takes. */
    NH_BYTES = 1024,
    GROUP_BYTES = 32,
    GROUPS = NH_BYTES / GROUP_BYTES,
    /* Messages of a vector of 64-bit lanes. */
    MESSAGES = 8,
    /* Keys that are set up side by side. */
    KEYS = 16,
    /* 16-bit digits of an input of the inner product. */
    DIGITS = 4,
};

/* 2^64 - 59 and 2^36 - 5, the moduli of polynomial and inner product. */
#define PRIME_64 0xffffffffffffffc5ull
#define PRIME_36 0xffffffffbull
#define MASK_36 0xfffffffffull

struct umac_key {
    /* Of the inner product, reduced modulo 2^36 - 5. */
    uint64_t inner[STREAMS * DIGITS];
    /* AES round keys for pads. */
    __m128i pad[AES128_ROUNDS + 1];
    /* Of the polynomial. */
    uint64_t polynomial[STREAMS];
    /* The words that the tag's words are xored with, as they stand in it. */
    uint8_t translation[STREAMS * WORD_BYTES];
    _Alignas(64) uint32_t even[(GROUPS + STREAMS / 2) * 4];
    _Alignas(64) uint32_t odd[(GROUPS + (STREAMS - 1) / 2) * 4];
};

/* One block of the key derivation function (section 3.2.1): index, counter. */
INLINE __m128i kdf_block(int index, int counter)
{
    return _mm_set_epi64x((long long)((uint64_t)counter << 56),
                          (long long)((uint64_t)index << 56));
}

/* ---- Layer 1: NH (section 5.2) ---- */

/* Both factors of a stream, as parts of the key: see the table above. */
INLINE const uint32_t *key_of_even(const struct umac_key *key, int stream)
{
    return (stream % 2 ? key->odd : key->even) + 4 * (stream / 2);
}

INLINE const uint32_t *key_of_odd(const struct umac_key *key, int stream)
{
    return (stream % 2 ? key->even + 4 : key->odd) + 4 * (stream / 2);
}

/* Sums of products of 32-bit words, of the 64-bit lanes in the mask. */
INLINE __m512i products(__m512i x, __m512i y, __mmask8 mask)
{
    return _mm512_add_epi64(
        _mm512_maskz_mul_epu32(mask, x, y),
        _mm512_maskz_mul_epu32(mask, _mm512_srli_epi64(x, 32), _mm512_srli_epi64(y, 32)));
}

/* Four groups, 128 bytes, from the given one on. */
INLINE void nh_add(__m512i sums[STREAMS], __m512i front, __m512i back,
                   const struct umac_key *key, size_t group, __mmask8 mask)
{
    const __m512i even = _mm512_shuffle_i64x2(front, back, 0x88);
    const __m512i odd = _mm512_shuffle_i64x2(front, back, 0xdd);
#pragma GCC unroll 4
    for (int s = 0; s < STREAMS; s++) {
        const __m512i x =
            _mm512_add_epi32(even, _mm512_loadu_si512(key_of_even(key, s) + 4 * group));
        const __m512i y =
            _mm512_add_epi32(odd, _mm512_loadu_si512(key_of_odd(key, s) + 4 * group));
        sums[s] = _mm512_add_epi64(sums[s], products(x, y, mask));
    }
}

/* Bytes from `offset` on of a rest, zeros behind it. */
INLINE __m512i load_rest(const uint8_t *rest, size_t rest_bytes, size_t offset)
{
    const size_t bytes = rest_bytes > offset ? rest_bytes - offset : 0;
    return _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, bytes < 64 ? bytes : 64), rest + offset);
}

/* Eight partial sums for each stream over at most NH_BYTES. A last group that is
 * not full is padded with zeros; groups behind it do not count. */
INLINE void nh_block(__m512i sums[STREAMS], const uint8_t *message, size_t bytes,
                     const struct umac_key *key)
{
    enum { STEP_BYTES = 128 };
    for (int s = 0; s < STREAMS; s++)
        sums[s] = _mm512_setzero_si512();
    size_t done = 0;
    int group = 0;
    for (; done + STEP_BYTES <= bytes; done += STEP_BYTES, group += 4)
        nh_add(sums, _mm512_loadu_si512(message + done), _mm512_loadu_si512(message + done + 64),
               key, group, 0xff);
    if (done < bytes) {
        const size_t rest = bytes - done;
        const size_t groups = (rest + GROUP_BYTES - 1) / GROUP_BYTES;
        nh_add(sums, load_rest(message + done, rest, 0), load_rest(message + done, rest, 64),
               key, done / GROUP_BYTES, (__mmask8)((1u << 2 * groups) - 1));
    }
}

INLINE __m512i pair_of_keys(const uint32_t *one, const uint32_t *other)
{
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)one)),
                              _mm256_loadu_si256((const void *)other), 1);
}

/* Two messages of at most 64 bytes in the halves of a vector: four partial sums
 * for each of them and each stream. */
INLINE void nh_pair(__m512i sums[STREAMS], const uint8_t *const message[2], size_t bytes,
                    const struct umac_key *const key[2])
{
    const __m512i one = load_rest(message[0], bytes, 0);
    const __m512i other = load_rest(message[1], bytes, 0);
    const __mmask8 mask = bytes > GROUP_BYTES ? 0xff : 0x33;
    const __m512i even = _mm512_shuffle_i64x2(one, other, 0x88);
    const __m512i odd = _mm512_shuffle_i64x2(one, other, 0xdd);
    __m512i low = pair_of_keys(key_of_even(key[0], 0), key_of_even(key[1], 0));
#pragma GCC unroll 4
    for (int s = 0; s < STREAMS; s++) {
        const __m512i high = pair_of_keys(key_of_odd(key[0], s), key_of_odd(key[1], s));
        sums[s] = products(_mm512_add_epi32(even, low), _mm512_add_epi32(odd, high), mask);
        /* What one stream adds to odd blocks, the next one adds to even ones. */
        low = high;
    }
}

INLINE __m512i add_neighbours(__m512i a, __m512i b)
{
    return _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

INLINE __m512i add_alternate_lanes(__m512i a, __m512i b)
{
    return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

/* Partial sums of one stream for eight messages, added up and in order. */
INLINE __m512i add_up(__m512i sums[MESSAGES][STREAMS], int s)
{
    const __m512i front = add_alternate_lanes(add_neighbours(sums[0][s], sums[1][s]),
                                              add_neighbours(sums[2][s], sums[3][s]));
    const __m512i back = add_alternate_lanes(add_neighbours(sums[4][s], sums[5][s]),
                                             add_neighbours(sums[6][s], sums[7][s]));
    return add_alternate_lanes(front, back);
}

/* The same of pairs of messages. */
INLINE __m512i add_up_pairs(__m512i sums[MESSAGES / 2][STREAMS], int s)
{
    const __m512i added = add_alternate_lanes(add_neighbours(sums[0][s], sums[1][s]),
                                              add_neighbours(sums[2][s], sums[3][s]));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 1, 3, 4, 6, 5, 7), added);
}

/* ---- Layer 2: polynomial modulo 2^64 - 59 (section 5.3), a message per lane ---- */

INLINE __m512i add_modulo(__m512i sum, __m512i summand)
{
    sum = _mm512_add_epi64(sum, summand);
    return _mm512_mask_add_epi64(sum, _mm512_cmplt_epu64_mask(sum, summand), sum,
                                 _mm512_set1_epi64(59));
}

/* value * key + word modulo 2^64 - 59, not fully reduced. Halves of the key are
 * below 2^25, by its mask, so that no sum of products overflows. */
INLINE __m512i polynomial_step(__m512i value, __m512i key, __m512i word)
{
    const __m512i key_high = _mm512_srli_epi64(key, 32);
    const __m512i high = _mm512_srli_epi64(value, 32);
    const __m512i middle =
        _mm512_add_epi64(_mm512_mul_epu32(key_high, value), _mm512_mul_epu32(high, key));
    /* Of weight 2^64, which is 59: 64 - 1 - 4. */
    const __m512i top =
        _mm512_add_epi64(_mm512_mul_epu32(key_high, high), _mm512_srli_epi64(middle, 32));
    __m512i result = _mm512_sub_epi64(_mm512_slli_epi64(top, 6),
                                      _mm512_add_epi64(top, _mm512_slli_epi64(top, 2)));
    result = _mm512_add_epi64(result, _mm512_mul_epu32(key, value));
    result = add_modulo(result, _mm512_slli_epi64(middle, 32));
    return add_modulo(result, word);
}

/* The next word of the polynomial; words that are no residues take two steps
 * (section 5.3.1). */
INLINE __m512i polynomial_add(__m512i value, __m512i key, __m512i word)
{
    const __mmask8 large =
        _mm512_cmpge_epu64_mask(word, _mm512_set1_epi64((long long)0xffffffff00000000ull));
    if (__builtin_expect(large, 0)) {
        const __m512i marker = _mm512_set1_epi64((long long)(PRIME_64 - 1));
        value = _mm512_mask_mov_epi64(value, large, polynomial_step(value, key, marker));
        word = _mm512_mask_sub_epi64(word, large, word, _mm512_set1_epi64(59));
    }
    return polynomial_step(value, key, word);
}

/* ---- Layer 3: inner product modulo 2^36 - 5 (section 5.4) ---- */

INLINE __m512i reduce_36(__m512i sum)
{
    const __m512i high = _mm512_srli_epi64(sum, 36);
    const __m512i five = _mm512_add_epi64(high, _mm512_slli_epi64(high, 2));
    sum = _mm512_add_epi64(_mm512_and_si512(sum, _mm512_set1_epi64(MASK_36)), five);
    return _mm512_min_epu64(sum, _mm512_sub_epi64(sum, _mm512_set1_epi64(PRIME_36)));
}

/* Words of the tags of eight messages, of the streams `stream` and the next one,
 * whose values are `one` and `other`: for each message the two words as they
 * stand in its tag, without translation. A vector works on one message: four
 * digits of one stream, four of the other. Products have 52 bits. */
INLINE __m512i inner_product(int stream, const struct umac_key *const key[MESSAGES],
                             __m512i one, __m512i other)
{
    const __m512i shifts = _mm512_setr_epi64(48, 32, 16, 0, 48, 32, 16, 0);
    const __m512i digit = _mm512_set1_epi64(0xffff);
    __m512i product[MESSAGES];
#pragma GCC unroll 8
    for (int m = 0; m < MESSAGES; m++) {
        const __m512i both = _mm512_permutex2var_epi64(
            one, _mm512_setr_epi64(m, m, m, m, 8 + m, 8 + m, 8 + m, 8 + m), other);
        product[m] = _mm512_madd52lo_epu64(
            _mm512_setzero_si512(), _mm512_and_si512(_mm512_srlv_epi64(both, shifts), digit),
            _mm512_loadu_si512(key[m]->inner + DIGITS * stream));
    }
    /* Lanes of each half: a stream of two messages, the other one of the same,
     * and again of the next two messages. */
    __m512i half[2];
    for (int h = 0; h < 2; h++) {
        const __m512i *of = &product[4 * h];
        half[h] = reduce_36(
            add_alternate_lanes(add_neighbours(of[0], of[1]), add_neighbours(of[2], of[3])));
    }
    const __m512i low_words = _mm512_permutex2var_epi32(
        half[0],
        _mm512_setr_epi32(0, 4, 2, 6, 8, 12, 10, 14, 16, 20, 18, 22, 24, 28, 26, 30), half[1]);
    return _mm512_shuffle_epi8(low_words,
                               each_lane(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203));
}

/* ---- Pads: one AES block for each message (section 3.3) ---- */

/* The pads of eight messages, xored with the translations of their keys: what is
 * left to be xored with the inner products. */
INLINE void make_pads(const struct umac_key *const key[MESSAGES],
                      const uint8_t *const nonce[MESSAGES],
                      uint8_t pads[MESSAGES][STREAMS * WORD_BYTES])
{
    __m128i block[MESSAGES];
    for (int m = 0; m < MESSAGES; m++) {
        uint64_t bits;
        memcpy(&bits, nonce[m], sizeof bits);
        /* Two tags of eight bytes share a block; the last bit tells which half. */
        if (STREAMS == 2)
            bits &= ~(1ull << 56);
        block[m] = _mm_xor_si128(_mm_cvtsi64_si128((long long)bits), key[m]->pad[0]);
    }
#pragma GCC unroll 9
    for (int round = 1; round < AES128_ROUNDS; round++)
        for (int m = 0; m < MESSAGES; m++)
            block[m] = _mm_aesenc_si128(block[m], key[m]->pad[round]);
    for (int m = 0; m < MESSAGES; m++) {
        block[m] = _mm_aesenclast_si128(block[m], key[m]->pad[AES128_ROUNDS]);
        uint64_t halves[2], translation[STREAMS / 2];
        memcpy(halves, &block[m], sizeof halves);
        memcpy(translation, key[m]->translation, sizeof translation);
        if (STREAMS == 2)
            translation[0] ^= halves[nonce[m][7] & 1];
        else
            for (int h = 0; h < STREAMS / 2; h++)
                translation[h] ^= halves[h];
        memcpy(pads[m], translation, sizeof translation);
    }
}

/* ---- A batch ---- */

/* NH of the same bytes of eight messages, at most NH_BYTES: a word for each
 * stream. Their number is part of it. */
INLINE void nh_messages(__m512i word[STREAMS], const uint8_t *const message[MESSAGES],
                        size_t offset, size_t bytes, const struct umac_key *const key[MESSAGES])
{
    __m512i sums[MESSAGES][STREAMS];
    for (int m = 0; m < MESSAGES; m++)
        nh_block(sums[m], message[m] + offset, bytes, key[m]);
    for (int s = 0; s < STREAMS; s++)
        word[s] =
            _mm512_add_epi64(add_up(sums, s), _mm512_set1_epi64((long long)(8 * bytes)));
}

/* Layers 1 and 2 of eight messages: a value for each stream. Messages of at most
 * NH_BYTES have no second layer. */
INLINE void hash_messages(__m512i value[STREAMS], const uint8_t *const message[MESSAGES],
                          size_t bytes, const struct umac_key *const key[MESSAGES])
{
    if (bytes <= 64) {
        __m512i sums[MESSAGES / 2][STREAMS];
#pragma GCC unroll 4
        for (int m = 0; m < MESSAGES; m += 2)
            nh_pair(sums[m / 2], &message[m], bytes, &key[m]);
        for (int s = 0; s < STREAMS; s++)
            value[s] = _mm512_add_epi64(add_up_pairs(sums, s),
                                        _mm512_set1_epi64((long long)(8 * bytes)));
        return;
    }
    if (bytes <= NH_BYTES) {
        nh_messages(value, message, 0, bytes, key);
        return;
    }
    __m512i polynomial_key[STREAMS], word[STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        uint64_t keys[MESSAGES];
        for (int m = 0; m < MESSAGES; m++)
            keys[m] = key[m]->polynomial[s];
        polynomial_key[s] = _mm512_loadu_si512(keys);
        value[s] = _mm512_set1_epi64(1);
    }
    size_t done = 0;
    for (; done + NH_BYTES <= bytes; done += NH_BYTES) {
        nh_messages(word, message, done, NH_BYTES, key);
        for (int s = 0; s < STREAMS; s++)
            value[s] = polynomial_add(value[s], polynomial_key[s], word[s]);
    }
    if (done < bytes) {
        nh_messages(word, message, done, bytes - done, key);
        for (int s = 0; s < STREAMS; s++)
            value[s] = polynomial_add(value[s], polynomial_key[s], word[s]);
    }
    const __m512i prime = _mm512_set1_epi64((long long)PRIME_64);
    for (int s = 0; s < STREAMS; s++)
        value[s] = _mm512_min_epu64(value[s], _mm512_sub_epi64(value[s], prime));
}

/* The 64-bit lanes of eight tags, which stand 16 bytes apart. */
INLINE void store_tags(uint8_t (*tags)[16], __m512i words[STREAMS / 2],
                       uint8_t pads[MESSAGES][STREAMS * WORD_BYTES])
{
    const __m512i front = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i back = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
#if STREAMS == 2
    const __m512i all = _mm512_xor_si512(words[0], _mm512_loadu_si512(pads));
    _mm512_storeu_si512(tags[0], _mm512_permutex2var_epi64(all, front, all));
    _mm512_storeu_si512(tags[4], _mm512_permutex2var_epi64(all, back, all));
#else
    _mm512_storeu_si512(tags[0],
                        _mm512_xor_si512(_mm512_permutex2var_epi64(words[0], front, words[1]),
                                         _mm512_loadu_si512(pads[0])));
    _mm512_storeu_si512(tags[4],
                        _mm512_xor_si512(_mm512_permutex2var_epi64(words[0], back, words[1]),
                                         _mm512_loadu_si512(pads[4])));
#endif
}

/* The tags of eight messages, from the first one given on. */
INLINE void tag_messages(const struct umac_key *keys, const struct mac_batch *batch, size_t first)
{
    const struct umac_key *key[MESSAGES];
    const uint8_t *message[MESSAGES], *nonce[MESSAGES];
    for (int m = 0; m < MESSAGES; m++) {
        key[m] = &keys[batch->keys[first + m]];
        message[m] = batch->messages + (first + m) * batch->stride;
        nonce[m] = batch->nonces[first + m] + 4;
    }
    _Alignas(64) uint8_t pads[MESSAGES][STREAMS * WORD_BYTES];
    make_pads(key, nonce, pads);
    __m512i value[STREAMS], words[STREAMS / 2];
    hash_messages(value, message, batch->bytes, key);
    for (int s = 0; s < STREAMS; s += 2)
        words[s / 2] = inner_product(s, key, value[s], value[s + 1]);
    store_tags(batch->tags + first, words, pads);
}

/* Counts that are no multiple of eight and empty messages are refused. */
static int tag_batch(const struct umac_key *keys, const struct mac_batch *batch)
{
    const struct mac_batch copy = *batch;
    if (copy.count % MESSAGES != 0 || copy.bytes == 0)
        return 0;
    for (size_t first = 0; first < copy.count; first += MESSAGES)
        tag_messages(keys, &copy, first);
    return 1;
}

/* ---- Key set-up ---- */

/* Expands sixteen AES keys, one in each lane of four vectors. */
INLINE void expand_keys(const uint8_t raw[KEYS][KEY_BYTES],
                        __m128i round_keys[AES128_ROUNDS + 1][KEYS])
{
    __m512i key[KEYS / LANES];
    for (int v = 0; v < KEYS / LANES; v++) {
        key[v] = _mm512_loadu_si512(raw[LANES * v]);
        _mm512_storeu_si512(&round_keys[0][LANES * v], key[v]);
    }
#pragma GCC unroll 10
    for (int round = 0; round < AES128_ROUNDS; round++)
        for (int v = 0; v < KEYS / LANES; v++) {
            key[v] = next_round_key(key[v], ROUND_CONSTANT[round]);
            _mm512_storeu_si512(&round_keys[round + 1][LANES * v], key[v]);
        }
}

/* Four blocks of the key derivation function. */
INLINE __m512i kdf_blocks(int index, int c0, int c1, int c2, int c3)
{
    const int in_front = index << 24;
    return _mm512_setr_epi32(0, in_front, 0, c0 << 24, 0, in_front, 0, c1 << 24, 0, in_front, 0,
                             c2 << 24, 0, in_front, 0, c3 << 24);
}

/* Encrypts vectors of blocks, all under one of sixteen keys. */
INLINE void encrypt_blocks(__m512i *blocks, int count,
                           __m128i round_keys[AES128_ROUNDS + 1][KEYS], int key)
{
    __m512i round_key = _mm512_broadcast_i32x4(round_keys[0][key]);
    for (int b = 0; b < count; b++)
        blocks[b] = _mm512_xor_si512(blocks[b], round_key);
#pragma GCC unroll 9
    for (int round = 1; round < AES128_ROUNDS; round++) {
        round_key = _mm512_broadcast_i32x4(round_keys[round][key]);
        for (int b = 0; b < count; b++)
            blocks[b] = _mm512_aesenc_epi128(blocks[b], round_key);
    }
    round_key = _mm512_broadcast_i32x4(round_keys[AES128_ROUNDS][key]);
    for (int b = 0; b < count; b++)
        blocks[b] = _mm512_aesenclast_epi128(blocks[b], round_key);
}

/* Numbers of the key derivation function's outputs. */
enum { PAD_KEY, NH_KEY, POLYNOMIAL_KEYS, INNER_KEYS, TRANSLATION };

/* Vectors of NH's key blocks of one parity, and counters from one to the next. */
enum { NH_VECTORS = GROUPS / LANES, NH_COUNTERS = 2 * LANES };

/* Every other block of NH's key, from this counter on. */
INLINE void nh_blocks(__m512i blocks[NH_VECTORS], int counter)
{
    __m512i next = kdf_blocks(NH_KEY, counter, counter + 2, counter + 4, counter + 6);
    for (int v = 0; v < NH_VECTORS; v++) {
        blocks[v] = next;
        next = _mm512_add_epi32(next, each_lane(NH_COUNTERS << 24, 0, 0, 0));
    }
}

INLINE __m512i swap_words(__m512i blocks)
{
    return _mm512_shuffle_epi8(blocks,
                               each_lane(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203));
}

INLINE __m512i swap_double_words(__m512i blocks)
{
    return _mm512_shuffle_epi8(blocks,
                               each_lane(0x08090a0b, 0x0c0d0e0f, 0x00010203, 0x04050607));
}

/* The even blocks of NH's key and what stands behind all of them, the
 * polynomial's keys and, where lanes are free, pad key and translation. The
 * polynomial has 24 bytes for each stream, of which it takes the first eight
 * here: they stand in blocks 1, 2, 4 and 5. Returns the last vector. */
INLINE __m512i set_even_half(struct umac_key *out, __m128i round_keys[AES128_ROUNDS + 1][KEYS],
                             int key)
{
    enum { LAST_NH = NH_VECTORS, POLYNOMIAL, COUNT };
    __m512i blocks[COUNT];
    nh_blocks(blocks, 1);
    blocks[LAST_NH] = kdf_blocks(NH_KEY, 65, 67, 66, 66);
    blocks[POLYNOMIAL] = kdf_blocks(POLYNOMIAL_KEYS, 1, 2, 4, 5);
    if (STREAMS == 2) {
        blocks[POLYNOMIAL] =
            _mm512_inserti32x4(blocks[POLYNOMIAL], kdf_block(PAD_KEY, 1), 2);
        blocks[POLYNOMIAL] =
            _mm512_inserti32x4(blocks[POLYNOMIAL], kdf_block(TRANSLATION, 1), 3);
    }
    encrypt_blocks(blocks, COUNT, round_keys, key);

    for (int v = 0; v < NH_VECTORS; v++)
        _mm512_storeu_si512(out->even + 16 * v, swap_words(blocks[v]));
    const __m512i last = swap_words(blocks[LAST_NH]);
    _mm_storeu_si128((void *)(out->even + 4 * GROUPS), _mm512_castsi512_si128(last));
#if STREAMS == 4
    _mm_storeu_si128((void *)(out->even + 4 * (GROUPS + 1)), _mm512_extracti32x4_epi32(last, 1));
    _mm_storeu_si128((void *)(out->odd + 4 * GROUPS), _mm512_extracti32x4_epi32(last, 2));
#endif
    uint64_t polynomial[8];
    _mm512_storeu_si512(polynomial, _mm512_and_si512(swap_double_words(blocks[POLYNOMIAL]),
                                                     _mm512_set1_epi64(0x01ffffff01ffffff)));
    static const int place[4] = {0, 3, 4, 7};
    for (int s = 0; s < STREAMS; s++)
        out->polynomial[s] = polynomial[place[s]];
    return blocks[POLYNOMIAL];
}

/* The odd blocks of NH's key, and the inner product's keys: of 64 bytes for each
 * stream the second half. */
INLINE void set_odd_half(struct umac_key *out, __m128i round_keys[AES128_ROUNDS + 1][KEYS],
                         int key)
{
    enum { INNER = NH_VECTORS, COUNT = INNER + STREAMS / 2 };
    __m512i blocks[COUNT];
    nh_blocks(blocks, 2);
    for (int v = 0; v < STREAMS / 2; v++)
        blocks[INNER + v] =
            kdf_blocks(INNER_KEYS, 3 + 8 * v, 4 + 8 * v, 7 + 8 * v, 8 + 8 * v);
    encrypt_blocks(blocks, COUNT, round_keys, key);

    for (int v = 0; v < NH_VECTORS; v++)
        _mm512_storeu_si512(out->odd + 16 * v, swap_words(blocks[v]));
    for (int v = 0; v < STREAMS / 2; v++)
        _mm512_storeu_si512(out->inner + 8 * v,
                            reduce_36(swap_double_words(blocks[INNER + v])));
}

/* Pad key and translation of UMAC-128, for which no lanes are free. */
INLINE __m128i encrypt_block(__m128i block, __m128i round_keys[AES128_ROUNDS + 1][KEYS], int key)
{
    block = _mm_xor_si128(block, round_keys[0][key]);
    for (int round = 1; round < AES128_ROUNDS; round++)
        block = _mm_aesenc_si128(block, round_keys[round][key]);
    return _mm_aesenclast_si128(block, round_keys[AES128_ROUNDS][key]);
}

/* Sets up sixteen keys. */
static void set_keys(struct umac_key out[KEYS], const uint8_t (*secrets)[SECRET_BYTES])
{
    _Alignas(64) __m128i round_keys[AES128_ROUNDS + 1][KEYS];
    _Alignas(64) uint8_t raw[KEYS][KEY_BYTES], pad_keys[KEYS][KEY_BYTES];
    for (int k = 0; k < KEYS; k++)
        memcpy(raw[k], secrets[k], KEY_BYTES);
    expand_keys(raw, round_keys);
    for (int k = 0; k < KEYS; k++) {
        const __m512i last = set_even_half(&out[k], round_keys, k);
        set_odd_half(&out[k], round_keys, k);
        __m128i pad, translation;
        if (STREAMS == 2) {
            pad = _mm512_extracti32x4_epi32(last, 2);
            translation = _mm512_extracti32x4_epi32(last, 3);
        } else {
            pad = encrypt_block(kdf_block(PAD_KEY, 1), round_keys, k);
            translation = encrypt_block(kdf_block(TRANSLATION, 1), round_keys, k);
        }
        memcpy(pad_keys[k], &pad, sizeof pad);
        memcpy(out[k].translation, &translation, sizeof out[k].translation);
    }
    _Alignas(64) __m128i pad_round_keys[AES128_ROUNDS + 1][KEYS];
    expand_keys(pad_keys, pad_round_keys);
    for (int k = 0; k < KEYS; k++)
        for (int round = 0; round <= AES128_ROUNDS; round++)
            out[k].pad[round] = pad_round_keys[round][k];
}

/* The functions that Rust calls, one set for each tag length. Memory is for a
 * multiple of sixteen keys; others are refused. */
#define JOINED(bits, name) weir_prototype_umac##bits##_##name
#define NAMED(bits, name) JOINED(bits, name)

void *NAMED(TAG_BITS, new)(size_t count)
{
    return count % KEYS == 0 ? aligned_alloc(64, count * sizeof(struct umac_key)) : NULL;
}

void NAMED(TAG_BITS, keys)(void *state, const uint8_t (*secrets)[SECRET_BYTES], size_t count)
{
    struct umac_key *keys = state;
    for (size_t first = 0; first < count; first += KEYS)
        set_keys(keys + first, secrets + first);
}

int NAMED(TAG_BITS, tags)(void *state, const struct mac_batch *batch)
{
    return tag_batch(state, batch);
}

void NAMED(TAG_BITS, free)(void *state)
{
    free(state);
}
