/* SPDX-License-Identifier: BSD-3-Clause */
/* A world that is repaired by its processes: the rule is in recovery_ulfm.h. */
#include "recovery_ulfm.h"

#include "recovery.h"

#ifdef RECOVERY_SURVIVES
#include <mpi-ext.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARTS_MAX = 16, TRIES_MAX = 100, TAG_RANK = 8100 };

/* How the loop is left. */
enum how { START, BY_CALL, BY_AGREEMENT };

static struct {
    jmp_buf begin;
    enum how how;
    bool jumps; /* an error leaves the loop; else calls return it */
    MPI_Comm world, parts[PARTS_MAX];
    int n_parts;
    MPI_Errhandler handler;
    enum recovery_repair way;
    const struct recovery_store *store;
    uint64_t repairs; /* that this process took part in, or knows of */
    char **argv;
} u;

MPI_Comm recovery_ulfm_world(void)
{
    return u.world;
}

uint64_t recovery_ulfm_repairs(void)
{
    return u.repairs;
}

static _Noreturn void give_up(const char *what, int error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    recovery_fail("%s: %s", what, text);
}

/* ---- Errors ---- */

/* Calls that complete many requests report only that one of them failed. */
static bool has_trouble(MPI_Comm comm)
{
    int revoked = 0, n_failed = 0;
    MPI_Group failed;
    if (comm == MPI_COMM_NULL) {
        return false;
    }
    MPIX_Comm_is_revoked(comm, &revoked);
    if (MPIX_Comm_get_failed(comm, &failed) == MPI_SUCCESS) {
        MPI_Group_size(failed, &n_failed);
        MPI_Group_free(&failed);
    }
    return revoked || n_failed > 0;
}

static bool tells_of_failure(MPI_Comm comm, int error)
{
    int class;
    MPI_Error_class(error, &class);
    if (class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_PROC_FAILED_PENDING ||
        class == MPIX_ERR_REVOKED) {
        return true;
    }
    return (class == MPI_ERR_IN_STATUS || class == MPI_ERR_PENDING) &&
           (has_trouble(comm) || has_trouble(u.world));
}

static void on_error(MPI_Comm *comm, int *error, ...)
{
    if (!u.jumps) {
        return;
    }
    u.jumps = false;
    if (!tells_of_failure(*comm, *error)) {
        give_up("an MPI call failed", *error);
    }
    if (*comm != MPI_COMM_NULL) {
        MPIX_Comm_revoke(*comm); /* it may be one that was never passed to recovery_use */
    }
    u.how = BY_CALL;
    longjmp(u.begin, 1);
}

/* Whether all say yes, and none of them failed: the same answer everywhere. */
static bool all_agree(MPI_Comm comm, bool yes)
{
    int flag = yes;
    return MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag;
}

void recovery_ulfm_commit(void)
{
    u.jumps = false;
    if (!all_agree(u.world, true)) {
        u.how = BY_AGREEMENT;
        longjmp(u.begin, 1);
    }
    u.jumps = true;
}

void recovery_ulfm_use(MPI_Comm comm)
{
    if (u.n_parts == PARTS_MAX) {
        recovery_fail("more than %d communicators", PARTS_MAX);
    }
    u.parts[u.n_parts++] = comm;
    /* No process uses it before all would revoke it. */
    MPI_Barrier(u.world);
}

/* ---- From world to world ---- */

static void drop(MPI_Comm *comm)
{
    if (*comm == MPI_COMM_NULL || *comm == MPI_COMM_WORLD) {
        return;
    }
    MPIX_Comm_revoke(*comm);
    MPI_Comm_free(comm);
}

static void take(MPI_Comm whole)
{
    if (u.world != MPI_COMM_WORLD) {
        drop(&u.world);
    }
    u.world = whole;
    MPI_Comm_set_errhandler(whole, u.handler);
}

/* The loop was left: no process waits in it any more, and all are after the same agreement. */
static void leave(void)
{
    for (int i = 0; i < u.n_parts; i++) {
        MPIX_Comm_revoke(u.parts[i]);
    }
    MPIX_Comm_revoke(u.world);
    if (u.how == BY_CALL) {
        all_agree(u.world, false);
    }
    for (int i = 0; i < u.n_parts; i++) {
        drop(&u.parts[i]);
    }
    u.n_parts = 0;
    u.repairs++;
}

static void replace(void)
{
    MPI_Comm whole;
    int error = RZ_Comm_replace(u.world, &whole);
    if (error != MPI_SUCCESS) {
        give_up("the failed processes cannot be replaced", error);
    }
    take(whole);
}

/* ---- The classical way: shrink, spawn, merge, order ---- */

/* The ranks of the world that are not in living, as many as fit; all are counted. */
static int ranks_lost(MPI_Comm living, int *lost)
{
    int n;
    MPI_Group before, after, n_failed;
    MPI_Comm_group(u.world, &before);
    MPI_Comm_group(living, &after);
    MPI_Group_difference(before, after, &n_failed);
    MPI_Group_size(n_failed, &n);
    for (int i = 0; i < n; i++) {
        MPI_Group_translate_ranks(n_failed, 1, &i, before, &lost[i]);
    }
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    MPI_Group_free(&n_failed);
    return n;
}

/* From the intercommunicator between survivors and new processes to one communicator in the order
 * of the ranks; MPI_COMM_NULL, at all survivors, if that did not succeed at all. */
