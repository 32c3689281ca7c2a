/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are none: to and from MPI_PROC_NULL, and receives that are cancelled. Nothing is
 * to be changed by them. A cancelled receive has a tag that no message of its time has.
 */
#include "random.h"

/* A receive that gets nothing: its buffer stays as it is. */
static struct pending *begin_nothing(struct player *player, struct message *message)
{
    struct pending *pending = begin(player);
    pending->side[0] = side_new();
    side_make(pending->side[0], &message->receiver, message->leaf, message->elements,
              message->elements);
    return pending;
}

static struct pending *begin_receive_of_null(struct player *player, struct message *message)
{
    struct pending *pending = begin_nothing(player, message);
    pending->over = check_message;
    pending->source = MPI_PROC_NULL;
    pending->tag = MPI_ANY_TAG;
    return pending;
}

/* A request has the status that is defined for MPI_PROC_NULL; MPI_REQUEST_NULL has another one. */
static void need_request(const struct pending *pending)
{
    if (pending->request == MPI_REQUEST_NULL) {
        wrong(pending->op, "no request for a message of MPI_PROC_NULL");
    }
}

static void repeat(struct pending *pending, uint32_t times)
{
    MPI_Status status;
    pending->persistent = true;
    for (uint32_t i = 0; i < times; i++) {
        MPI_Start(&pending->request);
        if (i + 1 < times) {
            MPI_Wait(&pending->request, &status);
            if (pending->over) {
                pending->over(pending, &status);
            }
        }
    }
}

static void send_to_null(struct player *player, struct message *message, MPI_Comm comm)
{
    struct pending *pending = begin(player);
    struct side *side = pending->side[0] = sent_side(message);
    int units = (int)side->units, tag = message->tag, to = MPI_PROC_NULL;
    uint32_t times = between(&message->sender, 1, 3);
    switch (below(&message->sender, 9)) {
    case 0:
        MPI_Send(side->at, units, side->type, to, tag, comm);
        return;
    case 1:
        MPI_Ssend(side->at, units, side->type, to, tag, comm);
        return;
    case 2:
        MPI_Rsend(side->at, units, side->type, to, tag, comm);
        return;
    case 3:
        MPI_Isend(side->at, units, side->type, to, tag, comm, &pending->request);
        break;
    case 4:
        MPI_Issend(side->at, units, side->type, to, tag, comm, &pending->request);
        break;
    case 5:
        MPI_Irsend(side->at, units, side->type, to, tag, comm, &pending->request);
        break;
    case 6:
        MPI_Send_init(side->at, units, side->type, to, tag, comm, &pending->request);
        repeat(pending, times);
        break;
    case 7:
        MPI_Ssend_init(side->at, units, side->type, to, tag, comm, &pending->request);
        repeat(pending, times);
        break;
    default:
        MPI_Rsend_init(side->at, units, side->type, to, tag, comm, &pending->request);
        repeat(pending, times);
        break;
    }
    need_request(pending);
}

/* Buffered ones are short: all of a program have one buffer. */
static void buffered_to_null(struct player *player, struct message *message, MPI_Comm comm)
{
    uint32_t way = below(&message->sender, 3);
    message->elements %= 100;
    struct pending *pending = begin(player);
    struct side *side = pending->side[0] = sent_side(message);
    int units = (int)side->units;
    size_t bytes = side->bytes + MPI_BSEND_OVERHEAD;
    if (player->buffered + bytes > BUFFER_BYTES) {
        return;
    }
    player->buffered += bytes;
    if (way == 0) {
        MPI_Ibsend(side->at, units, side->type, MPI_PROC_NULL, message->tag, comm,
                   &pending->request);
    } else if (way == 1) {
        MPI_Bsend(side->at, units, side->type, MPI_PROC_NULL, message->tag, comm);
    } else {
        MPI_Bsend_init(side->at, units, side->type, MPI_PROC_NULL, message->tag, comm,
                       &pending->request);
        repeat(pending, 1);
    }
}

