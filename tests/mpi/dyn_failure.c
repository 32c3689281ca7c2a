/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dynamic processes, and a failure: of the process that RZ_KILL_AT names, at the named place inside
 * the library (rzrun -x RZ_KILL_AT=spawned@1), or the victim of the scene. The survivors repair
 * what they have and try again until it succeeds; each wait ends, and nothing is left over.
 *
 *   spawn     some spawn children, which come together with their parents
 *   connect   two halves meet at a port
 *   child     a child fails when all is well, and is done without
 *   parent    a parent does
 *   orphans   all parents but one fail, and the children go on
 */
#include "../patience.h"
#include "dyn.h"

#include <limits.h>
#include <signal.h>

enum { TRIES_MAX = 12, CHILDREN = 2 };

static char program[PATH_MAX];
static int repaired; /* times */

static void be_told(MPI_Comm comm)
{
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

/* PROC_FAILED, REVOKED, or it has come to nothing. */
static int is_allowed(int error)
{
    int class = class_of(error);
    return class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED ||
           class == MPI_ERR_SPAWN || class == MPI_ERR_PORT;
}

static void shrink(MPI_Comm *comm)
{
    MPI_Comm less;
    CHECK(MPIX_Comm_shrink(*comm, &less) == MPI_SUCCESS);
    MPI_Comm_free(comm);
    repaired++;
    *comm = less;
    be_told(less);
}

/* Whether it went well at all of comm, for all of comm to know. */
static int all_well(MPI_Comm comm, int well)
{
    int flag = well;
    return MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 1;
}

static void give_up(MPI_Comm *inter)
{
    if (*inter != MPI_COMM_NULL) {
        MPIX_Comm_revoke(*inter);
        CHECK(MPI_Comm_disconnect(inter) == MPI_SUCCESS);
    }
}

static MPI_Comm spawn_until(MPI_Comm *comm, int root, const char *word)
{
    char copy[16], *argv[] = {copy, NULL};
    snprintf(copy, sizeof(copy), "%s", word);
    for (int i = 0; i < TRIES_MAX; i++) {
        int size, codes[CHILDREN], remote = CHILDREN;
        MPI_Comm inter = MPI_COMM_NULL;
        MPI_Comm_size(*comm, &size);
        int error = MPI_Comm_spawn(program, argv, CHILDREN, MPI_INFO_NULL, root % size, *comm,
                                   &inter, codes);
        CHECK(is_allowed(error) && (error == MPI_SUCCESS) == (inter != MPI_COMM_NULL));
        if (inter != MPI_COMM_NULL) {
            MPI_Comm_remote_size(inter, &remote);
            be_told(inter);
        }
        CHECK(remote == CHILDREN);
        if (all_well(*comm, error == MPI_SUCCESS)) {
            return inter;
        }
        give_up(&inter);
        shrink(comm);
    }
    CHECK(!"spawned at last");
    return MPI_COMM_NULL;
}

/* ---- spawn ---- */

static int failed_in(MPI_Comm comm)
{
    MPI_Group failed;
    int n;
    MPIX_Comm_get_failed(comm, &failed);
    MPI_Group_size(failed, &n);
    MPI_Group_free(&failed);
    return n;
}

/* A child joins its parents, unless they have abandoned it. */
static void child_tries(MPI_Comm parent)
{
    be_told(parent);
    be_told(MPI_COMM_WORLD);
    /* All of its world continue, or none. */
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS || failed_in(MPI_COMM_WORLD) > 0);
    int error = MPI_Barrier(parent);
    CHECK(is_allowed(error));
    if (error != MPI_SUCCESS) {
        MPIX_Comm_revoke(parent);
    }
    CHECK(MPI_Comm_disconnect(&parent) == MPI_SUCCESS);
}

static void spawn_scene(MPI_Comm *comm)
{
    for (;;) {
        MPI_Comm inter = spawn_until(comm, 1, "tries");
        int well = MPI_Barrier(inter) == MPI_SUCCESS;
        well = all_well(*comm, well);
        if (!well) {
            MPIX_Comm_revoke(inter);
        }
        CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
        if (well) {
            return;
        }
        shrink(comm);
    }
}

/* ---- connect ---- */

static void port_of(int accepts, char *port)
{
    be_told(MPI_COMM_SELF);
    if (accepts) {
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        while (MPI_Publish_name("meet", MPI_INFO_NULL, port) != MPI_SUCCESS) {
            usleep(1000); /* until the name of a failed process is removed */
        }
    }
    while (!accepts && MPI_Lookup_name("meet", MPI_INFO_NULL, port) != MPI_SUCCESS) {
        usleep(1000);
    }
}

