/* SPDX-License-Identifier: BSD-3-Clause */
/* The runs of a job, one after the other. */
#include "launch/attempts.h"

#include "base/no_memory.h"
#include "launch/session.h"
#include "outcome/exit_codes.h"
#include "port/clock.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>

static int run_all(struct rz_attempts *attempts, const struct rz_rzrun_options *options,
                   const char *daemon)
{
    for (;; attempts->n += !attempts->without) {
        struct rz_rzrun_options without;
        const struct rz_rzrun_options *used = options;
        if (!attempts->without) {
            rz_left_out_clear(&attempts->left_out);
        } else if (rz_left_out_settle(&attempts->left_out, options, &without)) {
            used = &without;
        }
        attempts->again = attempts->without = false;
        if (!rz_checkpoints_attempt(&attempts->checkpoints, options, attempts->n == 0)) {
            return RZ_EXIT_CHECKPOINT;
        }
        int status = rz_session_run(used, attempts, daemon);
        if (used == &without) {
            rz_layout_clear(&without.layout);
        }
        if (!attempts->again && !attempts->without) {
            return status;
        }
        unsetenv(RZ_KILL_AT); /* a daemon that was to fail for a test has failed already */
    }
}

int rz_attempts_run(const struct rz_rzrun_options *options, const char *daemon)
{
    struct rz_attempts *attempts = calloc(1, sizeof(*attempts)); /* large for a small stack */
    int status = RZ_EXIT_CHECKPOINT;
    const char *why;
    rz_need_memory(attempts, "for a job");
    attempts->begun = rz_clock_now();
    attempts->job = options;
    if (options->trace && !rz_trace_file_open(&attempts->trace, options->trace, &why)) {
        free(attempts);
        rz_cli_refuse(&rz_rzrun_cli, "--trace: %s", why);
    }
    if (rz_checkpoints_open(&attempts->checkpoints, options)) {
        status = run_all(attempts, options, daemon);
        rz_checkpoints_close(&attempts->checkpoints, options, status);
    }
    if (!rz_trace_file_close(&attempts->trace, &why)) {
        fprintf(stderr, "rzrun: --trace %s: %s\n", options->trace, why);
    }
    rz_left_out_clear(&attempts->left_out);
    free(attempts);
    return status;
}
