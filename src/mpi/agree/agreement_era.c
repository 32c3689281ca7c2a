/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine ERA (Herault et al., SC'15; docs/protocols/agree.md): decides flags, minimum, maximum
 * and the failed processes in one operation.
 */
#include "mpi/agree/agreement_state.h"

#include "proto/agree/agree.h"

#include <stdlib.h>
#include <string.h>

RZ_PROTOCOL(agree, RZ_PROTOCOL_AGREE);

/* RZ_AGREE_TREE_COUNT: no tree has that name. */
static enum rz_agree_tree find_tree(const char *name)
{
    static const char *const names[RZ_AGREE_TREE_COUNT] = {
        [RZ_AGREE_BINARY] = "binary", [RZ_AGREE_BIN_STAR] = "star", [RZ_AGREE_BIN_BIN] = "bin"};
    int tree = 0;
    while (tree < RZ_AGREE_TREE_COUNT && strcmp(name, names[tree]) != 0) {
        tree++;
    }
    return (enum rz_agree_tree)tree;
}

bool rz_agreement_era_knows_tree(const char *text)
{
    return !text || *text == '\0' || find_tree(text) != RZ_AGREE_TREE_COUNT;
}

/*
 * Equal at all members, since all have the environment of the job. The default is a tree within
 * each node, whose processes work in parallel. Where many processes share few processors, each
 * level of a tree costs a turn of all processes: a star has only two (docs/protocols/agree.md).
 */
static enum rz_agree_tree tree_of(const struct rz_agreement_config *config)
{
    const char *name = getenv(RZ_AGREEMENT_TREE_ENVIRONMENT);
    enum rz_agree_tree tree = name ? find_tree(name) : RZ_AGREE_TREE_COUNT;
    return config->per_node <= 1         ? RZ_AGREE_BINARY
           : tree != RZ_AGREE_TREE_COUNT ? tree
                                         : RZ_AGREE_BIN_BIN;
}

/* One proposal is under way at a time, so the failed members of the core are those of the decision
 * that is delivered. */
bool rz_agreement_era_open(struct rz_agreement *agreement)
{
    const struct rz_agreement_config *config = &agreement->config;
    const struct rz_agree_config core = {
        .n_members = config->n_members,
        .view = (uint32_t)config->context,
        .in_flight_max = 1,
        .tree = tree_of(config),
        .per_node = config->per_node,
    };
    return rz_embedded_open(&agreement->core, &rz_protocol_agree, &core, config->self, 0, 0);
}

void rz_agreement_era_decided(struct rz_agreement *agreement, const struct rz_action *action)
{
    struct rz_decision *decision = &agreement->decision;
    const rz_id *failed = rz_agree_failed(agreement->core.state, &decision->n_failed);
    memcpy(agreement->failed, failed, decision->n_failed * sizeof(*failed));
    decision->failed = agreement->failed;
    decision->number = action->arg[0];
    decision->and = action->arg[1];
    decision->min = action->arg[2];
    decision->max = action->arg[3];
    agreement->decided = true;
}

static void era_told(struct rz_agreement *agreement, const struct rz_action *action)
{
    if (action->what == RZ_AGREE_DECIDED) {
        rz_agreement_era_decided(agreement, action);
    }
}

static void era_propose(struct rz_agreement *agreement)
{
    rz_agreement_step(agreement, &agreement->core,
                      &(struct rz_event){.kind = RZ_EVENT_CALL,
                                         .call = RZ_AGREE_PROPOSE,
                                         .arg = {agreement->and, agreement->min, agreement->max}},
                      era_told);
}

static void era_message(struct rz_agreement *agreement, const struct rz_event *event)
{
    if (event->message->protocol == RZ_PROTOCOL_AGREE) {
        rz_agreement_step(agreement, &agreement->core, event, era_told);
    }
}

static void era_failure(struct rz_agreement *agreement, rz_id member)
{
    rz_agreement_step(
        agreement, &agreement->core,
        &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = &member, .n_ids = 1, .arg = {true}},
        era_told);
}

static bool era_knows_failed(const struct rz_agreement *agreement, rz_id member)
{
    return rz_agree_knows_failed(agreement->core.state, member);
}

rz_id rz_agreement_era_awaited(const struct rz_agreement *agreement)
{
    return rz_agree_awaited(agreement->core.state);
}

const struct rz_agreement_class rz_agreement_era = {
    .open = rz_agreement_era_open,
    .propose = era_propose,
    .message = era_message,
    .failure = era_failure,
    .awaited = rz_agreement_era_awaited,
    .knows_failed = era_knows_failed,
    .cached = true,
};
