/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exhaustive mode: depth-first search over all possible next events, each state once. A violation
 * is reported as a path: the number of the choice at each step. The path is shortened by omitting
 * choices as long as the rest still violates; a choice that is not possible any more is skipped.
 */
#include "sim/explorer.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

#define STATES_MAX_DEFAULT UINT64_C(50000000)
#define PATH_STEPS_MAX 20000

struct search {
    struct rz_explorer x;
    const struct rz_sim_options *options;
    struct rz_sim_result *result;
    struct rz_visited visited;
    uint64_t states_max;
    uint64_t *path; /* identities of the choices taken */
    size_t path_count, path_max;
};

/* ---- the search ---- */

static void path_push(struct search *search, uint64_t identity)
{
    if (search->path_count == search->path_max) {
        search->path_max = search->path_max > 0 ? 2 * search->path_max : 256;
        search->path = rz_sim_memory(search->path, search->path_max * sizeof(*search->path));
    }
    search->path[search->path_count++] = identity;
}

static bool visit(struct search *search);

static bool visit_children(struct search *search)
{
    struct rz_explorer *x = &search->x;
    size_t first = x->n_choices;
    uint32_t active, n = rz_explorer_choices(x, &active);
    if (!rz_reduce_check_news(x)) {
        return false;
    }
    if (active == 0) {
        search->result->quiescent++;
        search->result->finals += rz_view_change_final(x);
        if (!rz_world_check_liveness(x->sim)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        struct rz_choice choice = x->choices[first + i];
        rz_explorer_save(x, &choice);
        path_push(search, choice.identity);
        search->result->transitions++;
        if (!rz_explorer_apply(x, &choice) || !visit(search)) {
            return false;
        }
        search->path_count--;
        rz_explorer_undo(x, &choice);
    }
    x->n_choices = first;
    return true;
}

/* False: the search is over, because of a violation or of the budget. */
static bool visit(struct search *search)
{
    uint64_t hash = rz_explorer_hash(&search->x);
    enum rz_visit visit = rz_visited_enter(&search->visited, hash);
    if (visit != RZ_VISIT_NEW) {
        search->result->cycles += visit == RZ_VISIT_ON_PATH;
        return true;
    }
    if (search->visited.count > search->states_max) {
        search->result->over_budget = true;
        return false;
    }
    if (search->path_count > search->result->depth_max) {
        search->result->depth_max = (uint32_t)search->path_count;
    }
    if (!visit_children(search)) {
        return false;
    }
    rz_visited_leave(&search->visited, hash);
    return true;
}

/* ---- following a path ---- */

#define DIGITS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* One choice as text: a digit of base 62, or _N_. */
static void path_text_put(char *text, size_t bytes, uint32_t index)
{
    size_t used = strlen(text);
    if (index < 62) {
        snprintf(text + used, bytes - used, "%c", DIGITS[index]);
    } else {
        snprintf(text + used, bytes - used, "_%u_", index);
    }
}

static uint32_t path_text_get(const char **text)
{
    const char *at = strchr(DIGITS, **text);
    if (at && **text) {
        (*text)++;
        return (uint32_t)(at - DIGITS);
    }
    unsigned index = 0;
    int used = 0;
    if (sscanf(*text, "_%u_%n", &index, &used) != 1 || used == 0) {
        used = (int)strlen(*text);
    }
    *text += used;
    return index;
}

/* Determines the next choice: the next possible one of these identities, or the next number of a
 * text. */
struct guide {
    const uint64_t *identities;
    size_t n, at;
    const char *text;
};

/* RZ_ID_NONE: the guide is at its end. */
static uint32_t guide_next(struct guide *guide, const struct rz_choice *choices, uint32_t n)
{
    while (guide->at < guide->n) {
        uint64_t wanted = guide->identities[guide->at++];
        for (uint32_t i = 0; i < n; i++) {
            if (choices[i].identity == wanted) {
                return i;
            }
        }
    }
    if (!guide->text || !*guide->text) {
        return RZ_ID_NONE;
    }
    uint32_t index = path_text_get(&guide->text);
    return index < n ? index : RZ_ID_NONE;
}

/* Follows the guide, then the first choice until quiescence. False: a property does not hold, or
 * there is no end. */
static bool follow_to_end(struct rz_explorer *x, struct guide *guide, char *text, size_t text_bytes)
{
    if (!rz_explorer_start(x)) {
        return false;
    }
    for (uint32_t steps = 0; steps < PATH_STEPS_MAX; steps++) {
        x->n_choices = 0;
        uint32_t active, n = rz_explorer_choices(x, &active);
        if (!rz_reduce_check_news(x)) {
            return false;
        }
        uint32_t index = guide_next(guide, x->choices, n);
        if (index != RZ_ID_NONE) {
            path_text_put(text, text_bytes, index);
        } else if (active == 0) {
            return rz_world_check_liveness(x->sim);
        }
        if (n == 0) {
            return true; /* there is no such run */
        }
        struct rz_choice choice = x->choices[index != RZ_ID_NONE ? index : 0];
        if (!rz_explorer_apply(x, &choice)) {
            return false;
        }
    }
    return rz_sim_say(x->sim, "no end after %d steps", PATH_STEPS_MAX);
}

/* Whether the path violates; text: the numbers of the choices that the guide took. */
static bool follow(const struct rz_sim_options *options, struct guide guide, char *text,
                   size_t text_bytes, struct rz_sim_trace *trace, struct rz_sim_result *result)
{
    struct rz_explorer x;
    rz_explorer_open(&x, options);
    x.sim->trace = trace;
    text[0] = 0;
    bool violated = !follow_to_end(&x, &guide, text, text_bytes);
    if (violated) {
        rz_world_reason(x.sim, result);
    }
    result->steps += x.sim->steps;
    rz_explorer_close(&x);
    return violated;
}

/* Omits sections of the path, then ever shorter ones, as long as the rest still violates. */
static void shorten(struct search *search)
{
    struct rz_sim_result ignored;
    char text[sizeof(ignored.replay)];
    uint64_t *shorter = rz_sim_memory(NULL, search->path_count * sizeof(*shorter));
    for (size_t length = search->path_count; length > 0; length /= 2) {
        for (size_t at = 0; at < search->path_count;) {
            size_t n = at + length < search->path_count ? length : search->path_count - at;
            memcpy(shorter, search->path, at * sizeof(*shorter));
            memcpy(shorter + at, search->path + at + n,
                   (search->path_count - at - n) * sizeof(*shorter));
            struct guide guide = {.identities = shorter, .n = search->path_count - n};
            if (!follow(search->options, guide, text, sizeof(text), NULL, &ignored)) {
                at += n;
                continue;
            }
            search->path_count -= n;
            memcpy(search->path, shorter, search->path_count * sizeof(*shorter));
        }
    }
    free(shorter);
}

static void report(struct search *search)
{
    const struct rz_sim_options *options = search->options;
    struct rz_sim_result *result = search->result, again = {0};
    FILE *out = options->out ? options->out : stderr;
    char text[sizeof(result->replay) - 512];
    struct rz_sim_trace *trace = rz_trace_create(NULL);
    struct guide guide = {.identities = search->path, .n = search->path_count};
    bool violated = follow(options, guide, text, sizeof(text), trace, &again);
    rz_assert(violated);
    const struct rz_sim *sim = search->x.sim;
    snprintf(result->reason, sizeof(result->reason), "%s", again.reason);
    snprintf(result->replay, sizeof(result->replay),
             "rzsim replay %s --scenario %s --members %u --crashes %u --path %s%s",
             options->scenario->protocol->name, options->scenario->name, sim->n, sim->crashes_max,
             text[0] ? text : "-", options->whole ? " --whole" : "");
    if (!options->quiet) {
        rz_trace_print(trace, out);
        fprintf(out, "violation: %s\nreplay: %s\n", result->reason, result->replay);
    }
    rz_trace_destroy(trace);
}

/* ---- entry points ---- */

void rz_sim_explore(const struct rz_sim_options *options, struct rz_sim_result *result)
{
    memset(result, 0, sizeof(*result));
    struct search search = {.options = options, .result = result};
    search.states_max = options->states_max > 0 ? options->states_max : STATES_MAX_DEFAULT;
    rz_explorer_open(&search.x, options);
    rz_visited_init(&search.visited);
    bool whole = rz_explorer_start(&search.x) && visit(&search);
    result->runs = 1;
    result->steps = search.x.sim->steps;
    result->messages = search.x.sim->messages;
    result->states = search.visited.count;
    result->violated = !whole && !result->over_budget;
    rz_visited_free(&search.visited);
    if (result->violated) {
        shorten(&search);
        report(&search);
    }
    rz_explorer_close(&search.x);
    free(search.path);
}

void rz_explore_replay(const struct rz_sim_options *options, struct rz_sim_result *result)
{
    FILE *out = options->out ? options->out : stdout;
    char text[sizeof(result->replay)];
    struct rz_sim_trace *trace = rz_trace_create(options->quiet ? NULL : out);
    struct guide guide = {.text = strcmp(options->path, "-") != 0 ? options->path : NULL};
    result->violated = follow(options, guide, text, sizeof(text), trace, result);
    if (!options->quiet) {
        fprintf(out, "%s%s\n", result->violated ? "violation: " : "no violation", result->reason);
    }
    rz_trace_destroy(trace);
}
