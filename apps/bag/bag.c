/*
 * A bag of tasks of unequal length on a dynamic group of recommended processes: whoever dies, stops
 * or is slow meanwhile, the checksum of all results is that of an undisturbed run.
 *
 *   bag TASKS [--work W] [--failure-seconds S] [--group KEY=VALUE] [--times] [--fail ...]
 *
 * A task is a walk through a sequence of pseudo-random numbers, of W to 16 W thousand steps. The
 * last line of standard output is `bag of TASKS: CHECKSUM`.
 */
#include "leave.h"

#include <rhizome/tasks.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTHS = 16, STEPS = 1000, MOMENTS = 8 };

static struct {
    uint64_t tasks, work;
    double failure_seconds;
    bool times;
} options = {.work = 100};

static const char usage[] =
    "usage: bag TASKS [options]\n"
    "  --work W              a task takes W to 16 W thousand steps (100)\n"
    "  --failure-seconds S   a process is expected to fall out every S seconds (0: never)\n"
    "  --group KEY=VALUE     a setting of the group, as `interval=100ms`; may be repeated\n"
    "  --times               rounds and time, on standard error\n"
    "%s"
    "  --help\n";

static _Noreturn void fail(const char *what, int error)
{
    char words[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(error, words, &n);
    fprintf(stderr, "bag: %s: %s\n", what, words);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

static void must(const char *what, int error)
{
    if (error != MPI_SUCCESS)
        fail(what, error);
}

/* ---- Options */

static _Noreturn void wrong(const char *name, const char *value, const char *wanted)
{
    fprintf(stderr, "bag: %s '%s' is not %s; see --help\n", name, value ? value : "", wanted);
    exit(2);
}

static uint64_t number(const char *name, const char *text, uint64_t low, uint64_t high)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu", (unsigned long long)low,
             (unsigned long long)high);
    bool digits = text && *text && strlen(text) <= 18 && !text[strspn(text, "0123456789")];
    uint64_t value = digits ? strtoull(text, NULL, 10) : 0;
    if (!digits || value < low || value > high)
        wrong(name, text, wanted);
    return value;
}

static double seconds(const char *name, const char *text)
{
    char *end = NULL;
    double value = text && *text ? strtod(text, &end) : -1;
    if (!end || *end || !(value >= 0 && value <= 1e9))
        wrong(name, text, "a time in seconds, from 0 to 1e9");
    return value;
}

static void set_key(MPI_Info info, const char *text)
{
    char key[MPI_MAX_INFO_KEY];
    size_t n = text ? strcspn(text, "=") : 0;
    if (n == 0 || n >= sizeof key || !text[n])
        wrong("--group", text, "a setting KEY=VALUE");
    memcpy(key, text, n);
    key[n] = '\0';
    MPI_Info_set(info, key, text + n + 1);
}

static void take(const char *name, const char *value, MPI_Info info)
{
    if (strcmp(name, "--work") == 0)
        options.work = number(name, value, 0, 1000000000);
    else if (strcmp(name, "--failure-seconds") == 0)
        options.failure_seconds = seconds(name, value);
    else if (strcmp(name, "--group") == 0)
        set_key(info, value);
    else
        wrong("the argument", name, "an option");
}

static void parse(int argc, char **argv, MPI_Info info)
{
    bool counted = false;
    for (int i = 1; i < argc; i++) {
        bool flag = strcmp(argv[i], "--times") == 0;
        options.times |= flag;
        if (strcmp(argv[i], "--help") == 0) {
            printf(usage, leave_usage);
            exit(0);
        }
        if (!flag && !counted && argv[i][0] != '-') {
            options.tasks = number("TASKS", argv[i], 0, RZ_TASKS_MAX);
            counted = true;
        } else if (!flag) {
            enum leave_taken taken = leave_option("bag", argv[i], argv[i + 1]);
            if (taken == LEAVE_WRONG)
                exit(2);
            if (taken == LEAVE_NOT_MINE)
                take(argv[i], argv[i + 1], info);
            i++;
        }
    }
    if (!counted)
        wrong("TASKS", NULL, "there");
}

/* ---- Work */

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * OOPSLA 2014). */
static uint64_t mix(uint64_t word)
{
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

static uint64_t work(int id)
{
    uint64_t word = mix((uint64_t)id), steps = (1 + word % LENGTHS) * options.work * STEPS;
    for (uint64_t i = 0; i < steps; i++)
        word = mix(word);
    return word;
}

/* Until all is done, or this process has left for good: false. */
static bool empty(RZ_Tasks tasks)
{
    int id, flag;
    for (uint64_t done = 0;; done++) {
        must("no task is to be had", RZ_Tasks_claim(tasks, &id, &flag));
        if (!flag)
            return true;
        leave_at(done);
        if (leave_is_for_good())
            return false;
        uint64_t result = work(id);
        must("a task cannot be completed", RZ_Tasks_complete(tasks, id, &result));
    }
}

/* ---- The end */

/* The deaths are known, and the program goes on without these processes. */
static void acknowledge(void)
{
    int dead, acknowledged;
    MPI_Group failed;
    if (MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed) != MPI_SUCCESS)
        return;
    MPI_Group_size(failed, &dead);
    MPI_Group_free(&failed);
    MPIX_Comm_ack_failed(MPI_COMM_WORLD, dead, &acknowledged);
}

/* Whether this is the first member of the last view. */
static bool is_first(MPIX_Group_monitor monitor, int rank, int size)
{
    MPI_Count round;
    int n, *members = malloc((size_t)size * sizeof *members);
    if (!members)
        return false;
    must("there was no round", MPIX_Group_monitor_get_round(monitor, &round, &n, members));
    bool first = n > 0 && members[0] == rank;
    free(members);
    return first;
}

static void show(RZ_Tasks tasks, double begun)
{
    const void *results;
    uint64_t checksum = 0;
    int rounds, completed;
    if (RZ_Tasks_results(tasks, &results) != MPI_SUCCESS)
        return;
    for (uint64_t id = 0; id < options.tasks; id++)
        checksum = mix(checksum ^ ((const uint64_t *)results)[id]);
    must("no count", RZ_Tasks_count(tasks, &rounds, &completed));
    if (options.times)
        fprintf(stderr, "times total %.6f rounds %d own-tasks %d\n", MPI_Wtime() - begun, rounds,
                completed);
    printf("bag of %llu: %016llx\n", (unsigned long long)options.tasks,
           (unsigned long long)checksum);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPIX_Group_monitor monitor = MPIX_GROUP_MONITOR_NULL;
    RZ_Tasks tasks;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Info_create(&info);
    parse(argc, argv, info);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leave_open("bag", rank, size, MOMENTS);
    double begun = MPI_Wtime();
    must("the group cannot be watched",
         MPIX_Group_monitor_start(MPI_COMM_WORLD, info, leave_test, NULL, &monitor));
    RZ_Tasks_options more = {.failure_seconds = options.failure_seconds};
    must("no bag", RZ_Tasks_open(monitor, (int)options.tasks, sizeof(uint64_t), &more, &tasks));
    bool done = empty(tasks);
    acknowledge();
    if (done && is_first(monitor, rank, size))
        show(tasks, begun);
    RZ_Tasks_close(&tasks);
    MPIX_Group_monitor_stop(&monitor);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
