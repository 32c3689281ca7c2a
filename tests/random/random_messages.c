/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages. Of one sender and one communicator, receives are begun in the order of the sends, so
 * each receive gets the message of its own operation, with or without MPI_ANY_TAG. Where
 * MPI_ANY_SOURCE is used the tag is nobody else's.
 */
#include "random.h"

#include <stdlib.h>

enum { TAGS = 50, BURST_TAGS = 100, BUFFERED_MOST = 16384 };

void check_message(struct pending *pending, const MPI_Status *status)
{
    MPI_Count elements;
    struct side *to = pending->side[0];
    if (status->MPI_SOURCE != pending->source || status->MPI_TAG != pending->tag) {
        wrong(pending->op, "the status says source %d and tag %d for %d and %d", status->MPI_SOURCE,
              status->MPI_TAG, pending->source, pending->tag);
    }
    MPI_Get_elements_x(status, to->type, &elements);
    if ((uint64_t)elements != pending->elements) {
        wrong(pending->op, "%lld elements came for %llu", (long long)elements,
              (unsigned long long)pending->elements);
    }
}

struct message draw_message(struct player *player, struct dice *dice, const struct slot *slot)
{
    struct message message = {.from = (int)below(dice, (uint32_t)slot->n),
                              .to = (int)below(dice, (uint32_t)slot->n),
                              .tag = (int)below(dice, TAGS),
                              .leaf = below(dice, LEAVES),
                              .elements = size_at_random(dice)};
    message.seed = mix(player->seed, (uint64_t)player->op << 20);
    message.sender.state = roll(dice);
    message.receiver.state = roll(dice);
    return message;
}

struct side *sent_side(struct message *message)
{
    struct side *side = side_new();
    side_make(side, &message->sender, message->leaf, message->elements, message->elements);
    side_expect(side, 0, message->elements, message->seed, 0);
    side_send(side);
    return side;
}

/* With more room than needed, perhaps. */
static struct side *received_side(struct message *message)
{
    struct side *side = side_new();
    uint64_t more = chance(&message->receiver, 20) ? below(&message->receiver, 100) : 0;
    side_make(side, &message->receiver, message->leaf, message->elements + more, message->elements);
    side_expect(side, 0, message->elements, message->seed, 0);
    return side;
}

struct pending *begin_receive(struct player *player, struct message *message)
{
    struct pending *pending = begin(player);
    pending->side[0] = received_side(message);
    pending->over = check_message;
    pending->source = message->from;
    pending->tag = message->tag;
    pending->elements = message->elements;
    return pending;
}

void receive_message(struct player *player, struct message *message, struct slot *slot, bool blocks)
{
    struct pending *pending = begin_receive(player, message);
    struct side *side = pending->side[0];
    struct dice *dice = &message->receiver;
    bool own_tag = message->tag >= OWN_TAGS;
    int source = own_tag && chance(dice, 50) ? MPI_ANY_SOURCE : message->from;
    int tag = !own_tag && chance(dice, 25) ? MPI_ANY_TAG : message->tag;
    int units = (int)side->units, there;
    MPI_Message found;
    MPI_Status status;
    switch (blocks ? below(dice, 6) : 0) {
    case 1:
        MPI_Recv(side->at, units, side->type, source, tag, slot->comm, &status);
        check_message(pending, &status);
        return;
    case 2:
        MPI_Probe(source, tag, slot->comm, &status);
        check_message(pending, &status);
        break;
    case 3:
        MPI_Mprobe(source, tag, slot->comm, &found, &status);
        check_message(pending, &status);
        MPI_Imrecv(side->at, units, side->type, &found, &pending->request);
        return;
    case 4:
        do {
            MPI_Improbe(source, tag, slot->comm, &there, &found, &status);
        } while (!there);
        MPI_Mrecv(side->at, units, side->type, &found, &status);
        check_message(pending, &status);
        return;
    default:
        break;
    }
    MPI_Irecv(side->at, units, side->type, source, tag, slot->comm, &pending->request);
}

