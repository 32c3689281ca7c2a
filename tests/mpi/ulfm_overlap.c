/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RZ_Comm_repair: communicators that overlap are repaired together, so that they cannot wait for
 * one another. `ulfm_overlap SCENE ...`; RZ_KILL_AT may name one more process that fails meanwhile.
 *
 *   two RANK...        six ranks in two communicators: {0, 1, 2, 3} and {2, 3, 4, 5}; these fail
 *   both RANK...       two communicators of all; half of the ranks see the failure in the first
 *                      one, the others in the second: a repair of only that one would deadlock
 *   circle HOW         eight ranks in `green` {0, 1, 3, 4, 6} and `orange` {1, 2, 3, 5, 7}; 6 and 7
 *                      fail; 0, 3 and 4 have seen one failure, 1, 2 and 5 the other; with `shrink`
 *                      each repairs the one that it saw: a deadlock; with `repair` there is none
 *   chain              {0, 1, 3}, {1, 4} and {3, 4, 5}: only rank 3, which fails, is in the first
 *                      and the last
 *   random SEED N      N times: communicators of random ranks, beside one of all; some fail
 */
#include "ulfm.h"

#include <mpi-ext.h>

#include <signal.h>
#include <string.h>

#define K_MAX 5

static int me, incarnation, n;

static int k;                  /* communicators */
static unsigned member[K_MAX]; /* sets of ranks */
static MPI_Comm comms[K_MAX];

/* Of this process: all, in order of world rank. */
static void make_comms(void)
{
    for (int i = 0; i < k; i++) {
        comms[i] = MPI_COMM_NULL;
        if (incarnation == 1) {
            int colour = member[i] >> me & 1 ? 0 : MPI_UNDEFINED;
            CHECK(MPI_Comm_split(MPI_COMM_WORLD, colour, me, &comms[i]) == MPI_SUCCESS);
        }
        if (comms[i] != MPI_COMM_NULL) {
            MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
        }
    }
}

static void look_at_shape(int i)
{
    int size, rank;
    CHECK((comms[i] != MPI_COMM_NULL) == (member[i] >> me & 1));
    if (comms[i] != MPI_COMM_NULL) {
        MPI_Comm_size(comms[i], &size);
        MPI_Comm_rank(comms[i], &rank);
        CHECK(size == __builtin_popcount(member[i]));
        CHECK(rank == __builtin_popcount(member[i] & ((1u << me) - 1)));
    }
}

static void repair(void)
{
    MPI_Comm made[K_MAX];
    CHECK(RZ_Comm_repair(k, comms, made) == MPI_SUCCESS);
    for (int i = 0; i < k; i++) {
        if (comms[i] != MPI_COMM_NULL) {
            MPI_Comm_free(&comms[i]);
        }
        comms[i] = made[i];
    }
}

/*
 * The same, until a communicator of all, the first, finds none failed. A process that fails while
 * others repair may be replaced in some and be failed in others: its replacement has not got those
 * yet. So the first is checked before the others are used.
 */
static void repair_all(void)
{
    for (;;) {
        int whole = 1, ok = 1;
        repair();
        for (int i = 0; i < k; i++) {
            whole &= (comms[i] != MPI_COMM_NULL) == (member[i] >> me & 1);
        }
        if (comms[0] == MPI_COMM_NULL || MPIX_Comm_agree(comms[0], &whole) != MPI_SUCCESS ||
            !whole) {
            continue;
        }
        for (int i = 0; i < k; i++) {
            int rank, sum;
            if (comms[i] != MPI_COMM_NULL) {
                MPI_Comm_rank(comms[i], &rank);
                ok &= MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]) == MPI_SUCCESS;
            }
        }
        if (MPIX_Comm_agree(comms[0], &ok) == MPI_SUCCESS && ok) {
            return;
        }
    }
}

static void all_work(void)
{
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < k; i++) {
            look_at_shape(i);
            if (comms[i] != MPI_COMM_NULL) {
                works(comms[i]);
            }
        }
    }
}

static void free_comms(void)
{
    for (int i = 0; i < k; i++) {
        if (comms[i] != MPI_COMM_NULL) {
            MPI_Comm_free(&comms[i]);
        }
    }
}

static void fail_if_named(int argc, char **argv)
{
    if (incarnation == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 2; i < argc && incarnation == 1; i++) {
        if (atoi(argv[i]) == me) {
            raise(SIGKILL);
        }
    }
}

/* Until all know of them. A process that fails while others repair may be replaced in one
 * communicator and be failed in the other; the scenes that call this have none of all ranks in
 * which that could be seen. */
static void await_failures(int count)
{
    for (int size = 0; incarnation == 1 && size < count;) {
        MPI_Group failed;
        MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed);
        MPI_Group_size(failed, &size);
        MPI_Group_free(&failed);
    }
}

/* Communicators that share no survivor are repaired apart: a process that is new in both may have
 * got one of them only, and calls again for the other. */
