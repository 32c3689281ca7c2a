/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of other launchers (the mpiexec of the MPI standard, MPICH's hydra, Open MPI's mpirun),
 * for scripts written for them. Where Rhizome has the same option, it is used; an option that
 * changes nothing here is accepted, and named with --verbose.
 */
#include "launch/rzrun_private.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS ((struct rz_rzrun_options *)target)

/* Accepts an option that has no effect here. */
static bool without_effect(struct rz_rzrun_options *options, const char *what)
{
    rz_texts_add(&options->without_effect, what);
    return true;
}

static bool named(const char *value, const char *const *names)
{
    for (; *names; names++) {
        if (strcmp(value, *names) == 0) {
            return true;
        }
    }
    return false;
}

#define TAKE_WITHOUT_EFFECT(name, option)                                                          \
    RZ_CLI_TAKE(name)                                                                              \
    {                                                                                              \
        (void)value, (void)why;                                                                    \
        return without_effect(OPTIONS, option);                                                    \
    }

TAKE_WITHOUT_EFFECT(as_root, "--allow-run-as-root")
TAKE_WITHOUT_EFFECT(quiet, "--quiet")
TAKE_WITHOUT_EFFECT(genvall, "-genvall")
TAKE_WITHOUT_EFFECT(manager, "-rmk")
TAKE_WITHOUT_EFFECT(rank_by, "--rank-by")
TAKE_WITHOUT_EFFECT(display, "--display")
TAKE_WITHOUT_EFFECT(display_map, "--display-map")
TAKE_WITHOUT_EFFECT(hwthreads, "--use-hwthread-cpus")
TAKE_WITHOUT_EFFECT(no_oversubscribe, "--nooversubscribe")
TAKE_WITHOUT_EFFECT(cleanup, "-disable-auto-cleanup")
TAKE_WITHOUT_EFFECT(soft, "-soft")
TAKE_WITHOUT_EFFECT(arch, "-arch")

RZ_CLI_TAKE(global_environment)
{
    *why = "it needs a name and a value";
    rz_texts_add(&OPTIONS->environment, value);
    return *value != '=';
}

RZ_CLI_TAKE_FLAG(no_recovery, OPTIONS->no_ft)

RZ_CLI_TAKE(one_per_node)
{
    (void)value, (void)why;
    OPTIONS->per_node = 1;
    return true;
}

RZ_CLI_TAKE(output)
{
    (void)why;
    if (strcmp(value, "tag") == 0) {
        return OPTIONS->label = true;
    }
    return without_effect(OPTIONS, "--output");
}

static const char *const ft_on[] = {"mpi", "ulfm", "yes", "true", "1", NULL};
static const char *const ft_off[] = {"no", "none", "false", "0", NULL};

RZ_CLI_TAKE(with_ft)
{
    *why = "it is `mpi`, `ulfm` or `no`";
    OPTIONS->no_ft |= named(value, ft_off);
    OPTIONS->with_ft |= named(value, ft_on);
    return named(value, ft_on) || named(value, ft_off);
}

RZ_CLI_TAKE(parameter_set)
{
    (void)why;
    return strcmp(value, "ft-enable-mpi") == 0 || without_effect(OPTIONS, "-am");
}

RZ_CLI_TAKE(per_node)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    *why = "it needs a whole number of at least 1";
    if (*value < '1' || *value > '9' || *end || n > RZ_RANKS_MAX) {
        return false;
    }
    OPTIONS->per_node = (uint32_t)n;
    return true;
}

/* Whether a parameter of Open MPI selects its components, or is implied by Rhizome. */
static bool is_of_its_parts(const char *name)
{
    static const char *const beginnings[] = {"btl",
                                             "pml",
                                             "mtl",
                                             "oob",
                                             "plm",
                                             "ras",
                                             "rmaps",
                                             "coll",
                                             "orte",
                                             "prte",
                                             "pmix",
                                             "opal",
                                             "ompi_",
                                             "hwloc",
                                             "osc",
                                             "io=",
                                             "sharedfp",
                                             "topo",
                                             "ess",
                                             "odls",
                                             "iof",
                                             "sec",
                                             "routed",
                                             "mpi_show",
                                             "mpi_warn",
                                             "mpi_abort",
                                             "mpi_preconnect",
                                             "mpi_param_check",
                                             "mpi_leave_pinned",
                                             "shmem",
                                             "common",
                                             "errmgr",
                                             "event",
                                             NULL};
    for (const char *const *beginning = beginnings; *beginning; beginning++) {
        if (strncmp(name, *beginning, strlen(*beginning)) == 0) {
            return true;
        }
    }
    return false;
}

/* A time in seconds, as Open MPI has it. */
static bool take_seconds(const char *text, rz_time *time, const char **why)
{
    char *end, ns[64];
    double seconds = strtod(text, &end);
    *why = "it needs seconds, from 0.001 to 3600";
    if (end == text || *end || !(seconds > 0) || seconds > 3600) {
        return false;
    }
    snprintf(ns, sizeof(ns), "%.0fus", seconds * 1e6);
    const char *ignored;
    return rz_rzrun_heartbeat(ns, time, &ignored);
}

/* Parameters of Open MPI's fault tolerance that have a meaning here. *good: whether the value is
 * one. */
