/*
 * --on-failure restart: the job is run again from its beginning when a process or node has died, as
 * programs that keep their checkpoints in files expect it. Each attempt is a session of its own,
 * with new daemons; what must not be repeated or forgotten is kept here.
 */
#ifndef RZ_LAUNCH_ATTEMPTS_H
#define RZ_LAUNCH_ATTEMPTS_H

#include "launch/rzrun_options.h"

struct rz_attempts {
    uint32_t n; /* earlier ones */
    bool again; /* set by the session: a death ended it, and there is another */
    bool faults_done[RZ_FAULTS_MAX]; /* in an earlier attempt; those that come again and again never
                                        are */
    uint32_t n_cases;                /* case files written so far */
    rz_time begun;                   /* the first one */
};

/* Runs the job to its end, in as many attempts as it takes; the exit status. */
int rz_attempts_run(const struct rz_rzrun_options *options, const char *program,
                    const char *daemon);

#endif
