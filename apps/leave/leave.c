#include "leave.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum failure { NOTHING, KILL, STOP, SLOW };

static const char *const failures[] = {"", "kill", "stop", "slow"};

enum { PRIMES_MAX = 1000, AWAY_MS_MOST = 3600000, TEST_MS = 300, LOOK_MS = 5 };

static struct {
    enum failure failure;
    uint64_t count, seed, away_ms;
    uint32_t return_percent, within_percent;
} options = {.count = 1, .seed = 1, .away_ms = 1000, .return_percent = 100, .within_percent = 100};

/* Of this process. */
static struct {
    const char *program;
    int rank;
    void (*before)(void);
    bool is_due, has_left, returns;
    uint64_t moment, away_ms;
    _Atomic int64_t slow_until_ms;
} own;

const char leave_usage[] =
    "  --fail kill|stop|slow some processes leave at random moments: by SIGKILL; by SIGSTOP for\n"
    "                        a time; or they take so long for all they do\n"
    "  --fail-count K        how many (1)\n"
    "  --fail-seed S         what is random there (1)\n"
    "  --fail-time MS        that time at the most, a tenth at the least, milliseconds (1000)\n"
    "  --fail-within P%      they leave in the first part of the run (100%)\n"
    "  --return P%           so many of those that were stopped or slow come back, the others end\n"
    "                        then (100%)\n";

/* ---- Options */

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
    if (n == 0 || n > 18 || (text[n] && text + n != end))
        return false;
    *value = strtoull(text, NULL, 10);
    return *value <= most;
}

static enum leave_taken take_failure(const char *program, const char *value)
{
    for (int i = KILL; value && i <= SLOW; i++)
        if (strcmp(failures[i], value) == 0) {
            options.failure = (enum failure)i;
            return LEAVE_TAKEN;
        }
    return wrong(program, "--fail", value, "kill, stop or slow");
}

static enum leave_taken take_percent(const char *program, const char *name, const char *value,
                                     uint32_t *percent)
{
    uint64_t part;
    const char *sign = value && *value ? value + strlen(value) - 1 : NULL;
    if (!number(value, sign && *sign == '%' ? sign : NULL, 100, &part))
        return wrong(program, name, value, "a part in percent, from 0% to 100%");
    *percent = (uint32_t)part;
    return LEAVE_TAKEN;
}

enum leave_taken leave_option(const char *program, const char *name, const char *value)
{
    if (strcmp(name, "--fail") == 0)
        return take_failure(program, value);
    if (strcmp(name, "--fail-count") == 0)
        return number(value, NULL, UINT32_MAX, &options.count)
                   ? LEAVE_TAKEN
                   : wrong(program, name, value, "a number of processes");
    if (strcmp(name, "--fail-seed") == 0)
        return number(value, NULL, UINT64_MAX, &options.seed)
                   ? LEAVE_TAKEN
                   : wrong(program, name, value, "a whole number of at most 18 digits");
    if (strcmp(name, "--fail-time") == 0)
        return number(value, NULL, AWAY_MS_MOST, &options.away_ms) && options.away_ms > 0
                   ? LEAVE_TAKEN
                   : wrong(program, name, value, "a number of milliseconds, from 1 to an hour's");
    if (strcmp(name, "--fail-within") == 0)
        return take_percent(program, name, value, &options.within_percent);
    if (strcmp(name, "--return") == 0)
        return take_percent(program, name, value, &options.return_percent);
    return LEAVE_NOT_MINE;
}

/* ---- Who, when, how long */

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

void leave_open(const char *program, int rank, int size, uint64_t moments)
{
    uint64_t random = mix(mix(mix(options.seed) + (uint64_t)rank));
    own.program = program;
    own.rank = rank;
    own.is_due = options.failure != NOTHING && is_drawn(rank, size);
    uint64_t within = moments * options.within_percent / 100;
    own.moment = random % (within > 0 ? within : 1);
    uint64_t least = (options.away_ms + 9) / 10;
    own.away_ms = least + mix(random) % (options.away_ms - least + 1);
    own.returns = mix(random + 1) % 100 < options.return_percent;
}

void leave_before(void (*act)(void))
{
    own.before = act;
}

bool leave_is_for_good(void)
{
    return own.has_left;
}

/* ---- Leaving */

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

/* The timer lets it go on again, as often as it takes: it may have come before the stop. */
static void stop(void)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    struct timespec time = {(time_t)(own.away_ms / 1000), (long)(own.away_ms % 1000 * 1000000)};
    struct itimerspec again = {time, time};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &again, NULL) != 0) {
        fprintf(stderr, "%s: no stop, for no timer would end it: %s\n", own.program,
                strerror(errno));
        return;
    }
    raise(SIGSTOP);
    timer_delete(timer);
}

static void be_slow(void)
{
    int64_t until = now_ms() + (int64_t)own.away_ms;
    atomic_store(&own.slow_until_ms, until);
    while (now_ms() < until)
        pause_ms(LOOK_MS);
}

void leave_at(uint64_t moment)
{
    if (!own.is_due || moment < own.moment)
        return;
    own.is_due = false;
    fprintf(stderr, "%s: rank %d leaves at moment %llu: %s\n", own.program, own.rank,
            (unsigned long long)moment, failures[options.failure]);
    if (own.before)
        own.before();
    if (options.failure == KILL)
        raise(SIGKILL);
    else if (options.failure == STOP)
        stop();
    else
        be_slow();
    own.has_left = !own.returns;
}

int leave_test(void *state)
{
    volatile int primes = 0;
    (void)state;
    for (int n = 2; n <= PRIMES_MAX; n++) {
        int divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0)
            divisor++;
        primes += divisor * divisor > n;
    }
    int64_t left = atomic_load(&own.slow_until_ms) - now_ms();
    if (left > 0)
        pause_ms(left < TEST_MS ? left : TEST_MS);
    return 0;
}
