/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a target without libFuzzer: its seeds, the corpus beside it, then mutations of both. A case
 * is a pure function of seed and number, so what fails is replayed by naming the two.
 */
#include "../patience.h"
#include "base/random.h"
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define HANG_S TEST_HANG_S /* for one input */
#define SEEDS_MAX 4096
#define MUTATIONS_MAX 6

struct input {
    uint8_t *bytes;
    size_t n;
};

static struct {
    const char *command, *corpus, *save, *write_seeds, *files[64];
    uint64_t seed, first, cases;
    double seconds;
    uint32_t n_files;
    bool one;
} options = {.seed = 1, .cases = 20000};

static struct input seeds[SEEDS_MAX];
static uint32_t n_seeds;

/* The input being run, for the last message. */
static struct {
    volatile uint64_t number;
    struct input input;
    const char *volatile file; /* instead of a number */
    size_t asked;              /* of malloc */
    volatile bool running;
} now;

static _Noreturn void crash(const char *what, const char *name)
{
    fprintf(stderr, "%s: %s %s: %s\n", rz_fuzz_target.name, what, name, strerror(errno));
    exit(2);
}

/* ---- the last message: no malloc, no stdio, because the heap may be damaged ---- */

static size_t put_text(char *at, const char *text)
{
    size_t n = strlen(text);
    memcpy(at, text, n);
    return n;
}

static size_t put_number(char *at, uint64_t number)
{
    char digits[20];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
    } while (number /= 10);
    for (size_t i = 0; i < n; i++) {
        at[i] = digits[n - 1 - i];
    }
    return n;
}

static void say(const char *text, size_t n)
{
    if (write(STDERR_FILENO, text, n) < 0) {
        _exit(3);
    }
}

static void save_input(void)
{
    char path[4096];
    if (!options.save || strlen(options.save) > sizeof(path) - 100) {
        return;
    }
    size_t n = put_text(path, options.save);
    n += put_text(path + n, "/failed-");
    n += put_number(path + n, options.seed);
    n += put_text(path + n, "-");
    n += put_number(path + n, now.number);
    path[n] = 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, now.input.bytes, now.input.n) < 0) {
        return;
    }
    close(fd);
    path[n] = '\n';
    say("saved: ", 7);
    say(path, n + 1);
}

static void last_words(void)
{
    char line[4400];
    if (!now.running) {
        return;
    }
    now.running = false;
    size_t n = put_text(line, "replay: ");
    n += put_text(line + n, rz_fuzz_target.name);
    if (now.file) {
        n += put_text(line + n, " ");
        if (strlen(now.file) < 4000) {
            n += put_text(line + n, now.file);
        }
    } else {
        n += put_text(line + n, " --seed ");
        n += put_number(line + n, options.seed);
        n += put_text(line + n, " --case ");
        n += put_number(line + n, now.number);
        if (options.corpus && strlen(options.corpus) < 4000) {
            n += put_text(line + n, " --corpus ");
            n += put_text(line + n, options.corpus);
        }
    }
    line[n++] = '\n';
    say(line, n);
    save_input();
}

static void caught(int number)
{
    if (number == SIGALRM) {
        say("it hangs\n", 9);
    }
    last_words();
    signal(number, SIG_DFL);
    raise(number);
}

/* Of the sanitizers, where there are any: their ends are no signals. */
void __sanitizer_set_failure_callback(void (*callback)(void)) __attribute__((weak));
__attribute__((visibility("default"))) const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
    return "abort_on_error=1:print_stacktrace=1";
}

static void prepare_last_words(void)
{
    static const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    bool sanitized = __sanitizer_set_failure_callback != NULL;
    if (sanitized) {
        __sanitizer_set_failure_callback(last_words);
    }
    for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++) {
        if (!sanitized || fatal[i] == SIGABRT || fatal[i] == SIGALRM) {
            signal(fatal[i], caught);
        }
    }
    atexit(last_words); /* a target has called exit */
}

/* ---- memory: calls of malloc in the components come here first (--wrap) ---- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t each);
void *__real_realloc(void *old, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t each);
void *__wrap_realloc(void *old, size_t n);

static void ask(size_t n)
{
    if (!now.running) {
        return;
    }
    now.asked += n;
    if (now.asked < n || now.asked > rz_fuzz_target.memory_fixed +
                                         rz_fuzz_target.memory_factor * (uint64_t)now.input.n) {
        fprintf(stderr, "an input of %zu bytes has asked for %zu bytes of memory\n", now.input.n,
                now.asked);
        abort();
    }
}

void *__wrap_malloc(size_t n)
{
    ask(n);
    return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t each)
{
    ask(each && n > SIZE_MAX / each ? SIZE_MAX : n * each);
    return __real_calloc(n, each);
}

void *__wrap_realloc(void *old, size_t n)
{
    size_t had = old ? malloc_usable_size(old) : 0;
    ask(n > had ? n - had : 0);
    return __real_realloc(old, n);
}

/* ---- inputs ---- */

