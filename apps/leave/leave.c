/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that leave on purpose: options, the draw of victims and moments from the seed, and the
 * failures themselves: kill, stop, slow, starve. */
#include "leave.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum failure { KILL, STOP, SLOW, STARVE, N_FAILURES };

static const char *const failures[] = {"kill", "stop", "slow", "starve"};

enum { PRIMES_MAX = 1000, AWAY_MS_MOST = 3600000, TEST_MS = 300, LOOK_MS = 5 };

/* A starving process runs for a tenth of each period. With short periods its answers to tests are
 * in time, with long ones they are not. */
enum { TURN_MS_LEAST = 20, TURN_MS_MOST = 400 };

static struct {
    uint64_t kinds; /* bit k: failure k; none: no process leaves */
    uint64_t count, seed, away_ms;
    uint32_t return_percent, within_percent;
} options = {.count = 1, .seed = 1, .away_ms = 1000, .return_percent = 100, .within_percent = 100};

/* Of this process. */
static struct {
    const char *program;
    int rank, helper;
    void (*before)(void);
    enum failure failure;
    bool is_due, has_left, returns;
    uint64_t moment, away_ms, turn_ms;
    int64_t starves_until_ms;
    _Atomic int64_t slow_until_ms;
} own;

const char leave_usage[] =
    "  --fail KIND[,KIND]... some processes leave at random moments, each by one of these kinds:\n"
    "                        kill: by SIGKILL; stop: by SIGSTOP for a time; slow: they do nothing\n"
    "                        for so long, and answer late; starve: they continue, and for a time\n"
    "                        get a tenth of a processor only, by SIGSTOP and SIGCONT in turn\n"
    "  --fail-count K        how many (1); one process must stay or come back\n"
    "  --fail-seed S         what is random there (1)\n"
    "  --fail-time MS        that time at the most, a tenth at the least, milliseconds (1000)\n"
    "  --fail-within P%      they leave in the first part of the run (100%)\n"
    "  --return P%           so many of those that did not fail come back, the others end then\n"
    "                        (100%)\n";

/* ---- Time ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_ms(int64_t ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/*
 * ---- The helper: a process that stops and continues its parent
 *
 * A timer in the process itself cannot: a SIGCONT still pending when the SIGSTOP arrives is
 * dropped, and the timer with it.
 */

/* Stops for this time, then runs for that time, repeatedly until the end. */
struct order {
    int stops_ms, runs_ms;
    int64_t until_ms;
};

enum { FILES_MAX = 4096 };

/* The helper ends with its parent. */
static void rest(int parent, int ms)
{
    struct pollfd end = {.fd = parent};
    if (poll(&end, 1, ms) > 0) {
        _exit(0);
    }
}

static _Noreturn void help(int parent, pid_t pid)
{
    struct order order;
    for (int fd = 0; fd < FILES_MAX; fd++) {
        if (fd != parent) {
            close(fd); /* no process must wait for us to close a descriptor of the parent */
        }
    }
    if (recv(parent, &order, sizeof(order), 0) != sizeof(order)) {
        _exit(0);
    }
    do {
        kill(pid, SIGSTOP);
        rest(parent, order.stops_ms);
        kill(pid, SIGCONT);
        rest(parent, order.runs_ms);
    } while (now_ms() < order.until_ms);
    send(parent, "", 1, MSG_NOSIGNAL);
    _exit(0);
}

/* The socket of a new helper; -1: there is none, and give reports it. */
static int helper_start(void)
{
    int ends[2];
    pid_t pid = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return -1;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    pid_t helper = fork();
    if (helper == 0) {
        help(ends[1], pid);
    }
    close(ends[1]);
    return ends[0];
}

/* ---- Options ---- */

static enum leave_taken wrong(const char *program, const char *name, const char *value,
                              const char *wanted)
{
    fprintf(stderr, "%s: %s '%s' is not %s; see --help\n", program, name, value ? value : "",
            wanted);
    return LEAVE_WRONG;
}

