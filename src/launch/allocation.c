/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads what Slurm and PBS say of the nodes of their jobs. */
#include "launch/allocation.h"

#include "base/no_memory.h"
#include "launch/text_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 64, DIGITS_MAX = 9 };

/* ---- Slurm's short forms ---- */

struct expansion {
    bool (*host)(void *arg, const char *name);
    void *arg;
    char name[NAME_MAX_BYTES]; /* as far as it is known */
};

static bool expand(struct expansion *to, size_t at, const char *text, size_t n);

/* The number at *text, of at most DIGITS_MAX digits; *width: its digits. */
static bool read_digits(const char **text, const char *end, unsigned long *value, int *width)
{
    const char *begin = *text;
    *value = 0;
    while (*text < end && **text >= '0' && **text <= '9') {
        *value = *value * 10 + (unsigned long)(*(*text)++ - '0');
        if (*text - begin > DIGITS_MAX) {
            return false;
        }
    }
    *width = (int)(*text - begin);
    return *width > 0;
}

/* Each number of `1-3,07-09`, which ends at the bracket, then the rest of the name behind that. */
static bool expand_ranges(struct expansion *to, size_t at, const char *ranges, const char *end,
                          size_t n_rest)
{
    while (ranges < end) {
        unsigned long first, last;
        int width, ignored;
        if (!read_digits(&ranges, end, &first, &width)) {
            return false;
        }
        last = first;
        if (ranges < end && *ranges == '-') {
            ranges++;
            if (!read_digits(&ranges, end, &last, &ignored) || last < first ||
                last - first >= RZ_NODES_MAX) {
                return false;
            }
        }
        for (unsigned long number = first; number <= last; number++) {
            int n = snprintf(to->name + at, sizeof(to->name) - at, "%0*lu", width, number);
            if (n < 0 || (size_t)n >= sizeof(to->name) - at ||
                !expand(to, at + (size_t)n, end + 1, n_rest)) {
                return false;
            }
        }
        if (ranges < end && *ranges++ != ',') {
            return false;
        }
    }
    return true;
}

/* text, n: what follows the first `at` characters of the name. */
static bool expand(struct expansion *to, size_t at, const char *text, size_t n)
{
    const char *open = memchr(text, '[', n);
    size_t plain = open ? (size_t)(open - text) : n;
    if (at + plain >= NAME_MAX_BYTES || memchr(text, ']', plain)) {
        return false;
    }
    memcpy(to->name + at, text, plain);
    at += plain;
    to->name[at] = '\0';
    if (!open) {
        return at > 0 && to->host(to->arg, to->name);
    }
    const char *close = memchr(open, ']', n - plain);
    if (!close || close == open + 1) {
        return false;
    }
    return expand_ranges(to, at, open + 1, close, (size_t)(text + n - close - 1));
}

/* The length of the first name of a list: up to a comma outside of brackets. */
static size_t first_name(const char *text)
{
    bool inside = false;
    size_t n = 0;
    for (; text[n] && (inside || text[n] != ','); n++) {
        inside = text[n] == '[' || (inside && text[n] != ']');
    }
    return n;
}

bool rz_allocation_list(const char *text, bool (*host)(void *arg, const char *name), void *arg)
{
    struct expansion to = {.host = host, .arg = arg};
    for (;;) {
        size_t n = first_name(text);
        if (!expand(&to, 0, text, n)) {
            return false;
        }
        text += n;
        if (*text == '\0') {
            return true;
        }
        text++;
    }
}

bool rz_allocation_numbers(const char *text, uint32_t *numbers, uint32_t n)
{
    const char *end = text + strlen(text);
    uint32_t at = 0;
    while (at < n) {
        unsigned long value, times = 1;
        int ignored;
        if (!read_digits(&text, end, &value, &ignored)) {
            return false;
        }
        if (strncmp(text, "(x", 2) == 0) {
            text += 2;
            if (!read_digits(&text, end, &times, &ignored) || *text++ != ')') {
                return false;
            }
        }
        for (; times > 0 && at < n; times--) {
            numbers[at++] = (uint32_t)value;
        }
        if (at < n && *text++ != ',') {
            return false;
        }
    }
    return true;
}

