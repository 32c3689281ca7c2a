/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More than the runtime keeps of something, and then all else goes on: short messages beyond each
 * ring, to more processes than have grown rings; one-sided operations beyond those that may be on
 * their way; published names; communicators beyond cells and cached decisions.
 */
#include "check.h"
#include "mpi-ext.h"

#include <string.h>

enum {
    MESSAGES = 400,
    BYTES = 3000,
    PARTS = 24,
    PART_BYTES = 128 * 1024,
    NAMES_MAX = 4096,
    COMMS = 80,
    TAG = 3
};

static int rank, size;

static void all_goes_on(void)
{
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void short_messages(void)
{
    static char out[BYTES], in[BYTES];
    MPI_Request *sends = malloc((size_t)size * MESSAGES * sizeof(MPI_Request));
    int n = 0;
    for (int i = 0; i < MESSAGES; i++) {
        for (int to = 0; to < size; to++) {
            MPI_Isend(out, i % 2 ? BYTES : 8, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &sends[n++]);
        }
    }
    all_goes_on();
    for (int from = size - 1; from >= 0; from--) {
        for (int i = 0; i < MESSAGES; i++) {
            MPI_Status status;
            int count;
            MPI_Recv(in, BYTES, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK(count == (i % 2 ? BYTES : 8));
        }
    }
    MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
    free(sends);
}

/* The targets are not in a call of the window: they wait for a message that comes last. */
static void one_sided(void)
{
    char *base, *data = calloc(1, PART_BYTES);
    MPI_Win window;
    MPI_Win_allocate(PART_BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_lock_all(0, window);
    if (rank == 0) {
        memset(data, 7, PART_BYTES);
        for (int i = 0; i < PARTS; i++) {
            for (int to = 0; to < size; to++) {
                MPI_Put(data, PART_BYTES, MPI_BYTE, to, 0, PART_BYTES, MPI_BYTE, window);
            }
        }
        MPI_Win_flush_all(window);
    }
    MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    CHECK(base[0] == 7 && base[PART_BYTES - 1] == 7);
    MPI_Win_free(&window);
    free(data);
}

static void names(void)
{
    char name[32], port[MPI_MAX_PORT_NAME];
    int published = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        int error = MPI_SUCCESS;
        while (published <= NAMES_MAX && error == MPI_SUCCESS) {
            snprintf(name, sizeof(name), "name %d", published);
            error = MPI_Publish_name(name, MPI_INFO_NULL, port);
            published += error == MPI_SUCCESS;
        }
        CHECK(class_of(error) == MPI_ERR_SERVICE && published == NAMES_MAX);
    }
    all_goes_on();
    if (rank == 0) {
        for (int i = 0; i < published; i++) {
            snprintf(name, sizeof(name), "name %d", i);
            CHECK(MPI_Unpublish_name(name, MPI_INFO_NULL, port) == MPI_SUCCESS);
        }
        CHECK(MPI_Publish_name("again", MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Unpublish_name("again", MPI_INFO_NULL, port) == MPI_SUCCESS);
        MPI_Close_port(port);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void communicators(void)
{
    MPI_Comm comms[COMMS];
    for (int i = 0; i < COMMS; i++) {
        int flag = 1, sum = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        CHECK(MPIX_Comm_agree(comms[i], &flag) == MPI_SUCCESS && flag == 1);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        CHECK(sum == size * (size - 1) / 2);
    }
    for (int i = 0; i < COMMS; i++) {
        int flag = i;
        CHECK(MPIX_Comm_agree(comms[COMMS - 1 - i], &flag) == MPI_SUCCESS && flag == i);
        MPI_Comm_free(&comms[COMMS - 1 - i]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static void (*const parts[])(void) = {short_messages, one_sided, names, communicators};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        parts[i]();
        all_goes_on();
    }
    MPI_Finalize();
    return 0;
}
