/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runs of a job, one after the other. With --on-failure restart there is another one when a
 * process or node has failed; with --checkpoint-dir also when the checkpoint to which the job must
 * roll back is lost: the next attempt begins from its files, or from the beginning. Each attempt is
 * a session of its own, with new daemons; state that must survive an attempt is kept here.
 */
#ifndef RZ_LAUNCH_ATTEMPTS_H
#define RZ_LAUNCH_ATTEMPTS_H

#include "port/outfile.h"
#include "launch/checkpoints.h"
#include "launch/html_report.h"
#include "launch/rzrun_options.h"
#include "launch/timeline.h"
#include "launch/traces.h"

#include <stdio.h>

/* Standard input that was read, in a job that rewinds: rank 0 reads it again. */
struct rz_input_kept {
    FILE *file;     /* without a name; NULL: standard input itself, which can be read again */
    uint64_t base;  /* where it begins there */
    uint64_t total; /* bytes that were read */
    bool opened;
    bool lost; /* it could not be kept, which was reported */
    int error; /* why */
};

/* The hosts without which an attempt begins (--on-failure restart): those that did not answer at
 * its start. Each attempt tries all hosts anew, so that one that has come back is used again. */
struct rz_left_out {
    struct rz_texts hosts;
};

void rz_left_out_add(struct rz_left_out *left_out, const char *host);
void rz_left_out_clear(struct rz_left_out *left_out);

/*
 * Makes the options of an attempt without these hosts, from those of the job: *attempt is a copy
 * with a layout of its own, which rz_layout_clear frees. Ranks are placed anew, also on spare
 * nodes. False: the remaining hosts are too few for the ranks, or for the checkpoint scheme; then
 * there is nothing to free.
 */
bool rz_left_out_settle(const struct rz_left_out *left_out, const struct rz_rzrun_options *job,
                        struct rz_rzrun_options *attempt);

struct rz_attempts {
    const struct rz_rzrun_options *job; /* with all its hosts */
    uint32_t n;                         /* number of earlier attempts */
    bool again; /* set by the session: a failure or a loss ended it, and another attempt follows */
    /* Set by the session: hosts did not answer at its start; the attempt begins again without these
     * and those that were left out before. */
    bool without;
    int ended_by; /* set by the session: the signal to rzrun that ends the job; 0: none has come */
    struct rz_left_out left_out;
    /* Injected in an earlier attempt; repeating faults are never marked. */
    bool faults_done[RZ_FAULTS_MAX];
    uint32_t n_cases;                  /* case files written so far */
    uint32_t n_dumps;                  /* files of traces at an abort or a hang */
    rz_time begun;                     /* when the first attempt began */
    struct rz_checkpoints checkpoints; /* the checkpoint files */
    struct rz_trace_file trace;        /* --trace, of all attempts */
    struct rz_outfile page;            /* --report-html; file NULL: not requested */
    struct rz_html_report *report;     /* what it will say; NULL: not requested */
    struct rz_input_kept input;
    struct rz_work work; /* progress of the program in all attempts */
    struct rz_recovery_times
        failed; /* the failure that ended the preceding attempt; failures 0: none */
};

/* A signal has ended the job, in the place of another attempt: the exit status, and why. */
#define RZ_ENDED_BY_TEXT 96
int rz_attempts_ended_by_signal(const struct rz_attempts *attempts, char text[RZ_ENDED_BY_TEXT]);

/* Runs the job to its end, in as many attempts as needed. Returns the exit status. */
int rz_attempts_run(const struct rz_rzrun_options *options, const char *daemon);

#endif
