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

static void end(struct rz_launch_session *session)
{
    rz_outcome_decide(&session->referee.outcome, RZ_EXIT_SAVED, "%s", session->save.words);
    rz_launch_session_end(session, RZ_END_GRACE_MS);
}

static void out_of_time(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    snprintf(session->save.words, sizeof(session->save.words),
             "%s ended the job; its newest checkpoint could not be written within %d s",
             rz_rzrun_signal_name(session->save.signal), SAVE_BOUND_S);
    end(session);
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
    snprintf(session->save.words, sizeof(session->save.words), "%s ended the job",
             rz_rzrun_signal_name(number));
    if (!session->started) {
        end(session);
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
    struct rz_session_save *save = &session->save;
    if (!save->signal || session->ending) {
        return;
    }
    if (generation > 0) {
        snprintf(save->words, sizeof(save->words),
                 "%s ended the job after checkpoint %llu was written",
                 rz_rzrun_signal_name(save->signal), (unsigned long long)generation);
    } else {
        snprintf(save->words, sizeof(save->words), "%s ended the job before its first checkpoint",
                 rz_rzrun_signal_name(save->signal));
    }
    end(session);
}

void rz_session_save_close(struct rz_launch_session *session)
{
    if (session->save.bound) {
        event_free(session->save.bound);
    }
}
