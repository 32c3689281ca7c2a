/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the waits of all nodes when --timeout has expired (then the job ends), or when a node
 * reports that one of its processes has waited for longer than --hang-report. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "port/clock.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

/* A node that has not answered by then is left out. */
#define ANSWER_BOUND_S 2
/* The time between the two samples of a page. */
#define APART_NS (100 * RZ_MILLISECOND)
/* A message that is under way for less may only wait for a processor. */
#define STAYS_AWAY_MIN_NS (500 * RZ_MILLISECOND)

/* Whether the page is worth showing, if it was not requested by the end: a process still waits for
 * long, and this was not shown before. */
static bool tells_something(const struct rz_session_waits *waits, rz_time bound)
{
    bool any = false;
    for (size_t i = 0; i < waits->page.n; i++) {
        any |= waits->page.entries[i].state == RZ_WAITING_IN_CALL &&
               waits->page.entries[i].for_ns >= bound;
    }
    return any &&
           !rz_waits_page_same(&waits->page, &waits->shown, rz_clock_now() - waits->shown_at);
}

static void take_first_sample(struct rz_launch_session *session, rz_time after);

/* On standard error, and into the report. Returns whether a cycle is doubtful. */
static bool print_waits(struct rz_launch_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    char *text = NULL;
    size_t n = 0;
    FILE *lines = open_memstream(&text, &n);
    rz_need_memory(lines, "for a page of waits");
    bool doubtful =
        rz_waits_page_print(&waits->page, &waits->first, waits->asked_at - waits->first_at, lines);
    rz_need_memory(fclose(lines) == 0, "for a page of waits");
    fputs(text, stderr);
    if (session->attempts->report) {
        rz_html_report_hang(session->attempts->report, waits->why, text, rz_clock_now());
    }
    free(text);
    return doubtful;
}

/* The second sample is complete. A cycle that both samples do not prove is sampled once more,
 * later: a node reports each wait only once. */
static void show_waits(struct rz_launch_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    bool doubtful = false;
    if (waits->ends || tells_something(waits, session->options->hang_report)) {
        rz_story_give_way(&session->story);
        fprintf(stderr, "rzrun: %s; these ranks wait:\n", waits->why);
        rz_session_dump(session, "hang", waits->why);
        doubtful = print_waits(session);
        rz_waits_page_clear(&waits->shown);
        waits->shown_at = rz_clock_now();
        if (!doubtful) {
            waits->shown = waits->page;
            waits->page = (struct rz_waits_page){0};
        }
    }
    rz_waits_page_clear(&waits->page);
    rz_waits_page_clear(&waits->first);
    if (waits->ends) {
        rz_launch_session_end(session, RZ_END_GRACE_MS);
    } else if (doubtful) {
        take_first_sample(session, session->options->hang_report);
    }
}

static void finish(struct rz_launch_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    if (!waits->asked) {
        return;
    }
    waits->asked = false;
    evtimer_del(waits->bound);
    if (waits->looks == 1) {
        waits->first = waits->page;
        waits->page = (struct rz_waits_page){0};
        waits->first_at = rz_clock_now();
        rz_session_arm(waits->again, APART_NS);
    } else {
        waits->looks = 0;
        show_waits(session);
    }
}

static void no_answer(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    rz_waits_page_incomplete(&session->waits.page);
    finish(session);
}

static void ask_what_waits(struct rz_launch_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    struct rz_launch_message message = {.type = RZ_LAUNCH_DUMP_WAITING};
    uint8_t *ranks = NULL;
    waits->asked = true;
    waits->looks++;
    if (waits->looks == 2) {
        rz_time half = session->options->hang_report / 2;
        ranks = rz_waits_page_ask(&waits->first, &waits->page, &message.dump_waiting.ranks_length);
        message.dump_waiting.ranks = ranks;
        waits->page.least = half > STAYS_AWAY_MIN_NS ? half : STAYS_AWAY_MIN_NS;
    }
    waits->awaited = 0;
    waits->asked_at = rz_clock_now();
    for (uint32_t i = 0; i < session->options->layout.n_nodes; i++) {
        waits->awaited += !session->nodes[i].gone;
        session->nodes[i].n_asked_waits += !session->nodes[i].gone;
    }
    rz_session_send_all(session, &message);
    free(ranks);
    rz_session_arm(waits->bound, ANSWER_BOUND_S * RZ_SECOND);
}

