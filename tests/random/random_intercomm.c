/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intercommunicators: collectives and messages between two sides. The processes of both sides have
 * numbers of their own: first those of one side, then those of the other. The root of a collective,
 * the ends of a message, and seeds are such numbers.
 */
#include "random_collective.h"

#include <stdlib.h>

enum { STEPS = TAGS_OF_AN_OPERATION };

/* One collective, as one process sees it. */
struct between {
    struct collective c;
    int n_here, n_there;
    int there;                  /* the number of the first one of the other side */
    uint64_t each_out, each_in; /* elements that a process sends or receives; they may differ */
    int root;                   /* what MPI is told */
    bool root_is_there, v;      /* v: each block has a length of its own */
    MPI_Comm comm;
};

/* The blocks for, or from, all processes of the other side; kept until the collective is over. */
struct layout {
    int *count, *where, all;
    MPI_Datatype *types;
};

static void look_from(struct between *b, const struct slot *both, int half)
{
    struct collective *c = &b->c;
    bool first = both->me < half;
    uint64_t other = mix(c->seed, 1) % (c->elements + 1);
    b->n_here = first ? half : both->n - half;
    b->n_there = both->n - b->n_here;
    b->there = first ? half : 0;
    b->each_out = first ? c->elements : other;
    b->each_in = first ? other : c->elements;
    b->comm = both->comm;
    b->root_is_there = c->root >= b->there && c->root < b->there + b->n_there;
    b->root = b->root_is_there ? c->root - b->there : c->root == c->me ? MPI_ROOT : MPI_PROC_NULL;
}

static bool enter_between(struct between *b, struct player *player, struct dice *dice,
                          const struct slot *both, int half, int step)
{
    *b = (struct between){.v = chance(dice, 50)};
    bool mine = enter_collective(&b->c, player, dice, both, 2000);
    b->c.seed = mix(b->c.seed, (uint64_t)step + 1);
    look_from(b, both, half);
    return mine;
}

static uint64_t length(const struct between *b, uint64_t seed, uint64_t each)
{
    return b->v ? mix(seed, 1) % (each + 1) : each;
}

static struct side *one_block(struct between *b, uint64_t seed, uint64_t each)
{
    uint64_t n = length(b, seed, each);
    struct side *side = collective_side(&b->c, 1, n);
    side_expect(side, 0, n, seed, 0);
    return side;
}

/* `pairs`: each process sends another block to each; else each sends one to all. */
static struct side *all_blocks(struct between *b, bool out, bool pairs, struct layout *l)
{
    struct collective *c = &b->c;
    size_t n = (size_t)b->n_there;
    uint64_t each = out ? b->each_out : b->each_in;
    uint64_t *seeds = malloc(n * sizeof(*seeds));
    *l = (struct layout){.types = malloc(n * (sizeof(MPI_Datatype) + 2 * sizeof(int)))};
    l->count = (int *)(l->types + n);
    l->where = l->count + n;
    for (size_t i = 0; i < n; i++) {
        int other = b->there + (int)i;
        seeds[i] = !pairs ? seed_of(c, other)
                   : out  ? seed_between(c, c->me, other)
                          : seed_between(c, other, c->me);
        l->types[i] = leaf_type(c->leaf);
        l->count[i] = (int)length(b, seeds[i], each);
        l->where[i] = l->all;
        l->all += l->count[i] + (b->v ? (int)(i % 2) : 0);
    }
    struct side *side = b->v ? plain_side(c, l->all) : collective_side(c, b->n_there, each);
    for (size_t i = 0; i < n; i++) {
        side_expect(side, (uint64_t)l->where[i], (uint64_t)l->count[i], seeds[i], 0);
    }
    free(seeds);
    *(out ? &c->pending->more : &c->pending->list) = l->types;
    return side;
}

static void between_barrier(struct between *b)
{
    PLAY(&b->c, Barrier, barrier, b->comm);
}

/* Who is at the root's side, and is not the root, has no data. */
static void between_bcast(struct between *b)
{
    struct side *side = NULL;
    if (b->root != MPI_PROC_NULL) {
        side = b->c.pending->side[0] = collective_side(&b->c, 1, b->c.elements);
        side_expect(side, 0, b->c.elements, b->c.seed, 0);
    }
    if (b->root == MPI_ROOT) {
        side_send(side);
    }
    PLAY(&b->c, Bcast, bcast, side ? side->at : NULL, side ? units_of(side, b->c.elements) : 0,
         side ? side->type : MPI_BYTE, b->root, b->comm);
}

