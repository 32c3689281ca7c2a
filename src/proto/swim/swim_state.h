/* Inside the room: the block and what its files offer each other. */
#ifndef RZ_PROTO_SWIM_STATE_H
#define RZ_PROTO_SWIM_STATE_H

#include "proto/swim/swim.h"

#include "base/random.h"

#define RZ_SWIM_OBSERVERS_MAX 6
#define RZ_SWIM_NO_RECORD UINT32_MAX

/* One word of news about a member. */
struct rz_swim_update {
    rz_id member, from;
    uint32_t incarnation;
    enum rz_swim_state state;
};

/* A member that is, or once was, something else than alive of incarnation 0. */
struct rz_swim_record {
    rz_id member;
    rz_id from; /* who says so; goes with the news */
    uint32_t incarnation;
    uint8_t state; /* enum rz_swim_state */
    uint8_t told;  /* the state that the host knows */
    uint8_t n_observers;
    bool queued;
    uint32_t sent; /* how often the latest news were */
    rz_id observers[RZ_SWIM_OBSERVERS_MAX];
    rz_time changed_at;
    rz_time expires_at; /* of a suspect */
};

/* A ping on another's behalf. */
struct rz_swim_relay {
    rz_id asker, target;
    uint64_t asked; /* the asker's number */
    uint64_t seq;   /* ours */
    rz_time nack_at;
};

enum rz_swim_phase { RZ_SWIM_IDLE, RZ_SWIM_DIRECT, RZ_SWIM_INDIRECT };

/* The block goes on after this struct with arrays of max entries: records in order of creation,
 * index (member, number of its record; sorted), items of a message (2 * max), relays, queue
 * (numbers of records; least sent first), timers (numbers of records under suspicion). */
struct rz_swim {
    struct rz_swim_config config;
    struct rz_random random;
    rz_id self;
    uint32_t incarnation;
    bool leaving, silent, fenced;
    uint32_t health;
    uint64_t seq; /* of the last ping sent, for oneself or for another */

    uint64_t key; /* of the traversal under way */
    uint32_t cursor;
    uint8_t phase; /* enum rz_swim_phase */
    rz_id target;
    uint64_t probe_seq;
    uint32_t n_helpers;
    rz_id helpers[RZ_SWIM_TARGETS_MAX]; /* asked; NONE: said that it is there */
    rz_time indirect_at;                /* direct phase: its end */
    rz_time probe_at;                   /* the next probe begins, and one under way ends */

    rz_time gossip_at; /* counts while the queue is not empty */
    rz_time push_pull_at;
    rz_time expires_at; /* the first of all timers */

    uint32_t limit;         /* transmissions of news */
    uint32_t confirmations; /* that shorten a suspicion to its least length */
    rz_time patience_least, patience_most;

    uint32_t max;
    uint32_t n_records, n_queue, n_timers, n_relays;
    uint32_t n_gone;    /* records of the failed processes and the left */
    uint32_t n_untold;  /* records whose state the host does not know yet */
    uint32_t n_packets; /* of this round of gossip, still to be sent: to packets[] */
    rz_id packets[RZ_SWIM_TARGETS_MAX];
    uint32_t n_to;
    rz_id to[RZ_SWIM_TARGETS_MAX];
    uint64_t block[];
};

/* --- swim_record.c: the block ----------------------------------------------------------------- */

size_t rz_swim_bytes_for(uint32_t max);
struct rz_swim_record *rz_swim_record_at(const struct rz_swim *swim, uint32_t number);
uint64_t *rz_swim_index_of(const struct rz_swim *swim);
uint64_t *rz_swim_items_of(const struct rz_swim *swim);
struct rz_swim_relay *rz_swim_relays_of(const struct rz_swim *swim);
uint32_t *rz_swim_queue_of(const struct rz_swim *swim);
uint32_t *rz_swim_timers_of(const struct rz_swim *swim);