static void ask_again_what_waits(evutil_socket_t fd, short what, void *arg)
{
    struct rz_launch_session *session = arg;
    (void)fd, (void)what;
    if (!session->ending) {
        ask_what_waits(session);
    }
}

/* Takes a first sample, unless one is being taken; not before the time `after`. */
static void take_first_sample(struct rz_launch_session *session, rz_time after)
{
    struct rz_session_waits *waits = &session->waits;
    if (!waits->bound) {
        waits->bound = evtimer_new(session->base, no_answer, session);
        waits->again = evtimer_new(session->base, ask_again_what_waits, session);
        rz_need_memory(waits->bound && waits->again, "to ask which calls wait");
    }
    if (waits->looks > 0) {
        return; /* what is reported now will be on its page */
    }
    if (after > 0) {
        rz_session_arm(waits->again, after);
    } else {
        evtimer_del(waits->again);
        ask_what_waits(session);
    }
}

void rz_session_waits_at_timeout(struct rz_launch_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    if (!session->started) { /* there is no process yet that could wait */
        rz_launch_session_end(session, 0);
        return;
    }
    snprintf(waits->why, sizeof(waits->why), "%.3g s are over",
             (double)session->options->timeout / 1e9);
    waits->ends = true;
    take_first_sample(session, 0);
}

/* Several reports, by several nodes or of several waits, make one page: a process that stalls now
 * is on it, and one that stalls soon after on the next one. */
void rz_session_waits_stalled(struct rz_launch_session *session, rz_time for_ns)
{
    struct rz_session_waits *waits = &session->waits;
    rz_time now = rz_clock_now(), next = waits->shown_at + session->options->hang_report;
    if (waits->ends || session->ending) {
        return;
    }
    snprintf(waits->why, sizeof(waits->why), "nothing has come for %.3g s to a rank that waits",
             (double)for_ns / 1e9);
    take_first_sample(session, waits->shown_at && next > now ? next - now : 0);
}

/* Answers come in the order of the requests: of the samples for a report, then of a page. */
void rz_session_waits_told(struct rz_launch_session *session, const struct rz_node *node,
                           const struct rz_launch_message *message)
{
    bool newest = session->waits.asked && !node->sampled && node->n_asked_waits == 1;
    if (message->type == RZ_LAUNCH_WAITING) {
        rz_session_report_waiting(session, node, &message->waiting);
    }
    if (newest && message->type == RZ_LAUNCH_WAITING) {
        rz_waits_page_add(&session->waits.page, node->index, &message->waiting);
    } else if (newest) {
        rz_waits_page_under_way(&session->waits.page, &message->under_way);
    }
}

void rz_session_waits_end(struct rz_launch_session *session, struct rz_node *node)
{
    if (node->sampled) {
        node->sampled = false;
        return;
    }
    bool newest = node->n_asked_waits > 0 && --node->n_asked_waits == 0;
    if (session->waits.asked && newest && --session->waits.awaited == 0) {
        finish(session);
    }
}

void rz_session_waits_close(struct rz_launch_session *session)
{
    struct rz_session_waits *waits = &session->waits;
    rz_waits_page_clear(&waits->page);
    rz_waits_page_clear(&waits->first);
    rz_waits_page_clear(&waits->shown);
    if (waits->bound) {
        event_free(waits->bound);
    }
    if (waits->again) {
        event_free(waits->again);
    }
}
