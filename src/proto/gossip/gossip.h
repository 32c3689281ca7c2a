/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failure detection and consensus by gossip (Katti, Di Fatta, Naughton, Engelmann, IJHPCA 2018):
 * the matrix (algorithm 1), the list (2) and the three phases with push-sum (3).
 *
 * Once per cycle a member pings another one at random with its gossip state; the other merges it
 * and answers with its own, which the first merges: push-pull. The pinger detects a member that
 * does not answer within the timeout as failed; there is no suspicion. Members known failed are not
 * pinged (drawn again).
 *
 * The target of member self in a cycle is a pure function of its seed, so that a scale model draws
 * the same one: rz_gossip_target. If all members start at the same date and every transfer takes
 * the same time (and twice that is below the timeout), cycles are synchronous: within one cycle all
 * PINGs leave, then arrive in order of their senders; all REPLYs arrive in that same order; then
 * timeouts expire in order of members; then all end the cycle: only there phases change and calls
 * return. The scale models (lab/scale) reproduce this order exactly.
 *
 * docs/protocols/gossip.md says what is certain and what is reconstruction.
 */
#ifndef RZ_PROTO_GOSSIP_H
#define RZ_PROTO_GOSSIP_H

#include "base/random.h"

#include <rhizome/protocol.h>

enum rz_gossip_kind {
    RZ_GOSSIP_MATRIX, /* algorithm 1: n_members squared bits of state and message; <= 2048 members
                       */
    RZ_GOSSIP_LIST,   /* algorithm 2 */
    RZ_GOSSIP_SUM,    /* algorithm 3 */
    RZ_GOSSIP_KIND_COUNT
};

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_gossip_mutation {
    RZ_GOSSIP_NAIVE_DIAGNOSIS = 1, /* 3: one estimate within the tolerance suffices (window 1, no
                                      least length of phase 1) */
    RZ_GOSSIP_NO_INDIRECT = 2,     /* 1: the sender's row is not merged into one's own */
    RZ_GOSSIP_LOSE_HALF = 4,       /* 3: the half of an unanswered ping is not taken back */
    RZ_GOSSIP_FALL_SILENT = 8,     /* a member that has returned does not answer any more */
    RZ_GOSSIP_OTHER_ROW =
        16, /* 1: the consensus test takes the living members from another member's row */
    RZ_GOSSIP_BY_PLACE = 32 /* 3: halves are added to the entry at the same index of the list, not
                               to that of the same failed member */
};

struct rz_gossip_config {
    uint32_t n_members; /* >= 1 */
    uint32_t view;      /* written into every message; others are dropped */
    enum rz_gossip_kind kind;
    rz_time cycle;        /* length of a cycle, > 0 */
    rz_time timeout;      /* a ping without an answer is a failure then; 0 < timeout < cycle */
    rz_time start_spread; /* upper bound of the random delay of the first cycle; 0: none */
    uint32_t cycles_max;  /* the call ends without success then; 0: 64 + 8 * ceil(log2 n) */
    uint32_t quiet;       /* 1: cycles without a new failure before a call returns; 0: 3 */
    uint32_t initial;     /* 2: cycles of the initial phase; 1, 3: a call returns then at the
                             earliest; 0: ceil(log2 n) + 8 */
    uint32_t window; /* 2: h; 3: cycles that an estimate must stay within the tolerance; 0: 1 for 2,
                        4 for 3 */
    uint32_t tolerance_ppm; /* 3: tolerance of an estimate, in millionths; 0: 1000 */
    bool before_only; /* 3: as published: members fail before the first cycle only. All members have
                         weight from the start and nothing restarts; a member that fails later takes
                         its mass with it, and no later count is correct */
    bool report; /* false: silence reports no failure; failures are reported by RZ_EVENT_FAILURE
                    only */
    uint32_t mutations; /* enum rz_gossip_mutation, or 0 */
};

/*
 * RZ_EVENT_FAILURE: the members in ids are known failed (told by another detector). RZ_EVENT_CALL,
 * call = RZ_GOSSIP_BEGIN: begin the first cycle. Before it a member answers pings with its state,
 * but sends none. After its return it still answers, and pings only while it knows of a failure
 * that is not in its last phase.
 */
enum rz_gossip_call { RZ_GOSSIP_BEGIN };