static void get_the_rest(void)
{
    for (int i = 0; i < k && incarnation > 1; i++) {
        while (comms[i] == MPI_COMM_NULL && (member[i] >> me & 1)) {
            MPI_Comm none[K_MAX], made[K_MAX];
            for (int j = 0; j < k; j++) {
                none[j] = MPI_COMM_NULL;
            }
            CHECK(RZ_Comm_repair(k, none, made) == MPI_SUCCESS);
            for (int j = 0; j < k; j++) {
                CHECK(made[j] == MPI_COMM_NULL || comms[j] == MPI_COMM_NULL);
                comms[j] = made[j] != MPI_COMM_NULL ? made[j] : comms[j];
            }
        }
    }
}

static void two(int argc, char **argv)
{
    CHECK(n == 6);
    k = 2;
    member[0] = 0x0f;
    member[1] = 0x3c;
    make_comms();
    fail_if_named(argc, argv);
    await_failures(argc - 2);
    repair();
    get_the_rest();
    all_work();
}

static void both(int argc, char **argv)
{
    k = 2;
    member[0] = member[1] = (1u << n) - 1;
    make_comms();
    fail_if_named(argc, argv);
    if (incarnation == 1) { /* an error in one or in the other */
        MPI_Barrier(comms[me == 1 || me == 2 || me == 5]);
    }
    repair_all();
    all_work();
}

static void chain(void)
{
    CHECK(n == 6);
    k = 3;
    member[0] = 1u << 0 | 1u << 1 | 1u << 3;
    member[1] = 1u << 1 | 1u << 4;
    member[2] = 1u << 3 | 1u << 4 | 1u << 5;
    make_comms();
    fail_if_named(3, (char *[]){NULL, NULL, "3"});
    if (member[0] >> me & 1 || member[1] >> me & 1 || member[2] >> me & 1) {
        repair();
    }
    all_work();
}

static void circle(const char *how)
{
    static const char *const names[] = {"green", "orange"};
    CHECK(n == 8);
    k = 2;
    member[0] = 1u << 0 | 1u << 1 | 1u << 3 | 1u << 4 | 1u << 6;
    member[1] = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 5 | 1u << 7;
    make_comms();
    fail_if_named(4, (char *[]){NULL, NULL, "6", "7"});
    if (incarnation == 1) {
        int met = me == 1 || me == 2 || me == 5;
        MPI_Comm rest;
        MPI_Comm_set_name(comms[met], names[met]);
        CHECK(class_of(MPI_Barrier(comms[met])) == MPI_ERR_PROC_FAILED);
        if (strcmp(how, "shrink") == 0) {
            MPIX_Comm_shrink(comms[met], &rest);
            CHECK(!"this ends");
        }
    }
    await_failures(2);
    repair();
    all_work();
}

static unsigned random_word(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 12;
}

/* All draw the same; a new process learns how far the others are. One of the last two ranks, which
 * do not fail, is a member of each communicator: one that loses all members at once is lost. */
static void draw_members(unsigned *state)
{
    k = 2 + (int)(random_word(state) % (K_MAX - 1));
    member[0] = (1u << n) - 1;
    for (int i = 1; i < K_MAX; i++) {
        unsigned drawn = random_word(state), lives = random_word(state);
        member[i] = (drawn & member[0]) | 1u << (n - 1 - (int)(lives & 1));
    }
}

static void draw(int argc, char **argv)
{
    unsigned state = (unsigned)atoi(argv[2]);
    int last = argc > 3 ? atoi(argv[3]) : 1, cycle = incarnation == 1 ? 0 : -1;
    draw_members(&state);
    make_comms();
    for (int now = 0;;) {
        if (cycle < 0) {
            repair_all();
        }
        if (MPI_Allreduce(&cycle, &now, 1, MPI_INT, MPI_MAX, comms[0]) != MPI_SUCCESS) {
            cycle = cycle < 0 ? 0 : cycle;
            repair_all();
            continue;
        }
        if (now >= last) {
            break;
        }
        unsigned doom = state + (unsigned)now * 7919u;
        for (int i = 0; i <= me; i++) {
            random_word(&doom);
        }
        if (me < n - 2 && random_word(&doom) % 3 == 0) {
            raise(SIGKILL);
        }
        cycle = now + 1;
        MPI_Barrier(comms[0]);
        repair_all();
    }
    all_work();
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    RZ_Incarnation(&incarnation);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (strcmp(scene, "two") == 0) {
        two(argc, argv);
    } else if (strcmp(scene, "both") == 0) {
        both(argc, argv);
    } else if (strcmp(scene, "circle") == 0 && argc > 2) {
        circle(argv[2]);
    } else if (strcmp(scene, "chain") == 0) {
        chain();
    } else if (strcmp(scene, "random") == 0 && argc > 2) {
        draw(argc, argv);
    } else {
        CHECK(!"a scene");
    }
    free_comms();
    MPI_Finalize();
    return 0;
}
