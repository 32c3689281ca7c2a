/* SPDX-License-Identifier: BSD-3-Clause */
/* The models do what the objects do: member by member, cycle by cycle, and in what they report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "twin.h"

#include "proto/gossip/gossip_state.h"
#include "scale/list.h"
#include "scale/sum.h"

#include <string.h>

/* The result of a run of objects: the part of rz_scale_result that can be compared, and the
 * cycles. */
struct outcome {
    struct rz_scale_result result;
    uint64_t in[4];       /* live members by phase, or a later one */
    uint64_t differences; /* members that were not equal, over all cycles */
};

static const struct rz_gossip_entry *entry_of(const struct rz_gossip *gossip, rz_id failed)
{
    const uint64_t *ids = rz_gossip_ids(gossip);
    for (uint32_t i = 0; i < gossip->n_failed; i++) {
        if (ids[i] == failed) {
            return &rz_gossip_entries(gossip)[i];
        }
    }
    return NULL;
}

static bool same_list(const struct rz_scale_config *config, const struct rz_gossip *object,
                      const struct rz_scale_list_member *member)
{
    for (uint32_t i = 0; i < config->n_failed; i++) {
        const struct rz_gossip_entry *entry = entry_of(object, config->failed[i]);
        uint32_t phase = (member->known >> i & 1) + (member->settled >> i & 1);
        if (rz_gossip_phase(object, config->failed[i]) != phase) {
            return false;
        }
        if (entry && phase == 1 && member->count[i] != (entry->count < 255 ? entry->count : 255)) {
            return false;
        }
    }
    return rz_gossip_returned(object) == member->returned;
}

static bool same_sum(const struct rz_scale_config *config, const struct rz_gossip *object,
                     const struct rz_scale_sum_member *member)
{
    const struct rz_gossip_entry *entry = entry_of(object, config->failed[0]);
    struct rz_gossip_mass mass = rz_gossip_mass(object, config->failed[0]);
    if (rz_gossip_phase(object, config->failed[0]) != member->phase ||
        rz_gossip_returned(object) != member->returned) {
        return false;
    }
    return mass.weight == member->weight &&
           (!entry || (entry->count == member->count && object->since == member->since &&
                       mass.detected == member->detected && mass.consensus == member->consensus));
}

static void reached(uint64_t *first, uint64_t *last, uint64_t count, uint64_t all, uint64_t cycle)
{
    if (count > 0 && *first == 0) {
        *first = cycle;
    }
    if (count == all && *last == 0) {
        *last = cycle;
    }
}

/* The number of live objects that have every failed member in this phase or a later one. */
static uint64_t in_phase(const struct rz_scale_config *config, const struct twin *twin,
                         uint32_t phase)
{
    uint64_t count = 0;
    for (rz_id p = 0; p < config->n_members; p++) {
        const struct rz_gossip *object = twin_member(twin, p);
        uint32_t i = 0;
        while (object && i < config->n_failed &&
               rz_gossip_phase(object, config->failed[i]) >= phase) {
            i++;
        }
        count += object && i == config->n_failed;
    }
    return count;
}

static void note(const struct rz_scale_config *config, enum rz_gossip_kind kind,
                 const struct twin *twin, struct outcome *outcome)
{
    struct rz_scale_result *result = &outcome->result;
    uint64_t living = config->n_members - config->n_failed, cycle = ++result->cycles, in[4];
    for (uint32_t phase = 1; phase <= 3; phase++) {
        in[phase] = in_phase(config, twin, phase);
    }
    reached(&result->known_first, &result->known_last, in[1], living, cycle);
    reached(&result->consensus_first, &result->consensus_last, in[2], living, cycle);
    reached(&result->commit_first, &result->commit_last, in[3], living, cycle);
    result->messages = twin_messages(twin);
    if (kind == RZ_GOSSIP_SUM && in[1] < living) {
        result->false_consensus += in[2] - outcome->in[2];
    }
    if (kind == RZ_GOSSIP_SUM && in[2] < living) {
        result->early_commits += in[3] - outcome->in[3];
    }
    memcpy(outcome->in, in, sizeof(in));
}

