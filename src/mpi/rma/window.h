/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows as objects. A window has a communicator of its own, of which no user has a handle: it
 * gives the window its number in messages, its collective operations, and its revocation.
 *
 * Each member has a control block in shared memory, which the processes of its node map. The memory
 * of a member is reached in one of three ways (enum rz_reach): by loads and stores, by copies
 * between processes, or by messages that the member itself carries out. All of them use the lock
 * words of that one control block.
 */
#ifndef RZ_MPI_WINDOW_H
#define RZ_MPI_WINDOW_H

#include "mpi/comm/comm.h"

#include <stdatomic.h>
#include <sys/types.h>

struct rz_attribute;
struct rz_rma_part;    /* rma_origin.h */
struct rz_rma_waiting; /* rma_target.h */

/* ---- The control block of a member, in memory that the processes of its node share ---- */

/* Says whose memory it is. */
struct rz_win_identity {
    uint64_t job;
    uint32_t job_token, rank, incarnation, zero;
};

/* A change of one element of the owner's memory that the process with the right to accumulate asks
 * it for (rma_owner_request.h). One cache line. */
struct rz_win_owner_request {
    _Alignas(64) _Atomic uint32_t state; /* enum rz_owner_request_state */
    uint32_t asker;                      /* its rank */
    uint32_t op;                         /* as in struct rz_rma_operation, as are: */
    uint8_t what, number, size, has_data, wants_result;
    uint8_t refused; /* the owner could not do it */
    uint64_t at;
    unsigned char data[2][8]; /* the new value; what it is compared with */
    unsigned char result[8];
};

/* A long row that another process of the node puts into the owner's memory, or gets from it, and
 * of which both copy pieces (rma_share.h). */
struct rz_win_share {
    _Alignas(64) _Atomic uint64_t word;   /* rank of the asker << 8, and enum rz_share_state */
    uint64_t at, there, bytes;            /* addresses at the owner and at the asker */
    uint32_t writes;                      /* to the owner's memory */
    _Atomic uint32_t failed;              /* the owner could not copy a piece */
    _Alignas(64) _Atomic uint64_t pieces; /* end of those that are not taken << 32, and the first */
};

/* The locks in it: window_words.h. */
struct rz_win_control {
    _Alignas(64) struct rz_win_identity identity;
    _Atomic uint32_t open; /* 0: its owner has freed the window, or has rolled back */
    _Alignas(64) _Atomic uint32_t exclusive; /* rank + 1 of the owner of the exclusive lock */
    _Atomic uint32_t accumulating;           /* rank + 1 of the process that accumulates */
    struct rz_win_owner_request owner_request;
    struct rz_win_share share;
    _Alignas(64) _Atomic uint8_t flags[]; /* [2 * size]: shared locks, waits */
};

/* The bytes of a control block for n members. */
static inline size_t rz_win_control_bytes(int n)
{
    return sizeof(struct rz_win_control) + 2 * (size_t)n;
}

/* ---- The window ---- */

enum rz_reach {
    RZ_REACH_MEMORY, /* loads and stores: its own memory, or memory of its node that is mapped */
    RZ_REACH_COPY,   /* the same node, memory of the user: process_vm_readv and _writev */
    RZ_REACH_MESSAGE /* another node, or the system refuses the others */
};

/* What this process has of the lock of a target. */
enum rz_hold { RZ_HOLD_NONE, RZ_HOLD_SHARED, RZ_HOLD_EXCLUSIVE };

/* One member of the window, as this process sees it. */
struct rz_win_target {
    uint32_t process;
    enum rz_reach reach;
    struct rz_win_control *control; /* NULL: by messages */
    char *memory;                   /* REACH_MEMORY: where its memory begins here */
    uint64_t address;               /* where it begins there */
    MPI_Aint size;
    int64_t disp_unit;
    pid_t pid;
    uint64_t identity_at; /* of struct rz_win_identity there */
    int memory_fd; /* REACH_COPY: of its memory (rma_copy.c); -1: not opened, -2: cannot be */
    unsigned asks_off, asks_pause; /* how often it is not asked (rma_owner_request.c) */
    void *mapped;                  /* what rz_win_memory_end unmaps */
    size_t mapped_bytes;
    enum rz_hold hold;
    bool unchecked; /* the lock was taken with MPI_MODE_NOCHECK: there is none */
    bool granted;   /* by message */
    bool asking;    /* a thread of this process waits for the lock; others wait for it */
    bool touched;   /* an operation was begun since the last synchronisation */
    bool started;   /* in the access epoch of MPI_Win_start */
    int error;      /* of operations since the last synchronisation; MPI_SUCCESS: none */
    /* Posts and completes of epochs that a failure has ended here: they are ignored. */
    unsigned posts_over, completes_over;
    unsigned posts;      /* of MPI_Win_post at the target, not used by MPI_Win_start yet */
    unsigned completes;  /* of MPI_Win_complete there, not used by MPI_Win_wait yet */
    uint32_t acks_due;   /* parts that are not acknowledged */
    size_t on_their_way; /* bytes in them */
    bool left;           /* it could not make the window: like a failed process to this window */
    uint32_t oversize;   /* accumulates among them that others may overtake (rma_origin.c) */
    bool overtaken;      /* one of them may arrive after what is sent later */
    struct rz_rma_part *parts, **parts_last;
};

