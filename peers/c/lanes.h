/* AES with one packet, or one key, in each 128-bit lane of a vector: what the
 * prototypes share. A vector of four lanes serves four packets at once, and
 * every lane has its own key.
 */

#ifndef WEIR_PEERS_LANES_H
#define WEIR_PEERS_LANES_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

/* Kernels are one function each after inlining: vectors stay in registers. */
#define INLINE static inline __attribute__((always_inline))

enum { LANES = 4, AES128_ROUNDS = 10 };

/* The round constants of AES-128's key schedule (FIPS 197, section 5.2). */
static const int ROUND_CONSTANT[AES128_ROUNDS] = {1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36};

/* The same 128 bits in every lane, the lowest word last. */
INLINE __m512i each_lane(int w3, int w2, int w1, int w0)
{
    return _mm512_set4_epi32(w3, w2, w1, w0);
}

INLINE __m512i reverse_bytes(__m512i lanes)
{
    return _mm512_shuffle_epi8(lanes,
                               each_lane(0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f));
}

/* One block of each of four packets. */
INLINE __m512i load_lanes(const void *a, const void *b, const void *c, const void *d)
{
    __m512i lanes = _mm512_castsi128_si512(_mm_loadu_si128(a));
    lanes = _mm512_inserti32x4(lanes, _mm_loadu_si128(b), 1);
    lanes = _mm512_inserti32x4(lanes, _mm_loadu_si128(c), 2);
    return _mm512_inserti32x4(lanes, _mm_loadu_si128(d), 3);
}

/* The round key that follows `key`, in each lane (FIPS 197, figure 11).
 *
 * RotWord of the last word stands in all four columns when they are
 * substituted: ShiftRows does nothing to equal columns, so AESENCLAST is
 * SubWord and the addition of the round constant. The words of the new key are
 * the prefix sums of the old one's, plus that word. */
INLINE __m512i next_round_key(__m512i key, int round_constant)
{
    const int rotated = 0x0c0f0e0d;
    const __m512i rot_word = each_lane(rotated, rotated, rotated, rotated);
    const __m512i word = _mm512_aesenclast_epi128(_mm512_shuffle_epi8(key, rot_word),
                                                  _mm512_set1_epi32(round_constant));
    const __m512i pairs = _mm512_xor_si512(key, _mm512_bslli_epi128(key, 4));
    return _mm512_ternarylogic_epi64(pairs, _mm512_bslli_epi128(pairs, 8), word, 0x96);
}

#endif
