/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lower layers of the library tell upper ones, which they never call directly. A module that
 * must act at an event puts a function into its struct rz_hooks; mpi/init/init_finalize.c lists
 * these structs. Their order there is the order of the calls. The list is static: nothing is
 * registered later, nothing is allocated.
 *
 * Two tables are made of the same structs: which function takes a message of which kind, and which
 * function does which work in a round of progress.
 */
#ifndef RZ_MPI_HOOKS_H
#define RZ_MPI_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"
#include "wire/envelope.h"

struct rz_comm;
struct rz_path;
struct rz_setup_message;
struct rz_wait_text;

/* Takes a message that has passed the epoch check. Arguments as in rz_net_host.arrived; the token
 * is the callee's. May run inside a callback of a transport. */
typedef void (*rz_arrived_t)(struct rz_path *path, const struct rz_envelope *envelope,
                             const void *data, size_t bytes, rz_net_token_t token);

/* Work for the next round of progress, in the order in which a round does it. */
enum rz_work {
    RZ_WORK_CLOSE_CONTEXTS,    /* of revoked communicators: before the transports are looked at */
    RZ_WORK_POLL,              /* requests with a poll function: after the transports */
    RZ_WORK_PROTOCOL_MESSAGES, /* unread messages of agreement and revocation */
    RZ_WORK_SETUP_MESSAGES,    /* unread messages outside of communicators */
    RZ_WORK_OWNER_REQUESTS,    /* other processes may ask for changes of windows' memory */
    RZ_WORK_WINDOWS,           /* messages about windows that are to be sent or served */
    RZ_WORK_INQUIRIES,         /* unread inquiries about collective operations */
    RZ_WORK_SNAPSHOT,          /* unread messages about a snapshot */
    RZ_WORK_DEADLINE,          /* agreements have a deadline (rz_engine.wake_at) */
    RZ_WORK_MONITORS,          /* group monitors: after the daemon's messages */
    RZ_WORK_LANES,             /* lanes of failed processes that are to be closed */
    RZ_WORK_COUNT
};

#define RZ_WORK_BIT(work) (UINT32_C(1) << (work))
#define RZ_WORK_BEFORE RZ_WORK_BIT(RZ_WORK_CLOSE_CONTEXTS)
#define RZ_WORK_AFTER (RZ_WORK_BIT(RZ_WORK_MONITORS) | RZ_WORK_BIT(RZ_WORK_LANES))
#define RZ_WORK_BETWEEN (~(RZ_WORK_BEFORE | RZ_WORK_AFTER))

/* The work that is due, as bits. The module of each bit sets and clears it. */
extern uint32_t rz_work_due;

static inline void rz_work_set(enum rz_work work, bool due)
{
    rz_work_due = due ? rz_work_due | RZ_WORK_BIT(work) : rz_work_due & ~RZ_WORK_BIT(work);
}

/* Each function may be NULL. */
struct rz_hooks {
    /* ---- Init and finalize ---- */

    /* The link to the daemon is open. MPI_SUCCESS, or an error class that ends MPI_Init. */
    int (*open)(void);
    /* An epoch begins: messages of it may come from now on. MPI_SUCCESS or MPI_ERR_NO_MEM. */
    int (*begin)(void);
    /* MPI_Finalize was called: the program will receive and begin nothing more. */
    void (*last_call)(void);
    /* Whether all messages that the library itself has sent are on their way; those of requests:
     * rz_requests_sent. */
    bool (*is_sent)(void);
    /* No new request of another process is served any more. */
    void (*retire)(void);
    /* Waits for the processes that still need this one. MPI_SUCCESS, an error class or
     * RZM_ROLLBACK. */
    int (*part)(void);
    /* The library ends; all objects have ended. */
    void (*close)(void);

    /* ---- Progress ---- */

    unsigned (*work[RZ_WORK_COUNT])(void); /* the number of events; called while its bit is set */
    /* Once in many rounds, and before each sleep. */
    void (*check)(rz_time now);
    /* The board has changed; the states of processes on it have not been read yet. */
    void (*board_changed)(void);

    /* A call is at a point where the process can stop, since rz_engine.stops. It stops here, and
     * continues later, perhaps in another process that has its memory (mpi/rewind). */
    void (*safe_point)(void);

    /* ---- Messages ---- */

    rz_arrived_t arrived[RZ_ENVELOPE_COUNT];
    /* A setup message has arrived. True: this module has answered it, and no other receives it. */
    bool (*answers)(const struct rz_setup_message *message);

    /* ---- Processes (liveness.h) ---- */

    /* That process is about to be marked as gone: receive what it has sent. exited: it has ended in
     * order, and is no longer there, so that all it has sent will arrive. */
    void (*leaving)(uint32_t process, bool exited);
    /* That process is gone; failed: it did not end in order. */
    void (*gone)(uint32_t process, bool failed);
    /* The board shows another process in that slot. */
    void (*adopted)(uint32_t slot);
    /* Whether this module still needs to know of that failed process. */
    bool (*holds)(uint32_t process);

    /* ---- The end of an epoch: a roll-back, or finalize (epoch.h). Called in this order. ---- */

    /* Protocols of the epoch end. */
    void (*stop)(void);
    /* Connections were given up: drop what has arrived and was not received. */
    void (*forget)(void);
    /* The transports refer to no memory of the user any more: end all requests. */
    void (*abandon)(void);
    /* No call of the epoch is on a stack any more: all objects of the epoch end. */
    void (*discard)(void);

    /* ---- Communicators ---- */

    /* comm is complete: messages for it may have arrived already. */
    void (*comm_begun)(struct rz_comm *comm);
    /* comm has been revoked. */
    void (*comm_revoked)(struct rz_comm *comm);
    /* comm ends. goodbye: other members may wait for a goodbye of this one. */
    void (*comm_ends)(struct rz_comm *comm, bool goodbye);
    /* For reports: what a call on comm waits in. */
    void (*describe_comm)(const struct rz_comm *comm, struct rz_wait_text *text);
};

/* Sets the list of hooks. Before the link is opened. */
void rz_hooks_set(const struct rz_hooks *const *list, unsigned n);

/* The function that takes messages of each kind. */
extern rz_arrived_t rz_hooks_arrived[RZ_ENVELOPE_COUNT];

/* Does the due work of that stage (RZ_WORK_BEFORE, _BETWEEN, _AFTER); returns the number of
 * events. */
unsigned rz_hooks_work(uint32_t stage);

/* Each calls the function of all modules, in order. Those that return an error stop at the first
 * one. */
int rz_hooks_open(void);
int rz_hooks_begin(void);
void rz_hooks_last_call(void);
bool rz_hooks_is_sent(void);
void rz_hooks_retire(void);
int rz_hooks_part(void);
void rz_hooks_close(void);
void rz_hooks_check(rz_time now);
void rz_hooks_board_changed(void);
void rz_hooks_safe_point(void);
bool rz_hooks_answers(const struct rz_setup_message *message);
void rz_hooks_leaving(uint32_t process, bool exited);
void rz_hooks_gone(uint32_t process, bool failed);
void rz_hooks_adopted(uint32_t slot);
bool rz_hooks_holds(uint32_t process);
void rz_hooks_stop(void);
void rz_hooks_forget(void);
void rz_hooks_abandon(void);
void rz_hooks_discard(void);
void rz_hooks_comm_begun(struct rz_comm *comm);
void rz_hooks_comm_revoked(struct rz_comm *comm);
void rz_hooks_comm_ends(struct rz_comm *comm, bool goodbye);
void rz_hooks_describe_comm(const struct rz_comm *comm, struct rz_wait_text *text);

#endif
