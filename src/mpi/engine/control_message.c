/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends control messages and fetches the payloads of those that were only announced. Each runs as a
 * send descriptor of a peer (peer.h) and is freed here when it is done.
 */
#include "mpi/engine/control_message.h"

#include "base/no_memory.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/engine/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_OF(op_)                                                                               \
    ((struct rz_control_message *)(void *)((char *)(op_)-offsetof(struct rz_control_message,       \
                                                                  send_desc.op)))

static uint32_t on_their_way;

static void sent(struct rz_net_op *op, rz_status_t status);

/* Long messages, which the parts of one-sided operations are, have memory of one size, which is
 * kept: otherwise malloc would give it back to the system, and each message would fault its pages
 * in. */
enum { LONG_NOTE_MIN = 16 * 1024, LONG_NOTE_MAX = 132 * 1024, KEPT_MAX = 32 };
static struct rz_control_message *kept[KEPT_MAX];
static unsigned n_kept;

struct rz_control_message *rz_control_message_new(size_t bytes)
{
    bool is_long = bytes > LONG_NOTE_MIN && bytes <= LONG_NOTE_MAX;
    struct rz_control_message *note =
        is_long && n_kept > 0 ? kept[--n_kept]
                              : malloc(sizeof(*note) + (is_long ? LONG_NOTE_MAX : bytes));
    if (note) {
        rz_send_desc_init(&note->send_desc, sent);
        note->send_desc.data = note->bytes;
        note->send_desc.bytes = bytes;
        note->envelope = (struct rz_envelope){.zero = 0};
        note->is_long = is_long;
    }
    return note;
}

void rz_control_message_free(struct rz_control_message *note)
{
    if (note->is_long && n_kept < KEPT_MAX) {
        kept[n_kept++] = note;
    } else {
        free(note);
    }
}

/*
 * A control message is lost, or its payload can never be fetched. If the other process is gone or
 * the epoch ends, that does no harm. But a process that is alive would wait for the message for
 * ever, and others for that process. A process that cannot reach one that is alive
 * (rz_peers_overdue) counts as failed: it ends here, and the others continue without it.
 */
static void look_at_loss(uint32_t process, rz_status_t status)
{
    bool of_no_use = status == RZ_OK || status == RZ_ERR_PROC_FAILED || status == RZ_ERR_CLOSED ||
                     status == RZ_ERR_CANCELLED || status == RZ_ERR_ROLLBACK;
    if (!of_no_use && !rz_engine.rollback && !rz_process_failed(process)) {
        rz_engine_exit(status);
    }
}

/* ---- Sending ---- */

/*
 * The connection broke under the message although its peer is not known to have failed: the message
 * waits, with all else for that peer, until the daemons have decided. It may then arrive twice;
 * every reader tolerates that.
 */
static bool waits_for_cause(struct rz_control_message *note, rz_status_t status)
{
    if (status != RZ_ERR_CLOSED || rz_engine.rollback || rz_process_failed(note->process)) {
        return false;
    }
    const struct rz_peer *peer = rz_member_of(note->process)->peer;
    if (!peer || !peer->path->net) {
        return false;
    }
    rz_send_desc_init(&note->send_desc, sent);
    return rz_peer_send(note->process, &note->send_desc) == RZ_IN_PROGRESS;
}

static void sent(struct rz_net_op *op, rz_status_t status)
{
    struct rz_control_message *note = NOTE_OF(op);
    if (waits_for_cause(note, status)) {
        return;
    }
    on_their_way--;
    look_at_loss(note->process, status);
    rz_control_message_free(note);
}

void rz_control_message_send(uint32_t process, struct rz_control_message *note)
{
    const struct rz_link_info *info = rz_engine.info;
    note->process = process;
    note->envelope.job_token = info->job_token;
    note->envelope.epoch = rz_engine.epoch;
    note->envelope.incarnation = info->self.incarnation;
    note->envelope.slot = info->self.rank;
    rz_envelope_encode(&note->envelope, note->send_desc.op.header);
    note->send_desc.op.header_bytes = RZ_ENVELOPE_BYTES;
    on_their_way++;
    rz_status_t status = rz_peer_send(process, &note->send_desc);
    if (status != RZ_IN_PROGRESS) {
        sent(&note->send_desc.op, status);
    }
}

bool rz_control_messages_quiet(void)
{
    return on_their_way == 0;
}

/* ---- Arriving ---- */

static void fetched(struct rz_net_op *op, rz_status_t status)
{
    struct rz_control_message *note = NOTE_OF(op);
    on_their_way--;
    look_at_loss(note->process, status);
    if (status == RZ_OK && !rz_engine.rollback) {
        note->reader(&note->envelope, note->bytes, note->send_desc.bytes);
    }
    rz_control_message_free(note);
}

static void fetch(struct rz_path *path, const struct rz_envelope *envelope, size_t bytes,
                  rz_net_token_t token, rz_control_message_reader_t reader)
{
    struct rz_control_message *note = rz_control_message_new(bytes);
    if (!note) {
        /* Other processes wait for the effect of this message. */
        rz_no_memory("for a message of the library of %zu bytes", bytes);
    }
    rz_send_desc_init(&note->send_desc, fetched);
    note->send_desc.token = token;
    note->reader = reader;
    note->envelope = *envelope;
    note->process = rz_message_from(envelope);
    on_their_way++;
    rz_status_t status = rz_peer_fetch(note->process, path, &note->send_desc);
    if (status != RZ_IN_PROGRESS) {
        fetched(&note->send_desc.op, status);
    }
}

void rz_control_message_arrived(struct rz_path *path, const struct rz_envelope *envelope,
                                const void *data, size_t bytes, rz_net_token_t token,
                                const struct rz_control_message_kind *kind)
{
    if (bytes > kind->bytes_max) {
        rz_engine.counters.foreign++;
        if (token) {
            rz_peer_drop(rz_message_from(envelope), path, token);
        }
    } else if (token) {
        fetch(path, envelope, bytes, token, kind->reader);
    } else {
        kind->reader(envelope, data, bytes);
    }
}
