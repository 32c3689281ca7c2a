/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In each scene the last rank of a window fails: before a fence, with a lock in its hands, while
 * others wait for its lock, between start and complete or post and wait; or a window is revoked,
 * and is freed with epochs open. Needs 8 processes or more. Run with --on-failure continue.
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

static MPI_Comm comm;
static int rank, size, last;
static int64_t *memory;
static MPI_Win win;

enum { BYTES = 4096 };

static void ends_here(void)
{
    if (rank == last) {
        raise(SIGKILL);
    }
}

static void make(int allocated)
{
    static int64_t own[BYTES / 8];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    last = size - 1;
    if (allocated) {
        CHECK(MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, comm, &memory, &win) == MPI_SUCCESS);
    } else {
        memory = own;
        CHECK(MPI_Win_create(own, BYTES, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS);
    }
    memset(memory, 0, BYTES);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
}

/* The window ends, and the next scene has the survivors. */
static void scene_ends(void)
{
    MPI_Comm next;
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
    if (comm != MPI_COMM_WORLD) {
        MPI_Comm_free(&comm);
    }
    comm = next;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    works(comm);
}

static void has_failed(int n)
{
    MPI_Group failed;
    int found;
    CHECK(MPIX_Win_get_failed(win, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &found);
    CHECK(found == n);
    MPI_Group_free(&failed);
}

/* Until the daemon has told this process of the failure. */
static void await_failure(void)
{
    MPI_Group failed;
    for (int n = 0; n == 0;) {
        CHECK(MPIX_Win_get_failed(win, &failed) == MPI_SUCCESS);
        MPI_Group_size(failed, &n);
        MPI_Group_free(&failed);
    }
}

/* Whether the text of the last error has that in it. */
static int says(int error, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    return strstr(text, words) != NULL;
}

static int put(int target, int64_t value)
{
    return MPI_Put(&value, 1, MPI_INT64_T, target, 8 * rank, 1, MPI_INT64_T, win);
}

static void fence(int allocated)
{
    make(allocated);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    CHECK(put((rank + 1) % size, rank) == MPI_SUCCESS);
    ends_here();
    CHECK(class_of(MPI_Win_fence(0, win)) == MPIX_ERR_PROC_FAILED);
    has_failed(1);
    CHECK(class_of(MPI_Win_fence(0, win)) == MPIX_ERR_PROC_FAILED);
    /* Operations on the others need no failed process. */
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
    CHECK(put(0, 77) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    scene_ends();
}

/* The lock of rank 0 is held by the process that fails; the others wait for it. */
static void lock_is_freed(int allocated)
{
    int64_t value;
    make(allocated);
    if (rank == last) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    }
    MPI_Barrier(comm);
    ends_here();
    for (int i = 0; i < 20; i++) {
        CHECK(MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Get(&value, 1, MPI_INT64_T, 0, 8 * rank, 1, MPI_INT64_T, win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(0, win) == MPI_SUCCESS && value == i);
        CHECK(put(0, i + 1) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(0, win) == MPI_SUCCESS);
    }
    scene_ends();
}

/* Many shared locks of it, and epochs of others that are open. */
static void target_fails(int allocated)
{
    int64_t one = 1, before = 0;
    MPI_Request request;
    make(allocated);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    CHECK(put(last, 5) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS);
    MPI_Barrier(comm);
    ends_here();
    int error = MPI_SUCCESS;
    while (error == MPI_SUCCESS) {
        CHECK(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, last, 0, MPI_SUM, win) == MPI_SUCCESS);
        error = MPI_Win_flush(last, win);
        CHECK(error == MPI_SUCCESS || class_of(error) == MPIX_ERR_PROC_FAILED);
    }
    error = MPI_Rput(&one, 1, MPI_INT64_T, last, 0, 1, MPI_INT64_T, win, &request);
    CHECK(error == MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED);
    CHECK(put(0, 9) == MPI_SUCCESS && MPI_Win_flush(0, win) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_unlock_all(win)) == MPIX_ERR_PROC_FAILED);
    await_failure();
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win)) == MPIX_ERR_PROC_FAILED);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    CHECK(put(0, 10) == MPI_SUCCESS && MPI_Win_unlock_all(win) == MPI_SUCCESS);
    scene_ends();
}

