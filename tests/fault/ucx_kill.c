/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kills of a process that uses a transport between nodes, at many points. Three processes over
 * loopback TCP: the victim; the survivor, which must end all it has with the victim soon after the
 * failure report, with no wrong data, no double end, and no byte written into memory whose
 * operation has ended; a bystander, whose exchange with the survivor must continue. The report
 * precedes the failure (by another detector) or follows it.
 *
 *   fault_ucx_kill | fault_tcp_kill [runs [seed [case]]]        run i has the seed seed + i, from
 * which everything follows but the case, if given
 */
#include "ucx_kill.h"

#include "base/assert.h"
#include "base/random.h"
#include "port/clock.h"
#include "port/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUNS_MAX 100000
#define LOOK_NS (2 * RZ_MILLISECOND) /* at children that may have ended without a word */

#define CASE_TEXT(name, text) text,
static const char *const case_texts[] = {KILL_CASES(CASE_TEXT)};
#undef CASE_TEXT

/* One run. */
static struct {
    struct kill_page *page;
    pid_t pid[KILL_ROLES];
    bool reaped[KILL_ROLES];
    uint64_t seed;
    bool early;
} run;

/* All runs of one case. */
static struct {
    double *ended_ms;
    unsigned runs, pending, late, told;
    uint64_t exchanged;
} tally[KILL_CASE_COUNT];

static _Noreturn void give_up(const char *what, int status)
{
    struct kill_page *page = run.page;
    for (unsigned role = 0; role < KILL_ROLES; role++) {
        if (run.pid[role] > 0 && !run.reaped[role]) {
            kill(run.pid[role], SIGKILL);
        }
    }
    fprintf(stderr, INTERNODE_NAME "_kill: seed %llu, case \"%s\", report %s: %s (status %x): %s\n",
            (unsigned long long)run.seed, case_texts[page->kind], run.early ? "early" : "late",
            what, (unsigned)status, page->complaint[0] != '\0' ? page->complaint : "no word");
    fprintf(stderr, "again: " INTERNODE_NAME "_kill 1 %llu %u\n", (unsigned long long)run.seed,
            page->kind);
    exit(1);
}

static void start(enum kill_role role, void (*body)(struct kill_page *))
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        give_up("fork", 0);
    }
    if (pid == 0) {
        if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK) {
            _exit(1);
        }
        body(run.page);
        _exit(0);
    }
    run.pid[role] = pid;
}

/* A member that ended without a request is an error of the run. */
static void look_after(enum kill_role role)
{
    int status;
    if (run.reaped[role] || waitpid(run.pid[role], &status, WNOHANG) != run.pid[role]) {
        return;
    }
    run.reaped[role] = true;
    if (status != 0 || role == KILL_VICTIM) {
        give_up(role == KILL_SURVIVOR ? "the survivor ended"
                : role == KILL_VICTIM ? "the victim ended"
                                      : "the bystander ended",
                status);
    }
}

static void await(_Atomic uint32_t *step, const char *what)
{
    rz_time limit = rz_clock_now() + 3 * KILL_HANG;
    for (;;) {
        uint32_t value = rz_doorbell_prepare(&run.page->bell, RZ_DOORBELL_FUTEX);
        if (atomic_load(step)) {
            rz_doorbell_awake(&run.page->bell);
            return;
        }
        rz_doorbell_sleep(&run.page->bell, value, -1, NULL, 0, LOOK_NS);
        for (unsigned role = 0; role < KILL_ROLES; role++) {
            look_after(role);
        }
        if (rz_clock_now() > limit) {
            give_up(what, 0);
        }
    }
}

/* Any instant of the current activity; not a wait for an event. */
static void let_pass(struct rz_random *random, uint64_t most_us)
{
    struct timespec instant = {.tv_nsec = (long)rz_random_below(random, most_us * 1000)};
    nanosleep(&instant, NULL);
}

static void stop_victim(void)
{
    int status;
    kill(run.pid[KILL_VICTIM], SIGSTOP);
    if (waitpid(run.pid[KILL_VICTIM], &status, WUNTRACED) < 0 || !WIFSTOPPED(status)) {
        give_up("stopping", 0);
    }
    kill_step(run.page, &run.page->victim_stopped);
}

static void pronounce(void)
{
    run.page->reported_at = rz_clock_now();
    atomic_store(&run.page->reported, 1);
}

static void slay(void)
{
    kill(run.pid[KILL_VICTIM], SIGKILL);
    if (waitpid(run.pid[KILL_VICTIM], NULL, 0) < 0) {
        give_up("waitpid", 0);
    }
    run.reaped[KILL_VICTIM] = true;
    atomic_store(&run.page->failed, 1);
}

