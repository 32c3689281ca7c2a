/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows in checkpoints: each checkpoint has one state of the whole window, although operations
 * are under way and epochs are open when it is taken. A restored window has exactly what was begun
 * before the checkpoint: each process computes what that is.
 *
 *     checkpoint_windows SEED STEPS [VICTIM@STEP ...]      (the arguments of checkpoint_bits)
 */
#include "reinit.h"

#include <rhizome/checkpoint.h>
#include <stdint.h>
#include <string.h>

enum { CELLS = 512, COPIES = 64, ADDS = 12, ADDS_ID = 3, PUTS_ID = 1, STEP_ID = 7 };

static uint64_t seed;
static int steps, rank, size;

struct windows {
    MPI_Comm half; /* the even ranks, or the odd ones */
    MPI_Win adds;  /* of all: always between MPI_Win_lock_all and MPI_Win_unlock_all */
    MPI_Win puts;  /* of a half, memory of this program: between fences */
    int64_t *counts;
    int64_t *copies;
    int cells; /* of counts; no memory at rank 1 */
    int step;
};

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* The k-th addition of a process in a step. */
struct add {
    int target, cell;
    int64_t value;
};

static struct add add_of(int origin, int step, int k)
{
    uint64_t dice = mix(mix(mix(seed + (uint64_t)origin) + (uint64_t)step) + (uint64_t)k);
    struct add add = {.target = (int)(dice % (uint64_t)size)};
    add.target = add.target == 1 ? 0 : add.target;
    add.cell = (int)(dice >> 32) & (CELLS - 1);
    add.value = (int64_t)(dice >> 20 & 0xffff);
    return add;
}

static int64_t put_of(int origin, int step)
{
    return (int64_t)mix(seed + (uint64_t)(origin * 1000 + step));
}

static void check_all(const struct windows *w)
{
    static int64_t counts[CELLS];
    memset(counts, 0, sizeof(counts));
    for (int origin = 0; origin < size; origin++) {
        for (int at = 0; at < w->step * ADDS; at++) {
            struct add add = add_of(origin, at / ADDS, at % ADDS);
            counts[add.cell] += add.target == rank ? add.value : 0;
        }
    }
    for (int i = 0; i < w->cells; i++) {
        CHECK(w->counts[i] == counts[i]);
    }
    for (int origin = rank % 2; origin < size; origin += 2) {
        CHECK(w->copies[origin] == (w->step > 0 ? put_of(origin, w->step - 1) : 0));
    }
}

/* Half of the operations are waited for by the checkpoint alone. */
static void make_step(struct windows *w)
{
    for (int k = 0; k < ADDS; k++) {
        int64_t before;
        struct add add = add_of(rank, w->step, k);
        if (k % 2) {
            MPI_Accumulate(&add.value, 1, MPI_INT64_T, add.target, add.cell, 1, MPI_INT64_T,
                           MPI_SUM, w->adds);
        } else {
            MPI_Fetch_and_op(&add.value, &before, MPI_INT64_T, add.target, add.cell, MPI_SUM,
                             w->adds);
            MPI_Win_flush(add.target, w->adds);
        }
    }
    int64_t value = put_of(rank, w->step);
    for (int target = 0; target * 2 + rank % 2 < size; target++) {
        MPI_Put(&value, 1, MPI_INT64_T, target, rank, 1, MPI_INT64_T, w->puts);
    }
    w->step++;
}

static void make_windows(struct windows *w)
{
    static int64_t copies[COPIES];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &w->half);
    w->cells = rank == 1 ? 0 : CELLS;
    w->copies = copies;
    MPI_Win_allocate(w->cells * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &w->counts, &w->adds);
    MPI_Win_create(copies, sizeof(copies), 8, MPI_INFO_NULL, w->half, &w->puts);
    CHECK(RZ_Checkpoint_protect(STEP_ID, &w->step, sizeof(w->step)) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect_win(ADDS_ID, w->adds) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect_win(PUTS_ID + rank % 2, w->puts) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect_win(ADDS_ID, w->adds) == MPI_SUCCESS); /* again: no change */
}

static void begin(struct windows *w)
{
    if (w->cells > 0) {
        memset(w->counts, 0, (size_t)w->cells * sizeof(*w->counts));
    }
    memset(w->copies, 0, COPIES * sizeof(*w->copies));
    w->step = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What cannot be protected; and that the end of a window ends its protection. */
static void rules(void)
{
    MPI_Win dynamic, win;
    void *memory;
    FILE *stream;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN);
    CHECK(class_of(RZ_Checkpoint_protect_win(20, dynamic)) == MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&dynamic);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(class_of(RZ_Checkpoint_protect_win(20, MPI_WIN_NULL)) == MPI_ERR_WIN);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(class_of(RZ_Checkpoint_protect_win(-1, win)) == MPI_ERR_ARG);
    CHECK(RZ_Checkpoint_protect_win(20, win) == MPI_SUCCESS);
    CHECK(class_of(RZ_Checkpoint_protect_win(21, win)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Checkpoint_stream_open(20, "w", &stream)) == MPI_ERR_ARG);
    MPI_Win_free(&win);
    CHECK(RZ_Checkpoint_stream_open(20, "w", &stream) == MPI_SUCCESS && fclose(stream) == 0);
    CHECK(RZ_Checkpoint_protect(20, NULL, 0) == MPI_SUCCESS);
}

static void run(struct windows *w, int argc, char **argv)
{
    MPI_Win_lock_all(0, w->adds);
    MPI_Win_fence(0, w->puts);
    while (w->step < steps) {
        RZ_Progress_mark((uint64_t)w->step);
        make_step(w);
        fail_perhaps(argc, argv, rank, (uint64_t)w->step - 1);
        CHECK(RZ_Checkpoint(NULL) == MPI_SUCCESS);
        if (w->step % 3 == 0) {
            MPI_Win_fence(0, w->puts);
        }
    }
    MPI_Win_unlock_all(w->adds);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->puts);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    static struct windows w;
    uint64_t generation, sum = 0, all;
    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rules();
    make_windows(&w);
    CHECK(RZ_Restore(&generation) == MPI_SUCCESS);
    if (generation == 0) {
        begin(&w);
    }
    check_all(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    run(&w, argc, argv);
    check_all(&w);
    for (int i = 0; i < w.cells; i++) {
        sum ^= mix((uint64_t)w.counts[i] + (uint64_t)(i + rank));
    }
    MPI_Allreduce(&sum, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("the same bits after %d steps, sum %llx\n", steps, (unsigned long long)all);
    }
    MPI_Win_free(&w.adds);
    MPI_Win_free(&w.puts);
    MPI_Comm_free(&w.half);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    steps = argc > 2 ? atoi(argv[2]) : 20;
    CHECK(MPIX_Reinit(argc, argv, point) == 0);
    MPI_Finalize();
    return 0;
}