static MPI_Comm join(MPI_Comm bridge, bool is_new, int rank)
{
    MPI_Comm merged = MPI_COMM_NULL, whole = MPI_COMM_NULL;
    bool well = MPI_Intercomm_merge(bridge, is_new, &merged) == MPI_SUCCESS;
    /* An agreement over two groups gives each the answer of the other: two agreements reach all. */
    well = all_agree(bridge, well) && well;
    well = all_agree(bridge, well) && well;
    if (well) {
        MPI_Comm_set_errhandler(merged, u.handler);
        well = MPI_Comm_split(merged, 0, rank, &whole) == MPI_SUCCESS;
        if (!all_agree(merged, well)) {
            drop(&whole);
        }
    }
    drop(&merged);
    return whole;
}

static MPI_Comm spawn_into(MPI_Comm living, int n, const int *lost)
{
    int rank, first;
    MPI_Comm bridge = MPI_COMM_NULL, whole = MPI_COMM_NULL;
    MPI_Comm_rank(u.world, &rank);
    MPI_Comm_rank(living, &first);
    bool well = MPI_Comm_spawn(u.argv[0], u.argv + 1, n, MPI_INFO_NULL, 0, living, &bridge,
                               MPI_ERRCODES_IGNORE) == MPI_SUCCESS;
    if (well) {
        MPI_Comm_set_errhandler(bridge, u.handler);
    }
    if (all_agree(living, well)) {
        for (int i = 0; first == 0 && i < n; i++) {
            MPI_Send(&lost[i], 1, MPI_INT, i, TAG_RANK, bridge);
        }
        whole = join(bridge, false, rank);
    }
    drop(&bridge);
    return whole;
}

/* A step that does not succeed at all is abandoned, and repeated. */
static void spawn(void)
{
    int size;
    MPI_Comm_size(u.world, &size);
    int *lost = malloc((size_t)size * sizeof(*lost));
    MPI_Comm whole = MPI_COMM_NULL;
    if (!lost) {
        recovery_fail("no memory for a list of %d ranks", size);
    }
    for (int tries = 0; whole == MPI_COMM_NULL; tries++) {
        MPI_Comm living;
        int error = MPIX_Comm_shrink(u.world, &living);
        if (error != MPI_SUCCESS) {
            give_up("the communicator cannot be shrunk", error);
        }
        int n = ranks_lost(living, lost);
        if (n == 0) {
            whole = living;
            break;
        }
        if (tries == TRIES_MAX) {
            recovery_fail("%d processes could not be spawned in %d tries; are there slots for "
                          "them, and does --on-failure allow it?",
                          n, tries);
        }
        whole = spawn_into(living, n, lost);
        drop(&living);
    }
    free(lost);
    take(whole);
}

/* A spawned process joins; it ends if that does not succeed: the others begin again without it. */
static void join_parents(MPI_Comm bridge)
{
    int rank = -1;
    MPI_Comm_set_errhandler(bridge, u.handler);
    MPI_Recv(&rank, 1, MPI_INT, 0, TAG_RANK, bridge, MPI_STATUS_IGNORE);
    MPI_Comm whole = join(bridge, true, rank);
    drop(&bridge);
    if (whole == MPI_COMM_NULL) {
        MPI_Finalize();
        exit(0);
    }
    take(whole);
}

/* ---- The run ---- */

/* True: this process replaces a failed one. */
static bool enter(void)
{
    int incarnation;
    MPI_Comm parent;
    MPI_Comm_create_errhandler(on_error, &u.handler);
    u.world = MPI_COMM_NULL;
    RZ_Incarnation(&incarnation);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        join_parents(parent);
    } else if (incarnation > 1) {
        replace();
    } else {
        take(MPI_COMM_WORLD);
    }
    return parent != MPI_COMM_NULL || incarnation > 1;
}

/* Whether the world is whole, with the same checkpoint at all. */
static bool settle(void)
{
    uint64_t repairs = 0;
    bool well =
        MPI_Allreduce(&u.repairs, &repairs, 1, MPI_UINT64_T, MPI_MAX, u.world) == MPI_SUCCESS;
    if (well) {
        u.repairs = repairs;
    }
    well = well && u.store->refill(u.world) == MPI_SUCCESS;
    if (!well) {
        MPIX_Comm_revoke(u.world);
    }
    well = all_agree(u.world, well);
    if (well) {
        u.store->settle();
    }
    return well;
}

static void repair(void)
{
    for (int tries = 0; !settle(); tries++) {
        if (tries == TRIES_MAX) {
            recovery_fail("processes failed %d times in a row during the repair", tries);
        }
        u.way == RECOVERY_REPLACE ? replace() : spawn();
    }
}

static void finish(void)
{
    for (int i = 0; i < u.n_parts; i++) {
        MPI_Comm_free(&u.parts[i]);
    }
    if (u.world != MPI_COMM_WORLD) {
        MPI_Comm_free(&u.world);
    }
    MPI_Errhandler_free(&u.handler);
    u.store->close();
}

int recovery_ulfm_run(char **argv, enum recovery_repair way, const struct recovery_store *store,
                      int (*loop)(bool again))
{
    u.store = store;
    u.argv = argv;
    u.way = way;
    bool is_new = enter();
    (void)setjmp(u.begin);
    if (u.how != START) {
        leave();
        way == RECOVERY_REPLACE ? replace() : spawn();
    }
    repair();
    u.jumps = true;
    int result = loop(is_new || u.how != START);
    recovery_ulfm_commit();
    u.jumps = false;
    finish();
    return result;
}

/* ---- For stores ---- */

void recovery_reserve(unsigned char **memory, size_t *room, size_t bytes)
{
    if (bytes <= *room && *memory) {
        return;
    }
    free(*memory);
    *memory = malloc(bytes + 1);
    *room = bytes;
    if (!*memory) {
        recovery_fail("no memory for a checkpoint's copy of %zu bytes", bytes);
    }
}
#else
typedef int recovery_ulfm_is_not_there; /* a file must not be empty */
#endif
