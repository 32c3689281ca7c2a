/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long puts and gets: their data go as messages between nodes, from the buffer and into the window.
 * In each round each rank writes a row to each other one, and reads one from it, in the same epoch;
 * how long they are, from which layout, and how the epoch ends are drawn from (seed, round). What
 * the windows hold is known to all.
 *
 *     windows_rows SEED ROUNDS
 *     windows_rows fails    in each scene the last rank fails, or the window is revoked, while rows
 *                           move; needs 5 ranks or more, and --on-failure continue
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

enum { SLOT = 300 * 1000, STRIDE = 3, RANKS_MAX = 16 };
enum way { FENCE, POST, LOCKS, LOCK_ALL, REQUESTS, WAYS };

static MPI_Comm comm;
static int rank, size, last;
static uint64_t seed;
static unsigned char *memory;
static MPI_Win win;

static uint64_t mixed(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b * 0x94d049bb133111ebu +
                 c * 0xd6e8feb86659fd93u + d;
    for (int i = 0; i < 3; i++) {
        x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    }
    return x ^ x >> 29;
}

/* What rank `from` writes to rank `to` in a round, and how much. */
static unsigned char byte_of(int round, int from, int to, int i)
{
    return (unsigned char)(mixed((uint64_t)round, (uint64_t)(from * RANKS_MAX + to), 1,
                                 (uint64_t)i / 64) >>
                           (i % 8 * 8));
}

static int length_of(int round, int from, int to)
{
    uint64_t drawn = mixed((uint64_t)round, (uint64_t)(from * RANKS_MAX + to), 2, 0);
    return drawn % 4 == 0 ? (64 << 10) - 3 + (int)(drawn / 4 % 7) : 1 + (int)(drawn / 4 % SLOT);
}

static enum way way_of(int round)
{
    return (enum way)(mixed((uint64_t)round, 0, 3, 0) % WAYS);
}

/* ---- Rows ---- */

/* Bytes one behind the other, or with gaps. */
static int is_gapped(int round, int other)
{
    return mixed((uint64_t)round, (uint64_t)(rank * RANKS_MAX + other), 4, 0) % 4 == 0;
}

struct row {
    unsigned char *bytes;
    int length, step;
    MPI_Datatype type;
};

static void row_make(struct row *row, int length, int gapped)
{
    row->length = length;
    row->step = gapped ? STRIDE : 1;
    row->bytes = calloc((size_t)length, (size_t)row->step);
    CHECK(row->bytes != NULL);
    if (gapped) {
        MPI_Type_vector(length, 1, STRIDE, MPI_BYTE, &row->type);
        MPI_Type_commit(&row->type);
    }
}

static void row_end(struct row *row)
{
    if (row->step > 1) {
        MPI_Type_free(&row->type);
    }
    free(row->bytes);
}

static int row_count(const struct row *row)
{
    return row->step > 1 ? 1 : row->length;
}

static MPI_Datatype row_type(const struct row *row)
{
    return row->step > 1 ? row->type : MPI_BYTE;
}

/* ---- One round ---- */

static struct row out[RANKS_MAX], in[RANKS_MAX];

/* The windows have two halves: rows of even rounds, and of odd ones. */
static MPI_Aint place(int round, int from)
{
    return ((MPI_Aint)(round % 2) * RANKS_MAX + from) * SLOT;
}

static void exchange(int round, int other, MPI_Request *requests)
{
    struct row *put = &out[other], *get = &in[other];
    /* What the third rank wrote to the other one in the round before. */
    int writer = (other + 1) % size;
    int length = round > 0 ? length_of(round - 1, writer, other) : 0;
    row_make(put, length_of(round, rank, other), is_gapped(round, other));
    for (int i = 0; i < put->length; i++) {
        put->bytes[i * put->step] = byte_of(round, rank, other, i);
    }
    row_make(get, length > 0 ? length : 1, is_gapped(round, other + 1));
    MPI_Aint to = place(round, rank), from = place(round + 1, writer);
    if (requests) {
        MPI_Rput(put->bytes, row_count(put), row_type(put), other, to, put->length, MPI_BYTE, win,
                 &requests[0]);
        MPI_Rget(get->bytes, row_count(get), row_type(get), other, from, get->length, MPI_BYTE, win,
                 &requests[1]);
    } else {
        MPI_Put(put->bytes, row_count(put), row_type(put), other, to, put->length, MPI_BYTE, win);
        MPI_Get(get->bytes, row_count(get), row_type(get), other, from, get->length, MPI_BYTE, win);
    }
}

static void exchange_all(int round)
{
    for (int i = 0; i < size; i++) {
        exchange(round, (rank + i) % size, NULL);
    }
}

static void by_requests(int round)
{
    MPI_Request requests[2 * RANKS_MAX];
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < size; i++) {
        exchange(round, (rank + i) % size, &requests[2 * i]);
    }
    MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
}

static void by_locks(int round)
{
    for (int i = 0; i < size; i++) {
        int other = (rank + i) % size;
        MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, other, 0, win);
        exchange(round, other, NULL);
        MPI_Win_unlock(other, win);
    }
}

static void by_posts(int round)
{
    MPI_Group all;
    MPI_Win_get_group(win, &all);
    MPI_Win_post(all, 0, win);
    MPI_Win_start(all, 0, win);
    exchange_all(round);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&all);
}

