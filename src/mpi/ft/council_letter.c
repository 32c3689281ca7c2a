#include "mpi/ft/council_letter.h"

#include "mpi/ft/council.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/peer.h"
#include "port/kill_point.h"
#include "wire/protocol_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No core's message is longer: a few words, every member of a job and as many items. */
#define LETTER_BYTES_MAX ((size_t)4 << 20)

struct rz_letter *rz_letters_unread;
static struct rz_letter **unread_last = &rz_letters_unread;
static uint32_t on_their_way;

/* What moves: a letter that was sent, or one that is being fetched. */
struct transit {
    struct rz_parcel parcel;
    uint64_t context;
    uint32_t process; /* to whom it goes, or who wrote it */
    unsigned char bytes[];
};

#define TRANSIT_OF(op_)                                                                            \
    ((struct transit *)(void *)((char *)(op_)-offsetof(struct transit, parcel.op)))

/* Others wait for what a letter says, and nothing could be promised to them without it. */
static _Noreturn void out_of_memory(void)
{
    fprintf(stderr, "rhizome: rank %u: no memory for a message of the repair protocols\n",
            rz_engine.info->self.rank);
    abort();
}

static struct transit *transit_new(size_t bytes, void (*done)(struct rz_net_op *, rz_status_t))
{
    struct transit *transit = malloc(sizeof(*transit) + bytes);
    if (transit == NULL) {
        out_of_memory();
    }
    rz_parcel_init(&transit->parcel, done);
    transit->parcel.data = transit->bytes;
    transit->parcel.bytes = bytes;
    return transit;
}

/* ---- Sending ---- */

/*
 * A letter is lost, or can never be fetched. To a process that is gone, or when all goes back, that
 * is well; but one that lives would wait for it for ever, and so would others. Who cannot speak to
 * the living (rz_peers_overdue) is as good as dead: it ends, and they go on without it.
 */
static void look_at_loss(uint32_t process, rz_status_t status)
{
    bool of_no_use = status == RZ_OK || status == RZ_ERR_PROC_FAILED || status == RZ_ERR_CLOSED ||
                     status == RZ_ERR_CANCELLED || status == RZ_ERR_ROLLBACK;
    if (!of_no_use && !rz_engine.rollback && !rz_engine.members[process].dead) {
        rz_engine_exit(status);
    }
}

static void sent(struct rz_net_op *op, rz_status_t status);

/* The connection broke under it although nobody is said to be dead: it waits for the verdict with
 * what else goes there. That it may arrive twice is no harm to any core. */
static bool waits_for_verdict(struct transit *transit, rz_status_t status)
{
    const struct rz_member *member = &rz_engine.members[transit->process];
    if (status != RZ_ERR_CLOSED || rz_engine.rollback || member->dead || member->peer == NULL ||
        member->peer->path->net == NULL) {
        return false;
    }
    rz_parcel_init(&transit->parcel, sent);
    return rz_peer_send(transit->process, &transit->parcel) == RZ_IN_PROGRESS;
}

static void sent(struct rz_net_op *op, rz_status_t status)
{
    struct transit *transit = TRANSIT_OF(op);
    if (waits_for_verdict(transit, status)) {
        return;
    }
    on_their_way--;
    look_at_loss(transit->process, status);
    free(transit);
}

void rz_letter_send(uint32_t process, uint64_t context, const struct rz_message *message,
                    const uint64_t *items)
{
    const struct rz_link_info *info = rz_engine.info;
    size_t bytes = rz_protocol_message_bytes(message->n_items);
    struct transit *transit = transit_new(bytes, sent);
    transit->process = process;
    rz_protocol_message_encode(message, items, transit->bytes, bytes);
    struct rz_envelope envelope = {.job_token = info->job_token,
                                   .epoch = rz_engine.epoch,
                                   .incarnation = info->self.incarnation,
                                   .slot = info->self.rank,
                                   .context = context,
                                   .kind = RZ_ENVELOPE_LETTER};
    rz_envelope_encode(&envelope, transit->parcel.op.header);
    transit->parcel.op.header_bytes = RZ_ENVELOPE_BYTES;
    on_their_way++;
    rz_kill_here(RZ_KILL_LETTER);
    rz_status_t status = rz_peer_send(process, &transit->parcel);
    if (status != RZ_IN_PROGRESS) {
        sent(&transit->parcel.op, status);
    }
}

bool rz_letters_quiet(void)
{
    return on_their_way == 0;
}

/* ---- Arriving ---- */

static void put_down(uint64_t context, uint32_t process, const void *data, size_t bytes)
{
    if (bytes < RZ_PROTOCOL_HEADER_BYTES || bytes > LETTER_BYTES_MAX) {
        rz_engine.counters.foreign++;
        return;
    }
    uint32_t room = (uint32_t)((bytes - RZ_PROTOCOL_HEADER_BYTES) / sizeof(uint64_t));
    struct rz_letter *letter = malloc(sizeof(*letter) + room * sizeof(uint64_t));
    if (letter == NULL) {
        out_of_memory();
    }
    letter->context = context;
    letter->process = process;
    letter->next = NULL;
    if (rz_protocol_message_decode(&letter->message, letter->items, room, data, bytes) != RZ_OK) {
        rz_engine.counters.foreign++;
        free(letter);
        return;
    }
    *unread_last = letter;
    unread_last = &letter->next;
}

static void fetched(struct rz_net_op *op, rz_status_t status)
{
    struct transit *transit = TRANSIT_OF(op);
    on_their_way--;
    look_at_loss(transit->process, status);
    if (status == RZ_OK && !rz_engine.rollback) {
        put_down(transit->context, transit->process, transit->bytes, transit->parcel.bytes);
    }
    free(transit);
}

void rz_letter_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                       size_t bytes, rz_net_token_t token)
{
    if (token == NULL) {
        put_down(envelope->context, envelope->slot, data, bytes);
        return;
    }
    if (bytes > LETTER_BYTES_MAX) {
        rz_engine.counters.foreign++;
        rz_peer_drop(envelope->slot, path, token);
        return;
    }
    struct transit *transit = transit_new(bytes, fetched);
    transit->context = envelope->context;
    transit->process = envelope->slot;
    transit->parcel.token = token;
    on_their_way++;
    rz_status_t status = rz_peer_fetch(envelope->slot, path, &transit->parcel);
    if (status != RZ_IN_PROGRESS) {
        fetched(&transit->parcel.op, status);
    }
}

/* ---- Reading ---- */

static struct rz_letter *take_first(void)
{
    struct rz_letter *letter = rz_letters_unread;
    rz_letters_unread = letter->next;
    if (rz_letters_unread == NULL) {
        unread_last = &rz_letters_unread;
    }
    return letter;
}

unsigned rz_letters_read(void)
{
    unsigned n = 0;
    while (rz_letters_unread != NULL) {
        rz_kill_here(RZ_KILL_READ);
        rz_council_letter(take_first());
        n++;
    }
    return n;
}

void rz_letters_close(void)
{
    while (rz_letters_unread != NULL) {
        free(take_first());
    }
}
