/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call of rhizome/checkpoint.h, made wrongly: a class, a message that names the error, and
 * nothing lost: the right call afterwards does what it should. Runs alone, without fault tolerance,
 * and in jobs; where checkpoints are kept and a process can fail (second argument "fails"), also
 * what a restore refuses.
 */
#include "check.h"

#include <mpi-ext.h>
#include <pthread.h>
#include <rhizome/checkpoint.h>
#include <signal.h>
#include <string.h>

enum { N = 1000 };

static int fails, rounds_done; /* the third one is the last */
static double x[N], y[2 * N];

static void refused(int error, int wanted, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    SO(MPI_Error_string(error, text, &length) == MPI_SUCCESS);
    if (class_of(error) != wanted || !strstr(text, words)) {
        fprintf(stderr, "not so: \"%s\" says \"%s\"\n", text, words);
        abort();
    }
}

static FILE *opened(int id, const char *mode)
{
    FILE *stream = NULL;
    CHECK(RZ_Checkpoint_stream_open(id, mode, &stream) == MPI_SUCCESS);
    CHECK(stream != NULL);
    return stream;
}

static void wrong_arguments(void)
{
    static const int ids[] = {-1, RZ_CHECKPOINT_REGIONS_MAX};
    size_t bytes = 77;
    FILE *stream = (FILE *)&bytes;
    for (int i = 0; i < 2; i++) {
        refused(RZ_Checkpoint_protect(ids[i], x, 8), MPI_ERR_ARG, "is not from 0 to");
        refused(RZ_Checkpoint_region_bytes(ids[i], &bytes), MPI_ERR_ARG, "is not from 0 to");
        refused(RZ_Checkpoint_stream_open(ids[i], "w", &stream), MPI_ERR_ARG, "is not from 0 to");
    }
    refused(RZ_Checkpoint_protect(1, NULL, 8), MPI_ERR_ARG, "NULL");
    refused(RZ_Checkpoint_protect(1, x, SIZE_MAX), MPI_ERR_ARG, "more than memory can have");
    refused(RZ_Checkpoint_protect(1, x, (size_t)-8), MPI_ERR_ARG, "more than memory can have");
    refused(RZ_Checkpoint_region_bytes(1, NULL), MPI_ERR_ARG, "bytes");
    refused(RZ_Checkpoint_stream_open(1, NULL, &stream), MPI_ERR_ARG, "mode");
    refused(RZ_Checkpoint_stream_open(1, "w", NULL), MPI_ERR_ARG, "stream");
    refused(RZ_Checkpoint_stream_open(1, "a", &stream), MPI_ERR_ARG, "\"a\"");
    refused(RZ_Checkpoint_stream_open(1, "", &stream), MPI_ERR_ARG, "must be");
    refused(RZ_Checkpoint_stream_open(1, "r", &stream), MPI_ERR_ARG, "no content");
    refused(RZ_Restore(NULL), MPI_ERR_ARG, "generation");
    CHECK(stream == (FILE *)&bytes && bytes == 77);
}

static void streams_and_memory(void)
{
    FILE *stream = opened(9, "w"), *second = NULL;
    uint64_t generation = 77;
    refused(RZ_Checkpoint_stream_open(9, "w", &second), MPI_ERR_ARG, "being written");
    refused(RZ_Checkpoint_protect(9, x, 8), MPI_ERR_ARG, "being written");
    refused(RZ_Checkpoint(&generation), MPI_ERR_OTHER, "region 9 is being written");
    CHECK(generation == 0);
    refused(RZ_Restore(&generation), MPI_ERR_OTHER, "region 9 is being written");
    CHECK(fprintf(stream, "text") == 4);
    CHECK(fclose(stream) == 0);
    CHECK(RZ_Checkpoint_protect(9, x, 8) == MPI_SUCCESS);
    refused(RZ_Checkpoint_stream_open(9, "w", &second), MPI_ERR_ARG, "protected memory");
    refused(RZ_Checkpoint_stream_open(9, "r", &second), MPI_ERR_ARG, "protected memory");
    CHECK(RZ_Checkpoint_protect(9, NULL, 0) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(RZ_CHECKPOINT_REGIONS_MAX - 1, x, 8) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(RZ_CHECKPOINT_REGIONS_MAX - 1, NULL, 0) == MPI_SUCCESS);
}

