/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement engines: how an agreement context decides its proposals. Each engine hosts a protocol
 * core that the simulator runs as well (src/proto/{agree,twophase,gossip}), behind one interface:
 * proposals, messages, failures and time in; messages and decisions out. docs/agreement-engines.md
 * compares the engines and says what each guarantees.
 *
 * An engine knows members by number, and no process, communicator or clock. Proposals are made one
 * at a time: the next one after the decision on the one before was taken with rz_agreement_take.
 */
#ifndef RZ_MPI_AGREEMENT_H
#define RZ_MPI_AGREEMENT_H

#include "host/embedded.h"

enum rz_agreement_engine {
    RZ_AGREEMENT_ERA,      /* early-returning agreement (src/proto/agree; Herault et al., SC'15) */
    RZ_AGREEMENT_TWOPHASE, /* two-phase commit (src/proto/twophase) */
    RZ_AGREEMENT_GOSSIP1,  /* gossip, checked by ERA (src/proto/gossip): matrix, */
    RZ_AGREEMENT_GOSSIP2,  /* list, */
    RZ_AGREEMENT_GOSSIP3,  /* push-sum */
    RZ_AGREEMENT_ENGINES
};

/* The environment variable that names the job's engine, as rzrun --agree sets it. */
#define RZ_AGREEMENT_ENVIRONMENT "RZ_AGREE"

/* The variable that names ERA's tree for the job: binary, star (bin/star) or bin (bin/bin over
 * nodes). rzrun sets star where it starts more ranks than there are processors. */
#define RZ_AGREEMENT_TREE_ENVIRONMENT "RZ_AGREE_TREE"

/* A build without RZ_ENGINES has only ERA. */
#if RZ_ENGINES
#define RZ_AGREEMENT_NAMES "era, twophase, gossip1, gossip2 or gossip3"
#else
#define RZ_AGREEMENT_NAMES "era: this build of Rhizome has no other engine (cmake -DRZ_ENGINES=ON)"
#endif

/* "era", ...; NULL: no such engine. rz_agreement_find is the inverse; RZ_AGREEMENT_ENGINES: no such
 * name. */
const char *rz_agreement_name(enum rz_agreement_engine engine);
enum rz_agreement_engine rz_agreement_find(const char *name);

/* The engine of the job: the one that the environment names, otherwise ERA. */
enum rz_agreement_engine rz_agreement_of_job(void);

/* Whether the environment names an existing engine and an existing tree, or none; otherwise *name
 * is the variable, and *words its permitted values. */
bool rz_agreement_environment_is_known(const char **name, const char **words);

/* The engine of n_members where `wanted` is requested: ERA, if they are too many (or only one) for
 * that engine. */
enum rz_agreement_engine rz_agreement_for(enum rz_agreement_engine wanted, uint32_t n_members);

struct rz_agreement_config {
    enum rz_agreement_engine engine; /* a result of rz_agreement_for */
    uint32_t n_members, per_node;    /* per_node: as in struct rz_agree_config; 0: not known */
    rz_id self;
    uint64_t context; /* seed of the numbers of views and of random numbers; equal at all members */
    uint32_t cycles_max; /* of gossip, for tests; 0: the default of its core */
};

/* The host of the engine. Neither function may call the engine. */
struct rz_agreement_host {
    void (*send)(void *arg, const struct rz_action *action); /* sends to each of action->to */
    void (*no_memory)(void) __attribute__((noreturn));
    void *arg;
};

/* A decision: the bits that all deciding members proposed, the minimum, the maximum, and all
 * members agreed to have failed so far, sorted. */
struct rz_decision {
    uint64_t number; /* number of the decision, counted from 1 */
    uint64_t and, min, max;
    const rz_id *failed; /* valid until the next call */
    uint32_t n_failed;
};

struct rz_agreement;

/* NULL: no memory. */
struct rz_agreement *rz_agreement_open(const struct rz_agreement_config *config,
                                       const struct rz_agreement_host *host);
void rz_agreement_close(struct rz_agreement *agreement);

/* The events. now: of one monotonic clock. Messages without use are dropped. */
void rz_agreement_propose(struct rz_agreement *agreement, rz_time now, uint64_t and, uint64_t min,
                          uint64_t max);
void rz_agreement_message(struct rz_agreement *agreement, rz_time now,
                          const struct rz_message *message, const uint64_t *items);
void rz_agreement_failure(struct rz_agreement *agreement, rz_time now, rz_id member);
void rz_agreement_tick(struct rz_agreement *agreement, rz_time now);

/* When to call rz_agreement_tick, or RZ_TIME_NEVER. */
rz_time rz_agreement_deadline(const struct rz_agreement *agreement);

/* The decision on the last proposal: true once, when it has been made. */
bool rz_agreement_take(struct rz_agreement *agreement, struct rz_decision *decision);

enum rz_agreement_engine rz_agreement_engine_of(const struct rz_agreement *agreement);

/* How many proposals this member has made. */
uint64_t rz_agreement_proposed(const struct rz_agreement *agreement);

/* Whether this member knows that `member` has failed. True for itself: the others consider it
 * failed, and it must end. */
bool rz_agreement_knows_failed(const struct rz_agreement *agreement, rz_id member);

/* A member that this member waits for in its last proposal, for reports; RZ_ID_NONE: it waits for
 * none, or for no particular one. */
rz_id rz_agreement_awaited(const struct rz_agreement *agreement);

/*
 * Cached decisions (proto/agree/agree.h). rz_agreement_asked: the member that this one has asked
 * for the decision. rz_agreement_cached: what this member would answer itself about a decided
 * proposal, as a message and its items, or NULL. rz_agreement_is_cached: the message that a cached
 * decision of `from` stands for, or false. Only for ERA, and for the check of gossip; two-phase
 * commit neither asks nor caches.
 */
rz_id rz_agreement_asked(const struct rz_agreement *agreement, uint32_t turn);
const uint64_t *rz_agreement_cached(const struct rz_agreement *agreement, uint64_t number,
                                    struct rz_message *message);
bool rz_agreement_is_cached(const struct rz_agreement *agreement, rz_id from, uint64_t number,
                            uint64_t n_failed, uint32_t n_items, struct rz_message *message);

/*
 * Whether messages of this component belong to an engine; and the number, counted from 1, of the
 * proposal that a message is about. The sender of a message about the second proposal has seen that
 * this member has decided the first.
 */
bool rz_agreement_speaks(enum rz_protocol_number room);
uint64_t rz_agreement_proposal_of(uint64_t context, const struct rz_message *message);

/* How many decisions this process has taken, by engine; and how often the result of gossip was not
 * confirmed, so that the check's decision was used. */
struct rz_agreement_counters {
    uint64_t decided[RZ_AGREEMENT_ENGINES], fallbacks;
};
extern struct rz_agreement_counters rz_agreement_counters;

#endif
