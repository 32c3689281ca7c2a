/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of agreement and the declarations that its files share; only this component, its
 * checkers and its tests include this header.
 *
 * One flat block: struct rz_agree, the sorted lists `failed` and `agreed` (with the operation that
 * agreed each), then a ring of operations. An operation is in slot seq % n_slots, whether it is
 * open or decided: the decided ones are the store from which late requests are answered. Three
 * times in_flight_max slots suffice (W = in_flight_max, D = decided):
 *   - a member that contributes to D has decided D - W, so that what decision D collects reaches at
 * least that far;
 *   - a peer is at most W ahead of what it has decided, and that is at most what we have proposed,
 * D + W.
 *
 * Messages. seq is the operation. UP and DOWN carry a value; word[0] is the number of its failed
 * members:
 *   items[0] and, items[1] min, items[2] max, items[3] settled: every contributor has decided the
 * operations up to it, then word[0] ids of failed members (sorted, one per item), then the union of
 * items (sorted). REQUEST carries nothing. An operation keeps its value in just this form, so that
 * a message is a pointer to it.
 */
#ifndef RZ_PROTO_AGREE_PRIVATE_H
#define RZ_PROTO_AGREE_PRIVATE_H

#include "proto/mutation.h"
#include "base/assert.h"
#include "proto/agree/agree.h"
#include "proto/agree/agree_tree.h"

enum rz_agree_message { RZ_AGREE_UP, RZ_AGREE_DOWN, RZ_AGREE_REQUEST, RZ_AGREE_MESSAGE_COUNT };

enum rz_agree_value_word {
    RZ_AGREE_AND,
    RZ_AGREE_MIN,
    RZ_AGREE_MAX,
    RZ_AGREE_SETTLED,
    RZ_AGREE_VALUE_WORDS
};

enum rz_agree_status {
    RZ_AGREE_FREE,
    RZ_AGREE_NOT_CONTRIBUTED, /* another member began it */
    RZ_AGREE_GATHERING,       /* contributed; waits for the children */
    RZ_AGREE_BROADCASTING,    /* the UP is sent; waits for the decision */
    RZ_AGREE_COMPLETED
};

enum rz_agree_role {
    RZ_AGREE_GATHERED = 1, /* its UP is merged into the value */
    RZ_AGREE_ASKED = 2,    /* a REQUEST was sent to it */
    RZ_AGREE_ASKER = 4     /* it waits for our decision */
};

/* A member that exchanged messages about an operation here; their number grows with failures, not
 * with members. */
struct rz_agree_peer {
    rz_id id;
    uint32_t roles;
};

/* Followed by peers[peers_max] (sorted by id), base[ids_max], to[peers_max] and the value. */
struct rz_agree_op {
    uint64_t seq;
    uint32_t status;
    uint32_t asking; /* this member became root while BROADCASTING: a child may hold a decision */
    uint32_t resend; /* a REQUEST came while BROADCASTING: send the UP again */
    rz_id parent;    /* where the last UP went */
    rz_id giver;     /* COMPLETED: the member that sent the decision; the own id at the root */
    uint32_t n_peers;
    uint32_t n_base; /* members agreed failed when seq - in_flight_max was decided: the same at all
                        members */
    uint32_t n_failed; /* parts of the value */
    uint32_t n_items;
    uint32_t zero;
};

struct rz_agree {
    struct rz_agree_config config;
    rz_id self;
    uint32_t stopped; /* the own failure is known: no message is sent or handled any more */
    rz_id late;       /* destination of an answer from the store */
    uint32_t n_slots;
    /* Capacities: of every list of failed, of the peers and destinations of an operation, of the
     * items of a value; the first two are even. */
    uint32_t ids_max, peers_max, items_max;
    uint32_t ids_want, peers_want, items_want; /* requested with RZ_NEED */
    uint32_t n_failed, n_agreed;
    uint32_t zero;
    uint64_t proposed, decided;
    uint64_t
        collected; /* operations up to it are forgotten: all living members have decided them */
    uint64_t heard, told; /* the newest operation in any message; the newest that was reported by
                             REQUESTED or proposed here */
    uint64_t review_next; /* cursor over RZ_MORE: the next operation to review after an event */
};

