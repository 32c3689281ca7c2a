/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log2phases: agreement by a two-phase commit on a binomial tree, the baseline that ERA was
 * measured against (Hursey, Naughton, Vallee, Graham, EuroMPI 2011). Not for large groups: every
 * message carries, and every member holds, a bit per member.
 *
 * The members of an immutable view agree on operations 1, 2, 3, ..., one after the other: the
 * bit-wise AND of their flags, optionally the minimum and the maximum of two words, and the set of
 * failed members as a bitmap. A root gathers the votes (phase 1) and sends its decision down (phase
 * 2). When it fails, the attempt is aborted and the next attempt has the next member as its root; a
 * termination protocol finds a decision of the old root that a living member may have received.
 * Uniform among members that stay alive. The detector must be accurate and complete; it may lag.
 * docs/protocols/twophase.md says what of this is reconstruction.
 */
#ifndef RZ_PROTO_TWOPHASE_H
#define RZ_PROTO_TWOPHASE_H

#include <rhizome/protocol.h>

#define RZ_TWOPHASE_MEMBERS_MAX (1u << 14)

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_twophase_mutation {
    RZ_TWOPHASE_COMMIT_EARLY = 1,   /* the root commits though the vote of one child is missing */
    RZ_TWOPHASE_NO_FENCE = 2,       /* messages of members known failed are handled */
    RZ_TWOPHASE_OLD_DECISION = 4,   /* a decision of an aborted attempt is taken */
    RZ_TWOPHASE_NO_TERMINATION = 8, /* later attempts do not query for a decision */
    RZ_TWOPHASE_NO_QUERY =
        16, /* a member whose parent failed waits for a message of its grandparent */
    RZ_TWOPHASE_NO_ASKERS = 32,      /* members that asked are forgotten */
    RZ_TWOPHASE_NO_SERVE_VOTERS = 64 /* the decision is sent to children only */
};

struct rz_twophase_config {
    uint32_t n_members; /* 1..RZ_TWOPHASE_MEMBERS_MAX */
    uint32_t view;      /* written into every message; others are dropped */
    bool extremes;      /* minimum and maximum are agreed on as well: two words more per message */
    uint32_t mutations; /* enum rz_twophase_mutation, or 0 */
};

/* RZ_EVENT_CALL, call = RZ_TWOPHASE_PROPOSE: vote in the next operation; arg[0] = flag, and with
 * `extremes` arg[1] for the minimum, arg[2] for the maximum. Only when the operation before is
 * decided here. */
enum rz_twophase_call { RZ_TWOPHASE_PROPOSE };

/* RZ_ACTION_NOTIFY, what = RZ_TWOPHASE_DECIDED: operation arg[0], flag arg[1], in attempt arg[2];
 * items: bitmap of the members found failed by this decision; with `extremes`, minimum and maximum
 * behind it. */
enum rz_twophase_notice { RZ_TWOPHASE_DECIDED };

struct rz_twophase;

size_t rz_twophase_size(const struct rz_twophase_config *config);
void rz_twophase_init(struct rz_twophase *twophase, const struct rz_twophase_config *config,
                      rz_id self, rz_time now, uint64_t seed);
enum rz_more rz_twophase_step(struct rz_twophase *twophase, const struct rz_event *event,
                              struct rz_actions *out);
rz_time rz_twophase_deadline(const struct rz_twophase *twophase); /* always RZ_TIME_NEVER */
uint64_t rz_twophase_hash(const struct rz_twophase *twophase);
void rz_twophase_grow(struct rz_twophase *twophase, size_t bytes); /* never requested */

/* The number of the last operation that this member voted in / saw decided (0: none). */
uint64_t rz_twophase_proposed(const struct rz_twophase *twophase);
uint64_t rz_twophase_decided(const struct rz_twophase *twophase);

/* Whether this member knows that id has failed (its own id: the others consider it failed, and it
 * handles and sends no message any more); whether a decision found it failed. */
bool rz_twophase_knows_failed(const struct rz_twophase *twophase, rz_id id);
bool rz_twophase_agreed_failed(const struct rz_twophase *twophase, rz_id id);

#endif
