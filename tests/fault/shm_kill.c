/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A failed process damages only its own data. Two bystanders exchange checked messages; victims
 * flood both of them with small and large messages and are SIGKILLed at random instants. After each
 * failure both bystanders must continue to exchange, no delivered byte may be wrong, no operation
 * may end twice or never.
 *
 *   fault_shm_kill_auto [kills [seed [auto|direct|ring]]]
 */
#include "shm_kill_page.h"

#include "base/assert.h"
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

static struct {
    unsigned kills;
    uint64_t seed;
    const char *copy;
} options = {.kills = 100, .seed = 1, .copy = "auto"};

static _Noreturn void give_up(const struct kill_page *page, const char *what)
{
    fprintf(stderr, "shm_kill: %s%s%s\n  seed %llu; again: fault_shm_kill_auto %u %llu %s\n", what,
            page && page->complaint[0] ? ": " : "", page ? page->complaint : "",
            (unsigned long long)options.seed, options.kills, (unsigned long long)options.seed,
            options.copy);
    if (page) {
        for (unsigned lane = 0; lane < KILL_LANES; lane++) {
            if (page->pid[lane] && !page->reaped[lane]) {
                kill((pid_t)page->pid[lane], SIGKILL);
            }
        }
    }
    exit(1);
}

/* Forks a member; it fails with us. */
static void start(struct kill_page *page, const struct rig *rig, unsigned lane, uint64_t seed,
                  void (*run)(struct kill_page *, const struct rig *, unsigned, uint64_t))
{
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        give_up(page, "fork");
    }
    if (pid == 0) {
        if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK) {
            _exit(1);
        }
        page->pid[lane] = (uint32_t)getpid();
        run(page, rig, lane, seed);
        _exit(0);
    }
    page->pid[lane] = (uint32_t)pid;
}

/* Sleeps on our doorbell until `ready`; bystanders that failed or say nothing for long end the
 * test.
 */
static void await(struct kill_page *page, bool (*ready)(struct kill_page *, unsigned), unsigned arg,
                  const char *what)
{
    rz_time deadline = rz_clock_now() + KILL_HANG;
    for (;;) {
        uint32_t value = rz_doorbell_prepare(&page->bell, RZ_DOORBELL_FUTEX);
        if (ready(page, arg)) {
            rz_doorbell_awake(&page->bell);
            return;
        }
        rz_doorbell_sleep(&page->bell, value, -1, NULL, 0, 100 * RZ_MILLISECOND);
        for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
            if (waitpid((pid_t)page->pid[b], NULL, WNOHANG) != 0) {
                page->reaped[b] = true;
                give_up(page, "a bystander ended");
            }
        }
        if (rz_clock_now() > deadline) {
            give_up(page, what);
        }
    }
}

static bool flooding(struct kill_page *page, unsigned lane)
{
    return atomic_load(&page->flooded[lane]) > 0;
}

static uint64_t exchanged_before[KILL_BYSTANDERS];

/* Both have ended all with the victim, and exchanged messages since. */
static bool moved_on(struct kill_page *page, unsigned lane)
{
    for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
        if (!atomic_load(&page->settled[b][lane]) ||
            atomic_load(&page->exchanged[b]) < exchanged_before[b] + 2) {
            return false;
        }
    }
    return true;
}

static void reap(struct kill_page *page, unsigned lane)
{
    if (waitpid((pid_t)page->pid[lane], NULL, 0) < 0) {
        give_up(page, "waitpid");
    }
    page->reaped[lane] = true;
}

static void kill_one(struct kill_page *page, const struct rig *rig, struct rz_random *random,
                     unsigned lane)
{
    start(page, rig, lane, rz_random_next(random), kill_victim_run);
    await(page, flooding, lane, "a victim does not begin");
    /* A random instant, not a wait for something. */
    struct timespec instant = {.tv_nsec = (long)rz_random_below(random, 2000000)};
    nanosleep(&instant, NULL);
    kill((pid_t)page->pid[lane], SIGKILL);
    /* The failure report may come before the end of the teardown, while the victim's memory is
     * still there, or after it. */
    bool early = rz_random_below(random, 2);
    if (!early) {
        reap(page, lane);
    }
    for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
        exchanged_before[b] = atomic_load(&page->exchanged[b]);
    }
    atomic_store(&page->failed[lane], 1);
    for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
        rz_doorbell_ring(rig->bell[b], rig->event_fd[b]);
    }
    await(page, moved_on, lane, "a bystander is stuck");
    if (early) {
        reap(page, lane);
    }
}

/* New bystanders, which see `kills` victims start and fail. */
static void round_of(struct kill_page *page, struct rz_random *random, unsigned kills)
{
    struct rig rig;
    enum rz_shm_copy copy = strcmp(options.copy, "direct") == 0 ? RZ_SHM_COPY_DIRECT
                            : strcmp(options.copy, "ring") == 0 ? RZ_SHM_COPY_RING
                                                                : RZ_SHM_COPY_AUTO;
    memset(page, 0, sizeof(*page));
    rig_open(&rig, KILL_LANES, copy);
    for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
        start(page, &rig, b, rz_random_next(random), kill_bystander_run);
    }
    for (unsigned i = 0; i < kills; i++) {
        kill_one(page, &rig, random, KILL_BYSTANDERS + i);
    }
    atomic_store(&page->stop, 1);
    for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
        int status;
        pid_t ended;
        /* Rung until it has ended: it checks the stop word before it prepares its sleep. */
        while ((ended = waitpid((pid_t)page->pid[b], &status, WNOHANG)) == 0) {
            rz_doorbell_ring(rig.bell[b], rig.event_fd[b]);
            usleep(1000);
        }
        if (ended < 0 || status != 0) {
            give_up(page, "a bystander found something wrong");
        }
        page->reaped[b] = true;
    }
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        options.kills = (unsigned)strtoul(argv[1], NULL, 10);
    }
    if (argc > 2) {
        options.seed = strtoull(argv[2], NULL, 10);
    }
    if (argc > 3) {
        options.copy = argv[3];
    }
    struct kill_page *page =
        mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rz_assert(page != MAP_FAILED);
    struct rz_random random = {.state = options.seed};
    uint64_t small = 0, large = 0, lost = 0, exchanged = 0;
    for (unsigned done = 0; done < options.kills;) {
        unsigned kills = options.kills - done < KILL_VICTIMS ? options.kills - done : KILL_VICTIMS;
        round_of(page, &random, kills);
        done += kills;
        for (unsigned b = 0; b < KILL_BYSTANDERS; b++) {
            small += page->small[b];
            large += page->large[b];
            lost += page->lost[b];
            exchanged += page->exchanged[b];
        }
    }
    printf("%u kills (%s): bystanders exchanged %llu messages; from victims %llu small and %llu "
           "large ones came whole, %llu large ones were lost\n",
           options.kills, options.copy, (unsigned long long)exchanged, (unsigned long long)small,
           (unsigned long long)large, (unsigned long long)lost);
    if (large == 0) {
        give_up(NULL, "no large message of a victim ever arrived: the test tests nothing");
    }
    return 0;
}
