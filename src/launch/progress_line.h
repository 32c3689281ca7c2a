/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rzrun --progress: how far the program is, in one line: iterations and their rate, the estimated
 * end, failures, the newest checkpoint. Pure: times are given by the caller, and text is made for
 * it to show.
 */
#ifndef RZ_LAUNCH_PROGRESS_LINE_H
#define RZ_LAUNCH_PROGRESS_LINE_H

#include <rhizome/types.h>

#include <stdbool.h>
#include <stddef.h>

struct rz_progress {
    uint64_t total;      /* iterations of the program; 0: not known */
    uint64_t newest;     /* that any rank has begun since the last roll-back */
    uint64_t rated;      /* the newest at the time rated_at */
    rz_time rated_at;    /* 0: there was no mark yet */
    double per_second;   /* 0: not known yet */
    uint32_t epoch;      /* of the newest mark */
    uint32_t failures;   /* of processes and nodes */
    uint64_t generation; /* the newest checkpoint; 0: none */
    rz_time committed_at;
};

/* A process began an iteration in epoch. */
void rz_progress_mark(struct rz_progress *progress, uint64_t iteration, uint32_t epoch, rz_time at);
/* A checkpoint is committed; several nodes say so. */
void rz_progress_committed(struct rz_progress *progress, uint64_t generation, rz_time at);

/*
 * "  12.345 s  iteration 123 of 600, 45.6 per second, ends in 11 s; ...": the job is `age` old. At
 * most max - 1 characters. Where these are too few: "12 s: 123 of 600, 45.6/s, ends in 11 s; ...",
 * cut at the end.
 */
void rz_progress_text(const struct rz_progress *progress, rz_time age, rz_time now, char *text,
                      size_t max);

#endif
