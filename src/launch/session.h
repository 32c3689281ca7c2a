/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a job, as rzrun handles it: nodes, ranks, output, input, faults, and the end. */
#ifndef RZ_LAUNCH_SESSION_H
#define RZ_LAUNCH_SESSION_H

#include "base/random.h"
#include "launch/attempts.h"
#include "launch/cases.h"
#include "launch/hosts.h"
#include "launch/node.h"
#include "outcome/referee.h"
#include "launch/rzrun_options.h"
#include "launch/settled.h"
#include "launch/show_output.h"
#include "launch/story.h"
#include "launch/traces.h"
#include "launch/waits_page.h"

/* A fault to inject in this run. */
struct rz_session_fault {
    struct rz_launch_session *session;
    const struct rz_fault *fault;
    struct event *timer; /* NULL: it waits for an iteration */
    struct event *over;  /* of a network fault with a duration */
    bool fired;
};

/* A page of all waits that is being collected (session_waits.c). */
struct rz_session_waits {
    struct rz_waits_page page, first,
        shown;      /* this sample; the first of the two; the last one shown */
    unsigned looks; /* taken for the page that is being made */
    rz_time asked_at, first_at,
        shown_at;        /* time of this sample; end of the first one; shown: 0 never */
    struct event *again; /* the next sample */
    bool asked, ends;    /* the nodes were asked; the job ends once the page is complete */
    uint32_t awaited;    /* nodes */
    struct event *bound;
    char why[96];
};

/* The newest checkpoint is being written before the end of the job (session_save.c). */
struct rz_session_save {
    int signal;       /* that asked for it; 0: none */
    const char *host; /* that answers again: it is to get ranks by a restart; NULL: none */
    bool readmits;    /* it was written for that host, and the job ends to begin again */
    struct event *bound;
};

/* Lost hosts are asked whether they answer again (session_readmit.c). */
struct rz_session_readmit {
    struct event *timer;
    struct rz_agents *asking; /* or NULL */
    rz_time asked_at;
    bool answered[RZ_NODES_MAX];
};

/* Files are being brought to other hosts, before JOB (session_preload.c). */
struct rz_session_preload {
    struct rz_session_bringing *nodes; /* [n_nodes]; NULL: none are */
    uint32_t next;                     /* the first node that was not begun */
    uint32_t active, done;             /* nodes; done: those of other hosts alone */
    uint8_t *part;                     /* one part of a file */
};

/* What --verbose has said of an event that several daemons report. */
struct rz_told_event {
    uint32_t kind, epoch, rank, node, incarnation;
};
enum { RZ_TOLD_EVENTS = 64 };

/* RUNNING -> ENDING (SHUTDOWN was sent) -> leaving (all are DONE, LEAVE was sent) -> over. */
struct rz_launch_session {
    const struct rz_rzrun_options *options;
    struct rz_attempts *attempts;
    struct event_base *base;
    uint64_t job;
    uint8_t key[32];
    const char *daemon;     /* the path of rzd */
    struct rz_node *nodes;  /* [n_nodes] */
    struct rz_hosts *hosts; /* NULL: all nodes are on this machine */
    int switch_fd; /* switch that they are connected to, or -1; kept open, so that it stays */
    uint32_t n_listening;
    struct rz_referee referee;
    struct rz_settled settled; /* the failures of nodes that story and case files report */
    struct rz_story story;
    struct rz_cases *cases; /* NULL: not requested */
    struct event *signalled, *stdin_readable, *stdin_later, *bound, *last_word;
    struct event *written[RZ_SHOW_STREAMS], *output_late;
    int output_error[RZ_SHOW_STREAMS]; /* errno, reported once */
    bool output_held;                  /* this was sent to the daemons */
    bool interrupted, out_of_time;
    rz_time bound_at; /* when --timeout is over */
    bool bound_late;  /* it was noticed too late, and is looked at again */
    bool flushing;    /* all is over except the last output */
    FILE *own_stderr;
    struct event *look;     /* checks for silent daemons (session_silence.c) */
    rz_time looked;         /* time of the last check */
    struct rz_silent start; /* since the last sign of progress of the start */
    bool silence_told;
    bool started;   /* JOB was sent */
    uint32_t epoch; /* the newest that any node reported */
    bool faults_armed;
    struct rz_session_fault faults[RZ_FAULTS_MAX];
    bool ending, leaving; /* SHUTDOWN, LEAVE was sent */
    bool checkpoint_lost; /* a node cannot roll back to the checkpoint that it must */
    bool detaching,
        numbered;  /* the nodes were told that we want to detach; the user knows the number */
    bool detached; /* all continue without us */
    struct rz_session_save save;
    struct rz_session_readmit readmit;
    struct rz_session_preload preload;
    struct rz_session_waits waits;
    struct {
        struct event *timer;
        uint32_t joined; /* ranks */
        bool told;       /* the debugger was */
    } debug;             /* session_debug.c */
    struct {
        struct event *timer; /* or NULL */
        rz_time interval;
        uint32_t pid; /* of rank 0 */
    } foreign;        /* session_foreign.c */
    bool stdin_ended, stdin_always_ready, stdin_terminal;
    bool input_lost; /* it could not be read to its end, which was reported */
    struct rz_random random;
    struct rz_show_output show;
    bool overrun_told;
    struct rz_traces traces;
    struct event *sampler;     /* asks for waits, for a report; NULL: none is requested */
    rz_time sampled_at;        /* when it asked last */
    struct event *show_traces; /* NULL: they are not shown */
    struct rz_told_event told[RZ_TOLD_EVENTS];
    uint32_t n_told;
};

