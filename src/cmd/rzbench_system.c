/* Rhizome and its peers: which are here, how they compile, how they start a program. */
#include "cmd/rzbench.h"

#include "base/assert.h"
#include "port/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const rz_bench_system_names[RZ_BENCH_SYSTEM_COUNT] = {
    [RZ_BENCH_RHIZOME] = "Rhizome", [RZ_BENCH_OPENMPI] = "Open MPI", [RZ_BENCH_MPICH] = "MPICH"};

static const char *const endings[RZ_BENCH_SYSTEM_COUNT] = {
    [RZ_BENCH_RHIZOME] = "rhizome", [RZ_BENCH_OPENMPI] = "openmpi", [RZ_BENCH_MPICH] = "mpich"};

/* The names under which Debian installs them side by side. */
static const struct {
    const char *compile, *start, *version;
} peers[RZ_BENCH_SYSTEM_COUNT] = {
    [RZ_BENCH_OPENMPI] = {"mpicc.openmpi", "mpirun.openmpi", "mpirun.openmpi --version | head -1"},
    [RZ_BENCH_MPICH] = {"mpicc.mpich", "mpiexec.mpich",
                        "mpichversion | sed -n 's/[[:space:]]\\+/ /g; 1p; 3p' | paste -sd,"}};

bool rz_bench_on_path(const char *program)
{
    char candidate[PATH_MAX];
    for (const char *at = getenv("PATH"); at && *at;) {
        size_t length = strcspn(at, ":");
        snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, at, program);
        if (access(candidate, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static void find_peer(struct rz_bench *bench, enum rz_bench_system system)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    if (bench->no_peers || !rz_bench_on_path(peers[system].compile) ||
        !rz_bench_on_path(peers[system].start))
        return;
    bench->present[system] = true;
    rz_bench_command_add(&command, "sh");
    rz_bench_command_add(&command, "-c");
    rz_bench_command_add(&command, "%s", peers[system].version);
    rz_bench_run(bench, &command, 0, &run);
    run.output[strcspn(run.output, "\n")] = 0;
    snprintf(bench->version[system], sizeof bench->version[system], "%s", run.output);
    rz_bench_run_free(&run);
}

bool rz_bench_systems_find(struct rz_bench *bench)
{
    char wanted[PATH_MAX + 32];
    if (!rz_process_path(bench->bin, sizeof bench->bin))
        bench->bin[0] = 0;
    char *slash = strrchr(bench->bin, '/');
    if (slash)
        *slash = 0;
    snprintf(wanted, sizeof wanted, "%s/../share/rhizome/bench", bench->bin);
    if (!realpath(wanted, bench->sources)) {
        fprintf(stderr, "rzbench: the sources of its programs are not in %s\n", wanted);
        return false;
    }
    snprintf(wanted, sizeof wanted, "%s/rzrun", bench->bin);
    if (access(wanted, X_OK) != 0) {
        fprintf(stderr, "rzbench: there is no %s\n", wanted);
        return false;
    }
    bench->present[RZ_BENCH_RHIZOME] = true;
    snprintf(bench->version[RZ_BENCH_RHIZOME], sizeof bench->version[0], "Rhizome %s", RZ_VERSION);
    find_peer(bench, RZ_BENCH_OPENMPI);
    find_peer(bench, RZ_BENCH_MPICH);
    return true;
}

static void program_path(const struct rz_bench *bench, enum rz_bench_system system,
                         const char *program, char *out, size_t bytes)
{
    int length = snprintf(out, bytes, "%s/%s.%s", bench->folder, program, endings[system]);
    rz_assert(length > 0 && (size_t)length < bytes);
}

/* The proxies survive in ways that they share. */
static void add_shared_sources(const struct rz_bench *bench, const char *program,
                               struct rz_bench_command *command)
{
    static const char *const shared[] = {"recovery.c", "recovery_buddy.c", "recovery_files.c",
                                         "recovery_ulfm.c"};
    for (size_t i = 0; strcmp(program, "hpccg") == 0 && i < sizeof shared / sizeof *shared; i++)
        rz_bench_command_add(command, "%s/%s", bench->sources, shared[i]);
}

static bool compile(struct rz_bench *bench, enum rz_bench_system system, const char *program)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char out[PATH_MAX];
    program_path(bench, system, program, out, sizeof out);
    if (system == RZ_BENCH_RHIZOME)
        rz_bench_command_add(&command, "%s/mpicc", bench->bin);
    else
        rz_bench_command_add(&command, "%s", peers[system].compile);
    rz_bench_command_add(&command, "-O2");
    rz_bench_command_add(&command, "-o");
    rz_bench_command_add(&command, "%s", out);
    rz_bench_command_add(&command, "%s/%s.c", bench->sources, program);
    add_shared_sources(bench, program, &command);
    rz_bench_command_add(&command, "-lm");
    rz_bench_run(bench, &command, 0, &run);
    if (run.status != 0)
        fprintf(stderr, "rzbench: %s does not compile with %s: %.1000s\n", program,
                rz_bench_system_names[system], run.output);
    rz_bench_run_free(&run);
    return run.status == 0;
}

bool rz_bench_compile(struct rz_bench *bench, const char *program, bool peers_too)
{
    bool ours = compile(bench, RZ_BENCH_RHIZOME, program);
    for (int s = RZ_BENCH_RHIZOME + 1; peers_too && ours && s < RZ_BENCH_SYSTEM_COUNT; s++)
        if (bench->present[s])
            compile(bench, (enum rz_bench_system)s, program);
    return ours;
}

bool rz_bench_has(const struct rz_bench *bench, enum rz_bench_system system, const char *program)
{
    char path[PATH_MAX];
    program_path(bench, system, program, path, sizeof path);
    return bench->present[system] && access(path, X_OK) == 0;
}

static void start_rhizome(const struct rz_bench *bench, const struct rz_bench_start *start,
                          struct rz_bench_command *command)
{
    unsigned nodes = start->nodes ? start->nodes : start->path == RZ_BENCH_BETWEEN ? 2 : 1;
    rz_bench_command_add(command, "%s/rzrun", bench->bin);
    rz_bench_command_add(command, "-n");
    rz_bench_command_add(command, "%u", start->ranks);
    rz_bench_command_add(command, "--nodes");
    rz_bench_command_add(command, "%u", nodes);
    rz_bench_command_add(command, "--oversubscribe");
    for (const char *const *word = start->options; word && *word; word++)
        rz_bench_command_add(command, "%s", *word);
}

static void start_openmpi(const struct rz_bench_start *start, struct rz_bench_command *command)
{
    static const char *const always[] = {"mpirun.openmpi",
                                         "--allow-run-as-root",
                                         "--oversubscribe",
                                         "--bind-to",
                                         "none",
                                         "--mca",
                                         "pml",
                                         "ob1",
                                         "--mca",
                                         "btl"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        rz_bench_command_add(command, "%s", always[i]);
    rz_bench_command_add(command, start->path == RZ_BENCH_BETWEEN ? "tcp,self" : "vader,self");
    if (start->path == RZ_BENCH_BETWEEN) {
        rz_bench_command_add(command, "--mca");
        rz_bench_command_add(command, "btl_tcp_if_include");
        rz_bench_command_add(command, "lo");
    }
    rz_bench_command_add(command, "--mca");
    rz_bench_command_add(command, "mpi_yield_when_idle");
    rz_bench_command_add(command, start->yield ? "1" : "0");
    rz_bench_command_add(command, "-n");
    rz_bench_command_add(command, "%u", start->ranks);
}

static void start_mpich(const struct rz_bench_start *start, struct rz_bench_command *command)
{
    if (start->path == RZ_BENCH_BETWEEN) {
        rz_bench_command_add(command, "env");
        rz_bench_command_add(command, "MPIR_CVAR_NOLOCAL=1");
        rz_bench_command_add(command, "UCX_TLS=tcp,self");
    }
    rz_bench_command_add(command, "mpiexec.mpich");
    rz_bench_command_add(command, "-n");
    rz_bench_command_add(command, "%u", start->ranks);
}

void rz_bench_command_start(const struct rz_bench *bench, const struct rz_bench_start *start,
                            struct rz_bench_command *command)
{
    char program[PATH_MAX];
    if (start->system == RZ_BENCH_RHIZOME)
        start_rhizome(bench, start, command);
    else if (start->system == RZ_BENCH_OPENMPI)
        start_openmpi(start, command);
    else
        start_mpich(start, command);
    program_path(bench, start->system, start->program, program, sizeof program);
    rz_bench_command_add(command, "%s", program);
}

bool rz_bench_app_path(const struct rz_bench *bench, const char *name, char *out, size_t bytes)
{
    static const char *const places[] = {"../apps", "../libexec/rhizome"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(out, bytes, "%s/%s/%s", bench->bin, places[i], name);
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}
