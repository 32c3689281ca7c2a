/* SPDX-License-Identifier: BSD-3-Clause */
/* The entries of the name service and the publications in progress. A publication is sent to all
 * daemons, each of which confirms or refuses it; the asker is answered when all live daemons have
 * confirmed. */
#include "daemon/service/names.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* The process that published, and the ordinal of the publication: they identify an entry. */
struct owner {
    uint32_t rank, incarnation;
    uint64_t serial;
};

struct entry {
    struct entry *next;
    struct owner owner;
    char *service, *port;
};

/* A publication, or its end, that not all daemons have confirmed yet. */
struct pending {
    struct pending *next;
    struct owner owner; /* of the entry */
    char *service;
    uint32_t asker, incarnation; /* the process here that asked */
    uint64_t question;           /* the number of its question, for the answer */
    uint64_t serial;             /* the number for the daemons' answers */
    rz_status_t status;
    uint32_t n_awaited;
    bool *awaited; /* [n_nodes] */
};

struct rz_names {
    struct rz_names_config config;
    const struct rz_own_node *own; /* copied from config */
    struct entry *entries;
    uint32_t n_entries;
    struct pending *pending;
    uint64_t serial;
};

/* ---- Entries ---- */

/* The valid entry of a name: that of the lowest rank among those that published it at the same
 * time. */
static struct entry **entry_at(struct rz_names *names, const char *service)
{
    struct entry **found = NULL, **at = &names->entries;
    for (; *at; at = &(*at)->next) {
        if (strcmp((*at)->service, service) == 0 &&
            (!found || (*at)->owner.rank < (*found)->owner.rank)) {
            found = at;
        }
    }
    return found ? found : at;
}

static bool same_process(const struct owner *a, const struct owner *b)
{
    return a->rank == b->rank && a->incarnation == b->incarnation;
}

static struct entry **entry_of(struct rz_names *names, const char *service,
                               const struct owner *owner)
{
    struct entry **at = &names->entries;
    while (*at && (strcmp((*at)->service, service) != 0 || !same_process(&(*at)->owner, owner))) {
        at = &(*at)->next;
    }
    return at;
}

static void entry_remove(struct rz_names *names, struct entry **at)
{
    struct entry *entry = *at;
    *at = entry->next;
    names->n_entries--;
    free(entry->service);
    free(entry->port);
    free(entry);
}

static bool owner_is_failed(const struct rz_names *names, const struct owner *owner)
{
    const struct rz_own_node *own = names->own;
    if (owner->rank >= own->job.n_slots ||
        own->membership.slots[owner->rank].failed >= owner->incarnation) {
        return true;
    }
    const struct rz_membership_slot *place = &own->membership.slots[owner->rank];
    return place->incarnation > owner->incarnation ||
           (place->incarnation == owner->incarnation && place->incarnation > 0 &&
            rz_membership_node_has_failed(&own->membership, place->node));
}

/* Also before each use: a roll-back replaces processes that have not failed, too. */
static void drop_names_of_failed(struct rz_names *names)
{
    for (struct entry **at = &names->entries; *at;) {
        if (owner_is_failed(names, &(*at)->owner)) {
            entry_remove(names, at);
        } else {
            at = &(*at)->next;
        }
    }
}

/*
 * Adds an entry. RZ_ERR_EXISTS: a process of a lower rank has the name, and keeps it. The entry of
 * a higher rank stays, too, until its daemon takes it back: if the process of the lower rank fails
 * before that, the other one keeps the name.
 */
static rz_status_t entry_put(struct rz_names *names, const struct owner *owner, const char *service,
                             const char *port)
{
    struct entry **at = entry_at(names, service);
    if (owner_is_failed(names, owner)) {
        return RZ_OK; /* the process that asked has failed */
    }
    if (*at && !same_process(&(*at)->owner, owner) && (*at)->owner.rank < owner->rank) {
        return RZ_ERR_EXISTS;
    }
    at = entry_of(names, service, owner);
    if (*at) {
        entry_remove(names, at);
    }
    if (names->n_entries == RZ_NAMES_MAX) {
        return RZ_ERR_REFUSED;
    }
    struct entry *entry = calloc(1, sizeof(*entry));
    if (!entry || !(entry->service = strdup(service)) || !(entry->port = strdup(port))) {
        if (entry) {
            free(entry->service);
        }
        free(entry);
        return RZ_ERR_NO_MEMORY;
    }
    entry->owner = *owner;
    entry->next = names->entries;
    names->entries = entry;
    names->n_entries++;
    return RZ_OK;
}

