/*
 * Log2phases: agreement by a two-phase commit on a binomial tree, the baseline that ERA was
 * measured against (Hursey, Naughton, Vallee, Graham, EuroMPI 2011). Not for large groups: every
 * message carries, and every member holds, a bit per member.
 *
 * The members of an immutable view agree on operations 1, 2, 3, ..., one after the other: the
 * bit-wise AND of their flags, if wanted the minimum and the maximum of two words, and the set of
 * failed members as a bitmap. A root gathers the votes (phase 1) and sends its decision down (phase
 * 2). When it fails, the attempt is given up and the next one has the next member for its root; a
 * termination protocol finds what a living member may have got of the old decision. Uniform among
 * members that stay alive. The detector must be accurate and complete; it may lag.
 * docs/protocols/twophase.md says what of this is reconstruction.
 */
#ifndef RZ_PROTO_TWOPHASE_H
#define RZ_PROTO_TWOPHASE_H

#include <rhizome/protocol.h>

#define RZ_TWOPHASE_MEMBERS_MAX (1u << 14)

/* Faults put in on purpose, to show that the checkers find them; 0 in production. */
enum rz_twophase_mutation {
    RZ_TWOPHASE_COMMIT_EARLY = 1,    /* the root commits though the vote of one child is missing */
    RZ_TWOPHASE_NO_FENCE = 2,        /* messages of members known failed are heard */
    RZ_TWOPHASE_OLD_DECISION = 4,    /* a decision of an attempt given up is taken */
    RZ_TWOPHASE_NO_TERMINATION = 8,  /* later attempts do not ask whether somebody has decided */
    RZ_TWOPHASE_NO_QUERY = 16,       /* whose parent failed waits for its grandparent's word */
    RZ_TWOPHASE_NO_ASKERS = 32,      /* who asked is forgotten */
    RZ_TWOPHASE_NO_SERVE_VOTERS = 64 /* the decision goes to children only */
};

struct rz_twophase_config {
    uint32_t n_members; /* 1..RZ_TWOPHASE_MEMBERS_MAX */
    uint32_t view;      /* written into every message; others are dropped */
    bool extremes;      /* minimum and maximum are agreed on, too: two words more per message */
    uint32_t mutations; /* enum rz_twophase_mutation, or 0 */
};

/* RZ_EVENT_CALL, call = RZ_TWOPHASE_PROPOSE: vote in the next operation; arg[0] = flag, and with
 * `extremes` arg[1] for the minimum, arg[2] for the maximum. Only when the one before is decided
 * here. */
enum rz_twophase_call { RZ_TWOPHASE_PROPOSE };

/* RZ_ACTION_NOTIFY, what = RZ_TWOPHASE_DECIDED: operation arg[0], flag arg[1], in attempt arg[2];
 * items: bitmap of the members that this decision found failed; with `extremes`, behind it minimum
 * and maximum. */
enum rz_twophase_notice { RZ_TWOPHASE_DECIDED };

struct rz_twophase;

size_t rz_twophase_size(const struct rz_twophase_config *config);
void rz_twophase_init(struct rz_twophase *twophase, const struct rz_twophase_config *config,
                      rz_id self, rz_time now, uint64_t seed);
enum rz_more rz_twophase_step(struct rz_twophase *twophase, const struct rz_event *event,
                              struct rz_actions *out);
rz_time rz_twophase_deadline(const struct rz_twophase *twophase); /* always RZ_TIME_NEVER */
uint64_t rz_twophase_hash(const struct rz_twophase *twophase);
void rz_twophase_grow(struct rz_twophase *twophase, size_t bytes); /* never asked for */

/* The number of the last operation this member voted in / saw decided (0: none). */
uint64_t rz_twophase_proposed(const struct rz_twophase *twophase);
uint64_t rz_twophase_decided(const struct rz_twophase *twophase);

/* Whether this member knows that id has failed (of itself: the others hold it for failed, and it
 * hears and says nothing any more); whether a decision said so. */
bool rz_twophase_knows_failed(const struct rz_twophase *twophase, rz_id id);
bool rz_twophase_agreed_failed(const struct rz_twophase *twophase, rz_id id);

#endif
