/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects that are shipped have no mutations, and the mutants have: without a mutation both
 * take the same steps. same_steps [SCHEDULES of each protocol; 1,000]
 */
#include "schedules.h"

#include <stdlib.h>
#include <string.h>

enum { PROTOCOLS_MAX = 32 };
static uint64_t seeds = 1000;

static struct rz_sim_result run_as(const struct rz_sim_scenario *scenario, uint64_t first,
                                   uint64_t last, bool mutants)
{
    struct rz_sim_options options = {.scenario = scenario,
                                     .crashes = UINT32_MAX,
                                     .seed_first = first,
                                     .seed_last = last,
                                     .mutants = mutants,
                                     .quiet = true};
    struct rz_sim_result result;
    rz_sim_run(&options, &result);
    return result;
}

static void assert_same(const struct rz_sim_scenario *scenario, uint64_t first, uint64_t last)
{
    struct rz_sim_result one = run_as(scenario, first, last, false),
                         other = run_as(scenario, first, last, true);
    if (one.violated || other.violated || one.steps != other.steps ||
        one.messages != other.messages || one.crashes != other.crashes || one.lost != other.lost ||
        one.finals != other.finals || one.runs != last - first + 1 || one.steps == 0) {
        fail_msg("%s/%s, seeds %llu to %llu: the mutant without a mutation takes other steps",
                 scenario->protocol->name, scenario->name, (unsigned long long)first,
                 (unsigned long long)last);
    }
}

/* The seeds of a protocol are shared among its scenarios. */
static void both_take_the_same_steps(void **state)
{
    const struct rz_sim_scenario *scenario;
    const char *done[PROTOCOLS_MAX];
    size_t n_done = 0;
    (void)state;
    for (size_t i = 0; (scenario = rz_sim_scenario_at(i)); i++) {
        size_t same = 0, k = 0, n = 0;
        while (k < n_done && strcmp(done[k], scenario->protocol->name) != 0) {
            k++;
        }
        if (k < n_done) {
            continue;
        }
        assert_true(n_done < PROTOCOLS_MAX);
        done[n_done++] = scenario->protocol->name;
        const struct rz_sim_scenario *of[64];
        for (k = i; (scenario = rz_sim_scenario_at(k)); k++) {
            same = strcmp(scenario->protocol->name, done[n_done - 1]) == 0;
            if (same && !scenario->violation_expected) {
                assert_true(n < sizeof(of) / sizeof(*of));
                of[n++] = scenario;
            }
        }
        for (k = 0; k < n; k++) {
            assert_same(of[k], 1 + seeds * k / n, seeds * (k + 1) / n);
        }
    }
    assert_true(n_done >= 13);
}

/* One mutation of each kind of host: the switch is set, and nothing happens. */
static void the_product_has_no_mutation(void **state)
{
    static const char *const mutants[][2] = {{"ring", "mutant-keep-observed"},
                                             {"agree", "mutant-fence"}};
    (void)state;
    for (size_t i = 0; i < sizeof(mutants) / sizeof(*mutants); i++) {
        struct rz_sim_scenario shipped = *rz_sim_find(mutants[i][0], mutants[i][1]);
        assert_true(shipped.violation_expected);
        shipped.violation_expected = false;
        assert_false(run_as(&shipped, 1, 300, false).violated);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_take_the_same_steps),
        cmocka_unit_test(the_product_has_no_mutation),
    };
    seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : seeds;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
