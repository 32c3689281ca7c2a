/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warns of ranks that are alone: a script, or what it starts, does not say which MPI it will load.
 * A process that has loaded the library of another MPI, and has not joined, is a job by itself. The
 * processes of this host are looked at some times, at growing intervals, as long as none has
 * joined.
 */
#include "launch/session.h"

#include "launch/program.h"

#include <stdio.h>
#include <string.h>

#define FOREIGN_FIRST_NS (250 * RZ_MILLISECOND)
#define FOREIGN_LAST_NS (16 * RZ_SECOND)

/* Whether the process has a library of another MPI, and not ours. */
static bool foreign_is_loaded(uint32_t pid, char *library, size_t bytes)
{
    char line[4608];
    bool found = false, own = false;
    snprintf(line, sizeof(line), "/proc/%u/maps", pid);
    FILE *maps = fopen(line, "re");
    while (maps && !own && fgets(line, sizeof(line), maps)) {
        char *name = strrchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        enum rz_program_mpi mpi = name ? rz_program_library_mpi(name + 1) : RZ_PROGRAM_PLAIN;
        own = mpi == RZ_PROGRAM_OWN;
        bool runtime =
            name && (strncmp(name, "/libopen-rte", 12) == 0 || /* of mpirun, too */
                     strncmp(name, "/libprrte", 9) == 0 || strncmp(name, "/libpmix", 8) == 0);
        if (mpi != RZ_PROGRAM_PLAIN && !runtime && !own && !found) {
            found = true;
            snprintf(library, bytes, "%s", name + 1);
        }
    }
    if (maps) {
        fclose(maps);
    }
    return found && !own;
}

static void foreign_look(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    char library[64];
    (void)fd, (void)what;
    if (session->debug.joined > 0 || session->ending) {
        return;
    }
    if (foreign_is_loaded(session->foreign.pid, library, sizeof(library))) {
        fprintf(stderr,
                "rzrun: rank 0 has loaded %s, the library of another MPI: each of the processes is "
                "alone, as rank 0 of 1. End the job, and start it with --mpi %s\n",
                library, rz_program_library_mpi(library) == RZ_PROGRAM_PMI1 ? "pmi1" : "pmix");
        return;
    }
    session->foreign.interval *= 2;
    if (session->foreign.interval <= FOREIGN_LAST_NS) {
        rz_session_arm(session->foreign.timer, session->foreign.interval);
    }
}

void rz_session_foreign_started(struct rz_launch_session *session, const struct rz_node *node,
                                const struct rz_launch_started *told)
{
    const struct rz_rzrun_options *options = session->options;
    if (told->rank != 0 || told->incarnation != 1 || node->remote || options->n_ranks == 1 ||
        options->mpi != RZ_MPI_RHIZOME || session->foreign.timer) {
        return;
    }
    session->foreign.pid = told->pid;
    session->foreign.interval = FOREIGN_FIRST_NS;
    session->foreign.timer = evtimer_new(session->base, foreign_look, session);
    if (session->foreign.timer) {
        rz_session_arm(session->foreign.timer, session->foreign.interval);
    }
}

void rz_session_foreign_end(struct rz_launch_session *session)
{
    if (session->foreign.timer) {
        event_free(session->foreign.timer);
    }
}