static int meet_once(MPI_Comm part, int accepts, MPI_Comm *inter)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank;
    MPI_Comm_rank(part, &rank);
    if (rank == 0) {
        port_of(accepts, port);
    }
    int error = (accepts ? MPI_Comm_accept : MPI_Comm_connect)(port, MPI_INFO_NULL, 0, part, inter);
    if (rank == 0 && accepts) {
        MPI_Unpublish_name("meet", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
    CHECK(is_allowed(error) && (error == MPI_SUCCESS) == (*inter != MPI_COMM_NULL));
    return error;
}

/* In two halves of one communicator, each whole. */
static int halve(MPI_Comm *comm, MPI_Comm *part)
{
    for (;;) {
        int rank, size;
        MPI_Comm_rank(*comm, &rank);
        MPI_Comm_size(*comm, &size);
        int accepts = rank < size / 2, error = MPI_Comm_split(*comm, accepts, rank, part);
        CHECK(is_allowed(error));
        if (all_well(*comm, error == MPI_SUCCESS)) {
            return accepts;
        }
        if (error == MPI_SUCCESS) {
            MPI_Comm_free(part);
        }
        shrink(comm);
    }
}

static void connect_scene(MPI_Comm *comm)
{
    MPI_Comm part, inter = MPI_COMM_NULL;
    int accepts = halve(comm, &part);
    for (int i = 0;; i++) {
        CHECK(i < TRIES_MAX);
        int error = meet_once(part, accepts, &inter), well = 0;
        if (error == MPI_SUCCESS) {
            be_told(inter);
        }
        if (all_well(part, error == MPI_SUCCESS)) {
            well = all_well(inter, MPI_Barrier(inter) == MPI_SUCCESS);
        }
        if (well) {
            break;
        }
        give_up(&inter);
        shrink(&part);
    }
    CHECK(is_allowed(MPI_Barrier(inter))); /* a process may fail only now */
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
    MPI_Comm_free(&part);
}

/* ---- when all is well ---- */

/* Parents and children do the same: a process ends, the others see it and continue without it. */
static void lose_one(MPI_Comm *inter, int is_victim)
{
    MPI_Comm less;
    int flag = 1;
    be_told(*inter);
    CHECK(MPIX_Comm_agree(*inter, &flag) == MPI_SUCCESS);
    if (is_victim) {
        raise(SIGKILL);
    }
    int error = MPI_Barrier(*inter);
    CHECK(class_of(error) == MPI_ERR_PROC_FAILED || class_of(error) == MPI_ERR_REVOKED ||
          error == MPI_SUCCESS);
    MPIX_Comm_revoke(*inter);
    CHECK(MPIX_Comm_shrink(*inter, &less) == MPI_SUCCESS);
    CHECK(failed_in(*inter) == 1);
    repaired++;
    CHECK(MPI_Comm_disconnect(inter) == MPI_SUCCESS);
    inter_works(less);
    merged_works(less, parents() != MPI_COMM_NULL);
    CHECK(MPI_Comm_disconnect(&less) == MPI_SUCCESS);
}

static void child_scene(MPI_Comm *comm)
{
    MPI_Comm inter = spawn_until(comm, 0, "child");
    lose_one(&inter, 0);
    inter = spawn_until(comm, 0, "tries");
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
}

static void parent_scene(MPI_Comm *comm)
{
    int rank, size;
    MPI_Comm_rank(*comm, &rank);
    MPI_Comm_size(*comm, &size);
    MPI_Comm inter = spawn_until(comm, 0, "parent");
    lose_one(&inter, rank == size - 1);
    shrink(comm);
    inter = spawn_until(comm, 0, "tries");
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
}

/* The children hold what is left of their parents until MPI_Finalize. */
static void child_orphan(MPI_Comm parent)
{
    int value, n;
    be_told(parent);
    MPI_Comm_remote_size(parent, &n);
    for (int i = 1; i < n; i++) {
        CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, i, 0, parent, MPI_STATUS_IGNORE)) ==
              MPI_ERR_PROC_FAILED);
    }
    works(MPI_COMM_WORLD);
    CHECK(MPI_Send(&n, 1, MPI_INT, 0, 0, parent) == MPI_SUCCESS);
}

static void orphans_scene(MPI_Comm *comm)
{
    int rank, value, flag = 1;
    MPI_Comm_rank(*comm, &rank);
    MPI_Comm inter = spawn_until(comm, 0, "orphans");
    if (rank != 0) {
        raise(SIGKILL);
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(MPI_Recv(&value, 1, MPI_INT, i, 0, inter, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPIX_Comm_agree(*comm, &flag);
    shrink(comm);
}

static void child(MPI_Comm parent, const char *what)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    be_told(MPI_COMM_WORLD);
    if (strcmp(what, "orphans") == 0) {
        child_orphan(parent);
    } else if (strcmp(what, "tries") == 0) {
        child_tries(parent);
    } else {
        lose_one(&parent, strcmp(what, "child") == 0 && rank == 1);
    }
}

/* The survivors join, whichever processes failed before. */
static void works_at_last(MPI_Comm *comm)
{
    int rank, size, sum = 0;
    for (;;) {
        MPI_Comm_rank(*comm, &rank);
        MPI_Comm_size(*comm, &size);
        int error = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, *comm);
        CHECK(is_allowed(error) && (error != MPI_SUCCESS || sum == size * (size - 1) / 2));
        if (all_well(*comm, error == MPI_SUCCESS)) {
            return;
        }
        shrink(comm);
    }
}

static const struct {
    const char *name;
    void (*run)(MPI_Comm *comm);
} scenes[] = {{"spawn", spawn_scene},
              {"connect", connect_scene},
              {"child", child_scene},
              {"parent", parent_scene},
              {"orphans", orphans_scene}};

/* A duplicate of the world; of those that are left, where one failed while it was made. */
static void begin_with(MPI_Comm *comm)
{
    int made = MPI_Comm_dup(MPI_COMM_WORLD, comm) == MPI_SUCCESS;
    MPIX_Comm_agree(MPI_COMM_WORLD, &made);
    if (!made) {
        CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, comm) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int known = 0;
    MPI_Init(&argc, &argv);
    alarm(TEST_HANG_S); /* each wait ends */
    CHECK(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    if (parents() != MPI_COMM_NULL) {
        child(parents(), argv[1]);
        MPI_Finalize();
        return 0;
    }
    be_told(MPI_COMM_WORLD);
    begin_with(&comm);
    for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        if (strcmp(argv[1], scenes[i].name) == 0) {
            scenes[i].run(&comm);
            known = 1;
        }
    }
    CHECK(known);
    works_at_last(&comm);
    /* All of them say so: one may fail yet. */
    printf("%s: correct, repaired %d times\n", argv[1], repaired);
    fflush(stdout);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
