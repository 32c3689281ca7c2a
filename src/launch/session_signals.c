/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of signals on rzrun; docs/signals-and-streams.md has the table. */
#include "launch/session.h"
#include "launch/surroundings.h"

#include <signal.h>
#include <string.h>

static void take_signal(evutil_socket_t number, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)what;
    if (rz_session_save(session, (int)number)) {
        return;
    }
    if ((number == SIGUSR1 || number == SIGUSR2) && !session->started) {
        return; /* there is no process yet */
    }
    if (number == SIGUSR1 || number == SIGUSR2) {
        struct rz_launch_message message = {.type = RZ_LAUNCH_SIGNAL,
                                            .signal = {.number = (uint32_t)number}};
        rz_session_send_all(session, &message);
        return;
    }
    rz_outcome_decide(&session->referee.outcome, 128 + (int)number,
                      "the job was ended by signal %d (%s) to rzrun", (int)number,
                      strsignal((int)number));
    session->interrupted = true;
    rz_surroundings_signalled((int)number);
    if (session->ending) {
        event_base_loopbreak(session->base); /* a second Ctrl-C ends rzrun without waiting */
    }
    rz_launch_session_end(session, RZ_END_GRACE_MS);
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
    static const int numbers[RZ_SESSION_SIGNALS] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    for (unsigned i = 0; i < RZ_SESSION_SIGNALS; i++) {
        if (is_ignored(numbers[i]) && numbers[i] != session->options->signal_checkpoint) {
            continue;
        }
        session->signals[i] = evsignal_new(session->base, numbers[i], take_signal, session);
        event_add(session->signals[i], NULL);
    }
}

void rz_session_signals_close(struct rz_launch_session *session)
{
    for (unsigned i = 0; i < RZ_SESSION_SIGNALS; i++) {
        if (session->signals[i]) {
            event_free(session->signals[i]);
        }
    }
}
