/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is protected after a roll-back: the state of the entry to MPIX_Reinit, in survivors and in
 * restarted processes; the same for streams. Memory that the restart point had protected is freed
 * by then, and neither written nor read.
 */
#include "reinit.h"

#include <mpi-ext.h>
#include <rhizome/checkpoint.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum { BEFORE, REPLACED, INSIDE, TAKEN_OUT, STREAM, STREAM_INSIDE, BYTES = 1 << 20 };

static int passes;
static long before, of_main[2], taken_out; /* protected in main */
static long of_point[4];

static void unmap(MPIX_Reinit_state_t state, void *memory)
{
    (void)state;
    munmap(memory, BYTES);
}

/* Ends with the round: a later access is a crash. */
static char *protect_inside(void)
{
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK(RZ_Checkpoint_protect(INSIDE, memory, BYTES) == MPI_SUCCESS);
    CHECK(MPIX_Reinit_cleanup_push(unmap, memory) == MPI_SUCCESS);
    return memory;
}

static void rank_fails(int victim)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == victim) {
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!"a process that waits for the failed one goes back");
}

static void write_stream(int id, char content)
{
    FILE *stream;
    CHECK(RZ_Checkpoint_stream_open(id, "w", &stream) == MPI_SUCCESS);
    CHECK(fputc(content, stream) == content && fclose(stream) == 0);
}

/* content 0: it has none. */
static void check_stream(int id, char content)
{
    FILE *stream;
    int error = RZ_Checkpoint_stream_open(id, "r", &stream);
    CHECK(content ? error == MPI_SUCCESS : class_of(error) == MPI_ERR_ARG);
    if (content) {
        CHECK(fgetc(stream) == content && fclose(stream) == 0);
    }
}

/* Two generations, so that one is committed: either has the same. */
static void take_checkpoints(void)
{
    before = 17;
    of_point[3] = 18;
    memset(protect_inside(), 19, BYTES);
    write_stream(STREAM, 'p');
    write_stream(STREAM_INSIDE, 'p');
    CHECK(RZ_Checkpoint_protect(REPLACED, of_point, sizeof(of_point)) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(TAKEN_OUT, NULL, 0) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK(RZ_Checkpoint(NULL) == MPI_SUCCESS);
    }
    before = of_point[3] = -1;
}

static void refused(const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    uint64_t generation;
    int error = RZ_Restore(&generation);
    CHECK(class_of(error) == MPI_ERR_ARG);
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, words) != NULL);
}

static void restore(void)
{
    size_t bytes;
    uint64_t generation;
    refused("region 1 is 16 bytes");
    CHECK(RZ_Checkpoint_protect(REPLACED, of_point, sizeof(of_point)) == MPI_SUCCESS);
    refused("region 2 is 0 bytes");
    CHECK(RZ_Checkpoint_region_bytes(INSIDE, &bytes) == MPI_SUCCESS && bytes == BYTES);
    char *inside = protect_inside();
    refused("region 3 is 8 bytes");
    CHECK(RZ_Checkpoint_protect(TAKEN_OUT, NULL, 0) == MPI_SUCCESS);
    CHECK(RZ_Restore(&generation) == MPI_SUCCESS && generation > 0);
    check_stream(STREAM, 'p');
    check_stream(STREAM_INSIDE, 'p');
    CHECK(before == 17 && of_point[3] == 18 && inside[0] == 19 && inside[BYTES - 1] == 19);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    uint64_t generation;
    (void)argc, (void)argv, (void)state;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int failure = failures_so_far(++passes);
    check_stream(STREAM, 'm');
    check_stream(STREAM_INSIDE, 0);
    if (failure == 0) {
        protect_inside();
        write_stream(STREAM, 'p');
        write_stream(STREAM_INSIDE, 'p');
        rank_fails(1);
    }
    if (failure == 1) {
        CHECK(RZ_Restore(&generation) == MPI_SUCCESS && generation == 0);
        CHECK(RZ_Checkpoint(NULL) == MPI_SUCCESS); /* does not read what was unmapped */
        take_checkpoints();
        MPI_Barrier(MPI_COMM_WORLD);
        rank_fails(2);
    }
    restore();
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    CHECK(RZ_Checkpoint_protect(BEFORE, &before, sizeof(before)) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(REPLACED, of_main, sizeof(of_main)) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(TAKEN_OUT, &taken_out, sizeof(taken_out)) == MPI_SUCCESS);
    write_stream(STREAM, 'm');
    CHECK(MPIX_Reinit(argc, argv, point) == 0);
    MPI_Finalize();
    return 0;
}
