/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks a process and executes its program. An error in the child is sent back through a pipe,
 * which closes at a successful exec. */
#include "daemon/process/spawn.h"

#include "daemon/process/binding.h"
#include "daemon/process/environment.h"
#include "port/channel.h"
#include "port/child_process.h"
#include "port/descriptor.h"
#include "port/process.h"
#include "port/signals.h"
#include "port/terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The descriptor of the child's report pipe while the child prepares its exec. */
#define REPORT_FD (RZ_SPAWN_LINK_FD + 1)

enum spawn_step { STEP_PARENT, STEP_DESCRIPTORS, STEP_DIRECTORY, STEP_EXEC };

/* Both ends of what connects daemon and child, [0] the daemon's. */
struct spawn_ends {
    int link[2], output[2], error[2], report[2];
};

int rz_spawn_report_tell(const struct rz_spawn_report *report, const struct rz_program *run,
                         char *text, size_t bytes)
{
    const char *error = strerror(report->error);
    const char *program = run->file ? run->file : run->arguments[0];
    switch (report->step) {
    case STEP_DIRECTORY:
        snprintf(text, bytes, "cannot enter the working directory \"%s\": %s", run->directory,
                 error);
        return RZ_SPAWN_NOT_STARTED;
    case STEP_EXEC: {
        /* If the file is there but "does not exist", the missing file is the interpreter that its
         * first line or its ELF header names. */
        bool there = access(program, F_OK) == 0;
        if (report->error == ENOENT && there) {
            error = "the interpreter that it names does not exist";
        }
        snprintf(text, bytes, "cannot execute \"%s\": %s", program, error);
        return there ? RZ_SPAWN_NOT_EXECUTABLE : RZ_SPAWN_NOT_FOUND;
    }
    default:
        snprintf(text, bytes, "cannot start \"%s\": %s", program, error);
        return RZ_SPAWN_NOT_STARTED;
    }
}

/* ---- the child, between fork and exec: async-signal-safe calls only ---- */

_Noreturn static void child_report(int fd, enum spawn_step step)
{
    struct rz_spawn_report report = {.step = step, .error = errno};
    ssize_t written = write(fd, &report, sizeof(report));
    (void)written;
    _exit(127);
}

static bool child_descriptors(const struct spawn_ends *ends, int stdin_fd)
{
    const int source[] = {stdin_fd, ends->output[1], ends->error[1], ends->link[1],
                          ends->report[1]};
    return rz_child_process_place_descriptors(source, sizeof(source) / sizeof(*source)) &&
           rz_process_keep_on_exec(REPORT_FD, false) == RZ_OK;
}

/* In place of a directory that this host lacks, that of the files that were brought to it. */
static bool enter_directory(const struct rz_daemon_job *job, const char *directory)
{
    return !*directory || chdir(directory) == 0 ||
           ((errno == ENOENT || errno == ENOTDIR) && job->preloaded &&
            chdir(job->preloaded->folder) == 0);
}

/* To write to a failed process is an error for programs of other MPIs that handle failures, not a
 * signal: Open MPI's sockets do not ask for that. */
static void give_inherited(const struct rz_spawn_config *config)
{
    struct rz_inherited inherited = *config->inherited;
    if (config->job->flags & RZ_JOB_TOLERANT) {
        inherited.ignored |= UINT64_C(1) << SIGPIPE;
    }
    rz_inherited_give(&inherited);
}

_Noreturn static void child_run(const struct rz_spawn_config *config, const struct spawn_ends *ends,
                                char **environment, pid_t parent)
{
    const struct rz_program *program = config->program;
    int report = ends->report[1];
    rz_child_process_lead_group(0);
    if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK) {
        child_report(report, STEP_PARENT);
    }
    /* Before the program gets its own limit: these have high numbers, those of all ranks of the
     * node. */
    if (!child_descriptors(ends, config->stdin_fd)) {
        child_report(report, STEP_DESCRIPTORS);
    }
    give_inherited(config);
    if (config->job->flags & RZ_JOB_REWIND) {
        rz_process_fix_addresses();
    }
    rz_binding_apply(config->binding);
    if (!enter_directory(config->job, program->directory)) {
        child_report(REPORT_FD, STEP_DIRECTORY);
    }
    execvpe(program->file ? program->file : program->arguments[0], program->arguments, environment);
    child_report(REPORT_FD, STEP_EXEC);
}

/* ---- the parent ---- */

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0) {
            close(pair[i]);
        }
    }
}

static rz_status_t ends_open(struct spawn_ends *ends, bool terminal)
{
    const int *const ours[] = {&ends->link[0], &ends->output[0], &ends->error[0], &ends->report[0]};
    if (rz_channel_pair(ends->link) != RZ_OK ||
        (!(terminal && rz_terminal_pair(ends->output) == RZ_OK) &&
         rz_descriptor_pipe(ends->output) != RZ_OK) ||
        rz_descriptor_pipe(ends->error) != RZ_OK || rz_descriptor_pipe(ends->report) != RZ_OK) {
        return RZ_ERR_SYSTEM;
    }
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        if (rz_descriptor_no_wait(*ours[i]) != RZ_OK) {
            return RZ_ERR_SYSTEM;
        }
    }
    return RZ_OK;
}

static void ends_close(struct spawn_ends *ends)
{
    close_pair(ends->link);
    close_pair(ends->output);
    close_pair(ends->error);
    close_pair(ends->report);
}

rz_status_t rz_spawn(const struct rz_spawn_config *config, uint32_t rank, uint32_t incarnation,
                     struct rz_spawned *spawned)
{
    struct spawn_ends ends = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    pid_t parent = getpid();
    char **environment = NULL;
    rz_status_t status = ends_open(&ends, config->job->flags & RZ_JOB_PTY);
    if (status != RZ_OK) {
        goto err_close;
    }
    const struct rz_environment_config its = {
        .job = config->job,
        .program = config->program,
        .given = config->given,
        .link_fd = RZ_SPAWN_LINK_FD,
        .streams = {config->stdin_fd, ends.output[1], ends.error[1]}};
    environment = rz_environment_make(&its, rank, incarnation);
    if (!environment) {
        status = RZ_ERR_NO_MEMORY;
        goto err_close;
    }
    pid_t pid = rz_child_process_fork();
    if (pid == 0) {
        child_run(config, &ends, environment, parent);
    }
    if (pid < 0) {
        status = RZ_ERR_SYSTEM;
        goto err_close;
    }
    rz_child_process_lead_group(pid);
    *spawned = (struct rz_spawned){.pid = pid,
                                   .link_fd = ends.link[0],
                                   .output_fd = ends.output[0],
                                   .error_fd = ends.error[0],
                                   .report_fd = ends.report[0]};
    ends.link[0] = ends.output[0] = ends.error[0] = ends.report[0] = -1;

err_close:
    ends_close(&ends);
    rz_environment_free(environment);
    return status;
}
