/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests of this node's processes, and their answers. */
#include "daemon/service/spawns_private.h"

#include "base/no_memory.h"
#include "base/trace.h"

#include <stdlib.h>

/* ---- answers ---- */

static void answer_replaced(const struct rz_spawns *spawns, const struct rz_spawns_ask *wish,
                            rz_status_t status)
{
    struct rz_link_message message = {
        .type = RZ_LINK_REPLACED,
        .replaced = {.question = wish->question, .status = (uint32_t)status}};
    const struct rz_child *p = rz_child_of(spawns->config.children, wish->asker);
    if (p && p->incarnation == wish->incarnation) {
        rz_link_router_send_to(spawns->config.children, wish->asker, &message, -1);
    }
}

static void answer_spawned(const struct rz_spawns *spawns, const struct rz_spawns_ask *wish,
                           rz_status_t status)
{
    uint32_t n = status == RZ_OK ? wish->order->n_spawned : 0;
    uint8_t *pairs = malloc((size_t)n * RZ_LINK_PAIR_BYTES + 1);
    rz_need_memory(pairs, "for an answer about spawned processes");
    if (n > 0) {
        rz_link_put_pairs(pairs, wish->order->processes, n);
    }
    struct rz_link_message message = {.type = RZ_LINK_SPAWNED,
                                      .spawned = {.question = wish->question,
                                                  .status = (uint32_t)status,
                                                  .processes = pairs,
                                                  .processes_length = n * RZ_LINK_PAIR_BYTES}};
    const struct rz_child *p = rz_child_of(spawns->config.children, wish->asker);
    if (p && p->incarnation == wish->incarnation) {
        rz_link_router_send_to(spawns->config.children, wish->asker, &message, -1);
    }
    free(pairs);
}

static void wish_remove(struct rz_spawns *spawns, struct rz_spawns_ask **at)
{
    struct rz_spawns_ask *wish = *at;
    *at = wish->next;
    if (wish->order) {
        rz_spawns_order_release(spawns, wish->order);
    }
    free(wish->spawns);
    free(wish->told);
    free(wish);
}

/* RZ_IN_PROGRESS: not decided yet, or the decision has not been carried out here. */
static rz_status_t spawn_status(const struct rz_spawns *spawns, const struct rz_link_process *spawn)
{
    enum rz_recover_spawn what =
        rz_recovery_spawn(spawns->config.recovery, spawn->slot, spawn->incarnation);
    if (what == RZ_SPAWN_REFUSED) {
        return spawns->refused != RZ_OK ? spawns->refused : RZ_ERR_UNSUPPORTED;
    }
    if (spawns->own->membership.slots[spawn->slot].incarnation < spawn->incarnation) {
        return spawns->own->membership.slots[spawn->slot].never_started + 1 == spawn->incarnation
                   ? RZ_ERR_SYSTEM
                   : RZ_IN_PROGRESS;
    }
    return what == RZ_SPAWN_TAKEN ? RZ_ERR_EXISTS : RZ_OK;
}

/* Tells the other daemons each requested spawn once, but not before the preceding incarnation is
 * known here: the spawn implies that the preceding one has failed. */
static void wish_tell(const struct rz_spawns *spawns, struct rz_spawns_ask *wish)
{
    for (uint32_t i = 0; i < wish->n; i++) {
        const struct rz_link_process *spawn = &wish->spawns[i];
        if (wish->told[i] ||
            spawns->own->membership.slots[spawn->slot].incarnation + 1 < spawn->incarnation) {
            continue;
        }
        uint64_t item = rz_recover_pack_spawn(spawn->slot, spawn->incarnation);
        wish->told[i] = true;
        rz_recovery_want(spawns->config.recovery, &item, 1);
    }
}

/* The answer to a REPLACE, when all spawns are decided: the status of the first refusal, or
 * RZ_OK. */
static rz_status_t spawns_status(const struct rz_spawns *spawns, const struct rz_spawns_ask *wish)
{
    rz_status_t first = RZ_OK;
    for (uint32_t i = 0; i < wish->n; i++) {
        rz_status_t status = spawn_status(spawns, &wish->spawns[i]);
        if (status == RZ_IN_PROGRESS) {
            return status;
        }
        first = first == RZ_OK ? status : first;
    }
    return first;
}