static struct input read_file(const char *path)
{
    struct input input = {NULL, 0};
    FILE *file = fopen(path, "rb");
    if (!file) {
        crash("cannot read", path);
    }
    input.bytes = malloc(rz_fuzz_target.input_max);
    input.n = fread(input.bytes, 1, rz_fuzz_target.input_max, file);
    fclose(file);
    return input;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names, so that numbers mean the same everywhere. */
static void read_corpus(const char *folder)
{
    char *names[SEEDS_MAX];
    uint32_t n = 0;
    DIR *dir = opendir(folder);
    if (!dir) {
        return; /* no case has been kept for this target */
    }
    for (struct dirent *entry; (entry = readdir(dir)) && n < SEEDS_MAX - n_seeds;) {
        if (entry->d_name[0] != '.') {
            names[n++] = strdup(entry->d_name);
        }
    }
    closedir(dir);
    qsort(names, n, sizeof(*names), by_name);
    for (uint32_t i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        seeds[n_seeds++] = read_file(path);
        free(names[i]);
    }
}

static void make_seeds(void)
{
    uint8_t *bytes = malloc(rz_fuzz_target.input_max);
    while (rz_fuzz_target.seed && n_seeds < SEEDS_MAX) {
        size_t n = rz_fuzz_target.seed(n_seeds, bytes, rz_fuzz_target.input_max);
        if (n == 0) {
            break;
        }
        seeds[n_seeds++] = (struct input){rz_fuzz_copy(bytes, n), n};
    }
    free(bytes);
    if (n_seeds == 0) {
        seeds[n_seeds++] = (struct input){rz_fuzz_copy("", 1), 1};
    }
    if (options.corpus) {
        read_corpus(options.corpus);
    }
}

/* ---- mutations ---- */

static uint64_t interesting(struct rz_random *random, size_t n)
{
    const uint64_t values[] = {0,
                               1,
                               n,
                               n - 1,
                               n + 1,
                               0x7F,
                               0x80,
                               0xFF,
                               0x7FFF,
                               0x8000,
                               0xFFFF,
                               0x7FFFFFFF,
                               0x80000000,
                               0xFFFFFFFF,
                               INT64_MAX,
                               UINT64_C(1) << 63,
                               UINT64_MAX,
                               UINT64_MAX - n,
                               UINT32_MAX - n,
                               0xFFFFFFF0};
    uint64_t value = values[rz_random_below(random, sizeof(values) / sizeof(*values))];
    return rz_random_below(random, 4) ? value : value - rz_random_below(random, 64);
}

/* Opens a gap of n bytes at `at`, as far as there is space; the bytes are still to be written. */
static size_t open_gap(struct input *input, size_t at, size_t n)
{
    size_t room = rz_fuzz_target.input_max - input->n;
    n = n < room ? n : room;
    memmove(input->bytes + at + n, input->bytes + at, input->n - at);
    input->n += n;
    return n;
}

static void insert(struct rz_random *random, struct input *input, const uint8_t *from, size_t n)
{
    size_t at = rz_random_below(random, input->n + 1);
    n = open_gap(input, at, n);
    if (n > 0) {
        memcpy(input->bytes + at, from, n);
    }
}

static void insert_word(struct rz_random *random, struct input *input)
{
    uint8_t noise[16];
    const char *const *words = rz_fuzz_target.words;
    uint32_t n = 0;
    while (words && words[n]) {
        n++;
    }
    if (n > 0 && rz_random_below(random, 8) > 0) {
        const char *word = words[rz_random_below(random, n)];
        insert(random, input, (const uint8_t *)word, strlen(word));
        return;
    }
    for (size_t i = 0; i < sizeof(noise); i++) {
        noise[i] = (uint8_t)rz_random_next(random);
    }
    insert(random, input, noise, 1 + rz_random_below(random, sizeof(noise)));
}

static void splice_in(struct rz_random *random, struct input *input)
{
    const struct input *other = &seeds[rz_random_below(random, n_seeds)];
    size_t from = rz_random_below(random, other->n + 1);
    size_t n = rz_random_below(random, other->n - from + 1);
    if (rz_random_below(random, 2) == 0) {
        input->n = rz_random_below(random, input->n + 1);
    }
    insert(random, input, other->bytes + from, n);
}

static void put_integer(struct rz_random *random, struct input *input, size_t at)
{
    size_t bytes = (size_t)1 << rz_random_below(random, 4);
    uint64_t value = interesting(random, input->n);
    bool big = rz_random_below(random, 8) == 0;
    for (size_t i = 0; i < bytes && at + i < input->n; i++) {
        input->bytes[at + i] = (uint8_t)(value >> (8 * (big ? bytes - 1 - i : i)));
    }
}

static void mutate(struct rz_random *random, struct input *input)
{
    size_t at = input->n ? rz_random_below(random, input->n) : 0;
    unsigned what = (unsigned)rz_random_below(random, 8);
    if (input->n == 0 && what < 5) {
        what = 5;
    }
    switch (what) {
    case 0:
        input->bytes[at] ^= (uint8_t)(1u << rz_random_below(random, 8));
        break;
    case 1:
        input->bytes[at] = (uint8_t)rz_random_next(random);
        break;
    case 2:
        put_integer(random, input, at);
        break;
    case 3:
        input->n = at;
        break;
    case 4: {
        size_t n = 1 + rz_random_below(random, input->n - at);
        memmove(input->bytes + at, input->bytes + at + n, input->n - at - n);
        input->n -= n;
        break;
    }
    case 5:
        insert_word(random, input);
        break;
    case 6: {
        size_t n = rz_random_below(random, input->n - at + 1);
        uint8_t *part = rz_fuzz_copy(input->bytes + at, n);
        insert(random, input, part, n);
        free(part);
        break;
    }
    default:
        splice_in(random, input);
    }
}

/* The input of a case; the caller frees it. The first cases are the seeds themselves. */
static struct input make_case(uint64_t number)
{
    struct input input = {malloc(rz_fuzz_target.input_max), 0};
    if (number < n_seeds) {
        input.n = seeds[number].n;
        memcpy(input.bytes, seeds[number].bytes, input.n);
        return input;
    }
    struct rz_random random = {rz_mix(options.seed, number)};
    const struct input *seed = &seeds[rz_random_below(&random, n_seeds)];
    input.n = seed->n;
    memcpy(input.bytes, seed->bytes, input.n);
    if (rz_random_below(&random, 16) == 0) {
        size_t most = rz_fuzz_target.input_max < 512 ? rz_fuzz_target.input_max : 512;
        input.n = rz_random_below(&random, most + 1);
        for (size_t i = 0; i < input.n; i++) {
            input.bytes[i] = (uint8_t)rz_random_next(&random);
        }
    }
    for (uint64_t n = 1 + rz_random_below(&random, MUTATIONS_MAX); n > 0; n--) {
        mutate(&random, &input);
    }
    return input;
}

/* ---- running ---- */

static void run(struct input input, uint64_t number, const char *file)
{
    static const struct itimerval bound = {.it_value.tv_sec = HANG_S}, none;
    now.input = (struct input){rz_fuzz_copy(input.bytes, input.n), input.n};
    now.number = number;
    now.file = file;
    now.asked = 0;
    setitimer(ITIMER_REAL, &bound, NULL);
    now.running = true;
    LLVMFuzzerTestOneInput(now.input.bytes, now.input.n);
    now.running = false;
    setitimer(ITIMER_REAL, &none, NULL);
    free(now.input.bytes);
    free(input.bytes);
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t campaign(void)
{
    double end = options.seconds > 0 ? seconds_now() + options.seconds : 0;
    uint64_t number = options.first, last = options.first + options.cases;
    if (!options.one && last < n_seeds) {
        last = n_seeds;
    }
    for (; end > 0 ? seconds_now() < end : number < last; number++) {
        run(make_case(number), number, NULL);
    }
    return number - options.first;
}

static void write_seeds(void)
{
    for (uint32_t i = 0; i < n_seeds; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/seed-%u", options.write_seeds, i);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(seeds[i].bytes, 1, seeds[i].n, file) != seeds[i].n ||
            fclose(file) != 0) {
            crash("cannot write", path);
        }
    }
}

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: %s [--cases N | --seconds T | --case K] [--seed S] [--corpus DIR] [--save DIR] "
            "[--write-seeds DIR] [FILE]...\n",
            rz_fuzz_target.name);
    exit(2);
}

