/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sends_pending N [BYTES]: N sends of BYTES to the right neighbour are pending, and it receives
 * none of them; all else that MPI has goes on: messages, collective operations, windows, files,
 * probes, cancellation. Then they are received, the last one first.
 */
#include "check.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { TAG_SMALL = 32000, SMALL = 8, BUFFERED = 100 };

static int rank, size, right, left, n, bytes;
static unsigned char *data, *got; /* message i is `bytes` of data from i on */
static MPI_Request *sends;
static MPI_Comm other; /* as MPI_COMM_WORLD */

static unsigned char pattern(int i)
{
    return (unsigned char)(i * 31 + i / 256);
}

static bool is_message(int i, int length)
{
    for (int k = 0; k < length; k++) {
        if (got[k] != pattern(i + k)) {
            return false;
        }
    }
    return true;
}

static void post(void)
{
    for (int i = 0; i < n; i++) {
        MPI_Isend(data + i, bytes, MPI_BYTE, right, i, MPI_COMM_WORLD, &sends[i]);
    }
}

static void receive(int i)
{
    MPI_Status status;
    memset(got, 0, (size_t)bytes);
    MPI_Recv(got, bytes, MPI_BYTE, left, i, MPI_COMM_WORLD, &status);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes);
    CHECK(is_message(i, bytes));
}

static void receive_all(void)
{
    for (int i = n - 1; i >= 0; i--) {
        receive(i);
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
}

static void nothing(void)
{
}

static void small_messages(void)
{
    for (int i = 0; i < SMALL; i++) {
        int from_left = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, right, TAG_SMALL, &from_left, 1, MPI_INT, left, TAG_SMALL,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(from_left == left);
    }
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void collectives(void)
{
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    int *to = malloc((size_t)size * sizeof(*to)), *from = malloc((size_t)size * sizeof(*from));
    for (int i = 0; i < size; i++) {
        to[i] = rank * size + i;
    }
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, other);
    for (int i = 0; i < size; i++) {
        CHECK(from[i] == i * size + rank);
    }
    free(to);
    free(from);
    memset(got, 0, (size_t)bytes);
    if (rank == 0) {
        memcpy(got, data, (size_t)bytes);
    }
    MPI_Bcast(got, bytes, MPI_BYTE, 0, other);
    CHECK(is_message(0, bytes));
}

static void communicators(void)
{
    MPI_Comm half, copy;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
}

static void windows(void)
{
    int *base, one = 1, seen = -1;
    MPI_Win window;
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, other, &base, &window);
    base[0] = base[1] = 0;
    MPI_Win_fence(0, window);
    MPI_Accumulate(&one, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    CHECK(base[0] == 1);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, window);
    MPI_Put(&rank, 1, MPI_INT, right, 1, 1, MPI_INT, window);
    MPI_Win_unlock(right, window);
    MPI_Barrier(other);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, window);
    MPI_Get(&seen, 1, MPI_INT, right, 1, 1, MPI_INT, window);
    MPI_Win_unlock(right, window);
    CHECK(seen == rank);
    MPI_Win_free(&window);
}