static void post_and_start(int allocated)
{
    MPI_Group all;
    make(allocated);
    MPI_Win_get_group(win, &all);
    CHECK(MPI_Win_post(all, 0, win) == MPI_SUCCESS);
    CHECK(MPI_Win_start(all, 0, win) == MPI_SUCCESS);
    MPI_Barrier(comm);
    ends_here();
    put(last, 1);
    put(0, 2);
    await_failure();
    char target[64], origin[64];
    snprintf(target, sizeof(target), "the target, rank %d of the window, has failed", last);
    snprintf(origin, sizeof(origin), "the origin, rank %d of the window, has failed", last);
    int error = MPI_Win_complete(win);
    CHECK(class_of(error) == MPIX_ERR_PROC_FAILED && says(error, target));
    error = MPI_Win_wait(win);
    CHECK(class_of(error) == MPIX_ERR_PROC_FAILED && says(error, origin));
    /* With the failed process in the group again: the living do not wait for it. */
    CHECK(MPI_Win_post(all, 0, win) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_start(all, 0, win)) == MPIX_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Win_complete(win)) == MPI_ERR_RMA_SYNC);
    int flag = 0;
    do {
        error = MPI_Win_test(win, &flag);
    } while (error == MPI_SUCCESS && !flag);
    CHECK(class_of(error) == MPIX_ERR_PROC_FAILED && says(error, origin));
    /* Without it epochs go on as before: nothing of the ended ones is left. */
    MPI_Group living;
    MPI_Group_excl(all, 1, &last, &living);
    for (int i = 0; i < 5; i++) {
        CHECK(MPI_Win_post(living, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_start(living, 0, win) == MPI_SUCCESS);
        CHECK(put((rank + 1) % last, 1000 * i + rank) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
        CHECK(MPI_Win_wait(win) == MPI_SUCCESS);
        int from = (rank + last - 1) % last;
        CHECK(memory[from] == 1000 * i + from);
    }
    MPI_Group_free(&living);
    MPI_Group_free(&all);
    scene_ends();
}

/* Rank 0 holds its lock, and revokes the window instead of freeing it. */
static void revoked(int allocated)
{
    int flag;
    make(allocated);
    CHECK(MPIX_Win_is_revoked(win, &flag) == MPI_SUCCESS && !flag);
    if (rank == 0) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
    }
    MPI_Barrier(comm);
    if (rank == 0) {
        CHECK(MPIX_Win_revoke(win) == MPI_SUCCESS);
        int error = MPI_Win_unlock(0, win);
        CHECK(class_of(error) == MPIX_ERR_REVOKED);
        CHECK(says(error, "MPI_Win_unlock: the window was revoked"));
    } else {
        CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)) == MPIX_ERR_REVOKED);
    }
    CHECK(MPIX_Win_is_revoked(win, &flag) == MPI_SUCCESS && flag);
    int error = MPI_Win_fence(0, win);
    CHECK(class_of(error) == MPIX_ERR_REVOKED && !says(error, "communicator"));
    CHECK(says(error, "MPI_Win_fence: the window was revoked"));
    CHECK(class_of(MPI_Win_lock_all(0, win)) == MPIX_ERR_REVOKED);
    CHECK(class_of(MPI_Win_sync(win)) == MPIX_ERR_REVOKED);
    CHECK(class_of(put(0, 1)) == MPIX_ERR_REVOKED);
    MPI_Barrier(comm);
    scene_ends();
}

enum epoch { OWN_LOCK, LOCK, LOCK_ALL, START, POST, FENCE, EPOCHS };