/* Runs the job, or this attempt, to its end (attempts->again); the exit status. Leaves no process
 * running. */
int rz_session_run(const struct rz_rzrun_options *options, struct rz_attempts *attempts,
                   const char *daemon);

/* Leaves the loop: the nodes send nothing more. Not while the last output is still read; this ends
 * when it has been read, or is interrupted. */
void rz_session_leave_loop(struct rz_launch_session *session);

/* The timer expires so long after this. */
void rz_session_arm(struct event *timer, rz_time after);

/* No node is left. */
bool rz_session_all_gone(const struct rz_launch_session *session);

/* session_start.c: starts the daemons of other hosts. */
void rz_session_start_hosts(struct rz_launch_session *session);

/* A daemon listens; with the last one the job begins. */
void rz_session_listening(struct rz_launch_session *session, struct rz_node *node,
                          const struct rz_launch_listening *told);

/* The start has failed: decides whether the attempt begins again without the hosts that did not
 * answer (attempts->without). */
void rz_session_leave_out(struct rz_launch_session *session);

/* Tells all nodes to end, their processes having so long to do it by themselves. */
void rz_launch_session_end(struct rz_launch_session *session, uint32_t grace_ms);
void rz_session_send_all(struct rz_launch_session *session,
                         const struct rz_launch_message *message);

/* session_job.c: tells each daemon the job, once all have reported; the flags of JOB. */
void rz_session_send_job(struct rz_launch_session *session);
uint32_t rz_session_job_flags(const struct rz_launch_session *session);

/* session_preload.c: all daemons have reported: brings files to other hosts, if there are any, then
 * tells all daemons the job. A daemon has written a part of them. A sentence about hosts that have
 * not got all files; "": they have. */
void rz_session_preload(struct rz_launch_session *session);
void rz_session_preload_taken(struct rz_launch_session *session, struct rz_node *node,
                              const struct rz_launch_files_taken *told);
const char *rz_session_preload_missing(const struct rz_launch_session *session);
void rz_session_preload_close(struct rz_launch_session *session);

/* session_waits.c: --timeout has expired, the page is shown before the end; a node reports a
 * process that has waited for long; its answers. */
void rz_session_waits_at_timeout(struct rz_launch_session *session);
void rz_session_waits_stalled(struct rz_launch_session *session, rz_time for_ns);
void rz_session_waits_told(struct rz_launch_session *session, const struct rz_node *node,
                           const struct rz_launch_message *message);
void rz_session_waits_end(struct rz_launch_session *session, struct rz_node *node);
void rz_session_waits_close(struct rz_launch_session *session);

/* session_input.c: reads when input is available and a node accepts it; a node accepts this number
 * of bytes more. */
void rz_session_input_open(struct rz_launch_session *session);
void rz_session_input_look(struct rz_launch_session *session);
/* bytes, reader: of STDIN_WANTED */
void rz_session_input_wanted(struct rz_launch_session *session, struct rz_node *node,
                             const struct rz_launch_stdin_wanted *wanted);
void rz_session_input_close(struct rz_launch_session *session);

/* session_output.c: from open to close stdio's stderr is merged with the output of processes. close
 * waits until all is written; the exit status, where lost output changes it. */
rz_status_t rz_session_output_open(struct rz_launch_session *session);
/* OUTPUT or OUTPUT_SAFE. */
void rz_session_output(struct rz_launch_session *session, const struct rz_launch_message *message);
int rz_session_output_close(struct rz_launch_session *session, int status);

/* session_trace.c: before the nodes start; after all processes have ended; into a file beside the
 * case files, if they are requested; and what --verbose says of a message (an abort is put into a
 * file, too), of a node's end, of the end. */