static void files(void)
{
    char name[] = "sends_pending.XXXXXX";
    if (rank == 0) {
        close(mkstemp(name));
    }
    MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, other);
    MPI_File file;
    int written =
        MPI_File_open(other, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                      MPI_INFO_NULL, &file);
    CHECK(written == MPI_SUCCESS);
    MPI_Offset at = (MPI_Offset)rank * bytes;
    CHECK(MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    memset(got, 0, (size_t)bytes);
    CHECK(MPI_File_read_at_all(file, at, got, bytes, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(is_message(0, bytes));
    MPI_File_close(&file);
}

static void buffered_sends(void)
{
    int each = bytes + MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)each * BUFFERED);
    MPI_Buffer_attach(buffer, each * BUFFERED);
    for (int i = 0; i < BUFFERED; i++) {
        MPI_Bsend(data + i, bytes, MPI_BYTE, right, i, other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = BUFFERED - 1; i >= 0; i--) {
        MPI_Recv(got, bytes, MPI_BYTE, left, i, other, MPI_STATUS_IGNORE);
        CHECK(is_message(i, bytes));
    }
    int length;
    MPI_Buffer_detach(&buffer, &length);
    free(buffer);
}

/* Between post and receive_all. */
static void (*const others[])(void) = {nothing,       small_messages, barrier, collectives,
                                       communicators, windows,        files,   buffered_sends};

static void last_is_probed(void)
{
    MPI_Status status;
    MPI_Message message;
    int count;
    post();
    MPI_Probe(left, n - 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == bytes);
    for (int i = n - 1; i >= 0; i -= 2) {
        MPI_Mprobe(left, i, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(got, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        CHECK(is_message(i, bytes));
    }
    for (int i = (n - 1) % 2 == 0 ? 1 : 0; i < n; i += 2) {
        receive(i);
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
}

static void persistent_and_synchronous(void)
{
    for (int i = 0; i < n; i++) {
        (i % 2 == 0 ? MPI_Send_init : MPI_Ssend_init)(data + i, bytes, MPI_BYTE, right, i,
                                                      MPI_COMM_WORLD, &sends[i]);
    }
    for (int round = 0; round < 2; round++) {
        MPI_Startall(n, sends);
        MPI_Barrier(MPI_COMM_WORLD);
        receive_all();
    }
    for (int i = 0; i < n; i++) {
        MPI_Request_free(&sends[i]);
    }
}

/* Every second byte of twice as many. */
static void not_contiguous(void)
{
    MPI_Datatype sparse;
    MPI_Type_vector(bytes / 2, 1, 2, MPI_BYTE, &sparse);
    MPI_Type_commit(&sparse);
    for (int i = 0; i < n; i++) {
        MPI_Isend(data + i, 1, sparse, right, i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = n - 1; i >= 0; i--) {
        MPI_Recv(got, bytes / 2, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < bytes / 2; k++) {
            CHECK(got[k] == pattern(i + 2 * k));
        }
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
    MPI_Type_free(&sparse);
}

/* Each third is too long for its receive, or of none. */
static void truncated(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    post();
    barrier();
    for (int i = n - 1; i >= 0; i--) {
        int room = i % 3 == 0 ? bytes / 2 : i % 3 == 1 ? 0 : bytes;
        int error = MPI_Recv(got, room, MPI_BYTE, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(class_of(error) == (room < bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        CHECK(is_message(i, room));
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Each second one is cancelled: it is received or cancelled, as its status says. */
static void cancelled(void)
{
    post();
    int *is = calloc((size_t)n, sizeof(*is)), *from_left = calloc((size_t)n, sizeof(*from_left));
    for (int i = n - 1; i >= 0; i -= 2) {
        MPI_Status status;
        MPI_Cancel(&sends[i]);
        MPI_Wait(&sends[i], &status);
        MPI_Test_cancelled(&status, &is[i]);
    }
    MPI_Sendrecv(is, n, MPI_INT, right, TAG_SMALL, from_left, n, MPI_INT, left, TAG_SMALL,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = n - 1; i >= 0; i--) {
        if (!from_left[i]) {
            receive(i);
        }
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
    free(is);
    free(from_left);
}

/* Rank 0 takes the messages of all as they come, in the order in which it has posted: the last
 * first. */
static void receives_are_posted(void)
{
    unsigned char *all = malloc((size_t)n * (size_t)bytes);
    MPI_Request *receives = malloc((size_t)n * sizeof(MPI_Request));
    post();
    barrier();
    for (int i = n - 1; i >= 0; i--) {
        MPI_Irecv(all + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, left, i, MPI_COMM_WORLD,
                  &receives[i]);
    }
    MPI_Waitall(n, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) {
        memcpy(got, all + (size_t)i * (size_t)bytes, (size_t)bytes);
        CHECK(is_message(i, bytes));
    }
    free(receives);
    free(all);
}

static void (*const wholes[])(void) = {last_is_probed, persistent_and_synchronous,
                                       not_contiguous, truncated,
                                       cancelled,      receives_are_posted};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    n = argc > 1 ? atoi(argv[1]) : 65;
    bytes = argc > 2 ? atoi(argv[2]) : 20000;
    right = (rank + 1) % size;
    left = (rank + size - 1) % size;
    int longest = n > BUFFERED ? n : BUFFERED;
    data = malloc((size_t)(bytes + longest));
    got = malloc((size_t)bytes);
    sends = malloc((size_t)n * sizeof(MPI_Request));
    for (int i = 0; i < bytes + longest; i++) {
        data[i] = pattern(i);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        post();
        others[i]();
        receive_all();
    }
    for (size_t i = 0; i < sizeof(wholes) / sizeof(wholes[0]); i++) {
        wholes[i]();
    }
    MPI_Comm_free(&other);
    free(sends);
    free(got);
    free(data);
    MPI_Finalize();
    return 0;
}