/* Removes the entry of this publication, or of an earlier one by the same process. Returns whether
 * there was one. */
static bool entry_drop(struct rz_names *names, const struct owner *owner, const char *service)
{
    struct entry **at = entry_of(names, service, owner);
    if (!*at || (*at)->owner.serial > owner->serial) {
        return false;
    }
    entry_remove(names, at);
    return true;
}

/* ---- Answers to processes ---- */

static void answer(struct rz_names *names, uint32_t rank, uint64_t question, rz_status_t status,
                   const char *port)
{
    struct rz_link_message message = {
        .type = RZ_LINK_NAMED,
        .named = {.question = question, .status = (uint32_t)status, .port = port}};
    rz_link_router_send_to(names->config.children, rank, &message, -1);
}

static void pending_free(struct pending *pending)
{
    free(pending->service);
    free(pending->awaited);
    free(pending);
}

static void pending_end(struct rz_names *names, struct pending **at)
{
    struct pending *pending = *at;
    *at = pending->next;
    /* A replacement of the asker uses the same question numbers. */
    if (names->own->membership.slots[pending->asker].incarnation == pending->incarnation) {
        answer(names, pending->asker, pending->question, pending->status, "");
    }
    pending_free(pending);
}

static void pending_end_if_done(struct rz_names *names, struct pending **at)
{
    if ((*at)->n_awaited == 0) {
        pending_end(names, at);
    }
}

/* ---- Telling the other daemons ---- */

static void send_entry(struct rz_names *names, rz_id to, const char *put, uint64_t serial,
                       const struct owner *owner, const char *service)
{
    struct rz_overlay_message message = {.type = put ? RZ_OVERLAY_NAME_PUT : RZ_OVERLAY_NAME_DROP};
    if (put) {
        message.name_put = (struct rz_overlay_name_put){.serial = serial,
                                                        .owner_serial = owner->serial,
                                                        .rank = owner->rank,
                                                        .incarnation = owner->incarnation,
                                                        .service = service,
                                                        .port = put};
    } else {
        message.name_drop = (struct rz_overlay_name_drop){.serial = serial,
                                                          .owner_serial = owner->serial,
                                                          .rank = owner->rank,
                                                          .incarnation = owner->incarnation,
                                                          .service = service};
    }
    rz_overlay_send(names->config.overlay, to, &message);
}

/* Tells all other daemons; the asker is answered when all live ones have confirmed. put: the port;
 * NULL: the entry has ended. */
static void tell_all(struct rz_names *names, const char *put, const struct owner *owner,
                     const struct owner *asker, const struct rz_link_name *question)
{
    const struct rz_own_node *own = names->own;
    struct pending *pending = calloc(1, sizeof(*pending));
    bool *awaited = calloc(own->job.n_nodes, sizeof(*awaited));
    char *service = strdup(question->service);
    rz_need_memory(pending && awaited && service, "for a question about a name");
    *pending = (struct pending){.next = names->pending,
                                .owner = *owner,
                                .service = service,
                                .asker = asker->rank,
                                .incarnation = asker->incarnation,
                                .question = question->question,
                                .serial = ++names->serial,
                                .status = RZ_OK,
                                .awaited = awaited};
    names->pending = pending;
    for (rz_id node = 0; node < own->job.n_nodes; node++) {
        if (node == own->job.node || rz_membership_node_has_failed(&own->membership, node)) {
            continue;
        }
        awaited[node] = true;
        pending->n_awaited++;
        send_entry(names, node, put, pending->serial, owner, service);
    }
    pending_end_if_done(names, &names->pending);
}

/* ---- Requests of processes ---- */

