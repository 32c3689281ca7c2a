/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setup messages: what one process tells another outside of any communicator, to make one: a
 * bootstrap message to a spawned process, the messages of connect and accept. They pass no matcher,
 * and wait in a list until a call takes them; those of a process that failed meanwhile stay in it.
 */
#ifndef RZ_MPI_WORD_H
#define RZ_MPI_WORD_H

#include "mpi/engine/liveness.h"
#include "wire/envelope.h"

enum rz_setup_kind {
    RZ_SETUP_BOOTSTRAP, /* the sender has made communicators of which the receiver is a member
                           (ft/bootstrap.c) */
    RZ_SETUP_CONNECT,   /* to a port: the sender's group wants to connect (create/connect.c) */
    RZ_SETUP_ACCEPT,    /* the answer to CONNECT */
    RZ_SETUP_REFUSE,    /* the negative answer */
    RZ_SETUP_LEAVE,     /* to that port: the sender of CONNECT waits no longer */
    RZ_SETUP_READY,     /* a spawned process is in MPI_Init (create/parent.c) */
    RZ_SETUP_GO,        /* to a spawned process: all parents know of it (create/comm_spawn.c) */
    RZ_SETUP_GOING,     /* the answer to GO */
    RZ_SETUP_WAITS, /* the sender waits for a bootstrap message; names processes that will send none
                       (ft/bootstrap.h) */
    RZ_SETUP_COUNT
};

struct rz_setup_message {
    struct rz_setup_message *next;
    bool looked_at;
    bool withdrawn; /* its sender does not wait for the result */
    enum rz_setup_kind kind;
    uint32_t process; /* number of the sender */
    uint64_t about;   /* the port, or another number, by kind */
    size_t bytes;
    unsigned char data[];
};

/* Sends a setup message; data is copied. Nothing is sent to a process known to have failed, which
 * is no error. MPI_SUCCESS or MPI_ERR_NO_MEM. */
int rz_setup_message_send(uint32_t process, enum rz_setup_kind kind, uint64_t about,
                          const void *data, size_t bytes);

/* Takes the oldest unread message of that kind with that `about`; NULL: none. The caller frees
 * it. */
struct rz_setup_message *rz_setup_message_take(enum rz_setup_kind kind, uint64_t about);

/* The first unread message of that kind after another one (NULL: the first of all), or NULL. It
 * stays in the list. */
struct rz_setup_message *rz_setup_message_next(enum rz_setup_kind kind,
                                               const struct rz_setup_message *after);

/* Removes a message from the list. */
void rz_setup_message_drop(struct rz_setup_message *word);

/* An envelope of kind RZ_ENVELOPE_SETUP has passed the epoch check. As rz_net_host.arrived. */
void rz_setup_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                              const void *data, size_t bytes, rz_net_token_t token);

/* Answers messages that must not wait until a call takes them; returns their number. The work
 * RZ_WORK_SETUP_MESSAGES: not called from inside a callback of a transport. */
unsigned rz_setup_messages_look(void);

/* Drops unread messages: at a roll-back and in finalize. */
void rz_setup_messages_close(void);

#endif
