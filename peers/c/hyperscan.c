/* Hyperscan, or Vectorscan, whose header and library have the same names: all
 * patterns as literals of one block-mode database, each reported once per
 * packet, as its manual advises where one match is enough.
 */

#include <hs/hs.h>
#include <stdint.h>
#include <stdlib.h>

/* Hyperscan has its code once for each generation of processors, and chooses when it is
 * loaded. The names of one generation are exported, too. */
extern hs_error_t avx2_hs_scan(const hs_database_t *database, const char *data, unsigned length,
                               unsigned flags, hs_scratch_t *scratch, match_event_handler found,
                               void *context) __attribute__((weak));

struct weir_hyperscan {
    hs_database_t *database;
    hs_scratch_t *scratch;
    __typeof__(hs_scan) *scan;
};

/* The result of a scan: the number of matches, and a sum over all of them that
 * depends on packets and patterns, but not on their order. */
struct weir_found {
    uint64_t matches;
    uint64_t sum;
    uint64_t packet;
};

const char *weir_hyperscan_version(void)
{
    return hs_version();
}

void weir_hyperscan_free(struct weir_hyperscan *engine)
{
    if (engine != NULL) {
        hs_free_scratch(engine->scratch);
        hs_free_database(engine->database);
        free(engine);
    }
}

/* NULL where the patterns do not compile. */
struct weir_hyperscan *weir_hyperscan_compile(const char *const *patterns, const size_t *bytes,
                                              const uint8_t *nocase, unsigned count,
                                              int is_limited)
{
    const hs_platform_info_t avx2 = {.cpu_features = HS_CPU_FEATURES_AVX2};
    struct weir_hyperscan *engine = calloc(1, sizeof *engine);
    unsigned *flags = calloc(count, sizeof *flags), *numbers = calloc(count, sizeof *numbers);
    hs_compile_error_t *error = NULL;
    int done = engine != NULL && flags != NULL && numbers != NULL;
    if (done) {
        for (unsigned number = 0; number < count; number++) {
            flags[number] = HS_FLAG_SINGLEMATCH | (nocase[number] ? HS_FLAG_CASELESS : 0);
            numbers[number] = number;
        }
        done = hs_compile_lit_multi(patterns, flags, numbers, bytes, count, HS_MODE_BLOCK,
                                    is_limited ? &avx2 : NULL, &engine->database, &error) == HS_SUCCESS &&
               hs_alloc_scratch(engine->database, &engine->scratch) == HS_SUCCESS;
        hs_free_compile_error(error);
        engine->scan = is_limited ? avx2_hs_scan : hs_scan;
        done = done && engine->scan != NULL;
    }
    free(flags);
    free(numbers);
    if (!done) {
        weir_hyperscan_free(engine);
        return NULL;
    }
    return engine;
}

size_t weir_hyperscan_bytes(const struct weir_hyperscan *engine)
{
    size_t bytes = 0;
    return hs_database_size(engine->database, &bytes) == HS_SUCCESS ? bytes : 0;
}

static int found(unsigned number, unsigned long long from, unsigned long long to, unsigned flags,
                 void *context)
{
    (void)from, (void)to, (void)flags;
    struct weir_found *found = context;
    uint64_t hit = (found->packet << 32 | number) * UINT64_C(0x9e3779b97f4a7c15);
    found->sum += hit ^ hit >> 29;
    found->matches++;
    return 0;
}

/* 0 where a scan fails. */
int weir_hyperscan_scan(const struct weir_hyperscan *engine, const char *const *packets,
                        const size_t *bytes, size_t count, struct weir_found *sum)
{
    for (size_t packet = 0; packet < count; packet++) {
        sum->packet = packet;
        if (engine->scan(engine->database, packets[packet], bytes[packet], 0, engine->scratch,
                         found, sum) != HS_SUCCESS)
            return 0;
    }
    return 1;
}
