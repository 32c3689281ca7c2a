/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that tests other processes and answers their tests: mpi/tester/tester.h.
 */
#include "mpi/tester/tester_state.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(RZ_TESTER_KEY_BYTES == RZ_DATAGRAM_KEY_BYTES, "one key is made of the other");

/* So many messages are read before the clock is read again. */
#define TURN_MESSAGES 256

/* A thread that is late by more has not run, or ran a test; used where no threshold is given. */
#define LATE_MIN (5 * RZ_MILLISECOND)

/* ---- The board ---- */

/* Handles members that the board shows as failed or replaced. */
static void look_at_board(struct rz_tester *tester, rz_time now)
{
    const struct rz_board *board = tester->config.info->board;
    uint64_t news = atomic_load_explicit(&board->news, memory_order_acquire);
    if (news == tester->news) {
        return;
    }
    tester->news = news;
    for (rz_id k = 0; k < tester->config.n; k++) {
        uint64_t word =
            atomic_load_explicit(&board->rank[tester->peer[k].slot], memory_order_acquire);
        uint32_t incarnation = rz_board_incarnation(word);
        bool later = (int32_t)(incarnation - tester->peer[k].incarnation) > 0;
        bool same = incarnation == tester->peer[k].incarnation;
        if (later || (same && rz_board_state(word) != RZ_PROCESS_ALIVE)) {
            rz_tester_failure(tester, k, now);
        }
    }
}

/* ---- Time ---- */

/* The time of the cores: time that the thread overslept does not count, since it could not receive.
 * Otherwise a process that was stopped, starved, or long in a test would find all others silent. */
static rz_time tester_now(struct rz_tester *tester)
{
    rz_time now = rz_clock_now() - tester->slept, late = tester->config.terms.threshold_min / 2;
    rz_time bound = tester->meant + (late > LATE_MIN ? late : LATE_MIN);
    if (tester->meant > 0 && now > bound) {
        tester->slept += now - tester->meant;
        now = tester->meant;
    }
    tester->meant = now; /* until the next sleep begins */
    return now;
}

/* ---- One turn of the loop ---- */

static bool address_of(const void *arg, rz_id member, struct rz_address *address)
{
    const struct rz_tester *tester = arg;
    *address = tester->peer[member].address;
    return !tester->failed[member];
}

static void read_messages(struct rz_tester *tester, rz_time now)
{
    struct rz_message message;
    uint64_t items[RZ_POST_ITEMS_MAX];
    for (int i = 0; i < TURN_MESSAGES && rz_post_receive(&tester->post, &message, items); i++) {
        atomic_fetch_add_explicit(&tester->snapshot->received, 1, memory_order_relaxed);
        rz_tester_receive(tester, &message, items, now);
    }
}

int rz_tester_primes(void)
{
    int found = 0;
    for (int n = 2; n <= 1000; n++) {
        int divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0) {
            divisor++;
        }
        found += divisor * divisor > n;
    }
    return found;
}

static bool pass_test(const struct rz_tester *tester)
{
    return tester->config.test ? tester->config.test(tester->config.arg) == 0
                               : rz_tester_primes() == 168;
}

/* Does one task; requesting members take turns. If the test fails, there is no answer. */
static void work(struct rz_tester *tester)
{
    if (tester->n_tasks == 0) {
        return;
    }
    while (!tester->task[tester->turn].waits) {
        tester->turn = (tester->turn + 1) % tester->config.n;
    }
    rz_id from = tester->turn;
    tester->task[from].waits = false;
    tester->n_tasks--;
    tester->turn = (tester->turn + 1) % tester->config.n;
    if (pass_test(tester)) {
        rz_tester_answer(tester, from, tester_now(tester));
    }
}

/* Wakes the library, which may be asleep, for a changed snapshot. */
static void tell(struct rz_tester *tester)
{
    const struct rz_link_info *info = tester->config.info;
    if (tester->changed) {
        tester->changed = false;
        atomic_fetch_add_explicit(&tester->snapshot->news, 1, memory_order_release);
        atomic_fetch_or_explicit(&info->doorbell->reasons, RZ_DOORBELL_BOARD, memory_order_release);
        rz_doorbell_ring(info->doorbell, info->doorbell_fd);
    }
}

/* ---- The thread ---- */

/* Sleeps until a message comes or a deadline of a core. */
static void rest(struct rz_tester *tester)
{
    rz_time now = tester_now(tester), wake = rz_tester_deadline(tester);
    rz_time again = rz_tester_voters_deadline(tester, now);
    wake = again < wake ? again : wake;
    rz_time wait = wake > now && tester->n_tasks == 0 ? wake - now : 0;
    struct timespec until = {.tv_sec = (time_t)(wait / RZ_SECOND),
                             .tv_nsec = (long)(wait % RZ_SECOND)};
    struct pollfd polled[] = {{.fd = tester->wake_fd, .events = POLLIN},
                              {.fd = tester->config.fd, .events = POLLIN},
                              {.fd = tester->config.line_fd, .events = POLLIN}};
    tester->meant = now + wait;
    int n = ppoll(polled, 3, &until, NULL);
    rz_assert(n >= 0 || errno == EINTR);
    if (n > 0 && polled[0].revents != 0) {
        uint64_t times;
        ssize_t bytes = read(tester->wake_fd, &times, sizeof(times));
        rz_assert(bytes == sizeof(times) || errno == EAGAIN);
    }
    tester->told = n > 0 && polled[2].revents != 0;
}

