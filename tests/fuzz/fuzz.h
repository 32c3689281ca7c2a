/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fuzz target is, and what all of them share. A target is one file that decodes bytes from
 * untrusted writers; README.md says how they are run.
 */
#ifndef RZ_TESTS_FUZZ_H
#define RZ_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rz_fuzz_target {
    const char *name; /* of the program */
    size_t input_max; /* bytes of one input */
    /* Bound of all memory that one input may request from malloc: this, and this much per byte of
     * it. A decoder that trusts a count that does not fit the input exceeds it by far. */
    size_t memory_fixed, memory_factor;
    /* Valid inputs to begin with: writes number 0, 1, 2, ... to bytes[0..max) and returns its
     * length; 0: there are no more. */
    size_t (*seed)(uint32_t number, uint8_t *bytes, size_t max);
    const char *const *words; /* of the grammar, up to NULL; NULL: none */
};

/* Each target defines both. data has exactly size bytes: one byte more is not ours. */
extern const struct rz_fuzz_target rz_fuzz_target;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of the decoder; prints it, then the command that replays the case. */
#define rz_fuzz_holds(condition)                                                                   \
    ((condition) ? (void)0 : rz_fuzz_fail(#condition, __FILE__, __LINE__))
_Noreturn void rz_fuzz_fail(const char *property, const char *file, int line);

/* A copy in a block of exactly this number of bytes, to be freed by the caller; never NULL. */
void *rz_fuzz_copy(const void *bytes, size_t n);

/* Choices taken from the front of an input; 0 once it is used up. */
struct rz_fuzz_input {
    const uint8_t *at, *end;
};
static inline size_t rz_fuzz_left(const struct rz_fuzz_input *input)
{
    return (size_t)(input->end - input->at);
}
static inline uint64_t rz_fuzz_take(struct rz_fuzz_input *input, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && input->at < input->end; i++) {
        value |= (uint64_t)*input->at++ << (8 * i);
    }
    return value;
}
static inline uint64_t rz_fuzz_below(struct rz_fuzz_input *input, uint64_t bound)
{
    unsigned bytes = 1;
    while (bytes < 8 && bound - 1 > (UINT64_C(1) << (8 * bytes)) - 1) {
        bytes++;
    }
    return rz_fuzz_take(input, bytes) % bound;
}
/* The next n bytes, or as many as are left (*n). */
static inline const uint8_t *rz_fuzz_bytes(struct rz_fuzz_input *input, size_t *n)
{
    const uint8_t *at = input->at;
    if (*n > rz_fuzz_left(input)) {
        *n = rz_fuzz_left(input);
    }
    input->at += *n;
    return at;
}

/* For seeds without a form: n bytes, or max, the same for the same number; n. */
size_t rz_fuzz_seed_noise(uint32_t number, size_t n, uint8_t *bytes, size_t max);

/* For seeds that are a text of a list (up to NULL). */
size_t rz_fuzz_seed_text(const char *const *texts, uint32_t number, uint8_t *bytes, size_t max);

#endif
