/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that access files together with the same threads of other ranks, while snapshots are
 * wanted again and again: the process must not stop within a part of an access, because that part
 * would be entered again.
 *
 *   rewind_file_ops FOLDER ROUNDS
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3, WORDS = 600, BLOCK = 100 };
static const char *folder;
static int rounds;

static int word_of(int rank, int thread, int round, int i)
{
    return ((rank * THREADS + thread) * 1000 + round) * WORDS + i;
}

static void access_file(MPI_Comm comm, int thread, int round)
{
    int rank, size, data[WORDS], back[WORDS];
    char name[600];
    MPI_File file;
    MPI_Datatype block, tile;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    snprintf(name, sizeof(name), "%s/of-thread-%d", folder, thread);
    for (int i = 0; i < WORDS; i++) {
        data[i] = word_of(rank, thread, round, i);
    }
    MPI_Type_contiguous(BLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(int) * BLOCK * size, &tile);
    MPI_Type_commit(&tile);
    int wrong = MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    wrong |= MPI_File_set_view(file, (MPI_Offset)sizeof(int) * BLOCK * rank, MPI_INT, tile,
                               "native", MPI_INFO_NULL);
    wrong |= MPI_File_iwrite_all(file, data, WORDS, MPI_INT, &request);
    wrong |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong |= MPI_File_sync(file);
    MPI_Barrier(comm);
    int other = (rank + 1) % size;
    wrong |= MPI_File_set_view(file, (MPI_Offset)sizeof(int) * BLOCK * other, MPI_INT, tile,
                               "native", MPI_INFO_NULL);
    wrong |= MPI_File_read_at_all(file, 0, back, WORDS, MPI_INT, MPI_STATUS_IGNORE);
    wrong |= MPI_File_close(&file);
    MPI_Type_free(&tile);
    MPI_Type_free(&block);
    for (int i = 0; i < WORDS; i++) {
        wrong |= back[i] != word_of(other, thread, round, i);
    }
    if (wrong) {
        fprintf(stderr, "thread %d of rank %d: round %d is wrong\n", thread, rank, round);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

struct part {
    MPI_Comm comm;
    int number;
};

static void *play(void *arg)
{
    struct part *part = arg;
    for (int round = 0; round < rounds; round++) {
        access_file(part->comm, part->number, round);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, rank;
    pthread_t thread[THREADS];
    struct part part[THREADS];
    if (argc != 3) {
        return 2;
    }
    folder = argv[1];
    rounds = atoi(argv[2]);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < THREADS; i++) {
        part[i].number = i;
        MPI_Comm_dup(MPI_COMM_WORLD, &part[i].comm);
    }
    for (int i = 1; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, play, &part[i]) != 0) {
            return 3;
        }
    }
    play(&part[0]);
    for (int i = 0; i < THREADS; i++) {
        if (i > 0) {
            pthread_join(thread[i], NULL);
        }
        MPI_Comm_free(&part[i].comm);
    }
    if (rank == 0) {
        printf("all right\n");
    }
    MPI_Finalize();
    return 0;
}
