/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations while processes fail: what has come is right, if there is no error. */
#include "random_failures.h"

#include <stdlib.h>
#include <string.h>

enum kind {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    REDUCE_SCATTER,
    EXSCAN,
    SCAN,
    KINDS
};

struct collective {
    enum kind kind;
    int root, count, n, me;
    uint64_t seed;
};

/* What process `from` gives to process `to`, as far as the operation makes a difference. */
static uint32_t word_of(const struct collective *c, int from, int to, int i)
{
    return (uint32_t)mix(c->seed, ((uint64_t)from << 32) | ((uint64_t)to << 24) | (uint64_t)i);
}

static uint32_t sum_of(const struct collective *c, int last, int to, int i)
{
    uint32_t sum = 0;
    for (int from = 0; from <= last; from++) {
        sum += word_of(c, from, to, i);
    }
    return sum;
}

static void fill(const struct collective *c, struct wait *wait)
{
    for (int to = 0; to < c->n; to++) {
        for (int i = 0; i < c->count; i++) {
            bool apart = c->kind == SCATTER || c->kind == ALLTOALL || c->kind == REDUCE_SCATTER;
            wait->sent[to * c->count + i] = word_of(c, c->me, apart ? to : 0, i);
        }
    }
}

/* What stands in part `part` of the receive buffer in the end. */
static bool wanted(const struct collective *c, int part, int i, uint32_t *word)
{
    switch (c->kind) {
    case BCAST:
        *word = word_of(c, c->root, 0, i);
        return part == 0;
    case REDUCE:
    case ALLREDUCE:
        *word = sum_of(c, c->n - 1, 0, i);
        return part == 0 && (c->kind == ALLREDUCE || c->me == c->root);
    case SCAN:
        *word = sum_of(c, c->me, 0, i);
        return part == 0;
    case EXSCAN:
        *word = sum_of(c, c->me - 1, 0, i);
        return part == 0;
    case REDUCE_SCATTER:
        *word = sum_of(c, c->n - 1, c->me, i);
        return part == 0;
    case GATHER:
    case ALLGATHER:
        *word = word_of(c, part, 0, i);
        return c->kind == ALLGATHER || c->me == c->root;
    case SCATTER:
        *word = word_of(c, c->root, c->me, i);
        return part == 0;
    case ALLTOALL:
        *word = word_of(c, part, c->me, i);
        return true;
    default:
        return false;
    }
}

static void expect(const struct collective *c, struct wait *wait)
{
    for (int part = 0; part < c->n; part++) {
        for (int i = 0; i < c->count; i++) {
            uint32_t word, at = (uint32_t)(part * c->count + i);
            if (wanted(c, part, i, &word)) {
                wait->want[at] = word;
            }
        }
    }
    if (c->kind == BCAST && c->me == c->root) {
        memcpy(wait->got, wait->want, (size_t)c->count * sizeof(uint32_t));
    }
}