/* At least one digit, up to `end` (NULL: of the text). */
static bool number(const char *text, const char *end, uint64_t most, uint64_t *value)
{
    size_t n = text ? strspn(text, "0123456789") : 0;
    if (n == 0 || n > 18 || (text[n] && text + n != end)) {
        return false;
    }
    *value = strtoull(text, NULL, 10);
    return *value <= most;
}

/* The failure of these n characters; N_FAILURES: none. */
static int failure_named(const char *name, size_t n)
{
    int i = 0;
    while (i < N_FAILURES && (strlen(failures[i]) != n || strncmp(failures[i], name, n) != 0)) {
        i++;
    }
    return i;
}

static enum leave_taken take_kinds(const char *program, const char *value)
{
    static const char wanted[] = "one or more of kill, stop, slow, starve, with commas between";
    options.kinds = 0;
    for (const char *at = value; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        int failure = failure_named(at, strcspn(at, ","));
        if (failure == N_FAILURES) {
            return wrong(program, "--fail", value, wanted);
        }
        options.kinds |= UINT64_C(1) << failure;
    }
    return options.kinds ? LEAVE_TAKEN : wrong(program, "--fail", value, wanted);
}

static enum leave_taken take_percent(const char *program, const char *name, const char *value,
                                     uint32_t *percent)
{
    uint64_t part;
    const char *sign = value && *value ? value + strlen(value) - 1 : NULL;
    if (!number(value, sign && *sign == '%' ? sign : NULL, 100, &part)) {
        return wrong(program, name, value, "a part in percent, from 0% to 100%");
    }
    *percent = (uint32_t)part;
    return LEAVE_TAKEN;
}

enum leave_taken leave_option(const char *program, const char *name, const char *value)
{
    if (strcmp(name, "--fail") == 0) {
        return take_kinds(program, value);
    }
    if (strcmp(name, "--fail-count") == 0) {
        return number(value, NULL, UINT32_MAX, &options.count)
                   ? LEAVE_TAKEN
                   : wrong(program, name, value, "a number of processes");
    }
    if (strcmp(name, "--fail-seed") == 0) {
        return number(value, NULL, UINT64_MAX, &options.seed)
                   ? LEAVE_TAKEN
                   : wrong(program, name, value, "a whole number of at most 18 digits");
    }
    if (strcmp(name, "--fail-time") == 0) {
        return number(value, NULL, AWAY_MS_MOST, &options.away_ms) && options.away_ms > 0
                   ? LEAVE_TAKEN
                   : wrong(program, name, value, "a number of milliseconds, from 1 to an hour's");
    }
    if (strcmp(name, "--fail-within") == 0) {
        return take_percent(program, name, value, &options.within_percent);
    }
    if (strcmp(name, "--return") == 0) {
        return take_percent(program, name, value, &options.return_percent);
    }
    return LEAVE_NOT_MINE;
}