static void publish_name(struct rz_names *names, const struct owner *owner,
                         const struct rz_link_name *question)
{
    struct entry *there = *entry_at(names, question->service);
    rz_status_t status = RZ_OK;
    if (there && !same_process(&there->owner, owner)) {
        status = RZ_ERR_EXISTS;
    }
    if (status == RZ_OK) {
        status = entry_put(names, owner, question->service, question->port);
    }
    if (status != RZ_OK) {
        answer(names, owner->rank, question->question, status, "");
    } else {
        tell_all(names, question->port, owner, owner, question);
    }
}

static void unpublish(struct rz_names *names, const struct owner *asker,
                      const struct rz_link_name *question)
{
    struct entry **at = entry_at(names, question->service);
    if (!*at || strcmp((*at)->port, question->port) != 0) {
        answer(names, asker->rank, question->question, RZ_ERR_NOT_FOUND, "");
        return;
    }
    struct owner owner = (*at)->owner;
    entry_remove(names, at);
    tell_all(names, NULL, &owner, asker, question);
}

void rz_names_ask(struct rz_names *names, uint32_t rank, uint32_t incarnation,
                  const struct rz_link_name *question)
{
    struct entry *there;
    if (strlen(question->service) > RZ_NAME_BYTES_MAX ||
        strlen(question->port) > RZ_NAME_BYTES_MAX) {
        answer(names, rank, question->question, RZ_ERR_INVALID, "");
        return;
    }
    struct owner owner = {rank, incarnation, ++names->serial};
    drop_names_of_failed(names);
    switch (question->what) {
    case RZ_NAME_PUBLISH:
        publish_name(names, &owner, question);
        break;
    case RZ_NAME_UNPUBLISH:
        unpublish(names, &owner, question);
        break;
    case RZ_NAME_LOOK_UP:
        there = *entry_at(names, question->service);
        answer(names, rank, question->question, there ? RZ_OK : RZ_ERR_NOT_FOUND,
               there ? there->port : "");
        break;
    default:
        answer(names, rank, question->question, RZ_ERR_INVALID, "");
    }
}

/* ---- Messages of the daemons ---- */

static void confirm(struct rz_names *names, rz_id to, uint64_t serial, rz_status_t status)
{
    struct rz_overlay_message message = {
        .type = RZ_OVERLAY_NAME_KEPT, .name_kept = {.serial = serial, .status = (uint32_t)status}};
    rz_overlay_send(names->config.overlay, to, &message);
}

/* Sends the end of an entry; no answer is expected. */
static void send_drop(struct rz_names *names, rz_id to, const struct owner *owner,
                      const char *service)
{
    const struct rz_own_node *own = names->own;
    if (to != own->job.node && !rz_membership_node_has_failed(&own->membership, to)) {
        send_entry(names, to, NULL, 0, owner, service);
    }
}

static void send_drop_to_all(struct rz_names *names, const struct owner *owner, const char *service)
{
    for (rz_id node = 0; node < names->own->job.n_nodes; node++) {
        send_drop(names, node, owner, service);
    }
}

/*
 * A process has unpublished a name of another process, and may fail before all daemons have learned
 * of it. Each daemon tells the daemon of the process that published the name, and that daemon tells
 * all.
 */
static void pass_on_drop(struct rz_names *names, rz_id from, const struct owner *owner,
                         const char *service)
{
    const struct rz_own_node *own = names->own;
    rz_id home = own->membership.slots[owner->rank].node;
    if (home == own->job.node) {
        send_drop_to_all(names, owner, service);
    } else if (home != from) {
        send_drop(names, home, owner, service);
    }
}

/* A daemon has refused the publication: it is taken back everywhere, even if this daemon no longer
 * has it. */
static void take_back(struct rz_names *names, const struct pending *pending)
{
    send_drop_to_all(names, &pending->owner, pending->service);
    entry_drop(names, &pending->owner, pending->service);
}

/* Ends a publication of this node as refused. */
static void refuse_publication(struct rz_names *names, struct pending *pending, rz_status_t status)
{
    if (pending->status != RZ_OK) {
        return;
    }
    pending->status = status;
    take_back(names, pending);
}

