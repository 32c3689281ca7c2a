/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests of this node's processes, and their answers. */
#include "daemon/service/spawns_private.h"

#include "base/no_memory.h"
#include "base/trace.h"

#include <stdlib.h>

/* What one process may wait for at once: spawns, one for each thread that asks; and replacements,
 * one for each failed process and communicator that is repaired. */
#define ORDERS_MAX 1024
#define REPLACES_MIN 4096
#define REPLACES_EACH 16

/* ---- answers ---- */

static void answer_replaced(const struct rz_spawns *spawns, const struct rz_spawns_request *request,
                            rz_status_t status)
{
    struct rz_link_message message = {
        .type = RZ_LINK_REPLACED,
        .replaced = {.question = request->question, .status = (uint32_t)status}};
    const struct rz_child *p = rz_child_of(spawns->config.children, request->asker);
    if (p && p->incarnation == request->incarnation) {
        rz_link_router_send_to(spawns->config.children, request->asker, &message, -1);
    }
}

static void answer_spawned(const struct rz_spawns *spawns, const struct rz_spawns_request *request,
                           rz_status_t status)
{
    if (spawns->server.answer) {
        spawns->server.answer(spawns->server.arg, request->question, status,
                              status == RZ_OK ? request->order->world : 0);
        return;
    }
    uint32_t n = status == RZ_OK ? request->order->n_spawned : 0;
    uint8_t *pairs = malloc((size_t)n * RZ_LINK_PAIR_BYTES + 1);
    rz_need_memory(pairs, "for an answer about spawned processes");
    if (n > 0) {
        rz_link_put_pairs(pairs, request->order->processes, n);
    }
    struct rz_link_message message = {.type = RZ_LINK_SPAWNED,
                                      .spawned = {.question = request->question,
                                                  .status = (uint32_t)status,
                                                  .processes = pairs,
                                                  .processes_length = n * RZ_LINK_PAIR_BYTES}};
    const struct rz_child *p = rz_child_of(spawns->config.children, request->asker);
    if (p && p->incarnation == request->incarnation) {
        rz_link_router_send_to(spawns->config.children, request->asker, &message, -1);
    }
    free(pairs);
}

static void request_remove(struct rz_spawns *spawns, struct rz_spawns_request **at)
{
    struct rz_spawns_request *request = *at;
    *at = request->next;
    if (request->order) {
        rz_spawns_order_release(spawns, request->order);
    }
    free(request->spawns);
    free(request->told);
    free(request);
}

/* RZ_IN_PROGRESS: not decided yet, or the decision has not been carried out here. */
static rz_status_t spawn_status(const struct rz_spawns *spawns, const struct rz_link_process *spawn)
{
    enum rz_recover_spawn what =
        rz_recovery_spawn(spawns->config.recovery, spawn->slot, spawn->incarnation);
    if (what == RZ_SPAWN_REFUSED) {
        /* The protocol has decided before rz_spawns_decided says why: there was no place. */
        return spawns->refused != RZ_OK ? spawns->refused : RZ_ERR_NO_SLOTS;
    }
    if (spawns->own->membership.slots[spawn->slot].incarnation < spawn->incarnation) {
        return spawns->own->membership.slots[spawn->slot].never_started + 1 == spawn->incarnation
                   ? RZ_ERR_SYSTEM
                   : RZ_IN_PROGRESS;
    }
    return what == RZ_SPAWN_TAKEN ? RZ_ERR_EXISTS : RZ_OK;
}

/* Whether the incarnation before the requested one is over, as this daemon knows: by the word of a
 * daemon, not by that of the process that asks. */
static bool spawn_follows(const struct rz_spawns *spawns, const struct rz_link_process *spawn)
{
    const struct rz_membership *membership = &spawns->own->membership;
    const struct rz_membership_slot *before = &membership->slots[spawn->slot];
    return before->incarnation + 1 == spawn->incarnation &&
           (rz_membership_has_failed(membership, spawn->slot) ||
            before->ended == before->incarnation);
}

/* Tells the other daemons each requested spawn once, but not before the end of the preceding
 * incarnation is known here, as it will be if it is true: a spawn implies that the preceding one
 * has failed, and ends it where it still runs. */
static void tell_daemons(const struct rz_spawns *spawns, struct rz_spawns_request *request)
{
    for (uint32_t i = 0; i < request->n; i++) {
        const struct rz_link_process *spawn = &request->spawns[i];
        if (request->told[i] || !spawn_follows(spawns, spawn)) {
            continue;
        }
        uint64_t item = rz_recover_pack_spawn(spawn->slot, spawn->incarnation);
        request->told[i] = true;
        rz_recovery_want(spawns->config.recovery, &item, 1);
    }
}

/* The answer to a REPLACE, when all spawns are decided: the status of the first refusal, or
 * RZ_OK. */
