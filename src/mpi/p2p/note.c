#include "mpi/p2p/note.h"

#include "mpi/p2p/message.h"
#include "mpi/p2p/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_OF(op_) ((struct rz_note *)(void *)((char *)(op_)-offsetof(struct rz_note, parcel.op)))

static uint32_t on_their_way;

static void sent(struct rz_net_op *op, rz_status_t status);

struct rz_note *rz_note_new(size_t bytes)
{
    struct rz_note *note = malloc(sizeof(*note) + bytes);
    if (note != NULL) {
        rz_parcel_init(&note->parcel, sent);
        note->parcel.data = note->bytes;
        note->parcel.bytes = bytes;
        note->envelope = (struct rz_envelope){.zero = 0};
    }
    return note;
}

/*
 * A note is lost, or can never be fetched. To a process that is gone, or when all goes back, that
 * is well; but one that lives would wait for it for ever, and so would others. Who cannot speak to
 * the living (rz_peers_overdue) is as good as dead: it ends, and they go on without it.
 */
static void look_at_loss(uint32_t process, rz_status_t status)
{
    bool of_no_use = status == RZ_OK || status == RZ_ERR_PROC_FAILED || status == RZ_ERR_CLOSED ||
                     status == RZ_ERR_CANCELLED || status == RZ_ERR_ROLLBACK;
    if (!of_no_use && !rz_engine.rollback && !rz_process_dead(process)) {
        rz_engine_exit(status);
    }
}

/* ---- Sending ---- */

/* The connection broke under it although nobody is said to be dead: it waits for the verdict with
 * what else goes there. That it may arrive twice is no harm to any reader. */
static bool waits_for_verdict(struct rz_note *note, rz_status_t status)
{
    if (status != RZ_ERR_CLOSED || rz_engine.rollback || rz_process_dead(note->process)) {
        return false;
    }
    const struct rz_peer *peer = rz_member_of(note->process)->peer;
    if (peer == NULL || peer->path->net == NULL) {
        return false;
    }
    rz_parcel_init(&note->parcel, sent);
    return rz_peer_send(note->process, &note->parcel) == RZ_IN_PROGRESS;
}

static void sent(struct rz_net_op *op, rz_status_t status)
{
    struct rz_note *note = NOTE_OF(op);
    if (waits_for_verdict(note, status)) {
        return;
    }
    on_their_way--;
    look_at_loss(note->process, status);
    free(note);
}

void rz_note_send(uint32_t process, struct rz_note *note)
{
    const struct rz_link_info *info = rz_engine.info;
    note->process = process;
    note->envelope.job_token = info->job_token;
    note->envelope.epoch = rz_engine.epoch;
    note->envelope.incarnation = info->self.incarnation;
    note->envelope.slot = info->self.rank;
    rz_envelope_encode(&note->envelope, note->parcel.op.header);
    note->parcel.op.header_bytes = RZ_ENVELOPE_BYTES;
    on_their_way++;
    rz_status_t status = rz_peer_send(process, &note->parcel);
    if (status != RZ_IN_PROGRESS) {
        sent(&note->parcel.op, status);
    }
}

bool rz_notes_quiet(void)
{
    return on_their_way == 0;
}

/* ---- Arriving ---- */

static void fetched(struct rz_net_op *op, rz_status_t status)
{
    struct rz_note *note = NOTE_OF(op);
    on_their_way--;
    look_at_loss(note->process, status);
    if (status == RZ_OK && !rz_engine.rollback) {
        note->reader(&note->envelope, note->bytes, note->parcel.bytes);
    }
    free(note);
}

static void fetch(struct rz_path *path, const struct rz_envelope *envelope, size_t bytes,
                  rz_net_token_t token, rz_note_reader_t reader)
{
    struct rz_note *note = rz_note_new(bytes);
    if (note == NULL) {
        fprintf(stderr, "rhizome: rank %u: no memory for a message of the library of %zu bytes\n",
                rz_engine.info->self.rank, bytes);
        abort(); /* others wait for what comes of it */
    }
    rz_parcel_init(&note->parcel, fetched);
    note->parcel.token = token;
    note->reader = reader;
    note->envelope = *envelope;
    note->process = rz_message_from(envelope);
    on_their_way++;
    rz_status_t status = rz_peer_fetch(note->process, path, &note->parcel);
    if (status != RZ_IN_PROGRESS) {
        fetched(&note->parcel.op, status);
    }
}

void rz_note_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                     size_t bytes, rz_net_token_t token, size_t bytes_max, rz_note_reader_t reader)
{
    if (bytes > bytes_max) {
        rz_engine.counters.foreign++;
        if (token != NULL) {
            rz_peer_drop(rz_message_from(envelope), path, token);
        }
    } else if (token != NULL) {
        fetch(path, envelope, bytes, token, reader);
    } else {
        reader(envelope, data, bytes);
    }
}