static bool takes_part_in_ft(struct rz_rzrun_options *options, const char *text, bool *good,
                             const char **why)
{
    static const struct {
        const char *name;
        size_t time; /* the place of the option's value */
    } times[] = {
        {"mpi_ft_detector_period", offsetof(struct rz_rzrun_options, hb_period)},
        {"mpi_ft_detector_timeout", offsetof(struct rz_rzrun_options, hb_timeout)},
        {"errmgr_detector_heartbeat_period", offsetof(struct rz_rzrun_options, hb_period)},
        {"errmgr_detector_heartbeat_timeout", offsetof(struct rz_rzrun_options, hb_timeout)},
    };
    static const char enable[] = "mpi_ft_enable";
    size_t n = strcspn(text, "=");
    const char *value = text[n] ? text + n + 1 : text + n;
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        if (strlen(times[i].name) == n && strncmp(text, times[i].name, n) == 0) {
            *good = take_seconds(value, (rz_time *)((char *)options + times[i].time), why);
            return true;
        }
    }
    if (n != sizeof(enable) - 1 || strncmp(text, enable, n) != 0) {
        return false;
    }
    *good = named(value, ft_on) || named(value, ft_off);
    *why = "it is 1 (true) or 0 (false)";
    options->with_ft |= named(value, ft_on);
    options->no_ft |= named(value, ft_off);
    return true;
}

RZ_CLI_TAKE(parameter)
{
    char text[512];
    bool good;
    snprintf(text, sizeof(text), "OMPI_MCA_%s", value); /* for a program of Open MPI */
    rz_texts_add(&OPTIONS->environment, text);
    if (takes_part_in_ft(OPTIONS, value, &good, why)) {
        return good;
    }
    if (strcmp(value, "mpi_yield_when_idle=1") == 0) {
        rz_texts_add(&OPTIONS->environment, "RZ_WAIT=yield");
        return true;
    }
    if (strcmp(value, "rmaps_base_oversubscribe=1") == 0 ||
        strcmp(value, "rmaps_default_mapping_policy=:oversubscribe") == 0) {
        return OPTIONS->oversubscribe = true;
    }
    if (!is_of_its_parts(value) && !OPTIONS->warned) {
        fprintf(stderr,
                "rzrun: the parameter %.*s of another MPI is not known here and has no effect; "
                "nor have others that may follow (--verbose names them)\n",
                (int)strcspn(value, "="), value);
        OPTIONS->warned = true;
    }
    snprintf(text, sizeof(text), "--mca %.*s", (int)strcspn(value, "="), value);
    return without_effect(OPTIONS, text);
}

const struct rz_cli_option rz_rzrun_foreign[] = {
    {NULL, NULL, NULL, "Options of other launchers (docs/launchers.md)", NULL},
    {"-ppn", "--ppn -perhost --perhost -npernode --npernode -N", "N",
     "Put N ranks on each node in turn.", take_per_node},
    {"-pernode", "--pernode", NULL, "The same with one.", take_one_per_node},
    {"-genv", "--genv", "NAME VALUE",
     "Give the processes of all programs this environment variable.", take_global_environment},
    {"--with-ft", "-with-ft", "mpi|ulfm|no",
     "no: as --no-ft. mpi, ulfm: faults are tolerated, which is so anyway for programs of this MPI "
     "library, and --accept-failures; a program of Open MPI 5 gets its fault tolerance (ULFM), and "
     "a failure does not end "
     "the job.",
     take_with_ft},
    {"-am", "--am --tune -tune", "NAME", "No effect: Rhizome always is as with ft-enable-mpi.",
     take_parameter_set},
    {"--mca", "-mca --gmca -gmca --omca --prtemca --pmixmca", "NAME VALUE",
     "Parameters of Open MPI. mpi_yield_when_idle and rmaps_base_oversubscribe are --wait yield "
     "and --oversubscribe, mpi_ft_enable is --with-ft, mpi_ft_detector_period and _timeout are "
     "--hb-period and --hb-timeout; others have an effect on programs of Open MPI only (--mpi "
     "pmix).",
     take_parameter},
    {"--allow-run-as-root", "-allow-run-as-root", NULL, "Nothing.", take_as_root},
    {"--quiet", "-quiet", NULL, "No effect: rzrun always is quiet.", take_quiet},
    {"-genvall", "-envall --genvall --envall", NULL,
     "No effect: processes have rzrun's environment.", take_genvall},
    {"-rmk", "--rmk", "NAME", "No effect.", take_manager},
    {"--rank-by", "-rank-by --rankby", "WHAT", "No effect: ranks are numbered as they are placed.",
     take_rank_by},
    {"--display", NULL, "WHAT", "No effect; see --report-bindings.", take_display},
    {"--display-map", "-display-map --display-allocation -display-allocation", NULL, "The same.",
     take_display_map},
    {"--output", NULL, "WHAT", "tag: as --label. Other values have no effect.", take_output},
    {"--use-hwthread-cpus", "-use-hwthread-cpus", NULL, "Nothing.", take_hwthreads},
    {"--nooversubscribe", "-nooversubscribe", NULL,
     "No effect: slots are limits unless --oversubscribe is given.", take_no_oversubscribe},
    {"-disable-auto-cleanup",
     "--disable-auto-cleanup --enable-recovery -enable-recovery "
     "--recoverable",
     NULL, "No effect: a failure ends only what cannot continue without the failed process.",
     take_cleanup},
    {"--continuous", "-continuous", NULL, "The same.", take_cleanup},
    {"--disable-recovery", "-disable-recovery", NULL, "As --no-ft.", take_no_recovery},
    {"-soft", "--soft", "LIST", "No effect: -n sets the number.", take_soft},
    {"-arch", "--arch", "NAME", "Nothing.", take_arch},
    {NULL, NULL, NULL, NULL, NULL},
};
