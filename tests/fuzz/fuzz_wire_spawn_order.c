/* SPDX-License-Identifier: BSD-3-Clause */
/* The spawn request of a program, as its process, or another daemon, sent it. */
#include "wire/spawn_order.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define COMMANDS_MAX 16
#define TEXTS_MAX 64

static const char **texts_of(const char *texts, uint32_t n)
{
    const char **list = calloc(n + 1, sizeof(*list));
    for (uint32_t i = 0; i < n; i++, texts = rz_spawn_text_next(texts)) {
        list[i] = texts;
    }
    return list;
}

/* The daemon that carries it out reads every text of it, and could encode the same order again. */
static void reads_as_written(const uint8_t *bytes, size_t n, uint32_t n_commands, uint32_t count)
{
    struct rz_spawn_command list[COMMANDS_MAX];
    uint32_t sum = 0;
    if (n_commands > COMMANDS_MAX) {
        return;
    }
    for (uint32_t i = 0; i < n_commands; i++) {
        struct rz_spawn_command_read read = rz_spawn_order_command(bytes, n, i);
        rz_fuzz_holds(read.n_arguments > 0 && *read.arguments);
        sum += read.maxprocs;
        list[i] = (struct rz_spawn_command){.maxprocs = read.maxprocs,
                                            .directory = read.directory,
                                            .arguments = texts_of(read.arguments, read.n_arguments),
                                            .environment =
                                                texts_of(read.environment, read.n_environment)};
    }
    rz_fuzz_holds(sum == count);
    rz_fuzz_holds(rz_spawn_order_command_of(bytes, n, count - 1) < n_commands);
    uint8_t *again = malloc(n);
    rz_fuzz_holds(rz_spawn_order_write(list, n_commands, again, n) == n);
    rz_fuzz_holds(memcmp(again, bytes, n) == 0);
    free(again);
    for (uint32_t i = 0; i < n_commands; i++) {
        free((void *)list[i].arguments);
        free((void *)list[i].environment);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t n_commands = 0, count = 0;
    uint8_t *copy = rz_fuzz_copy(data, size);
    rz_status_t status = rz_spawn_order_look(copy, size, &n_commands, &count);
    rz_fuzz_holds(status == RZ_OK || status == RZ_ERR_MALFORMED);
    if (status == RZ_OK) {
        reads_as_written(copy, size, n_commands, count);
    }
    free(copy);
    return 0;
}

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    static const char *const one[] = {"worker", NULL}, *const more[] = {"sh", "-c", "exit 3", NULL};
    static const char *const settings[] = {"A=1", "B=", NULL};
    const struct rz_spawn_command list[3] = {
        {2, "", one, NULL}, {1, "/tmp", more, settings}, {0, "", one, settings}};
    return number < 3 ? rz_spawn_order_write(list, number + 1, bytes, max) : 0;
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_wire_spawn_order",
                                              .input_max = 1024,
                                              .memory_fixed = 8192,
                                              .memory_factor = 16,
                                              .seed = seed};
