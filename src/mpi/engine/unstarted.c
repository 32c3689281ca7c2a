/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A list of messages, and of processes that have connected, in the order of arrival, until the
 * board shows their senders.
 */
#include "mpi/engine/unstarted.h"

#include "base/no_memory.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message, or the event that a process has connected. In the order of arrival. */
struct waiting {
    struct waiting *next;
    uint32_t slot, incarnation;
    bool met;
    struct rz_path *path;
    struct rz_envelope envelope;
    rz_net_token_t token;
    size_t bytes;
    unsigned char data[];
};

static struct waiting *first, **last = &first;

static struct waiting *append(uint32_t slot, uint32_t incarnation, size_t bytes)
{
    struct waiting *waiting = calloc(1, sizeof(*waiting) + bytes);
    if (!waiting) {
        rz_no_memory("for a message of %zu bytes that came early", bytes);
    }
    waiting->slot = slot;
    waiting->incarnation = incarnation;
    *last = waiting;
    last = &waiting->next;
    return waiting;
}

void rz_unstarted_keep(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                       size_t bytes, rz_net_token_t token)
{
    size_t copied = !token ? bytes : 0;
    struct waiting *waiting = append(envelope->slot, envelope->incarnation, copied);
    waiting->path = path;
    waiting->envelope = *envelope;
    waiting->token = token;
    waiting->bytes = bytes;
    if (copied > 0) {
        memcpy(waiting->data, data, copied);
    }
}

void rz_unstarted_met(struct rz_identity identity)
{
    append(identity.rank, identity.incarnation, 0)->met = true;
}

/* Its process is gone for good. The transport drops a payload by itself only if it knows that a
 * process to which we never connected is gone. */
static void drop(const struct waiting *waiting)
{
    rz_paths_forget(waiting->slot, waiting->incarnation);
    rz_path_drop(waiting->path, waiting->token);
}

static void arrive(const struct waiting *waiting, rz_arrived_t arrived)
{
    if (waiting->met) {
        rz_peer_meet(rz_engine_number(waiting->slot, waiting->incarnation));
    } else {
        arrived(waiting->path, &waiting->envelope, waiting->data, waiting->bytes, waiting->token);
    }
}

/* Takes the entries that are for that slot and not of a still later process of it; the others
 * stay. */
static struct waiting *take(uint32_t slot, uint32_t incarnation)
{
    struct waiting *taken = NULL, **taken_last = &taken;
    for (struct waiting **at = &first; *at;) {
        struct waiting *waiting = *at;
        if (waiting->slot != slot || waiting->incarnation > incarnation) {
            at = &waiting->next;
            continue;
        }
        *at = waiting->next;
        waiting->next = NULL;
        *taken_last = waiting;
        taken_last = &waiting->next;
    }
    last = &first;
    while (*last) {
        last = &(*last)->next;
    }
    return taken;
}

void rz_unstarted_adopted(uint32_t slot, rz_arrived_t arrived)
{
    uint32_t incarnation = rz_board_incarnation(rz_liveness.members[slot].word);
    struct waiting *next = first ? take(slot, incarnation) : NULL;
    while (next) {
        struct waiting *waiting = next;
        next = waiting->next;
        if (waiting->incarnation == incarnation) {
            arrive(waiting, arrived);
        } else {
            drop(waiting);
        }
        free(waiting);
    }
}

void rz_unstarted_close(void)
{
    struct waiting *next = first;
    first = NULL;
    last = &first;
    while (next) {
        struct waiting *waiting = next;
        next = waiting->next;
        rz_path_drop(waiting->path, waiting->token);
        free(waiting);
    }
}
