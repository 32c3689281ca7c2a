/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable broadcast on the binomial graph (Angskun, Bosilca, Dongarra, ISPA 2007; RDaemon#,
 * algorithm 1): news of failures among daemons, revocations among processes, any set of opaque
 * 64-bit items.
 *
 * Every member forwards each item once, to the neighbours at distance +-2^k in the ring of ids;
 * first to its children in the binomial tree of the origin, so that latency grows with log n and
 * not with its square. Members known failed are left out. If the neighbour at distance 1 has
 * failed, the nearest living one in that direction replaces it; two members that become neighbours
 * by a failure exchange all their items. So the ring of the living closes, and an item known to one
 * correct member reaches all, however many members fail.
 *
 * If no member is known failed and the configuration says so, only the children get an item at
 * once. The other neighbours need it from this member only if a member between has failed; they get
 * it `redundant_after` later, or as soon as a failure is known here, unless they have shown by then
 * that they have it. A member that gets a new item in this way forwards it to all neighbours at
 * once. The set of members that an item reaches is the same.
 *
 * Division of work. Items are opaque: the component compares and forwards them, nothing else; two
 * hosts that mean the same thing must write the same item. The two-level form is the host's: among
 * daemons the members are nodes, and a daemon on DELIVER hands the items to its local processes
 * (one message each, no further forwarding), which drop those they have. For a revocation the
 * members are the processes of a communicator and the item is made of its context and epoch: a host
 * drops an item of an unknown communicator, and on DELIVER it interrupts pending calls; its user
 * need not wait for the sends.
 *
 * Not uniform: what a member delivered just before it failed may stay unknown to the others. A
 * message of a member known failed is accepted: its items are still true.
 */
#ifndef RZ_PROTO_SPREAD_H
#define RZ_PROTO_SPREAD_H

#include <rhizome/protocol.h>

enum rz_spread_order {
    RZ_SPREAD_TREE_FIRST, /* the children in the origin's tree, then the others */
    RZ_SPREAD_NEAR_FIRST  /* +1, -1, +2, -2, +4, ...: slower; for comparison only */
};

/* Deliberate faults, which prove that the checkers find them; 0 in production. The numbers are
 * those of docs/protocols/spread.md. */
enum rz_spread_mutation {
    RZ_SPREAD_WRONG_OFFSETS = 1, /* neighbours at distance 2^k - 1, as in one public code */
    RZ_SPREAD_MARK_LATE = 2, /* 1: an item is marked known after it was sent: too late for a second
                                copy that arrives in between */
    RZ_SPREAD_EQUAL_SETS =
        4, /* 1: a message is dropped if it equals all known items, not if it is a subset */
    RZ_SPREAD_OPEN_RING = 8, /* 4, 5: the ring is not closed across the failed members */
    RZ_SPREAD_TREE_ONLY = 16 /* 6: deferred items are never sent */
};

struct rz_spread_config {
    uint32_t n_members; /* >= 1 */
    uint32_t view;      /* written into every message; others are dropped */
    uint32_t items_max; /* items known, and members failed, to begin with; grows by RZ_NEED; 0: 8 */
    enum rz_spread_order order;
    rz_time redundant_after; /* delay for neighbours that are no children in the tree; 0: none. With
                                RZ_SPREAD_TREE_FIRST only */
    uint32_t mutations;      /* enum rz_spread_mutation, or 0 */
};

/*
 * RZ_EVENT_FAILURE: the members in ids have failed; known ones are ignored.
 *
 * RZ_EVENT_CALL, call = RZ_SPREAD_BROADCAST: broadcast items[0..n_items), in any order; known ones
 * are left out.
 */
enum rz_spread_call { RZ_SPREAD_BROADCAST };

/*
 * RZ_ACTION_NOTIFY, what = RZ_SPREAD_DELIVER: items, sorted, are new here; each is delivered once,
 * those of this member's own broadcasts too. arg[0] = the origin of the message that brought them.
 * Delivered after this member has sent them.
 */
enum rz_spread_notice { RZ_SPREAD_DELIVER };

/* NEWS carries items; origin is the root of the tree that orders the sends. */
enum rz_spread_message { RZ_SPREAD_NEWS };

/* Flag of NEWS, where there is a delay: a member that gets a new item by it defers nothing, because
 * the message came outside the tree. */
#define RZ_SPREAD_URGENT 1u

struct rz_spread;

size_t rz_spread_size(const struct rz_spread_config *config);
void rz_spread_init(struct rz_spread *spread, const struct rz_spread_config *config, rz_id self,
                    rz_time now, uint64_t seed);

/* Never returns RZ_MORE: at most two actions. Uses the time of events only where there is a delay.
 */
enum rz_more rz_spread_step(struct rz_spread *spread, const struct rz_event *event,
                            struct rz_actions *out);

/* When the deferred items are sent; RZ_TIME_NEVER: there are none. */
rz_time rz_spread_deadline(const struct rz_spread *spread);
uint64_t rz_spread_hash(const struct rz_spread *spread);
void rz_spread_grow(struct rz_spread *spread, size_t bytes);

/* All items known here, sorted; *n of them; valid until the next step. */
const uint64_t *rz_spread_known(const struct rz_spread *spread, uint32_t *n);
bool rz_spread_knows(const struct rz_spread *spread, uint64_t item);
bool rz_spread_knows_failed(const struct rz_spread *spread, rz_id id);

/* ---- the binomial graph ---- */

#define RZ_SPREAD_NEIGHBOURS_MAX 64

/* The neighbours of self among n members, in the order of sending for a broadcast from origin:
 * first the tree children, those with larger subtrees first; then the others, near ones first.
 * Returns their number. */
uint32_t rz_spread_neighbours(uint32_t n, rz_id self, rz_id origin,
                              rz_id to[RZ_SPREAD_NEIGHBOURS_MAX]);

/* The number of children among them: the first ones. */
uint32_t rz_spread_children(uint32_t n, rz_id self, rz_id origin);

/* The same neighbours in the order RZ_SPREAD_NEAR_FIRST. */
uint32_t rz_spread_neighbours_near(uint32_t n, rz_id self, rz_id to[RZ_SPREAD_NEIGHBOURS_MAX]);

/* The neighbours of RZ_SPREAD_WRONG_OFFSETS: distances 2^k - 1, 1 <= k <= ln n + 1. */
uint32_t rz_spread_neighbours_wrong(uint32_t n, rz_id self, rz_id to[RZ_SPREAD_NEIGHBOURS_MAX]);

/* D(n): the degree of the graph, which is also its node connectivity: how many members must fail to
 * disconnect the others. With K = ceil(log2 n): 2K-1 if n = 2^a; 2K-2 if n = 2^a + 2^b, a != b;
 * else 2K; for n >= 3. */
uint32_t rz_spread_degree(uint32_t n);

#endif
