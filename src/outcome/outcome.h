/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the job: which ranks still run, the first cause of the end, and the exit status. */
#ifndef RZ_OUTCOME_OUTCOME_H
#define RZ_OUTCOME_OUTCOME_H

#include <rhizome/types.h>

enum rz_rank_state {
    RZ_RANK_WAITED_FOR, /* not started yet, or its replacement is not */
    RZ_RANK_RUNNING,
    RZ_RANK_ENDED,  /* by itself, after MPI_Finalize or without MPI */
    RZ_RANK_FAILED, /* it is not known yet whether it will be replaced */
    RZ_RANK_EMPTY   /* a slot behind the ranks, for processes that the program spawns */
};

struct rz_rank {
    enum rz_rank_state state;
    bool failing; /* its failure was seen before any end of the job */
    bool seen;    /* its failure was seen, perhaps later: it was not caused by the end of the job */
    uint32_t incarnation, node;
    uint32_t noted;        /* the newest incarnation whose failure is agreed and not repaired */
    uint32_t acknowledged; /* the newest incarnation whose failure is known to the program */
    /* The code of an MPI_Abort that ended it, by other processes or itself; 0: none. */
    int abort_code;
    int code;        /* its end as an exit status */
    bool hung;       /* it was killed because it hung */
    bool starved;    /* the kernel killed processes for lack of memory at that time */
    bool with_node;  /* it was lost with its node */
    uint64_t order;  /* the number of its end, by which the first end is found */
    char cause[200]; /* as text */
};

struct rz_outcome {
    uint32_t n_ranks, n_slots, n_nodes;
    struct rz_rank *ranks; /* [n_slots] */
    struct rz_rank *past;  /* [n_past]: bad ends in slots that other processes have now */
    uint32_t n_past;
    char **cut_off;    /* [n_nodes]: why the node ended itself, as text; NULL: it did not */
    bool *silent;      /* [n_nodes]: another node has found it silent */
    bool *nodes_noted; /* [n_nodes]: its failure was agreed, and is not repaired */
    bool *out;         /* [n_nodes]: the others continue without it */
    uint64_t *refused; /* [n_nodes]: refused messages of a node that is out */
    uint64_t ends;
    bool decided; /* the job as a whole is being ended */
    /* The job is ended by a failure, because of --on-failure or because no rank is left. */
    bool by_failure;
    bool aborted;       /* the job is ended by MPI_Abort: an earlier failure is the first cause */
    bool failure_known; /* before the job's end a daemon had reported a failure to its processes */
    bool any_left;      /* some ranks had reached MPI_Finalize: no failure is repaired any more */
    bool all_left;      /* all ranks had reached MPI_Finalize, and no failure was known */
    /* Failures that no process has acknowledged do not affect the status if a process has ended in
     * order: --accept-failures. */
    bool accepts;
    bool worn_out; /* the job is ended by too many failures: the cause names the last one */
    struct rz_rank replaced; /* the last failure for which a replacement was started */
    int code;
    char cause[512];
};

void rz_outcome_open(struct rz_outcome *outcome, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes);
void rz_outcome_clear(struct rz_outcome *outcome);

/* The name of the process of slot: "rank 3" or "process 66 (spawned)". Returns name. */
const char *rz_outcome_name(const struct rz_outcome *outcome, uint32_t slot, char *name,
                            size_t bytes);

void rz_outcome_started(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                        uint32_t node);

/* By decision of the daemons the process begins. A replacement repairs the failure of the process
 * it replaces; a spawned process only gets the slot of one that has ended. The same incarnation
 * begins again where a node had decided against the others, and was lost: they number it alike. */
void rz_outcome_spawned(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation,
                        uint32_t node, bool spawned);

/* The program knows of this failure and continues: it does not affect the exit status. */
void rz_outcome_acknowledged(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation);

/* MPI_Abort of a subset of processes: this one is ended with the status code. by: the calling
 * process and its reason. The exit status is the code that the program chose, whether or not other
 * processes know of this failure. Code 0, which no MPI_Abort has, is a failed spawn: a failure like
 * others, which the program may acknowledge. */
void rz_outcome_ended_by(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation,
                         uint32_t code, const char *by);

/* The kernel has killed processes for lack of memory at the time at which this one was killed. To
 * be called before rz_outcome_exited. */
void rz_outcome_starved(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);

/* A process has exited. wait_status is as from waitpid. clean: the process had finalized MPI or
 * never initialized it, so that its end is final, even by a signal. For any other end it will be
 * reported whether it is repaired. Old incarnations are ignored. */
void rz_outcome_exited(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                       int wait_status, bool clean);

/* Its daemon saw rank fail; the wait status follows by rz_outcome_exited. */
void rz_outcome_failing(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);

/* Its daemon saw rank fail: it was killed because it made no progress. */
void rz_outcome_hung(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);

/* A daemon has reported to its processes that another process, or a node, has failed: their later
 * actions may be a consequence, even if the failure was not reported elsewhere yet. */
void rz_outcome_failure_known(struct rz_outcome *outcome);

/* node ends itself: it is disconnected from the others, or they consider it failed. why is copied.
 */
void rz_outcome_cut_off(struct rz_outcome *outcome, uint32_t node, const char *why);

/* Another node has found node silent, and reports it. */
void rz_outcome_silent(struct rz_outcome *outcome, uint32_t node);

/* All processes and the daemon of node have ended. */
void rz_outcome_node_lost(struct rz_outcome *outcome, uint32_t node);

/* A failure was agreed and is permanent; this may be reported before the failure itself. */
void rz_outcome_noted(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);
void rz_outcome_node_noted(struct rz_outcome *outcome, uint32_t node);

/* Ends the job as a whole; the first call counts. */
void rz_outcome_decide(struct rz_outcome *outcome, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the job as a whole, because there were too many failures: the last one is appended to
 * reason, even if it is reported later. */
void rz_outcome_worn_out(struct rz_outcome *outcome, int code, const char *reason);

/* rank called MPI_Abort, or an error ended it: the job ends as a whole. */
void rz_outcome_aborted(struct rz_outcome *outcome, uint32_t rank, uint32_t code,
                        const char *reason);

/* By decision of the daemons all live ranks are in MPI_Finalize; failures decided before were
 * reported before. */
void rz_outcome_left(struct rz_outcome *outcome);

/* Whether a failure ended the job, or made a surviving process end it: one before all had reached
 * MPI_Finalize. */
bool rz_outcome_by_failure(const struct rz_outcome *outcome);

/* Whether all ranks have failed, and none had ended in order. */
bool rz_outcome_all_failed(const struct rz_outcome *outcome);

/* Whether no rank runs or will be started again. */
bool rz_outcome_complete(const struct rz_outcome *outcome);

/* The same, and nothing else has ended the job. */
bool rz_outcome_ended_by_itself(const struct rz_outcome *outcome);

/* The exit status and, if it is not 0, the cause as text (NULL: none). */
int rz_outcome_status(const struct rz_outcome *outcome, const char **cause);

#endif
