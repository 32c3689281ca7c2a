/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the dynamic group's programs: command line, and opening and closing the group.
 */
#include "group_program.h"

#include "leave.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct group_program *program;
static const char *settings[GROUP_SETTINGS_MAX]; /* "KEY=VALUE" */
static int n_settings;

static const char *const keys[] = {
    "interval",        "zeta",       "threshold",    "factor", "first_threshold",
    "least_threshold", "assignment", "local_health", "name",   NULL};

static const char usage[] =
    "  --group KEY=VALUE     a setting of the group, as `interval=100ms`; may be repeated\n";

/* ---- The command line ---- */

_Noreturn void group_refuse(const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "%s: ", program->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; see --help\n");
    exit(2);
}

_Noreturn void group_wrong(const char *name, const char *value, const char *wanted)
{
    group_refuse("%s '%s' is not %s", name, value ? value : "", wanted);
}

uint64_t group_number(const char *name, const char *text, uint64_t least, uint64_t most)
{
    char wanted[80], *end = NULL;
    snprintf(wanted, sizeof(wanted), "a whole number from %llu to %llu", (unsigned long long)least,
             (unsigned long long)most);
    errno = 0;
    uint64_t value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || errno != 0 || value < least || value > most) {
        group_wrong(name, text, wanted);
    }
    return value;
}

static bool is_key(const char *text, size_t n)
{
    int i = 0;
    while (keys[i] && !(strlen(keys[i]) == n && strncmp(keys[i], text, n) == 0)) {
        i++;
    }
    return keys[i] != NULL;
}

static void take_setting(const char *text)
{
    size_t n = text ? strcspn(text, "=") : 0, value = n > 0 && text[n] ? strlen(text + n + 1) : 0;
    if (value == 0 || value >= MPI_MAX_INFO_VAL || n_settings == GROUP_SETTINGS_MAX) {
        group_wrong("--group", text, "one of at most 16 settings KEY=VALUE");
    }
    if (!is_key(text, n)) {
        group_wrong("--group", text,
                    "interval=, zeta=, threshold=, factor=, first_threshold=, least_threshold=, "
                    "assignment=, local_health= or name= something");
    }
    settings[n_settings++] = text;
}

static void take_option(const char *name, const char *value)
{
    enum leave_taken taken = leave_option(program->name, name, value);
    if (taken == LEAVE_WRONG) {
        exit(2);
    }
    if (taken == LEAVE_TAKEN) {
        return;
    }
    if (strcmp(name, "--group") == 0) {
        take_setting(value);
    } else if (!program->option(name, value)) {
        group_wrong("the argument", name, "an option");
    }
}

void group_parse(const struct group_program *of, int argc, char **argv)
{
    bool counted = false;
    program = of;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            printf("%s%s%s  --help\n", program->usage, usage, leave_usage);
            exit(0);
        }
        if (program->flag(argv[i])) {
            continue;
        }
        if (argv[i][0] != '-' && !counted) {
            *program->value =
                group_number(program->operand, argv[i], program->least, program->most);
            counted = true;
        } else {
            take_option(argv[i], argv[i + 1]);
            i++;
        }
    }
    if (!counted) {
        group_wrong(program->operand, NULL, "there");
    }
}

/* ---- Errors ---- */

_Noreturn void group_fail(const char *what, int error)
{
    char words[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(error, words, &n);
    fprintf(stderr, "%s: %s: %s\n", program->name, what, words);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void group_must(const char *what, int error)
{
    if (error != MPI_SUCCESS) {
        group_fail(what, error);
    }
}

/* ---- The group ---- */

static void set(MPI_Info info, const char *setting)
{
    char key[MPI_MAX_INFO_KEY];
    size_t n = strcspn(setting, "=");
    snprintf(key, sizeof(key), "%.*s", (int)n, setting);
    MPI_Info_set(info, key, setting + n + 1);
}

static MPI_Info make_info(const char *fixed)
{
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < n_settings; i++) {
        set(info, settings[i]);
    }
    if (fixed) {
        set(info, fixed);
    }
    return info;
}

/* All have the same error: one prints it. */
static _Noreturn void refuse(MPI_Comm comm, int error)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank != 0) {
        MPI_Barrier(comm); /* that ends with the job */
    }
    group_fail("the group cannot be watched", error);
}

