/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages while processes fail. A message of a process that may fail has a tag of its own: a
 * receive that was given up must not leave it to the next one.
 */
#include "random_failures.h"

#include <stdlib.h>

struct failing_message {
    int from, to, tag, source; /* ranks of the communicator; source: as the receive names it */
    uint32_t leaf;
    uint64_t elements, seed;
    bool sure; /* the sender lives through this round: other tags than its own may be used */
    struct dice sender, receiver;
};

enum { TAGS = 5 };

int draw_member(struct game *game, struct dice *dice, const struct comm *comm, uint32_t percent)
{
    int member = (int)below(dice, (uint32_t)comm->n), fails = -1;
    bool wanted = chance(dice, percent);
    for (int i = 0; i < comm->n; i++) {
        int k = (member + i) % comm->n;
        fails = is_in(game->may_fail, comm->member[k]) ? k : fails;
    }
    return wanted && fails >= 0 ? fails : member;
}

static struct failing_message draw_failing(struct game *game, struct dice *dice,
                                           const struct comm *comm)
{
    struct failing_message message = {.from = draw_member(game, dice, comm, 30),
                                      .to = (int)below(dice, (uint32_t)comm->n),
                                      .leaf = below(dice, LEAVES),
                                      .elements = size_at_random(dice)};
    uint64_t risk = game->may_fail | game->gone;
    message.sure = !is_in(risk, comm->member[message.from]);
    message.tag = (int)below(dice, TAGS);
    if (chance(dice, 40) || !message.sure) {
        message.tag = ROUND_TAGS + number_of(game);
    }
    message.seed = mix(game->seed, (uint64_t)number_of(game) << 20);
    message.sender.state = roll(dice);
    message.receiver.state = roll(dice);
    message.source = message.from;
    if (message.tag >= ROUND_TAGS && chance(dice, 65)) {
        message.source = MPI_ANY_SOURCE;
    }
    return message;
}

static struct side *failing_sent_side(struct failing_message *message)
{
    struct side *side = side_new();
    side_make(side, &message->sender, message->leaf, message->elements, message->elements);
    side_expect(side, 0, message->elements, message->seed, 0);
    side_send(side);
    return side;
}

static struct wait *new_send(struct game *game, struct failing_message *message, struct comm *comm)
{
    struct wait *wait = wait_new(game, comm, comm->member[message->to]);
    wait->side = failing_sent_side(message);
    return wait;
}

static struct wait *new_receive(struct game *game, struct failing_message *message,
                                struct comm *comm)
{
    struct wait *wait = wait_new(game, comm, comm->member[message->from]);
    struct side *side = wait->side = side_new();
    uint64_t more = chance(&message->receiver, 20) ? below(&message->receiver, 100) : 0;
    side_make(side, &message->receiver, message->leaf, message->elements + more, message->elements);
    side_expect(side, 0, message->elements, message->seed, 0);
    wait->receives = true;
    wait->any_source = message->source == MPI_ANY_SOURCE;
    wait->source = message->from;
    wait->tag = message->tag;
    wait->elements = message->elements;
    return wait;
}

void blocking_over(struct game *game, int error, MPI_Status *status, const char *call)
{
    struct wait wait = game->wait[--game->n_waits];
    wait_over(game, &wait, error, status, call);
}