static void end_victim(struct rz_random *random)
{
    struct kill_page *page = run.page;
    let_pass(random, page->kind == KILL_CONNECTING ? 3000 : 30000);
    if (page->kind == KILL_ZOMBIE) {
        stop_victim();
        pronounce();
        await(&page->all_ended, "the survivor's operations never end");
        kill(run.pid[KILL_VICTIM], SIGCONT);
        await(&page->zombie_spoke, "the zombie does not speak");
        slay();
    } else if (run.early) {
        pronounce();
        let_pass(random, 500);
        slay();
    } else {
        slay();
        let_pass(random, 5000);
        pronounce();
    }
}

static void reap(enum kill_role role)
{
    rz_time limit = rz_clock_now() + 2 * KILL_HANG;
    while (!run.reaped[role]) {
        look_after(role);
        struct timespec pause = {.tv_nsec = (long)LOOK_NS / 10};
        if (!run.reaped[role]) {
            nanosleep(&pause, NULL);
        }
        if (rz_clock_now() > limit) {
            give_up(role == KILL_SURVIVOR ? "the survivor hangs" : "the bystander hangs", 0);
        }
    }
}

static void note(void)
{
    const struct kill_page *page = run.page;
    enum kill_case kind = page->kind;
    tally[kind].ended_ms = realloc(tally[kind].ended_ms, (tally[kind].runs + 1) * sizeof(double));
    rz_assert(tally[kind].ended_ms != NULL);
    tally[kind].ended_ms[tally[kind].runs++] = (double)page->ended_ns / 1e6;
    tally[kind].pending += page->pending > 0;
    tally[kind].late += page->late_arrivals > 0;
    tally[kind].told += page->told_broken > 0;
    tally[kind].exchanged += page->exchanged;
}

static void one_run(uint64_t seed, int kind)
{
    struct rz_random random = {.state = rz_mix(seed, 1)};
    struct kill_page *page = run.page;
    memset(page, 0, sizeof(*page));
    memset(run.reaped, 0, sizeof(run.reaped));
    run.seed = seed;
    run.early = seed / KILL_CASE_COUNT % 2;
    page->seed = seed;
    page->kind = kind >= 0 ? (enum kill_case)kind : (enum kill_case)(seed % KILL_CASE_COUNT);
    page->drain = rz_random_below(&random, 2);
    start(KILL_BYSTANDER, kill_bystander_run);
    start(KILL_VICTIM, kill_victim_run);
    start(KILL_SURVIVOR, kill_survivor_run);
    if (page->kind == KILL_STOPPED) {
        await(&page->victim_ready, "the victim does not begin");
        stop_victim();
    }
    await(&page->survivor_ready, "the survivor does not begin");
    end_victim(&random);
    reap(KILL_SURVIVOR);
    reap(KILL_BYSTANDER);
    note();
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(void)
{
    printf("%-30s %5s %10s %10s %8s %8s %8s %10s\n", "case", "kills", "median ms", "most ms",
           "pending", "told", "late", "exchanges");
    for (unsigned kind = 0; kind < KILL_CASE_COUNT; kind++) {
        unsigned runs = tally[kind].runs;
        if (runs == 0) {
            continue;
        }
        qsort(tally[kind].ended_ms, runs, sizeof(double), by_value);
        printf("%-30s %5u %10.2f %10.2f %8u %8u %8u %10llu\n", case_texts[kind], runs,
               tally[kind].ended_ms[runs / 2], tally[kind].ended_ms[runs - 1], tally[kind].pending,
               tally[kind].told, tally[kind].late, (unsigned long long)tally[kind].exchanged);
        free(tally[kind].ended_ms);
    }
    printf("median, most: from the failure report to the end of the last operation; pending: runs "
           "with "
           "operations at the failure report;\n"
           "told: runs in which the transport itself saw the break; late: runs with messages after "
           "disconnect\n");
}

int main(int argc, char **argv)
{
    unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2 * KILL_CASE_COUNT;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    int kind = argc > 3 ? atoi(argv[3]) : -1;
    rz_assert(runs <= RUNS_MAX && kind < KILL_CASE_COUNT);
    internode_environment();
    run.page =
        mmap(NULL, sizeof(*run.page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rz_assert(run.page != MAP_FAILED);
    for (unsigned i = 0; i < runs; i++) {
        one_run(seed + i, kind);
    }
    report();
    return 0;
}