/* Where contents are kept: a stream reads what the last one wrote, whatever follows. */
static void contents(void)
{
    char text[16] = "";
    FILE *stream = opened(9, "w");
    CHECK(fwrite("0123456789", 1, 10, stream) == 10);
    CHECK(fseek(stream, 2, SEEK_SET) == 0 && fputs("ab", stream) >= 0);
    CHECK(fseek(stream, 3, SEEK_END) == 0 && fputc('z', stream) == 'z');
    CHECK(fseek(stream, -20, SEEK_SET) != 0);
    CHECK(fclose(stream) == 0);
    stream = opened(9, "r");
    CHECK(fgetc(stream) == '0');
    FILE *newer = opened(9, "w");
    CHECK(fclose(newer) == 0);
    CHECK(fread(text, 1, sizeof(text), stream) == 13 && memcmp(text, "1ab456789\0\0\0z", 13) == 0);
    CHECK(fputc('x', stream) == EOF);
    fclose(stream);
    stream = opened(9, "r"); /* an empty content is one */
    CHECK(fgetc(stream) == EOF && !ferror(stream));
    CHECK(fclose(stream) == 0);
    CHECK(RZ_Checkpoint_protect(9, NULL, 0) == MPI_SUCCESS);
    refused(RZ_Checkpoint_stream_open(9, "r", &stream), MPI_ERR_ARG, "no content");
}

