/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that arrive before their receive: kept in the matcher, dropped where no receive can come
 * (a closed context, MPI_Finalize), or cancelled by their sender.
 */
#include "mpi/p2p/message.h"

#include "base/no_memory.h"
#include "mpi/impl.h"
#include "mpi/engine/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rz_matcher rz_matcher;
struct rz_early *rz_early_lost;

/*
 * Synchronous messages that were dropped without a receive, since none will come: in MPI_Finalize,
 * or at the end of their communicator. Each is kept here so that its sender, which waits, can still
 * cancel it. Only erroneous programs, and those that cancel such sends, have any.
 */
static struct dropped {
    struct dropped *next;
    struct rz_envelope envelope;
} * all_dropped;

static bool last_call; /* the program receives nothing more in this epoch */

void rz_message_drop_payload(struct rz_path *path, const struct rz_envelope *envelope,
                             rz_net_token_t token)
{
    if (token) {
        rz_peer_drop(rz_message_from(envelope), path, token);
    }
}

static void remember_dropped(const struct rz_envelope *envelope)
{
    struct dropped *dropped = calloc(1, sizeof(*dropped));
    rz_need_memory(dropped, "to drop a message"); /* the sender would wait for ever */
    *dropped = (struct dropped){all_dropped, *envelope};
    all_dropped = dropped;
}

/* As above, for a message that no receive will meet any more. */
static void drop_unmet(struct rz_path *path, const struct rz_envelope *envelope,
                       rz_net_token_t token)
{
    if (envelope->kind == RZ_ENVELOPE_SYNC) {
        remember_dropped(envelope);
    }
    rz_message_drop_payload(path, envelope, token);
}

/* Without memory for a message that has arrived its sender can be promised nothing any more. */
static _Noreturn void out_of_memory(size_t bytes)
{
    rz_no_memory("for a message of %zu bytes that has not been received yet", bytes);
}

/* ---- The memory of small messages, which is used again ---- */

/* Of a small message the payload has at most so many bytes, or is elsewhere; so many are kept. */
enum { SMALL_ROOM = 64, SMALL_KEPT = 1024 };

static struct small {
    struct small *next;
} * small_first;
static uint32_t small_kept;

static struct rz_early *message_new(size_t room)
{
    bool is_small = room <= SMALL_ROOM;
    struct rz_early *message = (void *)small_first;
    if (is_small && message) {
        small_first = small_first->next;
        small_kept--;
    } else {
        message = malloc(sizeof(*message) + (is_small ? SMALL_ROOM : room));
    }
    if (message) {
        message->small = is_small;
    }
    return message;
}

static void memory_free(struct rz_early *message)
{
    if (!message->small || small_kept == SMALL_KEPT) {
        free(message);
        return;
    }
    struct small *small = (void *)message;
    small->next = small_first;
    small_first = small;
    small_kept++;
}

void rz_messages_release_memory(void)
{
    while (small_first) {
        struct small *next = small_first->next;
        free(small_first);
        small_first = next;
    }
    small_kept = 0;
}

/* ---- Messages without a receive ---- */

static void message_keep(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                         size_t bytes, rz_net_token_t token)
{
    struct rz_early *message = message_new(!token ? bytes : 0);
    if (!message) {
        out_of_memory(bytes);
    }
    message->match.context = envelope->context;
    message->match.source = envelope->source;
    message->match.tag = envelope->tag;
    message->envelope = *envelope;
    message->path = path;
    message->token = token;
    message->fetched_for = NULL;
    message->receive = NULL;
    message->fetched = NULL;
    message->bytes = bytes;
    if (!token && bytes == sizeof(uint64_t)) {
        memcpy(message->data, data, sizeof(uint64_t)); /* without a call */
    } else if (!token && bytes > 0) {
        memcpy(message->data, data, bytes);
    }
    if (!rz_match_keep(&rz_matcher, &message->match)) {
        out_of_memory(bytes);
    }
    rz_engine.counters.unexpected++;
}

struct rz_early *rz_message_look_up(const struct rz_comm *comm,
                                    enum rz_context_offset context_offset, int source, int tag,
                                    bool take)
{
    uint64_t context = rz_comm_context(comm, context_offset);
    struct rz_match_entry *entry;
    while ((entry = rz_match_find(&rz_matcher, context, source, tag, take)) != NULL &&
           !rz_message_fits(comm, &RZ_EARLY_OF(entry)->envelope)) {
        if (!take) {
            rz_match_find(&rz_matcher, context, source, tag, true);
        }
        rz_engine.counters.foreign++;
        rz_message_drop(RZ_EARLY_OF(entry));
    }
    return entry ? RZ_EARLY_OF(entry) : NULL;
}

