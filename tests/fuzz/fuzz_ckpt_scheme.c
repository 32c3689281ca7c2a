/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint schemes as people write them: what is accepted is a scheme, and is read again from its
 * own text. */
#include "ckpt/scheme.h"
#include "fuzz_text.h"

static bool same(const struct rz_scheme *a, const struct rz_scheme *b)
{
    return a->kind == b->kind && a->data == b->data && a->parity == b->parity;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = rz_fuzz_text(data, size), again[RZ_SCHEME_TEXT_MAX];
    struct rz_scheme untouched = {.kind = RZ_SCHEME_COUNT, .data = 7, .parity = 8},
                     scheme = untouched, second;
    const char *why = NULL;
    if (rz_scheme_parse(text, &scheme, &why)) {
        rz_fuzz_holds(rz_scheme_valid(&scheme));
        rz_fuzz_holds(rz_scheme_nodes(&scheme) >= 1 &&
                      rz_scheme_nodes(&scheme) <= RZ_SCHEME_GROUP_MAX);
        rz_scheme_text(&scheme, again);
        rz_fuzz_holds(rz_scheme_parse(again, &second, &why) && same(&scheme, &second));
        /* Numbers may have had zeros in front; else it is the same text. */
        rz_fuzz_holds(strlen(again) <= strlen(text));
    } else {
        rz_fuzz_holds(why && same(&scheme, &untouched));
    }
    free(text);
    return 0;
}

static const char *const texts[] = {"memory", "buddy",  "file",    "xor:4",
                                    "xor:32", "rs:3+2", "rs:1+31", NULL};
static const char *const words[] = {"xor:", "rs:", "+",          "0", "32",
                                    "33",   "999", "4294967297", ":", NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return rz_fuzz_seed_text(texts, number, bytes, max);
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_ckpt_scheme",
                                              .input_max = 64,
                                              .memory_fixed = 64,
                                              .memory_factor = 2,
                                              .seed = seed,
                                              .words = words};
