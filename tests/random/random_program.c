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

/* ---- What is pending ---- */

struct pending *begin(struct player *player)
{
    if (player->n_pending == player->room) {
        player->room = player->room ? 2 * player->room : 64;
        player->pending = realloc(player->pending, (size_t)player->room * sizeof(struct pending));
    }
    struct pending *pending = &player->pending[player->n_pending++];
    *pending = (struct pending){.op = player->op, .request = MPI_REQUEST_NULL};
    return pending;
}

struct side *side_new(void)
{
    return calloc(1, sizeof(struct side));
}

static void over(struct pending *pending, const MPI_Status *status)
{
    char text[300];
    for (uint32_t i = 0; i < pending->n_words; i++) {
        if (pending->word[0][i] != pending->word[1][i]) {
            wrong(pending->op, "word %u of %u is %x for %x", i, pending->n_words,
                  pending->word[0][i], pending->word[1][i]);
        }
    }
    if (pending->over) {
        pending->over(pending, status);
    }
    for (int k = 0; k < 2; k++) {
        const char *what = pending->side[k] ? side_end(pending->side[k], text, sizeof(text)) : NULL;
        if (what) {
            wrong(pending->op, "buffer %d: %s", k, what);
        }
        free(pending->side[k]);
    }
    free(pending->more);
    free(pending->list);
}

/* Those that are complete, by numbers in the list, leave it. */
static void take_out(struct player *player, const bool *done, const MPI_Status *status)
{
    int left = 0;
    for (int i = 0; i < player->n_pending; i++) {
        struct pending *pending = &player->pending[i];
        if (!done[i]) {
            player->pending[left++] = *pending;
            continue;
        }
        if (pending->persistent) {
            MPI_Request_free(&pending->request);
        }
        over(pending, &status[i]);
    }
    player->n_pending = left;
}

/* Some of the pending ones, by one of the calls that complete requests. What was completed by its
 * own call has no request: its `over` was called there. */
static void complete(struct player *player, struct dice *dice, bool everything)
{
    int n = player->n_pending, chosen = 0;
    MPI_Request *requests = malloc((size_t)(n + 1) * sizeof(*requests));
    MPI_Status *found = malloc((size_t)(n + 1) * sizeof(*found)),
               *status = malloc((size_t)(n + 1) * sizeof(*status));
    int *which = malloc((size_t)(n + 1) * sizeof(int)),
        *indices = malloc((size_t)(n + 1) * sizeof(int));
    bool *done = calloc((size_t)(n + 1), sizeof(bool));
    for (int i = 0; i < n; i++) {
        if (everything || chance(dice, 60)) {
            which[chosen] = i;
            requests[chosen++] = player->pending[i].request;
        }
    }
    int way = everything ? 0 : (int)below(dice, 7), flag = 0, count = 0, one = 0;
    if (chosen == 0) {
        way = 0;
    }
    switch (way) {
    case 0:
        MPI_Waitall(chosen, requests, found);
        break;
    case 1:
        MPI_Waitany(chosen, requests, &one, found);
        count = 1, indices[0] = one;
        break;
    case 2:
        MPI_Waitsome(chosen, requests, &count, indices, found);
        break;
    case 3:
        while (!flag) {
            MPI_Testall(chosen, requests, &flag, found);
        }
        break;
    case 4:
        while (!flag) {
            MPI_Testany(chosen, requests, &one, &flag, found);
        }
        count = 1, indices[0] = one;
        break;
    case 5:
        while (count == 0) {
            MPI_Testsome(chosen, requests, &count, indices, found);
        }
        break;
    default:
        one = (int)below(dice, (uint32_t)chosen);
        MPI_Wait(&requests[one], found);
        count = 1, indices[0] = one;
        break;
    }
    bool all = way == 0 || way == 3;
    if (!all && (count == MPI_UNDEFINED || indices[0] == MPI_UNDEFINED)) {
        all = true; /* none of the chosen ones has a request */
        for (int i = 0; i < chosen; i++) {
            MPI_Wait(&requests[i], &found[i]);
        }
    }
    for (int i = 0; i < (all ? chosen : count); i++) {
        int k = all ? i : indices[i];
        done[which[k]] = true;
        status[which[k]] = found[i];
    }
    for (int k = 0; k < chosen; k++) {
        struct pending *pending = &player->pending[which[k]];
        if (pending->request == MPI_REQUEST_NULL) {
            done[which[k]] = true;
            pending->over = pending->more ? pending->over : NULL;
        }
        pending->request = requests[k];
    }
    take_out(player, done, status);
    free(requests), free(found), free(status), free(which), free(indices), free(done);
}

