/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the engine of an agreement context, steps its protocol core event by event, and offers
 * the common interface over the engines' classes (agreement_state.h).
 */
#include "mpi/agree/agreement_state.h"

#include "base/assert.h"
#include "port/kill_point.h"
#include "proto/agree/agree.h"
#include "proto/twophase/twophase.h"

#include <stdlib.h>
#include <string.h>

struct rz_agreement_counters rz_agreement_counters;

/* The matrix has (number of members)^2 bits, in each message as well. */
#define GOSSIP1_MEMBERS_MAX 2048

static const struct {
    const char *name;
    const struct rz_agreement_class *class;
    uint32_t members_max; /* 0: no limit */
} engines[RZ_AGREEMENT_ENGINES] = {
    [RZ_AGREEMENT_ERA] = {"era", &rz_agreement_era, 0},
#if RZ_ENGINES
    [RZ_AGREEMENT_TWOPHASE] = {"twophase", &rz_agreement_twophase, RZ_TWOPHASE_MEMBERS_MAX},
    [RZ_AGREEMENT_GOSSIP1] = {"gossip1", &rz_agreement_gossip, GOSSIP1_MEMBERS_MAX},
    [RZ_AGREEMENT_GOSSIP2] = {"gossip2", &rz_agreement_gossip, 0},
    [RZ_AGREEMENT_GOSSIP3] = {"gossip3", &rz_agreement_gossip, 0},
#endif
};

/* ---- Choosing an engine ---- */

const char *rz_agreement_name(enum rz_agreement_engine engine)
{
    return engine < RZ_AGREEMENT_ENGINES ? engines[engine].name : NULL;
}

enum rz_agreement_engine rz_agreement_find(const char *name)
{
    enum rz_agreement_engine engine = RZ_AGREEMENT_ERA;
    while (engine < RZ_AGREEMENT_ENGINES &&
           (!engines[engine].name || strcmp(engines[engine].name, name) != 0)) {
        engine++;
    }
    return engine;
}

enum rz_agreement_engine rz_agreement_of_job(void)
{
    const char *name = getenv(RZ_AGREEMENT_ENVIRONMENT);
    enum rz_agreement_engine engine = name ? rz_agreement_find(name) : RZ_AGREEMENT_ERA;
    return engine < RZ_AGREEMENT_ENGINES ? engine : RZ_AGREEMENT_ERA;
}

bool rz_agreement_environment_is_known(const char **name, const char **words)
{
    const char *engine = getenv(RZ_AGREEMENT_ENVIRONMENT);
    if (engine && *engine != '\0' && rz_agreement_find(engine) == RZ_AGREEMENT_ENGINES) {
        *name = RZ_AGREEMENT_ENVIRONMENT;
        *words = RZ_AGREEMENT_NAMES;
        return false;
    }
    *name = RZ_AGREEMENT_TREE_ENVIRONMENT;
    *words = "binary, star or bin";
    return rz_agreement_era_knows_tree(getenv(RZ_AGREEMENT_TREE_ENVIRONMENT));
}

enum rz_agreement_engine rz_agreement_for(enum rz_agreement_engine wanted, uint32_t n_members)
{
    uint32_t most = engines[wanted].members_max;
    return n_members < 2 || (most != 0 && n_members > most) ? RZ_AGREEMENT_ERA : wanted;
}

/* ---- Opening and closing ---- */

struct rz_agreement *rz_agreement_open(const struct rz_agreement_config *config,
                                       const struct rz_agreement_host *host)
{
    struct rz_agreement *agreement = calloc(1, sizeof(*agreement));
    if (!agreement) {
        return NULL;
    }
    agreement->config = *config;
    agreement->host = *host;
    agreement->class = engines[config->engine].class;
    agreement->failed = malloc(config->n_members * sizeof(rz_id));
    if (!agreement->failed || !agreement->class->open(agreement)) {
        free(agreement->failed);
        free(agreement);
        return NULL;
    }
    return agreement;
}

void rz_agreement_close(struct rz_agreement *agreement)
{
    if (!agreement) {
        return;
    }
    if (agreement->class->close) {
        agreement->class->close(agreement);
    }
    rz_embedded_close(&agreement->core);
    free(agreement->failed);
    free(agreement);
}

/* ---- Stepping cores ---- */

struct step {
    struct rz_agreement *agreement;
    void (*told)(struct rz_agreement *agreement, const struct rz_action *action);
};

