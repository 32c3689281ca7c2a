/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a run of --rewind-check wrote: kept, and compared with other runs.
 *
 * What a restored rank writes takes the place of what was written behind its image, so that the
 * history is that of the job as it happened in the end.
 */
#ifndef RZ_LAUNCH_CHECK_OUTPUT_H
#define RZ_LAUNCH_CHECK_OUTPUT_H

#include "launch/bytes.h"
#include "wire/launch_messages.h"

#include <stdbool.h>

enum { RZ_CHECK_STREAMS = 2 }; /* stdout, stderr */

/* Of all ranks of one run; what is written beyond it is not kept, and not compared. */
#define RZ_CHECK_OUTPUT_MAX ((size_t)64 << 20)

struct rz_check_stream {
    struct rz_bytes bytes;
    uint64_t began; /* the place at which the process of this epoch began */
    uint32_t epoch;
    bool cut; /* more was written than is kept */
};

struct rz_check_output {
    struct rz_check_stream *streams; /* [n_ranks * RZ_CHECK_STREAMS] */
    uint32_t n_ranks;
    size_t room; /* bytes that may be kept still */
};

void rz_check_output_open(struct rz_check_output *output, uint32_t n_ranks, size_t room);
void rz_check_output_close(struct rz_check_output *output);

/* Daemons and spawned processes are not looked at. */
void rz_check_output_take(struct rz_check_output *output, const struct rz_launch_output *message);

struct rz_check_text {
    const uint8_t *at; /* NULL: there is no such line */
    size_t n;          /* without the newline */
};

/* The first line that differs. */
struct rz_check_difference {
    uint32_t rank;
    bool error;    /* on standard error */
    uint64_t line; /* from 1 */
    struct rz_check_text rewound, undisturbed;
};

/* Runs to be compared. */
struct rz_check_runs {
    const struct rz_check_output *rewound, *undisturbed;
    /* Undisturbed, too: only lines in which both are the same count, and nothing behind the first
     * other one where they have not as many lines. NULL: each line counts. */
    const struct rz_check_output *again;
    bool whole; /* all ran to their ends; otherwise only lines that all have are compared */
};

/* Returns whether a line differs; *lines: how many were compared. */
bool rz_check_output_differs(const struct rz_check_runs *runs,
                             struct rz_check_difference *difference, uint64_t *lines);

#endif
