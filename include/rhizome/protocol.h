/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step interface of every protocol core: a step takes one event and outputs actions.
 *
 * A core has no clock, socket, thread, allocation or source of randomness of its own: time arrives
 * inside the event, randomness from a generator inside the state, memory from the caller. The
 * simulator, the daemon and the MPI library link the same objects.
 *
 * Each component (enum rz_protocol_number) offers, S being its state and C its configuration:
 *
 *   size_t       rz_PROTOCOL_size(const C *);              bytes of its state, aligned to 8
 *   void         rz_PROTOCOL_init(S *, const C *, rz_id self, rz_time now, uint64_t seed);
 *   enum rz_more rz_PROTOCOL_step(S *, const struct rz_event *, struct rz_actions *out);
 *   rz_time      rz_PROTOCOL_deadline(const S *);          when to step with RZ_EVENT_TICK
 *   uint64_t     rz_PROTOCOL_hash(const S *);              canonical, without statistics
 *   void         rz_PROTOCOL_grow(S *, size_t bytes);      after RZ_NEED: the block was enlarged
 *
 * State is one flat block: offsets, no pointers, zeroed at init. A copy (memcpy) is a snapshot.
 * Configurations are copied into the state; arrays they point to must be, too.
 */
#ifndef RHIZOME_PROTOCOL_H
#define RHIZOME_PROTOCOL_H

#include <rhizome/types.h>

enum rz_protocol_number {
    RZ_PROTOCOL_RING,
    RZ_PROTOCOL_SPREAD,
    RZ_PROTOCOL_AGREE,
    RZ_PROTOCOL_RECOVER,
    RZ_PROTOCOL_COMMIT,
    RZ_PROTOCOL_GOSSIP,
    RZ_PROTOCOL_SWIM,
    RZ_PROTOCOL_DIAGNOSE,
    RZ_PROTOCOL_PAXOS,
    RZ_PROTOCOL_TWOPHASE, /* baseline of agree */
    RZ_PROTOCOL_ROUNDS,   /* oracle of agree */
    RZ_PROTOCOL_VIEW_CHANGE,
    RZ_PROTOCOL_SNAPSHOT,
    RZ_PROTOCOL_COUNT
};

/** The fixed header of each protocol message: 48 bytes. The payload is n_items 64-bit items, stored
 * separately. */
struct rz_message {
    uint8_t protocol; /* enum rz_protocol_number */
    uint8_t type;     /* of that component */
    uint16_t flags;   /* of that type; unused bits are 0 */
    uint32_t
        view;   /* number of the immutable view that ids refer to; messages of others are dropped */
    rz_id from; /* the sender */
    rz_id origin;     /* the origin of a broadcast; else from */
    uint64_t seq;     /* number of the operation; its meaning depends on the component */
    uint64_t word[2]; /* their meaning depends on the type */
    uint32_t n_items; /* 64-bit items of payload */
    uint32_t zero;
};

enum rz_event_kind {
    RZ_EVENT_RECEIVE,  /* message and items arrived from message->from */
    RZ_EVENT_TICK,     /* the deadline has passed */
    RZ_EVENT_FAILURE,  /* the members in ids have failed; irrevocable */
    RZ_EVENT_CONTINUE, /* the last step returned RZ_MORE */
    RZ_EVENT_CALL /* a call of the host: call, arg, items, as the header of the component defines */
};

struct rz_event {
    enum rz_event_kind kind;
    rz_time now;
    const struct rz_message *message; /* RECEIVE */
    const uint64_t *items;            /* RECEIVE (message->n_items of them) and CALL (n_items) */
    uint32_t n_items;                 /* CALL */
    const rz_id *ids;                 /* FAILURE */
    uint32_t n_ids;                   /* FAILURE */
    uint32_t call;                    /* CALL */
    uint64_t arg[4];                  /* CALL; FAILURE: arg[0] as the component defines */
};

enum rz_action_kind {
    RZ_ACTION_SEND,  /* message and items to each of to[0..n_to), in this order */
    RZ_ACTION_NOTIFY /* report to the host: what, arg, items */
};

/** An output of a step. Pointers refer to the state and are valid until the next step or grow. */
struct rz_action {
    enum rz_action_kind kind;
    const rz_id *to;           /* SEND */
    uint32_t n_to;             /* SEND; never 0 */
    struct rz_message message; /* SEND */
    uint32_t what;             /* NOTIFY */
    uint64_t arg[4];           /* NOTIFY */
    const uint64_t *items;     /* SEND (message.n_items of them) and NOTIFY (n_items) */
    uint32_t n_items;          /* NOTIFY */
};

/** The least number of actions that the caller's array must hold. */
#define RZ_ACTIONS_MIN 8

struct rz_actions {
    struct rz_action *v; /* memory of the caller */
    uint32_t max;        /* >= RZ_ACTIONS_MIN */
    uint32_t count;      /* the caller sets 0 before each step */
    size_t need;         /* after RZ_NEED: the size in bytes the whole state must grow to */
};

enum rz_more {
    RZ_DONE, /* the event is processed */
    RZ_MORE, /* carry out the actions, then step again with RZ_EVENT_CONTINUE, before any other
                event */
    RZ_NEED  /* nothing has changed: enlarge the block to actions->need bytes, call grow, step the
                same event again */
};

#endif
