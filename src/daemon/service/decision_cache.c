/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers questions about cached decisions from the wait objects of this node's processes, and
 * passes questions about processes of other nodes to their daemons. */
#include "daemon/service/decision_cache.h"

#include <stdlib.h>

enum { VALUE_BYTES_MAX = RZ_DECISION_WORDS_MAX * 8 };

struct rz_decision_cache {
    struct rz_decision_cache_config config;
};

static struct rz_child *process_of(const struct rz_decision_cache *cache, uint32_t slot,
                                   uint32_t incarnation)
{
    struct rz_child *p = cache->config.children->first;
    while (p && (p->rank != slot || p->incarnation != incarnation)) {
        p = p->next;
    }
    return p;
}

/*
 * Reads what that process has decided, if it is here and its failure was not reported yet. Returns
 * the bytes of value, or 0.
 *
 * A failed process must not be answered for, because other members may have chosen another root,
 * which decides otherwise (proto/agree/agree.h). This daemon is the first that learns of the
 * failure: as long as it answers, no other knows of the failure, and the process could have
 * answered itself.
 */
static uint32_t look_up_decision(const struct rz_decision_cache *cache,
                                 const struct rz_link_decision_ask *ask,
                                 uint8_t value[VALUE_BYTES_MAX])
{
    uint64_t words[RZ_DECISION_WORDS_MAX];
    const struct rz_child *p = process_of(cache, ask->rank, ask->incarnation);
    if (!p || p->state == RZ_CHILD_FAILED || !p->share.waits) {
        return 0;
    }
    uint32_t n =
        rz_decision_read(&p->share.waits->decisions, ask->communicator, ask->number, words);
    for (uint32_t i = 0; i < 8 * n; i++) {
        value[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
    }
    return 8 * n;
}

static void deliver(const struct rz_decision_cache *cache, uint32_t asker, uint32_t incarnation,
                    const struct rz_link_decision *decision)
{
    struct rz_child *p = process_of(cache, asker, incarnation);
    if (p && p->state == RZ_CHILD_JOINED) {
        rz_link_router_send(
            p, &(struct rz_link_message){.type = RZ_LINK_DECISION, .decision = *decision});
    }
}

static bool on_asked(void *arg, struct rz_child *asker, const struct rz_link_message *told, int *fd)
{
    const struct rz_decision_cache *cache = arg;
    const struct rz_link_decision_ask *ask = &told->decision_ask;
    (void)fd;
    if (ask->rank >= cache->config.own->job.n_slots) {
        return false;
    }
    rz_id node = rz_recovery_daemon_of(cache->config.recovery, ask->rank);
    if (node == cache->config.own->job.node) {
        uint8_t value[VALUE_BYTES_MAX];
        const struct rz_link_decision decision = {.communicator = ask->communicator,
                                                  .number = ask->number,
                                                  .rank = ask->rank,
                                                  .incarnation = ask->incarnation,
                                                  .value = value,
                                                  .value_length =
                                                      look_up_decision(cache, ask, value)};
        if (decision.value_length > 0) {
            deliver(cache, asker->rank, asker->incarnation, &decision);
        }
    } else if (node < cache->config.own->job.n_nodes &&
               !rz_membership_node_has_failed(&cache->config.own->membership, node)) {
        const struct rz_overlay_message message = {
            .type = RZ_OVERLAY_DECISION_ASK,
            .decision_ask = {.communicator = ask->communicator,
                             .number = ask->number,
                             .rank = ask->rank,
                             .incarnation = ask->incarnation,
                             .asker = asker->rank,
                             .asker_incarnation = asker->incarnation}};
        rz_overlay_send(cache->config.overlay, node, &message);
    }
    return true;
}

static void on_node_asks(void *arg, rz_id from, const struct rz_overlay_message *told)
{
    const struct rz_decision_cache *cache = arg;
    const struct rz_overlay_decision_ask *ask = &told->decision_ask;
    uint8_t value[VALUE_BYTES_MAX];
    const struct rz_link_decision_ask local = {.communicator = ask->communicator,
                                               .number = ask->number,
                                               .rank = ask->rank,
                                               .incarnation = ask->incarnation};
    const struct rz_overlay_message answer = {
        .type = RZ_OVERLAY_DECISION,
        .decision = {.communicator = ask->communicator,
                     .number = ask->number,
                     .rank = ask->rank,
                     .incarnation = ask->incarnation,
                     .asker = ask->asker,
                     .asker_incarnation = ask->asker_incarnation,
                     .value = value,
                     .value_length = look_up_decision(cache, &local, value)}};
    if (answer.decision.value_length > 0) {
        rz_overlay_send(cache->config.overlay, from, &answer);
    }
}

static void on_decision(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    const struct rz_decision_cache *cache = arg;
    const struct rz_overlay_decision *told = &message->decision;
    (void)from;
    if (told->value_length > VALUE_BYTES_MAX) {
        return;
    }
    const struct rz_link_decision decision = {.communicator = told->communicator,
                                              .number = told->number,
                                              .rank = told->rank,
                                              .incarnation = told->incarnation,
                                              .value = told->value,
                                              .value_length = told->value_length};
    deliver(cache, told->asker, told->asker_incarnation, &decision);
}

rz_status_t rz_decision_cache_open(struct rz_decision_cache **result,
                                   const struct rz_decision_cache_config *config)
{
    struct rz_decision_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) {
        return RZ_ERR_NO_MEMORY;
    }
    cache->config = *config;
    rz_link_router_handle(config->router, RZ_LINK_DECISION_ASK, on_asked, cache);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_DECISION_ASK, on_node_asks, cache);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_DECISION, on_decision, cache);
    *result = cache;
    return RZ_OK;
}

void rz_decision_cache_close(struct rz_decision_cache *cache)
{
    free(cache);
}
