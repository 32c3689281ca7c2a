/* SPDX-License-Identifier: BSD-3-Clause */
/* The block and what the files of this component share. */
#ifndef RZ_PROTO_SWIM_STATE_H
#define RZ_PROTO_SWIM_STATE_H

#include "proto/mutation.h"
#include "proto/swim/swim.h"

#include "base/random.h"

#define RZ_SWIM_OBSERVERS_MAX 6
#define RZ_SWIM_NO_RECORD UINT32_MAX

/* One item of news about a member. */
struct rz_swim_update {
    rz_id member, from;
    uint32_t incarnation;
    enum rz_swim_state state;
};

/* A member that is, or once was, in another state than alive of incarnation 0. */
struct rz_swim_record {
    rz_id member;
    rz_id from; /* the reporting member; sent with the news */
    uint32_t incarnation;
    uint8_t state; /* enum rz_swim_state */
    uint8_t told;  /* the state last reported to the host */
    uint8_t n_observers;
    bool queued;
    uint32_t sent; /* how often the latest news were sent */
    rz_id observers[RZ_SWIM_OBSERVERS_MAX];
    rz_time changed_at;
    rz_time expires_at; /* of a suspect */
};

/* A ping on behalf of another member. */
struct rz_swim_relay {
    rz_id asker, target;
    uint64_t asked; /* the asker's number */
    uint64_t seq;   /* our number */
    rz_time nack_at;
};

enum rz_swim_phase { RZ_SWIM_IDLE, RZ_SWIM_DIRECT, RZ_SWIM_INDIRECT };

/* The block continues after this struct with arrays of max entries: records in order of creation,
 * index (member, number of its record; sorted), items of a message (2 * max), relays, queue
 * (numbers of records; least sent first), timers (numbers of records under suspicion). */
struct rz_swim {
    struct rz_swim_config config;
    struct rz_random random;
    rz_id self;
    uint32_t incarnation;
    bool leaving, silent, fenced;
    uint32_t health;
    uint64_t seq; /* seq of the last ping sent, for this or another member */

    uint64_t key; /* of the traversal under way */
    uint32_t cursor;
    uint8_t phase; /* enum rz_swim_phase */
    rz_id target;
    uint64_t probe_seq;
    uint32_t n_helpers;
    rz_id helpers[RZ_SWIM_TARGETS_MAX]; /* helpers asked; NONE: it has answered that it is alive */
    rz_time indirect_at;                /* direct phase: its end */
    rz_time probe_at;                   /* when the next probe begins, and one under way ends */

    rz_time gossip_at; /* when the next gossip round begins; used while the queue is not empty */
    rz_time push_pull_at;
    rz_time expires_at; /* the first of all timers */

    uint32_t limit;         /* upper bound of transmissions of news */
    uint32_t confirmations; /* confirmations that shorten a suspicion to its least length */
    rz_time patience_least, patience_most;

    uint32_t max;
    uint32_t n_records, n_queue, n_timers, n_relays;
    uint32_t n_gone;    /* records of failed and left members */
    uint32_t n_untold;  /* records whose state is not reported to the host yet */
    uint32_t n_packets; /* packets of this gossip round, still to be sent: to packets[] */
    rz_id packets[RZ_SWIM_TARGETS_MAX];
    uint32_t n_to;
    rz_id to[RZ_SWIM_TARGETS_MAX];
    uint64_t block[];
};

/* ---- swim_record.c: the block ---- */

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
/* The record's number, created if there is none; the arrays must be large enough. */
uint32_t rz_swim_provide(struct rz_swim *swim, rz_id member);
/* Sets the state and updates the counts of states. */
void rz_swim_record_set(struct rz_swim *swim, struct rz_swim_record *record,
                        enum rz_swim_state state);
bool rz_swim_is_gone(const struct rz_swim *swim, rz_id member);

/* ---- swim_queue.c: dissemination ---- */

/* Schedules news about this record to be sent, instead of older ones. */
void rz_swim_queue_put(struct rz_swim *swim, uint32_t number, rz_time now);
/* Takes the news for the next message; returns the number of items. */
uint32_t rz_swim_queue_take(struct rz_swim *swim);
void rz_swim_update_write(uint64_t items[2], const struct rz_swim_update *update);
/* The news that describe the record. */
void rz_swim_update_of(const struct rz_swim_record *record, uint64_t items[2]);
/* False: malformed. */
bool rz_swim_update_read(const struct rz_swim *swim, const uint64_t items[2],
                         struct rz_swim_update *update);

/* ---- swim_merge.c: evidence ---- */

void rz_swim_hear(struct rz_swim *swim, const struct rz_swim_update *update, rz_time now);
/* Suspicions whose timers have expired become failures. */
void rz_swim_expire(struct rz_swim *swim, rz_time now);

/* The suspicion of that member, if there is one, does not expire before `until`. */
void rz_swim_hold(struct rz_swim *swim, rz_id member, rz_time until);
void rz_swim_fence(struct rz_swim *swim);
void rz_swim_health_add(struct rz_swim *swim, uint32_t by);

/* ---- swim_select.c: random members ---- */

/* Appends to swim->to up to `count` members drawn at random, other than self and except. helpers:
 * only alive ones; otherwise also suspects, and members that failed recently. */
void rz_swim_draw(struct rz_swim *swim, uint32_t count, rz_id except, bool helpers, rz_time now);
/* The next target, or NONE if there is no other member. */
rz_id rz_swim_next_target(struct rz_swim *swim);

/* ---- swim_probe.c: pings ---- */

void rz_swim_on_ping(struct rz_swim *swim, const struct rz_message *message,
                     struct rz_actions *out);
void rz_swim_on_ack(struct rz_swim *swim, const struct rz_message *message, struct rz_actions *out);
void rz_swim_on_ping_request(struct rz_swim *swim, const struct rz_message *message, rz_time now,
                             struct rz_actions *out);
void rz_swim_on_nack(struct rz_swim *swim, const struct rz_message *message);
void rz_swim_probe_begin(struct rz_swim *swim, rz_time now, struct rz_actions *out);
void rz_swim_probe_indirectly(struct rz_swim *swim, rz_time now, struct rz_actions *out);
/* The interval is over; a target that did not answer is suspected. */
void rz_swim_probe_end(struct rz_swim *swim, rz_time now);
/* Gives up the first relay whose answer is overdue. False: there is none. */
bool rz_swim_relay_give_up(struct rz_swim *swim, rz_time now, struct rz_actions *out);
rz_time rz_swim_relays_deadline(const struct rz_swim *swim);

/* ---- swim.c ---- */

/* To swim->to[0..n_to), with n_items of the block's items. */
struct rz_message *rz_swim_send(struct rz_swim *swim, enum rz_swim_message type, uint64_t seq,
                                uint32_t n_items, struct rz_actions *out);
/* To one member, with the queued news. */
struct rz_message *rz_swim_send_to(struct rz_swim *swim, rz_id to, enum rz_swim_message type,
                                   uint64_t seq, struct rz_actions *out);

static inline bool rz_swim_mutant(const struct rz_swim *swim, enum rz_swim_mutation mutation)
{
    return RZ_MUTATED(swim->config.mutations, mutation);
}

#endif
