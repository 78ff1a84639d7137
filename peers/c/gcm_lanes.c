/* Prototype: AES-128-GCM (NIST SP 800-38D) with one packet in each 128-bit
 * lane and a new raw key for every packet. Four packets make a vector, and two
 * vectors run interleaved, so eight packets make a group. Key expansion, hash
 * key, counter blocks, CTR, GHASH and tag all happen in the kernel; nothing is
 * kept between packets.
 *
 * There are two kernels: one for texts of 64 bytes, which keeps all six blocks
 * of a packet in registers while it expands the keys, and one for texts of any
 * multiple of 64 bytes. They bound what a library can reach: packets lie
 * aligned in arrays of their own, all with 8 bytes of associated data and one
 * length.
 */

#include "lanes.h"

enum { VECTORS = 2, GROUP_PACKETS = VECTORS * LANES, BLOCK_BYTES = 16, CHUNK_BYTES = 64 };

/* The same as `CBatch` of src/cipher/prototype/ffi.rs. */
struct gcm_batch {
    /* Raw keys, and which of them each packet brings. */
    const uint8_t (*keys)[BLOCK_BYTES];
    const uint32_t *key_numbers;
    /* 12 bytes of nonce, 8 bytes of associated data; the rest is ignored. */
    const uint8_t (*nonces)[BLOCK_BYTES];
    const uint8_t (*associated)[BLOCK_BYTES];
    /* Text i begins at i * stride, a multiple of 64 from an aligned start. */
    uint8_t *texts;
    size_t stride;
    size_t text_bytes;
    uint8_t (*tags)[BLOCK_BYTES];
    /* A multiple of GROUP_PACKETS. */
    size_t count;
};

/* ---- GHASH on byte-reversed blocks, which makes its bit order the usual one ---- */

/* A carry-less product of 256 bits that is not reduced: low, middle and high
 * parts of schoolbook multiplication. */
struct product {
    __m512i low, middle, high;
};

INLINE struct product multiply(__m512i x, __m512i h)
{
    return (struct product){
        .low = _mm512_clmulepi64_epi128(x, h, 0x00),
        .middle = _mm512_xor_si512(_mm512_clmulepi64_epi128(x, h, 0x01),
                                   _mm512_clmulepi64_epi128(x, h, 0x10)),
        .high = _mm512_clmulepi64_epi128(x, h, 0x11),
    };
}

INLINE struct product add_product(struct product sum, __m512i x, __m512i h)
{
    sum.low = _mm512_xor_si512(sum.low, _mm512_clmulepi64_epi128(x, h, 0x00));
    sum.middle = _mm512_ternarylogic_epi64(sum.middle, _mm512_clmulepi64_epi128(x, h, 0x01),
                                           _mm512_clmulepi64_epi128(x, h, 0x10), 0x96);
    sum.high = _mm512_xor_si512(sum.high, _mm512_clmulepi64_epi128(x, h, 0x11));
    return sum;
}

INLINE __m512i swap_halves(__m512i lanes)
{
    return _mm512_shuffle_epi32(lanes, _MM_PERM_BADC);
}

/* Reduces modulo x^128 + x^127 + x^126 + x^121 + 1, the low 64 bits at a time
 * (Gueron and Kounavis, "Intel carry-less multiplication instruction and its
 * usage for computing the GCM mode", algorithm 5 in its Montgomery form). */
INLINE __m512i reduce(struct product sum)
{
    const __m512i polynomial = _mm512_set1_epi64((long long)0xc200000000000000);
    __m512i low = _mm512_xor_si512(sum.low, _mm512_bslli_epi128(sum.middle, 8));
    const __m512i high = _mm512_xor_si512(sum.high, _mm512_bsrli_epi128(sum.middle, 8));
    low = _mm512_xor_si512(swap_halves(low),
                           _mm512_clmulepi64_epi128(low, polynomial, 0x10));
    return _mm512_ternarylogic_epi64(swap_halves(low),
                                     _mm512_clmulepi64_epi128(low, polynomial, 0x10), high,
                                     0x96);
}

INLINE __m512i multiply_reduced(__m512i x, __m512i h)
{
    return reduce(multiply(x, h));
}

