/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output of processes on its way out of rzrun. A slow reader delays the writing processes, through
 * the daemons, and nothing else: news of failures, exits, signals and --timeout are not delayed.
 */
#include "launch/session.h"
#include "launch/surroundings.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "outcome/exit_codes.h"
#include "port/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Above the first mark of unread bytes the daemons are told to hold their processes' output, below
 * the second to release it. */
#define QUEUE_HIGH (4u << 20)
#define QUEUE_LOW (1u << 20)
/* Bound for the reader to read the last output of a job that was interrupted or reached its time
 * limit. */
#define LAST_READ_S 5

static void hold_outputs(struct rz_launch_session *session, bool held)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_HOLD_OUTPUT,
                                        .hold_output = {.hold = held}};
    if (held == session->output_held) {
        return;
    }
    session->output_held = held;
    rz_session_send_all(session, &message);
}

static void look_at_queue(struct rz_launch_session *session)
{
    size_t queued = rz_show_output_queued(&session->show);
    hold_outputs(session, session->output_held ? queued > QUEUE_LOW : queued > QUEUE_HIGH);
}

static void look_at_tails(struct rz_launch_session *session)
{
    rz_time due = rz_show_output_due(&session->show), now = rz_clock_now();
    if (due == RZ_TIME_NEVER || evtimer_pending(session->output_late, NULL)) {
        return;
    }
    rz_session_arm(session->output_late, due > now ? due - now : 0);
}

static void late(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    rz_show_output_late(&session->show, rz_clock_now());
    look_at_tails(session);
}

/* Once. */
static void tell_overrun(struct rz_launch_session *session)
{
    if (session->show.overrun && !session->overrun_told) {
        session->overrun_told = true;
        fprintf(stderr,
                "rzrun: --rewind-output hold: more output than %u MiB waits for a snapshot, and is "
                "shown before\n",
                RZ_SHOW_TAILS_MAX >> 20);
    }
}

void rz_session_output(struct rz_launch_session *session, const struct rz_launch_message *message)
{
    if (rz_session_check_output(session, message)) {
        return;
    }
    rz_story_give_way(&session->story);
    if (message->type == RZ_LAUNCH_OUTPUT_SAFE) {
        rz_show_output_safe(&session->show, &message->output_safe);
    } else {
        rz_show_output(&session->show, &message->output);
        tell_overrun(session);
    }
    if (!evtimer_pending(session->output_late, NULL)) {
        look_at_tails(session);
    }
    look_at_queue(session);
}

/* A reader that has gone ends the job, as SIGPIPE would; with a full disk the job continues, and
 * its exit status shows it. */
static void on_error(struct rz_launch_session *session, int stream, int error)
{
    static const char *const names[RZ_SHOW_STREAMS] = {"output", "error"};
    session->output_error[stream] = error;
    if (error == EPIPE) {
        rz_outcome_decide(&session->referee.outcome, 128 + SIGPIPE, "%s", "");
        session->interrupted = true;
        session->attempts->ended_by = SIGPIPE;
        rz_surroundings_signalled(SIGPIPE);
        rz_launch_session_end(session, 0);
        return;
    }
    fprintf(stderr, "rzrun: standard %s cannot be written: %s; what is not written is lost\n",
            names[stream], strerror(error));
}

/* Whether there was an error that is reported now. */
static bool look_at_errors(struct rz_launch_session *session)
{
    bool any = false;
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        int error = rz_stream_writer_error(session->show.streams[i].writer);
        if (error == 0 || session->output_error[i] != 0) {
            continue;
        }
        on_error(session, i, error);
        any = true;
    }
    return any;
}

static void on_written(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof(count));
    (void)ignored, (void)what;
    look_at_errors(session);
    look_at_queue(session);
    if (session->flushing && rz_show_output_queued(&session->show) == 0) {
        event_base_loopbreak(session->base);
    }
}

/* The message of an assertion must be written before the abort, which does not stop for the
 * writer's thread. */
static void assertion_failed(const char *expression, const char *file, int line)
{
    dprintf(STDERR_FILENO, "rzrun: %s:%d: assertion failed: %s\n", file, line, expression);
}

rz_status_t rz_session_output_open(struct rz_launch_session *session)
{
    rz_status_t status = rz_show_output_open(&session->show, session->options->label);
    session->show.rewound = session->options->rewind_output;
    if (status != RZ_OK) {
        return status;
    }
    session->output_late = evtimer_new(session->base, late, session);
    rz_need_memory(session->output_late, "for output of the job");
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        int fd = rz_stream_writer_event_fd(session->show.streams[i].writer);
        session->written[i] =
            event_new(session->base, fd, EV_READ | EV_PERSIST, on_written, session);
        rz_need_memory(session->written[i], "for output of the job");
        event_add(session->written[i], NULL);
    }
    session->own_stderr = stderr;
    stderr = rz_show_output_words(&session->show);
    rz_need_memory(stderr, "for output of rzrun");
    rz_assert_hook = assertion_failed;
    return RZ_OK;
}

/* All output is shown before rzrun ends, however slow the reader is; an interrupt or --timeout ends
 * the wait. */
static void flush(struct rz_launch_session *session)
{
    session->flushing = session->ending = true;
    event_del(session->last_word);
    if (session->attempts->again) {
        rz_show_output_discard(&session->show);
    }
    rz_show_output_late(&session->show, RZ_TIME_NEVER);
    if (session->interrupted || session->out_of_time) {
        event_base_loopexit(session->base, &(struct timeval){.tv_sec = LAST_READ_S});
    }
    do {
        if (rz_show_output_queued(&session->show) > 0) {
            event_base_dispatch(session->base);
        }
    } while (look_at_errors(session));
}

int rz_session_output_close(struct rz_launch_session *session, int status)
{
    flush(session);
    rz_assert_hook = NULL;
    fclose(stderr);
    stderr = session->own_stderr;
    size_t unread = rz_show_output_queued(&session->show);
    bool lost = unread > 0 || session->input_lost, piped = false;
    for (int i = 0; i < RZ_SHOW_STREAMS; i++) {
        lost |= session->output_error[i] != 0;
        piped |= session->output_error[i] == EPIPE;
        event_free(session->written[i]);
    }
    if (unread > 0 && rz_stream_writer_queued(session->show.streams[1].writer) == 0) {
        fprintf(stderr, "rzrun: the last %zu bytes of output were not read and are lost\n", unread);
    }
    event_free(session->output_late);
    rz_show_output_close(&session->show);
    if (status == 0 && piped) {
        return 128 + SIGPIPE;
    }
    return status == 0 && lost ? RZ_EXIT_OUTPUT : status;
}
