/*
 * Words: what one process tells another outside of any communicator, to make one: an invitation to
 * a newcomer, the two halves of connect and accept. They pass no matcher and wait here until
 * somebody takes them; those of a process that died meanwhile stay.
 */
#ifndef RZ_MPI_WORD_H
#define RZ_MPI_WORD_H

#include "mpi/core/engine.h"
#include "wire/envelope.h"

enum rz_word_kind {
    RZ_WORD_INVITE,  /* the sender has made communicators that you belong to (ft/invitation.c) */
    RZ_WORD_CONNECT, /* to a port: the sender's group wants to connect (comm/connect.c) */
    RZ_WORD_ACCEPT,  /* the answer to CONNECT */
    RZ_WORD_REFUSE,  /* the other one */
    RZ_WORD_LEAVE,   /* to that port: who said CONNECT waits no longer */
    RZ_WORD_READY,   /* a spawned process stands in MPI_Init (comm/parent.c) */
    RZ_WORD_GO,      /* to a spawned process: all parents know of it (comm/comm_spawn.c) */
    RZ_WORD_GOING,   /* the answer to GO */
    RZ_WORD_WAITS,   /* for an invitation, and who will send none (ft/inviters.h) */
    RZ_WORD_COUNT
};

struct rz_word {
    struct rz_word *next;
    bool looked_at;
    bool withdrawn; /* nobody waits for what comes of it */
    enum rz_word_kind kind;
    uint32_t process; /* who says it: its number */
    uint64_t about;   /* the port, or whatever the kind makes of it */
    size_t bytes;
    unsigned char data[];
};

/* Tells it; data is copied. A process known to be dead hears nothing, and that is no error.
 * MPI_SUCCESS or MPI_ERR_NO_MEM. */
int rz_word_send(uint32_t process, enum rz_word_kind kind, uint64_t about, const void *data,
                 size_t bytes);

/* The oldest word of that kind about that, unread so far, or NULL. The caller frees it. */
struct rz_word *rz_word_take(enum rz_word_kind kind, uint64_t about);

/* The first unread word of that kind behind another one (NULL: of all), or NULL. It stays. */
struct rz_word *rz_word_next(enum rz_word_kind kind, const struct rz_word *after);

/* It was read. */
void rz_word_drop(struct rz_word *word);

/* An envelope of kind RZ_ENVELOPE_WORD has passed the door. As rz_net_host.arrived. */
void rz_word_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                     size_t bytes, rz_net_token_t token);

/* Whether words have come that rz_words_look has not seen. */
extern bool rz_words_new;

/* Answers those that cannot wait for somebody to take them; how many there were. From the engine,
 * not from inside a callback of a transport. */
unsigned rz_words_look(void);

/* Unread words go: at a roll-back and in finalize. */
void rz_words_close(void);

#endif
