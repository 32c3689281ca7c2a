/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers OPEN and GET_EP_ADDRESS at once if the target is known, and otherwise keeps the question
 * until the target has joined, has an endpoint address, or has ended. */
#include "daemon/service/endpoints.h"

#include "base/no_memory.h"
#include "daemon/service/questions.h"

#include <stdlib.h>
#include <string.h>

#define EP_ADDRESS_BYTES_MAX 4096

#define KIND(kind) (1u << RZ_QUESTION_##kind)
#define EP_ADDRESS_KINDS (KIND(EP_ADDRESS) | KIND(EP_ADDRESS_REMOTE))

struct rz_endpoints {
    struct rz_endpoints_config config;
    struct rz_questions questions;
};

/* Asks the node of a process for the endpoint address of the process. */
static void ask_node(const struct rz_endpoints *endpoints, rz_id node,
                     const struct rz_overlay_get_ep_address *wanted)
{
    const struct rz_overlay_message message = {.type = RZ_OVERLAY_GET_EP_ADDRESS,
                                               .get_ep_address = *wanted};
    if (node < endpoints->config.own->job.n_nodes) {
        rz_overlay_send(endpoints->config.overlay, node, &message);
    }
}

/* Tells the node of the process that asked the endpoint address of a process here; length 0: the
 * process has ended. */
static void give_ep_address(const struct rz_endpoints *endpoints,
                            const struct rz_daemon_question *question,
                            const struct rz_link_ep_address *own)
{
    const struct rz_daemon_job *job = &endpoints->config.own->job;
    rz_id node = question->asker_node;
    const struct rz_overlay_message message = {
        .type = RZ_OVERLAY_EP_ADDRESS,
        .ep_address = {.rank = own->rank,
                       .incarnation = own->incarnation,
                       .asker = question->asker,
                       .asker_incarnation = question->asker_incarnation,
                       .epoch = own->epoch,
                       .ep_address = own->ep_address,
                       .ep_address_length = own->ep_address_length}};
    if (node != job->node && node < job->n_nodes) {
        rz_overlay_send(endpoints->config.overlay, node, &message);
    }
}

static void send_opened(struct rz_child *asker, struct rz_child *target)
{
    int fds[] = {target->share.inbox_fd, target->share.bell_fd};
    struct rz_link_message message = {.type = RZ_LINK_OPENED,
                                      .opened = {.rank = target->rank,
                                                 .incarnation = target->incarnation,
                                                 .pid = (uint32_t)target->share.pid,
                                                 .lane = target->share.lane}};
    rz_link_router_send_with(asker, &message, fds, 2);
}

/* Sends an endpoint address to the incarnation that asked for it, to no other. */
static void send_ep_address(const struct rz_endpoints *endpoints, uint32_t asker,
                            uint32_t asker_incarnation, const struct rz_link_ep_address *told)
{
    const struct rz_child *p = rz_child_of(endpoints->config.children, asker);
    if (!p || p->incarnation != asker_incarnation) {
        return;
    }
    struct rz_link_message message = {.type = RZ_LINK_EP_ADDRESS, .ep_address = *told};
    rz_link_router_send_to(endpoints->config.children, asker, &message, -1);
}

/* Asks target for the endpoint address that it has, or will have, in epoch; it answers by
 * PUT_EP_ADDRESS. */
static void ask_for_ep_address(struct rz_child *target, uint32_t epoch)
{
    struct rz_link_message message = {.type = RZ_LINK_OPEN_NET, .open_net = {.epoch = epoch}};
    rz_link_router_send(target, &message);
}

static void answer_opens(struct rz_endpoints *endpoints, struct rz_child *target)
{
    struct rz_daemon_question question;
    while (rz_questions_take(&endpoints->questions, target->rank, target->incarnation, KIND(OPEN),
                             0, &question)) {
        struct rz_child *asker = rz_child_of(endpoints->config.children, question.asker);
        if (asker && asker->state == RZ_CHILD_JOINED &&
            asker->incarnation == question.asker_incarnation) {
            send_opened(asker, target);
        }
    }
}

/* Answers all questions about the endpoint address of a rank in an epoch; length 0: the process has
 * ended and will have none. */
static void answer_ep_addresses(struct rz_endpoints *endpoints,
                                const struct rz_link_ep_address *own)
{
    struct rz_daemon_question question;
    while (rz_questions_take(&endpoints->questions, own->rank, own->incarnation, EP_ADDRESS_KINDS,
                             own->epoch, &question)) {
        if (question.kind == RZ_QUESTION_EP_ADDRESS) {
            send_ep_address(endpoints, question.asker, question.asker_incarnation, own);
        } else {
            give_ep_address(endpoints, &question, own);
        }
    }
}

