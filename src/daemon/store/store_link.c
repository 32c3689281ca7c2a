/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of processes about their checkpoint pieces. */
#include "daemon/store/store.h"
#include "daemon/store/store_private.h"
#include "port/memory.h"

#include <stdio.h>

/* Checkpoints that the daemons keep belong to MPIX_Reinit: all processes of an epoch store pieces,
 * and all get their pieces back. A process that was spawned during the epoch has none and stores
 * none. */
static bool refuses_store(struct rz_child *p)
{
    struct rz_link_message message = {
        .type = RZ_LINK_REFUSED,
        .refused = {.reason = "a process that was replaced or spawned has no part in the "
                              "checkpoints of MPIX_Reinit"}};
    if (!rz_membership_is_spawned(&p->all->own->membership, p->rank, p->incarnation)) {
        return false;
    }
    if (!p->store_refused) {
        rz_report_log(&p->all->own->report, 0, "process %u, incarnation %u: %s", p->rank,
                      p->incarnation, message.refused.reason);
    }
    p->store_refused = true;
    rz_link_router_send(p, &message);
    return true;
}

static bool on_want_piece(void *arg, struct rz_child *p, const struct rz_link_message *message,
                          int *fd)
{
    uint32_t epoch = message->want_piece.epoch;
    (void)fd;
    const struct rz_link_message none = {.type = RZ_LINK_PIECE, .piece = {.epoch = epoch}};
    if (refuses_store(p)) {
        rz_link_router_send(p, &none);
    } else {
        store_want(arg, p->rank, epoch);
    }
    return true;
}

/* What costs its process no memory would cost other nodes any: their copies have no holes. */
static bool has_holes(struct rz_child *p, int fd, uint64_t bytes)
{
    char words[128];
    if (!rz_memory_holds(fd, bytes) || rz_memory_is_backed(fd, bytes)) {
        return false;
    }
    snprintf(words, sizeof(words),
             "its checkpoint piece of %llu bytes has holes: there is less memory behind it",
             (unsigned long long)bytes);
    rz_child_kill(p, words);
    return true;
}

static bool on_store(void *arg, struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    bool newer =
        message->store.epoch == p->all->own->membership.epoch && message->store.number > p->stored;
    p->stored = newer ? message->store.number : p->stored;
    if (refuses_store(p)) {
        return true;
    }
    if (has_holes(p, *fd, message->store.bytes)) {
        return true;
    }
    int piece = *fd;
    *fd = -1;
    return piece >= 0 && store_piece(arg, p->rank, &message->store, piece);
}

static bool on_restored(void *arg, struct rz_child *p, const struct rz_link_message *message,
                        int *fd)
{
    const struct rz_link_restored *restored = &message->restored;
    (void)arg, (void)fd;
    char note[32];
    if (!rz_child_record_once(p, &p->restored_recorded, restored->epoch)) {
        return true;
    }
    if (p->piece_source == RZ_STORE_FROM_FILE) {
        snprintf(note, sizeof(note), "file");
    } else if (p->piece_source == RZ_STORE_FROM_PARITIES) {
        snprintf(note, sizeof(note), "parities");
    } else {
        snprintf(note, sizeof(note), "node %u", p->piece_source);
    }
    struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_RESTORED,
                                    .epoch = restored->epoch,
                                    .rank = p->rank,
                                    .node = p->all->own->job.node,
                                    .incarnation = p->incarnation,
                                    .value = restored->generation,
                                    .note = restored->generation ? note : "nothing to restore"};
    rz_report_event(&p->all->own->report, &event);
    return true;
}

static bool on_unrestored(void *arg, struct rz_child *p, const struct rz_link_message *message,
                          int *fd)
{
    (void)fd;
    rz_store_unrestored(arg, p, message->unrestored.reason);
    return true;
}

void store_handle_link(struct rz_store *store)
{
    rz_link_router_handle(store->config.router, RZ_LINK_STORE, on_store, store);
    rz_link_router_handle(store->config.router, RZ_LINK_WANT_PIECE, on_want_piece, store);
    rz_link_router_handle(store->config.router, RZ_LINK_RESTORED, on_restored, store);
    rz_link_router_handle(store->config.router, RZ_LINK_UNRESTORED, on_unrestored, store);
}
