/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper's loop: it waits for the daemon's exit, for messages and the end of the lifeline, for
 * the end of rzrun's pipe, and for signals. It stops, continues or kills the whole process tree. */
#include "daemon/launcher/keeper.h"

#include "daemon/state/scratch.h"

#include "port/channel.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/kill_point.h"
#include "port/process.h"
#include "port/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often the process tree is read when it is stopped or continued: the second time finds
 * processes that were forked during the first. */
#define FREEZE_LOOKS 2

struct keeper {
    pid_t daemon;
    int alive_fd;    /* -1: none, or its end was seen */
    int lifeline_fd; /* -1: the daemon was told to end */
    int signal_fd;
    rz_time kill_at;     /* when the daemon's grace period is over */
    rz_time continue_at; /* when the stopped node is continued */
    char folders[RZ_KEEPER_FOLDERS_MAX][RZ_SCRATCH_PATH_MAX];
    unsigned n_folders;
};

static void continue_node(struct keeper *keeper)
{
    if (keeper->continue_at == RZ_TIME_NEVER) {
        return;
    }
    keeper->continue_at = RZ_TIME_NEVER;
    rz_process_signal_descendants(keeper->daemon, SIGCONT, FREEZE_LOOKS);
    rz_child_process_signal(keeper->daemon, SIGCONT);
}

static void freeze_node(struct keeper *keeper, rz_time for_ns)
{
    rz_child_process_signal(keeper->daemon, SIGSTOP);
    rz_process_signal_descendants(keeper->daemon, SIGSTOP, FREEZE_LOOKS);
    keeper->continue_at = rz_clock_now() + for_ns;
}

static void add_folder(struct keeper *keeper, const char path[RZ_SCRATCH_PATH_MAX])
{
    if (keeper->n_folders < RZ_KEEPER_FOLDERS_MAX) {
        memcpy(keeper->folders[keeper->n_folders++], path, RZ_SCRATCH_PATH_MAX);
    }
}

/* What the daemon has said and was not read yet: its folders count, whatever comes next. */
static void take_last_folders(struct keeper *keeper)
{
    char message[RZ_SCRATCH_PATH_MAX];
    size_t n;
    while (keeper->lifeline_fd >= 0 && rz_descriptor_await(&keeper->lifeline_fd, 1, 0) &&
           rz_channel_receive(keeper->lifeline_fd, message, sizeof(message), &n, NULL, NULL) ==
               RZ_OK) {
        if (n == sizeof(message)) {
            add_folder(keeper, message);
        }
    }
}

static void tell_end(struct keeper *keeper)
{
    if (keeper->lifeline_fd < 0) {
        return;
    }
    take_last_folders(keeper);
    close(keeper->lifeline_fd);
    keeper->lifeline_fd = -1;
    keeper->kill_at = rz_clock_now() + RZ_KEEPER_GRACE_MS * RZ_MILLISECOND;
    continue_node(keeper);
    rz_child_process_signal(keeper->daemon,
                            SIGCONT); /* a daemon stopped by SIGSTOP must end in order, too */
    rz_kill_here(RZ_KILL_KEEPER_TOLD);
}

/* The daemon has ended: everything below it ends. The keeper adopts orphans, so that no process can
 * leave the tree. */
static void clear_node(void)
{
    while (!rz_process_clear(RZ_SECOND)) {
        ;
    }
}

/* Reaps children. Does not return if the daemon has ended. */
static void look_at_children(struct keeper *keeper)
{
    int status;
    pid_t pid;
    while (rz_child_process_reap_next(&pid, &status)) {
        if (pid != keeper->daemon) {
            continue;
        }
        rz_kill_here(RZ_KILL_KEEPER_REAPED);
        clear_node();
        rz_kill_here(RZ_KILL_KEEPER_CLEARED);
        take_last_folders(keeper);
        for (unsigned i = 0; i < keeper->n_folders; i++) {
            rz_scratch_remove(keeper->folders[i]);
        }
        _exit(rz_child_process_exit_of(status));
    }
}

/* rzrun may end. The keeper closes the terminal's descriptors, so that a reader of rzrun's output
 * does not wait for the keeper. */
static void let_rzrun_go(struct keeper *keeper)
{
    if (keeper->alive_fd >= 0) {
        close(keeper->alive_fd);
    }
    keeper->alive_fd = -1;
    rz_process_leave_terminal();
    rz_kill_here(RZ_KILL_KEEPER_LET_GO);
}

static void look_at_lifeline(struct keeper *keeper)
{
    uint64_t for_ns;
    char message[RZ_SCRATCH_PATH_MAX] = {0};
    size_t n;
    rz_status_t status =
        rz_channel_receive(keeper->lifeline_fd, message, sizeof(message), &n, NULL, NULL);
    memcpy(&for_ns, message, sizeof(for_ns));
    if (status == RZ_OK && n == sizeof(message)) {
        add_folder(keeper, message);
    } else if (status == RZ_OK && n == sizeof(for_ns) && for_ns == RZ_TIME_NEVER) {
        let_rzrun_go(keeper);
    } else if (status == RZ_OK && n == sizeof(for_ns)) {
        freeze_node(keeper, for_ns);
    } else if (status == RZ_ERR_CLOSED) {
        tell_end(keeper); /* the daemon is ending by itself; it must exit within the same bound */
    }
}