/*
 * RZ_ACTION_NOTIFY, what = RZ_GOSSIP_DETECTED: arg[0] = member failed, arg[1] = enum rz_gossip_how;
 * arg[2] = number of the cycle (from 1; 0 before the first). If it is the member itself: it was
 * declared failed, and its host must stop it. RZ_GOSSIP_CONSENSUS, RZ_GOSSIP_COMMITTED (3 only):
 * arg[0] = member, arg[2] = cycle. RZ_GOSSIP_RETURNED: the call is done: items = the agreed failed
 * members, sorted; arg[0] = 1 if agreed, 0 if cycles_max ended the call; arg[2] = cycle.
 */
enum rz_gossip_notice {
    RZ_GOSSIP_DETECTED,
    RZ_GOSSIP_CONSENSUS,
    RZ_GOSSIP_COMMITTED,
    RZ_GOSSIP_RETURNED
};

enum rz_gossip_how { RZ_GOSSIP_HEARD, RZ_GOSSIP_OWN_PING, RZ_GOSSIP_TOLD };

/*
 * seq = the pinger's cycle; a REPLY repeats that of its PING. Items: MATRIX: n_members rows of
 * ceil(n_members / 64) words, bit c of row r: r has detected c. LIST: the failed members, sorted.
 * SUM: (failed, s1, s2) for each, sorted; word[0] = the weight.
 */
enum rz_gossip_message { RZ_GOSSIP_PING, RZ_GOSSIP_REPLY, RZ_GOSSIP_MESSAGE_COUNT };

struct rz_gossip;

size_t rz_gossip_size(const struct rz_gossip_config *config);
void rz_gossip_init(struct rz_gossip *gossip, const struct rz_gossip_config *config, rz_id self,
                    rz_time now, uint64_t seed);
enum rz_more rz_gossip_step(struct rz_gossip *gossip, const struct rz_event *event,
                            struct rz_actions *out);
rz_time rz_gossip_deadline(const struct rz_gossip *gossip);
uint64_t rz_gossip_hash(const struct rz_gossip *gossip);
void rz_gossip_grow(struct rz_gossip *gossip, size_t bytes);

/* The target of self in this cycle: the attempt-th draw (from 0, < 2^16; a further attempt when the
 * one before is known failed). Never self; n >= 2. seed: that of rz_gossip_init. Inline, because a
 * scale model calls it 10^10 times: there the mix of cycle and attempt is done once per cycle. */
static inline rz_id rz_gossip_target(uint64_t seed, uint32_t n, rz_id self, uint64_t cycle,
                                     uint32_t attempt)
{
    rz_id other = (rz_id)rz_random_scale(rz_mix(seed, cycle << 16 | attempt), n - 1);
    return other + (other >= self);
}

/* ---- accessors ---- */

/* Members known failed, sorted, as items. */
const uint64_t *rz_gossip_failed(const struct rz_gossip *gossip, uint32_t *n);
/* Phase of a failed member here: 1 detected, 2 consensus, 3 committed; 0: not known failed. */
uint32_t rz_gossip_phase(const struct rz_gossip *gossip, rz_id failed);
bool rz_gossip_returned(const struct rz_gossip *gossip);

/* MATRIX: whether it is known here that `by` has detected `failed`. */
bool rz_gossip_detected_by(const struct rz_gossip *gossip, rz_id by, rz_id failed);

/* SUM: push-sum mass held here; of a member not known failed the sums are 0. The mass lent to a
 * ping under way is not included. Estimated members: sum / ONE / (weight / whole), whole =
 * rz_gossip_whole. */
#define RZ_GOSSIP_ONE (UINT64_C(1) << 32)   /* a member counted; before_only: its weight at first */
#define RZ_GOSSIP_WHOLE (UINT64_C(1) << 62) /* else: the weight of all members together */
struct rz_gossip_mass {
    uint64_t weight, detected, consensus;
};
struct rz_gossip_mass rz_gossip_mass(const struct rz_gossip *gossip, rz_id failed);
/* SUM: the weight that all members of its instance hold together, as far as it knows the living
 * members. */
uint64_t rz_gossip_whole(const struct rz_gossip *gossip);
/* SUM: whether two members take mass from each other. */
bool rz_gossip_same_instance(const struct rz_gossip *a, const struct rz_gossip *b);

#endif