void send_message(struct player *player, struct message *message, struct slot *slot, bool blocks)
{
    struct pending *pending = begin(player);
    struct side *side = pending->side[0] = sent_side(message);
    struct dice *dice = &message->sender;
    int units = (int)side->units, to = message->to, tag = message->tag;
    uint32_t way = below(dice, blocks ? 5 : 3);
    size_t buffered = side->bytes + MPI_BSEND_OVERHEAD;
    if (way == 2) {
        way = buffered > BUFFERED_MOST || player->buffered + buffered > BUFFER_BYTES ? 0 : 2;
        player->buffered += way == 2 ? buffered : 0;
    }
    switch (way) {
    case 0:
        MPI_Isend(side->at, units, side->type, to, tag, slot->comm, &pending->request);
        break;
    case 1:
        MPI_Issend(side->at, units, side->type, to, tag, slot->comm, &pending->request);
        break;
    case 2:
        MPI_Ibsend(side->at, units, side->type, to, tag, slot->comm, &pending->request);
        break;
    case 3:
        MPI_Send(side->at, units, side->type, to, tag, slot->comm);
        break;
    default:
        MPI_Ssend(side->at, units, side->type, to, tag, slot->comm);
        break;
    }
}

void play_message(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    if (chance(dice, 20)) {
        message.tag = OWN_TAGS + TAGS_OF_AN_OPERATION * player->op;
    }
    if (slot->me == message.from) {
        send_message(player, &message, slot, message.from != message.to);
    }
    if (slot->me == message.to) {
        receive_message(player, &message, slot, message.from != message.to);
    }
}

/* Many at once, received in another order. */
void play_burst(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    uint32_t n = between(dice, 2, 300), *order = malloc(n * sizeof(*order));
    struct dice order_dice = {roll(dice)};
    message.elements = chance(dice, 50) ? between(dice, 0, 50) : between(dice, 500, 3000);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t j = below(&order_dice, i + 1), was = order[i];
        order[i] = order[j];
        order[j] = was;
    }
    for (uint32_t i = 0; i < n && slot->me == message.from; i++) {
        struct message one = message;
        one.tag = BURST_TAGS + (int)i;
        one.seed = mix(message.seed, i + 1);
        send_message(player, &one, slot, false);
    }
    for (uint32_t i = 0; i < n && slot->me == message.to; i++) {
        struct message one = message;
        one.tag = BURST_TAGS + (int)order[i];
        one.seed = mix(message.seed, order[i] + 1);
        struct pending *pending = begin_receive(player, &one);
        struct side *side = pending->side[0];
        MPI_Irecv(side->at, (int)side->units, side->type, one.from, one.tag, slot->comm,
                  &pending->request);
    }
    free(order);
}

/* Each to its neighbour in a ring. */
void play_exchange(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    int shift = (int)between(dice, 0, (uint32_t)slot->n - 1);
    uint32_t way = below(dice, 3);
    MPI_Status status;
    if (slot->me < 0) {
        return;
    }
    int to = (slot->me + shift) % slot->n, from = (slot->me - shift + slot->n) % slot->n;
    struct message in = message, out = message;
    in.from = from, in.seed = mix(message.seed, (uint64_t)from + 1);
    out.to = to, out.seed = mix(message.seed, (uint64_t)slot->me + 1);
    struct pending *pending = begin_receive(player, &in);
    struct side *get = pending->side[0];
    if (way == 0) { /* the same buffer for both: plain, and as the message says */
        side_end(get, (char[1]){0}, 1);
        struct dice plain = {1};
        side_make(get, &plain, message.leaf, message.elements, 0);
        side_expect(get, 0, message.elements, out.seed, 0);
        side_send(get);
        side_expect(get, 0, message.elements, in.seed, 0);
        MPI_Sendrecv_replace(get->at, (int)get->units, get->type, to, in.tag, from, in.tag,
                             slot->comm, &status);
        check_message(pending, &status);
        return;
    }
    struct side *put = pending->side[1] = sent_side(&out);
    if (way == 1) {
        MPI_Sendrecv(put->at, (int)put->units, put->type, to, in.tag, get->at, (int)get->units,
                     get->type, from, in.tag, slot->comm, &status);
        check_message(pending, &status);
        return;
    }
#if MPI_VERSION >= 4
    MPI_Isendrecv(put->at, (int)put->units, put->type, to, in.tag, get->at, (int)get->units,
                  get->type, from, in.tag, slot->comm, &pending->request);
#else
    MPI_Sendrecv(put->at, (int)put->units, put->type, to, in.tag, get->at, (int)get->units,
                 get->type, from, in.tag, slot->comm, MPI_STATUS_IGNORE);
#endif
}