static void carry_out(void *arg, const struct rz_actions *actions)
{
    const struct step *step = arg;
    struct rz_agreement *agreement = step->agreement;
    rz_kill_here(RZ_KILL_STEP);
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->v[i].kind != RZ_ACTION_SEND) {
            step->told(agreement, &actions->v[i]);
            continue;
        }
        if (agreement->class->sending) {
            agreement->class->sending(agreement, &actions->v[i]);
        }
        agreement->host.send(agreement->host.arg, &actions->v[i]);
    }
}

void rz_agreement_step(struct rz_agreement *agreement, struct rz_embedded *core,
                       const struct rz_event *event,
                       void (*told)(struct rz_agreement *agreement, const struct rz_action *action))
{
    struct step step = {agreement, told};
    if (!rz_embedded_step(core, event, carry_out, &step)) {
        agreement->host.no_memory();
    }
}

/* ---- The interface ---- */

void rz_agreement_propose(struct rz_agreement *agreement, rz_time now, uint64_t and, uint64_t min,
                          uint64_t max)
{
    rz_assert(!agreement->decided);
    agreement->now = now;
    agreement->proposed++;
    agreement->and = and;
    agreement->min = min;
    agreement->max = max;
    agreement->class->propose(agreement);
}

void rz_agreement_message(struct rz_agreement *agreement, rz_time now,
                          const struct rz_message *message, const uint64_t *items)
{
    agreement->now = now;
    struct rz_event event = {
        .kind = RZ_EVENT_RECEIVE, .now = now, .message = message, .items = items};
    agreement->class->message(agreement, &event);
}

void rz_agreement_failure(struct rz_agreement *agreement, rz_time now, rz_id member)
{
    agreement->now = now;
    agreement->class->failure(agreement, member);
}

void rz_agreement_tick(struct rz_agreement *agreement, rz_time now)
{
    agreement->now = now;
    if (agreement->class->tick) {
        agreement->class->tick(agreement);
    }
}

rz_time rz_agreement_deadline(const struct rz_agreement *agreement)
{
    return agreement->class->deadline ? agreement->class->deadline(agreement) : RZ_TIME_NEVER;
}

bool rz_agreement_take(struct rz_agreement *agreement, struct rz_decision *decision)
{
    if (!agreement->decided) {
        return false;
    }
    agreement->decided = false;
    rz_agreement_counters.decided[agreement->config.engine]++;
    *decision = agreement->decision;
    return true;
}

enum rz_agreement_engine rz_agreement_engine_of(const struct rz_agreement *agreement)
{
    return agreement->config.engine;
}

uint64_t rz_agreement_proposed(const struct rz_agreement *agreement)
{
    return agreement->proposed;
}

bool rz_agreement_knows_failed(const struct rz_agreement *agreement, rz_id member)
{
    return agreement->class->knows_failed(agreement, member);
}

rz_id rz_agreement_awaited(const struct rz_agreement *agreement)
{
    return agreement->class->awaited ? agreement->class->awaited(agreement) : RZ_ID_NONE;
}

rz_id rz_agreement_asked(const struct rz_agreement *agreement, uint32_t turn)
{
    return agreement->class->cached ? rz_agree_asked(agreement->core.state, turn) : RZ_ID_NONE;
}

const uint64_t *rz_agreement_cached(const struct rz_agreement *agreement, uint64_t number,
                                    struct rz_message *message)
{
    return agreement->class->cached ? rz_agree_cached(agreement->core.state, number, message)
                                    : NULL;
}

bool rz_agreement_is_cached(const struct rz_agreement *agreement, rz_id from, uint64_t number,
                            uint64_t n_failed, uint32_t n_items, struct rz_message *message)
{
    return agreement->class->cached &&
           rz_agree_is_cached(agreement->core.state, from, number, n_failed, n_items, message);
}

bool rz_agreement_speaks(enum rz_protocol_number protocol)
{
    return protocol == RZ_PROTOCOL_AGREE || protocol == RZ_PROTOCOL_TWOPHASE ||
           protocol == RZ_PROTOCOL_GOSSIP;
}

/* Each proposal has a gossip of its own, identified by its view; the sequence numbers there are
 * cycles. */
uint64_t rz_agreement_proposal_of(uint64_t context, const struct rz_message *message)
{
    return message->protocol == RZ_PROTOCOL_GOSSIP ? message->view - (uint32_t)context
                                                   : message->seq;
}