/* The live processes of *comm. */
static void shrink(MPI_Comm *comm)
{
    MPI_Comm living;
    group_must("the processes left are no group", MPIX_Comm_shrink(*comm, &living));
    if (*comm != MPI_COMM_WORLD) {
        MPI_Comm_free(comm);
    }
    *comm = living;
}

void group_open(struct group *group, const char *fixed)
{
    MPI_Info info = make_info(fixed);
    *group = (struct group){.monitor = RZ_GROUP_MONITOR_NULL, .comm = MPI_COMM_WORLD};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (;;) {
        int class, error;
        error = RZ_Group_monitor_start(group->comm, info, leave_test, NULL, &group->monitor);
        if (error == MPI_SUCCESS) {
            break;
        }
        MPI_Error_class(error, &class);
        if (class != MPIX_ERR_PROC_FAILED) {
            refuse(group->comm, error);
        }
        shrink(&group->comm);
    }
    MPI_Info_free(&info);
    MPI_Comm_rank(group->comm, &group->rank);
    MPI_Comm_size(group->comm, &group->size);
}

void group_acknowledge(struct group *group)
{
    int n_failed;
    MPI_Group failed;
    if (MPIX_Comm_get_failed(group->comm, &failed) != MPI_SUCCESS) {
        return;
    }
    MPI_Group_size(failed, &n_failed);
    MPI_Group_free(&failed);
    if (n_failed > group->acknowledged) {
        MPIX_Comm_ack_failed(group->comm, n_failed, &group->acknowledged);
    }
}

bool group_is_first(const struct group *group)
{
    MPI_Count round;
    int n, *members = malloc((size_t)group->size * sizeof(*members));
    group_must("no memory", members ? MPI_SUCCESS : MPI_ERR_NO_MEM);
    group_must("there was no round",
               RZ_Group_monitor_get_round(group->monitor, &round, &n, members));
    bool first = n > 0 && members[0] == group->rank;
    free(members);
    return first;
}

void group_leaving(int rank, int size, uint64_t moments)
{
    if (!leave_is_by_all(size)) {
        leave_open(program->name, rank, size, moments);
        return;
    }
    if (rank == 0) {
        fprintf(
            stderr,
            "%s: all %d processes would leave, and none come back: no process would have a result; "
            "take a smaller --fail-count, or a larger --return\n",
            program->name, size);
    }
    MPI_Finalize();
    exit(2);
}

/* Whether no process before this one lives. */
static bool is_first_living(const struct group *group)
{
    MPI_Group failed, all;
    int there = MPI_UNDEFINED, rank = 0;
    if (MPIX_Comm_get_failed(group->comm, &failed) != MPI_SUCCESS) {
        return true;
    }
    MPI_Comm_group(group->comm, &all);
    for (; rank < group->rank; rank++) {
        if (MPI_Group_translate_ranks(all, 1, &rank, failed, &there) != MPI_SUCCESS ||
            there == MPI_UNDEFINED) {
            break;
        }
    }
    MPI_Group_free(&failed);
    MPI_Group_free(&all);
    return rank == group->rank;
}

void group_stop(struct group *group)
{
    if (group->monitor != RZ_GROUP_MONITOR_NULL) {
        RZ_Group_monitor_stop(&group->monitor);
    }
}

int group_close(struct group *group, bool has_result)
{
    int without = !has_result;
    group_stop(group);
    MPIX_Comm_agree(group->comm, &without); /* also if a process has failed: all get one answer */
    if (without && is_first_living(group)) {
        fprintf(stderr, "%s: no result: all that are left have left the group\n", program->name);
    }
    if (group->comm != MPI_COMM_WORLD) {
        MPI_Comm_free(&group->comm);
    }
    return without;
}
