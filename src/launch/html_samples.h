/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks do over the time of a job: for how long each has waited in MPI calls, and which
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

struct rz_html_share {
    rz_time known,
        waiting; /* of a bin: the time of which something is known, and its waiting part */
};

struct rz_html_iterations {
    uint64_t least, most; /* most 0: no mark in this bin */
};

struct rz_html_samples {
    uint32_t n_ranks, n_bins;
    rz_time bin_ns;
    uint32_t used;                         /* bins up to the newest entry */
    struct rz_html_share *cells;           /* [n_ranks][n_bins] */
    struct rz_html_iterations *iterations; /* [n_bins] */
};

/* Running out of memory ends the program, which is a tool. */
void rz_html_samples_open(struct rz_html_samples *samples, uint32_t n_ranks);
void rz_html_samples_close(struct rz_html_samples *samples);

/* Between these two ages of the job the rank has waited for so long; when in between is not known.
 * Other ranks are ignored, and so is a time that does not grow. */
void rz_html_samples_take(struct rz_html_samples *samples, uint32_t rank, rz_time from,
                          rz_time until, rz_time waited);

/* A rank began an iteration. */
void rz_html_samples_mark(struct rz_html_samples *samples, uint64_t iteration, rz_time at);

/* A character for each of `used` bins: '0' to '9', ninths of the known time for which the rank has
 * waited (0: it ran, 9: it waited all the time), '.': nothing is known. text has n_bins + 1 bytes.
 */
void rz_html_samples_text(const struct rz_html_samples *samples, uint32_t rank, char *text);

/* How often ranks are to be looked at now. */
rz_time rz_html_samples_every(const struct rz_html_samples *samples);

#endif
