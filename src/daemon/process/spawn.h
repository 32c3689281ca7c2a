/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting a process of the job: fork, a clean set of file descriptors and signals, exec. */
#ifndef RZ_DAEMON_SPAWN_H
#define RZ_DAEMON_SPAWN_H

#include "base/status.h"
#include "daemon/state/job.h"
#include "port/inherited.h"

#include <sys/types.h>

/* The descriptor at which a process finds its link; its environment names it, too, as
 * RZ_LINK_FD. */
#define RZ_SPAWN_LINK_FD 3

/* What the daemon holds of a new process; all descriptors non-blocking and close-on-exec. */
struct rz_spawned {
    pid_t pid;     /* also its process group */
    int link_fd;   /* the daemon's end of the link */
    int output_fd; /* its standard output */
    int error_fd;  /* its standard error */
    /* Closes when the program runs; before that an error is sent as a struct rz_spawn_report. */
    int report_fd;
};

/* Why a program could not be executed. */
struct rz_spawn_report {
    int32_t step; /* a step of rz_spawn_report_tell */
    int32_t error;
};

/* The job's exit status after such a report: values of outcome/exit_codes.h. */
enum { RZ_SPAWN_NOT_STARTED = 4, RZ_SPAWN_NOT_EXECUTABLE = 126, RZ_SPAWN_NOT_FOUND = 127 };

/* Writes the reason in words into text. Returns the exit status for it. */
int rz_spawn_report_tell(const struct rz_spawn_report *report, const struct rz_program *program,
                         char *text, size_t bytes);

struct rz_binding;
struct rz_environment_given;

struct rz_spawn_config {
    const struct rz_daemon_job *job;
    const struct rz_inherited *inherited;
    const struct rz_binding *binding; /* with its last choice; NULL: not bound */
    const struct rz_program *program;
    const struct rz_environment_given *given; /* for its environment */
    int stdin_fd;                             /* becomes its standard input */
};

/*
 * Forks a process for (rank, incarnation) and executes the program. The kernel kills the process
 * when the calling thread ends: call from the main thread only. Errors: RZ_ERR_SYSTEM (no more
 * processes or descriptors), RZ_ERR_NO_MEMORY.
 */
rz_status_t rz_spawn(const struct rz_spawn_config *config, uint32_t rank, uint32_t incarnation,
                     struct rz_spawned *spawned);

#endif