/* agree_layout.c */
rz_id *rz_agree_failed_list(const struct rz_agree *agree);
rz_id *rz_agree_agreed_list(const struct rz_agree *agree);
uint64_t *rz_agree_agreed_at(
    const struct rz_agree *agree); /* the operation that agreed each of agreed_list */
struct rz_agree_op *rz_agree_op_slot(const struct rz_agree *agree, uint64_t seq);
struct rz_agree_peer *rz_agree_op_peers(const struct rz_agree *agree, const struct rz_agree_op *op);
rz_id *rz_agree_op_base(const struct rz_agree *agree, const struct rz_agree_op *op);
rz_id *rz_agree_op_to(const struct rz_agree *agree, const struct rz_agree_op *op);
uint64_t *rz_agree_op_value(const struct rz_agree *agree, const struct rz_agree_op *op);
/* Whether the block is large enough for `event`, whatever follows from it; if not, out->need is set
 * and nothing else changes. */
bool rz_agree_fits(struct rz_agree *agree, const struct rz_event *event, struct rz_actions *out);

/* agree_op.c: operations, peers, failures. */
struct rz_agree_op *rz_agree_op_find(const struct rz_agree *agree, uint64_t seq); /* or NULL */
struct rz_agree_op *rz_agree_op_open(struct rz_agree *agree, uint64_t seq); /* find or begin */
void rz_agree_op_mark(struct rz_agree *agree, struct rz_agree_op *op, rz_id id, uint32_t role);
uint32_t rz_agree_op_roles(const struct rz_agree *agree, const struct rz_agree_op *op, rz_id id);
struct rz_agree_tree_view rz_agree_op_tree(const struct rz_agree *agree,
                                           const struct rz_agree_op *op);
void rz_agree_learn_failure(struct rz_agree *agree, rz_id id);
static inline bool rz_agree_mutated(const struct rz_agree *agree, enum rz_agree_mutation mutation)
{
    return RZ_MUTATED(agree->config.mutations, mutation);
}
void rz_agree_send(struct rz_agree *agree, const struct rz_agree_op *op, enum rz_agree_message type,
                   const rz_id *to, uint32_t n_to, struct rz_actions *out);

/* agree_value.c */
struct rz_agree_parts {
    const uint64_t *words, *failed, *items;
    uint32_t n_failed, n_items;
};
bool rz_agree_value_valid(const struct rz_agree *agree, const struct rz_message *message,
                          const uint64_t *items);
struct rz_agree_parts rz_agree_parts_of_message(const struct rz_message *message,
                                                const uint64_t *items);
struct rz_agree_parts rz_agree_parts_of_op(const struct rz_agree *agree,
                                           const struct rz_agree_op *op);
void rz_agree_value_clear(struct rz_agree *agree, struct rz_agree_op *op);
void rz_agree_value_merge(struct rz_agree *agree, struct rz_agree_op *op,
                          const struct rz_agree_parts *parts);
void rz_agree_value_replace(struct rz_agree *agree, struct rz_agree_op *op,
                            const struct rz_agree_parts *parts);
void rz_agree_value_seal(struct rz_agree *agree, struct rz_agree_op *op);

/* One file per kind of event. An event changes the state; the review of the operations sends what
 * follows from it. The review examines each open operation after every event and takes at most one
 * step there, so that an operation sends at most once. */
void rz_agree_propose(struct rz_agree *agree, const struct rz_event *event);
void rz_agree_receive_up(struct rz_agree *agree, const struct rz_event *event,
                         struct rz_actions *out);
void rz_agree_receive_down(struct rz_agree *agree, const struct rz_event *event,
                           struct rz_actions *out);
void rz_agree_receive_request(struct rz_agree *agree, const struct rz_event *event,
                              struct rz_actions *out);
void rz_agree_review(struct rz_agree *agree, struct rz_agree_op *op, struct rz_actions *out);

/* agree_store.c: decided operations. */
void rz_agree_complete(struct rz_agree *agree, struct rz_agree_op *op, rz_id giver,
                       struct rz_actions *out);
void rz_agree_answer(struct rz_agree *agree, const struct rz_agree_op *op, rz_id asker,
                     struct rz_actions *out);
bool rz_agree_decision_ready(
    const struct rz_agree *agree); /* the next operation is decided and not reported yet */
void rz_agree_decision_tell(struct rz_agree *agree, struct rz_actions *out);

#endif
