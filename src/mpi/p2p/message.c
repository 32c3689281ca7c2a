#include "mpi/p2p/message.h"

#include "mpi/chapter.h"
#include "mpi/comm/setup_message.h"
#include "mpi/ft/protocol_message.h"
#include "mpi/ft/inquiry.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/peer.h"
#include "mpi/p2p/sync.h"
#include "mpi/p2p/unstarted.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_token(struct rz_path *path, rz_net_token_t token)
{
    if (token != NULL) {
        path->ops->drop(path->net, token);
    }
}

/* Of a message that has passed the epoch check: its sender is to hear of it. */
static void drop_payload(struct rz_path *path, const struct rz_envelope *envelope,
                         rz_net_token_t token)
{
    if (token != NULL) {
        rz_peer_drop(rz_message_from(envelope), path, token);
    }
}

/* The same of one that no receive will meet any more. */
static void drop_unmet(struct rz_path *path, const struct rz_envelope *envelope,
                       rz_net_token_t token)
{
    if (envelope->kind == RZ_ENVELOPE_SYNC) {
        rz_sync_dropped(envelope);
    }
    drop_payload(path, envelope, token);
}

/* Without memory for a message that has arrived nothing can be promised to its sender any more. */
static _Noreturn void out_of_memory(size_t bytes)
{
    fprintf(stderr,
            "rhizome: rank %u: no memory for a message of %zu bytes that nobody has received yet\n",
            rz_engine.info->self.rank, bytes);
    abort();
}

static void message_keep(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                         size_t bytes, rz_net_token_t token)
{
    struct rz_early *message = malloc(sizeof(*message) + (token == NULL ? bytes : 0));
    if (message == NULL) {
        out_of_memory(bytes);
    }
    message->match.context = envelope->context;
    message->match.source = envelope->source;
    message->match.tag = envelope->tag;
    message->envelope = *envelope;
    message->path = path;
    message->token = token;
    message->bytes = bytes;
    if (token == NULL && bytes > 0) {
        memcpy(message->data, data, bytes);
    }
    if (!rz_match_keep(&rz_engine.matcher, &message->match)) {
        out_of_memory(bytes);
    }
    rz_engine.counters.unexpected++;
}

/*
 * Which communicator a message is of is known only when it meets a receive. Its source is then
 * looked up there; one that is no member, or another than has sent it, is somebody's bug.
 */
static bool fits(const struct rz_comm *comm, const struct rz_envelope *envelope)
{
    return envelope->source >= 0 && envelope->source < comm->remote->size &&
           comm->remote->process[envelope->source] == rz_message_from(envelope);
}

struct rz_early *rz_message_find(const struct rz_comm *comm, enum rz_context_offset context_offset,
                                 int source, int tag, bool take)
{
    uint64_t context = rz_comm_context(comm, context_offset);
    struct rz_match_entry *entry;
    while ((entry = rz_match_find(&rz_engine.matcher, context, source, tag, take)) != NULL &&
           !fits(comm, &RZ_EARLY_OF(entry)->envelope)) {
        if (!take) {
            rz_match_find(&rz_engine.matcher, context, source, tag, true);
        }
        rz_engine.counters.foreign++;
        rz_message_drop(RZ_EARLY_OF(entry));
    }
    return entry != NULL ? RZ_EARLY_OF(entry) : NULL;
}

/* Of a message that has met no receive. */
static bool is_of_no_use(const struct rz_envelope *envelope)
{
    return rz_engine.last_call == (uint64_t)rz_engine.epoch + 1 ||
           rz_match_closed(&rz_engine.matcher, envelope->context) ||
           rz_comm_has_ended(envelope->context / RZ_CONTEXT_OFFSET_COUNT * RZ_CONTEXT_OFFSET_COUNT);
}

void rz_message_take(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                     size_t bytes, rz_net_token_t token)
{
    struct rz_match_entry *posted =
        rz_match_arrive(&rz_engine.matcher, envelope->context, envelope->source, envelope->tag);
    struct rz_request *request =
        posted != NULL ? (void *)((char *)posted - offsetof(struct rz_request, match)) : NULL;
    if (request != NULL && !fits(request->comm, envelope)) {
        rz_engine.counters.foreign++;
        drop_payload(path, envelope, token);
    } else if (request != NULL) {
        rz_match_unpost(&rz_engine.matcher, posted);
        rz_p2p_receive(request, path, envelope, data, bytes, token);
    } else if (is_of_no_use(envelope)) {
        drop_unmet(path, envelope, token);
    } else {
        message_keep(path, envelope, data, bytes, token);
    }
}

void rz_message_meet(struct rz_request *request, struct rz_early *message)
{
    rz_p2p_receive(request, message->path, &message->envelope, message->data, message->bytes,
                   message->token);
    free(message);
}

void rz_message_drop(struct rz_early *message)
{
    drop_payload(message->path, &message->envelope, message->token);
    free(message);
}

static void drop_early(struct rz_match_context *context)
{
    struct rz_match_entry *entry;
    while ((entry = rz_match_find(&rz_engine.matcher, context->id, RZ_MATCH_ANY_SOURCE,
                                  RZ_MATCH_ANY_TAG, true)) != NULL) {
        struct rz_early *message = RZ_EARLY_OF(entry);
        drop_unmet(message->path, &message->envelope, message->token);
        free(message);
    }
}

