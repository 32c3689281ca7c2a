/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a subject, and records what its members do, date by date. */
#include "explain/explain_state.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

static void *memory(void *old, size_t bytes)
{
    void *got = realloc(old, bytes > 0 ? bytes : 1);
    if (!got) {
        fprintf(stderr, "rzsim: out of memory (%zu bytes)\n", bytes);
        exit(1);
    }
    return got;
}

/* ---- frames ---- */

static struct rz_explain_frame *frame_now(struct rz_explain *explain, rz_time now)
{
    if (explain->n_frames > 0 && explain->frame[explain->n_frames - 1].at == now) {
        return &explain->frame[explain->n_frames - 1];
    }
    explain->frame = memory(explain->frame, (explain->n_frames + 1) * sizeof(*explain->frame));
    struct rz_explain_frame *frame = &explain->frame[explain->n_frames++];
    memset(frame, 0, sizeof(*frame));
    frame->at = now;
    return frame;
}

void rz_explain_link(struct rz_explain_frame *frame, rz_id a, rz_id b, bool strong)
{
    for (uint32_t i = 0; i < frame->n_edges; i++) {
        struct rz_explain_edge *edge = &frame->edge[i];
        if ((edge->a == a && edge->b == b) || (edge->a == b && edge->b == a)) {
            edge->strong = edge->strong || strong;
            return;
        }
    }
    frame->edge = memory(frame->edge, (frame->n_edges + 1) * sizeof(*frame->edge));
    frame->edge[frame->n_edges++] = (struct rz_explain_edge){a, b, strong};
}

static void take_looks(struct rz_explain *explain, struct rz_sim *sim,
                       struct rz_explain_frame *frame)
{
    for (rz_id id = 0; id < explain->members; id++) {
        struct rz_explain_look *look = &frame->look[id];
        memset(look, 0, sizeof(*look));
        if (rz_sim_alive(sim, id)) {
            explain->subject->look(sim, id, look);
        } else {
            look->tone = RZ_TONE_FAILED;
            snprintf(look->label[0], sizeof(look->label[0]), "%s",
                     explain->failed & rz_explain_bit(id) ? "failed" : "stopped");
        }
    }
    frame->n_edges = 0;
    if (explain->subject->links) {
        explain->subject->links(sim, frame);
    }
}

void rz_explain_say(struct rz_explain_words *words, const char *one, const char *many)
{
    snprintf(words->one, sizeof(words->one), "%s", one);
    snprintf(words->many, sizeof(words->many), "%s", many);
}

void rz_explain_say_alike(struct rz_explain_words *words)
{
    memcpy(words->many, words->one, sizeof(words->many));
}

void rz_explain_say_told(struct rz_explain_words *words, const struct rz_explain_step *step,
                         const char *then_one, const char *then_many)
{
    char list[64];
    rz_explain_list(step->told, list, sizeof(list));
    snprintf(words->one, sizeof(words->one), "learns that %s failed%s", list, then_one);
    snprintf(words->many, sizeof(words->many), "learn that %s failed%s", list, then_many);
}

/* Takes the member out of the sentences that are minor; those without members go. */
static void drop_minor(struct rz_explain_frame *frame, rz_id member)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < frame->n_sentences; i++) {
        struct rz_explain_sentence sentence = frame->sentence[i];
        sentence.members &= ~(sentence.words.minor ? rz_explain_bit(member) : 0);
        if (sentence.members) {
            frame->sentence[kept++] = sentence;
        }
    }
    frame->n_sentences = kept;
}

static void add_sentence(struct rz_explain_frame *frame, rz_id member,
                         const struct rz_explain_words *words)
{
    if (words->minor && (frame->acted & rz_explain_bit(member))) {
        return;
    }
    drop_minor(frame, member);
    frame->shown = true;
    frame->acted |= rz_explain_bit(member);
    for (uint32_t i = 0; i < frame->n_sentences; i++) {
        if (strcmp(frame->sentence[i].words.one, words->one) == 0) {
            frame->sentence[i].members |= rz_explain_bit(member);
            return;
        }
    }
    frame->sentence = memory(frame->sentence, (frame->n_sentences + 1) * sizeof(*frame->sentence));
    uint32_t at = frame->n_sentences++;
    for (; words->first && at > 0; at--) {
        frame->sentence[at] = frame->sentence[at - 1];
    }
    frame->sentence[at] = (struct rz_explain_sentence){*words, rz_explain_bit(member)};
}

/* ---- messages ---- */

static void note_send(struct rz_explain *explain, const struct rz_sim_seen *seen)
{
    uint8_t type = seen->message->type < 8 ? seen->message->type : 7;
    explain->step.sent[type] |= rz_explain_bit(seen->other);
    explain->arrow = memory(explain->arrow, (explain->n_arrows + 1) * sizeof(*explain->arrow));
    explain->arrow[explain->n_arrows++] = (struct rz_explain_arrow){.from = seen->member,
                                                                    .to = seen->other,
                                                                    .type = type,
                                                                    .sent = explain->n_frames - 1,
                                                                    .received = RZ_EXPLAIN_NEVER,
                                                                    .packet = seen->packet};
}