/* A ready send: the receive is begun, and all know it. */
void play_ready(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    if (slot->me < 0) {
        return;
    }
    if (slot->me == message.to) {
        receive_message(player, &message, slot, false);
    }
    MPI_Barrier(slot->comm);
    if (slot->me == message.from) {
        struct pending *pending = begin(player);
        struct side *side = pending->side[0] = sent_side(&message);
        MPI_Irsend(side->at, (int)side->units, side->type, message.to, message.tag, slot->comm,
                   &pending->request);
    }
}

/* Begun several times, with one request, one after the other. */
void play_persistent(struct player *player, struct dice *dice, struct slot *slot)
{
    struct message message = draw_message(player, dice, slot);
    uint32_t times = between(dice, 1, 4), way = below(&message.sender, 2);
    MPI_Request in = MPI_REQUEST_NULL, out = MPI_REQUEST_NULL;
    MPI_Status status;
    struct pending *get = NULL, *put = NULL;
    int op = player->op;
    if (slot->me == message.to) {
        get = begin_receive(player, &message);
        MPI_Recv_init(get->side[0]->at, (int)get->side[0]->units, get->side[0]->type, message.from,
                      message.tag, slot->comm, &in);
    }
    if (slot->me == message.from) {
        put = begin(player);
        get = get ? put - 1 : NULL; /* the list may have moved */
        put->side[0] = sent_side(&message);
        if (way == 0) {
            MPI_Send_init(put->side[0]->at, (int)put->side[0]->units, put->side[0]->type,
                          message.to, message.tag, slot->comm, &out);
        } else {
            MPI_Ssend_init(put->side[0]->at, (int)put->side[0]->units, put->side[0]->type,
                           message.to, message.tag, slot->comm, &out);
        }
    }
    for (uint32_t i = 0; i < times && (get || put); i++) {
        if (get) {
            MPI_Start(&in);
        }
        if (put) {
            MPI_Start(&out);
        }
        if (i + 1 == times) {
            break;
        }
        if (get) {
            MPI_Wait(&in, &status);
            check_message(get, &status);
        }
        if (put) {
            MPI_Wait(&out, MPI_STATUS_IGNORE);
        }
    }
    if (get) {
        get->request = in, get->persistent = true, get->op = op;
    }
    if (put) {
        put->request = out, put->persistent = true;
    }
}

void play_partitioned(struct player *player, struct dice *dice, struct slot *slot)
{
#if MPI_VERSION >= 4
    struct message message = draw_message(player, dice, slot);
    uint32_t out_parts = 1u << below(dice, 5), in_parts = 1u << below(dice, 5);
    uint64_t each = 16u * below(dice, 200);
    struct dice plain = {1}, order = {roll(dice)};
    message.elements = each;
    if (slot->me == message.to) {
        struct pending *pending = begin(player);
        struct side *side = pending->side[0] = side_new();
        side_make(side, &plain, message.leaf, each, 0);
        side_expect(side, 0, each, message.seed, 0);
        MPI_Precv_init(side->at, (int)in_parts, (MPI_Count)(each / in_parts), side->type,
                       message.from, message.tag, slot->comm, MPI_INFO_NULL, &pending->request);
        pending->persistent = true;
        MPI_Start(&pending->request);
    }
    if (slot->me == message.from) {
        struct pending *pending = begin(player);
        struct side *side = pending->side[0] = side_new();
        side_make(side, &plain, message.leaf, each, 0);
        side_expect(side, 0, each, message.seed, 0);
        side_send(side);
        MPI_Psend_init(side->at, (int)out_parts, (MPI_Count)(each / out_parts), side->type,
                       message.to, message.tag, slot->comm, MPI_INFO_NULL, &pending->request);
        pending->persistent = true;
        MPI_Start(&pending->request);
        int odd = (int)(below(&order, out_parts) | 1), at = (int)below(&order, out_parts);
        for (uint32_t i = 0; i < out_parts; i++) { /* each once: their number is a power of 2 */
            MPI_Pready((at + (int)i * odd) & (int)(out_parts - 1), pending->request);
        }
    }
#else
    play_message(player, dice, slot);
#endif
}
