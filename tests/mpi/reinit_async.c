/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Reinit_async: processes that compute and never call MPI roll back to their restart point,
 * with valid data: heap, streams, their own data under a mask.
 *
 * Arguments: WHAT DEATHS, the same in all: what the survivors do until they are rolled back. In
 * each round the next rank fails; the round after the last failure ends.
 *   compute   a loop of the program's own
 *   heap      malloc and free, with contents that are looked at
 *   print     snprintf and fprintf, which lock and allocate
 *   sort      qsort with a comparison of the program's own
 *   mask      two words that must agree, changed behind MPIX_Reinit_mask
 *   handler   in a signal handler of the program's own, which interrupts malloc
 *   mixed     one after the other
 */
#include "reinit.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static const char *what;
static int failures_wanted, passes, cleaned, in_mask;
static volatile uint64_t sink, left, right;
static FILE *nowhere;

static void compute_a_while(void)
{
    uint64_t x = sink + 88172645463325252u;
    for (int i = 0; i < 100000; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    sink = x;
}

enum { BLOCKS = 64 };
static unsigned char *blocks[BLOCKS];
static size_t sizes[BLOCKS];

/* A roll-back between two lines may lose a block, but spoil none. */
static void heap_a_while(void)
{
    static unsigned seed = 1;
    for (int i = 0; i < 1000; i++) {
        unsigned k = (seed = seed * 1103515245 + 12345) / 65536 % BLOCKS;
        unsigned char *block = blocks[k];
        blocks[k] = NULL;
        if (block) {
            for (size_t b = 0; b < sizes[k]; b += 97) {
                CHECK(block[b] == (unsigned char)k);
            }
            free(block);
        }
        size_t size = 1 + seed / 7 % 3000;
        block = malloc(size);
        memset(block, (int)k, size);
        sizes[k] = size;
        blocks[k] = block;
    }
}

static void print_a_while(void)
{
    char text[200];
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof(text), "%d %f %s", i, (double)sink, what);
        fprintf(nowhere, "%s %.17g\n", text, i / 3.0);
    }
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void sort_a_while(void)
{
    static uint32_t values[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        values[i] = i * 2654435761u;
    }
    qsort(values, 1000, sizeof(values[0]), by_value);
}

static void change_both(void)
{
    MPIX_Reinit_mask();
    MPIX_Reinit_mask(); /* they count */
    in_mask = 1;
    left++;
    for (int i = 0; i < 20000; i++) {
        sink = sink * 3 + 1;
    }
    MPIX_Reinit_unmask();
    right++;
    in_mask = 0;
    MPIX_Reinit_unmask();
}

/* Runs wherever the program was, in malloc above all, and stays long: nothing may jump out of it.
 */
static void on_alarm(int number)
{
    (void)number;
    for (int i = 0; i < 100000; i++) {
        sink = sink * 3 + 1;
    }
}

static void go_on(int which)
{
    static void (*const kinds[])(void) = {compute_a_while, heap_a_while, print_a_while,
                                          sort_a_while, change_both};
    static const char *const names[] = {"compute", "heap", "print", "sort", "mask"};
    for (int i = 0; i < 5; i++) {
        if (strcmp(what, names[i]) == 0 || (strcmp(what, "mixed") == 0 && which % 5 == i)) {
            kinds[i]();
        }
    }
    if (strcmp(what, "handler") == 0) {
        heap_a_while();
    }
}

static void clean(MPIX_Reinit_state_t state, void *arg)
{
    (void)state;
    CHECK(*(int *)arg == passes);
    /* The heap can be used here, and the streams. */
    free(malloc(1000));
    fprintf(nowhere, "going back\n");
    cleaned++;
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    int rank, size, mine = ++passes;
    (void)argc;
    (void)argv;
    (void)state;
    CHECK(cleaned == passes - 1);
    CHECK(left == right && in_mask == 0);
    MPIX_Reinit_cleanup_push(clean, &mine);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int failure = failures_so_far(passes);
    if (failure == failures_wanted) {
        MPIX_Reinit_cleanup_pop(0);
        return 7;
    }
    if (rank == failure % size) {
        for (int i = 0; i < failure % 5; i++) {
            compute_a_while();
        }
        raise(SIGKILL);
    }
    for (int i = 0;; i++) {
        go_on(i);
    }
}

int main(int argc, char **argv)
{
    SO(argc == 3);
    what = argv[1];
    failures_wanted = atoi(argv[2]);
    nowhere = fopen("/dev/null", "w");
    SO(nowhere != NULL);
    MPI_Init(&argc, &argv);
    if (strcmp(what, "handler") == 0) {
        struct itimerval every = {{0, 500}, {0, 500}};
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &every, NULL);
    }
    int result = MPIX_Reinit_async(argc, argv, point);
    CHECK(result == 7);
    MPI_Finalize();
    return 0;
}
