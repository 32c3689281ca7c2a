/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the story of a job: the events line by line with --story, one paragraph for each failure
 * and its recovery, and the progress of the program. */
#include "launch/story.h"

#include "port/clock.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char *const record_names[RZ_EVENT_RECORD_COUNT] = {
    [RZ_EVENT_RECORD_JOINED] = "joined",
    [RZ_EVENT_RECORD_FAILURE_SEEN] = "failure_seen",
    [RZ_EVENT_RECORD_FAILURE_NEWS] = "failure_news",
    [RZ_EVENT_RECORD_EPOCH] = "epoch",
    [RZ_EVENT_RECORD_READY] = "ready",
    [RZ_EVENT_RECORD_RUN] = "run",
    [RZ_EVENT_RECORD_RESTORED] = "restored",
    [RZ_EVENT_RECORD_COMMITTED] = "committed",
    [RZ_EVENT_RECORD_LEFT] = "left",
    [RZ_EVENT_RECORD_NOTED] = "noted",
    [RZ_EVENT_RECORD_INJECTED] = "injected",
    [RZ_EVENT_RECORD_FLAT_NEWS] = "flat_news",
    [RZ_EVENT_RECORD_EXCLUDED] = "excluded",
    [RZ_EVENT_RECORD_SPAWNED] = "spawned",
    [RZ_EVENT_RECORD_ACKNOWLEDGED] = "acknowledged",
    [RZ_EVENT_RECORD_ENDED_BY] = "ended_by",
    [RZ_EVENT_RECORD_BEGUN] = "begun",
    [RZ_EVENT_RECORD_AT_START] = "at_start",
    [RZ_EVENT_RECORD_PROTECTED] = "protected",
    [RZ_EVENT_RECORD_FELL_BACK] = "fell_back",
    [RZ_EVENT_RECORD_INTOLERANT] = "intolerant",
    [RZ_EVENT_RECORD_SNAPSHOT] = "snapshot"};

void rz_story_record(struct rz_story *story, uint32_t by, const struct rz_launch_event *event)
{
    if (!story->report || event->kind >= RZ_EVENT_RECORD_COUNT) {
        return;
    }
    fprintf(
        story->report,
        "event=%s epoch=%u rank=%d node=%d incarnation=%u value=%llu by=%u at_ns=%llu note=%s\n",
        record_names[event->kind], event->epoch, (int)event->rank, (int)event->node,
        event->incarnation, (unsigned long long)event->value, by, (unsigned long long)event->at_ns,
        event->note);
    fflush(story->report);
}

void rz_story_node(struct rz_story *story, uint32_t node, const struct rz_address *address,
                   uint32_t keeper_pid, uint32_t daemon_pid)
{
    char text[RZ_ADDRESS_TEXT];
    if (!story->report) {
        return;
    }
    fprintf(story->report,
            "event=node node=%u address=%s keeper=%u daemon=%u network=/proc/%u/ns/net\n", node,
            rz_address_ip_text(address, text), keeper_pid, daemon_pid, keeper_pid);
    fflush(story->report);
}

void rz_story_lost(struct rz_story *story)
{
    if (!story->lost) {
        story->lost = rz_clock_now();
    }
}

void rz_story_switch(struct rz_story *story, int switch_fd)
{
    if (!story->report) {
        return;
    }
    fprintf(story->report, "event=switch network=/proc/%d/fd/%d\n", (int)getpid(), switch_fd);
    fflush(story->report);
}

static void clear_progress(struct rz_story *story)
{
    if (story->line_visible) {
        fprintf(stderr, "\r\033[K");
    }
    story->line_visible = false;
}

void rz_story_give_way(struct rz_story *story)
{
    clear_progress(story);
}

static double ms(rz_time from, rz_time to)
{
    return to > from ? (double)(to - from) / 1e6 : 0.0;
}

static struct rz_story_failure *find_failure(struct rz_story *story, uint32_t rank, uint32_t node,
                                             uint32_t incarnation)
{
    for (uint32_t i = 0; i < story->n_failures; i++) {
        struct rz_story_failure *d = &story->failures[i];
        if (rank != RZ_ID_NONE ? d->rank == rank && d->incarnation == incarnation
                               : d->rank == RZ_ID_NONE && d->node == node) {
            return d;
        }
    }
    return NULL;
}

/* The failure of an event. */
static struct rz_story_failure *known(struct rz_story *story, const struct rz_launch_event *event)
{
    return find_failure(story, event->rank, event->node, event->incarnation);
}

static void forget(struct rz_story *story, struct rz_story_failure *d)
{
    *d = story->failures[--story->n_failures];
}

static void tell_recovery(struct rz_story *story);

/* The record of the failure of an event, which is made if there is none. NULL: there are too many.
 * Reported ones are dropped first. A new one ends the recovery before it. */
