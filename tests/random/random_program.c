/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays programs at random: README.md.
 *
 *   random_program [--seed N] [--programs N] [--operations N] [--threads N] [--only A,B-C,...]
 *                  [--without NAME,...] [--folder PATH] [--list] [--spoil OPERATION]
 *
 * --without: these do nothing, where they are drawn.
 * --spoil: rank 0 expects something else there, to see that this is found.
 */
#include "random.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MOST = 8 };

static struct {
    uint64_t seed, programs, seed_now;
    int operations, threads, spoil;
    const char *only, *without, *folder, *program, *child;
    bool list;
} options = {.seed = 1, .programs = 1, .operations = 150, .threads = 1, .spoil = -1};

static int world_rank;
static pid_t first_process;

void wrong(int op, const char *format, ...)
{
    char text[600];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof(text), format, more);
    va_end(more);
    fprintf(stderr, "WRONG seed %llu operation %d rank %d: %s\n",
            (unsigned long long)options.seed_now, op, world_rank, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void *play_alone(void *arg)
{
    play(arg);
    return NULL;
}

static struct player new_player(MPI_Comm comm, uint64_t seed)
{
    struct player player = {.seed = seed,
                            .named = options.seed_now,
                            .folder = options.folder,
                            .program = options.program,
                            .only = options.only,
                            .without = options.without,
                            .operations = options.operations,
                            .spoil = options.spoil,
                            .list = options.list};
    MPI_Comm_size(comm, &player.n);
    MPI_Comm_rank(comm, &player.me);
    player.slot[0] = (struct slot){.there = true, .n = player.n, .me = player.me, .comm = comm};
    player.slot[0].member = malloc((size_t)player.n * sizeof(int));
    for (int i = 0; i < player.n; i++) {
        player.slot[0].member[i] = i;
    }
    return player;
}

static void play_program(uint64_t seed)
{
    struct player player[THREADS_MOST];
    pthread_t thread[THREADS_MOST];
    MPI_Comm comm[THREADS_MOST];
    options.seed_now = seed;
    for (int i = 0; i < options.threads; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        player[i] = new_player(comm[i], mix(seed, (uint64_t)i));
    }
    for (int i = 1; i < options.threads; i++) {
        if (pthread_create(&thread[i], NULL, play_alone, &player[i]) != 0) {
            wrong(-1, "no thread");
        }
    }
    play(&player[0]);
    for (int i = 0; i < options.threads; i++) {
        if (i > 0) {
            pthread_join(thread[i], NULL);
        }
        MPI_Comm_free(&comm[i]);
        free(player[i].slot[0].member);
    }
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *is = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--list") == 0) {
            options.list = true;
            continue;
        }
        if (strcmp(name, "--seed") == 0) {
            options.seed = strtoull(is, NULL, 10);
        } else if (strcmp(name, "--programs") == 0) {
            options.programs = strtoull(is, NULL, 10);
        } else if (strcmp(name, "--operations") == 0) {
            options.operations = atoi(is);
        } else if (strcmp(name, "--threads") == 0) {
            options.threads = atoi(is);
        } else if (strcmp(name, "--spoil") == 0) {
            options.spoil = atoi(is);
        } else if (strcmp(name, "--only") == 0) {
            options.only = is;
        } else if (strcmp(name, "--without") == 0) {
            options.without = is;
        } else if (strcmp(name, "--child") == 0) {
            options.child = is;
        } else if (strcmp(name, "--folder") == 0) {
            options.folder = is;
        } else {
            fprintf(stderr, "random_program: unknown option %s\n", name);
            exit(2);
        }
        i++;
    }
    if (options.threads < 1 || options.threads > THREADS_MOST || options.operations < 0) {
        fprintf(stderr, "random_program: 1 to %d threads, 0 operations or more\n", THREADS_MOST);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    int provided;
    first_process = getpid();
    options.program = argv[0];
    read_options(argc, argv);
    MPI_Init_thread(&argc, &argv, options.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    size_t buffer_bytes = ((size_t)BUFFER_BYTES + 4096) * (size_t)options.threads;
    void *buffer = malloc(buffer_bytes);
    int bytes;
    if (options.child) {
        struct player player = {0};
        options.seed_now = options.seed;
        MPI_Buffer_attach(buffer, (int)buffer_bytes);
        play_child(&player, options.child);
        MPI_Buffer_detach(&buffer, &bytes);
    }
    for (uint64_t i = 0; i < options.programs && !options.child; i++) {
        MPI_Buffer_attach(buffer, (int)buffer_bytes);
        play_program(options.seed + i);
        MPI_Buffer_detach(&buffer, &bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0 && !options.child) {
        printf("%llu programs from seed %llu are right\n", (unsigned long long)options.programs,
               (unsigned long long)options.seed);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
