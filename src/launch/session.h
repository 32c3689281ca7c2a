/* One run of a job, seen from rzrun: nodes, ranks, output, input, faults, and the end. */
#ifndef RZ_LAUNCH_SESSION_H
#define RZ_LAUNCH_SESSION_H

#include "base/random.h"
#include "launch/node.h"
#include "launch/outcome.h"
#include "launch/rzrun_options.h"
#include "launch/story.h"

/* A fault in this run. */
struct rz_session_fault {
    struct rz_session *session;
    const struct rz_fault *fault;
    struct event *timer; /* NULL: it waits for an iteration */
    bool fired;
};

/* RUNNING -> ENDING (SHUTDOWN was sent) -> over. */
struct rz_session {
    const struct rz_rzrun_options *options;
    struct event_base *base;
    uint64_t job;
    uint8_t key[32];
    struct rz_node *nodes; /* [n_nodes] */
    uint32_t n_listening;
    struct rz_outcome outcome;
    struct rz_story story;
    struct event *signals[5], *stdin_readable, *bound, *last_word;
    bool started; /* JOB was sent */
    bool faults_armed;
    struct rz_session_fault faults[RZ_FAULTS_MAX];
    bool ending, dumping;
    uint32_t dumps_awaited;
    bool stdin_ended, stdin_always_ready;
    bool joined;       /* some rank has initialised our MPI */
    uint32_t stranger; /* a rank that ended without ever doing so, or RZ_ID_NONE */
    int stranger_code;
    struct rz_random random;
    bool at_line_start[2]; /* of stdout and stderr, for --label */
};

/* Runs the job to its end; the exit status. Leaves nothing running. */
int rz_session_run(const struct rz_rzrun_options *options, const char *program, const char *daemon);

/* session_faults.c: faults that come with time, once all ranks are initialised; and those that come
 * with iterations. */
void rz_session_arm_faults(struct rz_session *session);
void rz_session_faults_at_iteration(struct rz_session *session, uint64_t iteration);

#endif