static void between_gather(struct between *b)
{
    struct pending *pending = b->c.pending;
    struct side *put = NULL, *get = NULL;
    struct layout l = {0};
    uint64_t mine = length(b, seed_of(&b->c, b->c.me), b->each_out);
    if (b->root_is_there) {
        put = pending->side[0] = one_block(b, seed_of(&b->c, b->c.me), b->each_out);
        side_send(put);
    } else if (b->root == MPI_ROOT) {
        get = pending->side[1] = all_blocks(b, false, false, &l);
    }
    const void *from = put ? put->at : NULL;
    void *to = get ? get->at : NULL;
    int n_put = put ? units_of(put, mine) : 0, n_get = get ? units_of(get, b->each_in) : 0;
    MPI_Datatype out = put ? put->type : MPI_BYTE, in = get ? get->type : MPI_BYTE;
    if (b->v) {
        PLAY(&b->c, Gatherv, gatherv, from, n_put, out, to, l.count, l.where, in, b->root, b->comm);
    } else {
        PLAY(&b->c, Gather, gather, from, n_put, out, to, n_get, in, b->root, b->comm);
    }
}

static void between_scatter(struct between *b)
{
    struct pending *pending = b->c.pending;
    struct side *put = NULL, *get = NULL;
    struct layout l = {0};
    uint64_t seed = seed_between(&b->c, b->c.root, b->c.me), mine = length(b, seed, b->each_in);
    if (b->root_is_there) {
        get = pending->side[1] = one_block(b, seed, b->each_in);
    } else if (b->root == MPI_ROOT) {
        put = pending->side[0] = all_blocks(b, true, true, &l);
        side_send(put);
    }
    const void *from = put ? put->at : NULL;
    void *to = get ? get->at : NULL;
    int n_put = put ? units_of(put, b->each_out) : 0, n_get = get ? units_of(get, mine) : 0;
    MPI_Datatype out = put ? put->type : MPI_BYTE, in = get ? get->type : MPI_BYTE;
    if (b->v) {
        PLAY(&b->c, Scatterv, scatterv, from, l.count, l.where, out, to, n_get, in, b->root,
             b->comm);
    } else {
        PLAY(&b->c, Scatter, scatter, from, n_put, out, to, n_get, in, b->root, b->comm);
    }
}

static void between_allgather(struct between *b)
{
    struct pending *pending = b->c.pending;
    struct layout l;
    uint64_t seed = seed_of(&b->c, b->c.me);
    int n_put;
    struct side *put = pending->side[0] = one_block(b, seed, b->each_out);
    struct side *get = pending->side[1] = all_blocks(b, false, false, &l);
    side_send(put);
    n_put = units_of(put, length(b, seed, b->each_out));
    if (b->v) {
        PLAY(&b->c, Allgatherv, allgatherv, put->at, n_put, put->type, get->at, l.count, l.where,
             get->type, b->comm);
    } else {
        PLAY(&b->c, Allgather, allgather, put->at, n_put, put->type, get->at,
             units_of(get, b->each_in), get->type, b->comm);
    }
}

static void between_alltoall(struct between *b)
{
    struct pending *pending = b->c.pending;
    struct layout out, in;
    struct side *put = pending->side[0] = all_blocks(b, true, true, &out);
    struct side *get = pending->side[1] = all_blocks(b, false, true, &in);
    side_send(put);
    if (b->v && mix(b->c.seed, 2) % 2 == 0) {
        for (int i = 0; i < b->n_there; i++) {
            out.where[i] *= (int)put->leaf_bytes;
            in.where[i] *= (int)get->leaf_bytes;
        }
        PLAY(&b->c, Alltoallw, alltoallw, put->at, out.count, out.where, out.types, get->at,
             in.count, in.where, in.types, b->comm);
    } else if (b->v) {
        PLAY(&b->c, Alltoallv, alltoallv, put->at, out.count, out.where, put->type, get->at,
             in.count, in.where, get->type, b->comm);
    } else {
        PLAY(&b->c, Alltoall, alltoall, put->at, units_of(put, b->each_out), put->type, get->at,
             units_of(get, b->each_in), get->type, b->comm);
    }
}

