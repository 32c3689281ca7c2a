/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HyperQuickSort that survives the loss of processes: sorts COUNT pseudo-random integers on a
 * hypercube of virtual processes; the live and recommended processes act for these. After
 *
 *   Camargo, Duarte: "Running resilient MPI applications on a dynamic group of recommended
 *   processes", Journal of the Brazilian Computer Society 24:5 (2018),
 *
 *   hyperquicksort COUNT [options]                                 see usage below, and README.md
 *
 * The last line of standard output is `sorted COUNT in T s`; before it everything was checked.
 */
#include "sort.h"

#include "group_program.h"
#include "leave.h"

#include <rhizome/checkpoint.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct sort_way *const ways[] = {&sort_group_way, &sort_group_leave_way,
                                              &sort_ulfm_way};
static const char *const distributions[] = {"uniform", "few", "sorted", "equal", NULL};

struct sort_options sort_options = {.seed = 1, .way = &sort_group_way};
struct sort_times sort_times;

static int store = -1; /* 1: --store file was given, -1: none */

static const char usage[] =
    "usage: hyperquicksort COUNT [options]\n"
    "Sorts COUNT pseudo-random 32-bit integers and checks the result.\n"
    "  --virtual P           virtual processes, each with a list: a power of two up to 4096\n"
    "                        (the least one that all processes fit into)\n"
    "  --method M            dgrp: the dynamic group of recommended processes (the default);\n"
    "                        no-rejoin: the same, an excluded process stays out; ulfm: revoke, "
    "agree,\n"
    "                        shrink: only the failed processes are out\n"
    "  --distribution D      uniform (the default), few (16 values), sorted, equal\n"
    "  --seed S              of the integers (1)\n"
    "  --store W             where checkpoints are: memory (of the machine; the default), or file\n"
    "  --dir D               with --store file: a folder that all nodes see\n"
    "  --fail-damage         a leaving process damages all checkpoints before\n"
    "  --times               where the time went, on standard error\n"
    "  --progress            the step under way, on standard error\n";

_Noreturn void sort_fatal(const char *format, ...)
{
    char line[16384];
    int runs = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "hyperquicksort: %s\n", line);
    fflush(stderr);
    MPI_Initialized(&runs);
    if (runs) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    exit(1);
}

void *sort_memory(void *old, uint64_t n, size_t size)
{
    void *memory = n <= SIZE_MAX / size ? realloc(old, n > 0 ? n * size : 1) : NULL;
    if (!memory) {
        sort_fatal("no memory for %llu times %zu bytes; take fewer elements, or more processes",
                   (unsigned long long)n, size);
    }
    return memory;
}

uint32_t sort_steps(void)
{
    return sort_options.dimensions + 3; /* generation 0, the check, the result */
}

/* ---- Options ---- */

static int word(const char *name, const char *text, const char *const *words, const char *wanted)
{
    for (int i = 0; text && words[i]; i++) {
        if (*text && strcmp(words[i], text) == 0) {
            return i;
        }
    }
    group_wrong(name, text, wanted);
}

static void take_way(const char *text)
{
    for (size_t i = 0; text && i < sizeof(ways) / sizeof(*ways); i++) {
        if (strcmp(ways[i]->name, text) == 0) {
            sort_options.way = ways[i];
            return;
        }
    }
    group_wrong("--method", text, "dgrp, no-rejoin or ulfm");
}

static bool take_flag(const char *name)
{
    struct sort_options *o = &sort_options;
    bool *flag = strcmp(name, "--times") == 0         ? &o->times
                 : strcmp(name, "--progress") == 0    ? &o->progress
                 : strcmp(name, "--fail-damage") == 0 ? &o->fail_damage
                                                      : NULL;
    if (flag) {
        *flag = true;
    }
    return flag != NULL;
}

static void take_virtuals(const char *value)
{
    uint64_t n = group_number("--virtual", value, 1, SORT_VIRTUAL_MAX);
    if (n & (n - 1)) {
        group_wrong("--virtual", value, "a power of two");
    }
    sort_options.virtuals = (uint32_t)n;
}