void rz_session_trace_open(struct rz_launch_session *session);
void rz_session_trace_end(struct rz_launch_session *session);
void rz_session_dump(struct rz_launch_session *session, const char *what, const char *why);
void rz_session_trace_close(struct rz_launch_session *session);
void rz_session_tell(struct rz_launch_session *session, uint32_t node,
                     const struct rz_launch_message *message);
void rz_session_tell_node_end(const struct rz_launch_session *session, uint32_t node);
void rz_session_tell_end(const struct rz_launch_session *session, int status);

/* session_report.c: what --report-html needs of this attempt: samples of waits, messages; its end.
 */
void rz_session_report_open(struct rz_launch_session *session);
void rz_session_report_message(struct rz_launch_session *session,
                               const struct rz_launch_message *message);
void rz_session_report_waiting(struct rz_launch_session *session, const struct rz_node *node,
                               const struct rz_launch_waiting *told);
void rz_session_report_end(struct rz_launch_session *session, int status, const char *cause);
void rz_session_report_close(struct rz_launch_session *session);

/* Debuggers find the ranks (session_debug.c). */
void rz_session_debug_begin(struct rz_launch_session *session);
void rz_session_debug_started(struct rz_launch_session *session, const struct rz_node *node,
                              const struct rz_launch_started *told);
void rz_session_debug_joined(struct rz_launch_session *session, uint32_t rank,
                             uint32_t incarnation);
void rz_session_debug_end(struct rz_launch_session *session);

/* Warns of ranks that have loaded another MPI, unforeseen (session_foreign.c). */
void rz_session_foreign_started(struct rz_launch_session *session, const struct rz_node *node,
                                const struct rz_launch_started *told);
void rz_session_foreign_end(struct rz_launch_session *session);

/* session_signals.c: from the first open to restore signals have their effect on rzrun. look: the
 * loop has ended: takes the signals that it has not read. */
void rz_session_signals_open(struct rz_launch_session *session);
void rz_session_signals_look(struct rz_launch_session *session);
void rz_session_signals_close(struct rz_launch_session *session);
void rz_session_signals_restore(void);

/* session_save.c: a signal has come; returns whether it is handled here: the job ends once its
 * newest checkpoint is in files. What the daemons said: this generation is. */
bool rz_session_save(struct rz_launch_session *session, int number);
void rz_session_saved(struct rz_launch_session *session, uint64_t generation);
/* A lost host answers again: the job begins again with it once its newest checkpoint is in files;
 * it goes on as it is if that takes too long, or if there is no checkpoint yet. */
void rz_session_save_for(struct rz_launch_session *session, const char *host);
void rz_session_save_close(struct rz_launch_session *session);

/* session_readmit.c: --readmit. */
void rz_session_readmit_open(struct rz_launch_session *session);
void rz_session_readmit_close(struct rz_launch_session *session);

/* session_check.c: a run of --rewind-check (rewind_check.h); otherwise these do nothing. output:
 * whether it was taken, and is not shown. over: only in such a run. */
void rz_session_check_open(struct rz_launch_session *session);
void rz_session_check_event(struct rz_launch_session *session, const struct rz_launch_event *event);
void rz_session_check_recovered(struct rz_launch_session *session, uint64_t generation);
void rz_session_check_fell_back(struct rz_launch_session *session);
bool rz_session_check_output(struct rz_launch_session *session,
                             const struct rz_launch_message *message);
void rz_session_check_message(struct rz_launch_session *session,
                              const struct rz_launch_message *message);
void rz_session_check_over(struct rz_launch_session *session, int status, const char *cause);
void rz_session_check_close(struct rz_launch_session *session);

/* session_detach.c: all processes are there, or the job is over already, and it does not need us
 * any more; and what follows when nodes have said that they can continue without us, and that they
 * do. */
void rz_session_detach(struct rz_launch_session *session);
void rz_session_detach_if_all_run(struct rz_launch_session *session);
void rz_session_look_at_detached(struct rz_launch_session *session);

/* session_silence.c: starts the checks for silent daemons; a message of a node was received. */
void rz_session_silence_open(struct rz_launch_session *session);
void rz_session_heard(struct rz_launch_session *session, struct rz_node *node,
                      const struct rz_launch_message *message);

/* session_faults.c: faults by time, once all ranks are initialised; and faults by iteration. */
/* Whether the rank ran, and is killed. */
bool rz_session_kill_rank(struct rz_launch_session *session, uint32_t rank);
void rz_session_arm_faults(struct rz_launch_session *session);
void rz_session_faults_at_iteration(struct rz_launch_session *session, uint64_t iteration);

#endif