/* Memory that was attached to a dynamic window. */
struct rz_win_region {
    struct rz_win_region *next;
    uint64_t at;
    MPI_Aint size;
};

struct rz_win {
    struct rz_object object;
    struct rz_comm *comm;
    int flavor; /* MPI_WIN_FLAVOR_... */
    int model;
    int rank, members;    /* of this process; of comm */
    bool atomic;          /* the library made the memory: all accumulates are atomic by element */
    bool spans;           /* a member is reached by messages */
    bool serves_requests; /* others of this node may ask this process for changes of its memory */
    struct rz_win_target *targets; /* [members] */
    struct rz_win_control *control;
    int fd; /* of the memory of this process, while the window is made; -1: none */
    void *base;
    MPI_Aint size;
    int disp_unit;
    struct rz_win_region *regions;
    uint32_t hints; /* window_info.c */
    struct rz_errhandler *errhandler;
    struct rz_attribute *attributes;
    /* Epochs of this process. */
    bool fenced; /* since the last MPI_Win_fence no epoch of another kind has begun */
    bool lock_all, lock_all_unchecked;
    int locks;                /* targets that MPI_Win_lock has locked */
    struct rz_group *started; /* MPI_Win_start, until MPI_Win_complete */
    struct rz_group *posted;  /* MPI_Win_post, until MPI_Win_wait */
    bool *post_open;          /* [members]: members whose MPI_Win_complete is awaited */
    struct rz_rma_waiting *waiting, **waiting_last; /* requests that cannot be served yet */
    unsigned rows_moving;                           /* from its memory or into it (rma_row.h) */
    bool leaves;                                    /* it could not be made: no further row moves */
    struct rz_win *next, *prev;
    char name[MPI_MAX_OBJECT_NAME];
};

/* Messages may arrive for the window from now on. */
void rz_win_begin(struct rz_win *win);

/* It is not found any more. */
void rz_win_unlist(struct rz_win *win);

/* The first of all windows; that whose communicator has this context; NULL: none. */
struct rz_win *rz_wins_first(void);
struct rz_win *rz_win_by_context(uint64_t context);

static inline struct rz_win_target *rz_win_target(const struct rz_win *win, int rank)
{
    return &win->targets[rank];
}

/* Whether that member has failed, or has no such window. While no process of any group is gone none
 * needs to be looked up. */
static inline bool rz_win_target_lost(const struct rz_win_target *target)
{
    return target->left || (rz_liveness.failures && rz_process_failed(target->process));
}

static inline bool rz_win_lost(const struct rz_win *win, int rank)
{
    return rz_win_target_lost(rz_win_target(win, rank));
}

/* MPI_Win_post or MPI_Win_complete of that member has reached this process. */
static inline void rz_win_post_came(struct rz_win_target *target)
{
    if (target->posts_over > 0) {
        target->posts_over--;
    } else {
        target->posts++;
    }
}

static inline void rz_win_complete_came(struct rz_win_target *target)
{
    if (target->completes_over > 0) {
        target->completes_over--;
    } else {
        target->completes++;
    }
}

/* Whether these bytes are in the memory of this process. */
static inline bool rz_win_has(const struct rz_win *win, uint64_t at, uint64_t bytes)
{
    uint64_t base = (uintptr_t)win->base, size = (uint64_t)win->size;
    return at >= base && at - base <= size && bytes <= size - (at - base);
}

/* MPI_ERR_REVOKED, or MPI_ERR_PROC_FAILED if the target has failed; the same of an origin. */
int rz_win_check(const struct rz_win *win, int rank);
int rz_win_check_origin(const struct rz_win *win, int rank);

/* Waits until done(arg), which looks at failures and revocation by itself. */
int rz_win_wait(struct rz_win *win, int rank, const char *call, bool (*done)(void *arg), void *arg);
/* The same for the lock of that target, which some other process has. */
int rz_win_await_lock(struct rz_win *win, int rank, bool (*done)(void *arg), void *arg);

/* A barrier of all members, on behalf of this call. */
int rz_win_barrier(struct rz_win *win, const char *call);

/* Of the layer rma; rma_hooks.c. */
extern const struct rz_hooks rz_rma_hooks;

#endif
