/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's lists of hosts and numbers: names are no longer than a host's, and their number is
 * bounded by the reader; numbers are read to the end or refused. */
#include "fuzz_text.h"
#include "launch/allocation.h"

enum { HOSTS = 100 };

static bool count(void *arg, const char *name)
{
    unsigned *n = arg;
    size_t length = strlen(name);
    rz_fuzz_holds(length > 0 && length < 64 && !strpbrk(name, "[],"));
    return ++*n < HOSTS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = rz_fuzz_text(data, size);
    uint32_t numbers[HOSTS];
    unsigned n = 0;
    bool good = rz_allocation_list(text, count, &n);
    rz_fuzz_holds(n <= HOSTS && (!good || n > 0));
    (void)rz_allocation_numbers(text, numbers, HOSTS);
    free(text);
    return 0;
}

static const char *const texts[] = {"n[1-3,08-09],m", "r[1-2]n[3,5].example", "4(x2),3", "16(x100)",
                                    NULL};
static const char *const words[] = {"[", "]", ",", "-", "(x", ")", "n", "08", "999999999", NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return rz_fuzz_seed_text(texts, number, bytes, max);
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_launch_allocation",
                                              .input_max = 128,
                                              .memory_fixed = 128,
                                              .memory_factor = 2,
                                              .seed = seed,
                                              .words = words};
