/* How the job ends: which ranks still run, what the first cause of an end was, and the exit status.
 */
#ifndef RZ_OUTCOME_OUTCOME_H
#define RZ_OUTCOME_OUTCOME_H

#include <rhizome/types.h>

enum rz_rank_state {
    RZ_RANK_WAITED_FOR, /* not started yet, or its replacement */
    RZ_RANK_RUNNING,
    RZ_RANK_ENDED,  /* by itself, after MPI_Finalize or without MPI */
    RZ_RANK_FAILED, /* nobody knows yet whether it will be replaced */
    RZ_RANK_EMPTY   /* a slot behind the ranks, for processes that the program spawns */
};

struct rz_rank {
    enum rz_rank_state state;
    bool failing; /* its failure was seen while nothing had ended the job yet */
    bool seen;    /* its failure was seen, be it after that: it was none by order */
    uint32_t incarnation, node;
    uint32_t noted; /* the newest incarnation whose failure was agreed and that nobody repairs */
    uint32_t acknowledged; /* the newest incarnation whose failure the program knows of */
    int abort_code;        /* MPI_Abort ended it, of others or itself; 0: not */
    int code;              /* of its end, as an exit status */
    bool hung;             /* it was killed for that */
    bool with_node;        /* it was lost with its node */
    uint64_t order;        /* the ends are counted: which was first */
    char cause[160];       /* in words */
};

struct rz_outcome {
    uint32_t n_ranks, n_slots, n_nodes;
    struct rz_rank *ranks; /* [n_slots] */
    struct rz_rank *past;  /* [n_past]: ends that were not good in slots that others have now */
    uint32_t n_past;
    char **cut_off;    /* [n_nodes]: why, in words; NULL: it is not */
    bool *nodes_noted; /* [n_nodes]: its failure was agreed, and nobody repairs it */
    bool *out;         /* [n_nodes]: the others go on without it */
    uint64_t *refused; /* [n_nodes]: messages of one that is out */
    uint64_t ends;
    bool decided;            /* something ended the job as a whole */
    bool by_failure;         /* it was a failure, by --on-failure or because nothing is left */
    bool aborted;            /* it was MPI_Abort: a failure before it is the first cause */
    bool failure_known;      /* before that a daemon had told its processes of a failure */
    bool any_left;           /* some ranks had come there: nobody is repaired any more */
    bool all_left;           /* all ranks had come to MPI_Finalize, and no failure was known */
    bool worn_out;           /* by too many failures: the cause names the last one */
    struct rz_rank replaced; /* the last failure that somebody was started for */
    int code;
    char cause[512];
};

void rz_outcome_open(struct rz_outcome *outcome, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes);
void rz_outcome_clear(struct rz_outcome *outcome);

/* What the process of slot is called: "rank 3" or "process 66 (spawned)". Returns name. */
const char *rz_outcome_name(const struct rz_outcome *outcome, uint32_t slot, char *name,
                            size_t bytes);

void rz_outcome_started(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                        uint32_t node);

/* By decision of the daemons the process begins. It replaces the failed one, whose failure is
 * repaired thereby; or, spawned, it only got the slot of one that has ended. */
void rz_outcome_spawned(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation,
                        uint32_t node, bool spawned);

/* The program knows of this failure and goes on: it does not spoil the exit status. */
void rz_outcome_acknowledged(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation);

/* MPI_Abort of some processes only: this one is ended, and code is how. by: who wanted it, and why.
 * Whether others know of this failure does not matter: the code is what the program wanted to be
 * told. Code 0, which no MPI_Abort has, is a spawn that came to nothing: then it is a failure like
 * others, which may be known. */
void rz_outcome_ended_by(struct rz_outcome *outcome, uint32_t slot, uint32_t incarnation,
                         uint32_t code, const char *by);

/* wait_status as waitpid gives it; clean: it had finalised MPI or never initialised it, so that its
 * end is final, even by a signal; of any other end it will be told whether it is repaired. Old
 * incarnations are ignored. */
void rz_outcome_exited(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                       int wait_status, bool clean);

/* Its daemon saw rank fail; how will be told by rz_outcome_exited. */
void rz_outcome_failing(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);

/* The same, and it was killed because it made no progress. */
void rz_outcome_hung(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);

/* A daemon has told its processes that another one, or a node, has failed: what they do from now on
 * may be because of that, also where nobody else has told of the failure yet. */
void rz_outcome_failure_known(struct rz_outcome *outcome);

/* node ends itself: it is cut off from the others, or they hold it for failed. why is copied. */
void rz_outcome_cut_off(struct rz_outcome *outcome, uint32_t node, const char *why);

/* Everything that ran on node is gone. */
void rz_outcome_node_lost(struct rz_outcome *outcome, uint32_t node);

/* A failure was agreed and stays; this may be told before the failure itself is. */
void rz_outcome_noted(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);
void rz_outcome_node_noted(struct rz_outcome *outcome, uint32_t node);

/* Ends the job as a whole; the first call counts. */
void rz_outcome_decide(struct rz_outcome *outcome, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same, because there were too many failures: behind reason stands the last one, be it told
 * only later. */
void rz_outcome_worn_out(struct rz_outcome *outcome, int code, const char *reason);

/* rank called MPI_Abort, or an error ended it: the job ends as a whole. */
void rz_outcome_aborted(struct rz_outcome *outcome, uint32_t rank, uint32_t code,
                        const char *reason);

/* By decision of the daemons all ranks that live are in MPI_Finalize; the failures decided before
 * were told before. */
void rz_outcome_left(struct rz_outcome *outcome);

/* Whether it is a failure that ended the job, or made a survivor end it: one before all had come to
 * MPI_Finalize. */
bool rz_outcome_by_failure(const struct rz_outcome *outcome);

/* Whether all ranks have failed, and none had come to its end. */
bool rz_outcome_all_failed(const struct rz_outcome *outcome);

/* Whether no rank runs or will be started again. */
bool rz_outcome_complete(const struct rz_outcome *outcome);

/* The exit status, and the cause in words (NULL: none) of one that is not 0. */
int rz_outcome_status(const struct rz_outcome *outcome, const char **cause);

#endif
