/* SPDX-License-Identifier: BSD-3-Clause */
/* A model run: its rules, its cycles, its result. */
#include "scale/scale.h"

#include "scale/list.h"
#include "scale/sum.h"

#include <time.h>

static void reached(uint64_t *first, uint64_t *last, uint64_t count, uint64_t all, uint64_t cycle)
{
    if (count > 0 && *first == 0) {
        *first = cycle;
    }
    if (count == all && *last == 0) {
        *last = cycle;
    }
}

static void note(struct rz_scale_result *result, const struct rz_scale_tally *tally,
                 uint64_t living)
{
    uint64_t cycle = ++result->cycles;
    result->messages += tally->pings + tally->replies;
    reached(&result->known_first, &result->known_last, tally->detected, living, cycle);
    reached(&result->consensus_first, &result->consensus_last, tally->consensus, living, cycle);
    reached(&result->commit_first, &result->commit_last, tally->committed, living, cycle);
    if (tally->detected < living) {
        result->false_consensus += tally->new_consensus;
    }
    if (tally->consensus < living) {
        result->early_commits += tally->new_committed;
    }
}

static bool tell(rz_scale_progress *progress, void *user, const struct rz_scale_tally *tally,
                 uint64_t cycle)
{
    struct rz_scale_cycle told = {.cycle = cycle,
                                  .detected = tally->detected,
                                  .consensus = tally->consensus,
                                  .committed = tally->committed,
                                  .estimate_detected = tally->estimate_detected,
                                  .estimate_consensus = tally->estimate_consensus,
                                  .pings = tally->pings};
    return !progress || progress(user, &told);
}

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* False: no memory. */
static bool run(const struct rz_scale_model *model, const struct rz_scale_rules *rules,
                struct rz_scale_crew *crew, rz_scale_progress *progress, void *user,
                struct rz_scale_result *result)
{
    void *state = model->create(rules, crew);
    if (!state) {
        return false;
    }
    struct rz_scale_tally tally;
    bool done;
    do {
        done = model->cycle(state, &tally);
        if (done) {
            note(result, &tally, rules->n_living);
        }
    } while (done && tell(progress, user, &tally, result->cycles) && tally.awake > 0 &&
             result->cycles < rules->cycles_max);
    result->bytes_member = (double)model->bytes(state) / rules->n_members;
    model->destroy(state);
    return done;
}

/* The function that is told of the progress. */
struct watcher {
    rz_scale_progress *progress;
    void *user;
};

static bool scale(const struct rz_scale_model *model, const struct rz_scale_rules *rules,
                  uint32_t threads, const struct watcher *watcher, struct rz_scale_result *result,
                  const char **why)
{
    double began = now_seconds();
    struct rz_scale_result found = {0};
    struct rz_scale_crew *crew = rz_scale_crew_create(threads);
    bool done = crew && run(model, rules, crew, watcher->progress, watcher->user, &found);
    if (crew) {
        rz_scale_crew_destroy(crew);
    }
    found.seconds = now_seconds() - began;
    if (done) {
        *result = found;
    } else {
        *why = "there is not enough memory for a scale model of so many members";
    }
    return done;
}

bool rz_scale_list(const struct rz_scale_config *config, rz_scale_progress *progress, void *user,
                   struct rz_scale_result *result, const char **why)
{
    struct rz_scale_rules rules;
    return rz_scale_rules_make(config, true, &rules, why) &&
           scale(&rz_scale_list_model, &rules, config->threads, &(struct watcher){progress, user},
                 result, why);
}

bool rz_scale_sum(const struct rz_scale_config *config, rz_scale_progress *progress, void *user,
                  struct rz_scale_result *result, const char **why)
{
    struct rz_scale_rules rules;
    return rz_scale_rules_make(config, false, &rules, why) &&
           scale(&rz_scale_sum_model, &rules, config->threads, &(struct watcher){progress, user},
                 result, why);
}