/* ---- The batch systems ---- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

enum rz_batch rz_allocation_batch(void)
{
    return variable("SLURM_JOB_ID")   ? RZ_BATCH_SLURM
           : variable("PBS_NODEFILE") ? RZ_BATCH_PBS
                                      : RZ_BATCH_NONE;
}

struct names {
    struct rz_launch_layout *layout;
    const char *why;
};

static bool add_name(void *arg, const char *name)
{
    struct names *names = arg;
    return rz_layout_add_hosts(names->layout, name, &names->why);
}

static bool add_slurm(struct rz_launch_layout *layout, const char **why)
{
    struct names names = {.layout = layout, .why = "SLURM_JOB_NODELIST is no list of hosts"};
    const char *list = variable("SLURM_JOB_NODELIST");
    const char *slots = variable("SLURM_TASKS_PER_NODE");
    uint32_t first = layout->n_nodes, *numbers;
    *why = "this job of Slurm has several parts with different resources (heterogeneous); start "
           "rzrun in a job of one part";
    if (variable("SLURM_HET_SIZE") || variable("SLURM_PACK_SIZE")) {
        return false;
    }
    *why = "SLURM_JOB_ID is set, but SLURM_JOB_NODELIST is not";
    if (!list) {
        return false;
    }
    if (!rz_allocation_list(list, add_name, &names)) {
        *why = names.why;
        return false;
    }
    uint32_t n = layout->n_nodes - first;
    const char *processors = variable("SLURM_JOB_CPUS_PER_NODE");
    *why = "the slots of each node are not known from SLURM_TASKS_PER_NODE and "
           "SLURM_JOB_CPUS_PER_NODE; name hosts and slots by --host";
    numbers = calloc(n, sizeof(*numbers));
    rz_need_memory(numbers, "for the list of nodes");
    /* In a step of some of the nodes the tasks are those of the step. */
    bool good = (variable("SLURM_NTASKS") && slots && rz_allocation_numbers(slots, numbers, n)) ||
                (processors && rz_allocation_numbers(processors, numbers, n));
    for (uint32_t i = 0; good && i < n; i++) {
        layout->nodes[first + i].place.slots = numbers[i] > 0 ? numbers[i] : 1;
    }
    free(numbers);
    return good;
}

struct pbs {
    struct rz_launch_layout *layout;
    uint32_t first; /* of its nodes */
};

/* A line for each slot; lines of one host may stand apart. */
static bool take_pbs_line(void *arg, char *line, const char **why)
{
    const struct pbs *pbs = arg;
    struct rz_launch_layout *layout = pbs->layout;
    uint32_t i = pbs->first;
    line[strcspn(line, " \t\r\n")] = '\0';
    while (i < layout->n_nodes && strcmp(layout->nodes[i].host, line) != 0) {
        i++;
    }
    if (*line && i < layout->n_nodes) {
        layout->nodes[i].place.slots++;
    }
    return !*line || i < layout->n_nodes || rz_layout_add_hosts(layout, line, why);
}

static bool add_pbs(struct rz_launch_layout *layout, const char **why)
{
    static char reason[320];
    struct pbs pbs = {.layout = layout, .first = layout->n_nodes};
    bool good = rz_text_file_lines(variable("PBS_NODEFILE"), take_pbs_line, &pbs, why);
    if (good && layout->n_nodes == pbs.first) {
        *why = "it names no host";
        good = false;
    }
    if (!good) {
        snprintf(reason, sizeof(reason), "the file PBS_NODEFILE: %s", *why);
        *why = reason;
    }
    return good;
}

bool rz_allocation_add(struct rz_launch_layout *layout, enum rz_batch batch, const char **why)
{
    return batch == RZ_BATCH_SLURM ? add_slurm(layout, why) : add_pbs(layout, why);
}
