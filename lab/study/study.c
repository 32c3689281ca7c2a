/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by all studies: their list, defaults, network, victims, and the progress line. */
#include "study/study.h"

#include "base/assert.h"
#include "base/random.h"
#include "port/outfile.h"
#include "timing/timing.h"

#include "study_protocols.h" /* by CMakeLists.txt: RZ_STUDY_PROTOCOLS(X), X(PROTOCOL) for each study_PROTOCOL.c */

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the list ---- */

#define DECLARE(protocol)                                                                          \
    extern const struct rz_study rz_##protocol##_studies[];                                        \
    extern const size_t rz_##protocol##_studies_count;
RZ_STUDY_PROTOCOLS(DECLARE)
#undef DECLARE

#define LIST(protocol) {rz_##protocol##_studies, &rz_##protocol##_studies_count},
static const struct {
    const struct rz_study *v;
    const size_t *count;
} protocols[] = {RZ_STUDY_PROTOCOLS(LIST){NULL, NULL}};
#undef LIST

const struct rz_study *rz_study_at(size_t i)
{
    for (size_t protocol = 0; protocols[protocol].v; protocol++) {
        if (i < *protocols[protocol].count) {
            return &protocols[protocol].v[i];
        }
        i -= *protocols[protocol].count;
    }
    return NULL;
}

const struct rz_study *rz_study_find(const char *name)
{
    const struct rz_study *study;
    for (size_t i = 0; (study = rz_study_at(i)); i++) {
        if (strcmp(study->name, name) == 0) {
            return study;
        }
    }
    return NULL;
}

/* ---- options ---- */

/* The network is that of a lightly loaded cluster seen through its system's sockets; a figure sets
 * the values of its source. */
void rz_study_defaults(struct rz_study_options *options)
{
    *options = (struct rz_study_options){.members = 64,
                                         .per_node = 1,
                                         .trials = 1,
                                         .seed = 1,
                                         .kill = 1,
                                         .kill_at = RZ_TIME_NEVER,
                                         .hb_period = 100 * RZ_MILLISECOND,
                                         .hb_timeout = 300 * RZ_MILLISECOND,
                                         .cycle = 100 * RZ_MILLISECOND,
                                         .tolerance = 0.001,
                                         .operations = 1,
                                         .payload = 1,
                                         .latency = 20 * RZ_MICROSECOND,
                                         .latency_local = 5 * RZ_MICROSECOND,
                                         .jitter = 2 * RZ_MICROSECOND,
                                         .send_overhead = 2 * RZ_MICROSECOND,
                                         .receive_overhead = 2 * RZ_MICROSECOND,
                                         .slow_by = RZ_SECOND};
}

struct rz_timing_network rz_study_network(const struct rz_study_options *options)
{
    return (struct rz_timing_network){.latency = options->latency,
                                      .latency_local = options->latency_local,
                                      .jitter = options->jitter,
                                      .send_overhead = options->send_overhead,
                                      .send_overhead_local = options->send_overhead,
                                      .receive_overhead = options->receive_overhead,
                                      .receive_overhead_local = options->receive_overhead,
                                      .bytes_per_second = options->bytes_per_second,
                                      .per_node = options->per_node,
                                      .loss = options->loss,
                                      .duplication = options->duplication};
}

/* ---- victims ---- */

/* n of [0, of), sorted: each is chosen with the probability (still needed) / (still left) (Knuth,
 * TAOCP 2, 3.4.2, algorithm S). */
static void draw_sorted(struct rz_random *random, uint64_t of, uint32_t n, rz_id *out)
{
    uint32_t got = 0;
    for (uint64_t i = 0; got < n; i++) {
        if (rz_random_below(random, of - i) < n - got) {
            out[got++] = (rz_id)i;
        }
    }
}

/* Members of whole nodes; of the last node drawn as many as needed. */
static void draw_nodes(struct rz_random *random, uint64_t members, uint32_t per_node, uint32_t n,
                       rz_id *out)
{
    uint64_t full =
        members / per_node; /* a last node that is not full fails only with all others */
    uint32_t wanted = (uint32_t)(((uint64_t)n + per_node - 1) / per_node);
    uint64_t nodes = wanted <= full ? full : wanted;
    rz_id *drawn = malloc((wanted > 0 ? wanted : 1) * sizeof(*drawn));
    rz_assert(drawn);
    draw_sorted(random, nodes, wanted, drawn);
    for (uint32_t i = 0, got = 0; i < wanted; i++) {
        for (uint32_t k = 0; k < per_node && got < n; k++) {
            out[got++] = drawn[i] * per_node + k;
        }
    }
    free(drawn);
}

void rz_study_draw_victims(const struct rz_study_options *options, uint64_t seed, rz_id *victims)
{
    uint32_t n = options->kill, per_node = options->per_node > 0 ? options->per_node : 1;
    struct rz_random random = {rz_mix(seed, 0x76696374)};
    rz_id first = 0;
    rz_assert(n <= options->members && options->members <= RZ_ID_NONE);
    switch (options->victims) {
    case RZ_STUDY_VICTIMS_RANDOM:
        draw_sorted(&random, options->members, n, victims);
        return;
    case RZ_STUDY_VICTIMS_RACK:
        draw_nodes(&random, options->members, per_node, n, victims);
        return;
    case RZ_STUDY_VICTIMS_CONTIGUOUS:
        first = (rz_id)rz_random_below(&random, options->members - n + 1);
        break;
    case RZ_STUDY_VICTIMS_FIRST:
        break;
    }
    for (uint32_t i = 0; i < n; i++) {
        victims[i] = first + i;
    }
}

/* ---- limits and files ---- */

bool rz_study_fits(uint64_t members, uint64_t bytes_each, const char **why)
{
    if (bytes_each <= RZ_STUDY_MEMORY_MAX / members) {
        return true;
    }
    *why = "so many members with so many failures or items each take more than 8 GiB of memory";
    return false;
}

/* One trace at a time. */
static struct rz_outfile trace_file;

FILE *rz_study_open_trace(const struct rz_study_options *options, uint32_t trial, const char **why)
{
    *why = NULL;
    if (options->trace && trial == 0) {
        rz_outfile_open(&trace_file, options->trace, why);
    }
    return trace_file.file;
}

bool rz_study_close_trace(FILE *trace, const char **why)
{
    return !trace || rz_outfile_close(&trace_file, true, why);
}

/* ---- progress ---- */

void rz_study_progress(const struct rz_study_options *options, const char *what, uint64_t done,
                       uint64_t all)
{
    static uint64_t shown_at;
    struct timespec now;
    if (!options->progress || !isatty(STDERR_FILENO)) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t tenths = (uint64_t)now.tv_sec * 10 + (uint64_t)now.tv_nsec / 100000000;
    bool end = done >= all;
    if (!end && tenths == shown_at) {
        return;
    }
    shown_at = tenths;
    fputs("\r\033[K", stderr);
    if (!end) {
        fprintf(stderr, "%s: %llu of %llu", what, (unsigned long long)done,
                (unsigned long long)all);
    }
    fflush(stderr);
}
