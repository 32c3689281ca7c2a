/* How the job ends: which ranks still run, what the first cause of an end was, and the exit status.
 */
#ifndef RZ_OUTCOME_OUTCOME_H
#define RZ_OUTCOME_OUTCOME_H

#include <rhizome/types.h>

enum rz_rank_state {
    RZ_RANK_WAITED_FOR, /* not started yet, or its replacement */
    RZ_RANK_RUNNING,
    RZ_RANK_ENDED, /* by itself, after MPI_Finalize or without MPI */
    RZ_RANK_DIED   /* nobody knows yet whether it will be replaced */
};

struct rz_rank {
    enum rz_rank_state state;
    bool dying; /* its death was seen while nothing had ended the job yet */
    uint32_t incarnation, node;
    uint32_t noted;  /* the newest incarnation whose death was agreed and that nobody repairs */
    int code;        /* of its end, as an exit status */
    bool hung;       /* it was killed for that */
    uint64_t order;  /* the ends are counted: which was first */
    char cause[160]; /* in words */
};

struct rz_outcome {
    uint32_t n_ranks, n_nodes;
    struct rz_rank *ranks;
    char **cut_off;    /* [n_nodes]: why, in words; NULL: it is not */
    bool *nodes_noted; /* [n_nodes]: its death was agreed, and nobody repairs it */
    bool *out;         /* [n_nodes]: the others go on without it */
    uint64_t *refused; /* [n_nodes]: messages of one that is out */
    uint64_t ends;
    bool decided; /* something ended the job as a whole */
    bool aborted; /* it was MPI_Abort: a death before it is the first cause */
    int code;
    char cause[256];
};

void rz_outcome_open(struct rz_outcome *outcome, uint32_t n_ranks, const uint32_t *placement,
                     uint32_t n_nodes);
void rz_outcome_clear(struct rz_outcome *outcome);

void rz_outcome_started(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                        uint32_t node);

/* wait_status as waitpid gives it; clean: it had finalised MPI or never initialised it, so that its
 * end is final, even by a signal; of any other end it will be told whether it is repaired. Old
 * incarnations are ignored. */
void rz_outcome_exited(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation,
                       int wait_status, bool clean);

/* Its daemon saw rank die; how will be told by rz_outcome_exited. */
void rz_outcome_dying(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);

/* The same, and it was killed because it made no progress. */
void rz_outcome_hung(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);

/* node ends itself: it is cut off from the others, or they hold it for dead. why is copied. */
void rz_outcome_cut_off(struct rz_outcome *outcome, uint32_t node, const char *why);

/* Everything that ran on node is gone. */
void rz_outcome_node_lost(struct rz_outcome *outcome, uint32_t node);

/* A death was agreed and stays; this may be told before the death itself is. */
void rz_outcome_noted(struct rz_outcome *outcome, uint32_t rank, uint32_t incarnation);
void rz_outcome_node_noted(struct rz_outcome *outcome, uint32_t node);

/* Ends the job as a whole; the first call counts. */
void rz_outcome_decide(struct rz_outcome *outcome, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* rank called MPI_Abort, or an error ended it: the job ends as a whole. */
void rz_outcome_aborted(struct rz_outcome *outcome, uint32_t rank, uint32_t code,
                        const char *reason);

/* Whether no rank runs or will be started again. */
bool rz_outcome_complete(const struct rz_outcome *outcome);

/* The exit status, and the cause in words (NULL: none) of one that is not 0. */
int rz_outcome_status(const struct rz_outcome *outcome, const char **cause);

#endif
