/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the agents of dialogs, writes orders, reads lines, and notices ends. */
#include "remote/dialog.h"

#include "base/no_memory.h"
#include "base/printable.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "remote/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* An agent whose standard input has been closed ends by itself within this time, or by SIGTERM
 * within that time again. */
#define END_WITHIN (3 * RZ_SECOND)
#define HEAR_MS 20
#define CAPACITY_AT_FIRST 4096

/* ---- starting ---- */

static void close_all(int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
        fds[i] = -1;
    }
}

void rz_dialogs_prepare(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

void rz_dialog_start(struct rz_dialog *dialog, const char *const *words, bool greets)
{
    int fds[6] = {-1, -1, -1, -1, -1, -1}, *in = fds, *out = fds + 2, *err = fds + 4;
    pid_t pid = -1;
    dialog->pid = dialog->in = dialog->out = dialog->err = -1;
    dialog->status = 0;
    dialog->waits = greets;
    dialog->ordered = rz_clock_now();
    dialog->answered = 0;
    if (rz_descriptor_stream_pair(in) == RZ_OK && rz_descriptor_pipe(out) == RZ_OK &&
        rz_descriptor_pipe(err) == RZ_OK) {
        pid = rz_agent_process_start(words, NULL, (const int[]){in[1], out[1], err[1]}, NULL, "");
    }
    if (pid < 0) {
        char why[128];
        snprintf(why, sizeof(why), "%s", strerror(errno));
        close_all(fds, 6);
        dialog->status = RZ_AGENT_NOT_STARTED;
        dialog->heard(dialog->arg, why);
        return;
    }
    close_all((int[]){in[1], out[1], err[1]}, 3);
    dialog->pid = pid;
    dialog->in = in[0];
    dialog->out = out[0];
    dialog->err = err[0];
    rz_descriptor_no_wait(dialog->out);
    rz_descriptor_no_wait(dialog->err);
}

/* ---- orders and answers ---- */

void rz_dialog_order(struct rz_dialog *dialog, const char *order)
{
    size_t n = strlen(order);
    char *line = malloc(n + 1);
    rz_need_memory(line, "for an order");
    memcpy(line, order, n);
    line[n] = '\n';
    dialog->ordered = rz_clock_now();
    dialog->waits = true;
    if (dialog->in >= 0) {
        /* It fits into the socket, unless the host reads nothing: then it does not answer. */
        (void)!send(dialog->in, line, n + 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    free(line);
}

static void take_line(struct rz_dialog *dialog, int i)
{
    char *line = dialog->lines[i];
    if (!line) {
        return;
    }
    line[dialog->lengths[i]] = '\0';
    line[strcspn(line, "\r")] = '\0';
    rz_printable(line, strlen(line), "\t");
    dialog->lengths[i] = 0;
    if (*line && dialog->heard(dialog->arg, line)) {
        dialog->answered = rz_clock_now();
        dialog->waits = false;
    }
}

/* Room for one more character and the end. */
static void make_room(struct rz_dialog *dialog, int i)
{
    if (dialog->lengths[i] + 1 < dialog->capacities[i]) {
        return;
    }
    dialog->capacities[i] =
        dialog->capacities[i] > 0 ? 2 * dialog->capacities[i] : CAPACITY_AT_FIRST;
    dialog->lines[i] = realloc(dialog->lines[i], dialog->capacities[i]);
    rz_need_memory(dialog->lines[i], "for what hosts say");
}

/* Reads what is there of out (0) or err (1). */
static void hear(struct rz_dialog *dialog, int i)
{
    int *fd = i == 0 ? &dialog->out : &dialog->err;
    char bytes[4096];
    ssize_t got;
    while ((got = read(*fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t k = 0; k < got; k++) {
            if (bytes[k] == '\n' || dialog->lengths[i] + 1 >= dialog->line_max) {
                take_line(dialog, i);
            } else {
                make_room(dialog, i);
                dialog->lines[i][dialog->lengths[i]++] = bytes[k];
            }
        }
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        take_line(dialog, i);
        close(*fd);
        *fd = -1;
    }
}

/* Its last words; a child of it may hold the other ends. */
static void close_ended(struct rz_dialog *dialog)
{
    for (int i = 0; i < 2; i++) {
        int *fd = i == 0 ? &dialog->out : &dialog->err;
        if (*fd >= 0) {
            hear(dialog, i);
        }
        take_line(dialog, i);
        free(dialog->lines[i]);
        dialog->lines[i] = NULL;
        dialog->capacities[i] = dialog->lengths[i] = 0;
    }
    close_all((int[]){dialog->in, dialog->out, dialog->err}, 3);
    dialog->in = dialog->out = dialog->err = -1;
}

/* Whether nothing can come from it any more. */
static bool is_over(struct rz_dialog *dialog)
{
    int status;
    if (dialog->pid >= 0 && rz_child_process_reap_ended(dialog->pid, &status)) {
        dialog->status = rz_child_process_exit_of(status);
        dialog->pid = -1;
        close_ended(dialog);
    }
    return dialog->pid < 0;
}

void rz_dialogs_hear(struct rz_dialog *dialogs, size_t n, int fd, int within_ms)
{
    size_t m = 0;
    struct pollfd *ready = calloc(2 * n + 1, sizeof(*ready));
    rz_need_memory(ready, "to hear hosts");
    for (size_t i = 0; i < n; i++) {
        bool open = !is_over(&dialogs[i]);
        ready[m++] = (struct pollfd){.fd = open ? dialogs[i].out : -1, .events = POLLIN};
        ready[m++] = (struct pollfd){.fd = open ? dialogs[i].err : -1, .events = POLLIN};
    }
    ready[m] = (struct pollfd){.fd = fd, .events = POLLIN};
    poll(ready, m + 1, within_ms);
    for (size_t i = 0; i < m; i++) {
        if (ready[i].fd >= 0 && ready[i].revents) {
            hear(&dialogs[i / 2], (int)(i % 2));
        }
    }
    free(ready);
}

static bool any_waits(struct rz_dialog *dialogs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_over(&dialogs[i]) && dialogs[i].waits) {
            return true;
        }
    }
    return false;
}

void rz_dialogs_await(struct rz_dialog *dialogs, size_t n, rz_time deadline)
{
    while (any_waits(dialogs, n) && rz_clock_now() < deadline) {
        rz_dialogs_hear(dialogs, n, -1, HEAR_MS); /* ends are looked for in between */
    }
}

/* ---- ends ---- */

void rz_dialog_stop(struct rz_dialog *dialog)
{
    dialog->waits = false;
    if (dialog->pid >= 0) {
        rz_child_process_signal(dialog->pid, SIGTERM);
    }
}

void rz_dialogs_end(struct rz_dialog *dialogs, size_t n)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    rz_time bound = rz_clock_now() + END_WITHIN;
    for (size_t i = 0; i < n; i++) {
        close_all(&dialogs[i].in, 1);
        if (dialogs[i].waits) {
            rz_dialog_stop(&dialogs[i]);
        }
    }
    for (size_t next = 0, open = n; open > 0;) {
        bool late = rz_clock_now() > bound && next < 2;
        open = 0;
        for (size_t i = 0; i < n; i++) {
            if (is_over(&dialogs[i])) {
                continue;
            }
            open++;
            if (late) {
                rz_child_process_signal(dialogs[i].pid, signals[next]);
            }
        }
        if (late) {
            next++;
            bound += END_WITHIN;
        }
        poll(NULL, 0, open > 0 ? HEAR_MS : 0);
    }
}