/* It has ended: there will be none. */
static void answer_ended(struct rz_endpoints *endpoints, uint32_t rank, uint32_t incarnation)
{
    answer_ep_addresses(
        endpoints, &(struct rz_link_ep_address){.rank = rank,
                                                .incarnation = incarnation,
                                                .epoch = endpoints->config.own->membership.epoch,
                                                .ep_address = (const uint8_t *)""});
}

static void answer_of(struct rz_endpoints *endpoints, const struct rz_child *p)
{
    answer_ep_addresses(endpoints,
                        &(struct rz_link_ep_address){.rank = p->rank,
                                                     .incarnation = p->incarnation,
                                                     .epoch = p->ep_address_epoch,
                                                     .ep_address = p->ep_address,
                                                     .ep_address_length = p->ep_address_bytes});
}

void rz_endpoints_ended(struct rz_endpoints *endpoints, const struct rz_child *p)
{
    answer_ended(endpoints, p->rank, p->incarnation);
}

/* A question about the endpoint address of a rank that runs here, or is about to. */
static void ep_address_wanted(struct rz_endpoints *endpoints, struct rz_daemon_question question)
{
    const struct rz_membership *membership = &endpoints->config.own->membership;
    struct rz_child *target = rz_child_of(endpoints->config.children, question.target);
    uint32_t asked = rz_questions_epoch(&endpoints->questions, question.target, EP_ADDRESS_KINDS);
    rz_questions_add(&endpoints->questions, question);
    bool joined = target && target->state == RZ_CHILD_JOINED &&
                  target->incarnation >= question.target_incarnation;
    if (joined && target->ep_address && target->ep_address_epoch >= question.epoch) {
        answer_of(endpoints, target);
    } else if (joined && asked < question.epoch) {
        ask_for_ep_address(target, question.epoch);
    } else if (membership->slots[question.target].incarnation >= question.target_incarnation &&
               rz_child_has_ended(endpoints->config.life, question.target)) {
        answer_ended(endpoints, question.target, membership->slots[question.target].incarnation);
    }
    /* Else: answered when it joins. */
}

static void on_remote_get(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_endpoints *endpoints = arg;
    const struct rz_overlay_get_ep_address *wanted = &message->get_ep_address;
    uint32_t n_slots = endpoints->config.own->job.n_slots;
    if (wanted->rank < n_slots && wanted->asker < n_slots) {
        ep_address_wanted(
            endpoints, (struct rz_daemon_question){.kind = RZ_QUESTION_EP_ADDRESS_REMOTE,
                                                   .target = wanted->rank,
                                                   .target_incarnation = wanted->incarnation,
                                                   .asker = wanted->asker,
                                                   .asker_incarnation = wanted->asker_incarnation,
                                                   .asker_node = from,
                                                   .epoch = wanted->epoch});
    }
}

static void on_remote_address(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    const struct rz_endpoints *endpoints = arg;
    const struct rz_overlay_ep_address *told = &message->ep_address;
    uint32_t n_slots = endpoints->config.own->job.n_slots;
    (void)from;
    if (told->rank < n_slots && told->asker < n_slots &&
        told->ep_address_length <= EP_ADDRESS_BYTES_MAX) {
        send_ep_address(endpoints, told->asker, told->asker_incarnation,
                        &(struct rz_link_ep_address){.rank = told->rank,
                                                     .incarnation = told->incarnation,
                                                     .epoch = told->epoch,
                                                     .ep_address = told->ep_address,
                                                     .ep_address_length = told->ep_address_length});
    }
}

static bool on_put(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    struct rz_endpoints *endpoints = arg;
    const struct rz_link_put_ep_address *put = &message->put_ep_address;
    (void)fd;
    if (put->ep_address_length == 0 || put->ep_address_length > EP_ADDRESS_BYTES_MAX) {
        return false;
    }
    uint8_t *ep_address = malloc(put->ep_address_length);
    rz_need_memory(ep_address, "for an endpoint address");
    memcpy(ep_address, put->ep_address, put->ep_address_length);
    free(p->ep_address);
    p->ep_address = ep_address;
    p->ep_address_bytes = put->ep_address_length;
    p->ep_address_epoch = put->epoch;
    answer_of(endpoints, p);
    return true;
}