void rz_message_forget_context(uint64_t id)
{
    drop_early(&(struct rz_match_context){.id = id});
    rz_match_release(&rz_engine.matcher, id);
}

void rz_message_last_call(void)
{
    rz_engine.last_call = (uint64_t)rz_engine.epoch + 1;
    rz_p2p_forget();
}

void rz_message_close_context(uint64_t id)
{
    if (!rz_match_close(&rz_engine.matcher, id)) {
        out_of_memory(0);
    }
    drop_early(&(struct rz_match_context){.id = id});
}

void rz_p2p_forget(void)
{
    struct rz_matcher *matcher = &rz_engine.matcher;
    for (uint32_t i = 0; matcher->contexts != NULL && i <= matcher->contexts_mask; i++) {
        for (struct rz_match_context *context = matcher->contexts[i]; context != NULL;
             context = context->next) {
            drop_early(context);
        }
    }
}

/* ---- The epoch check ---- */

enum epoch_check { EPOCH_CHECK_SHUT, EPOCH_CHECK_OPEN, EPOCH_CHECK_WAIT };

/*
 * Law 4: what is not of this job, this epoch and a living incarnation is dropped before anything of
 * it is looked at. Forced closing of connections does not fence; this does. Who was spawned without
 * our knowing of it yet waits outside.
 */
static enum epoch_check epoch_check_for(const struct rz_envelope *envelope)
{
    struct rz_engine_counters *counters = &rz_engine.counters;
    const struct rz_link_info *info = rz_engine.info;
    if (envelope->job_token != info->job_token || envelope->slot >= info->n_slots) {
        counters->foreign++;
        return EPOCH_CHECK_SHUT;
    }
    if (envelope->epoch != rz_engine.epoch || rz_engine.rollback) {
        /* Nobody is in a later epoch before we said that we stand at its start: such a message is
         * somebody's bug. */
        *(envelope->epoch > rz_engine.epoch ? &counters->future_epoch : &counters->old_epoch) += 1;
        return EPOCH_CHECK_SHUT;
    }
    const struct rz_member *member = &rz_engine.members[envelope->slot];
    uint32_t present = rz_board_incarnation(member->word);
    if (envelope->incarnation > present) {
        return EPOCH_CHECK_WAIT;
    }
    if (member->failed || envelope->incarnation < present) {
        counters->old_incarnation++;
        return EPOCH_CHECK_SHUT;
    }
    return EPOCH_CHECK_OPEN;
}

void rz_message_enter(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                      size_t bytes, rz_net_token_t token)
{
    rz_kill_here(RZ_KILL_ARRIVED);
    uint32_t from = rz_message_from(envelope);
    if (path == &rz_engine.paths[RZ_PATH_SHM] && rz_member_of(from)->peer == NULL) {
        /* Its flow control needs the way back; the transport's own call (stranger) may have come in
         * an earlier epoch. */
        rz_peer_meet(from);
    }
    if (envelope->kind == RZ_ENVELOPE_ACK) {
        rz_sync_acknowledged(envelope->serial, from);
        drop_token(path, token);
    } else if (envelope->kind == RZ_ENVELOPE_CANCEL) {
        rz_sync_cancel_wanted(envelope);
        drop_token(path, token);
    } else if (envelope->kind == RZ_ENVELOPE_CANCELLED || envelope->kind == RZ_ENVELOPE_MET) {
        rz_sync_cancel_answered(envelope);
        drop_token(path, token);
    } else if (envelope->kind == RZ_ENVELOPE_PROTOCOL) {
        rz_protocol_message_arrived(path, envelope, data, bytes, token);
    } else if (envelope->kind == RZ_ENVELOPE_SETUP) {
        rz_setup_message_arrived(path, envelope, data, bytes, token);
    } else if (envelope->kind == RZ_ENVELOPE_INQUIRY || envelope->kind == RZ_ENVELOPE_ABSENT) {
        rz_inquiry_arrived(envelope);
        drop_token(path, token);
    } else if ((uint32_t)envelope->source > RZ_SLOT_MASK) {
        rz_engine.counters.foreign++; /* no communicator has such a rank: nobody may look it up */
        drop_token(path, token);
    } else {
        rz_message_take(path, envelope, data, bytes, token);
    }
}

void rz_p2p_arrived(struct rz_path *path, const void *header, uint32_t header_bytes,
                    const void *data, size_t bytes, rz_net_token_t token)
{
    struct rz_envelope envelope;
    if (!rz_envelope_decode(&envelope, header, header_bytes)) {
        rz_engine.counters.foreign++;
        drop_token(path, token);
        return;
    }
    enum epoch_check epoch_check = epoch_check_for(&envelope);
    if (epoch_check == EPOCH_CHECK_OPEN) {
        rz_message_enter(path, &envelope, data, bytes, token);
    } else if (epoch_check == EPOCH_CHECK_WAIT) {
        rz_unstarted_keep(path, &envelope, data, bytes, token);
    } else {
        drop_token(path, token);
    }
}