/* ---- Reductions of what the other side has ---- */

static bool enter_reduction_between(struct reduction **result, struct between *b,
                                    struct player *player, struct dice *dice, struct slot *both,
                                    int half, int step, uint32_t most)
{
    if (!enter_reduction(result, player, dice, both, most, false)) {
        return false;
    }
    struct collective *c = &(*result)->c;
    c->seed = mix(c->seed, (uint64_t)step + 1);
    c->in_place = false;
    *b = (struct between){.c = *c};
    look_from(b, both, half);
    return true;
}

static void between_reduce(struct player *player, struct dice *dice, struct slot *both, int half,
                           int step)
{
    struct reduction *r;
    struct between b;
    bool all = chance(dice, 50);
    if (!enter_reduction_between(&r, &b, player, dice, both, half, step, 5000)) {
        return;
    }
    bool gets = all || b.root == MPI_ROOT;
    uint32_t *want = gets ? reduced(r, b.there, b.there + b.n_there - 1) : NULL;
    reduction_buffers(r, gets ? r->words : 0, want);
    free(want);
    int n = (int)b.c.elements;
    if (all) {
        PLAY(&b.c, Allreduce, allreduce, r->in, r->out, n, r->type, r->op, b.comm);
    } else {
        PLAY(&b.c, Reduce, reduce, r->in, r->out, n, r->type, r->op, b.root, b.comm);
    }
}

/* As many numbers at both sides: so many blocks of `elements` that both can divide them. */
static void between_reduce_scatter(struct player *player, struct dice *dice, struct slot *both,
                                   int half, int step)
{
    struct reduction *r;
    struct between b;
    bool same = chance(dice, 50);
    if (!enter_reduction_between(&r, &b, player, dice, both, half, step, 300)) {
        return;
    }
    int each = (int)b.c.elements * b.n_there, me = b.c.me - (b.there == 0 ? b.n_there : 0);
    int *counts = malloc((size_t)b.n_here * sizeof(int));
    size_t first = 0;
    r->words *= (size_t)(b.n_here * b.n_there);
    for (int i = 0; i < b.n_here; i++) { /* one block less here, one more there */
        bool has_next = i % 2 == 1 || i + 1 < b.n_here;
        int moved = same || !has_next ? 0 : each / 2;
        counts[i] = i % 2 == 0 ? each + moved : each - moved;
        first += i < me ? (size_t)counts[i] : 0;
    }
    uint32_t *want = reduced(r, b.there, b.there + b.n_there - 1);
    reduction_buffers(r, (size_t)counts[me] * r->width, want + first * r->width);
    free(want);
    b.c.pending->list = counts;
    if (same) {
        PLAY(&b.c, Reduce_scatter_block, reduce_scatter_block, r->in, r->out, each, r->type, r->op,
             b.comm);
    } else {
        PLAY(&b.c, Reduce_scatter, reduce_scatter, r->in, r->out, counts, r->type, r->op, b.comm);
    }
}

/* ---- A message from one side to the other ---- */

static void between_message(struct player *player, struct dice *dice, struct slot *both, int half,
                            int step)
{
    struct message message = draw_message(player, dice, both);
    bool first = message.from < half; /* the sender's side */
    int from = message.from;
    int to = first ? half + message.to % (both->n - half) : message.to % half;
    message.seed = mix(message.seed, (uint64_t)step + 1);
    message.from = first ? from : from - half;
    message.to = first ? to - half : to;
    if (chance(dice, 20)) {
        message.tag = OWN_TAGS + TAGS_OF_AN_OPERATION * player->op + step;
    }
    if (both->me == from) {
        send_message(player, &message, both, true);
    }
    if (both->me == to) {
        receive_message(player, &message, both, true);
    }
}

/* ---- Some of them, one after the other ---- */

static void play_step(struct player *player, struct dice *dice, struct slot *both, int half,
                      int step)
{
    static void (*const collectives[])(struct between *) = {between_barrier,   between_bcast,
                                                            between_gather,    between_scatter,
                                                            between_allgather, between_alltoall};
    enum { PLAIN = sizeof(collectives) / sizeof(*collectives) };
    struct between b;
    uint32_t kind = below(dice, PLAIN + 5);
    if (kind < PLAIN) {
        if (enter_between(&b, player, dice, both, half, step)) {
            collectives[kind](&b);
        }
    } else if (kind == PLAIN) {
        between_reduce(player, dice, both, half, step);
    } else if (kind == PLAIN + 1) {
        between_reduce_scatter(player, dice, both, half, step);
    } else {
        between_message(player, dice, both, half, step);
    }
}