static void take_option(const char *name, const char *value)
{
    char *end = NULL;
    if (strcmp(name, "--corpus") == 0) {
        options.corpus = value;
    } else if (strcmp(name, "--save") == 0) {
        options.save = value;
    } else if (strcmp(name, "--write-seeds") == 0) {
        options.write_seeds = value;
    } else if (strcmp(name, "--seed") == 0) {
        options.seed = strtoull(value, &end, 10);
    } else if (strcmp(name, "--cases") == 0) {
        options.cases = strtoull(value, &end, 10);
    } else if (strcmp(name, "--seconds") == 0) {
        options.seconds = strtod(value, &end);
    } else if (strcmp(name, "--case") == 0) {
        options.one = true, options.cases = 1, options.first = strtoull(value, &end, 10);
    } else {
        usage();
    }
    if (end && (end == value || *end)) {
        usage();
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' && options.n_files < sizeof(options.files) / sizeof(*options.files)) {
            options.files[options.n_files++] = argv[i];
        } else if (argv[i][0] == '-' && i + 1 < argc) {
            take_option(argv[i], argv[i + 1]), i++;
        } else {
            usage();
        }
    }
    make_seeds();
    prepare_last_words();
    uint64_t ran = options.n_files;
    if (options.write_seeds) {
        write_seeds();
    } else if (options.n_files == 0) {
        ran = campaign();
    }
    for (uint32_t i = 0; i < options.n_files; i++) {
        run(read_file(options.files[i]), 0, options.files[i]);
    }
    for (uint32_t i = 0; i < n_seeds; i++) {
        free(seeds[i].bytes);
    }
    printf("%s: %llu inputs from %u seeds, seed %llu: all properties held\n", rz_fuzz_target.name,
           (unsigned long long)ran, n_seeds, (unsigned long long)options.seed);
    return 0;
}