static void look_at_alive(struct keeper *keeper)
{
    char byte;
    ssize_t got = read(keeper->alive_fd, &byte, 1);
    if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) {
        return;
    }
    close(keeper->alive_fd);
    keeper->alive_fd = -1;
    tell_end(keeper);
}

static int wait_ms(const struct keeper *keeper)
{
    rz_time next = keeper->kill_at < keeper->continue_at ? keeper->kill_at : keeper->continue_at;
    if (next == RZ_TIME_NEVER) {
        return -1;
    }
    rz_time now = rz_clock_now();
    return next <= now ? 0 : (int)((next - now) / RZ_MILLISECOND) + 1;
}

enum { SIGNALLED = 1, ALIVE = 2, LIFELINE = 4 };

_Noreturn static void keep_watch(struct keeper *keeper)
{
    for (;;) {
        const int fds[] = {keeper->signal_fd, keeper->alive_fd, keeper->lifeline_fd};
        unsigned ready = rz_descriptor_await(fds, 3, wait_ms(keeper));
        look_at_children(keeper);
        if (ready & SIGNALLED) {
            int number = rz_signals_next(keeper->signal_fd);
            if (number > 0 && number != SIGCHLD) {
                tell_end(keeper);
            }
        }
        /* The lifeline is read first: a message in it may say that the pipe's end has no
         * meaning. */
        if (ready & LIFELINE && keeper->lifeline_fd >= 0) {
            look_at_lifeline(keeper);
        } else if (ready & ALIVE && keeper->alive_fd >= 0) {
            look_at_alive(keeper);
        }
        rz_time now = rz_clock_now();
        if (now >= keeper->continue_at) {
            continue_node(keeper);
        }
        if (now >= keeper->kill_at) {
            rz_child_process_signal(keeper->daemon, SIGKILL);
            keeper->kill_at = RZ_TIME_NEVER;
        }
    }
}

static int keeper_error(const char *what)
{
    fprintf(stderr, "rzd: cannot start the daemon: %s: %s\n", what, strerror(errno));
    return -1;
}

int rz_keeper_start(int alive_fd, int other_fd, int trace_fd)
{
    struct keeper keeper = {
        .alive_fd = alive_fd, .kill_at = RZ_TIME_NEVER, .continue_at = RZ_TIME_NEVER};
    int lifeline[2];
    struct rz_signals_taken signals;
    rz_kill_here(RZ_KILL_KEEPER_BEGIN);
    /* Signals of a terminal go to rzrun, which forwards them. */
    rz_child_process_lead_session();
    if (rz_process_adopt_orphans() != RZ_OK) {
        return keeper_error("adopting orphans");
    }
    if (rz_channel_pair(lifeline) != RZ_OK) {
        return keeper_error("lifeline");
    }
    rz_signals_take(&signals); /* the daemon restores the signal mask for its processes */
    pid_t keeper_pid = getpid();
    keeper.daemon = rz_child_process_fork();
    if (keeper.daemon < 0) {
        return keeper_error("fork");
    }
    if (keeper.daemon == 0) {
        rz_signals_give_back(&signals);
        close(lifeline[0]);
        if (alive_fd >= 0) {
            close(alive_fd);
        }
        /* When the keeper has ended, the daemon is not killed, but continued if it was stopped: it
         * must see the end of the lifeline. */
        if (rz_process_fail_with_parent(keeper_pid, SIGCONT) != RZ_OK) {
            _exit(EXIT_FAILURE);
        }
        return lifeline[1];
    }
    close(lifeline[1]);
    close(other_fd);
    if (trace_fd >= 0) {
        close(trace_fd);
    }
    rz_kill_here(RZ_KILL_KEEPER_FORKED);
    rz_child_process_name("rzd-keeper");
    keeper.lifeline_fd = lifeline[0];
    if (rz_signals_open(&signals, &keeper.signal_fd) != RZ_OK) {
        keeper_error("signalfd");
        rz_child_process_signal(keeper.daemon, SIGKILL);
        clear_node();
        _exit(EXIT_FAILURE);
    }
    keep_watch(&keeper);
}

rz_status_t rz_keeper_folder(int lifeline_fd, const char *path)
{
    char message[RZ_SCRATCH_PATH_MAX] = {0};
    snprintf(message, sizeof(message), "%s", path);
    return rz_channel_send(lifeline_fd, message, sizeof(message), NULL, 0);
}

rz_status_t rz_keeper_detach(int lifeline_fd)
{
    uint64_t message = RZ_TIME_NEVER;
    return rz_channel_send(lifeline_fd, &message, sizeof(message), NULL, 0);
}

rz_status_t rz_keeper_freeze(int lifeline_fd, rz_time for_ns)
{
    uint64_t message = for_ns;
    return rz_channel_send(lifeline_fd, &message, sizeof(message), NULL, 0);
}
