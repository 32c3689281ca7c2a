/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums of pages, and how pages are copied. */
#include "ckpt/pages.h"

#define XXH_STATIC_LINKING_ONLY /* a state on the stack */
#include <string.h>
#include <xxhash.h>

/* Compiled for the oldest processors, XXH3 takes twice the time: the variant is chosen at run
 * time. */
#ifdef RZ_XXH_DISPATCH
#include <xxh_x86dispatch.h>
#endif

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Checksums that are combined at a time. */
#define CHECKSUM_BATCH 64

#ifdef RZ_XXH_DISPATCH
/* The variant that libxxhash 0.8.1 chooses for AVX leaves the upper halves of registers in use.
 * Code compiled without AVX, i.e. most programs, would then run at two thirds of its speed until
 * they are cleared. */
__attribute__((target("avx"))) static void empty_upper_halves(void)
{
    _mm256_zeroupper();
}

static void xxh_called(void)
{
    if (__builtin_cpu_supports("avx")) {
        empty_upper_halves();
    }
}
#else
static void xxh_called(void)
{
}
#endif

struct rz_page_hash rz_page_hash(const void *at, size_t bytes)
{
    XXH128_hash_t hash = XXH3_128bits(at, bytes);
    xxh_called();
    return (struct rz_page_hash){.low = hash.low64, .high = hash.high64};
}

uint64_t rz_pages_hash(const struct rz_page_hash *hashes, size_t bytes)
{
    uint64_t hash = XXH3_64bits_withSeed(hashes, rz_pages_of(bytes) * sizeof(*hashes), bytes);
    xxh_called();
    return hash;
}

struct rz_pages_sum *rz_pages_sum_begin(size_t bytes)
{
    XXH3_state_t *state = XXH3_createState();
    if (state) {
        XXH3_64bits_reset_withSeed(state, bytes);
    }
    return (struct rz_pages_sum *)state;
}

void rz_pages_sum_add(struct rz_pages_sum *sum, const struct rz_page_hash *hashes, size_t n)
{
    XXH3_64bits_update((XXH3_state_t *)sum, hashes, n * sizeof(*hashes));
    xxh_called();
}

uint64_t rz_pages_sum_end(struct rz_pages_sum *sum)
{
    uint64_t hash = XXH3_64bits_digest((XXH3_state_t *)sum);
    xxh_called();
    rz_pages_sum_free(sum);
    return hash;
}

void rz_pages_sum_free(struct rz_pages_sum *sum)
{
    XXH3_freeState((XXH3_state_t *)sum);
}

uint64_t rz_pages_look(const void *at, size_t bytes, struct rz_page_hash *hashes)
{
    struct rz_page_hash batch[CHECKSUM_BATCH];
    size_t pages = rz_pages_of(bytes);
    XXH3_state_t state;
    XXH3_INITSTATE(&state); /* else stack content may be taken for this seed's secret */
    XXH3_64bits_reset_withSeed(&state, bytes);
    for (size_t page = 0; page < pages; page += CHECKSUM_BATCH) {
        size_t n = pages - page < CHECKSUM_BATCH ? pages - page : CHECKSUM_BATCH;
        for (size_t i = 0; i < n; i++) {
            size_t offset = (page + i) * RZ_PAGE_BYTES, rest = bytes - offset;
            batch[i] = rz_page_hash((const uint8_t *)at + offset,
                                    rest < RZ_PAGE_BYTES ? rest : RZ_PAGE_BYTES);
        }
        XXH3_64bits_update(&state, batch, n * sizeof(*batch));
        if (hashes) {
            memcpy(hashes + page, batch, n * sizeof(*batch));
        }
    }
    uint64_t hash = XXH3_64bits_digest(&state);
    xxh_called();
    return hash;
}

static bool in_bitmap(const uint8_t *bitmap, size_t page)
{
    return bitmap[page / 8] >> page % 8 & 1;
}

bool rz_pages_next_run(const uint8_t *bitmap, size_t pages, size_t *page, size_t *n)
{
    size_t first = *page;
    while (first < pages && !in_bitmap(bitmap, first)) {
        first += first % 8 == 0 && bitmap[first / 8] == 0 ? 8 : 1;
    }
    if (first >= pages) {
        return false;
    }
    size_t end = first + 1;
    while (end < pages && in_bitmap(bitmap, end)) {
        end++;
    }
    *page = first;
    *n = end - first;
    return true;
}

#ifdef __SSE2__
void rz_pages_copy_past(void *to, const void *from, size_t bytes, size_t ahead)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    size_t head = -(uintptr_t)out & 63;
    head = head < bytes ? head : bytes;
    memcpy(out, in, head);
    out += head, in += head, bytes -= head;
    for (; bytes >= 64; out += 64, in += 64, bytes -= 64) {
        __m128i line[4];
        _mm_prefetch((const char *)in + ahead,
                     _MM_HINT_T0); /* never faults, whatever the address */
        for (int i = 0; i < 4; i++) {
            line[i] = _mm_loadu_si128((const __m128i *)(const void *)(in + 16 * i));
        }
        for (int i = 0; i < 4; i++) {
            _mm_stream_si128((__m128i *)(void *)(out + 16 * i), line[i]);
        }
    }
    memcpy(out, in, bytes);
}

void rz_pages_settle(void)
{
    _mm_sfence();
}
#else
void rz_pages_copy_past(void *to, const void *from, size_t bytes, size_t ahead)
{
    (void)ahead;
    memcpy(to, from, bytes);
}

void rz_pages_settle(void)
{
}
#endif
