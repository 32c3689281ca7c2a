/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads status documents, and finds what has changed from one to the next. */
#include "view/top_model.h"

#include "base/no_memory.h"
#include "base/printable.h"
#include "view/look.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The weight of the newest sample in a rate. */
#define RATE_NEW 0.4

/* ---- Fields ---- */

static const char *top_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static int64_t top_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static double top_real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* ---- Events ---- */

static void happened(struct rz_top *top, bool bad, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void happened(struct rz_top *top, bool bad, const char *format, ...)
{
    struct rz_top_event *event = &top->events[top->n_events++ % RZ_TOP_EVENTS_MAX];
    va_list arguments;
    event->at_s = top->known ? top->age_s : -1;
    event->bad = bad;
    va_start(arguments, format);
    vsnprintf(event->text, sizeof(event->text), format, arguments);
    va_end(arguments);
    rz_printable_ascii(event->text, sizeof(event->text), event->text);
}

const struct rz_top_event *rz_top_event(const struct rz_top *top, uint32_t i)
{
    if (i >= top->n_events || i >= RZ_TOP_EVENTS_MAX) {
        return NULL;
    }
    return &top->events[(top->n_events - 1 - i) % RZ_TOP_EVENTS_MAX];
}

/* ---- Nodes ---- */

static int by_node(const void *a, const void *b)
{
    const struct rz_top_node *l = a, *r = b;
    return (l->node > r->node) - (l->node < r->node);
}

static bool node_has_failed(const struct rz_top *top, uint32_t node)
{
    const struct rz_top_node wanted = {.node = node}, *found = NULL;
    if (top->n_nodes > 0) {
        found = bsearch(&wanted, top->nodes, top->n_nodes, sizeof(wanted), by_node);
    }
    return found && found->failed;
}

static void take_nodes(struct rz_top *top, const json_t *job)
{
    const json_t *list = json_object_get(job, "nodes"), *one;
    size_t n = json_array_size(list);
    struct rz_top_node *nodes = calloc(n + 1, sizeof(*nodes));
    rz_need_memory(nodes, "for the nodes of a job");
    for (size_t i = 0; i < n; i++) {
        one = json_array_get(list, i);
        nodes[i].node = (uint32_t)top_number(one, "node");
        nodes[i].slots = (uint32_t)top_number(one, "slots");
        nodes[i].failed = strcmp(top_text(one, "state"), "failed") == 0;
        rz_printable_ascii(nodes[i].address, sizeof(nodes[i].address), top_text(one, "address"));
        if (nodes[i].failed && !node_has_failed(top, nodes[i].node)) {
            happened(top, true, "node %u failed", nodes[i].node);
        }
    }
    qsort(nodes, n, sizeof(*nodes), by_node);
    free(top->nodes);
    top->nodes = nodes;
    top->n_nodes = (uint32_t)n;
}

/* ---- Ranks ---- */

static int by_rank(const void *a, const void *b)
{
    const struct rz_top_rank *l = a, *r = b;
    return (l->rank > r->rank) - (l->rank < r->rank);
}

static struct rz_top_rank *find_rank(const struct rz_top_rank *ranks, uint32_t n, int64_t rank)
{
    const struct rz_top_rank wanted = {.rank = (uint32_t)rank};
    if (rank < 0 || rank > UINT32_MAX || n == 0) {
        return NULL;
    }
    return bsearch(&wanted, ranks, n, sizeof(*ranks), by_rank);
}

const struct rz_top_rank *rz_top_rank(const struct rz_top *top, int64_t rank)
{
    return find_rank(top->ranks, top->n_ranks, rank);
}

static enum rz_top_state state_named(const char *name)
{
    return strcmp(name, "failed") == 0  ? RZ_TOP_FAILED
           : strcmp(name, "ended") == 0 ? RZ_TOP_ENDED
                                        : RZ_TOP_RUNS;
}

/* What became of a rank since the document before. A failure with its node is no event of its own.
 */
static void compare_rank(struct rz_top *top, const struct rz_top_rank *now,
                         const struct rz_top_rank *before)
{
    const char *what = now->spawned ? "spawned process" : "rank";
    if (!top->known) { /* of the time before the view began */
        if (now->incarnation > 1) {
            happened(top, true, "%s %u failed, and was started again (incarnation %u)", what,
                     now->rank, now->incarnation);
        } else if (now->state == RZ_TOP_FAILED && !node_has_failed(top, now->node)) {
            happened(top, true, "%s %u failed on node %u", what, now->rank, now->node);
        }
        return;
    }
    if (!before) {
        happened(top, false, "%s %u begins on node %u", what, now->rank, now->node);
        return;
    }
    bool again = now->incarnation > before->incarnation;
    bool failed = before->state != RZ_TOP_FAILED && (again || now->state == RZ_TOP_FAILED);
    if (failed && !node_has_failed(top, before->node)) {
        happened(top, true, "%s %u failed on node %u", what, now->rank, before->node);
    }
    if (again) {
        happened(top, false, "%s %u started again on node %u (incarnation %u)", what, now->rank,
                 now->node, now->incarnation);
    }
}

static void take_ranks(struct rz_top *top, const json_t *job)
{
    const json_t *list = json_object_get(job, "ranks"), *one;
    size_t n = json_array_size(list);
    struct rz_top_rank *ranks = calloc(n + 1, sizeof(*ranks));
    rz_need_memory(ranks, "for the ranks of a job");
    for (size_t i = 0; i < n; i++) {
        one = json_array_get(list, i);
        ranks[i].rank = (uint32_t)top_number(one, "rank");
        ranks[i].node = (uint32_t)top_number(one, "node");
        ranks[i].incarnation = (uint32_t)top_number(one, "incarnation");
        ranks[i].spawned = json_is_true(json_object_get(one, "spawned"));
        ranks[i].state = state_named(top_text(one, "state"));
        ranks[i].processors = ranks[i].waiting = -1;
    }
    qsort(ranks, n, sizeof(*ranks), by_rank);
    for (size_t i = 0; i < n; i++) {
        const struct rz_top_rank *before = find_rank(top->ranks, top->n_ranks, ranks[i].rank);
        compare_rank(top, &ranks[i], before);
        if (before && before->incarnation == ranks[i].incarnation) {
            ranks[i].marked = before->marked;
            ranks[i].iteration = before->iteration;
            ranks[i].per_second = before->per_second;
            ranks[i].sampled_s = before->sampled_s;
            ranks[i].used_known = before->used_known;
            ranks[i].processor_s = before->processor_s;
            ranks[i].waited_s = before->waited_s;
            ranks[i].used_s = before->used_s;
        }
    }
    free(top->ranks);
    top->ranks = ranks;
    top->n_ranks = (uint32_t)n;
}

/* ---- Processes ---- */

static void take_iteration(struct rz_top *top, struct rz_top_rank *rank, uint64_t iteration)
{
    double passed = top->age_s - rank->sampled_s;
    if (rank->marked && iteration >= rank->iteration && passed > 0) {
        double now = (double)(iteration - rank->iteration) / passed;
        rank->per_second =
            rank->per_second > 0 ? RATE_NEW * now + (1 - RATE_NEW) * rank->per_second : now;
    } else if (rank->marked && iteration < rank->iteration) {
        rank->per_second = 0; /* it has rolled back */
    }
    rank->marked = true;
    rank->iteration = iteration;
    rank->sampled_s = top->age_s;
}

static void take_use(const struct rz_top *top, struct rz_top_rank *rank, const json_t *process)
{
    const json_t *waited = json_object_get(process, "waited_seconds");
    double processor_s = top_real(process, "processor_seconds");
    double waited_s = json_number_value(waited), passed = top->age_s - rank->used_s;
    if (!json_object_get(process, "processor_seconds")) {
        return; /* of an older daemon */
    }
    if (rank->used_known && passed > 0 && processor_s >= rank->processor_s) {
        rank->processors = (processor_s - rank->processor_s) / passed;
        double share = (waited_s - rank->waited_s) / passed;
        rank->waiting = !waited ? -1 : share < 0 ? 0 : share > 1 ? 1 : share;
    }
    rank->used_known = true;
    rank->processor_s = processor_s;
    rank->waited_s = waited_s;
    rank->used_s = top->age_s;
    rank->resident_bytes = (uint64_t)top_number(process, "resident_bytes");
}

static int64_t peer_of(const json_t *wait, const char *key)
{
    const json_t *peer = json_object_get(wait, key);
    return json_is_integer(peer)  ? json_integer_value(peer)
           : json_is_string(peer) ? RZ_TOP_PEER_ANY
                                  : RZ_TOP_PEER_NONE;
}

static void take_waits(struct rz_top_rank *rank, const json_t *waits)
{
    json_t *wait;
    size_t i;
    rank->call[0] = 0;
    rank->waits_s = 0;
    rank->n_waits = (uint32_t)json_array_size(waits);
    json_array_foreach(waits, i, wait)
    {
        double seconds = top_real(wait, "seconds");
        if (rank->call[0] && seconds <= rank->waits_s) {
            continue;
        }
        const char *name = top_text(wait, "name");
        rz_printable_ascii(rank->call, sizeof(rank->call), top_text(wait, "call"));
        rz_printable_ascii(rank->communicator, sizeof(rank->communicator),
                           *name ? name : top_text(wait, "communicator"));
        rz_printable_ascii(rank->context, sizeof(rank->context), top_text(wait, "communicator"));
        rank->operation = (uint64_t)top_number(wait, "operation");
        rank->peer = peer_of(wait, "peer");
        rank->tag = peer_of(wait, "tag");
        rank->waits_s = seconds;
    }
}

static void take_processes(struct rz_top *top, const json_t *job)
{
    json_t *process;
    size_t i;
    json_array_foreach(json_object_get(job, "processes"), i, process)
    {
        struct rz_top_rank *rank = find_rank(top->ranks, top->n_ranks, top_number(process, "rank"));
        const json_t *iteration = json_object_get(process, "iteration");
        if (!rank || rank->incarnation != (uint32_t)top_number(process, "incarnation")) {
            continue;
        }
        rank->pid = top_number(process, "pid");
        if (iteration) {
            take_iteration(top, rank, (uint64_t)json_integer_value(iteration));
        }
        take_use(top, rank, process);
        take_waits(rank, json_object_get(process, "waits"));
        if (rank->state != RZ_TOP_RUNS) {
            continue;
        }
        if (strcmp(top_text(process, "state"), "started") == 0) {
            rank->state = RZ_TOP_BEGINS;
        } else if (rank->call[0] && rank->waits_s >= RZ_TOP_WAITS_AFTER_S) {
            rank->state = RZ_TOP_WAITS;
        }
    }
}

/* ---- The job ---- */

static void take_checkpoint(struct rz_top *top, const json_t *job)
{
    const json_t *checkpoint = json_object_get(job, "checkpoint");
    const json_t *age = json_object_get(checkpoint, "age_seconds");
    uint64_t generation = (uint64_t)top_number(checkpoint, "generation");
    if (top->known && generation < top->generation) {
        happened(top, true, "checkpoint %" PRIu64 " was given up for %" PRIu64, top->generation,
                 generation);
    }
    top->generation = generation;
    top->checkpoint_bytes = (uint64_t)top_number(checkpoint, "bytes");
    top->checkpoint_safe = json_is_true(json_object_get(checkpoint, "safe"));
    top->checkpoint_age_s = age ? json_number_value(age) : -1;
}

static void take_groups(struct rz_top *top, const json_t *job)
{
    const json_t *list = json_object_get(job, "groups"), *one;
    struct rz_top_group groups[RZ_TOP_GROUPS_MAX];
    uint32_t n = 0;
    memset(groups, 0, sizeof(groups));
    for (size_t i = 0; i < json_array_size(list) && n < RZ_TOP_GROUPS_MAX; i++, n++) {
        one = json_array_get(list, i);
        struct rz_top_group *group = &groups[n];
        rz_printable_ascii(group->name, sizeof(group->name), top_text(one, "name"));
        group->round = (uint32_t)top_number(one, "round");
        group->n_members = (uint32_t)json_array_size(json_object_get(one, "members"));
        group->n_excluded = (uint32_t)json_array_size(json_object_get(one, "excluded"));
        for (uint32_t j = 0; j < top->n_groups; j++) {
            const struct rz_top_group *before = &top->groups[j];
            if (strcmp(before->name, group->name) == 0 && before->n_members != group->n_members) {
                happened(top, group->n_members < before->n_members,
                         "group %s: %u of %u take part in round %u", group->name, group->n_members,
                         group->n_members + group->n_excluded, group->round);
            }
        }
    }
    memcpy(top->groups, groups, sizeof(groups));
    top->n_groups = n;
}

static void take_epoch(struct rz_top *top, const json_t *job)
{
    uint32_t epoch = (uint32_t)top_number(job, "epoch");
    char phase[sizeof(top->phase)];
    rz_printable_ascii(phase, sizeof(phase), top->ended ? "over" : top_text(job, "phase"));
    bool enters = strcmp(phase, "enter") == 0, runs = strcmp(phase, "run") == 0;
    if (top->known && epoch > top->epoch && epoch > 1) {
        happened(top, false, "epoch %u begins: all ranks roll back%s", epoch,
                 runs ? ", and it runs" : "");
    } else if (top->known && epoch > 1 && runs && strcmp(top->phase, "enter") == 0) {
        happened(top, false, "epoch %u runs", epoch);
    }
    top->epoch = epoch;
    memcpy(top->phase, phase, sizeof(phase));
    for (uint32_t i = 0; enters && i < top->n_ranks; i++) {
        if (top->ranks[i].state == RZ_TOP_RUNS || top->ranks[i].state == RZ_TOP_WAITS) {
            top->ranks[i].state = RZ_TOP_BEGINS;
        }
    }
}

static void take_constants(struct rz_top *top, const json_t *job)
{
    const json_t *detection = json_object_get(job, "detection");
    const char *program = top_text(job, "program"), *slash = strrchr(program, '/');
    rz_printable_ascii(top->job, sizeof(top->job), top_text(job, "job"));
    rz_printable_ascii(top->program, sizeof(top->program), slash ? slash + 1 : program);
    rz_printable_ascii(top->detached, sizeof(top->detached), top_text(job, "detached"));
    rz_printable_ascii(top->detector, sizeof(top->detector), top_text(detection, "detector"));
    top->hb_period_s = top_real(detection, "hb_period_seconds");
    top->hb_timeout_s = top_real(detection, "hb_timeout_seconds");
    top->hb_bytes_per_s = top_real(detection, "heartbeat_bytes_per_second");
    top->age_s = top_real(job, "seconds");
    top->foreign = rz_look_user(job) >= 0;
    top->uid = top->foreign ? (uint32_t)rz_look_user(job) : 0;
}

static void take_result(struct rz_top *top, const json_t *job)
{
    const json_t *result = json_object_get(job, "result");
    if (result && !top->ended) {
        const char *cause = top_text(result, "cause");
        top->status = (int)top_number(result, "status");
        happened(top, top->status != 0, "the job is over: exit status %d%s%s", top->status,
                 *cause ? ": " : "", cause);
    }
    top->ended = result != NULL;
}

void rz_top_take(struct rz_top *top, const json_t *job)
{
    if (!json_is_object(job)) {
        if (top->known && !top->over) {
            happened(top, false, "no daemon answers any more: the job is over; its rzrun says how");
        }
        top->over = true;
        for (uint32_t i = 0; i < top->n_ranks; i++) {
            if (top->ranks[i].state != RZ_TOP_FAILED) {
                top->ranks[i].state = RZ_TOP_ENDED;
            }
            top->ranks[i].call[0] = 0;
            top->ranks[i].used_known = false;
            top->ranks[i].processors = top->ranks[i].waiting = -1;
        }
        return;
    }
    top->over = false;
    take_constants(top, job);
    take_result(top, job);
    take_nodes(top, job);
    take_ranks(top, job);
    take_processes(top, job);
    take_checkpoint(top, job);
    take_groups(top, job);
    take_epoch(top, job);
    for (uint32_t i = 0; i < top->n_ranks; i++) {
        if (top->ranks[i].state != RZ_TOP_ENDED && node_has_failed(top, top->ranks[i].node)) {
            top->ranks[i].state = RZ_TOP_FAILED;
        }
    }
    top->known = true;
}

static int by_rate(const void *a, const void *b)
{
    const double *l = a, *r = b;
    return (*l > *r) - (*l < *r);
}

void rz_top_use_add(struct rz_top_use *use, const struct rz_top_rank *rank)
{
    if (rank->state == RZ_TOP_ENDED || rank->state == RZ_TOP_FAILED || !rank->used_known) {
        return;
    }
    use->n++;
    use->resident_bytes += rank->resident_bytes;
    if (rank->processors >= 0 && rank->waiting >= 0) {
        use->waiting = (use->waiting * use->n_rates + rank->waiting) / (use->n_rates + 1);
        use->processors += rank->processors;
        use->n_rates++;
    }
}

struct rz_top_sums rz_top_sums(const struct rz_top *top)
{
    struct rz_top_sums sums = {.least = UINT64_MAX};
    double *rates = calloc(top->n_ranks + 1, sizeof(*rates));
    rz_need_memory(rates, "for the rates of a job");
    for (uint32_t i = 0; i < top->n_ranks; i++) {
        const struct rz_top_rank *rank = &top->ranks[i];
        sums.states[rank->state]++;
        sums.failures +=
            rank->incarnation - (rank->incarnation > 0) + (rank->state == RZ_TOP_FAILED);
        rz_top_use_add(&sums.use, rank);
        if (rank->marked && rank->state != RZ_TOP_FAILED) {
            rates[sums.marked++] = rank->per_second;
            sums.least = rank->iteration < sums.least ? rank->iteration : sums.least;
            sums.most = rank->iteration > sums.most ? rank->iteration : sums.most;
        }
    }
    for (uint32_t i = 0; i < top->n_nodes; i++) {
        sums.failed_nodes += top->nodes[i].failed;
    }
    if (sums.marked > 0) {
        qsort(rates, sums.marked, sizeof(*rates), by_rate);
        sums.per_second = rates[sums.marked / 2];
    }
    free(rates);
    return sums;
}

void rz_top_clear(struct rz_top *top)
{
    free(top->ranks);
    free(top->nodes);
    *top = (struct rz_top){.known = false};
}