static struct rz_story_failure *failure_for(struct rz_story *story,
                                            const struct rz_launch_event *event)
{
    struct rz_story_failure *d = known(story, event);
    if (d) {
        return d;
    }
    if (event->epoch >= story->timeline.epoch) {
        tell_recovery(story);
    }
    for (uint32_t i = story->n_failures; story->n_failures == RZ_STORY_FAILURES_MAX && i-- > 0;) {
        if (story->failures[i].told) {
            forget(story, &story->failures[i]);
        }
    }
    if (story->n_failures == RZ_STORY_FAILURES_MAX) {
        return NULL;
    }
    d = &story->failures[story->n_failures++];
    *d = (struct rz_story_failure){
        .rank = event->rank, .node = event->node, .incarnation = event->incarnation};
    return d;
}

void rz_story_stopping(struct rz_story *story, uint32_t node, const char *reason)
{
    if (!story->report) {
        return;
    }
    fprintf(story->report, "event=stopping node=%u at_ns=%llu note=%s\n", node,
            (unsigned long long)rz_clock_now(), reason);
    fflush(story->report);
}

static void tell_failure(const struct rz_story *story, const struct rz_story_failure *d)
{
    if (d->rank != RZ_ID_NONE) {
        fprintf(story->terminal, "%s %u on node %u %s",
                d->rank < story->n_ranks ? "rank" : "spawned process", d->rank, d->node,
                d->hung ? "hung and was killed" : "failed");
    } else {
        fprintf(story->terminal, "node %u failed", d->node);
    }
    if (d->seen) {
        fprintf(story->terminal, "; noticed by %s", d->how);
    }
    if (d->seen && d->injected) {
        fprintf(story->terminal, " %.2f ms after the kill", ms(d->injected, d->seen));
    }
    fputc('\n', story->terminal);
}

static void tell_failures(struct rz_story *story, rz_time first)
{
    clear_progress(story);
    for (uint32_t i = 0; i < story->n_failures; i++) {
        if (!story->failures[i].told) {
            fprintf(story->terminal, i == 0 ? "%8.3f s  " : "            ",
                    ms(story->start, first) / 1e3);
            tell_failure(story, &story->failures[i]);
        }
    }
}

/* The time from the first notice until the job was whole again and continued. */
static void tell_times(const struct rz_story *story, const struct rz_recovery_times *times)
{
    const struct rz_timeline *timeline = &story->timeline;
    if (times->way == RZ_RECOVERY_RESTART) {
        fprintf(story->terminal, "            restarted after %.1f ms",
                ms(times->seen, times->run));
    } else {
        fprintf(story->terminal, "            agreed after %.2f ms, repaired after %.1f ms",
                ms(times->seen, timeline->agreed), ms(times->seen, times->run));
    }
    if (times->generation && times->restored) {
        fprintf(story->terminal, ", checkpoint %llu restored after %.1f ms",
                (unsigned long long)times->generation, ms(times->seen, times->restored));
    } else if (!times->generation && times->way == RZ_RECOVERY_REINIT) {
        fprintf(story->terminal, "; no checkpoint: begins again at the start");
    }
    fprintf(story->terminal, "  (epoch %u)\n", times->epoch);
}

/* The recovery is over: what failed, how it was detected, how long each step took. What follows a
 * replacement is up to the program; the replacement was reported when it was decided. */
static void tell_recovery(struct rz_story *story)
{
    struct rz_recovery_times times;
    if (!rz_timeline_take(&story->timeline, &times)) {
        return;
    }
    story->recoveries += times.way != RZ_RECOVERY_REPLACE;
    story->told_epoch = times.epoch;
    if (story->terminal && times.way == RZ_RECOVERY_REINIT) {
        tell_failures(story, times.seen);
    }
    clear_progress(story);
    if (story->terminal && times.way != RZ_RECOVERY_REPLACE) {
        tell_times(story, &times);
    }
    if (story->terminal) {
        rz_recovery_tell(&times, story->terminal);
    }
    if (story->report) {
        rz_recovery_times_record(&times, story->report);
    }
    if (story->recovered) {
        story->recovered(story->arg, &times);
    }
    if (times.way == RZ_RECOVERY_REINIT) {
        story->n_failures = 0;
    }
}

/* A failure without a recovery. */
static void tell_alone(struct rz_story *story, struct rz_story_failure *d)
{
    if (story->terminal && d->seen && !d->told) {
        clear_progress(story);
        fprintf(story->terminal, "%8.3f s  ", ms(story->start, d->seen) / 1e3);
        tell_failure(story, d);
    }
    d->told = d->seen != 0;
}

/* A process starts by decision, as each daemon reports; the report of its own daemon is complete. A
 * failed process that it replaces is not part of a later recovery; if there is none, it was lost
 * with its node. */
static void story_on_spawned(struct rz_story *story, uint32_t by,
                             const struct rz_launch_event *event)
{
    struct rz_story_failure *d =
        find_failure(story, event->rank, event->node, event->incarnation - 1);
    char after[32] = "";
    if (event->value != RZ_START_REPLACES || by != event->node) {
        return;
    }
    if (d) {
        tell_alone(story, d);
        snprintf(after, sizeof(after), " after %.2f ms", ms(d->seen, event->at_ns));
        forget(story, d);
    }
    if (story->terminal) {
        clear_progress(story);
        fprintf(story->terminal, "            %s %u replaced%s on node %u (incarnation %u)\n",
                event->rank < story->n_ranks ? "rank" : "spawned process", event->rank, after,
                event->node, event->incarnation);
    }
}