/* Returns true if the request was answered. */
static bool look_at_replace(const struct rz_spawns *spawns, struct rz_spawns_ask *wish)
{
    rz_status_t status = spawns_status(spawns, wish);
    if (status == RZ_IN_PROGRESS) {
        wish_tell(spawns, wish);
    } else {
        answer_replaced(spawns, wish, status);
    }
    return status != RZ_IN_PROGRESS;
}

/* Returns true if the request was answered. */
static bool look_at_spawn(const struct rz_spawns *spawns, const struct rz_spawns_ask *wish)
{
    if (wish->order->processes) {
        answer_spawned(spawns, wish, RZ_OK);
    } else if (wish->refused) {
        answer_spawned(spawns, wish, wish->why);
    }
    return wish->order->processes || wish->refused;
}

void rz_spawns_look(struct rz_spawns *spawns)
{
    for (struct rz_spawns_ask **at = &spawns->wishes; *at && !spawns->own->membership.ending;) {
        struct rz_spawns_ask *wish = *at;
        if (wish->order ? look_at_spawn(spawns, wish) : look_at_replace(spawns, wish)) {
            wish_remove(spawns, at);
        } else {
            at = &wish->next;
        }
    }
}

/* ---- requests of processes ---- */

/* Why nothing can be spawned in this job; NULL: spawns are possible. */
static const char *refusal(const struct rz_spawns *spawns, bool replace)
{
    const struct rz_daemon_job *job = &spawns->own->job;
    if (job->flags & RZ_JOB_NO_FT) {
        return "with --no-ft no process can be started while the job runs";
    }
    if (job->detector == RZ_DETECTOR_FLAT) {
        return "with --detector flat no process can be started while the job runs";
    }
    if (replace && job->flags & RZ_JOB_REPLACE_NEVER) {
        return "with --on-failure continue or restart no process is replaced";
    }
    if (rz_recovery_is_repairing(spawns->config.recovery)) {
        return "in a job that has entered MPIX_Reinit only its repair starts processes";
    }
    return NULL;
}

void rz_spawns_tell_refusal(struct rz_spawns *spawns, const char *why)
{
    rz_report_log(&spawns->own->report, spawns->refusal_told ? 1 : 0, "%s", why);
    spawns->refusal_told = true;
}

static struct rz_spawns_ask *wish_new(struct rz_spawns *spawns, const struct rz_child *asker,
                                      uint64_t question)
{
    struct rz_spawns_ask *wish = calloc(1, sizeof(*wish));
    rz_need_memory(wish, "for a spawn request");
    *wish = (struct rz_spawns_ask){.next = spawns->wishes,
                                   .asker = asker->rank,
                                   .incarnation = asker->incarnation,
                                   .question = question};
    spawns->wishes = wish;
    return wish;
}

/* Reads pairs of a slot of the job and an incarnation that replaces another. */
static bool read_spawns(const struct rz_spawns *spawns, struct rz_spawns_ask *wish,
                        const struct rz_link_replace *asked)
{
    wish->n = asked->spawns_length / RZ_LINK_PAIR_BYTES;
    wish->spawns = calloc(wish->n + 1, sizeof(*wish->spawns));
    wish->told = calloc(wish->n + 1, sizeof(*wish->told));
    rz_need_memory(wish->spawns && wish->told, "for a spawn request");
    rz_link_get_pairs(asked->spawns, asked->spawns_length, wish->spawns, wish->n);
    if (asked->spawns_length % RZ_LINK_PAIR_BYTES != 0) {
        return false;
    }
    for (uint32_t i = 0; i < wish->n; i++) {
        if (wish->spawns[i].slot >= spawns->own->job.n_slots || wish->spawns[i].incarnation < 2) {
            return false;
        }
    }
    return true;
}

static bool on_replace(void *arg, struct rz_child *asker, const struct rz_link_message *message,
                       int *fd)
{
    struct rz_spawns *spawns = arg;
    const struct rz_link_replace *asked = &message->replace;
    (void)fd;
    RZ_TRACE(SPAWN_WANTED, asker->rank, asked->spawns_length / RZ_LINK_PAIR_BYTES, 0);
    const char *why = refusal(spawns, true);
    struct rz_spawns_ask *wish = wish_new(spawns, asker, asked->question);
    bool good = read_spawns(spawns, wish, asked);
    if (good && !why && !look_at_replace(spawns, wish)) {
        return true;
    }
    if (good && why) {
        rz_spawns_tell_refusal(spawns, why);
        answer_replaced(spawns, wish, RZ_ERR_UNSUPPORTED);
    }
    wish_remove(spawns, &spawns->wishes);
    return good;
}