static void by_lock_all(int round)
{
    MPI_Win_lock_all(0, win);
    exchange_all(round);
    if (round % 2) {
        MPI_Win_flush_local_all(win);
        for (int i = 0; i < size; i++) { /* the buffers are free again */
            memset(out[i].bytes, 0xee, (size_t)(out[i].length * out[i].step));
        }
    }
    MPI_Win_unlock_all(win);
}

static void by_fences(int round)
{
    MPI_Win_fence(0, win);
    exchange_all(round);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void look_at_row(const unsigned char *bytes, int step, int round, int from, int to)
{
    for (int i = 0; i < length_of(round, from, to); i++) {
        if (bytes[i * step] != byte_of(round, from, to, i)) {
            fprintf(stderr, "round %d (way %d), rank %d: byte %d of the row from %d to %d is %d\n",
                    round, way_of(round), rank, i, from, to, bytes[i * step]);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
}

static void one_round(int round)
{
    static void (*const ways[WAYS])(int) = {by_fences, by_posts, by_locks, by_lock_all,
                                            by_requests};
    ways[way_of(round)](round);
    for (int i = 0; i < size && round > 0; i++) {
        look_at_row(in[i].bytes, in[i].step, round - 1, (i + 1) % size, i);
    }
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < size; i++) {
        look_at_row(memory + place(round, i), 1, round, i, rank);
        row_end(&out[i]);
        row_end(&in[i]);
    }
    MPI_Win_unlock(rank, win);
    MPI_Barrier(comm);
}

static void make(int created)
{
    MPI_Aint bytes = (MPI_Aint)2 * RANKS_MAX * SLOT;
    if (created) {
        memory = malloc((size_t)bytes);
        CHECK(memory != NULL);
        CHECK(MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, comm, &memory, &win) == MPI_SUCCESS);
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void end(int created)
{
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    if (created) {
        free(memory);
    }
}

static void all_rounds(int rounds)
{
    for (int created = 0; created < 2; created++) {
        make(created);
        for (int round = 0; round < rounds; round++) {
            one_round(round);
        }
        end(created);
    }
}

/* ---- Failures ---- */

enum { LONG = 4 * 1000 * 1000, MANY = 6 };

/* A window of its own for each scene, and buffers that end with it. */
static void scene(void (*act)(char *buffer))
{
    MPI_Comm next;
    char *own = malloc(LONG), *buffer = malloc(LONG);
    CHECK(own && buffer);
    memset(own, 0, LONG);
    memset(buffer, rank, LONG);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    last = size - 1;
    CHECK(MPI_Win_create(own, LONG, 1, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(comm);
    act(buffer);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    memset(own, 0x55, LONG); /* nothing writes to it any more */
    free(buffer);
    CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
    for (int i = 0; i < LONG; i += 1000) {
        CHECK(own[i] == 0x55);
    }
    free(own);
    if (comm != MPI_COMM_WORLD) {
        MPI_Comm_free(&comm);
    }
    comm = next;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    works(comm);
}

static int ends_well_or(int class, int error)
{
    return error == MPI_SUCCESS || class_of(error) == class;
}

/* Begins rows, which may end with that class of errors. */
static void rows_with(int other, char *buffer, int class)
{
    CHECK(ends_well_or(class, MPI_Win_lock_all(0, win)));
    for (int i = 0; i < MANY; i++) {
        int each = LONG / MANY;
        char *part = buffer + i * each;
        int error = i % 2 ? MPI_Put(part, each, MPI_BYTE, other, i * each, each, MPI_BYTE, win)
                          : MPI_Get(part, each, MPI_BYTE, other, i * each, each, MPI_BYTE, win);
        CHECK(ends_well_or(class, error) || class_of(error) == MPI_ERR_RMA_SYNC);
    }
}

/* The last rank begins rows and fails. */
static void origin_fails(char *buffer)
{
    if (rank == last) {
        rows_with(0, buffer, MPIX_ERR_PROC_FAILED);
        raise(SIGKILL);
    }
}

/* All others have rows from it and to it on their way. */
static void target_fails(char *buffer)
{
    if (rank == last) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    rows_with(last, buffer, MPIX_ERR_PROC_FAILED);
    if (rank == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, last, 0, comm);
    }
    int error = MPI_SUCCESS;
    while (error == MPI_SUCCESS) {
        error = MPI_Win_flush(last, win);
        CHECK(ends_well_or(MPIX_ERR_PROC_FAILED, error));
        if (error == MPI_SUCCESS) {
            error = MPI_Put(buffer, LONG, MPI_BYTE, last, 0, LONG, MPI_BYTE, win);
            CHECK(ends_well_or(MPIX_ERR_PROC_FAILED, error));
        }
    }
    CHECK(ends_well_or(MPIX_ERR_PROC_FAILED, MPI_Win_unlock_all(win)));
}

/* One rank revokes the window while rows of all move. */
static void is_revoked(char *buffer)
{
    rows_with((rank + 1) % size, buffer, MPIX_ERR_REVOKED);
    if (rank == 0) {
        CHECK(MPIX_Win_revoke(win) == MPI_SUCCESS);
    }
    int error = MPI_Win_unlock_all(win);
    CHECK(ends_well_or(MPIX_ERR_REVOKED, error) || class_of(error) == MPI_ERR_RMA_SYNC);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (argc > 2) {
        seed = strtoull(argv[1], NULL, 10);
        all_rounds(atoi(argv[2]));
    } else {
        scene(origin_fails);
        scene(target_fails);
        scene(is_revoked);
        scene(origin_fails);
    }
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        printf("rows: correct\n");
    }
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, 100, &rank);
    MPI_Finalize();
    return 0;
}
