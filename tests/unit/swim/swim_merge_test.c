/* SPDX-License-Identifier: BSD-3-Clause */
/* Which evidence wins does not depend on its order of arrival; in the mutants it does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "swim_rig.h"

#define N 8
#define ABOUT 3
#define INCARNATIONS 4
#define KINDS (4 * INCARNATIONS)

/* Kind k: incarnation k / 4, state k % 4. */
static void hear(struct rig *rig, uint32_t kind)
{
    enum rz_swim_state state = (enum rz_swim_state)(kind % 4);
    bool own = state == RZ_SWIM_ALIVE || state == RZ_SWIM_LEFT;
    rig_hear(rig, ABOUT, own ? ABOUT : 4, kind / 4, state);
}

/* What is believed after evidence in this order; 0xFF: nothing. */
static uint32_t belief_after(const struct rz_swim_config *config, const uint32_t *kinds, uint32_t n)
{
    static struct rig rig;
    rig_open(&rig, config, 0);
    for (uint32_t i = 0; i < n; i++) {
        hear(&rig, kinds[i]);
    }
    struct rz_swim_view view = rz_swim_look(rig.swim, ABOUT);
    assert_int_equal(view.timers, view.state == RZ_SWIM_SUSPECT);
    rig_close(&rig);
    return 4 * view.incarnation + view.state;
}

/* Sets of three kinds (equal ones: pairs) whose six orders do not all give the same. */
static uint32_t count_disagreements(bool final, uint32_t mutations)
{
    static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct rz_swim_config config = rz_swim_config_scaled(RZ_SECOND, N);
    uint32_t disagreements = 0;
    config.final = final;
    config.mutations = mutations;
    for (uint32_t a = 0; a < KINDS; a++) {
        for (uint32_t b = 0; b <= a; b++) {
            for (uint32_t c = 0; c <= b; c++) {
                const uint32_t kinds[] = {a, b, c};
                uint32_t first = belief_after(&config, kinds, 3);
                for (uint32_t o = 1; o < 6; o++) {
                    const uint32_t ordered[] = {kinds[orders[o][0]], kinds[orders[o][1]],
                                                kinds[orders[o][2]]};
                    if (belief_after(&config, ordered, 3) != first) {
                        disagreements++;
                        break;
                    }
                }
            }
        }
    }
    return disagreements;
}

static void winner_does_not_depend_on_the_order(void **state)
{
    (void)state;
    assert_int_equal(count_disagreements(false, 0), 0);
    assert_int_equal(count_disagreements(true, 0), 0);
}

static void mutants_depend_on_it(void **state)
{
    (void)state;
    assert_true(count_disagreements(false, RZ_SWIM_STALE_INCARNATION) > 0);
    assert_true(count_disagreements(false, RZ_SWIM_FIRST_COMES) > 0);
    assert_true(count_disagreements(false, RZ_SWIM_TIE_ALIVE) > 0);
}

static uint32_t kind(uint32_t incarnation, enum rz_swim_state state)
{
    return 4 * incarnation + state;
}

/* Each line of the override rules: the belief before, the message, the belief after. */
static void rules_are_those_of_the_papers(void **state)
{
    (void)state;
    static const struct {
        uint32_t inc_before;
        enum rz_swim_state before;
        uint32_t inc_heard;
        enum rz_swim_state heard;
        bool wins, wins_final;
    } rules[] = {
        {1, RZ_SWIM_ALIVE, 1, RZ_SWIM_ALIVE, false, false},
        {1, RZ_SWIM_ALIVE, 2, RZ_SWIM_ALIVE, true, true},
        {1, RZ_SWIM_SUSPECT, 1, RZ_SWIM_ALIVE, false, false},
        {1, RZ_SWIM_SUSPECT, 2, RZ_SWIM_ALIVE, true, true},
        {1, RZ_SWIM_ALIVE, 0, RZ_SWIM_SUSPECT, false, false},
        {1, RZ_SWIM_ALIVE, 1, RZ_SWIM_SUSPECT, true, true},
        {1, RZ_SWIM_SUSPECT, 2, RZ_SWIM_SUSPECT, true, true},
        {1, RZ_SWIM_SUSPECT, 1, RZ_SWIM_FAILED, true, true},
        {2, RZ_SWIM_ALIVE, 1, RZ_SWIM_FAILED, false, true}, /* memberlist; the original's Confirm */
        {1, RZ_SWIM_FAILED, 2, RZ_SWIM_ALIVE, true, false},
        {1, RZ_SWIM_FAILED, 1, RZ_SWIM_ALIVE, false, false},
        {1, RZ_SWIM_FAILED, 2, RZ_SWIM_FAILED, true, true},
        {1, RZ_SWIM_FAILED, 1, RZ_SWIM_LEFT, true, true},
        {1, RZ_SWIM_LEFT, 1, RZ_SWIM_FAILED, false, false},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
        for (int final = 0; final < 2; final++) {
            struct rz_swim_config config = rz_swim_config_scaled(RZ_SECOND, N);
            config.final = final;
            const uint32_t kinds[] = {kind(rules[i].inc_before, rules[i].before),
                                      kind(rules[i].inc_heard, rules[i].heard)};
            bool wins = final ? rules[i].wins_final : rules[i].wins;
            if (belief_after(&config, kinds, 2) != kinds[wins]) {
                fail_msg("rule %zu, final %d", i, final);
            }
        }
    }
}

/* A node killed as of incarnation 10 is not brought back by a stale Alive of 2. */
static bool stale_alive_brings_back(uint32_t mutations)
{
    struct rz_swim_config config = rz_swim_config_scaled(RZ_SECOND, N);
    config.mutations = mutations;
    const uint32_t kinds[] = {kind(1, RZ_SWIM_FAILED), kind(10, RZ_SWIM_FAILED),
                              kind(2, RZ_SWIM_ALIVE)};
    return belief_after(&config, kinds, 3) % 4 == RZ_SWIM_ALIVE;
}

static void stale_alive_does_not_bring_back_the_failed(void **state)
{
    (void)state;
    assert_false(stale_alive_brings_back(0));
    assert_true(stale_alive_brings_back(RZ_SWIM_STALE_INCARNATION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(winner_does_not_depend_on_the_order),
        cmocka_unit_test(mutants_depend_on_it),
        cmocka_unit_test(rules_are_those_of_the_papers),
        cmocka_unit_test(stale_alive_does_not_bring_back_the_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