/* The hash key times x, as this form of multiplication takes it, from the
 * encrypted block of zeros. */
INLINE __m512i hash_key(__m512i encrypted_zeros)
{
    const __m512i h = reverse_bytes(encrypted_zeros);
    const __m512i carry = _mm512_bslli_epi128(_mm512_srli_epi64(h, 63), 8);
    const __m512i doubled = _mm512_or_si512(_mm512_slli_epi64(h, 1), carry);
    const __m512i overflow = _mm512_srai_epi32(_mm512_shuffle_epi32(h, _MM_PERM_DDDD), 31);
    return _mm512_xor_si512(
        doubled, _mm512_and_si512(overflow, each_lane((int)0xc2000000, 0, 0, 1)));
}

/* ---- Packets in lanes ---- */

/* Turns four blocks of each of four packets, packet by packet, into four
 * vectors with one block of every packet each; and back. */
INLINE void transpose(__m512i v[LANES])
{
    const __m512i front01 = _mm512_shuffle_i32x4(v[0], v[1], 0x44);
    const __m512i back01 = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
    const __m512i front23 = _mm512_shuffle_i32x4(v[2], v[3], 0x44);
    const __m512i back23 = _mm512_shuffle_i32x4(v[2], v[3], 0xee);
    v[0] = _mm512_shuffle_i32x4(front01, front23, 0x88);
    v[1] = _mm512_shuffle_i32x4(front01, front23, 0xdd);
    v[2] = _mm512_shuffle_i32x4(back01, back23, 0x88);
    v[3] = _mm512_shuffle_i32x4(back01, back23, 0xdd);
}

INLINE __m512i load_keys(const struct gcm_batch *batch, size_t packet)
{
    const uint32_t *number = &batch->key_numbers[packet];
    return load_lanes(batch->keys[number[0]], batch->keys[number[1]], batch->keys[number[2]],
                      batch->keys[number[3]]);
}

/* Nonces of four packets, and zeros where the block counters go. */
INLINE __m512i load_nonces(const struct gcm_batch *batch, size_t packet)
{
    return _mm512_maskz_loadu_epi32(0x7777, batch->nonces[packet]);
}

INLINE __m512i counter_blocks(__m512i nonces, int counter)
{
    return _mm512_or_si512(nonces, each_lane(counter << 24, 0, 0, 0));
}

/* GHASH of the associated data of four packets. */
INLINE __m512i hash_associated(const struct gcm_batch *batch, size_t packet, __m512i h)
{
    const __m512i block = _mm512_maskz_loadu_epi64(0x55, batch->associated[packet]);
    return multiply_reduced(reverse_bytes(block), h);
}

/* Adds the block of lengths, and writes the tags of four packets. */
INLINE void write_tags(const struct gcm_batch *batch, size_t packet, __m512i hash, __m512i h,
                       __m512i encrypted_first_block)
{
    const __m512i bits = each_lane(0, 8 * 8, 0, (int)(8 * batch->text_bytes));
    hash = multiply_reduced(_mm512_xor_si512(hash, bits), h);
    _mm512_storeu_si512(batch->tags[packet],
                        _mm512_xor_si512(reverse_bytes(hash), encrypted_first_block));
}

/* ---- The kernel for texts of 64 bytes ---- */

/* Blocks of a packet: zeros, the first counter block, four blocks of text. */
enum { ZEROS, FIRST, TEXT, FIXED_BLOCKS = TEXT + 4 };

/* Encrypts each block while the round keys come up, so that none is stored. */
INLINE void encrypt_while_expanding(__m512i key[VECTORS],
                                    __m512i blocks[VECTORS][FIXED_BLOCKS])
{
#pragma GCC unroll 10
    for (int round = 0; round < AES128_ROUNDS; round++)
        for (int v = 0; v < VECTORS; v++) {
            key[v] = next_round_key(key[v], ROUND_CONSTANT[round]);
            for (int b = 0; b < FIXED_BLOCKS; b++)
                blocks[v][b] = round < AES128_ROUNDS - 1
                                   ? _mm512_aesenc_epi128(blocks[v][b], key[v])
                                   : _mm512_aesenclast_epi128(blocks[v][b], key[v]);
        }
}

