/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any collective operation in any form (blocking, non-blocking, persistent; with counts of int and
 * of MPI_Count) on any communicator, with any counts, datatypes, operations and roots, several at
 * once, against what a naive reference says of every byte of every buffer.
 *
 * A trial begins up to five operations in the same order at all ranks and completes them in an
 * order that each rank draws for itself.
 *
 * Arguments: [SEED [TRIALS [FIRST [KIND]]]]; KIND: that kind of operation alone, see coll_any.h.
 * What fails says how to run the same trial again.
 */
#include "coll_any.h"

#include <stdlib.h>
#include <string.h>

enum { TASKS_MAX = 5, COMMS = 4, TRIALS_PER_POOL = 8, STARTS = 3 };

static const char *const kinds[KINDS] = {
    "BARRIER",
    "BCAST",
    "GATHER",
    "GATHERV",
    "SCATTER",
    "SCATTERV",
    "ALLGATHER",
    "ALLGATHERV",
    "ALLTOALL",
    "ALLTOALLV",
    "ALLTOALLW",
    "NEIGHBOR_ALLGATHER",
    "NEIGHBOR_ALLGATHERV",
    "NEIGHBOR_ALLTOALL",
    "NEIGHBOR_ALLTOALLV",
    "NEIGHBOR_ALLTOALLW",
    "REDUCE",
    "ALLREDUCE",
    "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
    "SCAN",
    "EXSCAN",
    "REDUCE_LOCAL",
};
static const char *const forms[FORMS] = {
    "blocking",        "non-blocking",        "persistent",
    "blocking, large", "non-blocking, large", "persistent, large"};

/* A communicator of the pool; colour: distinguishes the parts of a split. */
struct place {
    MPI_Comm comm;
    uint64_t colour;
};

static struct place pool[COMMS];
static int world_rank, world_size, trial, only_kind = -1;
static unsigned long long seed;

/* ---- Communicators ---- */

/* A group of the ranks in an order drawn, without some of them. */
static MPI_Comm some_in_any_order(struct chance *chance)
{
    int ranks[RANKS_MAX];
    MPI_Group world, group;
    MPI_Comm comm;
    for (int i = 0; i < world_size; i++) {
        ranks[i] = i;
    }
    chance_shuffle(chance, ranks, world_size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1 + chance_below(chance, world_size), ranks, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    MPI_Group_free(&world);
    MPI_Group_free(&group);
    return comm;
}

/* MPI_COMM_NULL at some ranks. */
static void place_draw(struct place *place, struct chance *chance)
{
    int parts = 1 + chance_below(chance, 3);
    uint64_t salt = chance_mix(chance->state, 7);
    place->colour = 0;
    switch (chance_below(chance, 5)) {
    case 0:
        MPI_Comm_dup(MPI_COMM_WORLD, &place->comm);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &place->comm);
        break;
    case 2:
        place->comm = some_in_any_order(chance);
        break;
    default:
        place->colour = chance_mix(salt, (uint64_t)world_rank) % (uint64_t)parts;
        MPI_Comm_split(MPI_COMM_WORLD, (int)place->colour, (int)(salt >> world_rank & 3),
                       &place->comm);
    }
    if (place->comm != MPI_COMM_NULL && chance_below(chance, 3) == 0) {
        MPI_Comm whole = place->comm;
        MPI_Comm_dup(whole, &place->comm);
        MPI_Comm_free(&whole);
    }
}

static void pool_draw(void)
{
    struct chance chance = {chance_mix(seed, (uint64_t)(trial / TRIALS_PER_POOL))};
    for (int i = 0; i < COMMS; i++) {
        chance.state = chance_mix(chance.state, (uint64_t)i); /* alike where draws differed */
        struct chance own = chance;
        place_draw(&pool[i], &own);
    }
}

static void pool_free(void)
{
    for (int i = 0; i < COMMS; i++) {
        if (pool[i].comm != MPI_COMM_NULL && pool[i].comm != 0) {
            MPI_Comm_free(&pool[i].comm);
        }
    }
}

/* ---- A task ---- */

static const struct task_ops *ops_of(const struct task *task)
{
    return task->kind >= REDUCE ? &reduce_ops : &move_ops;
}

static bool is_persistent(const struct task *task)
{
    return task->form == PERSISTENT || task->form == PERSISTENT_C;
}

static void fill(struct task *task, int start)
{
    task->contents = chance_mix(task->salt, (uint64_t)start);
    ops_of(task)->fill(task);
}

/* False: this rank takes no part. */
static bool task_draw(struct task *task, uint64_t salt)
{
    struct chance chance = {salt};
    struct place *place = &pool[chance_below(&chance, COMMS)];
    *task = (struct task){.comm = place->comm, .request = MPI_REQUEST_NULL};
    task->kind = only_kind >= 0 ? (enum kind)only_kind : (enum kind)chance_below(&chance, KINDS);
    task->form = (enum form)chance_below(&chance, FORMS);
    int root = chance_below(&chance, 1 << 20);
    if (task->comm == MPI_COMM_NULL) {
        return false;
    }
    if (task->kind == REDUCE_LOCAL) {
        task->form = task->form < BLOCKING_C ? BLOCKING : BLOCKING_C;
    }
    MPI_Comm_rank(task->comm, &task->rank);
    MPI_Comm_size(task->comm, &task->size);
    task->root = root % task->size;
    task->salt = chance_mix(salt, place->colour);
    chance.state = task->salt;
    ops_of(task)->draw(task, &chance);
    fill(task, 0);
    return true;
}

