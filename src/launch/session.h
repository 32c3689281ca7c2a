/* One run of a job, seen from rzrun: nodes, ranks, output, input, faults, and the end. */
#ifndef RZ_LAUNCH_SESSION_H
#define RZ_LAUNCH_SESSION_H

#include "base/random.h"
#include "launch/cases.h"
#include "launch/node.h"
#include "outcome/referee.h"
#include "launch/rzrun_options.h"
#include "launch/show_output.h"
#include "launch/story.h"

/* A fault in this run. */
struct rz_session_fault {
    struct rz_session *session;
    const struct rz_fault *fault;
    struct event *timer; /* NULL: it waits for an iteration */
    struct event *over;  /* of a network fault that has an end */
    bool fired;
};

/* RUNNING -> ENDING (SHUTDOWN was sent) -> over. */
struct rz_session {
    const struct rz_rzrun_options *options;
    struct event_base *base;
    uint64_t job;
    uint8_t key[32];
    struct rz_node *nodes; /* [n_nodes] */
    int switch_fd;         /* that they are plugged in to, or -1; held, so that it stays */
    uint32_t n_listening;
    struct rz_referee referee;
    struct rz_story story;
    struct rz_cases *cases; /* NULL: not asked for */
    struct event *signals[5], *stdin_readable, *bound, *last_word;
    bool started;   /* JOB was sent */
    uint32_t epoch; /* the newest that any node told of */
    bool faults_armed;
    struct rz_session_fault faults[RZ_FAULTS_MAX];
    bool ending, dumping;
    bool detaching, detached; /* the nodes were told that we go; all have agreed */
    uint32_t dumps_awaited;
    bool stdin_ended, stdin_always_ready;
    struct rz_random random;
    struct rz_show_output show;
};

/* Runs the job to its end; the exit status. Leaves nothing running. */
int rz_session_run(const struct rz_rzrun_options *options, const char *program, const char *daemon);

/* session_faults.c: faults that come with time, once all ranks are initialised; and those that come
 * with iterations. */
void rz_session_arm_faults(struct rz_session *session);
void rz_session_faults_at_iteration(struct rz_session *session, uint64_t iteration);

#endif
