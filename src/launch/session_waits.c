/* Who waits for whom: asked of all nodes when --timeout has run out (the job ends then), or when a
 * node says that one of its processes has waited for longer than --hang-report. */
#include "launch/session.h"

#include <event2/event.h>
#include <stdio.h>

/* A node that has not answered by then is left out. */
#define ANSWER_BOUND_S 2

static void finish(struct rz_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    if (!waits->asked)
        return;
    waits->asked = false;
    evtimer_del(waits->bound);
    fprintf(stderr, "rzrun: %s; who waits for whom:\n", waits->why);
    rz_waits_page_print(&waits->page, stderr);
    if (waits->ends)
        rz_session_end(session, RZ_END_GRACE_MS);
}

static void no_answer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    finish(arg);
}

static void ask(struct rz_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    const struct rz_launch_message message = {.type = RZ_LAUNCH_DUMP_WAITING};
    waits->asked = true;
    waits->awaited = 0;
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++)
        waits->awaited += !session->nodes[i].gone;
    rz_session_send_all(session, &message);
    if (!waits->bound)
        waits->bound = evtimer_new(session->base, no_answer, session);
    evtimer_add(waits->bound, &(struct timeval){.tv_sec = ANSWER_BOUND_S});
}

void rz_session_waits_at_timeout(struct rz_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    snprintf(waits->why, sizeof waits->why, "%.3g s are over",
             (double)session->options->timeout / 1e9);
    waits->ends = true;
    if (!waits->asked)
        ask(session);
}

/* Who is told of it by several nodes says it once: whoever stalls now is on the page. */
void rz_session_waits_stalled(struct rz_session *session, rz_time for_ns)
{
    struct rz_session_waits *waits = &session->waits;
    if (waits->asked || session->ending)
        return;
    snprintf(waits->why, sizeof waits->why, "nothing has come for %.3g s to a rank that waits",
             (double)for_ns / 1e9);
    ask(session);
}

void rz_session_waits_told(struct rz_session *session, uint32_t node,
                           const struct rz_launch_waiting *told)
{
    if (session->waits.asked)
        rz_waits_page_add(&session->waits.page, node, told);
}

void rz_session_waits_end(struct rz_session *session)
{
    if (session->waits.asked && --session->waits.awaited == 0)
        finish(session);
}

void rz_session_waits_close(struct rz_session *session)
{
    rz_waits_page_clear(&session->waits.page);
    if (session->waits.bound)
        event_free(session->waits.bound);
}
