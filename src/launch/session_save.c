/* SPDX-License-Identifier: BSD-3-Clause */
/* The newest checkpoint is written to files (--checkpoint-dir) before the job ends: at a signal, so
 * that a later job can continue it, or to begin again with a host that is back. */
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

static void save_out_of_time(evutil_socket_t fd, short what, void *arg)
{
    char rest[80];
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    if (!session->save.signal) { /* the job goes on as it is */
        session->save.host = NULL;
        return;
    }
    snprintf(rest, sizeof(rest), "; its newest checkpoint could not be written within %d s",
             SAVE_BOUND_S);
    end(session, rest);
}

static void ask_for_save(struct rz_launch_session *session)
{
    const struct rz_launch_message message = {.type = RZ_LAUNCH_SAVE};
    if (!session->save.bound) {
        session->save.bound = evtimer_new(session->base, save_out_of_time, session);
        rz_need_memory(session->save.bound, "to wait for a checkpoint");
    }
    event_add(session->save.bound, &(struct timeval){.tv_sec = SAVE_BOUND_S});
    rz_session_send_all(session, &message);
}

bool rz_session_save(struct rz_launch_session *session, int number)
{
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
    ask_for_save(session);
    return true;
}

void rz_session_save_for(struct rz_launch_session *session, const char *host)
{
    if (session->started && !session->ending && !session->save.signal && !session->save.host) {
        session->save.host = host;
        ask_for_save(session);
    }
}

/* Without a checkpoint in files the job would begin from its start: it goes on as it is. */
static void saved_for_host(struct rz_launch_session *session, uint64_t generation)
{
    const char *host = session->save.host;
    session->save.host = NULL;
    event_del(session->save.bound);
    if (generation > 0) {
        session->save.readmits = true;
        session->story.lost = 0; /* it was repaired, and is not why the job begins again */
        rz_outcome_decide(&session->referee.outcome, RZ_EXIT_SAVED,
                          "%s answers again, and checkpoint %llu was written", host,
                          (unsigned long long)generation);
        rz_launch_session_end(session, RZ_END_GRACE_MS);
    }
}

void rz_session_saved(struct rz_launch_session *session, uint64_t generation)
{
    char rest[80] = " before its first checkpoint";
    if (session->ending || (!session->save.signal && !session->save.host)) {
        return;
    }
    if (!session->save.signal) {
        saved_for_host(session, generation);
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