static bool take_option(const char *name, const char *value)
{
    static const char *const stores[] = {"memory", "file", NULL};
    struct sort_options *o = &sort_options;
    if (strcmp(name, "--virtual") == 0) {
        take_virtuals(value);
    } else if (strcmp(name, "--method") == 0) {
        take_way(value);
    } else if (strcmp(name, "--distribution") == 0) {
        o->distribution = (enum sort_distribution)word(name, value, distributions,
                                                       "uniform, few, sorted or equal");
    } else if (strcmp(name, "--seed") == 0) {
        o->seed = group_number(name, value, 0, UINT64_MAX);
    } else if (strcmp(name, "--store") == 0) {
        store = word(name, value, stores, "memory or file");
    } else if (strcmp(name, "--dir") == 0) {
        o->folder = value ? value : "";
    } else {
        return false;
    }
    return true;
}

static const struct group_program program = {.name = "hyperquicksort",
                                             .usage = usage,
                                             .operand = "COUNT",
                                             .most = UINT64_C(1) << 40,
                                             .value = &sort_options.count,
                                             .flag = take_flag,
                                             .option = take_option};

static void parse(int argc, char **argv)
{
    group_parse(&program, argc, argv);
    if (store == 1 && !sort_options.folder) {
        group_refuse("--store file needs --dir D, a folder that all nodes see");
    }
    if (store != 1 && sort_options.folder) {
        group_refuse("--dir '%s' goes with --store file, which is not there", sort_options.folder);
    }
    if (store == 1 && !sort_options.folder[0]) {
        group_wrong("--dir", "", "a folder");
    }
}

/* ---- The run ---- */

static void fit_virtuals(int size)
{
    struct sort_options *o = &sort_options;
    while (o->virtuals == 0 || (UINT32_C(1) << o->dimensions) < o->virtuals) {
        if (o->virtuals == 0 && UINT32_C(1) << o->dimensions >= (uint32_t)size) {
            o->virtuals = UINT32_C(1) << o->dimensions;
        } else {
            o->dimensions++;
        }
    }
    if (o->virtuals > SORT_VIRTUAL_MAX) {
        sort_fatal("more than %d processes; take --virtual %d", SORT_VIRTUAL_MAX, SORT_VIRTUAL_MAX);
    }
}

/* At all places of all steps with lists, and at the begin of the check. */
static void open_leaving(int rank, int size)
{
    uint64_t moments = (sort_options.dimensions + 1) * (uint64_t)SORT_PLACES + 1;
    bool is_ulfm =
        sort_options.way == &sort_ulfm_way; /* there a process that does not fail comes back */
    if (!is_ulfm && leave_is_by_all(size)) {
        sort_store_close(true);
    }
    if (is_ulfm) {
        leave_open("hyperquicksort", rank, size, moments);
    } else {
        group_leaving(rank, size, moments);
    }
    if (sort_options.fail_damage) {
        leave_before(sort_store_damage);
    }
}

void sort_leave_at(uint32_t step, enum sort_place place)
{
    leave_at(step * (uint64_t)SORT_PLACES + place);
}

static void show_progress(const struct sort_turn *turn)
{
    RZ_Progress_mark(turn->step);
    if (sort_options.progress && turn->rank == 0) {
        fprintf(stderr, "step %u of %u: round %llu, %d processes\n", turn->step, sort_steps() - 1,
                (unsigned long long)turn->round, turn->size);
    }
}

/* Until all steps are done, or this process leaves permanently; true: they are. */
static bool run(void)
{
    static struct sort_turn turn;
    bool done = false, leaves = sort_options.way != &sort_ulfm_way;
    for (;;) {
        sort_options.way->next(&turn, done);
        done = false;
        if (turn.step >= sort_steps()) {
            sort_step_show(&turn);
            return true;
        }
        if (turn.comm == MPI_COMM_NULL) {
            continue;
        }
        show_progress(&turn);
        done = sort_step(&turn);
        if (leaves && leave_is_for_good()) {
            return false;
        }
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    parse(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    sort_store_open();
    MPI_Comm all = sort_options.way->open();
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    if (!sort_store_is_shared(all)) {
        if (rank == 0) {
            sort_fatal("not all processes see the same checkpoints; take --store file with a "
                       "folder that all nodes see");
        }
        MPI_Barrier(all); /* that ends with the job */
    }
    fit_virtuals(size);
    open_leaving(rank, size);
    sort_times.begun = MPI_Wtime();
    bool all_done = run();
    int status = sort_options.way->close(all_done);
    sort_store_close(all_done || status != 0);
    sort_step_close();
    MPI_Finalize();
    return status;
}
