#include "launch/story.h"

#include "port/clock.h"

#include <string.h>
#include <unistd.h>

static const char *const record_names[RZ_EVENT_RECORD_COUNT] = {
    [RZ_EVENT_RECORD_JOINED] = "joined",
    [RZ_EVENT_RECORD_DEATH_SEEN] = "death_seen",
    [RZ_EVENT_RECORD_DEATH_NEWS] = "death_news",
    [RZ_EVENT_RECORD_EPOCH] = "epoch",
    [RZ_EVENT_RECORD_READY] = "ready",
    [RZ_EVENT_RECORD_RUN] = "run",
    [RZ_EVENT_RECORD_RESTORED] = "restored",
    [RZ_EVENT_RECORD_COMMITTED] = "committed",
    [RZ_EVENT_RECORD_LEFT] = "left",
    [RZ_EVENT_RECORD_NOTED] = "noted",
    [RZ_EVENT_RECORD_INJECTED] = "injected",
    [RZ_EVENT_RECORD_FLAT_NEWS] = "flat_news",
    [RZ_EVENT_RECORD_OUT] = "out",
    [RZ_EVENT_RECORD_BORN] = "born",
    [RZ_EVENT_RECORD_ACKNOWLEDGED] = "acknowledged",
    [RZ_EVENT_RECORD_ENDED_BY] = "ended_by"};

static void record(struct rz_story *story, uint32_t by, const struct rz_launch_event *event)
{
    if (!story->report || event->kind >= RZ_EVENT_RECORD_COUNT)
        return;
    fprintf(
        story->report,
        "event=%s epoch=%u rank=%d node=%d incarnation=%u value=%llu by=%u at_ns=%llu note=%s\n",
        record_names[event->kind], event->epoch, (int)event->rank, (int)event->node,
        event->incarnation, (unsigned long long)event->value, by, (unsigned long long)event->at_ns,
        event->note);
    fflush(story->report);
}

void rz_story_node(struct rz_story *story, uint32_t node, const char *address, uint32_t keeper_pid,
                   uint32_t daemon_pid)
{
    if (!story->report)
        return;
    fprintf(story->report,
            "event=node node=%u address=%s keeper=%u daemon=%u network=/proc/%u/ns/net\n", node,
            address, keeper_pid, daemon_pid, keeper_pid);
    fflush(story->report);
}

void rz_story_switch(struct rz_story *story, int switch_fd)
{
    if (!story->report)
        return;
    fprintf(story->report, "event=switch network=/proc/%d/fd/%d\n", (int)getpid(), switch_fd);
    fflush(story->report);
}

static void clear_progress(const struct rz_story *story)
{
    if (story->progress && story->progress_shown &&
        isatty(fileno(story->terminal ? story->terminal : stderr)))
        fprintf(stderr, "\r\033[K");
}

static double ms(rz_time from, rz_time to)
{
    return to > from ? (double)(to - from) / 1e6 : 0.0;
}

static struct rz_story_death *find(struct rz_story *story, uint32_t rank, uint32_t node)
{
    for (uint32_t i = 0; i < story->n_deaths; i++) {
        struct rz_story_death *d = &story->deaths[i];
        if (d->rank == rank && (rank != RZ_ID_NONE || d->node == node))
            return d;
    }
    return NULL;
}

static void forget(struct rz_story *story, struct rz_story_death *d)
{
    *d = story->deaths[--story->n_deaths];
}

/* NULL: there are too many. Those that were told make room. */
static struct rz_story_death *death(struct rz_story *story, uint32_t rank, uint32_t node)
{
    struct rz_story_death *d = find(story, rank, node);
    if (d)
        return d;
    for (uint32_t i = story->n_deaths; story->n_deaths == RZ_STORY_DEATHS_MAX && i-- > 0;)
        if (story->deaths[i].told)
            forget(story, &story->deaths[i]);
    if (story->n_deaths == RZ_STORY_DEATHS_MAX)
        return NULL;
    d = &story->deaths[story->n_deaths++];
    *d = (struct rz_story_death){.rank = rank, .node = node};
    return d;
}

