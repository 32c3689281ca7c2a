/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, the choice between the ways, times, and faults: see recovery.h. */
#include "recovery.h"

#include "recovery_buddy.h"
#include "recovery_files.h"
#include "recovery_ulfm.h"

#ifdef RECOVERY_SURVIVES
#include <mpi-ext.h>
#include <rhizome/checkpoint.h>
#endif

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum failure { NO_FAILURE, PROCESS, NODE };

enum { FAULTS_MAX = 64, TIMES_REGION = RECOVERY_REGIONS_MAX };

/* Seconds. */
struct times {
    double total, checkpoint, restore, recovery;
};

struct region {
    void *memory;
    size_t bytes;
};

/* A way to survive; those of this MPI are in a table below. */
struct way {
    const char *name;
    int (*run)(int argc, char **argv); /* the loop, to its end */
    MPI_Comm (*world)(void);
    void (*use)(MPI_Comm comm);
    bool (*restore)(void);
    void (*save)(uint64_t version);
    uint64_t (*recoveries)(void); /* before this entry to the loop, as far as this process knows */
};

/* A process fails when it begins this iteration, or all of its node. */
struct fault {
    uint64_t iteration;
    int rank;
};

static struct {
    const char *program;
    const struct way *way;
    enum recovery_repair repair;
    const char *files; /* the directory for checkpoints of ulfm; NULL: in memory */
    uint64_t every;
    bool every_given;
    enum failure failure;
    uint64_t fail_seed, fail_count, iterations;
} options = {.program = "program", .fail_seed = 1, .fail_count = 1, .iterations = 1};

static struct {
    int (*loop)(void);
    int rank, size;
    struct region regions[RECOVERY_REGIONS_MAX];
    struct fault faults[FAULTS_MAX];
    uint64_t passes; /* of MPIX_Reinit, after the first */
    uint64_t recoveries;
    double begun, stamp; /* the last time without an error */
    struct times times, joined;
    double earlier; /* seconds of earlier attempts */
} run;

const char recovery_usage[] =
    "  --checkpoint-every K  iterations between checkpoints, 0 for none (with --method: 1)\n"
    "  --method M            how to survive: reinit (MPIX_Reinit; the default), ulfm (revoke and\n"
    "                        repair), restart (rzrun --on-failure restart --checkpoint-dir DIR),\n"
    "                        plain (not at all; for an MPI without fault tolerance)\n"
    "  --repair R            with ulfm: replace (RZ_Comm_replace) or spawn (MPI_Comm_spawn)\n"
    "  --checkpoint-files DIR  with ulfm: checkpoints in files there, which all nodes see, "
    "instead\n"
    "                        of in the memory of two nodes\n"
    "  --fail process|node   a random rank kills itself, or its node's daemon, at the begin of a\n"
    "                        random iteration, the same ones with all methods\n"
    "  --fail-seed S         what is random there (1)\n"
    "  --fail-count N        how often, up to 64 (1)\n";

static int enter_loop(bool again);

/* ---- plain ---- */

static MPI_Comm world_of_mpi(void)
{
    return MPI_COMM_WORLD;
}

static void use_nothing(MPI_Comm comm)
{
    (void)comm; /* removed with all others when the loop is entered again */
}

static uint64_t no_recoveries(void)
{
    return 0;
}

static int run_once(int argc, char **argv)
{
    (void)argc, (void)argv;
    return enter_loop(false);
}

#ifdef RECOVERY_SURVIVES
/* ---- reinit and restart: checkpoints are the library's ---- */

/* The times of earlier attempts, as far as they were saved; part of each checkpoint. */
static struct times saved;

static void protect_all(void)
{
    for (int id = 0; id < RECOVERY_REGIONS_MAX; id++) {
        if (run.regions[id].bytes > 0 &&
            RZ_Checkpoint_protect(id, run.regions[id].memory, run.regions[id].bytes) !=
                MPI_SUCCESS) {
            recovery_fail("region %d cannot be protected", id);
        }
    }
}

static bool restore_generation(void)
{
    uint64_t generation = 0;
    protect_all();
    if (RZ_Restore(&generation) != MPI_SUCCESS) {
        recovery_fail("the checkpoint cannot be restored");
    }
    return generation > 0;
}

static void save_generation(uint64_t version)
{
    (void)version;
    if (RZ_Checkpoint(NULL) != MPI_SUCCESS) {
        recovery_fail("no checkpoint can be written");
    }
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv;
    return enter_loop(state != MPIX_REINIT_NEW);
}

