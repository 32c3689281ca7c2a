/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor check: whether the commands that this shell finds are those of this installation. */
#include "cmd/rzdoctor.h"

#include "net/ucx/ucx.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

enum { SHOWN_MAX = 6 };

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev;
}

/* ---- the parts ---- */

static void check_library(struct rz_doctor_report *report)
{
    const char *why, *ours = "Rhizome " RZ_VERSION " ";
    char version[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING */
    int length = 0;
    void *library = rz_doctor_open_library(&why);
    int (*ask)(char *, int *) = NULL;
    if (library) {
        *(void **)&ask = dlsym(library, "MPI_Get_library_version");
    }
    if (ask) {
        ask(version, &length);
    }
    if (!ask) {
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "library", "install Rhizome again", "%s", why);
    } else if (strncmp(version, ours, strlen(ours)) != 0) {
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "library", "install one version of all parts",
                      "it is \"%s\", this command is of %s", version, RZ_VERSION);
    } else {
        rz_doctor_say(report, RZ_DOCTOR_OK, "library", NULL, "%s", version);
    }
}

static void check_commands(struct rz_doctor_report *report, const char *bin)
{
    static const char *const names[] = {"rzrun", "rzd", "mpicc", "mpicxx", "mpiexec"};
    char missing[RZ_DOCTOR_TEXT] = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[RZ_DOCTOR_PATH + 32];
        snprintf(path, sizeof(path), "%s/%s", bin, names[i]);
        if (!is_program(path)) {
            snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), " %s", names[i]);
        }
    }
    if (missing[0]) {
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "commands", "install Rhizome again",
                      "missing in %s:%s", bin, missing);
    } else {
        rz_doctor_say(report, RZ_DOCTOR_OK, "commands", NULL, "complete in %s", bin);
    }
}

/* The first program of that name in PATH. */
static bool first_in_path(const char *name, char path[RZ_DOCTOR_PATH])
{
    const char *list = getenv("PATH");
    for (const char *at = list ? list : ""; *at;) {
        size_t n = strcspn(at, ":");
        if (n > 0 && n < RZ_DOCTOR_PATH - 64) {
            snprintf(path, RZ_DOCTOR_PATH, "%.*s/%s", (int)n, at, name);
            if (is_program(path)) {
                return true;
            }
        }
        at += n + (at[n] == ':');
    }
    return false;
}

static void check_path(struct rz_doctor_report *report, const char *bin)
{
    static const char *const names[] = {"mpicc", "mpicxx", "mpiexec", "mpirun", "rzrun"};
    char remedy[RZ_DOCTOR_PATH + 64];
    snprintf(remedy, sizeof(remedy), "export PATH=%s:$PATH", bin);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char found[RZ_DOCTOR_PATH], ours[RZ_DOCTOR_PATH + 32];
        snprintf(ours, sizeof(ours), "%s/%s", bin, names[i]);
        if (!first_in_path(names[i], found)) {
            rz_doctor_say(report, RZ_DOCTOR_WARNING, names[i], remedy, "it is not in PATH");
        } else if (same_file(found, ours)) {
            rz_doctor_say(report, RZ_DOCTOR_OK, names[i], NULL, "the first in PATH is this one");
        } else {
            char *real = realpath(found, NULL);
            rz_doctor_say(report, RZ_DOCTOR_WARNING, names[i], remedy,
                          "the first in PATH is another one: %s%s%s%s", found,
                          real && strcmp(real, found) != 0 ? " (" : "",
                          real && strcmp(real, found) != 0 ? real : "",
                          real && strcmp(real, found) != 0 ? ")" : "");
            free(real);
        }
    }
}

void rz_doctor_check_install(struct rz_doctor_report *report)
{
    char bin[RZ_DOCTOR_PATH];
    rz_doctor_section(report, "Installation");
    check_library(report);
    if (!rz_doctor_bin(bin)) {
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "commands", "mount /proc",
                      "/proc/self/exe cannot be read");
        return;
    }
    check_commands(report, bin);
    check_path(report, bin);
}

/* ---- variables ---- */

/* Our programs know where the library is, but LD_LIBRARY_PATH has precedence. */
static bool check_library_path(struct rz_doctor_report *report)
{
    char lib[RZ_DOCTOR_PATH], ours[RZ_DOCTOR_PATH + 32], other[RZ_DOCTOR_PATH + 32];
    const char *list = getenv("LD_LIBRARY_PATH");
    if (!rz_doctor_lib(lib)) {
        return false;
    }
    snprintf(ours, sizeof(ours), "%s/libmpi_abi.so.1", lib);
    for (const char *at = list ? list : ""; *at;) {
        size_t n = strcspn(at, ":");
        snprintf(other, sizeof(other), "%.*s/libmpi_abi.so.1", (int)(n < PATH_MAX ? n : 0), at);
        if (n > 0 && access(other, R_OK) == 0) {
            if (same_file(ours, other)) {
                return false;
            }
            rz_doctor_say(report, RZ_DOCTOR_FAULT, "LD_LIBRARY_PATH",
                          "take this folder out, or put Rhizome's before it",
                          "programs would run with another MPI: %s", other);
            return true;
        }
        at += n + (at[n] == ':');
    }
    return false;
}

