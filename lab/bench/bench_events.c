/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_events: a client of libpmix, without MPI. One process kills itself; all others have asked
 * for the event of its failure. The first process prints when the first and the last of them was
 * told, in milliseconds since the kill. All are on one machine.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 4096, SETTLE_MS = 200, BOUND_MS = 20000 };

struct dates {
    volatile long long killed, told[RANKS_MAX];
};

static struct dates *dates;
static pmix_proc_t me;

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Its parameters are those of libpmix. */
static void rz_pmix_on_event(size_t handler, pmix_status_t code, const pmix_proc_t *source,
                             pmix_info_t info[], size_t n_info, pmix_info_t results[],
                             size_t n_results, pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    (void)handler, (void)code, (void)source, (void)info, (void)n_info, (void)results,
        (void)n_results;
    if (dates->told[me.rank] == 0) {
        dates->told[me.rank] = now();
    }
    if (done) {
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
    }
}

static void fence(void)
{
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Fence(&all, 1, NULL, 0) != PMIX_SUCCESS) {
        fprintf(stderr, "bench_events: a fence failed\n");
        _exit(1);
    }
}

static struct dates *open_dates(const char *argv0, int fresh)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s.dates", argv0);
    if (fresh) {
        unlink(path);
    }
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct dates)) != 0) {
        perror(path);
        _exit(1);
    }
    return mmap(NULL, sizeof(struct dates), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void print_times(unsigned n, unsigned victim)
{
    long long first = 0, last = 0;
    for (int waited = 0; waited < BOUND_MS; waited++) {
        unsigned told = 0;
        for (unsigned rank = 0; rank < n; rank++) {
            long long at = dates->told[rank];
            told += rank != victim && at != 0;
            first = at != 0 && (first == 0 || at < first) ? at : first;
            last = at > last ? at : last;
        }
        if (told == n - 1) {
            printf("first %.4f\nlast %.4f\n", (double)(first - dates->killed) / 1e6,
                   (double)(last - dates->killed) / 1e6);
            fflush(stdout);
            return;
        }
        usleep(1000);
    }
    printf("not all were told\n");
}

int main(int argc, char **argv)
{
    /* Runtimes differ in what they call it. */
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG,
                             PMIX_ERR_PROC_TERM_WO_SYNC};
    pmix_proc_t all;
    pmix_value_t *value;
    (void)argc;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) {
        fprintf(stderr, "bench_events: no PMIx server\n");
        return 1;
    }
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
    unsigned n = value->data.uint32, victim = n / 2;
    dates = me.rank == 0 ? open_dates(argv[0], 1) : NULL;
    fence();
    dates = me.rank == 0 ? dates : open_dates(argv[0], 0);
    PMIx_Register_event_handler(codes, 3, NULL, 0, rz_pmix_on_event, NULL, NULL);
    fence();
    if (me.rank == victim) {
        usleep(SETTLE_MS * 1000);
        dates->killed = now();
        raise(SIGKILL);
    }
    if (me.rank == 0) {
        print_times(n, victim);
        dates->told[victim] = 1; /* the others may end */
    }
    for (int waited = 0; dates->told[victim] == 0 && waited < 2 * BOUND_MS; waited++) {
        usleep(1000);
    }
    if (getenv("RZ_RANK")) { /* other runtimes do not always return from it after a failure */
        PMIx_Finalize(NULL, 0);
    }
    _exit(0);
}
