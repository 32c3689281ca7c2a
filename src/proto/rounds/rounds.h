/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement by all-to-all rounds, early terminating (after Bonnet and Raynal, EDCC 2010; the third
 * algorithm beside ERA in Open MPI). It costs n^2 messages per round and takes at most 16 members:
 * an oracle for `agree`, not a service.
 *
 * One operation per object. Each member proposes `and`; the decision is the AND of the proposals of
 * a set of members, which contains all members that are alive at the first decision. Uniform:
 * members that fail have decided the same. With f failures out of t = n - 1 tolerated it takes at
 * most min(f + 2, t + 1) rounds. The detector must be accurate and complete; it may lag.
 */
#ifndef RZ_PROTO_ROUNDS_H
#define RZ_PROTO_ROUNDS_H

#include <rhizome/protocol.h>

#define RZ_ROUNDS_MEMBERS_MAX 16

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_rounds_mutation {
    RZ_ROUNDS_ONE_EARLY = 1,  /* a round without change ends the operation, even the first one */
    RZ_ROUNDS_NO_FENCE = 2,   /* messages of members known failed are handled */
    RZ_ROUNDS_NO_TELLING = 4, /* a member that has decided does not send the decision */
    RZ_ROUNDS_OWN_EYES = 8 /* two equal rounds at this member suffice, as in synchronous rounds */
};

struct rz_rounds_config {
    uint32_t n_members; /* 1..16 */
    uint32_t view;      /* written into every message; others are dropped */
    uint32_t mutations; /* enum rz_rounds_mutation, or 0 */
};

/* RZ_EVENT_CALL, call = RZ_ROUNDS_PROPOSE, once: arg[0] = and. */
enum rz_rounds_call { RZ_ROUNDS_PROPOSE };

/* RZ_ACTION_NOTIFY, what = RZ_ROUNDS_DECIDED, once: arg[0] = and, arg[1] = bit set of the members
 * whose proposals are in it, arg[2] = the round of this member at the decision. */
enum rz_rounds_notice { RZ_ROUNDS_DECIDED };

struct rz_rounds;

size_t rz_rounds_size(const struct rz_rounds_config *config);
void rz_rounds_init(struct rz_rounds *rounds, const struct rz_rounds_config *config, rz_id self,
                    rz_time now, uint64_t seed);
enum rz_more rz_rounds_step(struct rz_rounds *rounds, const struct rz_event *event,
                            struct rz_actions *out);
rz_time rz_rounds_deadline(const struct rz_rounds *rounds); /* always RZ_TIME_NEVER */
uint64_t rz_rounds_hash(const struct rz_rounds *rounds);
void rz_rounds_grow(struct rz_rounds *rounds, size_t bytes); /* never requested */

/* Whether this member has decided, and what (as in the notice). */
struct rz_rounds_decision {
    bool made;
    uint64_t and;
    uint32_t members;
    uint32_t round;
};
struct rz_rounds_decision rz_rounds_decision(const struct rz_rounds *rounds);

/* The members that this one knows failed, as a bit set. */
uint32_t rz_rounds_failed(const struct rz_rounds *rounds);

#endif