static bool get_ep_address(struct rz_endpoints *endpoints, const struct rz_child *p, uint32_t rank,
                           uint32_t epoch)
{
    const struct rz_own_node *own = endpoints->config.own;
    if (rank >= own->job.n_slots) {
        return false;
    }
    const struct rz_membership_slot *place = &own->membership.slots[rank];
    struct rz_daemon_question question = {.kind = RZ_QUESTION_EP_ADDRESS,
                                          .target = rank,
                                          .target_incarnation = place->incarnation,
                                          .asker = p->rank,
                                          .asker_incarnation = p->incarnation,
                                          .epoch = epoch};
    rz_id node = rz_recovery_daemon_of(endpoints->config.recovery, rank);
    if (place->incarnation == 0 || node == RZ_ID_NONE) {
        question.kind = RZ_QUESTION_EARLY;
        rz_questions_add(&endpoints->questions, question);
    } else if (node == own->job.node) {
        ep_address_wanted(endpoints, question);
    } else {
        ask_node(endpoints, node,
                 &(struct rz_overlay_get_ep_address){.rank = rank,
                                                     .incarnation = place->incarnation,
                                                     .asker = p->rank,
                                                     .asker_incarnation = p->incarnation,
                                                     .epoch = epoch});
    }
    return true;
}

/* Answers processes of this node that asked for the endpoint address before this daemon had learned
 * of the spawn. */
void rz_endpoints_spawned(struct rz_endpoints *endpoints, uint32_t rank, uint32_t incarnation)
{
    struct rz_daemon_question question;
    while (rz_questions_take(&endpoints->questions, rank, incarnation, KIND(EARLY), UINT32_MAX,
                             &question)) {
        struct rz_child *asker = rz_child_of(endpoints->config.children, question.asker);
        if (asker && asker->state == RZ_CHILD_JOINED &&
            asker->incarnation == question.asker_incarnation) {
            get_ep_address(endpoints, asker, rank, question.epoch);
        }
    }
}

static bool on_get_ep_address(void *arg, struct rz_child *p, const struct rz_link_message *message,
                              int *fd)
{
    (void)fd;
    return get_ep_address(arg, p, message->get_ep_address.rank, message->get_ep_address.epoch);
}

static bool on_open(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    struct rz_endpoints *endpoints = arg;
    const struct rz_own_node *own = endpoints->config.own;
    uint32_t rank = message->open.rank;
    (void)fd;
    if (rank >= own->job.n_slots) {
        return false;
    }
    struct rz_child *target = rz_child_of(endpoints->config.children, rank);
    if (target && target->state == RZ_CHILD_JOINED) {
        send_opened(p, target);
    } else if (!target || target->state == RZ_CHILD_SPAWNED) {
        rz_questions_add(&endpoints->questions,
                         (struct rz_daemon_question){.kind = RZ_QUESTION_OPEN,
                                                     .target = rank,
                                                     .target_incarnation =
                                                         own->membership.slots[rank].incarnation,
                                                     .asker = p->rank,
                                                     .asker_incarnation = p->incarnation});
    }
    return true;
}

void rz_endpoints_joined(struct rz_endpoints *endpoints, struct rz_child *p)
{
    answer_opens(endpoints, p);
    uint32_t wanted = rz_questions_epoch(&endpoints->questions, p->rank, EP_ADDRESS_KINDS);
    if (wanted > 0) {
        ask_for_ep_address(p, wanted);
    }
}

void rz_endpoints_forget(struct rz_endpoints *endpoints, uint32_t slot, uint32_t incarnation)
{
    rz_questions_drop_asker(&endpoints->questions, slot, incarnation);
}

/* ---- open and close ---- */

rz_status_t rz_endpoints_open(struct rz_endpoints **result,
                              const struct rz_endpoints_config *config)
{
    struct rz_endpoints *endpoints = calloc(1, sizeof(*endpoints));
    if (!endpoints) {
        return RZ_ERR_NO_MEMORY;
    }
    endpoints->config = *config;
    rz_link_router_handle(config->router, RZ_LINK_PUT_EP_ADDRESS, on_put, endpoints);
    rz_link_router_handle(config->router, RZ_LINK_GET_EP_ADDRESS, on_get_ep_address, endpoints);
    rz_link_router_handle(config->router, RZ_LINK_OPEN, on_open, endpoints);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_GET_EP_ADDRESS, on_remote_get,
                             endpoints);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_EP_ADDRESS, on_remote_address,
                             endpoints);
    *result = endpoints;
    return RZ_OK;
}

void rz_endpoints_close(struct rz_endpoints *endpoints)
{
    if (!endpoints) {
        return;
    }
    rz_questions_clear(&endpoints->questions);
    free(endpoints);
}