/* The newest message of this packet that is under way; NULL: there is none (it came twice). */
static struct rz_explain_arrow *arrow_of(struct rz_explain *explain, const void *packet, rz_id to)
{
    for (uint32_t i = explain->n_arrows; i-- > 0;) {
        struct rz_explain_arrow *arrow = &explain->arrow[i];
        if (arrow->packet == packet && arrow->to == to) {
            return arrow->lost || arrow->received != RZ_EXPLAIN_NEVER ? NULL : arrow;
        }
    }
    return NULL;
}

/* ---- the watcher ---- */

static bool sends_any(const struct rz_explain_step *step)
{
    uint32_t all = 0;
    for (uint32_t type = 0; type < 8; type++) {
        all |= step->sent[type];
    }
    return all != 0;
}

static void end_step(struct rz_explain *explain, struct rz_sim *sim)
{
    struct rz_explain_frame *frame = frame_now(explain, rz_sim_now(sim));
    struct rz_explain_step *step = &explain->step;
    struct rz_explain_words words = {0};
    char list[128];
    explain->stepping = false;
    words.first = step->fails;
    if (step->fails && step->lost) {
        rz_explain_list(step->lost, list, sizeof(list));
        snprintf(words.one, sizeof(words.one),
                 "fails in the middle of its step: its message to %s is never sent", list);
        rz_explain_say_alike(&words);
    } else if (step->fails && sends_any(step)) {
        rz_explain_say(&words, "sends its messages, and fails", "send their messages, and fail");
    } else if (step->fails) {
        rz_explain_say(&words, "fails", "fail");
    } else if (rz_sim_alive(sim, step->member)) {
        explain->subject->say(sim, step, &words);
    } else {
        rz_explain_say(&words, "is stopped by its host", "are stopped by their hosts");
    }
    if (words.one[0]) {
        add_sentence(frame, step->member, &words);
    }
}

static void begin_step(struct rz_explain *explain, struct rz_sim *sim,
                       const struct rz_sim_seen *seen)
{
    if (explain->stepping && explain->step.member != seen->member) {
        end_step(explain, sim);
    }
    if (!explain->stepping) {
        frame_now(explain, rz_sim_now(sim));
        explain->step = (struct rz_explain_step){
            .member = seen->member, .trigger = seen->sight, .other = seen->other};
        explain->stepping = true;
        explain->steps[seen->member]++;
    }
    if (seen->sight == RZ_SIM_SEES_TOLD) {
        explain->step.told |= rz_explain_bit(seen->other);
    } else if (seen->sight == RZ_SIM_SEES_RECEIVE) {
        explain->step.message = *seen->message;
        struct rz_explain_arrow *arrow = arrow_of(explain, seen->packet, seen->member);
        if (arrow) {
            arrow->received = explain->n_frames - 1;
        }
    }
}

static void note_loss(struct rz_explain *explain, const struct rz_sim_seen *seen)
{
    struct rz_explain_arrow *arrow = arrow_of(explain, seen->packet, seen->other);
    if (arrow) {
        arrow->lost = true;
        explain->step.lost |= rz_explain_bit(seen->other);
    }
}

static void see(void *data, struct rz_sim *sim, const struct rz_sim_seen *seen)
{
    struct rz_explain *explain = data;
    switch (seen->sight) {
    case RZ_SIM_SEES_SEND:
        note_send(explain, seen);
        break;
    case RZ_SIM_SEES_LOSS:
        note_loss(explain, seen);
        break;
    case RZ_SIM_SEES_NOTICE: {
        uint32_t bit =
            explain->subject->notice_bit ? explain->subject->notice_bit(seen->what) : seen->what;
        if (bit < 32) {
            explain->step.notices |= UINT32_C(1) << bit;
            memcpy(explain->step.arg, seen->arg, sizeof(explain->step.arg));
        }
        break;
    }
    case RZ_SIM_SEES_FAIL:
    case RZ_SIM_SEES_HALT:
        if (!explain->stepping || explain->step.member != seen->member) {
            begin_step(explain, sim,
                       &(struct rz_sim_seen){.sight = RZ_SIM_SEES_END, .member = seen->member});
        }
        explain->step.fails |= seen->sight == RZ_SIM_SEES_FAIL;
        explain->failed |= seen->sight == RZ_SIM_SEES_FAIL ? rz_explain_bit(seen->member) : 0;
        break;
    case RZ_SIM_SEES_END:
        if (explain->stepping) {
            end_step(explain, sim);
        }
        take_looks(explain, sim, frame_now(explain, rz_sim_now(sim)));
        break;
    default:
        begin_step(explain, sim, seen);
    }
}

/* ---- the run ---- */

static void forget_record(struct rz_explain *explain)
{
    for (uint32_t i = 0; i < explain->n_frames; i++) {
        free(explain->frame[i].sentence);
        free(explain->frame[i].edge);
    }
    free(explain->frame);
    free(explain->arrow);
    explain->frame = NULL;
    explain->arrow = NULL;
    explain->n_frames = explain->n_arrows = explain->n_shown = explain->failed = 0;
    memset(explain->steps, 0, sizeof(explain->steps));
    explain->stepping = false;
}