static void receive_from_null(struct player *player, struct message *message, MPI_Comm comm)
{
    struct pending *pending = begin_receive_of_null(player, message);
    struct side *side = pending->side[0];
    int units = (int)side->units, from = MPI_PROC_NULL;
    int tag = chance(&message->receiver, 50) ? MPI_ANY_TAG : message->tag;
    uint32_t way = below(&message->receiver, 3);
    MPI_Status status;
    if (way == 0) {
        MPI_Recv(side->at, units, side->type, from, tag, comm, &status);
        check_message(pending, &status);
        return;
    }
    if (way == 1) {
        MPI_Irecv(side->at, units, side->type, from, tag, comm, &pending->request);
    } else {
        MPI_Recv_init(side->at, units, side->type, from, tag, comm, &pending->request);
        repeat(pending, between(&message->receiver, 1, 3));
    }
    need_request(pending);
}

/* The status and the message that a probe finds are defined, and found at once. */
static void probe_null(struct player *player, struct message *message, MPI_Comm comm)
{
    struct pending *pending = begin_receive_of_null(player, message);
    struct side *side = pending->side[0];
    int units = (int)side->units, tag = message->tag, there = 1;
    MPI_Message found = MPI_MESSAGE_NO_PROC;
    MPI_Status status;
    uint32_t way = below(&message->receiver, 4);
    if (way == 0) {
        MPI_Probe(MPI_PROC_NULL, tag, comm, &status);
    } else if (way == 1) {
        MPI_Iprobe(MPI_PROC_NULL, tag, comm, &there, &status);
    } else if (way == 2) {
        MPI_Mprobe(MPI_PROC_NULL, tag, comm, &found, &status);
    } else {
        MPI_Improbe(MPI_PROC_NULL, tag, comm, &there, &found, &status);
    }
    if (!there || found != MPI_MESSAGE_NO_PROC) {
        wrong(pending->op, "a probe of MPI_PROC_NULL: flag %d, %s", there,
              found == MPI_MESSAGE_NULL ? "MPI_MESSAGE_NULL" : "a message or MPI_MESSAGE_NO_PROC");
    }
    check_message(pending, &status);
    if (way < 2) {
        return;
    }
    if (chance(&message->receiver, 50)) {
        MPI_Mrecv(side->at, units, side->type, &found, &status);
        check_message(pending, &status);
    } else {
        MPI_Imrecv(side->at, units, side->type, &found, &pending->request);
        need_request(pending);
    }
    if (found != MPI_MESSAGE_NULL) {
        wrong(pending->op, "the message is there after it was received");
    }
}

static void partitions_to_null(struct player *player, struct message *message, MPI_Comm comm,
                               bool out)
{
#if MPI_VERSION >= 4
    int parts = 1 << below(&message->sender, 4);
    message->elements = 16u * (message->elements % 100);
    MPI_Count each = (MPI_Count)message->elements / parts;
    struct pending *pending = begin(player);
    struct side *side = pending->side[0] = side_new();
    struct dice plain = {1};
    side_make(side, &plain, message->leaf, message->elements, 0);
    pending->persistent = true;
    if (!out) {
        MPI_Precv_init(side->at, parts, each, side->type, MPI_PROC_NULL, message->tag, comm,
                       MPI_INFO_NULL, &pending->request);
        MPI_Start(&pending->request);
        return;
    }
    MPI_Psend_init(side->at, parts, each, side->type, MPI_PROC_NULL, message->tag, comm,
                   MPI_INFO_NULL, &pending->request);
    MPI_Start(&pending->request);
    MPI_Pready_range(0, parts - 1, pending->request);
#else
    (void)out;
    send_to_null(player, message, comm);
#endif
}

/* Each process of the communicator on its own. */
void play_null(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    uint32_t way = below(dice, 10);
    if (slot->me < 0) {
        return;
    }
    message.sender.state += (uint64_t)slot->me;
    message.receiver.state += (uint64_t)slot->me;
    if (way < 3) {
        send_to_null(player, &message, slot->comm);
    } else if (way < 4) {
        buffered_to_null(player, &message, slot->comm);
    } else if (way < 6) {
        receive_from_null(player, &message, slot->comm);
    } else if (way < 8) {
        probe_null(player, &message, slot->comm);
    } else {
        partitions_to_null(player, &message, slot->comm, way == 8);
    }
}

/* ---- A shift that ends at an edge: its partners are MPI_PROC_NULL, or those of a grid ---- */

