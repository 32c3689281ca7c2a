#include "daemon/decision_cache.h"

#include "daemon/daemon.h"
#include "daemon/link_service.h"

enum { VALUE_BYTES_MAX = RZ_DECISION_WORDS_MAX * 8 };

static struct rz_child *process_of(const struct rz_daemon *daemon, uint32_t slot,
                                   uint32_t incarnation)
{
    struct rz_child *p = rz_children(daemon);
    while (p && (p->rank != slot || p->incarnation != incarnation))
        p = p->next;
    return p;
}

/*
 * What that process has decided, if it is here and its failure was not told yet; bytes of value, or
 * 0. All learn of its failure from here: so nobody knows of it while this answers for it, and it
 * could have answered itself. For the failed must not be answered: others may have turned to
 * another root, which decides otherwise (proto/agree/agree.h).
 */
static uint32_t look(const struct rz_daemon *daemon, const struct rz_link_decision_ask *ask,
                     uint8_t value[VALUE_BYTES_MAX])
{
    uint64_t words[RZ_DECISION_WORDS_MAX];
    const struct rz_child *p = process_of(daemon, ask->rank, ask->incarnation);
    if (!p || p->state == RZ_CHILD_FAILED || !p->share.waits)
        return 0;
    uint32_t n =
        rz_decision_read(&p->share.waits->decisions, ask->communicator, ask->number, words);
    for (uint32_t i = 0; i < 8 * n; i++)
        value[i] = (uint8_t)(words[i / 8] >> i % 8 * 8);
    return 8 * n;
}

static void deliver(struct rz_daemon *daemon, uint32_t asker, uint32_t incarnation,
                    const struct rz_link_decision *decision)
{
    struct rz_child *p = process_of(daemon, asker, incarnation);
    if (p && p->state == RZ_CHILD_JOINED)
        rz_link_service_send(
            p, &(struct rz_link_message){.type = RZ_LINK_DECISION, .decision = *decision});
}

bool rz_decision_cache_ask(struct rz_child *asker, const struct rz_link_decision_ask *ask)
{
    struct rz_daemon *daemon = asker->daemon;
    if (ask->rank >= daemon->job.n_slots)
        return false;
    rz_id node = rz_recovery_daemon_of(daemon->recovery, ask->rank);
    if (node == daemon->job.node) {
        uint8_t value[VALUE_BYTES_MAX];
        const struct rz_link_decision decision = {.communicator = ask->communicator,
                                                  .number = ask->number,
                                                  .rank = ask->rank,
                                                  .incarnation = ask->incarnation,
                                                  .value = value,
                                                  .value_length = look(daemon, ask, value)};
        if (decision.value_length > 0)
            deliver(daemon, asker->rank, asker->incarnation, &decision);
    } else if (node < daemon->job.n_nodes && !rz_recovery_node_failed(daemon->recovery, node)) {
        const struct rz_overlay_message message = {
            .type = RZ_OVERLAY_DECISION_ASK,
            .decision_ask = {.communicator = ask->communicator,
                             .number = ask->number,
                             .rank = ask->rank,
                             .incarnation = ask->incarnation,
                             .asker = asker->rank,
                             .asker_incarnation = asker->incarnation}};
        rz_overlay_send(daemon->overlay, node, &message);
    }
    return true;
}

static void on_ask(struct rz_daemon *daemon, rz_id from, const struct rz_overlay_decision_ask *ask)
{
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
                     .value_length = look(daemon, &local, value)}};
    if (answer.decision.value_length > 0)
        rz_overlay_send(daemon->overlay, from, &answer);
}

void rz_decision_cache_message(struct rz_daemon *daemon, rz_id from,
                               const struct rz_overlay_message *message)
{
    const struct rz_overlay_decision *told = &message->decision;
    if (message->type == RZ_OVERLAY_DECISION_ASK) {
        on_ask(daemon, from, &message->decision_ask);
        return;
    }
    if (told->value_length > VALUE_BYTES_MAX)
        return;
    const struct rz_link_decision decision = {.communicator = told->communicator,
                                              .number = told->number,
                                              .rank = told->rank,
                                              .incarnation = told->incarnation,
                                              .value = told->value,
                                              .value_length = told->value_length};
    deliver(daemon, told->asker, told->asker_incarnation, &decision);
}
