/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bootstrap messages: by a setup message (create/setup_message.h) a survivor of a communicator
 * tells a process that replaces a failed one of the new communicator that the process belongs to.
 *
 * A process that replaces a failed one waits for such a message. The processes that would have sent
 * it may have failed; then the wait must end. A process that is sure to send none says so when
 * asked: one that waits itself, and one that is in MPI_Finalize. When no other process is left, the
 * wait ends.
 */
#ifndef RZ_MPI_BOOTSTRAP_H
#define RZ_MPI_BOOTSTRAP_H

#include "mpi/comm/comm.h"
#include "mpi/create/setup_message.h"
#include "mpi/engine/waiting.h"

struct rz_bootstrap {
    uint64_t context;
    uint32_t n, index; /* index of this communicator among the n that are repaired together */
    uint32_t rows;     /* rz_group.rows */
    uint32_t size;     /* size of the group */
    uint32_t *process; /* [size] */
    bool *is_new;      /* [size]: gets a bootstrap message itself */
};

/* Sends a setup message to all new members that are alive; MPI_ERR_NO_MEM. */
int rz_bootstrap_send(const struct rz_bootstrap *bootstrap);

/*
 * Reads a bootstrap message; *bootstrap is to be freed, also when the message is malformed. False:
 * it is malformed, or of no use to this process (which is not in the group, or a slot is not of
 * this job).
 */
bool rz_bootstrap_read(struct rz_bootstrap *bootstrap, const struct rz_setup_message *word);

/* Whether this process has the communicator with that id, or had it. */
bool rz_bootstrap_known(uint64_t context);

void rz_bootstrap_free(struct rz_bootstrap *bootstrap);

/* ---- Peers: the processes that may send a bootstrap message to this one ---- */

/* One wait for a bootstrap message. */
struct rz_bootstrap_peers {
    rz_time begun;
    rz_time hopeless_since; /* 0: some process may still send one */
    bool asked;             /* all processes were asked: the wait is a long one */
};

void rz_bootstrap_peers_begin(struct rz_bootstrap_peers *bootstrap_peers);

/* Called repeatedly during a wait: whether all others have failed, have left, or will send no
 * bootstrap message. */
bool rz_bootstrap_peers_gone(struct rz_bootstrap_peers *bootstrap_peers);

/* This process has got a bootstrap message, and may send some from now on. */
void rz_bootstrap_peers_joined(struct rz_bootstrap_peers *bootstrap_peers);

/*
 * This process finalizes: it sends no bootstrap message any more, and joins no communicator. If it
 * gets one, now or later, the other members would wait for it for ever: then it ends as if it had
 * failed.
 */
void rz_bootstrap_peers_leave(void);

/* A setup message has arrived. True: it was answered, or is a bootstrap message that was taken
 * before, and no call will take it; the caller keeps it. */
bool rz_bootstrap_peers_answer(const struct rz_setup_message *word);

/* At a roll-back and in finalize: no more messages will come. */
void rz_bootstrap_peers_close(void);

#endif