static int run_reinit(int argc, char **argv)
{
    return MPIX_Reinit(argc, argv, point);
}

static uint64_t passes(void)
{
    return run.passes;
}

/* A new process each time: what it knows of earlier ones comes from the checkpoint. */
static bool restore_attempt(void)
{
    RZ_Checkpoint_protect(TIMES_REGION, &saved, sizeof(saved));
    if (!restore_generation()) {
        return false;
    }
    run.times.checkpoint += saved.checkpoint;
    run.times.restore += saved.restore;
    run.earlier = saved.total;
    return true;
}

static void save_attempt(uint64_t version)
{
    saved = run.times;
    saved.total = run.earlier + MPI_Wtime() - run.begun;
    save_generation(version);
}

static uint64_t earlier_attempts(void)
{
    const char *attempt = getenv("RZ_ATTEMPT");
    uint64_t value = attempt ? strtoull(attempt, NULL, 10) : 0;
    return value > 0 ? value - 1 : 0;
}

/* ---- ulfm: checkpoints are copies, in the memory of processes or in files ---- */

static const struct recovery_store *store(void)
{
    return options.files ? &recovery_files : &recovery_buddy;
}

static size_t regions_bytes(void)
{
    size_t sum = sizeof(run.regions);
    for (int id = 0; id < RECOVERY_REGIONS_MAX; id++) {
        sum += run.regions[id].bytes;
    }
    return sum;
}

static void save_copy(uint64_t version)
{
    unsigned char *at = store()->next(regions_bytes());
    memcpy(at, run.regions, sizeof(run.regions)); /* the sizes are checked when it is restored */
    at += sizeof(run.regions);
    for (int id = 0; id < RECOVERY_REGIONS_MAX; id++) {
        if (run.regions[id].bytes > 0) {
            memcpy(at, run.regions[id].memory, run.regions[id].bytes);
        }
        at += run.regions[id].bytes;
    }
    store()->save(recovery_world(), version); /* an error jumps */
    recovery_ulfm_commit();
    store()->settle();
}

static bool restore_copy(void)
{
    size_t bytes;
    struct region regions[RECOVERY_REGIONS_MAX];
    const unsigned char *at = store()->own(&bytes);
    if (!at) {
        return false;
    }
    memcpy(regions, at, sizeof(regions));
    at += sizeof(regions);
    for (int id = 0; id < RECOVERY_REGIONS_MAX; id++) {
        if (regions[id].bytes != run.regions[id].bytes) {
            recovery_fail("region %d has %zu bytes, and %zu in the checkpoint", id,
                          run.regions[id].bytes, regions[id].bytes);
        }
        if (regions[id].bytes > 0) {
            memcpy(run.regions[id].memory, at, regions[id].bytes);
        }
        at += regions[id].bytes;
    }
    return true;
}

static int run_ulfm(int argc, char **argv)
{
    (void)argc;
    if (options.files) {
        recovery_files_open(options.files);
    }
    return recovery_ulfm_run(argv, options.repair, store(), enter_loop);
}
#endif

static const struct way ways[] = {
#ifdef RECOVERY_SURVIVES
    {"reinit", run_reinit, world_of_mpi, use_nothing, restore_generation, save_generation, passes},
    {"ulfm", run_ulfm, recovery_ulfm_world, recovery_ulfm_use, restore_copy, save_copy,
     recovery_ulfm_repairs},
    {"restart", run_once, world_of_mpi, use_nothing, restore_attempt, save_attempt,
     earlier_attempts},
#endif
    {"plain", run_once, world_of_mpi, use_nothing, NULL, NULL, no_recoveries},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL}};

/* ---- Options ---- */

void recovery_open(const struct recovery_defaults *defaults)
{
    options.program = defaults->program;
    options.every = defaults->checkpoint_every;
}

void recovery_iterations(uint64_t iterations)
{
    options.iterations = iterations;
}

static enum recovery_taken wrong(bool loud, const char *name, const char *value, const char *wanted)
{
    if (loud) {
        fprintf(stderr, "%s: %s '%s' is not %s; see --help\n", options.program, name,
                value ? value : "", wanted);
    }
    return RECOVERY_WRONG;
}

