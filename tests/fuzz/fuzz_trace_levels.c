/* SPDX-License-Identifier: BSD-3-Clause */
/* What --log and RZ_LOG say: what is refused changes nothing and gets a sentence; what is
 * accepted sets levels that exist, and is accepted again with the same result. */
#include "base/trace.h"
#include "fuzz_text.h"

static bool same(const struct rz_trace_levels *a, const struct rz_trace_levels *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = rz_fuzz_text(data, size), why[200] = "", none[1] = "";
    struct rz_trace_levels usual, levels, second;
    rz_trace_levels_default(&usual);
    levels = second = usual;
    if (rz_trace_levels_parse(&levels, text, why, sizeof(why))) {
        rz_fuzz_holds(why[0] == 0);
        for (int module = 0; module < RZ_TRACE_MODULE_COUNT; module++) {
            rz_fuzz_holds(levels.of[module] < RZ_TRACE_LEVEL_COUNT);
        }
        second = levels;
        rz_fuzz_holds(rz_trace_levels_parse(&second, text, why, sizeof(why)) &&
                      same(&second, &levels));
    } else {
        rz_fuzz_holds(same(&levels, &usual));
        rz_fuzz_holds(why[0] != 0 && memchr(why, 0, sizeof(why)));
        rz_fuzz_holds(!rz_trace_levels_parse(&levels, text, none, sizeof(none)) && none[0] == 0);
    }
    free(text);
    return 0;
}

static const char *const texts[] = {"all:debug", "mpi:info,daemon:off", "all:off,all:notice", NULL};
static const char *const words[] = {"all", "mpi",   "daemon", "p2p", ":",
                                    ",",   "debug", "notice", NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return rz_fuzz_seed_text(texts, number, bytes, max);
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_trace_levels",
                                              .input_max = 128,
                                              .memory_fixed = 128,
                                              .memory_factor = 2,
                                              .seed = seed,
                                              .words = words};
