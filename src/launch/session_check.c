/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of --rewind-check (rewind_check.h): kills ranks when images are safe, keeps what the ranks
 * write, and ends the run at its bound. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "launch/rewind_check.h"
#include "port/clock.h"

#include <string.h>

enum { CHECK_KILLS = 2, COMMITS_FIRST = 2, COMMITS_NEXT = 1 };

static void check_ends(struct rz_launch_session *session)
{
    rz_outcome_decide(&session->referee.outcome, 0, "%s", "");
    rz_launch_session_end(session, 0);
}

static void check_out_of_time(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    if (!session->ending) {
        session->options->check->bounded = true;
        check_ends(session);
    }
}

/* First the last rank, then the first one. */
static void check_kills(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    struct rz_check_run *check = session->options->check;
    uint32_t victim = check->kills == 0 ? session->options->n_ranks - 1 : 0;
    (void)fd, (void)what;
    if (!check->left && rz_session_kill_rank(session, victim)) {
        check->kills++;
        check->commits = 0;
    }
}

void rz_session_check_open(struct rz_launch_session *session)
{
    struct rz_check_run *check = session->options->check;
    if (!check) {
        return;
    }
    check->begun = rz_clock_now();
    check->end = evtimer_new(session->base, check_out_of_time, session);
    check->kill = evtimer_new(session->base, check_kills, session);
    rz_need_memory(check->end && check->kill, "for a job");
    rz_session_arm(check->end, check->bound);
}

/* A rank fails some time after the commit: what it does in between must happen again. The next
 * snapshot comes later (proto/snapshot/snapshot_pace.h). */
void rz_session_check_event(struct rz_launch_session *session, const struct rz_launch_event *event)
{
    struct rz_check_run *check = session->options->check;
    if (check && event->kind == RZ_EVENT_RECORD_LEFT) {
        check->left = true;
    }
    if (!check || !check->tries || event->kind != RZ_EVENT_RECORD_COMMITTED ||
        event->value <= check->newest) {
        return; /* each node says it */
    }
    check->newest = event->value;
    check->commits++;
    uint32_t enough = check->kills == 0 ? COMMITS_FIRST : COMMITS_NEXT;
    if (check->commits >= enough && check->kills == check->restored && check->kills < CHECK_KILLS &&
        !evtimer_pending(check->kill, NULL)) {
        rz_session_arm(check->kill, check->every / 2);
    }
}

static void check_unrestored(struct rz_launch_session *session, const char *why)
{
    struct rz_check_run *check = session->options->check;
    check->unrestored = true;
    snprintf(check->why, sizeof(check->why), "%s", why);
    check_ends(session);
}

void rz_session_check_recovered(struct rz_launch_session *session, uint64_t generation)
{
    struct rz_check_run *check = session->options->check;
    if (!check || !check->tries || session->ending) {
        return;
    }
    if (generation == 0) {
        check_unrestored(session, "after a failure it began again at its start");
        return;
    }
    check->restored = check->kills;
    check->restored_at = rz_clock_now();
}

void rz_session_check_fell_back(struct rz_launch_session *session)
{
    if (session->options->check && !session->ending) {
        check_unrestored(session, "a rank could not be restored");
    }
}

bool rz_session_check_output(struct rz_launch_session *session,
                             const struct rz_launch_message *message)
{
    struct rz_check_run *check = session->options->check;
    if (!check || message->type != RZ_LAUNCH_OUTPUT || message->output.rank == RZ_ID_NONE) {
        return false;
    }
    rz_check_output_take(&check->output, &message->output);
    return true;
}

void rz_session_check_message(struct rz_launch_session *session,
                              const struct rz_launch_message *message)
{
    const struct rz_launch_aborted *told = &message->aborted;
    static const char unsaved[] = RZ_ABORTED_UNSAVED;
    struct rz_check_run *check = session->options->check;
    if (check && check->tries && !session->ending && message->type == RZ_LAUNCH_ABORTED &&
        strncmp(told->reason, unsaved, strlen(unsaved)) == 0) {
        check->unsaved = true;
        snprintf(check->why, sizeof(check->why), "rank %u cannot be saved: %s", told->rank,
                 told->reason + strlen(unsaved));
        check_ends(session);
    }
}

/* The kill came when the ranks had left: it says nothing of the program. */
static void check_killed_late(struct rz_check_run *check, int *status)
{
    if (check->left && check->kills > check->restored && *status != 0) {
        check->kills = check->restored;
        check->cut = true;
        *status = 0;
    }
}

void rz_session_check_over(struct rz_launch_session *session, int status, const char *cause)
{
    struct rz_check_run *check = session->options->check;
    rz_time now = rz_clock_now();
    check_killed_late(check, &status);
    check->status = status;
    check->joined = session->referee.joined;
    check->interrupted = session->interrupted;
    check->lasted = now - check->begun;
    check->since = check->restored > 0 ? now - check->restored_at : 0;
    if (!*check->why && cause) {
        snprintf(check->why, sizeof(check->why), "%s", cause);
    }
}

void rz_session_check_close(struct rz_launch_session *session)
{
    struct rz_check_run *check = session->options->check;
    if (check) {
        event_free(check->end);
        event_free(check->kill);
    }
}
