/* SPDX-License-Identifier: BSD-3-Clause */
/* A player draws operations, plays its part of each, and checks what it has completed. */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool is_wanted(const char *only, int op)
{
    const char *at = only;
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
    return !only;
}

static bool is_left_out(const char *without, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = without; at && *at;) {
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
void play(struct player *player)
{
    struct dice program = {player->seed};
    player->lazy = (int)(below(&program, 5) * 25);
    for (int op = 0; op < player->operations; op++) {
        struct dice dice = {mix(player->seed, (uint64_t)op + 1000)};
        struct dice own = {
            mix(player->seed, (uint64_t)op * 4096 + (uint64_t)player->me + (1 << 30))};
        int kind = draw_operation(&dice);
        uint32_t slot = below(&dice, SLOTS);
        if (!player->slot[slot].there) {
            slot = 0;
        }
        if (!is_wanted(player->only, op) || is_left_out(player->without, operations[kind].name)) {
            continue;
        }
        player->op = op;
        if (player->list && player->me == 0) {
            printf("%d: %s in %u of %d\n", op, operations[kind].name, slot, player->slot[slot].n);
            fflush(stdout);
        }
        operations[kind].play(player, &dice, &player->slot[slot]);
        if (op == player->spoil && player->me == 0) {
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
