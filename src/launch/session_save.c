/* SPDX-License-Identifier: BSD-3-Clause */
/* A signal ends the job such that a later one can continue it: the newest checkpoint is written to
 * files first (--checkpoint-dir). */
#include "launch/rzrun_checkpoints.h"
#include "launch/session.h"

#include "base/no_memory.h"
#include "outcome/exit_codes.h"

#include <event2/event.h>
#include <signal.h>
#include <stdio.h>

/* A batch system kills a job about 30 s after SIGTERM (Slurm: KillWait). */
#define SAVE_BOUND_S 20

/* rest: what follows "SIGTERM ended the job". */
static void end(struct rz_launch_session *session, const char *rest)
{
    rz_outcome_decide(&session->referee.outcome, RZ_EXIT_SAVED, "%s ended the job%s",
                      rz_rzrun_signal_name(session->save.signal), rest);
    rz_launch_session_end(session, RZ_END_GRACE_MS);
}

static void out_of_time(evutil_socket_t fd, short what, void *arg)
{
    char rest[80];
    (void)fd, (void)what;
    snprintf(rest, sizeof(rest), "; its newest checkpoint could not be written within %d s",
             SAVE_BOUND_S);
    end(arg, rest);
}

bool rz_session_save(struct rz_launch_session *session, int number)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_SAVE};
    bool wanted = number == SIGTERM || number == session->options->signal_checkpoint;
    if (!wanted || !session->attempts->checkpoints.used || session->ending ||
        session->save.signal) {
        return false;
    }
    session->save.signal = number;
    if (!session->started) {
        end(session, "");
        return true;
    }
    session->save.bound = evtimer_new(session->base, out_of_time, session);
    rz_need_memory(session->save.bound, "to wait for a checkpoint");
    event_add(session->save.bound, &(struct timeval){.tv_sec = SAVE_BOUND_S});
    rz_session_send_all(session, &message);
    return true;
}

void rz_session_saved(struct rz_launch_session *session, uint64_t generation)
{
    char rest[80] = " before its first checkpoint";
    if (!session->save.signal || session->ending) {
        return;
    }
    if (generation > 0) {
        snprintf(rest, sizeof(rest), " after checkpoint %llu was written",
                 (unsigned long long)generation);
    }
    end(session, rest);
}

void rz_session_save_close(struct rz_launch_session *session)
{
    if (session->save.bound) {
        event_free(session->save.bound);
    }
}
