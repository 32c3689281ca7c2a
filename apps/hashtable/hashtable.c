/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash table over all processes: each of them counts keys in it, and no process waits for another
 * one. A slot is claimed by MPI_Compare_and_swap and its count is increased by MPI_Accumulate, all
 * within one MPI_Win_lock_all. When processes or nodes fail, all go back to the newest checkpoint:
 * RZ_Checkpoint has one state of the whole table, although the epoch stays open.
 *
 *     hashtable [KEYS [DIFFERENT]]        keys of each process (4000), of so many different ones
 *                                         (3000)
 */
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 100 }; /* keys between two checkpoints */

static long keys = 4000, different = 3000;

/* A slot is two words of the window: a key, 0 in an empty slot, and how often it was seen. */
struct table {
    MPI_Win win;
    uint64_t *words;
    uint64_t slots; /* of each process */
    int rank, size;
};

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The input: what a program would read from its part of a file. */
static uint64_t key_of(int rank, long n)
{
    return 1 + mix((uint64_t)rank * 1000003 + (uint64_t)n) % (uint64_t)different;
}

/* Collective. At most half of the slots will be in use. */
static void table_open(struct table *table)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &table->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &table->size);
    table->slots = 2 * (uint64_t)different / (uint64_t)table->size + 1;
    MPI_Win_allocate((MPI_Aint)(table->slots * 16), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &table->words,
                     &table->win);
}

/* Looks at one slot after the other, from where the key belongs, for the key or an empty slot. */
static void table_count(const struct table *table, uint64_t key)
{
    const uint64_t empty = 0, one = 1;
    uint64_t all = table->slots * (uint64_t)table->size, found;
    for (uint64_t slot = mix(key) % all;; slot = (slot + 1) % all) {
        int owner = (int)(slot / table->slots);
        MPI_Aint word = (MPI_Aint)(slot % table->slots) * 2;
        MPI_Compare_and_swap(&key, &empty, &found, MPI_UINT64_T, owner, word, table->win);
        MPI_Win_flush(owner, table->win);
        if (found == empty || found == key) {
            MPI_Accumulate(&one, 1, MPI_UINT64_T, owner, word + 1, 1, MPI_UINT64_T, MPI_SUM,
                           table->win);
            return;
        }
    }
}

/* Which slot a key has depends on which process was first; what is in the table does not. */
static void print_result(const struct table *table)
{
    uint64_t mine[3] = {0, 0, 0}, all[3];
    for (uint64_t slot = 0; slot < table->slots; slot++) {
        uint64_t key = table->words[2 * slot], count = table->words[2 * slot + 1];
        mine[0] += key != 0;
        mine[1] += count;
        mine[2] += key != 0 ? mix(mix(key) + count) : 0;
    }
    MPI_Reduce(mine, all, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (table->rank == 0) {
        printf("keys %llu\ndifferent %llu\ncontents %016llx\n", (unsigned long long)all[1],
               (unsigned long long)all[0], (unsigned long long)all[2]);
    }
}

/* The restart point: entered at the start, and again after each failure. */
static int run(int argc, char **argv, MPIX_Reinit_state_t state)
{
    static long counted; /* of the keys of this process */
    struct table table;
    uint64_t generation;
    (void)argc, (void)argv, (void)state;
    table_open(&table);
    RZ_Checkpoint_protect(0, &counted, sizeof(counted));
    RZ_Checkpoint_protect_win(1, table.win);
    RZ_Restore(&generation);
    if (generation == 0) { /* there is no checkpoint yet */
        counted = 0;
        memset(table.words, 0, table.slots * 16);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_lock_all(0, table.win);
    while (counted < keys) {
        if (counted % STEP == 0) {
            RZ_Progress_mark((uint64_t)(counted / STEP));
        }
        table_count(&table, key_of(table.rank, counted));
        counted++;
        if (counted % STEP == 0) {
            RZ_Checkpoint(NULL);
        }
    }
    MPI_Win_unlock_all(table.win);
    MPI_Barrier(MPI_COMM_WORLD);
    print_result(&table);
    MPI_Win_free(&table.win);
    return 0;
}

int main(int argc, char **argv)
{
    long *const values[2] = {&keys, &different};
    for (int i = 1; i < argc; i++) {
        char *end;
        long value = strtol(argv[i], &end, 10);
        if (i > 2 || *end != '\0' || value < 1 || value > 1000000000) {
            fprintf(stderr,
                    "hashtable: '%s' is no number from 1 to 1000000000, or one too many\n"
                    "usage: hashtable [KEYS [DIFFERENT]]\n",
                    argv[i]);
            return 2;
        }
        *values[i - 1] = value;
    }
    MPI_Init(&argc, &argv);
    MPIX_Reinit(argc, argv, run);
    MPI_Finalize();
    return 0;
}