void complete_some(struct player *player, struct dice *dice)
{
    if (player->n_pending > 0 && !chance(dice, (uint32_t)player->lazy)) {
        complete(player, dice, false);
    }
}

void complete_all(struct player *player)
{
    complete(player, NULL, true);
}

/* ---- The program ---- */

static const struct {
    const char *name;
    operation *play;
    uint32_t weight;
} operations[] = {
    {"message", play_message, 40},
    {"burst", play_burst, 6},
    {"exchange", play_exchange, 8},
    {"ready", play_ready, 4},
    {"partitioned", play_partitioned, 5},
    {"persistent", play_persistent, 6},
    {"null", play_null, 8},
    {"shift", play_shift, 5},
    {"cancel", play_cancel, 3},
    {"cancel_again", play_cancel_again, 3},
    {"cancel_race", play_cancel_race, 3},
    {"barrier", play_barrier, 3},
    {"bcast", play_bcast, 6},
    {"gather", play_gather, 5},
    {"scatter", play_scatter, 5},
    {"allgather", play_allgather, 5},
    {"alltoall", play_alltoall, 4},
    {"alltoallw", play_alltoallw, 4},
    {"reduce", play_reduce, 8},
    {"scan", play_scan, 5},
    {"reduce_scatter", play_reduce_scatter, 4},
    {"neighbours", play_neighbours, 8},
    {"dup", play_dup, 3},
    {"split", play_split, 3},
    {"group", play_group, 3},
    {"grid", play_grid, 5},
    {"graph", play_graph, 4},
    {"merge", play_merge, 2},
    {"intercomm", play_intercomm, 5},
    {"spawn", play_spawn, 1},
    {"session", play_session, 2},
    {"free", play_free, 10},
    {"window", play_window, 3},
    {"locks", play_locks, 3},
    {"counter", play_counter, 2},
    {"file", play_file, 2},
    {"attribute", play_attribute, 2},
    {"error", play_error, 2},
    {"generalised", play_generalised, 2},
};
enum { OPERATIONS = sizeof(operations) / sizeof(*operations) };

static bool is_wanted(int op)
{
    const char *at = options.only;
    while (at && *at) {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (*end == '-') {
            last = strtol(end + 1, &end, 10);
        }
        if (first <= op && op <= last) {
            return true;
        }
        at = *end == ',' ? end + 1 : end;
        if (*end != ',') {
            break;
        }
    }
    return !options.only;
}

static bool is_left_out(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = options.without; at && *at;) {
        size_t word = strcspn(at, ",");
        if (word == length && strncmp(at, name, length) == 0) {
            return true;
        }
        at += word + (at[word] == ',');
    }
    return false;
}

static int draw_operation(struct dice *dice)
{
    uint32_t all = 0, at = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        all += operations[i].weight;
    }
    uint32_t drawn = below(dice, all);
    int i = 0;
    while (at + operations[i].weight <= drawn) {
        at += operations[i++].weight;
    }
    return i;
}

static void spoil(struct player *player)
{
    for (int i = 0; i < player->n_pending; i++) {
        struct side *side = player->pending[i].side[0];
        if (side && player->pending[i].op == player->op) {
            side->want[side->bytes - 1] ^= 1;
        }
    }
}

/* Each operation has dice of its own, so that others can be left out. */
static void play(struct player *player)
{
    struct dice program = {player->seed};
    player->lazy = (int)(below(&program, 5) * 25);
    for (int op = 0; op < options.operations; op++) {
        struct dice dice = {mix(player->seed, (uint64_t)op + 1000)};
        struct dice own = {
            mix(player->seed, (uint64_t)op * 4096 + (uint64_t)player->me + (1 << 30))};
        int kind = draw_operation(&dice);
        uint32_t slot = below(&dice, SLOTS);
        if (!player->slot[slot].there) {
            slot = 0;
        }
        if (!is_wanted(op) || is_left_out(operations[kind].name)) {
            continue;
        }
        player->op = op;
        if (options.list && player->me == 0) {
            printf("%d: %s in %u of %d\n", op, operations[kind].name, slot, player->slot[slot].n);
            fflush(stdout);
        }
        operations[kind].play(player, &dice, &player->slot[slot]);
        if (op == options.spoil && player->me == 0) {
            spoil(player);
        }
        complete_some(player, &own);
    }
    complete_all(player);
    for (int i = 1; i < SLOTS; i++) {
        if (player->slot[i].there) {
            play_free(player, NULL, &player->slot[i]);
        }
    }
    free(player->pending);
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
                            .program = options.program};
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