/* The index of a word in a list that ends with NULL; -1: it is not there. */
static int find(const char *const *words, const char *word)
{
    for (int i = 0; word && words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

static bool number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    char *end;
    if (!text || !*text || text[strspn(text, "0123456789")] || strlen(text) > 18) {
        return false;
    }
    *value = strtoull(text, &end, 10);
    return *value >= low && *value <= high;
}

static enum recovery_taken take_method(const char *value, bool loud)
{
    for (const struct way *way = ways; value && way->name; way++) {
        if (strcmp(way->name, value) == 0) {
            options.way = way;
            options.every = options.every_given ? options.every : 1;
            return RECOVERY_TAKEN;
        }
    }
    return wrong(loud, "--method", value, "a way to survive with this MPI");
}

static enum recovery_taken take_repair(const char *value, bool loud)
{
    static const char *const repairs[] = {"replace", "spawn", NULL};
    int found = find(repairs, value);
    if (found < 0) {
        return wrong(loud, "--repair", value, "replace or spawn");
    }
    options.repair = (enum recovery_repair)found;
    return RECOVERY_TAKEN;
}

static enum recovery_taken take_failure(const char *value, bool loud)
{
    static const char *const failures[] = {"process", "node", NULL};
    int found = find(failures, value);
    if (found < 0) {
        return wrong(loud, "--fail", value, "process or node");
    }
    options.failure = found == 0 ? PROCESS : NODE;
    return RECOVERY_TAKEN;
}

enum recovery_taken recovery_option(const char *name, const char *value, bool loud)
{
    if (strcmp(name, "--method") == 0) {
        return take_method(value, loud);
    }
    if (strcmp(name, "--repair") == 0) {
        return take_repair(value, loud);
    }
    if (strcmp(name, "--checkpoint-files") == 0) {
        options.files = value;
        return value && *value ? RECOVERY_TAKEN : wrong(loud, name, value, "a directory");
    }
    if (strcmp(name, "--fail") == 0) {
        return take_failure(value, loud);
    }
    if (strcmp(name, "--checkpoint-every") == 0) {
        options.every_given = true;
        return number(value, 0, 1000000000, &options.every)
                   ? RECOVERY_TAKEN
                   : wrong(loud, name, value, "a whole number from 0 to 1000000000");
    }
    if (strcmp(name, "--fail-seed") == 0) {
        return number(value, 0, UINT64_MAX, &options.fail_seed)
                   ? RECOVERY_TAKEN
                   : wrong(loud, name, value, "a whole number of at most 18 digits");
    }
    if (strcmp(name, "--fail-count") == 0) {
        return number(value, 0, FAULTS_MAX, &options.fail_count)
                   ? RECOVERY_TAKEN
                   : wrong(loud, name, value, "a whole number from 0 to 64");
    }
    return RECOVERY_NOT_MINE;
}

/* ---- Common to all ways ---- */

static const struct way *way(void)
{
    return options.way ? options.way : &ways[0];
}

MPI_Comm recovery_world(void)
{
    return way()->world();
}

int recovery_rank(void)
{
    return run.rank;
}

void recovery_use(MPI_Comm comm)
{
    way()->use(comm);
}

/* ---- Faults ---- */

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * OOPSLA 2014). */
static uint64_t mix(uint64_t word)
{
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

static int by_iteration(const void *left, const void *right)
{
    uint64_t a = ((const struct fault *)left)->iteration;
    uint64_t b = ((const struct fault *)right)->iteration;
    return (a > b) - (a < b);
}

/* The same draw for all methods and ranks. Not in the first two iterations, if there are more: a
 * checkpoint after the first one is committed when the second one is over. */
static void draw_faults(void)
{
    uint64_t first = options.iterations > 2 ? 2 : 0, choices = options.iterations - first;
    for (uint64_t i = 0; i < options.fail_count; i++) {
        uint64_t when = mix(mix(options.fail_seed) + 2 * i), victim = mix(when);
        run.faults[i].iteration = choices > 0 ? first + when % choices : 0;
        run.faults[i].rank = (int)(victim % (uint64_t)run.size);
    }
    qsort(run.faults, options.fail_count, sizeof(*run.faults), by_iteration);
}

/* Each fault occurs once: the first before any recovery, the next after one, and so on. */
static void strike(uint64_t iteration)
{
    if (options.failure == NO_FAILURE || run.recoveries >= options.fail_count) {
        return;
    }
    const struct fault *fault = &run.faults[run.recoveries];
    if (fault->iteration != iteration || fault->rank != run.rank) {
        return;
    }
    fprintf(stderr, "%s: rank %d ends its %s at iteration %llu\n", options.program, run.rank,
            options.failure == NODE ? "node" : "process", (unsigned long long)iteration);
    if (options.failure == NODE) {
        kill(getppid(), SIGKILL); /* the daemon; its keeper ends the whole node */
    }
    raise(SIGKILL);
}

/* ---- Times ---- */

/* The same number at all. It costs a reduction, so only if it is requested. */
static void count_recoveries(void)
{
    uint64_t mine = way()->recoveries();
    if (options.failure == NO_FAILURE) {
        return;
    }
    MPI_Allreduce(&mine, &run.recoveries, 1, MPI_UINT64_T, MPI_MAX, recovery_world());
    run.passes = run.recoveries;
}

/* Before each entry to the loop. */
static void entered(bool again)
{
    double now = MPI_Wtime();
    if (again) {
        run.times.recovery += now - run.stamp;
    }
    run.stamp = now;
    run.passes += again;
    MPI_Comm_rank(recovery_world(), &run.rank);
    MPI_Comm_size(recovery_world(), &run.size);
    draw_faults();
    count_recoveries();
}

/* The largest of all ranks. */
static void join_times(void)
{
    struct times mine = run.times;
    mine.total = run.earlier + MPI_Wtime() - run.begun;
    MPI_Allreduce(&mine, &run.joined, sizeof(mine) / sizeof(double), MPI_DOUBLE, MPI_MAX,
                  recovery_world());
}

static void print_times(void)
{
    const struct times *t = &run.joined;
    double rest = t->total - t->checkpoint - t->restore - t->recovery;
    if (run.rank == 0) {
        fprintf(stderr,
                "times total %.6f application %.6f checkpoint %.6f restore %.6f recovery %.6f\n",
                t->total, rest > 0 ? rest : 0.0, t->checkpoint, t->restore, t->recovery);
    }
}

static int enter_loop(bool again)
{
    entered(again);
    int result = run.loop();
    join_times();
    return result;
}

int recovery_run(int argc, char **argv, int (*loop)(void))
{
    run.loop = loop;
    run.begun = run.stamp = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &run.rank);
    if (options.files && strcmp(way()->name, "ulfm") != 0 && run.rank == 0) {
        recovery_fail("--checkpoint-files is for --method ulfm; the files of others are rzrun's "
                      "(--checkpoint-dir)");
    }
    int result = way()->run(argc, argv);
    if (result == 0 && options.way) {
        print_times();
    }
    if (run.recoveries < options.fail_count && options.failure != NO_FAILURE && run.rank == 0) {
        fprintf(stderr, "%s: of %llu failures requested by --fail %llu occurred\n", options.program,
                (unsigned long long)options.fail_count, (unsigned long long)run.recoveries);
    }
    return result;
}

