/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several threads of each rank, each with a file and a communicator of its own: collective,
 * independent, shared and non-blocking accesses at once; and one file that all threads access
 * independently.
 */
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 12, INTS = 2000, BLOCK = 50 };

static int rank, size, pid;
static MPI_File common;

struct work {
    int number;
    MPI_Comm comm;
};

static MPI_File open_own(const struct work *work)
{
    MPI_File file;
    MPI_Info info;
    MPI_Datatype block, filetype;
    char name[96];
    snprintf(name, sizeof(name), "/tmp/rz-file-threads-%d-%d", pid, work->number);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "4096");
    CHECK(MPI_File_open(work->comm, name,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info,
                        &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Type_contiguous(BLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, BLOCK * size * (MPI_Aint)sizeof(int), &filetype);
    MPI_Type_commit(&filetype);
    CHECK(MPI_File_set_view(file, rank * BLOCK * (MPI_Offset)sizeof(int), MPI_INT, filetype,
                            "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&block);
    MPI_Type_free(&filetype);
    return file;
}

static void *work_on_files(void *arg)
{
    const struct work *work = arg;
    MPI_File file = open_own(work);
    MPI_Request requests[2];
    static int memory[THREADS][3][INTS];
    int *data = memory[work->number][0], *back = memory[work->number][1];
    int *other = memory[work->number][2];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < INTS; i++) {
            data[i] = round * 1000 + rank * 10 + work->number + i;
        }
        CHECK(MPI_File_iwrite_at_all(file, 0, data, INTS, MPI_INT, &requests[0]) == MPI_SUCCESS);
        MPI_Offset place = (MPI_Offset)(rank * THREADS + work->number) * INTS;
        CHECK(MPI_File_iwrite_at(common, place, data, INTS, MPI_INT, &requests[1]) == MPI_SUCCESS);
        CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at_all(file, 0, back, INTS, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(back, data, sizeof(memory[0][0])) == 0);
        CHECK(MPI_File_iread_at(common, place, other, INTS, MPI_INT, &requests[1]) == MPI_SUCCESS);
        CHECK(MPI_File_write_ordered(file, data, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(other, data, sizeof(memory[0][0])) == 0);
        CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    char name[96];
    struct work works[THREADS];
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "/tmp/rz-file-threads-%d-common", pid);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &common) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(common, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        works[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, work_on_files, &works[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&works[i].comm);
    }
    CHECK(MPI_File_close(&common) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
