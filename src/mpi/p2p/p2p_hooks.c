/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of the layer p2p: acknowledgements and answers that arrive, failures, revocations, the
 * ends of epochs, and what the daemon is shown of messages under way.
 */
#include "mpi/p2p/p2p.h"

#include "mpi/engine/liveness.h"
#include "mpi/engine/paths.h"
#include "mpi/p2p/early_fetch.h"
#include "mpi/p2p/inquiry.h"
#include "mpi/p2p/message.h"
#include "mpi/p2p/partitioned.h"
#include "mpi/p2p/probe.h"
#include "mpi/p2p/send_buffer.h"
#include "mpi/p2p/sync.h"

/* ---- Acknowledgements and answers ---- */

static void acknowledgement_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                    const void *data, size_t bytes, rz_net_token_t token)
{
    (void)data, (void)bytes;
    struct rz_request *send = rz_sync_send_of(envelope->serial, rz_message_from(envelope));
    if (send) {
        rz_p2p_acknowledged(send);
    }
    rz_path_drop(path, token);
}

static void cancel_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                           const void *data, size_t bytes, rz_net_token_t token)
{
    (void)data, (void)bytes;
    rz_sync_cancel_wanted(envelope);
    rz_path_drop(path, token);
}

static void cancel_answered(struct rz_path *path, const struct rz_envelope *envelope,
                            const void *data, size_t bytes, rz_net_token_t token)
{
    (void)data, (void)bytes;
    struct rz_request *send = rz_sync_send_of(envelope->serial, rz_message_from(envelope));
    if (send) {
        rz_p2p_cancel_answered(send, envelope->kind == RZ_ENVELOPE_CANCELLED);
    }
    rz_path_drop(path, token);
}

/* ---- Revoked communicators ---- */

/* From now on messages for the communicator are dropped, and those that have arrived, so that their
 * senders end, too. */
static void close_contexts_of(struct rz_comm *comm)
{
    static const enum rz_context_offset offsets[] = {
        RZ_CONTEXT_OFFSET_POINT,          RZ_CONTEXT_OFFSET_COLLECTIVE,
        RZ_CONTEXT_OFFSET_CREATE,         RZ_CONTEXT_OFFSET_PARTITION_SETUP,
        RZ_CONTEXT_OFFSET_PARTITION_DATA, RZ_CONTEXT_OFFSET_WINDOW};
    if (comm->contexts_to_close) {
        comm->contexts_to_close = false;
        for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
            rz_message_close_context(rz_comm_context(comm, offsets[i]));
        }
        rz_early_revoked(comm); /* fetches that a snapshot has begun since */
    }
}

static unsigned close_contexts(void)
{
    rz_work_set(RZ_WORK_CLOSE_CONTEXTS, false);
    for (struct rz_comm *comm = rz_comms_first(); comm; comm = comm->next) {
        close_contexts_of(comm);
        if (comm->local) {
            close_contexts_of(comm->local);
        }
    }
    return 0;
}

/* The calls pending on comm return first; then its contexts are closed, before the transports are
 * polled again. */
static void end_pending(struct rz_comm *comm)
{
    comm->contexts_to_close = true;
    rz_work_set(RZ_WORK_CLOSE_CONTEXTS, true);
    rz_early_revoked(comm);
    rz_matched_revoked(comm);
    rz_p2p_revoked(comm);
}

static void comm_revoked(struct rz_comm *comm)
{
    end_pending(comm);
    if (comm->local) {
        end_pending(comm->local);
    }
}

static void comm_ends(struct rz_comm *comm, bool goodbye)
{
    (void)goodbye;
    rz_send_buffer_owner_ends(RZ_BUFFER_OF_COMM, comm->context);
    for (int offset = 0; offset < RZ_CONTEXT_OFFSET_COUNT; offset++) {
        rz_message_forget_context(rz_comm_context(comm, (enum rz_context_offset)offset));
    }
}

/* ---- Processes, epochs ---- */

static void gone(uint32_t process, bool failed)
{
    rz_p2p_gone(process, failed);
    if (failed) {
        rz_inquire_all();
    }
}

static int begin(void)
{
    return rz_messages_begin() ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void forget(void)
{
    rz_messages_forget();
    rz_inquiries_close();
    rz_messages_forget_dropped();
    rz_matched_close();
}

static void discard(void)
{
    rz_send_buffers_close();
    rz_matcher_clear(&rz_matcher);
    rz_messages_release_memory();
}

/* ---- Messages under way, in the memory that the daemon reads ---- */

static rz_time shown_at; /* of a restored process perhaps by another machine's clock */

/* A message whose payload is being fetched has not arrived. */
static void leave_out_fetches(uint64_t by)
{
    for (const struct rz_request *request = rz_engine.active; request; request = request->next) {
        if (request->class == &rz_p2p_class && request->flags & RZ_REQUEST_NETWORK &&
            !(request->flags & RZ_REQUEST_SEND)) {
            rz_member_of(rz_comm_process(request->comm, request->status.MPI_SOURCE))->taken += by;
        }
    }
}

/*
 * Shows the daemon how many messages this process has handed to its transports and has got, for
 * hang reports (link/waits.h). Nothing is counted for this alone: the engine counts by slots
 * anyhow (engine/liveness.h).
 */
static void show_under_way(rz_time now)
{
    struct rz_waits *waits = rz_engine.info->waits;
    if (!waits || (now >= shown_at && now - shown_at < RZ_WAIT_SHOWN_EVERY)) {
        return;
    }
    shown_at = now;
    leave_out_fetches(UINT64_MAX);
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        rz_pair_counts_set(&waits->pairs[slot], member->handed, member->taken,
                           &waits->pairs_changed, now);
    }
    leave_out_fetches(1);
}

/* Before each sleep, and from time to time while a call waits without. */
static void check(rz_time now)
{
    rz_p2p_overdue(now);
    show_under_way(now);
}

/* ---- The table ---- */

const struct rz_hooks rz_p2p_hooks = {
    .begin = begin,
    .last_call = rz_message_last_call,
    .is_sent = rz_sync_quiet,
    .close = rz_sync_close,
    .work = {[RZ_WORK_CLOSE_CONTEXTS] = close_contexts, [RZ_WORK_INQUIRIES] = rz_inquiries_read},
    .check = check,
    .arrived = {[RZ_ENVELOPE_MESSAGE] = rz_p2p_arrived,
                [RZ_ENVELOPE_SYNC] = rz_p2p_arrived,
                [RZ_ENVELOPE_ACK] = acknowledgement_arrived,
                [RZ_ENVELOPE_CANCEL] = cancel_arrived,
                [RZ_ENVELOPE_CANCELLED] = cancel_answered,
                [RZ_ENVELOPE_MET] = cancel_answered,
                [RZ_ENVELOPE_INQUIRY] = rz_inquiry_arrived,
                [RZ_ENVELOPE_ABSENT] = rz_inquiry_arrived},
    .gone = gone,
    .forget = forget,
    .abandon = rz_partitioned_sweep,
    .discard = discard,
    .comm_revoked = comm_revoked,
    .comm_ends = comm_ends,
};
