#include "daemon/spawn.h"

#include "daemon/binding.h"
#include "daemon/environment.h"
#include "port/channel.h"
#include "port/process.h"
#include "port/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where the child puts the pipe of its report while it gets ready. */
#define REPORT_FD (RZ_SPAWN_LINK_FD + 1)

enum spawn_step { STEP_PARENT, STEP_DESCRIPTORS, STEP_DIRECTORY, STEP_EXEC };

/* Both ends of what lies between daemon and child, [0] the daemon's. */
struct spawn_ends {
    int link[2], output[2], error[2], report[2];
};

int rz_spawn_report_tell(const struct rz_spawn_report *report, const struct rz_program *run,
                         char *text, size_t bytes)
{
    const char *error = strerror(report->error), *program = run->arguments[0];
    switch (report->step) {
    case STEP_DIRECTORY:
        snprintf(text, bytes, "cannot enter the working directory \"%s\": %s", run->directory,
                 error);
        return RZ_SPAWN_NOT_STARTED;
    case STEP_EXEC: {
        /* A file that is there but "does not exist": that is the interpreter which its first line,
         * or its ELF header, names. */
        bool there = access(program, F_OK) == 0;
        if (report->error == ENOENT && there)
            error = "the interpreter that it names does not exist";
        snprintf(text, bytes, "cannot execute \"%s\": %s", program, error);
        return there ? RZ_SPAWN_NOT_EXECUTABLE : RZ_SPAWN_NOT_FOUND;
    }
    default:
        snprintf(text, bytes, "cannot start \"%s\": %s", program, error);
        return RZ_SPAWN_NOT_STARTED;
    }
}

/* ---- the child, between fork and exec: async-signal-safe calls only */

_Noreturn static void child_report(int fd, enum spawn_step step)
{
    struct rz_spawn_report report = {.step = step, .error = errno};
    ssize_t written = write(fd, &report, sizeof report);
    (void)written;
    _exit(127);
}

/* Sources are moved above all targets first, so that no dup2 overwrites a source that is still
 * needed. */
static bool child_descriptors(const struct spawn_ends *ends, int stdin_fd)
{
    int source[] = {stdin_fd, ends->output[1], ends->error[1], ends->link[1], ends->report[1]};
    enum { N = sizeof source / sizeof *source };
    for (int i = 0; i < N; i++)
        if ((source[i] = fcntl(source[i], F_DUPFD, N)) < 0)
            return false;
    for (int i = 0; i < N; i++)
        if (dup2(source[i], i) < 0)
            return false;
    rz_process_close(N, INT_MAX);
    return fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC) == 0;
}

_Noreturn static void child_run(const struct rz_daemon *daemon, const struct spawn_ends *ends,
                                int stdin_fd, const struct rz_program *program, char **environment,
                                pid_t parent)
{
    int report = ends->report[1];
    setpgid(0, 0);
    if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK)
        child_report(report, STEP_PARENT);
    rz_inherited_give(&daemon->inherited);
    rz_binding_apply(daemon->binding);
    if (!child_descriptors(ends, stdin_fd))
        child_report(report, STEP_DESCRIPTORS);
    if (*program->directory && chdir(program->directory) != 0)
        child_report(REPORT_FD, STEP_DIRECTORY);
    execvpe(program->arguments[0], program->arguments, environment);
    child_report(REPORT_FD, STEP_EXEC);
}

/* ---- the parent */

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

static bool no_wait(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static rz_status_t ends_open(struct spawn_ends *ends, bool terminal)
{
    if (rz_channel_pair(ends->link) != RZ_OK ||
        (!(terminal && rz_terminal_pair(ends->output) == RZ_OK) &&
         pipe2(ends->output, O_CLOEXEC) != 0) ||
        pipe2(ends->error, O_CLOEXEC) != 0 || pipe2(ends->report, O_CLOEXEC) != 0)
        return RZ_ERR_SYSTEM;
    if (!no_wait(ends->link[0]) || !no_wait(ends->output[0]) || !no_wait(ends->error[0]) ||
        !no_wait(ends->report[0]))
        return RZ_ERR_SYSTEM;
    return RZ_OK;
}

static void ends_close(struct spawn_ends *ends)
{
    close_pair(ends->link);
    close_pair(ends->output);
    close_pair(ends->error);
    close_pair(ends->report);
}

rz_status_t rz_spawn(const struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation,
                     const struct rz_program *program, int stdin_fd, struct rz_spawned *spawned)
{
    struct spawn_ends ends = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    sigset_t all, before;
    pid_t parent = getpid();
    char **environment =
        rz_environment_make(&daemon->job, program, rank, incarnation, RZ_SPAWN_LINK_FD);
    if (!environment)
        return RZ_ERR_NO_MEMORY;
    rz_status_t status = ends_open(&ends, daemon->job.flags & RZ_JOB_PTY);
    if (status != RZ_OK)
        goto err_close;
    /* No handler of the daemon may run in the child. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0)
        child_run(daemon, &ends, stdin_fd, program, environment, parent);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0) {
        status = RZ_ERR_SYSTEM;
        goto err_close;
    }
    setpgid(pid, pid); /* here too: the group must exist before the first signal to it */
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