static rz_status_t spawns_status(const struct rz_spawns *spawns,
                                 const struct rz_spawns_request *request)
{
    rz_status_t first = RZ_OK;
    for (uint32_t i = 0; i < request->n; i++) {
        rz_status_t status = spawn_status(spawns, &request->spawns[i]);
        if (status == RZ_IN_PROGRESS) {
            return status;
        }
        first = first == RZ_OK ? status : first;
    }
    return first;
}

/* Returns true if the request was answered. */
static bool look_at_replace(const struct rz_spawns *spawns, struct rz_spawns_request *request)
{
    rz_status_t status = spawns_status(spawns, request);
    if (status == RZ_IN_PROGRESS) {
        tell_daemons(spawns, request);
    } else {
        answer_replaced(spawns, request, status);
    }
    return status != RZ_IN_PROGRESS;
}

/* Returns true if the request was answered. */
static bool look_at_spawn(const struct rz_spawns *spawns, const struct rz_spawns_request *request)
{
    if (request->order->processes) {
        answer_spawned(spawns, request, RZ_OK);
    } else if (request->refused) {
        answer_spawned(spawns, request, request->why);
    }
    return request->order->processes || request->refused;
}

void rz_spawns_look(struct rz_spawns *spawns)
{
    for (struct rz_spawns_request **at = &spawns->requests;
         *at && !spawns->own->membership.ending;) {
        struct rz_spawns_request *request = *at;
        if (request->order ? look_at_spawn(spawns, request) : look_at_replace(spawns, request)) {
            request_remove(spawns, at);
        } else {
            at = &request->next;
        }
    }
}

/* ---- requests of processes ---- */

