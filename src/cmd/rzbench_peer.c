/*
 * The peer of the study ulfm: Open MPI 5 with ULFM, which Debian has from version 13 on, so that it
 * lives in a root folder of its own. Each command is run in there by enter_root.sh.
 */
#include "cmd/rzbench.h"

#include <string.h>
#include <unistd.h>

/* Where tools/setup --peers puts it. */
#define PEER_ROOT "/var/lib/rhizome/peer-root"

/* Where the folder of compiled programs is inside. */
#define INSIDE "/mnt"

static const char *root_of(const struct rz_bench *bench)
{
    return bench->peer_root ? bench->peer_root : PEER_ROOT;
}

static void enter(const struct rz_bench *bench, struct rz_bench_command *command)
{
    rz_bench_command_add(command, "%s/enter_root.sh", bench->sources);
    rz_bench_command_add(command, "%s", root_of(bench));
    rz_bench_command_add(command, "%s", bench->folder);
}

static void add_words(struct rz_bench_command *command, const char *const *words)
{
    for (; *words; words++)
        rz_bench_command_add(command, "%s", *words);
}

bool rz_bench_peer_open(struct rz_bench *bench)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    char wanted[PATH_MAX];
    snprintf(wanted, sizeof wanted, "%s/usr/bin/mpirun.openmpi", root_of(bench));
    if (bench->no_peers || access(wanted, X_OK) != 0)
        return false;
    enter(bench, &command);
    add_words(&command, (const char *const[]){"mpirun", "--version", NULL});
    rz_bench_run(bench, &command, 0, &run);
    bool good = run.end == RZ_BENCH_ENDED && run.status == 0;
    snprintf(bench->peer_version, sizeof bench->peer_version, "%.*s",
             (int)strcspn(run.output, "\n"), run.output);
    if (!good)
        fprintf(stderr, "rzbench: the peer in %s cannot be run: %.600s\n", root_of(bench),
                run.output);
    rz_bench_run_free(&run);
    return good;
}

/* The source and the headers beside it lie where the peer's compiler sees them. */
static bool copy_sources(struct rz_bench *bench, const char *program)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    rz_bench_command_add(&command, "cp");
    rz_bench_command_add(&command, "-L");
    rz_bench_command_add(&command, "%s/%s.c", bench->sources, program);
    rz_bench_command_add(&command, "%s/bench_dates.h", bench->sources);
    rz_bench_command_add(&command, "%s", bench->folder);
    rz_bench_run(bench, &command, 0, &run);
    bool good = run.status == 0;
    rz_bench_run_free(&run);
    return good;
}

bool rz_bench_peer_compile(struct rz_bench *bench, const char *program)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    if (!copy_sources(bench, program))
        return false;
    enter(bench, &command);
    add_words(&command, (const char *const[]){"mpicc", "-O2", "-o", NULL});
    rz_bench_command_add(&command, INSIDE "/%s.peer", program);
    rz_bench_command_add(&command, INSIDE "/%s.c", program);
    rz_bench_command_add(&command, "-lm");
    rz_bench_run(bench, &command, 0, &run);
    bool good = run.end == RZ_BENCH_ENDED && run.status == 0;
    if (!good)
        fprintf(stderr, "rzbench: %s does not compile with the peer: %.1000s\n", program,
                run.output);
    rz_bench_run_free(&run);
    return good;
}

void rz_bench_peer_start(const struct rz_bench *bench, enum rz_bench_path path, unsigned ranks,
                         const char *program, struct rz_bench_command *command)
{
    enter(bench, command);
    add_words(command, (const char *const[]){"mpirun", "--allow-run-as-root", "--with-ft", "ulfm",
                                             "--oversubscribe", "--bind-to", "none", "--mca", "pml",
                                             "ob1", "--mca", "btl", NULL});
    rz_bench_command_add(command, path == RZ_BENCH_WITHIN ? "sm,tcp,self" : "tcp,self");
    add_words(command, (const char *const[]){"--mca", "btl_tcp_if_include", "lo", "--mca",
                                             "mpi_yield_when_idle", NULL});
    rz_bench_command_add(command, "%d", (long)ranks > sysconf(_SC_NPROCESSORS_ONLN));
    rz_bench_command_add(command, "-n");
    rz_bench_command_add(command, "%u", ranks);
    rz_bench_command_add(command, INSIDE "/%s.peer", program);
}