INLINE void seal_group_of_64_bytes(const struct gcm_batch *batch, size_t first)
{
    __m512i key[VECTORS], blocks[VECTORS][FIXED_BLOCKS];
    for (int v = 0; v < VECTORS; v++) {
        const size_t packet = first + LANES * v;
        key[v] = load_keys(batch, packet);
        const __m512i nonces = load_nonces(batch, packet);
        blocks[v][ZEROS] = key[v];
        for (int b = FIRST; b < FIXED_BLOCKS; b++)
            blocks[v][b] = _mm512_xor_si512(key[v], counter_blocks(nonces, b));
    }
    encrypt_while_expanding(key, blocks);

    __m512i h[VECTORS], hash[VECTORS], text[VECTORS][LANES];
    for (int v = 0; v < VECTORS; v++) {
        const size_t packet = first + LANES * v;
        for (int i = 0; i < LANES; i++)
            text[v][i] = _mm512_load_si512(batch->texts + (packet + i) * batch->stride);
        transpose(text[v]);
        for (int b = 0; b < 4; b++)
            text[v][b] = _mm512_xor_si512(text[v][b], blocks[v][TEXT + b]);
        h[v] = hash_key(blocks[v][ZEROS]);
        hash[v] = hash_associated(batch, packet, h[v]);
    }
    for (int b = 0; b < 4; b++)
        for (int v = 0; v < VECTORS; v++)
            hash[v] = multiply_reduced(_mm512_xor_si512(hash[v], reverse_bytes(text[v][b])),
                                       h[v]);
    for (int v = 0; v < VECTORS; v++) {
        const size_t packet = first + LANES * v;
        write_tags(batch, packet, hash[v], h[v], blocks[v][FIRST]);
        transpose(text[v]);
        for (int i = 0; i < LANES; i++)
            _mm512_store_si512(batch->texts + (packet + i) * batch->stride, text[v][i]);
    }
}

/* Encrypts texts of 64 bytes in place and writes the tags. The batch is copied,
 * since its fields would be read again after every store of a vector. */
void weir_prototype_gcm_seal_64(const struct gcm_batch *batch)
{
    const struct gcm_batch copy = *batch;
    for (size_t first = 0; first < copy.count; first += GROUP_PACKETS)
        seal_group_of_64_bytes(&copy, first);
}

/* ---- The kernel for any multiple of 64 bytes ---- */

/* The keys of four packets: the whole schedule, and H to H^4, of which a chunk
 * of four blocks needs one each. */
struct lane_keys {
    __m512i round[AES128_ROUNDS + 1];
    __m512i h_power[4];
    __m512i nonces;
    __m512i encrypted_first_block;
};

/* Expands the keys of a group, and hashes the associated data. */
INLINE void start_group(const struct gcm_batch *batch, size_t first,
                        struct lane_keys keys[VECTORS], __m512i hash[VECTORS])
{
    __m512i key[VECTORS], zeros[VECTORS], first_block[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        const size_t packet = first + LANES * v;
        keys[v].round[0] = key[v] = load_keys(batch, packet);
        keys[v].nonces = load_nonces(batch, packet);
        zeros[v] = key[v];
        first_block[v] = _mm512_xor_si512(key[v], counter_blocks(keys[v].nonces, 1));
    }
#pragma GCC unroll 10
    for (int round = 0; round < AES128_ROUNDS; round++)
        for (int v = 0; v < VECTORS; v++) {
            keys[v].round[round + 1] = key[v] =
                next_round_key(key[v], ROUND_CONSTANT[round]);
            if (round < AES128_ROUNDS - 1) {
                zeros[v] = _mm512_aesenc_epi128(zeros[v], key[v]);
                first_block[v] = _mm512_aesenc_epi128(first_block[v], key[v]);
            } else {
                zeros[v] = _mm512_aesenclast_epi128(zeros[v], key[v]);
                first_block[v] = _mm512_aesenclast_epi128(first_block[v], key[v]);
            }
        }
    for (int v = 0; v < VECTORS; v++) {
        keys[v].encrypted_first_block = first_block[v];
        keys[v].h_power[0] = hash_key(zeros[v]);
        hash[v] = hash_associated(batch, first + LANES * v, keys[v].h_power[0]);
    }
    for (int v = 0; v < VECTORS; v++)
        keys[v].h_power[1] = multiply_reduced(keys[v].h_power[0], keys[v].h_power[0]);
    for (int v = 0; v < VECTORS; v++) {
        keys[v].h_power[2] = multiply_reduced(keys[v].h_power[1], keys[v].h_power[0]);
        keys[v].h_power[3] = multiply_reduced(keys[v].h_power[1], keys[v].h_power[1]);
    }
}