static void complain(const struct task *task, const struct parts *parts, ptrdiff_t offset)
{
    const unsigned char *is = image_at(&parts->image, IS) + offset;
    const unsigned char *should_be = image_at(&parts->image, SHOULD_BE) + offset;
    fprintf(stderr,
            "coll_any: seed %llu, trial %d: not so: %s (%s%s) at rank %d of %d (world rank %d), "
            "root %d: byte %td of the %s buffer is %02x, not %02x\nagain: coll_any %llu 1 %d, with "
            "as many ranks\n",
            seed, trial, kinds[task->kind], forms[task->form], task->in_place ? ", in place" : "",
            task->rank, task->size, world_rank, task->root, offset,
            parts == &task->in ? "receive" : "send", *is, *should_be, seed, trial);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void task_check(struct task *task)
{
    ptrdiff_t offset;
    ops_of(task)->wipe(task);
    if (image_differs(&task->out.image, &offset)) {
        complain(task, &task->out, offset);
    }
    if (image_differs(&task->in.image, &offset)) {
        complain(task, &task->in, offset);
    }
}

static void task_end(struct task *task)
{
    if (task->request != MPI_REQUEST_NULL) {
        MPI_Request_free(&task->request);
    }
    ops_of(task)->end(task);
    if (task->own_comm) {
        MPI_Comm_free(&task->comm);
    }
}

/* ---- Completion, in any order and by any call ---- */

static void complete_some(int n, MPI_Request *requests, struct chance *own)
{
    int flag, index, count, indices[TASKS_MAX], one = chance_below(own, n);
    MPI_Status statuses[TASKS_MAX];
    switch (chance_below(own, 8)) {
    case 0:
        MPI_Wait(&requests[one], MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Test(&requests[one], &flag, &statuses[0]);
        break;
    case 2:
        MPI_Waitany(n, requests, &index, &statuses[0]);
        break;
    case 3:
        MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
        break;
    case 4:
        MPI_Waitsome(n, requests, &count, indices, statuses);
        break;
    case 5:
        MPI_Testsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        break;
    case 6:
        MPI_Testall(n, requests, &flag, statuses);
        break;
    default:
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    }
}

/* Null, or persistent and inactive. */
static bool all_over(int n, MPI_Request *requests)
{
    int over = 1;
    for (int i = 0; i < n && over; i++) {
        MPI_Status status;
        MPI_Request_get_status(requests[i], &over, &status);
        over = over && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG;
    }
    return over;
}

static void complete_all(int n, struct task **tasks, struct chance *own)
{
    MPI_Request requests[TASKS_MAX];
    for (int i = 0; i < n; i++) {
        requests[i] = tasks[i]->request;
    }
    for (int rounds = 0; rounds < 6 && n > 0; rounds++) {
        complete_some(n, requests, own);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    CHECK(all_over(n, requests));
    for (int i = 0; i < n; i++) {
        tasks[i]->request = requests[i];
        CHECK(is_persistent(tasks[i]) || requests[i] == MPI_REQUEST_NULL);
        task_check(tasks[i]);
    }
}

/* Persistent ones once more, with other data and begun in an order that each rank draws. */
static void start_again(int n, struct task **tasks, int start, struct chance *own)
{
    int order[TASKS_MAX];
    for (int i = 0; i < n; i++) {
        order[i] = i;
    }
    chance_shuffle(own, order, n);
    for (int k = 0; k < n; k++) {
        struct task *task = tasks[order[k]];
        fill(task, start);
        MPI_Start(&task->request);
    }
    complete_all(n, tasks, own);
}

static void run_trial(void)
{
    static struct task memory[TASKS_MAX];
    struct task *tasks[TASKS_MAX], *persistent[TASKS_MAX];
    uint64_t salt = chance_mix(seed, (uint64_t)trial + UINT64_C(0x100000000));
    struct chance chance = {salt}, own = {chance_mix(salt, (uint64_t)world_rank + 1)};
    int n = 0, n_persistent = 0, drawn = 1 + chance_below(&chance, TASKS_MAX);
    for (int i = 0; i < drawn; i++) {
        tasks[n] = &memory[i];
        n += task_draw(&memory[i], chance_mix(salt, (uint64_t)i));
    }
    for (int i = 0; i < n; i++) {
        ops_of(tasks[i])->call(tasks[i]);
        if (is_persistent(tasks[i])) {
            MPI_Start(&tasks[i]->request);
            persistent[n_persistent++] = tasks[i];
        }
    }
    complete_all(n, tasks, &own);
    for (int start = 1; start < STARTS; start++) {
        start_again(n_persistent, persistent, start, &own);
    }
    for (int i = 0; i < n; i++) {
        task_end(tasks[i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    CHECK(world_size <= RANKS_MAX);
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    int trials = argc > 2 ? atoi(argv[2]) : 200, first = argc > 3 ? atoi(argv[3]) : 0;
    only_kind = argc > 4 ? atoi(argv[4]) : -1;
    reduce_begin();
    for (trial = first; trial < first + trials; trial++) {
        if (trial == first || trial % TRIALS_PER_POOL == 0) {
            pool_free();
            pool_draw();
        }
        run_trial();
    }
    pool_free();
    reduce_end();
    MPI_Finalize();
    return 0;
}
