/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-phase commit decides the flag and the failed members; minimum and maximum are carried
 * behind the bitmap (`extremes`).
 */
#include "mpi/agree/agreement_state.h"

#include "proto/twophase/twophase.h"

RZ_PROTOCOL(twophase, RZ_PROTOCOL_TWOPHASE);

static bool open_core(struct rz_agreement *agreement)
{
    const struct rz_twophase_config core = {.n_members = agreement->config.n_members,
                                            .view = (uint32_t)agreement->config.context,
                                            .extremes = true};
    return rz_embedded_open(&agreement->core, &rz_protocol_twophase, &core, agreement->config.self,
                            0, 0);
}

/* Lists the failed members of all decisions so far. */
static void list_failed(struct rz_agreement *agreement)
{
    uint32_t n = 0;
    for (rz_id id = 0; id < agreement->config.n_members; id++) {
        if (rz_twophase_agreed_failed(agreement->core.state, id)) {
            agreement->failed[n++] = id;
        }
    }
    agreement->decision.failed = agreement->failed;
    agreement->decision.n_failed = n;
}

static void twophase_told(struct rz_agreement *agreement, const struct rz_action *action)
{
    struct rz_decision *decision = &agreement->decision;
    decision->number = action->arg[0];
    decision->and = action->arg[1];
    decision->min = action->items[action->n_items - 2];
    decision->max = action->items[action->n_items - 1];
    list_failed(agreement);
    agreement->decided = true;
}

static void twophase_propose(struct rz_agreement *agreement)
{
    rz_agreement_step(agreement, &agreement->core,
                      &(struct rz_event){.kind = RZ_EVENT_CALL,
                                         .call = RZ_TWOPHASE_PROPOSE,
                                         .arg = {agreement->and, agreement->min, agreement->max}},
                      twophase_told);
}

static void twophase_message(struct rz_agreement *agreement, const struct rz_event *event)
{
    if (event->message->protocol == RZ_PROTOCOL_TWOPHASE) {
        rz_agreement_step(agreement, &agreement->core, event, twophase_told);
    }
}

static void twophase_failure(struct rz_agreement *agreement, rz_id member)
{
    rz_agreement_step(agreement, &agreement->core,
                      &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = &member, .n_ids = 1},
                      twophase_told);
}

static bool twophase_knows_failed(const struct rz_agreement *agreement, rz_id member)
{
    return rz_twophase_knows_failed(agreement->core.state, member);
}

const struct rz_agreement_class rz_agreement_twophase = {
    .open = open_core,
    .propose = twophase_propose,
    .message = twophase_message,
    .failure = twophase_failure,
    .knows_failed = twophase_knows_failed,
};
