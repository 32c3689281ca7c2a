/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts one object of proto/spread for revocations, and passes on each revocation that is new to
 * this daemon. */
#include "daemon/recovery/revocations.h"

#include "base/assert.h"
#include "base/trace.h"
#include "daemon/state/core.h"
#include "port/clock.h"
#include "proto/spread/spread.h"

#include <stdlib.h>

/* The number of revocations per message. A daemon that closes the ring over a failed one sends all
 * it knows. Each message has its meaning alone, and no frame grows with the age of the job. */
#define ITEMS_PER_MESSAGE 4096u

struct rz_revocations {
    struct rz_revocations_config config;
    struct rz_core spread;
    struct rz_core_host host;
    struct rz_core_notices notices;
    struct event *noticing;
};

static void revocations_send(void *arg, rz_id to, const struct rz_message *message,
                             const uint64_t *items)
{
    struct rz_revocations *revocations = arg;
    for (uint32_t at = 0; at < message->n_items; at += ITEMS_PER_MESSAGE) {
        struct rz_message piece = *message;
        uint32_t rest = message->n_items - at;
        piece.n_items = rest < ITEMS_PER_MESSAGE ? rest : ITEMS_PER_MESSAGE;
        revocations->config.send(revocations->config.arg, to, &piece, items + at);
    }
}

static void revocations_run_notices(evutil_socket_t fd, short what, void *arg)
{
    struct rz_revocations *revocations = arg;
    struct rz_core_notice *notice;
    (void)fd, (void)what;
    while ((notice = rz_core_notices_take(&revocations->notices))) {
        for (uint32_t i = 0; i < notice->n_items; i++) {
            RZ_TRACE(REVOCATION, notice->items[i], 0, 0);
        }
        revocations->config.learnt(revocations->config.arg, notice->items, notice->n_items);
        free(notice);
    }
}

rz_status_t rz_revocations_open(struct rz_revocations **result,
                                const struct rz_revocations_config *config)
{
    struct rz_revocations *revocations = calloc(1, sizeof(*revocations));
    if (!revocations) {
        return RZ_ERR_NO_MEMORY;
    }
    const struct rz_spread_config spread = {.n_members = config->n_nodes,
                                            .view = RZ_REVOCATIONS_VIEW,
                                            .redundant_after = RZ_CORE_REDUNDANT_AFTER};
    revocations->config = *config;
    revocations->host = (struct rz_core_host){.arg = revocations, .send = revocations_send};
    revocations->noticing = event_new(config->base, -1, 0, revocations_run_notices, revocations);
    if (!revocations->noticing) {
        free(revocations);
        return RZ_ERR_NO_MEMORY;
    }
    rz_core_notices_init(&revocations->notices, revocations->noticing);
    rz_core_open(&revocations->spread, &(struct rz_core_setup){.protocol = rz_core_spread,
                                                               .config = &spread,
                                                               .self = config->self,
                                                               .now = rz_clock_now(),
                                                               .host = &revocations->host,
                                                               .notices = &revocations->notices,
                                                               .base = config->base});
    *result = revocations;
    return RZ_OK;
}

void rz_revocations_close(struct rz_revocations *revocations)
{
    if (!revocations) {
        return;
    }
    rz_core_close(&revocations->spread);
    rz_core_notices_clear(&revocations->notices);
    event_free(revocations->noticing);
    free(revocations);
}

void rz_revocations_add(struct rz_revocations *revocations, uint64_t revocation)
{
    rz_core_call_items(&revocations->spread, RZ_SPREAD_BROADCAST, &revocation, 1);
}

bool rz_revocations_known(const struct rz_revocations *revocations, uint64_t revocation)
{
    return rz_spread_knows(revocations->spread.embedded.state, revocation);
}

void rz_revocations_message(struct rz_revocations *revocations, const struct rz_message *message,
                            const uint64_t *items)
{
    rz_core_step(&revocations->spread,
                 &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = message, .items = items});
}

void rz_revocations_node_failed(struct rz_revocations *revocations, rz_id node, bool proof)
{
    rz_core_failure(&revocations->spread, node, proof);
}