static void send(struct game *game, struct failing_message *message, struct comm *comm, bool blocks)
{
    struct wait *wait = new_send(game, message, comm);
    struct side *side = wait->side;
    int units = (int)side->units, to = message->to, tag = message->tag, error = MPI_SUCCESS;
    switch (below(&message->sender, blocks ? 6 : 4)) {
    case 0:
        error = MPI_Isend(side->at, units, side->type, to, tag, comm->comm, &wait->request);
        break;
    case 1:
        error = MPI_Issend(side->at, units, side->type, to, tag, comm->comm, &wait->request);
        break;
    case 2:
        wait->persistent = true;
        MPI_Send_init(side->at, units, side->type, to, tag, comm->comm, &wait->request);
        error = MPI_Start(&wait->request);
        break;
    case 3:
        wait->persistent = true;
        MPI_Ssend_init(side->at, units, side->type, to, tag, comm->comm, &wait->request);
        error = MPI_Start(&wait->request);
        break;
    case 4:
        error = MPI_Send(side->at, units, side->type, to, tag, comm->comm);
        blocking_over(game, error, NULL, "MPI_Send");
        return;
    default:
        error = MPI_Ssend(side->at, units, side->type, to, tag, comm->comm);
        blocking_over(game, error, NULL, "MPI_Ssend");
        return;
    }
    must(game, error, "the start of a send");
}

static int probe_until(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int there = 0, error = MPI_SUCCESS;
    while (!there && error == MPI_SUCCESS) {
        error = MPI_Iprobe(source, tag, comm, &there, status);
    }
    return error;
}

static int improbe_until(int source, int tag, MPI_Comm comm, MPI_Message *message,
                         MPI_Status *status)
{
    int there = 0, error = MPI_SUCCESS;
    while (!there && error == MPI_SUCCESS) {
        error = MPI_Improbe(source, tag, comm, &there, message, status);
    }
    return error;
}

static int receive_once(struct side *side, uint32_t way, int source, int tag, MPI_Comm comm,
                        MPI_Status *status)
{
    MPI_Message found;
    MPI_Request request;
    int error = MPI_SUCCESS, units = (int)side->units;
    switch (way) {
    case 0:
    case 1:
        error = way == 0 ? MPI_Probe(source, tag, comm, status)
                         : probe_until(source, tag, comm, status);
        if (error != MPI_SUCCESS) {
            return error;
        }
        break;
    case 2:
    case 3:
        error = way == 2 ? MPI_Mprobe(source, tag, comm, &found, status)
                         : improbe_until(source, tag, comm, &found, status);
        return error != MPI_SUCCESS ? error
                                    : MPI_Mrecv(side->at, units, side->type, &found, status);
    case 4:
        error = improbe_until(source, tag, comm, &found, status);
        if (error != MPI_SUCCESS) {
            return error;
        }
        error = MPI_Imrecv(side->at, units, side->type, &found, &request);
        return error != MPI_SUCCESS ? error : MPI_Wait(&request, status);
    default:
        break;
    }
    return MPI_Recv(side->at, units, side->type, source, tag, comm, status);
}

/* From any source it may be refused because of another process; then the sender is named. That one
 * is named at once if its failure is acknowledged, for then no failure ends the call. */
static void receive_blocking(struct game *game, struct failing_message *message, struct comm *comm)
{
    if (is_in(comm->acknowledged, comm->member[message->from])) {
        message->source = message->from;
    }
    struct wait *wait = new_receive(game, message, comm);
    uint32_t way = below(&message->receiver, 7);
    int tag =
        message->tag < ROUND_TAGS && chance(&message->receiver, 25) ? MPI_ANY_TAG : message->tag;
    MPI_Status status;
    int error = receive_once(wait->side, way, message->source, tag, comm->comm, &status);
    if (wait->any_source && class_of(error) == MPIX_ERR_PROC_FAILED) {
        went_well(game, comm, ALL, error, "a receive from any source");
        acknowledge_all(game, comm);
        error = receive_once(wait->side, way, message->from, tag, comm->comm, &status);
    }
    blocking_over(game, error, &status, "a blocking receive");
}

static void receive(struct game *game, struct failing_message *message, struct comm *comm)
{
    struct wait *wait = new_receive(game, message, comm);
    struct side *side = wait->side;
    int units = (int)side->units, error;
    int tag =
        message->tag < ROUND_TAGS && chance(&message->receiver, 25) ? MPI_ANY_TAG : message->tag;
    if (chance(&message->receiver, 30)) {
        wait->persistent = true;
        MPI_Recv_init(side->at, units, side->type, message->source, tag, comm->comm,
                      &wait->request);
        error = MPI_Start(&wait->request);
    } else {
        error = MPI_Irecv(side->at, units, side->type, message->source, tag, comm->comm,
                          &wait->request);
    }
    must(game, error, "the start of a receive");
}