static int call_blocking(const struct collective *c, struct wait *w, MPI_Comm comm)
{
    MPI_Datatype t = MPI_UINT32_T;
    int n = c->count;
    switch (c->kind) {
    case BARRIER:
        return MPI_Barrier(comm);
    case BCAST:
        return MPI_Bcast(w->got, n, t, c->root, comm);
    case REDUCE:
        return MPI_Reduce(w->sent, w->got, n, t, MPI_SUM, c->root, comm);
    case ALLREDUCE:
        return MPI_Allreduce(w->sent, w->got, n, t, MPI_SUM, comm);
    case GATHER:
        return MPI_Gather(w->sent, n, t, w->got, n, t, c->root, comm);
    case SCATTER:
        return MPI_Scatter(w->sent, n, t, w->got, n, t, c->root, comm);
    case ALLGATHER:
        return MPI_Allgather(w->sent, n, t, w->got, n, t, comm);
    case ALLTOALL:
        return MPI_Alltoall(w->sent, n, t, w->got, n, t, comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(w->sent, w->got, n, t, MPI_SUM, comm);
    case EXSCAN:
        return MPI_Exscan(w->sent, w->got, n, t, MPI_SUM, comm);
    default:
        return MPI_Scan(w->sent, w->got, n, t, MPI_SUM, comm);
    }
}

static int call_nonblocking(const struct collective *c, struct wait *w, MPI_Comm comm)
{
    MPI_Datatype t = MPI_UINT32_T;
    MPI_Request *r = &w->request;
    int n = c->count;
    switch (c->kind) {
    case BARRIER:
        return MPI_Ibarrier(comm, r);
    case BCAST:
        return MPI_Ibcast(w->got, n, t, c->root, comm, r);
    case REDUCE:
        return MPI_Ireduce(w->sent, w->got, n, t, MPI_SUM, c->root, comm, r);
    case ALLREDUCE:
        return MPI_Iallreduce(w->sent, w->got, n, t, MPI_SUM, comm, r);
    case GATHER:
        return MPI_Igather(w->sent, n, t, w->got, n, t, c->root, comm, r);
    case SCATTER:
        return MPI_Iscatter(w->sent, n, t, w->got, n, t, c->root, comm, r);
    case ALLGATHER:
        return MPI_Iallgather(w->sent, n, t, w->got, n, t, comm, r);
    case ALLTOALL:
        return MPI_Ialltoall(w->sent, n, t, w->got, n, t, comm, r);
    case REDUCE_SCATTER:
        return MPI_Ireduce_scatter_block(w->sent, w->got, n, t, MPI_SUM, comm, r);
    case EXSCAN:
        return MPI_Iexscan(w->sent, w->got, n, t, MPI_SUM, comm, r);
    default:
        return MPI_Iscan(w->sent, w->got, n, t, MPI_SUM, comm, r);
    }
}

static int call_init(const struct collective *c, struct wait *w, MPI_Comm comm)
{
    MPI_Datatype t = MPI_UINT32_T;
    MPI_Info i = MPI_INFO_NULL;
    MPI_Request *r = &w->request;
    int n = c->count;
    switch (c->kind) {
    case BARRIER:
        return MPI_Barrier_init(comm, i, r);
    case BCAST:
        return MPI_Bcast_init(w->got, n, t, c->root, comm, i, r);
    case REDUCE:
        return MPI_Reduce_init(w->sent, w->got, n, t, MPI_SUM, c->root, comm, i, r);
    case ALLREDUCE:
        return MPI_Allreduce_init(w->sent, w->got, n, t, MPI_SUM, comm, i, r);
    case GATHER:
        return MPI_Gather_init(w->sent, n, t, w->got, n, t, c->root, comm, i, r);
    case SCATTER:
        return MPI_Scatter_init(w->sent, n, t, w->got, n, t, c->root, comm, i, r);
    case ALLGATHER:
        return MPI_Allgather_init(w->sent, n, t, w->got, n, t, comm, i, r);
    case ALLTOALL:
        return MPI_Alltoall_init(w->sent, n, t, w->got, n, t, comm, i, r);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter_block_init(w->sent, w->got, n, t, MPI_SUM, comm, i, r);
    case EXSCAN:
        return MPI_Exscan_init(w->sent, w->got, n, t, MPI_SUM, comm, i, r);
    default:
        return MPI_Scan_init(w->sent, w->got, n, t, MPI_SUM, comm, i, r);
    }
}

static struct collective draw_collective(struct game *game, struct dice *dice, struct comm *comm)
{
    static const int counts[] = {0, 1, 1, 7, 64, 700, 700, 5000, 20000};
    struct collective c = {.kind = (enum kind)below(dice, KINDS),
                           .root = (int)below(dice, (uint32_t)comm->n),
                           .count = counts[below(dice, 9)],
                           .n = comm->n,
                           .me = comm->me};
    c.seed = mix(game->seed, (uint64_t)number_of(game) << 20 | 1);
    return c;
}

/* Begun when a failure is known it must fail: docs/failure-semantics.md. */
void fail_collective(struct game *game, struct dice *dice, struct comm *comm)
{
    struct collective c = draw_collective(game, dice, comm);
    uint32_t way = below(dice, 3);
    if (comm->me < 0) {
        return;
    }
    struct wait *wait = wait_new(game, comm, ALL);
    size_t words = (size_t)c.n * (size_t)c.count + 1;
    wait->sent = calloc(words, sizeof(uint32_t));
    wait->got = calloc(words, sizeof(uint32_t));
    wait->want = calloc(words, sizeof(uint32_t));
    wait->n_words = (uint32_t)words;
    fill(&c, wait);
    expect(&c, wait);
    if (c.kind == EXSCAN && c.me == 0) { /* what is there is not defined */
        free(wait->want);
        wait->want = NULL;
    }
    wait->uniform = comm->uniform == UNIFORM_COLL;
    wait->must_fail = known_failed(game, comm) != 0;
    if (way == 0) {
        int error = call_blocking(&c, wait, comm->comm);
        blocking_over(game, error, NULL, "a collective operation");
        return;
    }
    if (way == 1) {
        must(game, call_nonblocking(&c, wait, comm->comm), "the start of a collective operation");
        return;
    }
    wait->persistent = true;
    must(game, call_init(&c, wait, comm->comm), "a persistent collective operation");
    must(game, MPI_Start(&wait->request), "the start of a persistent collective operation");
}
