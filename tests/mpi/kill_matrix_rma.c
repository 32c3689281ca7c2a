/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows: making them, epochs of each kind, freeing them. */
#include "kill_matrix.h"

static MPI_Win win = MPI_WIN_NULL;
static int *memory;

/* Memory of the library, or of the program. */
static int make(void)
{
    MPI_Aint bytes = (MPI_Aint)sizeof(int) * RANKS_MAX;
    int error = scene.how % 2
                    ? MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, scene.comm, &memory, &win)
                    : MPI_Win_create(in, bytes, sizeof(int), MPI_INFO_NULL, scene.comm, &win);
    if (error == MPI_SUCCESS) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    }
    return error;
}

static void setup(void)
{
    CHECK(make() == MPI_SUCCESS);
}

/* All that live free the window, whatever became of the epoch. */
static int end(int error)
{
    if (win != MPI_WIN_NULL) {
        CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    }
    return error;
}

static int first(int error, int other)
{
    return error != MPI_SUCCESS ? error : other;
}

static int put(int target)
{
    return MPI_Put(&scene.rank, 1, MPI_INT, target, scene.rank, 1, MPI_INT, win);
}

static int making(void)
{
    return end(make());
}

static int making_dynamic(void)
{
    return end(MPI_Win_create_dynamic(MPI_INFO_NULL, scene.comm, &win));
}

static int making_and_fence(void)
{
    int error = make();
    error = error != MPI_SUCCESS ? error : MPI_Win_fence(0, win);
    return end(error);
}

static int fences(void)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < 3 && error == MPI_SUCCESS; i++) {
        error = MPI_Win_fence(0, win);
        error = error != MPI_SUCCESS ? error : put((scene.rank + 1) % scene.size);
        error = error != MPI_SUCCESS ? error : MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    }
    return end(error);
}

static int posts(void)
{
    MPI_Group all;
    int error = MPI_Win_get_group(win, &all);
    for (int i = 0; i < 3 && error == MPI_SUCCESS; i++) {
        error = MPI_Win_post(all, 0, win);
        int started = MPI_Win_start(all, 0, win);
        if (started == MPI_SUCCESS) {
            error = first(error, put((scene.rank + 1) % scene.size));
            error = first(error, MPI_Win_complete(win));
        }
        error = first(first(error, started), MPI_Win_wait(win));
    }
    MPI_Group_free(&all);
    return end(error);
}

static int locks_of(int target)
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < 5 && error == MPI_SUCCESS; i++) {
        int type = i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
        error = MPI_Win_lock(type, target, 0, win);
        if (error == MPI_SUCCESS) {
            error = put(target);
            error = first(error, MPI_Win_unlock(target, win));
        }
    }
    return error;
}

static int lock_peer(void)
{
    return end(peer() == MPI_PROC_NULL ? MPI_SUCCESS : locks_of(peer()));
}

/* All want the lock of one rank. */
static int lock_0(void)
{
    return end(locks_of(0));
}

static int counters(void)
{
    int one = 1, before, error = MPI_Win_lock_all(0, win);
    for (int i = 0; i < 3 * scene.size && error == MPI_SUCCESS; i++) {
        int target = (scene.rank + i) % scene.size;
        error = MPI_Fetch_and_op(&one, &before, MPI_INT, target, 0, MPI_SUM, win);
        error = first(error, MPI_Win_flush(target, win));
    }
    return end(first(error, MPI_Win_unlock_all(win)));
}

static int requests(void)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int value, error = MPI_Win_lock_all(0, win), target = (scene.rank + 1) % scene.size;
    error = first(
        error, MPI_Rput(&scene.rank, 1, MPI_INT, target, scene.rank, 1, MPI_INT, win, &request[0]));
    error = first(error, MPI_Rget(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win, &request[1]));
    for (int i = 0; i < 2; i++) {
        error = first(error, ended(&request[i], MPI_STATUS_IGNORE));
    }
    end_all(request, 2);
    return end(first(error, MPI_Win_unlock_all(win)));
}

enum { ROW = 150 * 1000 };
static char *rows; /* one to be written, one to be read */

static void setup_rows(void)
{
    rows = calloc(2, ROW);
    CHECK(rows && MPI_Win_create(rows, 2 * ROW, 1, MPI_INFO_NULL, scene.comm, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

/* So long that between nodes their data go as messages. The memory ends with the window. */
static int long_rows(void)
{
    int error = MPI_Win_lock_all(0, win), target = (scene.rank + 1) % scene.size;
    char *buffer = calloc(2, ROW);
    CHECK(buffer != NULL);
    for (int i = 0; i < 3 && error == MPI_SUCCESS; i++) {
        error = MPI_Put(buffer, ROW, MPI_BYTE, target, 0, ROW, MPI_BYTE, win);
        error = first(error, MPI_Get(buffer + ROW, ROW, MPI_BYTE, target, ROW, ROW, MPI_BYTE, win));
        error = first(error, MPI_Win_flush(target, win));
    }
    error = end(first(error, MPI_Win_unlock_all(win)));
    free(buffer);
    free(rows);
    return error;
}

static int freeing(void)
{
    return end(MPI_SUCCESS);
}

const struct kill_row kill_rma_rows[] = {
    {"Win_create", making, NULL, ROW_FAILS},
    {"Win_create_dynamic", making_dynamic, NULL, ROW_FAILS},
    {"Win_create_fence", making_and_fence, NULL, ROW_FAILS},
    {"Win_fence", fences, setup, ROW_FAILS},
    {"Win_post", posts, setup, ROW_FAILS},
    {"Win_lock", lock_peer, setup, ROW_PEER},
    {"Win_lock_0", lock_0, setup, ROW_FAILS},
    {"Fetch_and_op", counters, setup, ROW_FAILS},
    {"Rput", requests, setup, ROW_FAILS},
    {"Put_long", long_rows, setup_rows, ROW_FAILS},
    {"Win_free", freeing, setup, 0},
    {NULL, NULL, NULL, 0},
};