static void fail_at(int step, uint64_t generation)
{
    int rank, incarnation;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    RZ_Incarnation(&incarnation);
    if (fails && rank == 1 && incarnation == step && generation == (uint64_t)(step - 1)) {
        raise(SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A mismatch is reported, and can be corrected. */
static void restore_wrongly(void)
{
    uint64_t generation;
    size_t bytes;
    FILE *stream;
    CHECK(RZ_Checkpoint_region_bytes(2, &bytes) == MPI_SUCCESS && bytes == sizeof(x));
    CHECK(RZ_Checkpoint_region_bytes(5, &bytes) == MPI_SUCCESS && bytes == 6);
    CHECK(RZ_Checkpoint_region_bytes(8, &bytes) == MPI_SUCCESS && bytes == 0);
    CHECK(RZ_Checkpoint_protect(2, y, sizeof(y)) == MPI_SUCCESS);
    memset(y, 0, sizeof(y));
    refused(RZ_Restore(&generation), MPI_ERR_ARG, "region 2 is 16000 bytes");
    CHECK(RZ_Checkpoint_protect(2, NULL, 0) == MPI_SUCCESS);
    refused(RZ_Restore(&generation), MPI_ERR_ARG, "region 2 is 0 bytes");
    CHECK(RZ_Checkpoint_protect(2, y, sizeof(x)) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(3, x, 8) == MPI_SUCCESS);
    refused(RZ_Restore(&generation), MPI_ERR_ARG, "region 3 is 8 bytes");
    CHECK(RZ_Checkpoint_protect(3, NULL, 0) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(5, x, 6) == MPI_SUCCESS);
    refused(RZ_Restore(&generation), MPI_ERR_ARG, "6 bytes of a stream");
    CHECK(RZ_Checkpoint_protect(5, NULL, 0) == MPI_SUCCESS);
    refused(RZ_Checkpoint_stream_open(5, "r", &stream), MPI_ERR_ARG, "no content");
    CHECK(y[7] == 0 && generation == 0);
    CHECK(RZ_Restore(&generation) == MPI_SUCCESS && (generation == 1 || generation == 2));
    CHECK(y[7] == 7.5 && y[N] == 0);
    uint64_t again = 77;
    refused(RZ_Restore(&again), MPI_ERR_OTHER, "restored already");
    CHECK(again == 0);
    CHECK(RZ_Checkpoint_region_bytes(2, &bytes) == MPI_SUCCESS && bytes == sizeof(x));
    char text[8] = "";
    stream = opened(5, "r");
    CHECK(fread(text, 1, sizeof(text), stream) == 6 && memcmp(text, "six by", 6) == 0);
    CHECK(fclose(stream) == 0);
}

/* A program that continues without restoring overwrites the checkpoint. */
static void restore_too_late(void)
{
    uint64_t generation = 77;
    size_t bytes = 77;
    CHECK(RZ_Checkpoint_region_bytes(2, &bytes) == MPI_SUCCESS && bytes == sizeof(x));
    CHECK(RZ_Checkpoint_protect(2, x, sizeof(x)) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        x[7] = 100 + i;
        CHECK(RZ_Checkpoint(&generation) == MPI_SUCCESS);
        refused(RZ_Restore(&generation), MPI_ERR_OTHER, "a checkpoint was taken since");
        CHECK(generation == 0 && x[7] == 100 + i);
    }
    CHECK(RZ_Checkpoint_region_bytes(2, &bytes) == MPI_SUCCESS && bytes == sizeof(x));
}

/* Streams that were open at a roll-back. */
static FILE *left_open[2];

static void close_what_was_left_open(void)
{
    for (int i = 0; i < 2; i++) {
        if (left_open[i]) {
            CHECK(i == 0 ? fputc('x', left_open[i]) == 'x' && fflush(left_open[i]) == EOF
                         : fgetc(left_open[i]) == EOF && ferror(left_open[i]));
            fclose(left_open[i]);
            left_open[i] = NULL;
        }
    }
}

/* The first round: a generation or two; the second, after a failure: it is restored; the third: too
 * late. */
static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    uint64_t generation = 0;
    size_t bytes;
    (void)argc, (void)argv, (void)state;
    CHECK(RZ_Checkpoint_protect(2, x, sizeof(x)) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_region_bytes(2, &bytes) == MPI_SUCCESS);
    if (bytes > 0) {
        int third;
        RZ_Incarnation(&third);
        MPI_Bcast(&third, 1, MPI_INT, 1, MPI_COMM_WORLD); /* of the process that fails each time */
        close_what_was_left_open();
        if (third == 3) {
            restore_too_late();
            rounds_done = third;
            return 0;
        }
        restore_wrongly();
        fail_at(2, 1);
        return 0;
    }
    CHECK(RZ_Restore(&generation) == MPI_SUCCESS && generation == 0);
    CHECK(RZ_Restore(&generation) == MPI_SUCCESS && generation == 0);
    contents();
    x[7] = 7.5;
    FILE *stream = opened(5, "w");
    CHECK(fputs("six by", stream) >= 0);
    FILE *spoiler = opened(6, "w");
    refused(RZ_Checkpoint(&generation), MPI_ERR_OTHER, "being written");
    CHECK(fclose(stream) == 0 && fclose(spoiler) == 0);
    CHECK(RZ_Checkpoint_protect(6, NULL, 0) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint(&generation) == MPI_SUCCESS && generation == 1);
    CHECK(RZ_Checkpoint(&generation) == MPI_SUCCESS &&
          generation == 2); /* the first is committed */
    x[7] = -1;
    left_open[1] = opened(5, "r");
    CHECK(fputs("six times two", left_open[0] = opened(5, "w")) >= 0);
    refused(RZ_Checkpoint(NULL), MPI_ERR_OTHER, "being written"); /* what there is stays */
    fail_at(1, 0);
    if (!fails) {
        CHECK(fclose(left_open[0]) == 0 && fclose(left_open[1]) == 0);
    }
    return 0;
}

/* ---- several threads ---- */

static void *takes_many(void *refusals)
{
    for (int i = 0; i < 200; i++) {
        int error = RZ_Checkpoint(NULL);
        if (error != MPI_SUCCESS) {
            refused(error, MPI_ERR_OTHER, "another thread");
            ++*(int *)refusals;
        }
    }
    return NULL;
}

static void *writes_many(void *id)
{
    for (int i = 0; i < 100; i++) {
        FILE *stream = NULL;
        SO(RZ_Checkpoint_stream_open(*(int *)id, "w", &stream) == MPI_SUCCESS);
        SO(fprintf(stream, "%d", i) > 0 && fclose(stream) == 0);
    }
    return NULL;
}

/* Of one process: several would have to call equally often. */
static void in_threads(void)
{
    static int ids[] = {20, 21}, refusals[2];
    pthread_t threads[4];
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        SO(pthread_create(&threads[i], NULL, writes_many, &ids[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < 2; i++) {
        SO(pthread_create(&threads[2 + i], NULL, takes_many, &refusals[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[2 + i], NULL);
    }
}

static void out_of_phase(const char *words)
{
    uint64_t generation;
    size_t bytes;
    FILE *stream;
    refused(RZ_Checkpoint_protect(1, x, 8), MPI_ERR_OTHER, words);
    refused(RZ_Checkpoint_region_bytes(1, &bytes), MPI_ERR_OTHER, words);
    refused(RZ_Checkpoint_stream_open(1, "w", &stream), MPI_ERR_OTHER, words);
    refused(RZ_Checkpoint(NULL), MPI_ERR_OTHER, words);
    refused(RZ_Restore(&generation), MPI_ERR_OTHER, words);
}

int main(int argc, char **argv)
{
    int provided, kept = argc > 1 && strcmp(argv[1], "kept") == 0;
    int alone = argc > 1 && strcmp(argv[1], "alone") == 0; /* errors before MPI_Init are fatal */
    fails = argc > 2 && strcmp(argv[2], "fails") == 0;
    if (!alone) {
        out_of_phase("before MPI_Init");
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (kept) {
        CHECK(MPIX_Reinit(argc, argv, point) == 0);
        CHECK(rounds_done == (fails ? 3 : 0));
    } else {
        wrong_arguments();
        streams_and_memory();
        in_threads();
    }
    FILE *survivor = opened(30, "w");
    MPI_Finalize();
    if (!alone) {
        out_of_phase("after MPI_Finalize");
    }
    SO(fputs("a stream may outlive MPI", survivor) >= 0);
    fclose(survivor);
    puts("errors: correct");
    return 0;
}
