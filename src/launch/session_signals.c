/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of signals on rzrun; docs/signals-and-streams.md has the table. Handlers write their
 * numbers into a pipe that outlives the attempts: what comes while no loop reads it, between two
 * attempts, is read later. */
#include "launch/session.h"
#include "launch/surroundings.h"

#include "base/no_memory.h"
#include "outcome/exit_codes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
enum { SIGNALS_N = sizeof(numbers) / sizeof(*numbers) };

static int caught[2] = {-1, -1};
static struct sigaction actions_before[SIGNALS_N];
static bool handled[SIGNALS_N];

static void catch_signal(int number)
{
    int error = errno;
    const uint8_t byte = (uint8_t)number;
    ssize_t ignored = write(caught[1], &byte, 1);
    (void)ignored;
    errno = error;
}

/* 0: none. */
static int next_caught(void)
{
    uint8_t number;
    return read(caught[0], &number, 1) == 1 ? number : 0;
}

/* Whether the job ends at this signal: those for users do only as signal of --signal-checkpoint. */
static bool ends_job(const struct rz_rzrun_options *options, int number)
{
    return (number != SIGUSR1 && number != SIGUSR2) || number == options->signal_checkpoint;
}

static void take_signal(struct rz_launch_session *session, int number)
{
    bool ends = ends_job(session->options, number);
    if (ends) {
        session->attempts->ended_by = number;
    }
    if (rz_session_save(session, number)) {
        return;
    }
    if (!ends && !session->started) {
        return; /* there is no process yet */
    }
    if (!ends) {
        struct rz_launch_message message = {.type = RZ_LAUNCH_SIGNAL,
                                            .signal = {.number = (uint32_t)number}};
        rz_session_send_all(session, &message);
        return;
    }
    rz_outcome_decide(&session->referee.outcome, 128 + number,
                      "the job was ended by signal %d (%s) to rzrun", number, strsignal(number));
    session->interrupted = true;
    rz_surroundings_signalled(number);
    if (session->ending) {
        event_base_loopbreak(session->base); /* a second Ctrl-C ends rzrun without waiting */
    }
    rz_launch_session_end(session, RZ_END_GRACE_MS);
}

static void on_caught(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    for (int number; (number = next_caught()) > 0;) {
        take_signal(arg, number);
    }
}

void rz_session_signals_look(struct rz_launch_session *session)
{
    for (int number; (number = next_caught()) > 0;) {
        if (ends_job(session->options, number)) {
            session->attempts->ended_by = number;
            session->interrupted = true;
            rz_surroundings_signalled(number);
        }
    }
}

int rz_attempts_ended_by_signal(const struct rz_attempts *attempts, char text[RZ_ENDED_BY_TEXT])
{
    int number = attempts->ended_by;
    if (attempts->checkpoints.used &&
        (number == SIGTERM || number == attempts->job->signal_checkpoint)) {
        snprintf(text, RZ_ENDED_BY_TEXT, "%s ended the job", rz_rzrun_signal_name(number));
        return RZ_EXIT_SAVED;
    }
    text[0] = 0;
    if (number == SIGPIPE) { /* nothing is said of it anywhere */
        return 128 + number;
    }
    snprintf(text, RZ_ENDED_BY_TEXT, "the job was ended by signal %d (%s) to rzrun", number,
             strsignal(number));
    return 128 + number;
}

/* A signal that nohup, or a script that runs rzrun in the background, has set to be ignored stays
 * ignored. */
static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void rz_session_signals_open(struct rz_launch_session *session)
{
    const struct sigaction action = {.sa_handler = catch_signal, .sa_flags = SA_RESTART};
    if (caught[0] < 0 && pipe2(caught, O_CLOEXEC | O_NONBLOCK) != 0) {
        fprintf(stderr, "rzrun: cannot start: %s\n", strerror(errno));
        exit(RZ_EXIT_START);
    }
    for (unsigned i = 0; i < SIGNALS_N; i++) {
        bool ignored = is_ignored(numbers[i]) && numbers[i] != session->options->signal_checkpoint;
        if (!handled[i] && !ignored) {
            handled[i] = sigaction(numbers[i], &action, &actions_before[i]) == 0;
        }
    }
    session->signalled =
        event_new(session->base, caught[0], EV_READ | EV_PERSIST, on_caught, session);
    rz_need_memory(session->signalled, "for signals");
    event_add(session->signalled, NULL);
}

void rz_session_signals_close(struct rz_launch_session *session)
{
    event_free(session->signalled);
}

void rz_session_signals_restore(void)
{
    for (unsigned i = 0; i < SIGNALS_N; i++) {
        if (handled[i]) {
            sigaction(numbers[i], &actions_before[i], NULL);
        }
        handled[i] = false;
    }
}