/* The record of a member, or NULL; its number, or NO_RECORD. */
struct rz_swim_record *rz_swim_find(const struct rz_swim *swim, rz_id member);
uint32_t rz_swim_number_of(const struct rz_swim *swim, rz_id member);
/* The record's number, made when there is none; there must be room. */
uint32_t rz_swim_provide(struct rz_swim *swim, rz_id member);
/* Sets the state and keeps the counts of it. */
void rz_swim_record_set(struct rz_swim *swim, struct rz_swim_record *record,
                        enum rz_swim_state state);
bool rz_swim_is_gone(const struct rz_swim *swim, rz_id member);

/* --- swim_queue.c: dissemination -------------------------------------------------------------- */

/* News about this record are to be sent on, instead of older ones. */
void rz_swim_queue_put(struct rz_swim *swim, uint32_t number, rz_time now);
/* Takes what goes into the next message; the number of items. */
uint32_t rz_swim_queue_take(struct rz_swim *swim);
void rz_swim_update_write(uint64_t items[2], const struct rz_swim_update *update);
/* What the record says. */
void rz_swim_update_of(const struct rz_swim_record *record, uint64_t items[2]);
/* False: malformed. */
bool rz_swim_update_read(const struct rz_swim *swim, const uint64_t items[2],
                         struct rz_swim_update *update);

/* --- swim_merge.c: evidence ------------------------------------------------------------------- */

void rz_swim_hear(struct rz_swim *swim, const struct rz_swim_update *update, rz_time now);
/* Suspicions whose time is up become failures. */
void rz_swim_expire(struct rz_swim *swim, rz_time now);
void rz_swim_fence(struct rz_swim *swim);
void rz_swim_health_add(struct rz_swim *swim, uint32_t by);

/* --- swim_select.c: random members ------------------------------------------------------------ */

/* Appends to swim->to up to `count` members drawn at random, other than self and except. helpers:
 * only the alive; else also suspects, and the failed processes of late. */
void rz_swim_draw(struct rz_swim *swim, uint32_t count, rz_id except, bool helpers, rz_time now);
/* The next to be probed, or NONE when nobody else is left. */
rz_id rz_swim_next_target(struct rz_swim *swim);

/* --- swim_probe.c: pings ---------------------------------------------------------------------- */

void rz_swim_on_ping(struct rz_swim *swim, const struct rz_message *message,
                     struct rz_actions *out);
void rz_swim_on_ack(struct rz_swim *swim, const struct rz_message *message, struct rz_actions *out);
void rz_swim_on_ping_request(struct rz_swim *swim, const struct rz_message *message, rz_time now,
                             struct rz_actions *out);
void rz_swim_on_nack(struct rz_swim *swim, const struct rz_message *message);
void rz_swim_probe_begin(struct rz_swim *swim, rz_time now, struct rz_actions *out);
void rz_swim_probe_indirectly(struct rz_swim *swim, rz_time now, struct rz_actions *out);
/* The interval is over; an unanswered target is suspected. */
void rz_swim_probe_end(struct rz_swim *swim, rz_time now);
/* The first relay whose answer is overdue is given up. False: there is none. */
bool rz_swim_relay_give_up(struct rz_swim *swim, rz_time now, struct rz_actions *out);
rz_time rz_swim_relays_deadline(const struct rz_swim *swim);

/* --- swim.c ----------------------------------------------------------------------------------- */

/* To swim->to[0..n_to), with n_items of the block's items. */
struct rz_message *rz_swim_send(struct rz_swim *swim, enum rz_swim_message type, uint64_t seq,
                                uint32_t n_items, struct rz_actions *out);
/* To one, with what is queued. */
struct rz_message *rz_swim_send_to(struct rz_swim *swim, rz_id to, enum rz_swim_message type,
                                   uint64_t seq, struct rz_actions *out);

static inline bool rz_swim_mutant(const struct rz_swim *swim, enum rz_swim_mutation mutation)
{
    return swim->config.mutations & mutation;
}

#endif