/* The key stream of one chunk, from the value of its first block counter. */
INLINE void key_stream(const struct lane_keys keys[VECTORS], __m512i counter,
                       __m512i stream[VECTORS][LANES])
{
    const __m512i big_endian =
        each_lane(0x0c0d0e0f, 0x0b0a0908, 0x07060504, 0x03020100);
    __m512i counters[LANES];
    for (int b = 0; b < LANES; b++) {
        counters[b] = _mm512_shuffle_epi8(counter, big_endian);
        counter = _mm512_add_epi32(counter, each_lane(1, 0, 0, 0));
    }
    for (int v = 0; v < VECTORS; v++)
        for (int b = 0; b < LANES; b++)
            stream[v][b] = _mm512_xor_si512(_mm512_or_si512(keys[v].nonces, counters[b]),
                                            keys[v].round[0]);
#pragma GCC unroll 10
    for (int round = 1; round <= AES128_ROUNDS; round++)
        for (int v = 0; v < VECTORS; v++)
            for (int b = 0; b < LANES; b++)
                stream[v][b] =
                    round < AES128_ROUNDS
                        ? _mm512_aesenc_epi128(stream[v][b], keys[v].round[round])
                        : _mm512_aesenclast_epi128(stream[v][b], keys[v].round[round]);
}

/* Encrypts one chunk of four packets; returns their hash over it, too. */
INLINE __m512i encrypt_chunk(const struct lane_keys *keys, __m512i stream[LANES], uint8_t *text,
                             size_t stride, __m512i hash)
{
    transpose(stream);
    for (int i = 0; i < LANES; i++) {
        stream[i] = _mm512_xor_si512(stream[i], _mm512_loadu_si512(text + i * stride));
        _mm512_storeu_si512(text + i * stride, stream[i]);
    }
    transpose(stream);
    struct product sum = {_mm512_setzero_si512(), _mm512_setzero_si512(),
                          _mm512_setzero_si512()};
    for (int b = 0; b < LANES; b++) {
        __m512i block = reverse_bytes(stream[b]);
        if (b == 0)
            block = _mm512_xor_si512(block, hash);
        sum = add_product(sum, block, keys->h_power[3 - b]);
    }
    return reduce(sum);
}

INLINE void seal_group(const struct gcm_batch *batch, size_t first)
{
    struct lane_keys keys[VECTORS];
    __m512i hash[VECTORS];
    start_group(batch, first, keys, hash);
    __m512i counter = each_lane(2, 0, 0, 0);
    for (size_t offset = 0; offset < batch->text_bytes; offset += CHUNK_BYTES) {
        __m512i stream[VECTORS][LANES];
        key_stream(keys, counter, stream);
        counter = _mm512_add_epi32(counter, each_lane(LANES, 0, 0, 0));
        for (int v = 0; v < VECTORS; v++) {
            uint8_t *text = batch->texts + (first + LANES * v) * batch->stride + offset;
            hash[v] = encrypt_chunk(&keys[v], stream[v], text, batch->stride, hash[v]);
        }
    }
    for (int v = 0; v < VECTORS; v++)
        write_tags(batch, first + LANES * v, hash[v], keys[v].h_power[0],
                   keys[v].encrypted_first_block);
}

/* Encrypts texts of a multiple of 64 bytes in place and writes the tags. */
void weir_prototype_gcm_seal(const struct gcm_batch *batch)
{
    const struct gcm_batch copy = *batch;
    for (size_t first = 0; first < copy.count; first += GROUP_PACKETS)
        seal_group(&copy, first);
}
