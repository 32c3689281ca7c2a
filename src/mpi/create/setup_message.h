/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words: what one process tells another outside of any communicator, to make one: a bootstrap
 * message to a spawned process, the two halves of connect and accept. They pass no matcher and wait
 * here until somebody takes them; those of a process that failed meanwhile stay.
 */
#ifndef RZ_MPI_WORD_H
#define RZ_MPI_WORD_H

#include "mpi/engine/liveness.h"
#include "wire/envelope.h"

enum rz_setup_kind {
    RZ_SETUP_BOOTSTRAP, /* the sender has made communicators that you belong to (ft/bootstrap.c) */
    RZ_SETUP_CONNECT,   /* to a port: the sender's group wants to connect (create/connect.c) */
    RZ_SETUP_ACCEPT,    /* the answer to CONNECT */
    RZ_SETUP_REFUSE,    /* the other one */
    RZ_SETUP_LEAVE,     /* to that port: who said CONNECT waits no longer */
    RZ_SETUP_READY,     /* a spawned process stands in MPI_Init (create/parent.c) */
    RZ_SETUP_GO,        /* to a spawned process: all parents know of it (create/comm_spawn.c) */
    RZ_SETUP_GOING,     /* the answer to GO */
    RZ_SETUP_WAITS,     /* for a bootstrap message, and who will send none (ft/bootstrap_peers.h) */
    RZ_SETUP_COUNT
};

struct rz_setup_message {
    struct rz_setup_message *next;
    bool looked_at;
    bool withdrawn; /* nobody waits for what comes of it */
    enum rz_setup_kind kind;
    uint32_t process; /* who says it: its number */
    uint64_t about;   /* the port, or whatever the kind makes of it */
    size_t bytes;
    unsigned char data[];
};

/* Tells it; data is copied. A process known to be failed hears nothing, and that is no error.
 * MPI_SUCCESS or MPI_ERR_NO_MEM. */
int rz_setup_message_send(uint32_t process, enum rz_setup_kind kind, uint64_t about,
                          const void *data, size_t bytes);

/* The oldest word of that kind about that, unread so far, or NULL. The caller frees it. */
struct rz_setup_message *rz_setup_message_take(enum rz_setup_kind kind, uint64_t about);

/* The first unread word of that kind behind another one (NULL: of all), or NULL. It stays. */
struct rz_setup_message *rz_setup_message_next(enum rz_setup_kind kind,
                                               const struct rz_setup_message *after);

/* It was read. */
void rz_setup_message_drop(struct rz_setup_message *word);

/* An envelope of kind RZ_ENVELOPE_SETUP has passed the epoch check. As rz_net_host.arrived. */
void rz_setup_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                              const void *data, size_t bytes, rz_net_token_t token);

/* Answers those that cannot wait for somebody to take them; how many there were. The work
 * RZ_WORK_SETUP_MESSAGES: not from inside a callback of a transport. */
unsigned rz_setup_messages_look(void);

/* Unread words go: at a roll-back and in finalize. */
void rz_setup_messages_close(void);

#endif
