/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that are spawned. They are this program again, and play the rest of the operation with
 * those that have spawned them, from the same dice: `--child SEED,OPERATION,DICE`.
 */
#include "random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHILDREN_MOST = 3, STEPS_MOST = 4 };

/* The part that parents and children play; parents are the first ones of `both`. */
static void play_family(struct player *player, struct dice *dice, struct slot *both, int parents)
{
    static operation *const plays[] = {play_message, play_exchange,  play_bcast, play_gather,
                                       play_scatter, play_allgather, play_reduce};
    struct slot all = *both;
    bool parents_first = chance(dice, 50), parent = both->me < parents;
    int rank, size;
    play_between(player, dice, both, parents);
    MPI_Intercomm_merge(both->comm, parent != parents_first, &all.comm);
    if (!parents_first) {
        all.me = parent ? both->me + both->n - parents : both->me - parents;
    }
    MPI_Comm_rank(all.comm, &rank);
    MPI_Comm_size(all.comm, &size);
    if (rank != all.me || size != all.n) {
        wrong(player->op, "rank %d of %d of parents and children for %d of %d", rank, size, all.me,
              all.n);
    }
    /* Each of them once: then a tag with MPI_ANY_SOURCE is used once, too. */
    enum { PLAYS = sizeof(plays) / sizeof(*plays) };
    for (uint32_t i = below(dice, PLAYS), n = between(dice, 1, STEPS_MOST); n > 0; n--) {
        plays[(i + n) % PLAYS](player, dice, &all);
    }
    complete_all(player);
    MPI_Comm_disconnect(&all.comm);
    MPI_Comm_disconnect(&both->comm);
}

void play_spawn(struct player *player, struct dice *dice, struct slot *slot)
{
    int children = (int)between(dice, 1, CHILDREN_MOST), root = (int)below(dice, (uint32_t)slot->n);
    bool two = children > 1 && chance(dice, 30); /* commands */
    struct dice family = {roll(dice)};
    struct slot both = {
        .there = true, .n = slot->n + children, .me = slot->me, .comm = MPI_COMM_NULL};
    char seed[24], child[80],
        *commands[2] = {(char *)(uintptr_t)player->program, (char *)(uintptr_t)player->program};
    char *words[] = {"--seed", seed, "--child", child, NULL}, **each[2] = {words, words};
    int counts[2] = {1, children - 1}, errors[CHILDREN_MOST];
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    if (slot->me < 0) {
        return;
    }
    snprintf(seed, sizeof(seed), "%" PRIu64, player->named);
    snprintf(child, sizeof(child), "%" PRIu64 ",%d,%" PRIu64, player->seed, player->op,
             family.state);
    if (two) {
        MPI_Comm_spawn_multiple(2, commands, each, counts, infos, root, slot->comm, &both.comm,
                                errors);
    } else {
        MPI_Comm_spawn(player->program, words, children, MPI_INFO_NULL, root, slot->comm,
                       &both.comm, errors);
    }
    for (int i = 0; i < children; i++) {
        if (errors[i] != MPI_SUCCESS) {
            wrong(player->op, "process %d of %d was not spawned: %d", i, children, errors[i]);
        }
    }
    play_family(player, &family, &both, slot->n);
}

void play_child(struct player *player, const char *words)
{
    struct dice family;
    struct slot both = {.there = true};
    int rank, size;
    if (sscanf(words, "%" SCNu64 ",%d,%" SCNu64, &player->seed, &player->op, &family.state) != 3) {
        wrong(-1, "a child of %s", words);
    }
    MPI_Comm_get_parent(&both.comm);
    if (both.comm == MPI_COMM_NULL) {
        wrong(player->op, "a spawned process has no parents");
    }
    MPI_Comm_rank(both.comm, &rank);
    MPI_Comm_size(both.comm, &size);
    MPI_Comm_remote_size(both.comm, &both.n);
    both.me = both.n + rank;
    int parents = both.n;
    both.n += size;
    play_family(player, &family, &both, parents);
    free(player->pending);
}