/* Whether a message that met no receive is to be dropped. */
static bool is_of_no_use(const struct rz_envelope *envelope)
{
    return last_call || rz_match_closed(&rz_matcher, envelope->context) ||
           rz_comm_has_ended(envelope->context / RZ_CONTEXT_OFFSET_ROOM * RZ_CONTEXT_OFFSET_ROOM);
}

void rz_message_unexpected(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token)
{
    if (is_of_no_use(envelope)) {
        drop_unmet(path, envelope, token);
    } else {
        message_keep(path, envelope, data, bytes, token);
    }
}

void rz_message_free(struct rz_early *message)
{
    if (message->fetched_for) {
        *message->fetched_for = NULL;
    }
    if (message->fetched) {
        free(message->fetched);
    }
    memory_free(message);
}

void rz_message_drop(struct rz_early *message)
{
    rz_message_drop_payload(message->path, &message->envelope, message->token);
    rz_message_free(message);
}

void rz_messages_each(void (*visit)(struct rz_early *message, void *arg), void *arg)
{
    const struct rz_matcher *matcher = &rz_matcher;
    for (uint32_t i = 0; matcher->contexts && i <= matcher->contexts_mask; i++) {
        for (struct rz_match_context *context = matcher->contexts[i]; context;
             context = context->next) {
            for (struct rz_match_entry *entry = context->early.first; entry;
                 entry = entry->row_next) {
                visit(RZ_EARLY_OF(entry), arg);
            }
        }
    }
}

void rz_message_renew(struct rz_envelope *envelope)
{
    envelope->epoch = rz_engine.epoch;
    envelope->incarnation = rz_board_incarnation(rz_liveness.members[envelope->slot].word);
}

void rz_messages_renew_dropped(void)
{
    for (struct dropped *dropped = all_dropped; dropped; dropped = dropped->next) {
        rz_message_renew(&dropped->envelope);
    }
}

static void drop_early(struct rz_match_context *context)
{
    struct rz_match_entry *entry;
    while ((entry = rz_match_find(&rz_matcher, context->id, RZ_MATCH_ANY_SOURCE, RZ_MATCH_ANY_TAG,
                                  true)) != NULL) {
        struct rz_early *message = RZ_EARLY_OF(entry);
        drop_unmet(message->path, &message->envelope, message->token);
        rz_message_free(message);
    }
}

void rz_message_forget_context(uint64_t id)
{
    drop_early(&(struct rz_match_context){.id = id});
    rz_match_release(&rz_matcher, id);
}

bool rz_messages_begin(void)
{
    last_call = false;
    return rz_matcher_init(&rz_matcher);
}

void rz_message_last_call(void)
{
    last_call = true;
    rz_messages_forget();
}

void rz_message_close_context(uint64_t id)
{
    if (!rz_match_close(&rz_matcher, id)) {
        out_of_memory(0);
    }
    drop_early(&(struct rz_match_context){.id = id});
}

void rz_messages_forget(void)
{
    struct rz_matcher *matcher = &rz_matcher;
    for (uint32_t i = 0; matcher->contexts && i <= matcher->contexts_mask; i++) {
        for (struct rz_match_context *context = matcher->contexts[i]; context;
             context = context->next) {
            drop_early(context);
        }
    }
}

/* ---- Cancelled messages ---- */

static bool is_same(const struct rz_envelope *kept, const struct rz_envelope *wanted)
{
    return kept->serial == wanted->serial && kept->slot == wanted->slot &&
           kept->incarnation == wanted->incarnation;
}

static bool is_called_so(const struct rz_match_entry *entry, const void *arg)
{
    return is_same(&RZ_EARLY_OF(entry)->envelope, arg);
}

static bool take_from_dropped(const struct rz_envelope *envelope)
{
    for (struct dropped **at = &all_dropped; *at; at = &(*at)->next) {
        struct dropped *dropped = *at;
        if (is_same(&dropped->envelope, envelope)) {
            *at = dropped->next;
            free(dropped);
            return true;
        }
    }
    return false;
}

bool rz_message_take_back(const struct rz_envelope *envelope)
{
    struct rz_match_entry *entry =
        rz_match_take_back(&rz_matcher, envelope->context, is_called_so, envelope);
    if (entry) {
        rz_message_drop(RZ_EARLY_OF(entry));
    }
    return entry || take_from_dropped(envelope);
}

void rz_messages_forget_dropped(void)
{
    while (all_dropped) {
        struct dropped *next = all_dropped->next;
        free(all_dropped);
        all_dropped = next;
    }
}
