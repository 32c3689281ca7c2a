/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Warns of ranks that are alone: a script, or what it starts, does not say which MPI it will load.
 * A process that has loaded the library of another MPI, and has not joined, is a job by itself. The
 * processes of this host are looked at some times, at growing intervals, as long as none has
 * joined.
 */
#include "launch/session.h"

#include "launch/program.h"
#include "port/process.h"

#include <stdio.h>
#include <string.h>

#define FOREIGN_FIRST_NS (250 * RZ_MILLISECOND)
#define FOREIGN_LAST_NS (16 * RZ_SECOND)

/* What a process has loaded; library: the name of that of another MPI. */
struct foreign_loaded {
    bool own;
    char library[64];
};

static bool foreign_library(void *arg, const char *path)
{
    struct foreign_loaded *loaded = arg;
    const char *name = strrchr(path, '/') + 1;
    enum rz_program_mpi mpi = rz_program_library_mpi(name);
    bool runtime = strncmp(name, "libopen-rte", 11) == 0 || /* of mpirun, too */
                   strncmp(name, "libprrte", 8) == 0 || strncmp(name, "libpmix", 7) == 0;
    loaded->own = mpi == RZ_PROGRAM_OWN;
    if (mpi != RZ_PROGRAM_PLAIN && !runtime && !loaded->own && !loaded->library[0]) {
        snprintf(loaded->library, sizeof(loaded->library), "%s", name);
    }
    return !loaded->own;
}

static void foreign_look(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    struct foreign_loaded loaded = {.own = false};
    (void)fd, (void)what;
    if (session->debug.joined > 0 || session->ending) {
        return;
    }
    rz_process_mapped_files((pid_t)session->foreign.pid, foreign_library, &loaded);
    if (loaded.library[0] && !loaded.own) {
        fprintf(stderr,
                "rzrun: rank 0 has loaded %s, the library of another MPI: each of the processes is "
                "alone, as rank 0 of 1. End the job, and start it with --mpi %s\n",
                loaded.library,
                rz_program_library_mpi(loaded.library) == RZ_PROGRAM_PMI1 ? "pmi1" : "pmix");
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