/* A node that goes on with the others was accused in error, by one that is cut off from it. */
static void refute(struct rz_story *story, uint32_t node)
{
    for (uint32_t i = story->n_deaths; i-- > 0;)
        if (story->deaths[i].rank == RZ_ID_NONE && story->deaths[i].node == node)
            forget(story, &story->deaths[i]);
}

void rz_story_stopping(struct rz_story *story, uint32_t node, const char *reason)
{
    for (uint32_t i = story->n_deaths; i-- > 0;)
        if (story->deaths[i].rank == RZ_ID_NONE && story->deaths[i].by == node)
            forget(story, &story->deaths[i]);
    if (!story->report)
        return;
    fprintf(story->report, "event=stopping node=%u at_ns=%llu note=%s\n", node,
            (unsigned long long)rz_clock_now(), reason);
    fflush(story->report);
}

static void tell_death(const struct rz_story *story, const struct rz_story_death *d)
{
    if (d->rank != RZ_ID_NONE)
        fprintf(story->terminal, "%s %u on node %u %s",
                d->rank < story->n_ranks ? "rank" : "spawned process", d->rank, d->node,
                d->hung ? "hung and was killed" : "died");
    else
        fprintf(story->terminal, "node %u died", d->node);
    if (d->seen)
        fprintf(story->terminal, "; noticed by %s", d->how);
    if (d->seen && d->injected)
        fprintf(story->terminal, " %.2f ms after the kill", ms(d->injected, d->seen));
    fputc('\n', story->terminal);
}

/* The recovery is over: what died, how it was noticed, how long each step took. */
static void tell(struct rz_story *story)
{
    rz_time first = 0;
    if (story->epoch <= story->told_epoch || story->n_deaths == 0 || !story->run)
        return;
    story->told_epoch = story->epoch;
    story->recoveries++;
    for (uint32_t i = 0; i < story->n_deaths; i++)
        if (story->deaths[i].seen && (!first || story->deaths[i].seen < first))
            first = story->deaths[i].seen;
    if (story->terminal) {
        clear_progress(story);
        for (uint32_t i = 0; i < story->n_deaths; i++) {
            fprintf(story->terminal, i == 0 ? "%8.3f s  " : "            ",
                    ms(story->start, first) / 1e3);
            tell_death(story, &story->deaths[i]);
        }
        fprintf(story->terminal, "            agreed after %.2f ms, repaired after %.1f ms",
                ms(first, story->agreed), ms(first, story->run));
        if (story->generation && story->restored)
            fprintf(story->terminal, ", checkpoint %llu restored after %.1f ms",
                    (unsigned long long)story->generation, ms(first, story->restored));
        else if (!story->generation)
            fprintf(story->terminal, "; no checkpoint: begins again at the start");
        fprintf(story->terminal, "  (epoch %u)\n", story->epoch);
    }
    story->n_deaths = 0;
}

/* A death without a recovery. */
static void tell_alone(struct rz_story *story, struct rz_story_death *d)
{
    if (story->terminal && d->seen && !d->told) {
        clear_progress(story);
        fprintf(story->terminal, "%8.3f s  ", ms(story->start, d->seen) / 1e3);
        tell_death(story, d);
    }
    d->told = d->seen != 0;
}

/* By decision a process begins, as each daemon tells; its own one says it all. A dead one that it
 * replaces is no part of a later recovery; without one, it was lost with its node. */
static void on_born(struct rz_story *story, uint32_t by, const struct rz_launch_event *event)
{
    struct rz_story_death *d = find(story, event->rank, event->node);
    char after[32] = "";
    if (event->value != RZ_BORN_REPLACES || by != event->node)
        return;
    if (d) {
        tell_alone(story, d);
        snprintf(after, sizeof after, " after %.2f ms", ms(d->seen, event->at_ns));
        forget(story, d);
    }
    if (story->terminal) {
        clear_progress(story);
        fprintf(story->terminal, "            %s %u replaced%s on node %u (incarnation %u)\n",
                event->rank < story->n_ranks ? "rank" : "spawned process", event->rank, after,
                event->node, event->incarnation);
    }
}

