/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that knows nothing of failures and changes its memory in all patterns: every page,
 * each second one, pages here and there; mappings that come, go, grow, move, are read only or
 * emptied. Each page holds what the program's own list says of it.
 *
 *   rewind_pages STEPS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { REGIONS = 4, PAGES_MAX = 6000, PAGE = 4096, WORDS = PAGE / 8 };

static struct region {
    uint64_t *at;
    size_t pages;
    uint64_t stamp[PAGES_MAX]; /* of each page; 0: it was never written */
} regions[REGIONS];
static uint64_t state, wrong;
static int rank, size;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void write_page(struct region *region, size_t page, uint64_t stamp)
{
    uint64_t *at = region->at + page * WORDS;
    region->stamp[page] = stamp;
    at[0] = at[stamp % WORDS] = at[WORDS - 1] = stamp;
}

static void check(const struct region *region)
{
    for (size_t page = 0; page < region->pages; page++) {
        const uint64_t *at = region->at + page * WORDS, stamp = region->stamp[page];
        wrong += at[0] != stamp || at[stamp % WORDS] != stamp || at[WORDS - 1] != stamp;
    }
}

static void fail_unless(int good, const char *what)
{
    if (!good) {
        perror(what);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void renew(struct region *region)
{
    if (region->at) {
        munmap(region->at, region->pages * PAGE);
    }
    region->pages = 1 + draw() % PAGES_MAX;
    region->at = mmap(NULL, region->pages * PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fail_unless(region->at != MAP_FAILED, "mmap");
    memset(region->stamp, 0, sizeof(region->stamp));
}

static void resize(struct region *region)
{
    size_t pages = 1 + draw() % PAGES_MAX;
    region->at = mremap(region->at, region->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
    fail_unless(region->at != MAP_FAILED, "mremap");
    for (size_t page = pages; page < region->pages; page++) {
        region->stamp[page] = 0;
    }
    region->pages = pages;
}

static void empty(struct region *region)
{
    size_t first = draw() % region->pages, n = 1 + draw() % (region->pages - first);
    fail_unless(madvise(region->at + first * WORDS, n * PAGE, MADV_DONTNEED) == 0, "madvise");
    memset(region->stamp + first, 0, n * sizeof(*region->stamp));
}

/* Some hundred pages, so that the kernel lists about as many runs. */
static void change(struct region *region)
{
    size_t stride = 1 + draw() % 4, n = 1 + draw() % 1600, page = draw() % region->pages;
    int anywhere = draw() % 4 == 0;
    for (size_t i = 0; i < n; i++, page = (page + stride) % region->pages) {
        write_page(region, anywhere ? draw() % region->pages : page, draw() | 1);
    }
}

static void turn(struct region *region)
{
    switch (draw() % 24) {
    case 0:
        renew(region);
        break;
    case 1:
        resize(region);
        break;
    case 2:
        empty(region);
        break;
    case 3:
        for (size_t page = 0; page < region->pages; page++) {
            write_page(region, page, draw() | 1);
        }
        break;
    default:
        change(region);
        break;
    }
    check(&regions[draw() % REGIONS]);
}

/* A page from the rank before goes into a page here, while one region cannot be written. */
static void exchange(struct region *region)
{
    uint64_t page[WORDS];
    size_t from = draw() % region->pages, to = draw() % region->pages;
    write_page(region, from, draw() | 1);
    mprotect(region->at, region->pages * PAGE, PROT_READ);
    MPI_Sendrecv(region->at + from * WORDS, WORDS, MPI_UINT64_T, (rank + 1) % size, 0, page, WORDS,
                 MPI_UINT64_T, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mprotect(region->at, region->pages * PAGE, PROT_READ | PROT_WRITE);
    memcpy(region->at + to * WORDS, page, PAGE);
    region->stamp[to] = page[0];
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = 88172645463325252u + (uint64_t)rank * 7919;
    for (int i = 0; i < REGIONS; i++) {
        renew(&regions[i]);
    }
    for (int step = 0; step < steps; step++) {
        struct region *region = &regions[draw() % REGIONS];
        turn(region);
        exchange(region);
        if (rank == 0 && step % 50 == 0) {
            printf("step %d\n", step);
        }
    }
    uint64_t sum = 0, mine[2] = {0, wrong}, all[2];
    for (int i = 0; i < REGIONS; i++) {
        check(&regions[i]);
        for (size_t page = 0; page < regions[i].pages; page++) {
            sum = sum * 31 + regions[i].at[page * WORDS];
        }
    }
    mine[0] = sum, mine[1] = wrong;
    MPI_Reduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("pages: sum %016llx, %llu wrong\n", (unsigned long long)all[0],
               (unsigned long long)all[1]);
    }
    return MPI_Finalize();
}
