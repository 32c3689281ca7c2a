/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement that returns early (ERA: Herault et al., SC'15; ULFM), with rules F1 to F4 of
 * docs/protocols/agree.md.
 *
 * The members of an immutable view agree on a value per operation. Operations are numbered 1, 2, 3,
 * ...; each member proposes them in this order, and several may be in flight. The decision combines
 * the proposals of all members that decide: bit-wise AND of `and`, minimum of `min`, maximum of
 * `max`, union of sorted `items`, and the union of the members found failed. Uniform among members
 * that stay alive.
 *
 * The host reports failures by RZ_EVENT_FAILURE. A message of a member known failed is dropped here
 * (F1), not in the host. A member that learns of its own failure, by an event or by a decision,
 * handles and sends no message any more: rz_agree_knows_failed() of itself is true then. All
 * operators are idempotent: a contribution may be merged twice after a repair of the tree. There is
 * no operator OR, because the notice of a decision has three arguments for values: OR(x) is
 * ~AND(~x), so a host that needs OR proposes the complement in `and`.
 */
#ifndef RZ_PROTO_AGREE_H
#define RZ_PROTO_AGREE_H

#include <rhizome/protocol.h>

/* See agree_tree.h. */
enum rz_agree_tree { RZ_AGREE_BINARY, RZ_AGREE_BIN_STAR, RZ_AGREE_BIN_BIN, RZ_AGREE_TREE_COUNT };

/* Deliberate faults, which prove that the checkers find them; 0 in production. */
enum rz_agree_mutation {
    RZ_AGREE_NO_FENCE = 1,            /* without F1 */
    RZ_AGREE_NO_SERVE_GATHERED = 2,   /* without F2 */
    RZ_AGREE_NO_REMEMBER_ASKER = 4,   /* without F3 */
    RZ_AGREE_NO_EARLY_REQUESTERS = 8, /* an UP that arrives while BROADCASTING is forgotten */
    RZ_AGREE_NO_RESULT_REQUEST = 16,  /* a new root sends no REQUEST */
    RZ_AGREE_NO_RESEND_UP = 32,       /* a child that gets a REQUEST does not send its UP again */
    RZ_AGREE_NO_LAG = 64, /* without F4: the tree leaves out all members agreed failed here */
    RZ_AGREE_COLLECT_EARLY = 128 /* a decision is forgotten when the next one is reported here */
};

struct rz_agree_config {
    uint32_t n_members; /* >= 1 */
    uint32_t view;      /* written into every message; others are dropped */
    uint32_t
        in_flight_max;  /* operations between the oldest undecided one here and the newest, >= 1 */
    uint32_t items_max; /* items of one value to begin with; grows by RZ_NEED */
    enum rz_agree_tree tree;
    uint32_t per_node;  /* for bin/star and bin/bin: so many consecutive ids are one node; 0: 1 */
    uint32_t mutations; /* enum rz_agree_mutation, or 0 */
};

/*
 * RZ_EVENT_CALL, call = RZ_AGREE_PROPOSE: contribute to the next operation of this member. arg[0] =
 * and, arg[1] = min, arg[2] = max; items[0..n_items) sorted, without duplicates.
 *
 * call = RZ_AGREE_TAKE: a cached decision (below) of member arg[0] on operation arg[1], with arg[2]
 * failed, was found: items[0..n_items). Has the effect of the message that rz_agree_is_cached makes
 * of it, if it makes one.
 */
enum rz_agree_call { RZ_AGREE_PROPOSE, RZ_AGREE_TAKE };

/*
 * RZ_ACTION_NOTIFY, what = RZ_AGREE_DECIDED: operation arg[0] is decided; its value is in
 * arg[1..3], in the order of RZ_EVENT_CALL; items: the union. The failed members of the decision
 * are in rz_agree_failed(). RZ_AGREE_REQUESTED: another member has begun operation arg[0], to which
 * this member has not contributed yet. Each is reported once.
 */
enum rz_agree_notice { RZ_AGREE_DECIDED, RZ_AGREE_REQUESTED };

struct rz_agree;

size_t rz_agree_size(const struct rz_agree_config *config);
void rz_agree_init(struct rz_agree *agree, const struct rz_agree_config *config, rz_id self,
                   rz_time now, uint64_t seed);
enum rz_more rz_agree_step(struct rz_agree *agree, const struct rz_event *event,
                           struct rz_actions *out);
rz_time
rz_agree_deadline(const struct rz_agree *agree); /* always RZ_TIME_NEVER: agreement has no timers */
uint64_t rz_agree_hash(const struct rz_agree *agree);
void rz_agree_grow(struct rz_agree *agree, size_t bytes);

/* The number of the last operation that this member proposed / saw decided (0: none). */
uint64_t rz_agree_proposed(const struct rz_agree *agree);
uint64_t rz_agree_decided(const struct rz_agree *agree);

/* The members agreed failed by all decisions so far, sorted; *n of them; valid until the next step.
 */
const rz_id *rz_agree_failed(const struct rz_agree *agree, uint32_t *n);

/* A member that this one waits for in the oldest operation that it proposed and that is not
 * decided: a child that has not contributed, or the parent. One of several, for reports;
 * RZ_ID_NONE: none. */
rz_id rz_agree_awaited(const struct rz_agree *agree);

/*
 * Cached decisions: a member that has decided may have returned, and answers late. Its host may
 * store its answer where other hosts can read it; they take it in place of the answer.
 *
 * rz_agree_asked: a member from which this one awaits the decision, in the oldest operation that it
 * proposed and that is not decided: the parent that its UP went to, or, of the children that a new
 * root has sent a REQUEST to, the one of number `turn` modulo their number; RZ_ID_NONE: none. Only
 * a cached decision of such a member may be taken: all other living members could be ignorant of a
 * decision that came from another one. And it may be taken only if it was found after that member
 * was asked and while no member knew of its failure: then that member could have answered itself.
 * Otherwise two decisions are possible (the scenario of the mutant in docs/protocols/agree.md,
 * "Cached decisions").
 *
 * rz_agree_cached: the answer of this member on a decided operation that it still keeps, as a
 * message and its items; NULL: it keeps none. rz_agree_is_cached: makes the message that carries a
 * cached decision of `from` (n_failed: its word[0]), to be received as any other; false: `from` was
 * not asked, or the operation is another one.
 */
rz_id rz_agree_asked(const struct rz_agree *agree, uint32_t turn);
const uint64_t *rz_agree_cached(const struct rz_agree *agree, uint64_t number,
                                struct rz_message *message);
bool rz_agree_is_cached(const struct rz_agree *agree, rz_id from, uint64_t number,
                        uint64_t n_failed, uint32_t n_items, struct rz_message *message);

/* Whether this member knows that id has failed (agreed or not). */
bool rz_agree_knows_failed(const struct rz_agree *agree, rz_id id);

#endif