/* ---- The loop's calls ---- */

bool recovery_checkpoints(void)
{
    return options.every > 0 && way()->save;
}

void recovery_protect(int id, void *memory, size_t bytes)
{
    if (id < 0 || id >= RECOVERY_REGIONS_MAX || (!memory && bytes > 0)) {
        recovery_fail("region %d of %zu bytes cannot be protected", id, bytes);
    }
    run.regions[id] = (struct region){memory, bytes};
}

bool recovery_restore(void)
{
    double begun = MPI_Wtime();
    bool found = recovery_checkpoints() && way()->restore();
    run.stamp = MPI_Wtime();
    run.times.restore += run.stamp - begun;
    return found;
}

void recovery_mark(uint64_t iteration)
{
    run.stamp = MPI_Wtime();
#ifdef RECOVERY_SURVIVES
    RZ_Progress_mark(iteration);
#endif
    strike(iteration);
}

bool recovery_checkpoint_due(uint64_t iterations)
{
    return recovery_checkpoints() && iterations > 0 && iterations % options.every == 0;
}

void recovery_checkpoint(uint64_t iterations)
{
    if (!recovery_checkpoint_due(iterations)) {
        return;
    }
    double begun = MPI_Wtime();
    way()->save(iterations);
    run.stamp = MPI_Wtime();
    run.times.checkpoint += run.stamp - begun;
}

_Noreturn void recovery_fail(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s: %s\n", options.program,
            text); /* in one piece: others may print the same */
    MPI_Comm world = recovery_world();
    MPI_Abort(world == MPI_COMM_NULL ? MPI_COMM_WORLD : world, 1);
    exit(1);
}