/* Rank 0 opens an epoch, with operations that are not complete; the last rank posts for START. */
static void open_epoch(enum epoch epoch, MPI_Request *request)
{
    static int64_t value = 3;
    int other = size - 1, own = 0;
    MPI_Group all, one;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, rank == 0 ? &other : &own, &one);
    if (epoch == FENCE) {
        CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    } else if (epoch == START && rank == 0) {
        CHECK(MPI_Win_start(one, 0, win) == MPI_SUCCESS);
    } else if ((epoch == START && rank == other) || (epoch == POST && rank == 0)) {
        CHECK(MPI_Win_post(one, 0, win) == MPI_SUCCESS);
    } else if (epoch == LOCK_ALL && rank == 0) {
        CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    } else if ((epoch == LOCK || epoch == OWN_LOCK) && rank == 0) {
        other = epoch == LOCK ? other : 0;
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win) == MPI_SUCCESS);
    }
    if (rank == 0 && epoch != POST) {
        for (int i = 0; i < 20; i++) {
            CHECK(put(other, i) == MPI_SUCCESS);
        }
        if (epoch != START && epoch != FENCE) {
            CHECK(MPI_Rput(&value, 1, MPI_INT64_T, other, 0, 1, MPI_INT64_T, win, request) ==
                  MPI_SUCCESS);
        }
    }
    MPI_Group_free(&one);
    MPI_Group_free(&all);
}

/* The last rank comes late; the clock is that of all ranks of this host. */
static void free_by_all(void)
{
    if (rank == last) {
        usleep(5000);
    }
    double before = MPI_Wtime();
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    double after = MPI_Wtime();
    MPI_Bcast(&before, 1, MPI_DOUBLE, last, comm);
    CHECK(after >= before);
}

/* No call ends the epochs of a window that was revoked, by one in an epoch or by another. */
static void freed_in_epoch(int allocated)
{
    for (int i = 0; i < 2 * EPOCHS; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        int flag = 0;
        make(allocated);
        open_epoch((enum epoch)(i / 2), &request);
        MPI_Barrier(comm);
        if (rank == i % 2) {
            CHECK(MPIX_Win_revoke(win) == MPI_SUCCESS);
        }
        if (i / 2 == OWN_LOCK && rank == 2) {
            CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)) == MPIX_ERR_REVOKED);
        }
        while (!flag) {
            CHECK(MPIX_Win_is_revoked(win, &flag) == MPI_SUCCESS);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        free_by_all();
    }
    works(comm);
}

/* The memory of a failed process stays where it is. */
static void shared_memory(void)
{
    MPI_Comm node;
    MPI_Aint bytes;
    int unit, members, me;
    MPI_Win shared;
    _Atomic int64_t *own, *others;
    make(1);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &me);
    MPI_Comm_size(node, &members);
    MPI_Win_allocate_shared(BYTES, 8, MPI_INFO_NULL, node, &own, &shared);
    atomic_store(own, me + 100);
    MPI_Win_fence(0, shared);
    MPI_Barrier(comm);
    ends_here();
    MPI_Win_set_errhandler(shared, MPI_ERRORS_RETURN);
    for (int i = 0; i < members; i++) {
        CHECK(MPI_Win_shared_query(shared, i, &bytes, &unit, &others) == MPI_SUCCESS);
        CHECK(bytes == BYTES && unit == 8 && atomic_load(others) == i + 100);
        CHECK(others == (_Atomic int64_t *)((char *)own + (i - me) * BYTES));
    }
    CHECK(MPI_Win_free(&shared) == MPI_SUCCESS);
    MPI_Comm_free(&node);
    scene_ends();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    comm = MPI_COMM_WORLD;
    void (*const scenes[])(int) = {fence,          lock_is_freed, target_fails,
                                   post_and_start, revoked,       freed_in_epoch};
    int chosen = argc > 1 ? atoi(argv[1]) : -1;
    for (int i = 0; i < 6; i++) {
        for (int allocated = 0; allocated < 2; allocated++) {
            if (chosen < 0 || chosen == i) {
                scenes[i](allocated);
            }
        }
    }
    if (chosen < 0 || chosen == 6) {
        shared_memory();
    }
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        printf("windows: correct\n");
    }
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 100, &rank);
    MPI_Finalize();
    return 0;
}