static void find_partners(const struct player *player, struct dice *dice, const struct slot *slot,
                          int *from, int *to)
{
    int by = (int)between(dice, 0, (uint32_t)slot->n) - slot->n / 2;
    uint32_t d = below(dice, slot->dims > 0 ? (uint32_t)slot->dims : 1);
    if (slot->me < 0) {
        return;
    }
    if (slot->dims == 0) {
        *to = slot->me + by, *from = slot->me - by;
        *to = *to < 0 || *to >= slot->n ? MPI_PROC_NULL : *to;
        *from = *from < 0 || *from >= slot->n ? MPI_PROC_NULL : *from;
        return;
    }
    int said_from, said_to;
    *to = grid_neighbour(slot, (int)d, by), *from = grid_neighbour(slot, (int)d, -by);
    MPI_Cart_shift(slot->comm, (int)d, by, &said_from, &said_to);
    if (said_from != *from || said_to != *to) {
        wrong(player->op, "a shift by %d in dimension %u: from %d to %d for %d and %d", by, d,
              said_from, said_to, *from, *to);
    }
}

/* The same buffer for both, so it is plain, and as long as the message. */
static void replace(struct player *player, struct message *out, struct message *in, MPI_Comm comm)
{
    struct pending *pending = begin(player);
    struct side *side = pending->side[0] = side_new();
    struct dice plain = {1};
    MPI_Status status;
    bool nothing = in->from == MPI_PROC_NULL;
    side_make(side, &plain, out->leaf, out->elements, 0);
    side_expect(side, 0, out->elements, out->seed, 0);
    side_send(side);
    if (!nothing) {
        side_expect(side, 0, in->elements, in->seed, 0);
    }
    pending->source = in->from;
    pending->tag = nothing ? MPI_ANY_TAG : in->tag;
    pending->elements = nothing ? 0 : in->elements;
    MPI_Sendrecv_replace(side->at, (int)side->units, side->type, out->to, out->tag, in->from,
                         in->tag, comm, &status);
    check_message(pending, &status);
}

void play_shift(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    uint32_t way = below(dice, 4);
    int from = MPI_PROC_NULL, to = MPI_PROC_NULL;
    find_partners(player, dice, slot, &from, &to);
    if (slot->me < 0) {
        return;
    }
    struct message in = message, out = message;
    in.from = from, in.seed = mix(message.seed, (uint64_t)(from + 10));
    out.to = to, out.seed = mix(message.seed, (uint64_t)(slot->me + 10));
    if (way == 0) {
        replace(player, &out, &in, slot->comm);
        return;
    }
    struct side *put = sent_side(&out);
    struct pending *pending =
        from == MPI_PROC_NULL ? begin_receive_of_null(player, &in) : begin_receive(player, &in);
    struct side *get = pending->side[0];
    MPI_Status status;
    if (way == 1) {
        pending->side[1] = put;
        MPI_Sendrecv(put->at, (int)put->units, put->type, to, out.tag, get->at, (int)get->units,
                     get->type, from, in.tag, slot->comm, &status);
        check_message(pending, &status);
        return;
    }
#if MPI_VERSION >= 4
    if (way == 2) {
        pending->side[1] = put;
        MPI_Isendrecv(put->at, (int)put->units, put->type, to, out.tag, get->at, (int)get->units,
                      get->type, from, in.tag, slot->comm, &pending->request);
        return;
    }
#endif
    MPI_Irecv(get->at, (int)get->units, get->type, from, in.tag, slot->comm, &pending->request);
    pending = begin(player);
    pending->side[0] = put;
    MPI_Isend(put->at, (int)put->units, put->type, to, out.tag, slot->comm, &pending->request);
}

/* ---- Receives that are cancelled ---- */

static void check_cancelled(struct pending *pending, const MPI_Status *status)
{
    int flag = 0;
    MPI_Test_cancelled(status, &flag);
    if (!flag) {
        wrong(pending->op, "a receive that nothing matches is not cancelled");
    }
}