static void later(rz_time *time, rz_time at)
{
    if (at > *time)
        *time = at;
}

static void on_epoch(struct rz_story *story, const struct rz_launch_event *event)
{
    if (event->epoch > story->epoch) {
        story->epoch = event->epoch;
        story->agreed = story->ready = story->run = story->restored = 0;
        story->generation = event->value;
    }
    later(&story->agreed, event->at_ns);
}

void rz_story_event(struct rz_story *story, uint32_t by, const struct rz_launch_event *event)
{
    struct rz_story_death *d;
    record(story, by, event);
    switch (event->kind) {
    case RZ_EVENT_RECORD_INJECTED:
        d = strncmp(event->note, "kill", 4) == 0 ? death(story, event->rank, event->node) : NULL;
        if (d && !d->injected)
            d->injected = event->at_ns;
        break;
    case RZ_EVENT_RECORD_DEATH_SEEN:
        d = death(story, event->rank, event->node);
        if (d && (!d->seen || event->at_ns < d->seen)) {
            d->seen = event->at_ns;
            d->by = by;
            d->hung = event->value == RZ_DEATH_HUNG;
            snprintf(d->how, sizeof d->how, "%s", event->note);
        }
        break;
    case RZ_EVENT_RECORD_BORN:
        on_born(story, by, event);
        break;
    case RZ_EVENT_RECORD_NOTED:
        d = find(story, event->rank, event->node);
        if (d)
            tell_alone(story, d);
        break;
    case RZ_EVENT_RECORD_EPOCH:
        on_epoch(story, event);
        if (event->epoch == story->epoch)
            refute(story, by);
        break;
    case RZ_EVENT_RECORD_READY:
        if (event->epoch == story->epoch)
            later(&story->ready, event->at_ns);
        break;
    case RZ_EVENT_RECORD_RUN:
        if (!story->start)
            story->start = event->at_ns;
        if (event->epoch == story->epoch)
            later(&story->run, event->at_ns);
        break;
    case RZ_EVENT_RECORD_RESTORED:
        if (event->epoch == story->epoch)
            later(&story->restored, event->at_ns);
        break;
    default:
        break;
    }
}

static void show_progress(struct rz_story *story, const struct rz_launch_mark *mark)
{
    bool tty = isatty(STDERR_FILENO);
    if (mark->at_ns < story->progress_shown + (tty ? RZ_SECOND / 10 : 2 * RZ_SECOND))
        return;
    story->progress_shown = mark->at_ns;
    fprintf(stderr, "%s%8.3f s  iteration %llu%s", tty ? "\r\033[K" : "",
            (double)(mark->at_ns - story->start) / 1e9, (unsigned long long)mark->iteration,
            tty ? "" : "\n");
}

void rz_story_mark(struct rz_story *story, const struct rz_launch_mark *mark)
{
    if (mark->epoch < story->epoch)
        return;
    if (mark->epoch > 1 && story->restored)
        tell(story);
    story->iteration = mark->iteration;
    if (story->progress)
        show_progress(story, mark);
}

void rz_story_refused(struct rz_story *story, const uint64_t *messages, uint32_t n_nodes)
{
    for (uint32_t node = 0; story->report && node < n_nodes; node++)
        if (messages[node] > 0)
            fprintf(story->report, "event=refused node=%u messages=%llu\n", node,
                    (unsigned long long)messages[node]);
}

void rz_story_end(struct rz_story *story, int status, bool again)
{
    tell(story);
    clear_progress(story);
    if (story->report)
        fprintf(story->report,
                again ? "event=again status=%d recoveries=%u\n"
                      : "event=exit status=%d recoveries=%u\n",
                status, story->recoveries);
}