static void confirmed(struct rz_names *names, rz_id from, const struct rz_overlay_name_kept *kept)
{
    struct pending **at = &names->pending;
    while (*at && (*at)->serial != kept->serial) {
        at = &(*at)->next;
    }
    if (!*at || !(*at)->awaited[from]) {
        return;
    }
    (*at)->awaited[from] = false;
    (*at)->n_awaited--;
    if (kept->status != RZ_OK) {
        refuse_publication(names, *at, (rz_status_t)kept->status);
    }
    pending_end_if_done(names, at);
}

void rz_names_message(struct rz_names *names, rz_id from, const struct rz_overlay_message *message)
{
    if (message->type == RZ_OVERLAY_NAME_PUT) {
        const struct rz_overlay_name_put *put = &message->name_put;
        struct owner owner = {put->rank, put->incarnation, put->owner_serial};
        bool fits =
            strlen(put->service) <= RZ_NAME_BYTES_MAX && strlen(put->port) <= RZ_NAME_BYTES_MAX;
        drop_names_of_failed(names);
        confirm(names, from, put->serial,
                fits ? entry_put(names, &owner, put->service, put->port) : RZ_ERR_INVALID);
    } else if (message->type == RZ_OVERLAY_NAME_DROP) {
        const struct rz_overlay_name_drop *drop = &message->name_drop;
        struct owner owner = {drop->rank, drop->incarnation, drop->owner_serial};
        if (entry_drop(names, &owner, drop->service)) {
            pass_on_drop(names, from, &owner, drop->service);
        }
        if (drop->serial != 0) {
            confirm(names, from, drop->serial, RZ_OK);
        }
    } else if (message->type == RZ_OVERLAY_NAME_KEPT) {
        confirmed(names, from, &message->name_kept);
    }
}

/* ---- Failures ---- */

static void process_ended(struct rz_names *names, uint32_t rank, uint32_t incarnation)
{
    struct owner owner = {.rank = rank, .incarnation = incarnation};
    for (struct entry **at = &names->entries; *at;) {
        if (same_process(&(*at)->owner, &owner)) {
            entry_remove(names, at);
        } else {
            at = &(*at)->next;
        }
    }
}

void rz_names_node_failed(void *names, rz_id node, bool proof, bool first)
{
    (void)node, (void)proof;
    if (first) {
        rz_names_look_at_failures(names);
    }
}

void rz_names_process_failed(void *names, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    if (end == RZ_END_ORDER) {
        process_ended(names, slot, incarnation);
    } else {
        rz_names_look_at_failures(names);
    }
}

void rz_names_look_at_failures(struct rz_names *names)
{
    const struct rz_own_node *own = names->own;
    drop_names_of_failed(names);
    for (struct pending **at = &names->pending; *at;) {
        struct pending *pending = *at;
        for (rz_id node = 0; node < own->job.n_nodes; node++) {
            if (pending->awaited[node] && rz_membership_node_has_failed(&own->membership, node)) {
                pending->awaited[node] = false;
                pending->n_awaited--;
            }
        }
        pending_end_if_done(names, at);
        if (*at == pending) {
            at = &pending->next;
        }
    }
}

static bool on_name(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    (void)fd;
    rz_names_ask(arg, p->rank, p->incarnation, &message->name);
    return true;
}

static void on_names_message(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    rz_names_message(arg, from, message);
}

rz_status_t rz_names_open(struct rz_names **names, const struct rz_names_config *config)
{
    *names = calloc(1, sizeof(**names));
    if (!*names) {
        return RZ_ERR_NO_MEMORY;
    }
    (*names)->config = *config;
    (*names)->own = config->own;
    rz_link_router_handle(config->router, RZ_LINK_NAME, on_name, *names);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_NAME_PUT, on_names_message, *names);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_NAME_DROP, on_names_message,
                             *names);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_NAME_KEPT, on_names_message,
                             *names);
    return RZ_OK;
}

void rz_names_close(struct rz_names *names)
{
    if (!names) {
        return;
    }
    while (names->entries) {
        entry_remove(names, &names->entries);
    }
    while (names->pending) {
        struct pending *pending = names->pending;
        names->pending = pending->next;
        pending_free(pending);
    }
    free(names);
}