/* Begun and cancelled `times` times; the last time is pending. */
static void cancel(struct pending *pending, struct message *message, uint32_t times, MPI_Comm comm)
{
    struct side *side = pending->side[0];
    MPI_Status status;
    int done = 0;
    pending->over = check_cancelled;
    if (times > 1) {
        MPI_Recv_init(side->at, (int)side->units, side->type, message->from, message->tag, comm,
                      &pending->request);
        pending->persistent = true;
    } else {
        MPI_Irecv(side->at, (int)side->units, side->type, message->from, message->tag, comm,
                  &pending->request);
    }
    for (uint32_t i = 0; i < times; i++) {
        if (times > 1) {
            MPI_Start(&pending->request);
        }
        if (chance(&message->receiver, 30)) {
            MPI_Test(&pending->request, &done, &status);
        }
        if (done) {
            wrong(pending->op, "a receive that nothing matches is complete");
        }
        MPI_Cancel(&pending->request);
        if (i + 1 < times) {
            MPI_Wait(&pending->request, &status);
            check_cancelled(pending, &status);
        }
    }
    while (chance(&message->receiver, 30) && !done) {
        MPI_Request_get_status(pending->request, &done, &status);
        if (done) {
            check_cancelled(pending, &status);
        }
    }
}

void play_cancel(struct player *player, struct dice *dice, struct slot *slot)
{
    uint32_t n = between(dice, 1, 2 * TAGS_OF_AN_OPERATION);
    for (uint32_t i = 0; i < n; i++) {
        struct message message = draw_message(player, dice, slot);
        uint32_t times = chance(dice, 30) ? between(dice, 2, 4) : 1;
        message.from = chance(dice, 30) ? MPI_ANY_SOURCE : message.from;
        message.tag =
            OWN_TAGS + TAGS_OF_AN_OPERATION * player->op + (int)below(dice, TAGS_OF_AN_OPERATION);
        if (slot->me >= 0) {
            message.receiver.state += (uint64_t)slot->me;
            cancel(begin_nothing(player, &message), &message, times, slot->comm);
        }
    }
}

/* The cancelled receive is over before the message is sent; then it is received, perhaps by the
 * same persistent request. */
void play_cancel_again(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    bool persistent = chance(dice, 50);
    message.tag = OWN_TAGS + TAGS_OF_AN_OPERATION * player->op;
    if (slot->me < 0) {
        return;
    }
    struct pending *pending = NULL;
    if (slot->me == message.to) {
        struct message again = message;
        MPI_Status status;
        pending = begin_receive(player, &again);
        cancel(pending, &again, persistent ? 2 : 1, slot->comm);
        MPI_Wait(&pending->request, &status);
        check_cancelled(pending, &status);
    }
    MPI_Barrier(slot->comm);
    if (pending) {
        struct side *side = pending->side[0];
        pending->over = check_message;
        if (persistent) {
            MPI_Start(&pending->request);
        } else {
            MPI_Irecv(side->at, (int)side->units, side->type, MPI_ANY_SOURCE, message.tag,
                      slot->comm, &pending->request);
        }
    }
    if (slot->me == message.from) {
        send_message(player, &message, slot, message.from != message.to);
    }
}

/* The message may come before the receive is cancelled, or after it: then another one gets it. */
void play_cancel_race(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    uint32_t tests = below(dice, 20);
    int done = 0, cancelled = 0;
    MPI_Status status;
    message.tag = OWN_TAGS + TAGS_OF_AN_OPERATION * player->op;
    bool receives = slot->me == message.to, persistent = chance(dice, 50);
    struct message first = message;
    struct pending *pending = receives ? begin_nothing(player, &first) : NULL;
    MPI_Request request;
    if (receives) {
        struct side *side = pending->side[0];
        pending->source = message.from, pending->tag = message.tag;
        pending->elements = message.elements;
        if (persistent) {
            MPI_Recv_init(side->at, (int)side->units, side->type, message.from, message.tag,
                          slot->comm, &request);
            MPI_Start(&request);
        } else {
            MPI_Irecv(side->at, (int)side->units, side->type, MPI_ANY_SOURCE, message.tag,
                      slot->comm, &request);
        }
    }
    if (slot->me == message.from) {
        send_message(player, &message, slot, !receives);
    }
    if (!receives) {
        return;
    }
    pending = &player->pending[player->n_pending - (slot->me == message.from ? 2 : 1)];
    for (uint32_t i = 0; i < tests && !done; i++) {
        MPI_Test(&request, &done, &status);
    }
    if (!done) {
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
    }
    if (persistent) {
        MPI_Request_free(&request);
    }
    if (cancelled) {
        receive_message(player, &message, slot, message.from != message.to);
    } else {
        side_expect(pending->side[0], 0, message.elements, message.seed, 0);
        check_message(pending, &status);
    }
}