/* Checks the variables that a rank's UCX reads with rzrun --net ucx. */
static unsigned check_ucx_variables(struct rz_doctor_report *report)
{
    unsigned n = 0;
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name; v++) {
        const char *value = getenv(v->name);
        if (!value || strcmp(value, v->value) == 0) {
            continue;
        }
        char remedy[64];
        snprintf(remedy, sizeof(remedy), "unset %s", v->name);
        n++;
        rz_doctor_say(report, RZ_DOCTOR_WARNING, v->name, remedy,
                      "is \"%s\"; with --net ucx rzrun %s \"%s\"", value,
                      v->problem ? "sets" : "would set", v->value);
    }
    return n;
}

static bool is_ours_of_ucx(const char *name, size_t length)
{
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name; v++) {
        if (strlen(v->name) == length && strncmp(v->name, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Variables by their prefixes, and their effects. */
static const struct {
    const char *subject, *prefixes[8], *text, *remedy;
} families[] = {
    {"another MPI's",
     {"OMPI_", "PMIX_MCA_", "PRTE_", "OPAL_", "ORTE_"},
     "read by Open MPI, not by Rhizome",
     "unset them, if this shell came from mpirun of Open MPI; else leave them"},
    {"another MPI's",
     {"MPICH_", "MPIR_", "HYDRA_", "PMI_", "I_MPI_", "MV2_"},
     "read by MPICH and variants, not by Rhizome",
     "unset them, if this shell came from mpiexec of MPICH; else leave them"},
    {"UCX_*",
     {"UCX_"},
     "changes what UCX does in each rank, where it is used (--net ucx)",
     "unset them, unless this is intended"},
    {"of a job",
     {"RZ_LINK_FD=", "RZ_LINK_SOCKET=", "RZ_JOB_ID=", "RZ_JOB_KEY=", "RZ_RANK=", "RZ_INCARNATION="},
     "of a rank of a running job; a program started here would take itself for it",
     "unset them"},
    {"another launcher's",
     {"PMIX_NAMESPACE=", "PMIX_RANK="},
     "of a process of srun or mpirun; a program started here without rzrun would take itself for "
     "it",
     "unset them, or set RZ_ALONE=1"},
    {"of tests",
     {"RZ_SHM_CMA=", "RZ_UCX_MODULE=", "RZ_TCP_MODULE="},
     "changes how Rhizome sends messages; meant for tests",
     "unset them"},
    {"loader",
     {"LD_PRELOAD=", "LD_AUDIT="},
     "puts other code into each rank",
     "unset them, unless this is intended"},
};

static bool belongs(const char *entry, const char *const *prefixes)
{
    for (; *prefixes; prefixes++) {
        if (strncmp(entry, *prefixes, strlen(*prefixes)) == 0) {
            return true;
        }
    }
    return false;
}

/* Collects the names of a family that are set, the first few of them; returns their number. */
static unsigned gather(const char *const *prefixes, char *names, size_t bytes)
{
    unsigned n = 0;
    size_t used = 0;
    names[0] = '\0';
    for (char **entry = environ; *entry; entry++) {
        size_t length = strcspn(*entry, "=");
        if (!belongs(*entry, prefixes) || is_ours_of_ucx(*entry, length)) {
            continue;
        }
        if (n++ < SHOWN_MAX && used < bytes) {
            used += (size_t)snprintf(names + used, bytes - used, "%s%.*s", n > 1 ? ", " : "",
                                     (int)(length < 64 ? length : 64), *entry);
        }
    }
    if (n > SHOWN_MAX && used < bytes) {
        snprintf(names + used, bytes - used, " and %u more", n - SHOWN_MAX);
    }
    return n;
}

void rz_doctor_check_variables(struct rz_doctor_report *report)
{
    rz_doctor_section(report, "Environment of this shell");
    unsigned found = check_library_path(report) + check_ucx_variables(report);
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
        char names[RZ_DOCTOR_TEXT];
        if (gather(families[i].prefixes, names, sizeof(names)) > 0) {
            found++;
            rz_doctor_say(report, RZ_DOCTOR_WARNING, families[i].subject, families[i].remedy,
                          "%s: %s", names, families[i].text);
        }
    }
    if (found == 0) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "variables", NULL, "none that gets in the way");
    }
}