static bool goes_on(struct rz_tester *tester)
{
    pthread_mutex_lock(&tester->lock);
    bool ends = tester->ends;
    pthread_mutex_unlock(&tester->lock);
    return !ends;
}

static void *tester_run(void *arg)
{
    struct rz_tester *tester = arg;
    rz_time now;
    do {
        rest(tester);
        now = tester_now(tester);
        read_messages(tester, now); /* messages that have arrived are handled before the tick */
        look_at_board(tester, now);
        rz_tester_tick(tester, now);
        work(tester);
        rz_tester_voters_look(tester, now);
        tell(tester);
    } while (goes_on(tester));
    return NULL;
}

/* ---- Begin and end ---- */

/* All signals are handled by the program's threads. */

static void tester_free(struct rz_tester *tester)
{
    rz_tester_cores_close(tester);
    rz_tester_voters_close(tester);
    rz_datagrams_close(tester->post.datagrams);
    if (tester->wake_fd >= 0) {
        close(tester->wake_fd);
    }
    pthread_mutex_destroy(&tester->lock);
    free(tester->snapshot);
    free(tester->scratch);
    free(tester->peer);
    free(tester->failed);
    free(tester->attempt);
    free(tester->task);
    free(tester);
}

static bool make_tables(struct rz_tester *tester)
{
    size_t n = tester->config.n, words = (n + 63) / 64;
    tester->snapshot = calloc(1, sizeof(*tester->snapshot) + n * sizeof(struct rz_tester_member));
    tester->scratch = calloc(words, sizeof(*tester->scratch));
    tester->peer = calloc(n, sizeof(*tester->peer));
    tester->failed = calloc(n, sizeof(*tester->failed));
    tester->attempt = calloc(n, sizeof(*tester->attempt));
    tester->task = calloc(n, sizeof(*tester->task));
    if (!tester->snapshot || !tester->scratch || !tester->peer || !tester->failed ||
        !tester->attempt || !tester->task || !rz_tester_voters_open(tester)) {
        return false;
    }
    memcpy(tester->peer, tester->config.peer, n * sizeof(*tester->peer));
    for (size_t k = 0; k < n; k++) {
        tester->snapshot->member[k].test_time = RZ_TIME_NEVER;
    }
    return true;
}

static rz_status_t tester_begin(struct rz_tester *tester)
{
    const struct rz_tester_config *config = &tester->config;
    uint8_t key[RZ_DATAGRAM_KEY_BYTES];
    /* each group counts its datagrams separately */
    rz_datagram_derive(config->key, config->number, key);
    bool made = make_tables(tester) &&
                rz_datagrams_open(&tester->post.datagrams, config->n, config->self, key) == RZ_OK;
    explicit_bzero(key, sizeof(key));
    if (!made) {
        return RZ_ERR_NO_MEMORY;
    }
    tester->post.fd = config->fd;
    tester->post.address = address_of;
    tester->post.arg = tester;
    tester->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!rz_tester_cores_open(tester, rz_clock_now())) {
        return RZ_ERR_NO_MEMORY;
    }
    tester->config.peer = NULL; /* it belongs to the caller */
    tester->config.counter = NULL;
    tester->config.key = NULL;
    bool runs = tester->wake_fd >= 0 &&
                rz_thread_start(&tester->thread, "rz-tester", 0, tester_run, tester) == 0;
    return runs ? RZ_OK : RZ_ERR_SYSTEM;
}

static rz_status_t tester_open(struct rz_tester **result, const struct rz_tester_config *config)
{
    struct rz_tester *tester = calloc(1, sizeof(*tester));
    if (!tester) {
        return RZ_ERR_NO_MEMORY;
    }
    tester->config = *config;
    if (config->kill_plan && !rz_kill_plan) { /* threads of other groups read it */
        rz_kill_plan = config->kill_plan;
    }
    tester->wake_fd = -1;
    pthread_mutex_init(&tester->lock, NULL);
    rz_status_t status = tester_begin(tester);
    if (status != RZ_OK) {
        tester_free(tester);
        return status;
    }
    *result = tester;
    return RZ_OK;
}

static void wake(struct rz_tester *tester)
{
    uint64_t one = 1;
    ssize_t written = write(tester->wake_fd, &one, sizeof(one));
    rz_assert(written == sizeof(one));
}

static void tester_close(struct rz_tester *tester)
{
    pthread_mutex_lock(&tester->lock);
    tester->ends = true;
    pthread_mutex_unlock(&tester->lock);
    wake(tester);
    pthread_join(tester->thread, NULL);
    close(tester->config.fd);
    if (tester->config.line_fd >= 0) {
        /* a child of the program may hold the socket */
        shutdown(tester->config.line_fd, SHUT_RDWR);
        close(tester->config.line_fd);
    }
    tester_free(tester);
}

static const struct rz_tester_snapshot *tester_snapshot(const struct rz_tester *tester)
{
    return tester->snapshot;
}

__attribute__((visibility("default")))
const struct rz_tester_entry rz_tester_entry = {.version = RZ_TESTER_MODULE_VERSION,
                                                .open = tester_open,
                                                .close = tester_close,
                                                .snapshot = tester_snapshot};