void fail_message(struct game *game, struct dice *dice, struct comm *comm)
{
    struct failing_message message = draw_failing(game, dice, comm);
    bool blocks = message.from != message.to && chance(dice, 50);
    if (comm->me == message.from) {
        send(game, &message, comm, message.from != message.to);
    }
    if (comm->me == message.to && blocks) {
        receive_blocking(game, &message, comm);
    } else if (comm->me == message.to) {
        receive(game, &message, comm);
    }
}

/* From each to each, all at once. */
void fail_burst(struct game *game, struct dice *dice, struct comm *comm)
{
    struct failing_message message = draw_failing(game, dice, comm);
    uint64_t sender = message.sender.state, receiver = message.receiver.state;
    message.tag = ROUND_TAGS + number_of(game);
    message.elements = message.elements % 3000;
    for (int from = 0; from < comm->n && comm->me >= 0; from++) {
        message.from = message.source = from, message.to = comm->me;
        message.seed = mix(game->seed, (uint64_t)number_of(game) << 20 | (uint64_t)from << 8 |
                                           (uint64_t)comm->me);
        message.receiver.state = mix(receiver, (uint64_t)from);
        receive(game, &message, comm);
    }
    for (int to = 0; to < comm->n && comm->me >= 0; to++) {
        message.from = comm->me, message.to = to;
        message.seed = mix(game->seed, (uint64_t)number_of(game) << 20 | (uint64_t)comm->me << 8 |
                                           (uint64_t)to);
        message.sender.state = mix(sender, (uint64_t)to);
        send(game, &message, comm, false);
    }
}

/* Each to one neighbour in a ring and from the other. An error of one half is no reason to leave
 * the other process waiting for the other half. */
void fail_exchange(struct game *game, struct dice *dice, struct comm *comm)
{
    struct failing_message in = draw_failing(game, dice, comm), out;
    int n = comm->n, me = comm->me, shift = (int)below(dice, (uint32_t)n);
    uint64_t seed = mix(game->seed, (uint64_t)number_of(game) << 20), sender = roll(dice);
    bool blocks = chance(dice, 60);
    if (me < 0) {
        return;
    }
    out = in;
    out.from = me, out.to = (me + shift) % n, out.seed = mix(seed, (uint64_t)me);
    in.to = me, in.from = in.source = (me - shift + n) % n, in.seed = mix(seed, (uint64_t)in.from);
    out.tag = in.tag = ROUND_TAGS + number_of(game);
    out.sender.state = mix(sender, (uint64_t)me);
    struct wait *get = new_receive(game, &in, comm);
    struct side *to = get->side, *from = get->more = failing_sent_side(&out);
    int from_process = comm->member[in.from], to_process = comm->member[out.to];
    bool from_fails = is_in(game->may_fail | game->gone, from_process);
    bool to_fails = is_in(game->may_fail | game->gone, to_process);
    get->peer = from_fails && to_fails ? ALL : to_fails ? to_process : from_process;
    if (blocks) {
        MPI_Status status;
        int error = MPI_Sendrecv(from->at, (int)from->units, from->type, out.to, out.tag, to->at,
                                 (int)to->units, to->type, in.from, in.tag, comm->comm, &status);
        blocking_over(game, error, &status, "MPI_Sendrecv");
    } else {
        must(game,
             MPI_Isendrecv(from->at, (int)from->units, from->type, out.to, out.tag, to->at,
                           (int)to->units, to->type, in.from, in.tag, comm->comm, &get->request),
             "MPI_Isendrecv");
    }
}