static void send_order(const struct rz_spawns *spawns, uint32_t serial,
                       const struct rz_link_spawn *asked)
{
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_SPAWN_ORDER,
        .spawn_order = {.serial = serial,
                        .count = asked->count,
                        .commands = asked->commands,
                        .commands_length = asked->commands_length,
                        .parent = asked->parent,
                        .parent_length = asked->parent_length}};
    for (rz_id node = 0; node < spawns->own->job.n_nodes; node++) {
        if (node != spawns->own->job.node &&
            !rz_membership_node_has_failed(&spawns->own->membership, node)) {
            rz_overlay_send(spawns->config.overlay, node, &message);
        }
    }
}

/* Sends the request. RZ_OK: it was sent. */
static rz_status_t spawn_want(struct rz_spawns *spawns, struct rz_spawns_ask *wish,
                              const struct rz_link_spawn *asked)
{
    /* Checked first, so that no memory is taken for more processes than there can be. */
    if (asked->count > spawns->own->job.n_slots - spawns->own->job.n_ranks) {
        return RZ_ERR_NO_MEMORY;
    }
    if (spawns->serial + 1 >= RZ_RECOVER_COHORT_SERIALS_MAX) {
        return RZ_ERR_UNSUPPORTED;
    }
    struct rz_spawns_order *order =
        rz_spawns_order_of(spawns, spawns->own->job.node, spawns->serial + 1);
    if (!rz_spawns_order_fill(spawns, order, asked->commands, asked->commands_length,
                              asked->count)) {
        rz_spawns_order_release(spawns, order);
        return RZ_ERR_INVALID;
    }
    /* A serial number that is used must be requested: the following ones wait for it at all
     * daemons. */
    spawns->serial++;
    order->users++;
    wish->order = order;
    rz_spawns_order_parent(order, asked->parent, asked->parent_length);
    send_order(spawns, spawns->serial, asked);
    uint64_t item = rz_recover_pack_cohort(spawns->own->job.node, spawns->serial, asked->count);
    rz_recovery_want(spawns->config.recovery, &item, 1);
    return RZ_OK;
}

static bool on_spawn(void *arg, struct rz_child *asker, const struct rz_link_message *message,
                     int *fd)
{
    struct rz_spawns *spawns = arg;
    const struct rz_link_spawn *asked = &message->spawn;
    (void)fd;
    RZ_TRACE(SPAWN_WANTED, asker->rank, asked->count, 0);
    const char *why = refusal(spawns, false);
    struct rz_spawns_ask *wish = wish_new(spawns, asker, asked->question);
    if (why) {
        rz_spawns_tell_refusal(spawns, why);
    }
    rz_status_t status = why ? RZ_ERR_UNSUPPORTED : spawn_want(spawns, wish, asked);
    if (status != RZ_OK) {
        answer_spawned(spawns, wish, status);
        wish_remove(spawns, &spawns->wishes);
    }
    return true;
}

void rz_spawns_handle_link(struct rz_spawns *spawns)
{
    rz_link_router_handle(spawns->config.router, RZ_LINK_REPLACE, on_replace, spawns);
    rz_link_router_handle(spawns->config.router, RZ_LINK_SPAWN, on_spawn, spawns);
}

void rz_spawns_forget(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation)
{
    for (struct rz_spawns_ask **at = &spawns->wishes; *at;) {
        if ((*at)->asker == slot && (*at)->incarnation == incarnation) {
            wish_remove(spawns, at);
        } else {
            at = &(*at)->next;
        }
    }
}

void rz_spawns_ask_refused(struct rz_spawns *spawns, uint32_t serial, rz_status_t why)
{
    for (struct rz_spawns_ask *wish = spawns->wishes; wish; wish = wish->next) {
        if (wish->order && wish->order->serial == serial) {
            wish->refused = true;
            wish->why = why;
        }
    }
}

void rz_spawns_askes_close(struct rz_spawns *spawns)
{
    while (spawns->wishes) {
        wish_remove(spawns, &spawns->wishes);
    }
}
