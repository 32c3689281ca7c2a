/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of one member, and the parts common to the three kinds. Private to the component. */
#ifndef RZ_PROTO_GOSSIP_STATE_H
#define RZ_PROTO_GOSSIP_STATE_H

#include "proto/gossip/gossip.h"

/* The state of one failed member. */
struct rz_gossip_entry {
    uint64_t sum[2]; /* SUM: s1, s2 */
    uint32_t count; /* LIST: consecutive messages that listed it; SUM: consecutive cycles within the
                       tolerance */
    uint8_t phase;  /* 1 detected, 2 consensus, 3 committed */
    uint8_t told;   /* phases reported to the host */
    uint8_t how;    /* enum rz_gossip_how */
    uint8_t zero;
};

/*
 * words holds, one after the other: MATRIX: the matrix, n_members rows of row_words; then arrays
 * for `max` failed members: ids (sorted), scratch, entries; SUM: the mass in the outstanding PING
 * (lent), the mass in the last REPLY.
 */
struct rz_gossip {
    struct rz_gossip_config config; /* with its defaults filled in */
    uint64_t seed;
    rz_time cycle_end; /* when the running cycle ends */
    rz_time timeout_at;
    uint64_t cycle;
    uint64_t since; /* cycle of the last change of the list */
    uint64_t told_cycle;
    uint64_t weight, weight_lent;
    rz_id self, target, answer_to;
    uint32_t max, n_failed, n_unsettled;
    uint32_t n_lent; /* SUM: entries of the list when the outstanding PING left */
    uint32_t row_words;
    uint32_t least; /* ceil(log2 n) */
    bool begun, returned, told_returned, agreed, ended;
    bool outstanding; /* a PING to target is not answered yet */
    bool lent;        /* SUM: the lent mass is of the current instance: it may be taken back */
    uint64_t words[];
};

/* ---- gossip_state.c: the list of failed members ---- */

size_t rz_gossip_bytes(enum rz_gossip_kind kind, uint32_t n_members, uint32_t max);
uint64_t *rz_gossip_ids(const struct rz_gossip *gossip);
uint64_t *rz_gossip_scratch(const struct rz_gossip *gossip);
struct rz_gossip_entry *rz_gossip_entries(const struct rz_gossip *gossip);
uint64_t *rz_gossip_lent_items(const struct rz_gossip *gossip);
uint64_t *rz_gossip_reply_items(const struct rz_gossip *gossip);

bool rz_gossip_knows(const struct rz_gossip *gossip, uint64_t id);
/* Adds a failure; true if it was new. The arrays must be large enough. */
bool rz_gossip_learn(struct rz_gossip *gossip, uint64_t id, enum rz_gossip_how how);
/* Checks for `more` further failed members; if they do not fit, *out tells the size that the block
 * must grow to. */
bool rz_gossip_has_room(const struct rz_gossip *gossip, uint32_t more, struct rz_actions *out);
/* An entry reaches a later phase. */
void rz_gossip_promote(struct rz_gossip *gossip, struct rz_gossip_entry *entry, uint8_t phase);
/* The phase after which nothing remains to be done about a failure. */
uint8_t rz_gossip_last_phase(const struct rz_gossip *gossip);

/* Messages that list failed members, one every `stride` items. */
bool rz_gossip_items_valid(const struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items,
                           uint32_t stride);
uint32_t rz_gossip_items_unknown(const struct rz_gossip *gossip, const uint64_t *items,
                                 uint32_t n_items, uint32_t stride);
bool rz_gossip_items_same(const struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items,
                          uint32_t stride);

/* ---- per kind ---- */

/* The payload of a PING or REPLY. */
struct rz_gossip_payload {
    const uint64_t *items;
    uint32_t n_items;
    uint64_t word;
};

void rz_gossip_matrix_detect(struct rz_gossip *gossip, rz_id failed);
bool rz_gossip_matrix_valid(const struct rz_gossip *gossip, const struct rz_message *message);
uint32_t rz_gossip_matrix_unknown(const struct rz_gossip *gossip, const struct rz_message *message,
                                  const uint64_t *items);
void rz_gossip_matrix_merge(struct rz_gossip *gossip, const struct rz_message *message,
                            const uint64_t *items);
struct rz_gossip_payload rz_gossip_matrix_payload(const struct rz_gossip *gossip);
void rz_gossip_matrix_assess(struct rz_gossip *gossip);

void rz_gossip_list_merge(struct rz_gossip *gossip, const uint64_t *items, uint32_t n_items);
struct rz_gossip_payload rz_gossip_list_payload(const struct rz_gossip *gossip);
void rz_gossip_list_assess(struct rz_gossip *gossip);

/* The weight of a member at the start of its instance. */
uint64_t rz_gossip_sum_weight(const struct rz_gossip *gossip);
/* The list has grown: a new instance of the aggregation starts, unless there is only one. */
void rz_gossip_sum_grown(struct rz_gossip *gossip);
/* Halves all mass; the halves, as items, go to `items`. */
struct rz_gossip_payload rz_gossip_sum_halve(struct rz_gossip *gossip, uint64_t *items);
/* The list alone, without mass. */
struct rz_gossip_payload rz_gossip_sum_nothing(const struct rz_gossip *gossip, uint64_t *items);
/* Halves for a PING; they can be taken back until the next one. */
struct rz_gossip_payload rz_gossip_sum_lend(struct rz_gossip *gossip);
void rz_gossip_sum_take_back(struct rz_gossip *gossip);
/* Adds halves, if they are of the current instance. All ids in items are known here. */
void rz_gossip_sum_absorb(struct rz_gossip *gossip, uint64_t weight, const uint64_t *items,
                          uint32_t n_items);
void rz_gossip_sum_assess(struct rz_gossip *gossip);

#endif
