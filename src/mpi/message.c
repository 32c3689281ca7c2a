#include "mpi/message.h"

#include "mpi/chapter.h"
#include "mpi/p2p.h"
#include "mpi/peer.h"
#include "mpi/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_token(struct rz_path *path, rz_net_token_t token)
{
    if (token != NULL) {
        path->ops->drop(path->net, token);
    }
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

void rz_message_take(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                     size_t bytes, rz_net_token_t token)
{
    struct rz_match_entry *posted =
        rz_match_arrive(&rz_engine.matcher, envelope->context, envelope->source, envelope->tag);
    if (posted != NULL) {
        struct rz_request *request = (void *)((char *)posted - offsetof(struct rz_request, match));
        rz_p2p_receive(request, path, envelope, data, bytes, token);
    } else if (rz_match_closed(&rz_engine.matcher, envelope->context)) {
        drop_token(path, token);
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
    drop_token(message->path, message->token);
    free(message);
}

static void drop_early(struct rz_match_context *context)
{
    struct rz_match_entry *entry;
    while ((entry = rz_match_find(&rz_engine.matcher, context->id, RZ_MATCH_ANY_SOURCE,
                                  RZ_MATCH_ANY_TAG, true)) != NULL) {
        rz_message_drop(RZ_EARLY_OF(entry));
    }
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

/* ---- The door ---- */

/*
 * Law 4: what is not of this job, this epoch and a living incarnation is dropped before anything of
 * it is looked at. Forced closing of connections does not fence; this does.
 */
static bool door_passes(const struct rz_envelope *envelope)
{
    struct rz_engine_counters *counters = &rz_engine.counters;
    const struct rz_link_info *info = rz_engine.info;
    if (envelope->job_token != info->job_token || envelope->world >= info->n_ranks) {
        counters->foreign++;
        return false;
    }
    if (envelope->epoch != rz_engine.epoch || rz_engine.rollback) {
        /* Nobody is in a later epoch before we said that we stand at its start: such a message is
         * somebody's bug. */
        *(envelope->epoch > rz_engine.epoch ? &counters->future_epoch : &counters->old_epoch) += 1;
        return false;
    }
    const struct rz_member *member = &rz_engine.members[envelope->world];
    if (member->dead || envelope->incarnation != rz_board_incarnation(member->word)) {
        counters->old_incarnation++;
        return false;
    }
    return true;
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
    if (!door_passes(&envelope)) {
        drop_token(path, token);
        return;
    }
    if (path == &rz_engine.paths[RZ_PATH_SHM] && rz_engine.members[envelope.world].peer == NULL) {
        /* Its flow control needs the way back; the transport's own call (stranger) may have come in
         * an earlier epoch. */
        rz_peer_meet(envelope.world, envelope.incarnation);
    }
    if (envelope.kind == RZ_ENVELOPE_ACK) {
        rz_sync_acknowledged(envelope.serial, envelope.world);
        drop_token(path, token);
    } else {
        rz_message_take(path, &envelope, data, bytes, token);
    }
}
