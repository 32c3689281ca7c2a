/*
 * Reliable broadcast on the binomial graph (Angskun, Bosilca, Dongarra, ISPA 2007; RDaemon#,
 * algorithm 1): news of failures among daemons, revocations among processes, any set of opaque
 * 64-bit items.
 *
 * Every member forwards each item once, to the neighbours at distance +-2^k in the ring of ids;
 * first to its children in the binomial tree of the origin, so that latency grows with log n and
 * not with its square. Members known failed are left out; where the neighbour at distance 1 has
 * failed the nearest living one in that direction takes its place, and when a failure makes two
 * members neighbours so, they exchange all they know: the ring of the living closes, and an item
 * known to one correct member reaches all, whatever number of members fail.
 *
 * Where nobody is known failed the children alone hear of an item at once, if the configuration
 * says so; the others, who need it from us only if somebody between has failed, `redundant_after`
 * later, or as soon as we know of a failure, unless they have shown by then that they know. Whoever
 * learns something in that way sends it on to all at once. What reaches whom is the same.
 *
 * Who does what. Items are any payload: the room compares and forwards them, nothing else; two
 * hosts that mean the same thing must write the same item. The two-level form is the host's: among
 * daemons the members are nodes, and the daemon that is told DELIVER hands the items to its local
 * processes (one message each, no further forwarding), which drop those they have. For a revocation
 * the members are the processes of a communicator and the item is made of its context and epoch: a
 * host drops one whose communicator it does not have, and on DELIVER it interrupts what waits; its
 * user need not wait for the sends.
 *
 * Not uniform: what a member delivered just before it failed may stay unknown to the others.
 * A message of a member known failed is taken: its news are as true as before.
 */
#ifndef RZ_PROTO_SPREAD_H
#define RZ_PROTO_SPREAD_H

#include <rhizome/protocol.h>

enum rz_spread_order {
    RZ_SPREAD_TREE_FIRST, /* the children in the origin's tree, then the others */
    RZ_SPREAD_NEAR_FIRST  /* +1, -1, +2, -2, +4, ...: slower; only to compare with */
};

/* Faults put in on purpose, to show that the checkers find them; 0 in production. The numbers are
 * those of docs/protocols/spread.md. */
enum rz_spread_mutation {
    RZ_SPREAD_WRONG_OFFSETS = 1, /* neighbours at distance 2^k - 1, as one public code has them */
    RZ_SPREAD_MARK_LATE = 2,     /* 1: an item is marked known after it was sent on: too late for a
                                    second copy that comes in between */
    RZ_SPREAD_EQUAL_SETS = 4,    /* 1: dropped is what equals all that is known, not a part of it */
    RZ_SPREAD_OPEN_RING = 8,     /* 4, 5: the ring is not closed over the failed processes */
    RZ_SPREAD_TREE_ONLY = 16     /* 6: what was put off is never sent */
};

struct rz_spread_config {
    uint32_t n_members; /* >= 1 */
    uint32_t view;      /* written into every message; others are dropped */
    uint32_t items_max; /* items known, and members failed, to begin with; grows by RZ_NEED; 0: 8 */
    enum rz_spread_order order;
    rz_time redundant_after; /* so much later to those who are no children in the tree; 0: at once.
                                With RZ_SPREAD_TREE_FIRST only */
    uint32_t mutations;      /* enum rz_spread_mutation, or 0 */
};

/*
 * RZ_EVENT_FAILURE: the members in ids have failed; known ones are ignored.
 *
 * RZ_EVENT_CALL, call = RZ_SPREAD_BROADCAST: tell everybody items[0..n_items), in any order; known
 * ones are left out.
 */
enum rz_spread_call { RZ_SPREAD_BROADCAST };

/*
 * RZ_ACTION_NOTIFY, what = RZ_SPREAD_DELIVER: items, sorted, are new here; each is told once, those
 * of this member's own broadcasts, too. arg[0] = the origin of the message that brought them. Comes
 * after the member has sent them on.
 */
enum rz_spread_notice { RZ_SPREAD_DELIVER };

/* NEWS carries items; origin is the root of the tree that the order of sending follows. */
enum rz_spread_message { RZ_SPREAD_NEWS };

/* Flag of NEWS, where there is a delay: whoever learns something by it puts nothing off, for it
 * came beside the tree. */
#define RZ_SPREAD_URGENT 1u

struct rz_spread;

size_t rz_spread_size(const struct rz_spread_config *config);
void rz_spread_init(struct rz_spread *spread, const struct rz_spread_config *config, rz_id self,
                    rz_time now, uint64_t seed);

/* Never returns RZ_MORE: at most two actions. Looks at the time of events only where there is a
 * delay. */
enum rz_more rz_spread_step(struct rz_spread *spread, const struct rz_event *event,
                            struct rz_actions *out);

/* When what was put off is sent; RZ_TIME_NEVER: nothing is. */
rz_time rz_spread_deadline(const struct rz_spread *spread);
uint64_t rz_spread_hash(const struct rz_spread *spread);
void rz_spread_grow(struct rz_spread *spread, size_t bytes);

/* All items known here, sorted; *n of them; valid until the next step. */
const uint64_t *rz_spread_known(const struct rz_spread *spread, uint32_t *n);
bool rz_spread_knows(const struct rz_spread *spread, uint64_t item);
bool rz_spread_knows_failed(const struct rz_spread *spread, rz_id id);

/* --- the binomial graph ----------------------------------------------------------------------- */

#define RZ_SPREAD_NEIGHBOURS_MAX 64

/* The neighbours of self among n members, in the order of sending for a broadcast from origin: tree
 * children first, the one with the largest subtree before the others, then the rest, near ones
 * first. Returns how many. */
uint32_t rz_spread_neighbours(uint32_t n, rz_id self, rz_id origin,
                              rz_id to[RZ_SPREAD_NEIGHBOURS_MAX]);

/* How many of them are children: the first ones. */
uint32_t rz_spread_children(uint32_t n, rz_id self, rz_id origin);

/* The same neighbours in the order RZ_SPREAD_NEAR_FIRST. */
uint32_t rz_spread_neighbours_near(uint32_t n, rz_id self, rz_id to[RZ_SPREAD_NEIGHBOURS_MAX]);

/* What RZ_SPREAD_WRONG_OFFSETS takes for neighbours: distances 2^k - 1, 1 <= k <= ln n + 1. */
uint32_t rz_spread_neighbours_wrong(uint32_t n, rz_id self, rz_id to[RZ_SPREAD_NEIGHBOURS_MAX]);

/* D(n): how many neighbours each member has, which is also how many must fail to part the others.
 * With K = ceil(log2 n): 2K-1 if n = 2^a; 2K-2 if n = 2^a + 2^b, a != b; else 2K; for n >= 3. */
uint32_t rz_spread_degree(uint32_t n);

#endif