/* ---- Which processes, when, how long ---- */

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * OOPSLA 2014). */
static uint64_t mix(uint64_t word)
{
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

/* Whether a rank is among the first `count` in a random order of all. */
static bool is_drawn(int rank, int size)
{
    uint64_t before = 0, mine = mix(mix(options.seed) + (uint64_t)rank);
    for (int i = 0; i < size; i++) {
        uint64_t other = mix(mix(options.seed) + (uint64_t)i);
        before += other < mine || (other == mine && i < rank);
    }
    return before < options.count;
}

static uint64_t random_of(int rank)
{
    return mix(mix(mix(options.seed) + (uint64_t)rank));
}

/* One of the kinds. */
static enum failure failure_drawn(uint64_t random)
{
    uint64_t kinds = options.kinds;
    int n = 0, i = 0;
    for (int k = 0; k < N_FAILURES; k++) {
        n += kinds >> k & 1;
    }
    for (int skip = n > 0 ? (int)(random % (uint64_t)n) : 0; i < N_FAILURES; i++) {
        if (kinds >> i & 1 && skip-- == 0) {
            break;
        }
    }
    return (enum failure)i;
}

static enum failure failure_of(int rank)
{
    return failure_drawn(mix(random_of(rank) + 2));
}

static bool comes_back(int rank)
{
    return failure_of(rank) != KILL && mix(random_of(rank) + 1) % 100 < options.return_percent;
}

bool leave_is_by_all(int size)
{
    int rank = 0;
    while (rank < size && options.kinds && is_drawn(rank, size) && !comes_back(rank)) {
        rank++;
    }
    return rank == size;
}

void leave_open(const char *program, int rank, int size, uint64_t moments)
{
    uint64_t random = random_of(rank);
    own.program = program;
    own.rank = rank;
    own.is_due = options.kinds && is_drawn(rank, size);
    own.failure = failure_of(rank);
    own.turn_ms = TURN_MS_LEAST + mix(random + 3) % (TURN_MS_MOST - TURN_MS_LEAST + 1);
    uint64_t within = moments * options.within_percent / 100;
    own.moment = random % (within > 0 ? within : 1);
    uint64_t least = (options.away_ms + 9) / 10;
    own.away_ms = least + mix(random) % (options.away_ms - least + 1);
    own.returns = comes_back(rank);
    own.helper = -1;
    if (own.is_due && (own.failure == STOP || own.failure == STARVE)) {
        own.helper = helper_start();
    }
}

void leave_before(void (*act)(void))
{
    own.before = act;
}

bool leave_is_for_good(void)
{
    return own.has_left && now_ms() >= own.starves_until_ms;
}

/* ---- Leaving ---- */

static void crash(void)
{
    raise(SIGKILL);
}

/* Sends its order; false: no helper is there to take it. */
static bool give(const struct order *order)
{
    if (send(own.helper, order, sizeof(*order), MSG_NOSIGNAL) == sizeof(*order)) {
        return true;
    }
    fprintf(stderr, "%s: no stop, because no process would end it: %s\n", own.program,
            strerror(errno));
    return false;
}

static void stop(void)
{
    char done;
    if (give(&(struct order){.stops_ms = (int)own.away_ms})) {
        while (recv(own.helper, &done, 1, 0) < 0 && errno == EINTR) {
        }
    }
}

/* The process continues meanwhile, as far as it gets. */
static void starve(void)
{
    int runs_ms = (int)own.turn_ms / 10;
    own.starves_until_ms = now_ms() + (int64_t)own.away_ms;
    give(&(struct order){.stops_ms = (int)own.turn_ms - runs_ms,
                         .runs_ms = runs_ms,
                         .until_ms = own.starves_until_ms});
}

static void be_slow(void)
{
    int64_t until = now_ms() + (int64_t)own.away_ms;
    atomic_store(&own.slow_until_ms, until);
    while (now_ms() < until) {
        pause_ms(LOOK_MS);
    }
}

void leave_at(uint64_t moment)
{
    if (!own.is_due || moment < own.moment) {
        return;
    }
    own.is_due = false;
    fprintf(stderr, "%s: rank %d leaves at moment %llu: %s\n", own.program, own.rank,
            (unsigned long long)moment, failures[own.failure]);
    if (own.before) {
        own.before();
    }
    static void (*const ways[])(void) = {crash, stop, be_slow, starve};
    ways[own.failure]();
    own.has_left = !own.returns;
}

int leave_test(void *state)
{
    volatile int primes = 0;
    (void)state;
    for (int n = 2; n <= PRIMES_MAX; n++) {
        int divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0) {
            divisor++;
        }
        primes += divisor * divisor > n;
    }
    (void)primes;
    int64_t left = atomic_load(&own.slow_until_ms) - now_ms();
    if (left > 0) {
        pause_ms(left < TEST_MS ? left : TEST_MS);
    }
    return 0;
}