static uint64_t differences(const struct rz_scale_config *config, enum rz_gossip_kind kind,
                            const struct twin *twin, const void *model)
{
    uint64_t count = 0;
    for (rz_id p = 0; p < config->n_members; p++) {
        const struct rz_gossip *object = twin_member(twin, p);
        struct rz_scale_list_member of_list;
        struct rz_scale_sum_member of_sum;
        if (object && kind == RZ_GOSSIP_LIST) {
            of_list = rz_scale_list_member(model, p);
            count += !same_list(config, object, &of_list);
        } else if (object) {
            of_sum = rz_scale_sum_member(model, p);
            count += !same_sum(config, object, &of_sum);
        }
    }
    return count;
}

/* Drives both; `twin_config` differs from `config` where a difference is needed. */
static struct outcome run_both(enum rz_gossip_kind kind, const struct rz_scale_config *config,
                               const struct rz_scale_config *twin_config, uint32_t mutations)
{
    const char *why = NULL;
    struct rz_scale_rules rules;
    bool list = kind == RZ_GOSSIP_LIST;
    assert_true(rz_scale_rules_make(config, list, &rules, &why));
    struct rz_scale_crew *crew = rz_scale_crew_create(config->threads);
    const struct rz_scale_model *model = list ? &rz_scale_list_model : &rz_scale_sum_model;
    void *state = model->create(&rules, crew);
    assert_non_null(state);
    struct twin *twin = twin_create(kind, twin_config, mutations);
    struct outcome outcome = {0};
    struct rz_scale_tally tally;
    do {
        twin_cycle(twin);
        assert_true(model->cycle(state, &tally));
        note(config, kind, twin, &outcome);
        outcome.differences += differences(config, kind, twin, state);
        bool awake = tally.awake > 0 && outcome.result.cycles < rules.cycles_max;
        outcome.differences += awake != twin_awake(twin);
    } while (twin_awake(twin));
    twin_destroy(twin);
    model->destroy(state);
    rz_scale_crew_destroy(crew);
    return outcome;
}

static void say(enum rz_gossip_kind kind, const struct rz_scale_config *config)
{
    print_message("kind %d, %u members, seed %u, failed", (int)kind, (unsigned)config->n_members,
                  (unsigned)config->seed);
    for (uint32_t i = 0; i < config->n_failed; i++) {
        print_message(" %u", (unsigned)config->failed[i]);
    }
    print_message(", initial %u, window %u, tolerance %u, cycles %u, threads %u\n",
                  (unsigned)config->initial, (unsigned)config->window,
                  (unsigned)config->tolerance_ppm, (unsigned)config->cycles_max,
                  (unsigned)config->threads);
}

static void hold(enum rz_gossip_kind kind, const struct rz_scale_config *config)
{
    struct outcome outcome = run_both(kind, config, config, 0);
    const struct rz_scale_result *wanted = &outcome.result;
    struct rz_scale_result result = {0};
    const char *why = NULL;
    bool (*scale)(const struct rz_scale_config *, rz_scale_progress *, void *,
                  struct rz_scale_result *, const char **) =
        kind == RZ_GOSSIP_LIST ? rz_scale_list : rz_scale_sum;
    assert_true(scale(config, NULL, NULL, &result, &why));
    bool same =
        outcome.differences == 0 && wanted->cycles == result.cycles &&
        wanted->known_first == result.known_first && wanted->known_last == result.known_last &&
        wanted->consensus_first == result.consensus_first &&
        wanted->consensus_last == result.consensus_last &&
        wanted->commit_first == result.commit_first && wanted->commit_last == result.commit_last &&
        wanted->messages == result.messages && wanted->false_consensus == result.false_consensus &&
        wanted->early_commits == result.early_commits;
    if (same) {
        return;
    }
    say(kind, config);
    assert_int_equal(outcome.differences, 0);
    fail_msg("member by member the same, but not in what is reported");
}

/* Failed members: those at the ends, where words and ranges begin and end, and others. */
static void fail_some(struct rz_scale_config *config, uint32_t n_failed)
{
    rz_id n = (rz_id)config->n_members, at = (rz_id)(rz_mix(config->seed, n) % n);
    static const uint32_t steps[] = {0, 1, 3, 7};
    config->n_failed = n_failed < n ? n_failed : n - 1;
    for (uint32_t i = 0; i < config->n_failed; i++) {
        config->failed[i] = (at + (n > 8 ? steps[i] : i)) % n;
    }
    if (config->seed % 3 == 0) {
        for (uint32_t i = 0; i < config->n_failed; i++) {
            config->failed[i] = n - 1 - i;
        }
    }
    if (config->seed % 3 == 1) {
        for (uint32_t i = 0; i < config->n_failed; i++) {
            config->failed[i] = i;
        }
    }
}