static void story_on_injected(struct rz_story *story, const struct rz_launch_event *event)
{
    bool kill = strncmp(event->note, "kill", 4) == 0;
    bool another = kill && !known(story, event);
    struct rz_story_failure *d = kill ? failure_for(story, event) : NULL;
    if (!d || d->injected) {
        return;
    }
    d->injected = event->at_ns;
    rz_timeline_failure(&story->timeline, d->injected, 0, another);
}

static void story_on_seen(struct rz_story *story, const struct rz_launch_event *event)
{
    bool another = !known(story, event);
    if (another && event->epoch < story->told_epoch) {
        return; /* one more observer of a failure that has since been repaired */
    }
    struct rz_story_failure *d = failure_for(story, event);
    if (!d || (d->seen && event->at_ns >= d->seen)) {
        return;
    }
    story->at.failures += d->seen == 0;
    d->seen = event->at_ns;
    d->hung = event->value == RZ_FAILURE_HUNG;
    snprintf(d->how, sizeof(d->how), "%s", event->note);
    rz_timeline_failure(&story->timeline, 0, d->seen, another);
}

void rz_story_event(struct rz_story *story, uint32_t by, const struct rz_launch_event *event)
{
    struct rz_story_failure *d;
    switch (event->kind) {
    case RZ_EVENT_RECORD_INJECTED:
        story_on_injected(story, event);
        break;
    case RZ_EVENT_RECORD_FAILURE_SEEN:
        story_on_seen(story, event);
        break;
    case RZ_EVENT_RECORD_SPAWNED:
        story_on_spawned(story, by, event);
        break;
    case RZ_EVENT_RECORD_NOTED:
        d = known(story, event);
        if (d) {
            tell_alone(story, d);
        }
        break;
    case RZ_EVENT_RECORD_COMMITTED:
        rz_progress_committed(&story->at, event->value, event->at_ns);
        break;
    case RZ_EVENT_RECORD_RUN:
        if (!story->start) {
            story->start = event->at_ns;
        }
        break;
    default:
        break;
    }
    rz_timeline_event(&story->timeline, event);
    if (rz_timeline_settled(&story->timeline)) {
        tell_recovery(story);
    }
}

/* The columns of the terminal: a line that is longer could not be erased. */
static size_t columns_of_terminal(void)
{
    struct winsize size = {.ws_col = 0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? size.ws_col : 80;
}

static void show_progress(struct rz_story *story, rz_time now)
{
    char text[256];
    size_t max = story->line ? columns_of_terminal() : sizeof(text);
    if (now < story->progress_shown + (story->line ? RZ_SECOND / 10 : 2 * RZ_SECOND)) {
        return;
    }
    story->progress_shown = now;
    rz_progress_text(&story->at, now > story->start ? now - story->start : 0, now, text,
                     max < sizeof(text) ? max : sizeof(text));
    fprintf(stderr, story->line ? "\r\033[K%s" : "%s\n", text);
    story->line_visible = story->line;
}

void rz_story_look(struct rz_story *story, rz_time now)
{
    if (story->progress && story->line && story->start) {
        show_progress(story, now);
    }
}

void rz_story_mark(struct rz_story *story, const struct rz_launch_mark *mark)
{
    rz_timeline_mark(&story->timeline, mark);
    if (rz_timeline_settled(&story->timeline)) {
        tell_recovery(story);
    }
    if (mark->rank < story->n_ranks) { /* spawned processes count their own */
        rz_progress_mark(&story->at, mark->iteration, mark->epoch, mark->at_ns);
    }
    if (story->progress && mark->epoch >= story->timeline.epoch) {
        show_progress(story, mark->at_ns);
    }
}

void rz_story_refused(struct rz_story *story, const uint64_t *messages, uint32_t n_nodes)
{
    for (uint32_t node = 0; story->report && node < n_nodes; node++) {
        if (messages[node] > 0) {
            fprintf(story->report, "event=refused node=%u messages=%llu\n", node,
                    (unsigned long long)messages[node]);
        }
    }
}

void rz_story_end(struct rz_story *story, int status, bool again, struct rz_recovery_times *before)
{
    tell_recovery(story);
    clear_progress(story);
    *before = (struct rz_recovery_times){.failures = 0};
    if (again && !story->timeline.open &&
        story->lost) { /* it ended the job before others reported it */
        rz_timeline_failure(&story->timeline, 0, story->lost, true);
    }
    if (again && rz_timeline_again(&story->timeline, rz_clock_now(), before) && story->terminal) {
        tell_failures(story, before->seen);
    }
    if (story->report) {
        fprintf(story->report,
                again ? "event=again status=%d recoveries=%u\n"
                      : "event=exit status=%d recoveries=%u\n",
                status, story->recoveries);
    }
    rz_timeline_close(&story->timeline);
}