static void check_sides(const struct player *player, const struct slot *both, int half)
{
    int flag, here, there, rank;
    bool first = both->me < half;
    MPI_Comm_test_inter(both->comm, &flag);
    MPI_Comm_size(both->comm, &here);
    MPI_Comm_remote_size(both->comm, &there);
    MPI_Comm_rank(both->comm, &rank);
    if (!flag || here != (first ? half : both->n - half) || there != both->n - here ||
        rank != (first ? both->me : both->me - half)) {
        wrong(player->op, "an intercommunicator (%d) has %d and %d processes, rank %d", flag, here,
              there, rank);
    }
}

void play_between(struct player *player, struct dice *dice, struct slot *both, int half)
{
    int steps = (int)between(dice, 1, STEPS);
    if (both->me >= 0) {
        check_sides(player, both, half);
    }
    for (int step = 0; step < steps; step++) {
        play_step(player, dice, both, half, step);
    }
}

/* Two halves of a communicator, each with a leader: its rank there. */
struct halves {
    MPI_Comm peers, local; /* peers: no message of another operation is in it */
    bool first;
    int half, leader[2];
};

/* As two programs do it that do not know each other; the leaders tell the name of the port. */
static void connect_halves(const struct halves *h, MPI_Comm *inter)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, to = h->half + h->leader[1];
    MPI_Comm_rank(h->local, &rank);
    if (!h->first) {
        if (rank == h->leader[1]) {
            MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, h->leader[0], 0, h->peers,
                     MPI_STATUS_IGNORE);
        }
        MPI_Comm_connect(port, MPI_INFO_NULL, h->leader[1], h->local, inter);
        return;
    }
    if (rank == h->leader[0]) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, to, 0, h->peers);
    }
    MPI_Comm_accept(port, MPI_INFO_NULL, h->leader[0], h->local, inter);
    if (rank == h->leader[0]) {
        MPI_Close_port(port);
    }
}

static void make_halves(struct halves *h, const struct slot *slot, bool ports, MPI_Comm *inter)
{
    h->first = slot->me < h->half;
    MPI_Comm_dup(slot->comm, &h->peers);
    MPI_Comm_split(slot->comm, h->first, slot->me, &h->local);
    if (ports) {
        connect_halves(h, inter);
    } else {
        MPI_Intercomm_create(h->local, h->leader[!h->first], h->peers,
                             h->first ? h->half + h->leader[1] : h->leader[0], 7, inter);
    }
    MPI_Comm_free(&h->peers);
}

/* Another one of the same processes; the last way turns the order of each side around. */
static void make_again(struct slot *both, int half, uint32_t way)
{
    MPI_Comm old = both->comm;
    MPI_Request request;
    if (way == 0) {
        MPI_Comm_dup(old, &both->comm);
    } else if (way == 1) {
        MPI_Comm_idup(old, &both->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Comm_split(old, 1, -both->me, &both->comm);
        both->me = both->me < half ? half - 1 - both->me : half + both->n - 1 - both->me;
    }
    MPI_Comm_free(&old);
}

/* Two halves of a communicator; what is pending in it when it is freed is completed later. */
void play_intercomm(struct player *player, struct dice *dice, struct slot *slot)
{
    if (slot->n < 2) {
        play_barrier(player, dice, slot);
        return;
    }
    struct halves h = {.half = (int)between(dice, 1, (uint32_t)slot->n - 1)};
    h.leader[0] = (int)below(dice, (uint32_t)h.half);
    h.leader[1] = (int)below(dice, (uint32_t)(slot->n - h.half));
    uint32_t again = below(dice, 6);
    bool ports = chance(dice, 10);
    struct slot both = *slot;
    if (slot->me >= 0) {
        make_halves(&h, slot, ports, &both.comm);
        if (again < 3) {
            make_again(&both, h.half, again);
        }
    }
    play_between(player, dice, &both, h.half);
    if (slot->me >= 0) {
        MPI_Comm_free(&both.comm);
        MPI_Comm_free(&h.local);
    }
}