static bool record(struct rz_explain *explain, const char *plan, const char **why)
{
    static struct rz_sim_result result;
    const struct rz_sim_watcher watcher = {see, explain};
    const struct rz_sim_options options = {.scenario = &explain->scenario,
                                           .members = explain->members,
                                           .crashes = UINT32_MAX,
                                           .seed_first = explain->seed,
                                           .seed_last = explain->seed,
                                           .plan = plan,
                                           .plain = true,
                                           .quiet = true,
                                           .watcher = &watcher};
    forget_record(explain);
    rz_sim_replay(&options, &result);
    *why = result.reason;
    return !result.violated;
}

/* Each fails in a step that it makes in a run without failures: before it, after it, or in the
 * middle of what it sends. In timed protocols: at a date up to crash_until. */
static void draw_plan(struct rz_explain *explain)
{
    struct rz_random random = {rz_mix(explain->seed, 11)};
    uint32_t failed = 0;
    size_t used = (size_t)snprintf(explain->plan, sizeof(explain->plan), "none");
    rz_time until = explain->scenario.crash_until;
    for (uint32_t i = 0; i < explain->kill; i++) {
        rz_id victim;
        do {
            victim = (rz_id)rz_random_below(&random, explain->members);
        } while (failed & rz_explain_bit(victim));
        failed |= rz_explain_bit(victim);
        uint64_t steps = explain->steps[victim], from = steps * explain->subject->fail_from / 100;
        uint64_t at = until > 0 ? rz_random_below(&random, until)
                                : from + rz_random_below(&random, steps - from + 1);
        uint64_t way = rz_random_below(&random, 3), loss = 1 + rz_random_below(&random, 1000);
        if (i == 0) {
            used = 0;
        }
        used += (size_t)snprintf(
            explain->plan + used, sizeof(explain->plan) - used, "%s%u@%s%llu:%u:%llu",
            i > 0 ? "," : "", victim, until > 0 ? "d" : "", (unsigned long long)at,
            way == 0 ? 0 : UINT32_MAX, way == 1 ? (unsigned long long)loss : 0ull);
    }
}

static bool same_sentences(const struct rz_explain_frame *a, const struct rz_explain_frame *b)
{
    if (a->n_sentences != b->n_sentences) {
        return false;
    }
    for (uint32_t i = 0; i < a->n_sentences; i++) {
        if (strcmp(a->sentence[i].words.one, b->sentence[i].words.one) != 0) {
            return false;
        }
    }
    return true;
}

/* Whether a frame before this one said the same, and no member's look has changed since. */
static bool repeats(const struct rz_explain *explain, uint32_t at)
{
    const struct rz_explain_frame *frame = &explain->frame[at];
    for (uint32_t i = at; i-- > 0;) {
        const struct rz_explain_frame *before = &explain->frame[i];
        if (memcmp(frame->look, before->look, sizeof(frame->look)) != 0) {
            return false;
        }
        if (before->shown && same_sentences(frame, before)) {
            return true;
        }
    }
    return false;
}

/* Numbers the frames that have sentences. Heartbeats go on and on: what only repeats is left out.
 */
static void number_frames(struct rz_explain *explain)
{
    for (uint32_t i = 0; i < explain->n_frames; i++) {
        struct rz_explain_frame *frame = &explain->frame[i];
        if (explain->subject->periodic && repeats(explain, i)) {
            frame->shown = false;
        }
        if (frame->shown) {
            frame->number = ++explain->n_shown;
        }
    }
}

struct rz_explain *rz_explain_run(const struct rz_explain_options *options, const char **why)
{
    const struct rz_explain_subject *subject = options->subject;
    struct rz_explain *explain = memory(NULL, sizeof(*explain));
    memset(explain, 0, sizeof(*explain));
    explain->subject = subject;
    explain->scenario = *subject->scenario;
    explain->scenario.latency_min = explain->scenario.latency_max = RZ_EXPLAIN_UNIT;
    explain->members = options->members > 0 ? options->members : subject->members;
    explain->kill = options->kill != UINT32_MAX ? options->kill : subject->kill;
    explain->seed = options->seed;
    if (explain->kill >= explain->members) {
        explain->kill = explain->members - 1;
    }
    bool good = true;
    if (options->plan && strlen(options->plan) >= sizeof(explain->plan)) {
        *why = "the plan is too long";
        good = false;
    } else if (options->plan && !rz_sim_plan_fits(options->plan, explain->members)) {
        *why = "the plan names a member that is not there";
        good = false;
    } else if (options->plan) {
        snprintf(explain->plan, sizeof(explain->plan), "%s", options->plan);
    } else if ((good = record(explain, "none", why))) {
        draw_plan(explain);
    }
    if (!good || !record(explain, explain->plan, why)) {
        rz_explain_destroy(explain);
        return NULL;
    }
    number_frames(explain);
    return explain;
}

void rz_explain_destroy(struct rz_explain *explain)
{
    forget_record(explain);
    free(explain);
}

uint32_t rz_explain_steps(const struct rz_explain *explain)
{
    return explain->n_shown;
}
