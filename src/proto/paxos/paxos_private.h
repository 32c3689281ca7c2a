/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a member, shared by the files of this component. One block: struct rz_paxos; three
 * sets of members (view, doubted, failed); destinations; the instances, sorted by number; three
 * sets for each.
 */
#ifndef RZ_PROTO_PAXOS_PRIVATE_H
#define RZ_PROTO_PAXOS_PRIVATE_H

#include "proto/paxos/paxos.h"

#define RZ_PAXOS_INSTANCES_DEFAULT 4
#define RZ_PAXOS_NO_BALLOT 0

/* The phase of this member as leader of an instance. */
enum rz_paxos_phase { RZ_PAXOS_IDLE, RZ_PAXOS_PREPARING, RZ_PAXOS_ACCEPTING, RZ_PAXOS_TELLING };

struct rz_paxos_instance {
    uint64_t number;
    /* as acceptor */
    uint64_t promised, accepted; /* ballots */
    uint64_t value;              /* accepted value; once decided, the decision */
    /* as leader */
    uint64_t ballot;      /* of this member */
    uint64_t top;         /* highest ballot seen */
    uint64_t found;       /* highest ballot accepted by the members that promised */
    uint64_t found_value; /* its value */
    uint64_t proposal;    /* proposed value, if no accepted one was found */
    rz_time due;          /* when to act next */
    rz_time began;        /* of the phase */
    uint32_t yes_heard;   /* RZ_PAXOS_COUNT_MESSAGES */
    uint8_t phase;        /* enum rz_paxos_phase */
    uint8_t vote;         /* enum rz_paxos_vote: the vote cast here */
    bool asked;           /* the host was asked */
    bool
        owes; /* a promise to the leader of ballot `promised` is pending until the host has voted */
    bool decided;
};

/* Sets of members per instance. */
enum rz_paxos_row {
    RZ_PAXOS_HEARD, /* PREPARING, ACCEPTING: answered; TELLING: knows the decision, or will request
                       it */
    RZ_PAXOS_VOTED,
    RZ_PAXOS_VOTED_YES,
    RZ_PAXOS_ROWS
};

/* Sets of members of the object. */
enum rz_paxos_set { RZ_PAXOS_MEMBERS, RZ_PAXOS_DOUBTED, RZ_PAXOS_FAILED, RZ_PAXOS_SETS };

struct rz_paxos {
    struct rz_paxos_config config; /* config.members is NULL */
    rz_id self;
    uint32_t words; /* of a set */
    uint32_t view, view_size;
    uint32_t n, max; /* instances */
    rz_time deadline;
    uint64_t seed;
    uint64_t payload[2];       /* of the PROMISE under way */
    rz_id one[RZ_ACTIONS_MIN]; /* single destinations of the actions of this step */
    uint64_t block[];
};

/* ---- paxos_store.c: sets and instances ---- */

size_t rz_paxos_bytes(uint32_t n_members, uint32_t instances_max);
uint64_t *rz_paxos_set(struct rz_paxos *paxos, enum rz_paxos_set set);
const uint64_t *rz_paxos_set_at(const struct rz_paxos *paxos, enum rz_paxos_set set);
rz_id *rz_paxos_destinations(struct rz_paxos *paxos);
uint64_t *rz_paxos_row(struct rz_paxos *paxos, const struct rz_paxos_instance *in,
                       enum rz_paxos_row row);
struct rz_paxos_instance *rz_paxos_instances(struct rz_paxos *paxos);
const struct rz_paxos_instance *rz_paxos_instances_at(const struct rz_paxos *paxos);
const struct rz_paxos_instance *rz_paxos_find_at(const struct rz_paxos *paxos, uint64_t number);
struct rz_paxos_instance *rz_paxos_find(struct rz_paxos *paxos, uint64_t number);
/* The instance, created if it is new; NULL: no memory, out->need tells the size needed. */
struct rz_paxos_instance *rz_paxos_enter(struct rz_paxos *paxos, uint64_t number,
                                         struct rz_actions *out);
uint32_t rz_paxos_row_count(struct rz_paxos *paxos, const struct rz_paxos_instance *in,
                            enum rz_paxos_row row);

static inline bool rz_paxos_bit(const uint64_t *set, rz_id id)
{
    return set[id / 64] >> (id % 64) & 1;
}

static inline void rz_paxos_bit_set(uint64_t *set, rz_id id)
{
    set[id / 64] |= UINT64_C(1) << (id % 64);
}

static inline uint32_t rz_paxos_majority(const struct rz_paxos *paxos)
{
    return paxos->view_size / 2 + 1;
}

static inline rz_id rz_paxos_ballot_owner(uint64_t ballot)
{
    return (rz_id)ballot;
}

/* ---- paxos.c: actions ---- */

struct rz_action *rz_paxos_send(struct rz_paxos *paxos, enum rz_paxos_message type,
                                const struct rz_paxos_instance *in, struct rz_actions *out);
/* To one member; self: no effect, and the action is dropped. */
void rz_paxos_reply(struct rz_paxos *paxos, enum rz_paxos_message type,
                    const struct rz_paxos_instance *in, rz_id to, const uint64_t word[2],
                    struct rz_actions *out);
void rz_paxos_tell_host(enum rz_paxos_notice what, const struct rz_paxos_instance *in,
                        struct rz_actions *out);
bool rz_paxos_out(const struct rz_paxos *paxos, rz_id id); /* doubted or failed */
/* The instance is decided here, in any way; reported to the host. */
void rz_paxos_learn(struct rz_paxos_instance *in, uint64_t value, struct rz_actions *out);

/* ---- paxos_acceptor.c ---- */

void rz_paxos_on_prepare(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                         const struct rz_event *event, struct rz_actions *out);
void rz_paxos_on_accept(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                        const struct rz_event *event, struct rz_actions *out);
/* The vote is cast: sends the promise that waited for it. */
void rz_paxos_pay(struct rz_paxos *paxos, struct rz_paxos_instance *in, struct rz_actions *out);
void rz_paxos_ask_host(struct rz_paxos_instance *in, struct rz_actions *out);

/* ---- paxos_leader.c ---- */

void rz_paxos_begin(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                    struct rz_actions *out);
void rz_paxos_on_promise(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                         const struct rz_event *event, struct rz_actions *out);
void rz_paxos_on_accepted(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                          const struct rz_event *event, struct rz_actions *out);
void rz_paxos_on_refused(struct rz_paxos *paxos, struct rz_paxos_instance *in,
                         const struct rz_event *event);
/* The leader's own vote is cast. */
void rz_paxos_own_vote(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                       struct rz_actions *out);
/* `from` knows the decision. */
void rz_paxos_on_knows(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_id from);
/* A higher ballot exists: the own one is given up. */
void rz_paxos_give_up(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now);
/* The instance is due: sends again, begins, or requests, depending on its phase. */
void rz_paxos_work(struct rz_paxos *paxos, struct rz_paxos_instance *in, rz_time now,
                   struct rz_actions *out);

#endif