/* Why nothing can be spawned in this job; NULL: spawns are possible. */
static const char *spawn_refusal(const struct rz_spawns *spawns, bool replace)
{
    const struct rz_daemon_job *job = &spawns->own->job;
    if (job->flags & RZ_JOB_NO_FT) {
        return "with --no-ft no process can be started while the job runs";
    }
    if (job->detector == RZ_DETECTOR_FLAT) {
        return "with --detector flat no process can be started while the job runs";
    }
    if (job->flags & RZ_JOB_REWIND) {
        return "with --rewind no process can be started while the job runs: no image has it";
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

/* Whether a process waits for so many answers that no more of its requests are taken: a process
 * that asks for ever must not fill the memory of daemons. */
static bool asks_too_much(const struct rz_spawns *spawns, uint32_t asker)
{
    uint64_t n_orders = 0, n_replaces = 0;
    for (const struct rz_spawns_request *at = spawns->requests; at; at = at->next) {
        if (at->asker == asker) {
            n_orders += at->order != NULL;
            n_replaces += at->n;
        }
    }
    return n_orders >= ORDERS_MAX ||
           n_replaces > REPLACES_MIN + (uint64_t)REPLACES_EACH * spawns->own->job.n_slots;
}

static struct rz_spawns_request *request_new(struct rz_spawns *spawns, uint32_t asker,
                                             uint32_t incarnation, uint64_t question)
{
    struct rz_spawns_request *request = calloc(1, sizeof(*request));
    rz_need_memory(request, "for a spawn request");
    *request = (struct rz_spawns_request){
        .next = spawns->requests, .asker = asker, .incarnation = incarnation, .question = question};
    spawns->requests = request;
    return request;
}

/* Reads pairs of a slot of the job and an incarnation that replaces another. */
static bool read_spawns(const struct rz_spawns *spawns, struct rz_spawns_request *request,
                        const struct rz_link_replace *asked)
{
    request->n = asked->spawns_length / RZ_LINK_PAIR_BYTES;
    request->spawns = calloc(request->n + 1, sizeof(*request->spawns));
    request->told = calloc(request->n + 1, sizeof(*request->told));
    rz_need_memory(request->spawns && request->told, "for a spawn request");
    rz_link_get_pairs(asked->spawns, asked->spawns_length, request->spawns, request->n);
    if (asked->spawns_length % RZ_LINK_PAIR_BYTES != 0) {
        return false;
    }
    for (uint32_t i = 0; i < request->n; i++) {
        if (request->spawns[i].slot >= spawns->own->job.n_slots ||
            request->spawns[i].incarnation < 2) {
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
    const char *why = spawn_refusal(spawns, true);
    struct rz_spawns_request *request =
        request_new(spawns, asker->rank, asker->incarnation, asked->question);
    bool good = read_spawns(spawns, request, asked);
    if (good && !why && asks_too_much(spawns, asker->rank)) {
        answer_replaced(spawns, request, RZ_ERR_REFUSED);
    } else if (good && !why && !look_at_replace(spawns, request)) {
        return true;
    }
    if (good && why) {
        rz_spawns_tell_refusal(spawns, why);
        answer_replaced(spawns, request, RZ_ERR_UNSUPPORTED);
    }
    request_remove(spawns, &spawns->requests);
    return good;
}

static void send_order(const struct rz_spawns *spawns, uint32_t serial,
                       const struct rz_spawns_asked *asked)
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

static void want_cohort(const struct rz_spawns *spawns, struct rz_spawns_request *request)
{
    const struct rz_spawns_order *order = request->order;
    uint64_t item = rz_recover_pack_cohort(order->node, order->serial, order->n);
    request->early = false;
    rz_recovery_want(spawns->config.recovery, &item, 1);
}

void rz_spawns_phase(struct rz_spawns *spawns)
{
    for (struct rz_spawns_request *request = spawns->requests; request; request = request->next) {
        if (request->early && spawns->own->membership.phase != RZ_PHASE_ENTER) {
            want_cohort(spawns, request);
        }
    }
}

/* Sends the request. RZ_OK: it was sent. */
static rz_status_t request_spawn(struct rz_spawns *spawns, struct rz_spawns_request *request,
                                 const struct rz_spawns_asked *asked)
{
    /* Checked first, so that no memory is taken for more processes than there can be. */
    if (asked->count > spawns->own->job.n_slots - spawns->own->job.n_ranks) {
        return RZ_ERR_NO_MEMORY;
    }
    if (!rz_spawns_cohort_fits(spawns, asked->count, asked->parent_length)) {
        rz_spawns_tell_refusal(spawns, "no process is spawned: the numbers of the processes that "
                                       "are spawned together, and of those that spawn them, do "
                                       "not fit into one message; spawn fewer at a time");
        return RZ_ERR_TRUNCATE;
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
    request->order = order;
    rz_spawns_order_parent(order, asked->parent, asked->parent_length);
    send_order(spawns, spawns->serial, asked);
    /* Processes of another MPI may be ready before the daemons have agreed that all are. */
    request->early = spawns->own->membership.phase == RZ_PHASE_ENTER;
    if (!request->early) {
        want_cohort(spawns, request);
    }
    return RZ_OK;
}

void rz_spawns_ask(struct rz_spawns *spawns, const struct rz_spawns_asked *asked)
{
    RZ_TRACE(SPAWN_WANTED, asked->asker, asked->count, 0);
    const char *why = asks_too_much(spawns, asked->asker)
                          ? "no process is spawned: one process waits for too many spawns already"
                          : spawn_refusal(spawns, false);
    struct rz_spawns_request *request =
        request_new(spawns, asked->asker, asked->incarnation, asked->question);
    if (why) {
        rz_spawns_tell_refusal(spawns, why);
    }
    rz_status_t status = why ? RZ_ERR_UNSUPPORTED : request_spawn(spawns, request, asked);
    if (status != RZ_OK) {
        answer_spawned(spawns, request, status);
        request_remove(spawns, &spawns->requests);
    }
}

static bool on_spawn(void *arg, struct rz_child *asker, const struct rz_link_message *message,
                     int *fd)
{
    const struct rz_link_spawn *m = &message->spawn;
    (void)fd;
    rz_spawns_ask(arg, &(struct rz_spawns_asked){.asker = asker->rank,
                                                 .incarnation = asker->incarnation,
                                                 .question = m->question,
                                                 .count = m->count,
                                                 .commands = m->commands,
                                                 .commands_length = m->commands_length,
                                                 .parent = m->parent,
                                                 .parent_length = m->parent_length});
    return true;
}

void rz_spawns_handle_link(struct rz_spawns *spawns)
{
    rz_link_router_handle(spawns->config.router, RZ_LINK_REPLACE, on_replace, spawns);
    rz_link_router_handle(spawns->config.router, RZ_LINK_SPAWN, on_spawn, spawns);
}

void rz_spawns_forget(struct rz_spawns *spawns, uint32_t slot, uint32_t incarnation)
{
    for (struct rz_spawns_request **at = &spawns->requests; *at;) {
        if ((*at)->asker == slot && (*at)->incarnation == incarnation) {
            if ((*at)->early) {
                want_cohort(spawns, *at); /* its serial number is used */
            }
            request_remove(spawns, at);
        } else {
            at = &(*at)->next;
        }
    }
}

void rz_spawns_ask_refused(struct rz_spawns *spawns, uint32_t serial, rz_status_t why)
{
    for (struct rz_spawns_request *request = spawns->requests; request; request = request->next) {
        if (request->order && request->order->serial == serial) {
            request->refused = true;
            request->why = why;
        }
    }
}

void rz_spawns_requests_close(struct rz_spawns *spawns)
{
    while (spawns->requests) {
        request_remove(spawns, &spawns->requests);
    }
}
