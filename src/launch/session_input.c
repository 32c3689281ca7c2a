/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwards rzrun's standard input to the node of rank 0, as far as that node accepts it. */
#include "launch/rewind_check.h"
#include "launch/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Period after which a job in the background of a terminal checks whether it may read again. */
#define BACKGROUND_LOOK_MS 300

/* The node that the input is sent to; each node receives only what it has requested. */
static struct rz_node *reader(struct rz_launch_session *session)
{
    return &session->nodes[session->referee.outcome.ranks[0].node];
}

/* Reading would stop rzrun (SIGTTIN): it waits until it is in the foreground. */
static bool in_background(const struct rz_launch_session *session)
{
    pid_t foreground = session->stdin_terminal ? tcgetpgrp(STDIN_FILENO) : -1;
    return foreground >= 0 && foreground != getpgrp();
}

/* n 0: the input has ended. */
static void send_input(struct rz_node *node, const uint8_t *data, uint32_t n)
{
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_STDIN,
        .stdin_data = {
            .data = data, .data_length = n, .end = n == 0, .reader = node->input_reader}};
    rz_node_send(node, &message);
    node->input_ended |= n == 0;
    node->input_credit -= n;
    node->input_place += n;
}

/* What was read before, and this node was not sent. */
static bool has_kept(const struct rz_launch_session *session, const struct rz_node *node)
{
    return node->input_reader != 0 && node->input_place < session->attempts->input.total;
}

void rz_session_input_look(struct rz_launch_session *session)
{
    const struct timeval later = {.tv_usec = BACKGROUND_LOOK_MS * 1000};
    struct rz_node *node = reader(session);
    bool kept = has_kept(session, node);
    if (session->stdin_ended && !kept && node->input_reader != 0 && !node->input_ended) {
        send_input(node, (const uint8_t *)"", 0);
    }
    if ((session->stdin_ended && !kept) || node->input_credit == 0 || session->ending) {
        return;
    }
    if (kept) {
        event_active(session->stdin_readable, EV_READ, 0);
        return;
    }
    if (in_background(session)) {
        event_add(session->stdin_later, &later);
    } else if (session->stdin_always_ready || event_add(session->stdin_readable, NULL) != 0) {
        event_active(session->stdin_readable, EV_READ, 0);
    }
}

/* The processes see the end of their input although an error ended it: this must not pass for
 * success. An input that was closed, or lost its terminal, has no more to deliver. */
static void input_failed(struct rz_launch_session *session, int error)
{
    struct stat info;
    if (error == EBADF || (fstat(STDIN_FILENO, &info) == 0 && S_ISCHR(info.st_mode))) {
        return;
    }
    session->input_lost = true;
    fprintf(stderr, "rzrun: standard input cannot be read: %s\n", strerror(error));
}

/* ---- Input that is read again ---- */

static void kept_open(struct rz_input_kept *kept)
{
    struct stat info;
    off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (kept->opened) {
        return;
    }
    kept->opened = true;
    if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode) && at >= 0) {
        kept->base = (uint64_t)at;
    } else {
        kept->file = tmpfile();
        kept->lost = !kept->file;
        kept->error = errno;
    }
}

static void keep_input(struct rz_input_kept *kept, const uint8_t *data, size_t n)
{
    bool lost = kept->lost;
    if (kept->file && !lost) {
        ssize_t written = pwrite(fileno(kept->file), data, n, (off_t)kept->total);
        kept->lost = written != (ssize_t)n;
        kept->error = written < 0 ? errno : ENOSPC;
    }
    if (kept->lost && (!lost || kept->total == 0)) {
        fprintf(stderr,
                "rzrun: standard input cannot be kept in a temporary file: %s; the job ends if "
                "rank 0 must read it again\n",
                strerror(kept->error));
    }
    kept->total += n;
}

static void send_kept(struct rz_launch_session *session, struct rz_node *node)
{
    const struct rz_input_kept *kept = &session->attempts->input;
    static uint8_t data[16384];
    uint64_t left = kept->total - node->input_place;
    size_t most = node->input_credit < sizeof(data) ? node->input_credit : sizeof(data);
    int fd = kept->file ? fileno(kept->file) : STDIN_FILENO;
    ssize_t n = kept->lost ? -1
                           : pread(fd, data, left < most ? (size_t)left : most,
                                   (off_t)(kept->base + node->input_place));
    if (n <= 0) {
        rz_outcome_decide(&session->referee.outcome, EXIT_FAILURE, "%s",
                          "rank 0 must read its standard input again, which was not kept");
        rz_launch_session_end(session, 0);
        return;
    }
    send_input(node, data, (uint32_t)n);
    rz_session_input_look(session);
}

static void on_input(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    struct rz_node *node = reader(session);
    static uint8_t data[16384]; /* static, because stacks may be small */
    (void)what;
    if (node->input_credit > 0 && has_kept(session, node)) {
        send_kept(session, node);
        return;
    }
    if (node->input_credit == 0 || session->stdin_ended) {
        return;
    }
    if (in_background(session)) {
        rz_session_input_look(session);
        return;
    }
    ssize_t n =
        read(fd, data, node->input_credit < sizeof(data) ? node->input_credit : sizeof(data));
    if (n < 0 && (errno == EINTR || errno == EAGAIN || in_background(session))) {
        rz_session_input_look(session);
        return;
    }
    if (n < 0) {
        input_failed(session, errno);
    }
    if (n > 0 && session->options->rewind) {
        keep_input(&session->attempts->input, data, (size_t)n);
    }
    send_input(node, data, n > 0 ? (uint32_t)n : 0);
    if (session->options->check && n > 0) {
        session->options->check->input += (uint64_t)n;
    }
    session->stdin_ended = n <= 0;
    rz_session_input_look(session);
}

static void look_again_for_input(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    rz_session_input_look(arg);
}

/* rank 0 has moved to another node after the input ended: that node must be told of the end,
 * too. */
void rz_session_input_wanted(struct rz_launch_session *session, struct rz_node *node,
                             const struct rz_launch_stdin_wanted *wanted)
{
    if (wanted->reader != node->input_reader) { /* a new process, which reads all */
        node->input_reader = wanted->reader;
        node->input_place = 0;
        node->input_credit = 0;
        node->input_ended = false;
    }
    if (!session->stdin_ended || has_kept(session, node)) {
        node->input_credit += wanted->bytes;
        rz_session_input_look(session);
    } else if (!node->input_ended) {
        send_input(node, (const uint8_t *)"", 0);
    }
}

void rz_session_input_open(struct rz_launch_session *session)
{
    struct stat info;
    if (session->options->rewind) {
        kept_open(&session->attempts->input);
    }
    session->stdin_terminal = isatty(STDIN_FILENO);
    session->stdin_always_ready = fstat(STDIN_FILENO, &info) == 0 && !S_ISFIFO(info.st_mode) &&
                                  !S_ISSOCK(info.st_mode) && !session->stdin_terminal;
    session->stdin_readable = event_new(session->base, STDIN_FILENO, EV_READ, on_input, session);
    session->stdin_later = evtimer_new(session->base, look_again_for_input, session);
}

void rz_session_input_close(struct rz_launch_session *session)
{
    event_free(session->stdin_readable);
    event_free(session->stdin_later);
}
