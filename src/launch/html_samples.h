/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of what ranks do over the time of a job: how often each was seen waiting, and which
 * iterations were reached. Of constant size: when the job has outgrown it, two bins of time become
 * one. Pure; time is given by the caller.
 */
#ifndef RZ_LAUNCH_HTML_SAMPLES_H
#define RZ_LAUNCH_HTML_SAMPLES_H

#include <rhizome/types.h>

#include <stdbool.h>

/* The number of bins of time is even, and at most this; with many ranks it is smaller. */
#define RZ_HTML_BINS_MAX 1200u
#define RZ_HTML_CELLS_MAX (600u * 1024)
/* The first width of a bin. */
#define RZ_HTML_BIN_NS (100 * RZ_MILLISECOND)

struct rz_html_sample {
    uint8_t taken, waiting; /* halved together when taken would overflow */
};

struct rz_html_iterations {
    uint64_t least, most; /* most 0: no mark in this bin */
};

struct rz_html_samples {
    uint32_t n_ranks, n_bins;
    rz_time bin_ns;
    uint32_t used;                         /* bins up to the newest sample */
    struct rz_html_sample *cells;          /* [n_ranks][n_bins] */
    struct rz_html_iterations *iterations; /* [n_bins] */
};

/* Running out of memory ends the program, which is a tool. */
void rz_html_samples_open(struct rz_html_samples *samples, uint32_t n_ranks);
void rz_html_samples_close(struct rz_html_samples *samples);

/* The rank was seen at the age `at` of the job. Other ranks are ignored. */
void rz_html_samples_take(struct rz_html_samples *samples, uint32_t rank, rz_time at, bool waiting);

/* A rank began an iteration. */
void rz_html_samples_mark(struct rz_html_samples *samples, uint64_t iteration, rz_time at);

/* A character for each of `used` bins: '0' to '9', tenths of the samples in which the rank waited
 * (9: always), '.': there is no sample. text has n_bins + 1 bytes. */
void rz_html_samples_text(const struct rz_html_samples *samples, uint32_t rank, char *text);

/* How often ranks are to be looked at now. */
rz_time rz_html_samples_every(const struct rz_html_samples *samples);

#endif