struct variant {
    uint32_t initial, window, tolerance_ppm, cycles_max;
};

static void hold_all(enum rz_gossip_kind kind, const struct variant *variants, size_t n_variants,
                     uint32_t failed_max)
{
    static const struct {
        uint32_t members, seeds;
    } sizes[] = {{2, 12}, {3, 12}, {4, 12}, {5, 12}, {16, 6}, {100, 6}, {1000, 3}, {4096, 1}};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t v = 0; v < n_variants; v++) {
            for (uint32_t n_failed = 1; n_failed <= failed_max; n_failed++) {
                for (uint64_t seed = 1; seed <= sizes[s].seeds; seed++) {
                    struct rz_scale_config config = {.n_members = sizes[s].members,
                                                     .seed = seed + v,
                                                     .initial = variants[v].initial,
                                                     .window = variants[v].window,
                                                     .tolerance_ppm = variants[v].tolerance_ppm,
                                                     .cycles_max = variants[v].cycles_max,
                                                     .threads = 1 + (uint32_t)(seed % 3)};
                    fail_some(&config, n_failed);
                    hold(kind, &config);
                }
            }
        }
    }
}

/* Short initial phases: some do not know yet, some return with an empty list and are woken. */
static void the_list_model_equals_the_objects(void **state)
{
    (void)state;
    static const struct variant variants[] = {{0, 0, 0, 0}, {0, 3, 0, 0}, {1, 1, 0, 0},
                                              {3, 2, 0, 0}, {5, 1, 0, 0}, {4, 9, 0, 9},
                                              {9, 1, 0, 5}};
    hold_all(RZ_GOSSIP_LIST, variants, sizeof(variants) / sizeof(variants[0]), 4);
}

static void the_sum_model_equals_the_objects(void **state)
{
    (void)state;
    static const struct variant variants[] = {{0, 0, 0, 0},     {1, 0, 0, 0},   {2, 2, 100000, 0},
                                              {0, 1, 50000, 0}, {40, 9, 10, 0}, {0, 0, 0, 12}};
    hold_all(RZ_GOSSIP_SUM, variants, sizeof(variants) / sizeof(variants[0]), 1);
}

/* The comparison sees a single rule or number that is not the same. */
static void a_twin_that_is_not_equal_is_found(void **state)
{
    (void)state;
    struct rz_scale_config config = {.n_members = 256, .seed = 5, .n_failed = 1, .failed = {9}};
    struct rz_scale_config other = config;
    assert_true(run_both(RZ_GOSSIP_SUM, &config, &config, RZ_GOSSIP_NAIVE_DIAGNOSIS).differences >
                0);
    other.seed++;
    assert_true(run_both(RZ_GOSSIP_SUM, &config, &other, 0).differences > 0);
    assert_true(run_both(RZ_GOSSIP_LIST, &config, &other, 0).differences > 0);
    other = config;
    other.window = 2;
    assert_true(run_both(RZ_GOSSIP_SUM, &config, &other, 0).differences > 0);
    assert_true(run_both(RZ_GOSSIP_LIST, &config, &other, 0).differences > 0);
    assert_int_equal(run_both(RZ_GOSSIP_LIST, &config, &config, 0).differences, 0);
}

/* A number with which the list has cycles that contain only what matters. */
static void a_larger_list_equals_the_objects(void **state)
{
    (void)state;
    for (uint32_t n_failed = 1; n_failed <= 3; n_failed += 2) {
        struct rz_scale_config config = {
            .n_members = 30011, .seed = 2 + n_failed, .initial = n_failed == 1 ? 0 : 13};
        fail_some(&config, n_failed);
        hold(RZ_GOSSIP_LIST, &config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_model_equals_the_objects),
        cmocka_unit_test(a_larger_list_equals_the_objects),
        cmocka_unit_test(the_sum_model_equals_the_objects),
        cmocka_unit_test(a_twin_that_is_not_equal_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
