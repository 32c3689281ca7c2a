/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement engines: what an agreement context settles its proposals with. Each hosts the protocol
 * cores that the simulator runs (src/proto/{agree,twophase,gossip}) behind one face: propose,
 * messages, failures, time in; messages and decisions out. docs/agreement-engines.md compares them
 * and says what each guarantees.
 *
 * An engine knows members by number, no processes, no communicator and no clock. Proposals are
 * proposed one at a time: the next one when the one before was taken with rz_agreement_take.
 */
#ifndef RZ_MPI_AGREEMENT_H
#define RZ_MPI_AGREEMENT_H

#include "host/embedded.h"

enum rz_agreement_engine {
    RZ_AGREEMENT_ERA,      /* agreement that returns early (src/proto/agree) */
    RZ_AGREEMENT_TWOPHASE, /* two-phase commit (src/proto/twophase) */
    RZ_AGREEMENT_GOSSIP1,  /* gossip, checked by ERA (src/proto/gossip): matrix, */
    RZ_AGREEMENT_GOSSIP2,  /* list, */
    RZ_AGREEMENT_GOSSIP3,  /* push-sum */
    RZ_AGREEMENT_ENGINES
};

/* The environment variable that names the job's engine, as rzrun --agree sets it. */
#define RZ_AGREEMENT_ENVIRONMENT "RZ_AGREE"

/* The one that names ERA's tree for the job: binary, star (bin/star) or bin (bin/bin over nodes).
 * rzrun says star where it starts more ranks than there are processors. */
#define RZ_AGREEMENT_TREE_ENVIRONMENT "RZ_AGREE_TREE"

/* A build without RZ_ENGINES has ERA alone. */
#if RZ_ENGINES
#define RZ_AGREEMENT_NAMES "era, twophase, gossip1, gossip2 or gossip3"
#else
#define RZ_AGREEMENT_NAMES "era: this build of Rhizome has no other engine (cmake -DRZ_ENGINES=ON)"
#endif

/* "era", ...; NULL: no such engine. And back; RZ_AGREEMENT_ENGINES: no such name. */
const char *rz_agreement_name(enum rz_agreement_engine engine);
enum rz_agreement_engine rz_agreement_find(const char *name);

/* The engine of the job: what the environment names, else ERA. */
enum rz_agreement_engine rz_agreement_of_job(void);

/* Whether the environment names an engine and a tree that there are, or none; else *name is the
 * variable, and *words are those that it may have. */
bool rz_agreement_environment_is_known(const char **name, const char **words);

/* What n_members settle their proposals with where `wanted` was asked for: ERA, where they are too
 * many (or only one) for it. */
enum rz_agreement_engine rz_agreement_for(enum rz_agreement_engine wanted, uint32_t n_members);

struct rz_agreement_config {
    enum rz_agreement_engine engine; /* as rz_agreement_for gives it */
    uint32_t n_members, per_node;    /* per_node: of struct rz_agree_config; 0: no such row */
    rz_id self;
    uint64_t context; /* what numbers of views and random draws come from; alike at all members */
    uint32_t cycles_max; /* of gossip, for tests; 0: as many as its core says */
};

/* Who hosts the engine. Neither function may call the engine. */
struct rz_agreement_host {
    void (*send)(void *arg, const struct rz_action *action); /* to each of action->to */
    void (*no_memory)(void) __attribute__((noreturn));
    void *arg;
};

/* What was decided: the bits that all who decide proposed, minimum, maximum, and all members that
 * were agreed failed so far, sorted. */
struct rz_decision {
    uint64_t number; /* of the decision, from 1 */
    uint64_t and, min, max;
    const rz_id *failed; /* valid until the next call */
    uint32_t n_failed;
};

struct rz_agreement;

/* NULL: no memory. */
struct rz_agreement *rz_agreement_open(const struct rz_agreement_config *config,
                                       const struct rz_agreement_host *host);
void rz_agreement_close(struct rz_agreement *agreement);

/* The events. now: of one monotonic clock. A message that is of no use is dropped. */
void rz_agreement_propose(struct rz_agreement *agreement, rz_time now, uint64_t and, uint64_t min,
                          uint64_t max);
void rz_agreement_message(struct rz_agreement *agreement, rz_time now,
                          const struct rz_message *message, const uint64_t *items);
void rz_agreement_failure(struct rz_agreement *agreement, rz_time now, rz_id member);
void rz_agreement_tick(struct rz_agreement *agreement, rz_time now);

/* When to call rz_agreement_tick, or RZ_TIME_NEVER. */
rz_time rz_agreement_deadline(const struct rz_agreement *agreement);

/* The decision on what was proposed last: true once, when it is there. */
bool rz_agreement_take(struct rz_agreement *agreement, struct rz_decision *decision);

enum rz_agreement_engine rz_agreement_engine_of(const struct rz_agreement *agreement);

/* How many proposals were proposed here. */
uint64_t rz_agreement_proposed(const struct rz_agreement *agreement);

/* Whether it is known here that the member has failed; of this member itself: the others hold it
 * for failed, and it must end. */
bool rz_agreement_knows_failed(const struct rz_agreement *agreement, rz_id member);

/* Whom this member waits for in the proposal that it proposed: one of them, for reports;
 * RZ_ID_NONE: nobody, or nobody in particular. */
rz_id rz_agreement_awaited(const struct rz_agreement *agreement);

/*
 * Cached decisions (proto/agree/agree.h): whom this member has asked for the decision; what it
 * would answer itself on a proposal that was decided, as a message and its items, or NULL; the
 * message that brings a cached decision of `from`, or false. Of ERA, and of the check of gossip;
 * two-phase commit asks nobody and cached decisions nothing.
 */
rz_id rz_agreement_asked(const struct rz_agreement *agreement, uint32_t turn);
const uint64_t *rz_agreement_cached(const struct rz_agreement *agreement, uint64_t number,
                                    struct rz_message *message);
bool rz_agreement_is_cached(const struct rz_agreement *agreement, rz_id from, uint64_t number,
                            uint64_t n_failed, uint32_t n_items, struct rz_message *message);

/* Whether messages of this component are of some engine; and then the number of the proposal that
 * the message is about, from 1. Who speaks of the second has seen this member decide the first. */
bool rz_agreement_speaks(enum rz_protocol_number room);
uint64_t rz_agreement_proposal_of(uint64_t context, const struct rz_message *message);

/* What this process has seen decided, by engine, and how often what gossip had found could not be
 * told and the check's decision was. */
struct rz_agreement_counters {
    uint64_t decided[RZ_AGREEMENT_ENGINES], fallbacks;
};
extern struct rz_agreement_counters rz_agreement_counters;

#endif
