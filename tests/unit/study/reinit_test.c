/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The figure of global restart adds up what was run one by one: news, decision, barrier. Here the
 * shipped objects of all daemons run together, the news feeding the recovery as in the daemon, and
 * take about as long, within a quarter.
 */
#include "proto/recover/recover.h"
#include "proto/protocol.h"
#include "proto/spread/spread.h"
#include "study/figure.h"
#include "timing/timing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);
RZ_PROTOCOL(recover, RZ_PROTOCOL_RECOVER);

enum { SPREAD, RECOVER, PER_NODE = 16, DAEMONS_MAX = 64, FAILING = 7, VIEW = 1 };

static struct {
    uint32_t daemons;
    struct rz_spread_config spread;
    struct rz_recover_config recover;
    uint32_t placement[DAEMONS_MAX * PER_NODE], slots[DAEMONS_MAX];
    uint32_t running[2]; /* daemons that run in epoch 1, 2 */
    rz_time failed, ran;
    uint64_t item;
} world;

static const void *config(struct rz_timing *timing, rz_id member, uint32_t part)
{
    (void)timing, (void)member;
    return part == SPREAD ? (const void *)&world.spread : &world.recover;
}

static void call(struct rz_timing *timing, rz_id daemon, uint32_t what, uint64_t a, uint64_t b)
{
    const uint64_t arg[4] = {a, b, 0, 0};
    rz_timing_call(timing, daemon, RECOVER, 0,
                   &(struct rz_timing_request){.call = what, .arg = arg});
}

/* All run: one process of the last daemon fails, and that daemon has seen it. */
static void kill_one(struct rz_timing *timing)
{
    world.failed = rz_timing_now(timing);
    rz_timing_call(timing, world.daemons - 1, SPREAD, 0,
                   &(struct rz_timing_request){
                       .call = RZ_SPREAD_BROADCAST, .items = &world.item, .n_items = 1});
}

static void notified(struct rz_timing *timing, rz_id daemon, uint32_t part,
                     const struct rz_action *notice)
{
    uint32_t slot, incarnation;
    if (part == SPREAD) {
        assert_true(rz_recover_unpack_process(notice->items[0], &slot, &incarnation));
        call(timing, daemon, RZ_RECOVER_FAILED, slot, incarnation);
    } else if (notice->what == RZ_RECOVER_EPOCH) {
        call(timing, daemon, RZ_RECOVER_REACHED, notice->arg[0], RZ_PHASE_ENTER);
    } else if (notice->what == RZ_RECOVER_PHASE) {
        world.ran = rz_timing_now(timing);
        if (++world.running[notice->arg[0] - 1] == world.daemons && notice->arg[0] == 1) {
            rz_timing_alarm(timing, world.ran + RZ_SECOND, 0);
        }
    }
}

static void alarm_rang(struct rz_timing *timing, uint64_t what)
{
    (void)what;
    kill_one(timing);
}

/* Microseconds from the notice until all daemons run again. */
static double together_us(uint32_t daemons)
{
    memset(&world, 0, sizeof(world));
    world.daemons = daemons;
    for (uint32_t i = 0; i < daemons * PER_NODE; i++) {
        world.placement[i] = i / PER_NODE;
    }
    for (uint32_t i = 0; i < daemons; i++) {
        world.slots[i] = PER_NODE;
    }
    world.item = rz_recover_pack_process(daemons * PER_NODE - FAILING, 1);
    world.spread = (struct rz_spread_config){.n_members = daemons, .view = VIEW};
    world.recover = (struct rz_recover_config){.n_daemons = daemons,
                                               .n_ranks = daemons * PER_NODE,
                                               .view = VIEW,
                                               .tie_breaker = RZ_ID_NONE,
                                               .placement = world.placement,
                                               .slots = world.slots};
    const struct rz_timing_setup setup = {.members = daemons,
                                          .n_parts = 2,
                                          .parts = {&rz_protocol_spread, &rz_protocol_recover},
                                          .network = {.latency = 10 * RZ_MICROSECOND,
                                                      .send_overhead = 5 * RZ_MICROSECOND,
                                                      .receive_overhead = 5 * RZ_MICROSECOND,
                                                      .per_node = 1},
                                          .seed = 1,
                                          .until = 10 * RZ_SECOND,
                                          .config = config,
                                          .notified = notified,
                                          .alarm = alarm_rang};
    struct rz_timing *timing = rz_timing_create(&setup);
    for (rz_id daemon = 0; daemon < daemons; daemon++) {
        call(timing, daemon, RZ_RECOVER_REPAIRING, 0, 0);
        call(timing, daemon, RZ_RECOVER_REACHED, 1, RZ_PHASE_ENTER);
    }
    rz_timing_run(timing);
    rz_timing_destroy(timing);
    assert_int_equal(world.running[0], daemons);
    assert_int_equal(world.running[1], daemons);
    return (double)(world.ran - world.failed) / RZ_MICROSECOND;
}

static double in_the_figure_us(const struct rz_table *table, double ranks)
{
    for (uint32_t row = 0; row < rz_table_rows(table); row++) {
        if (strstr(rz_table_text_at(table, row, "curve"), "alone") &&
            rz_table_at(table, row, "ranks") == ranks) {
            return rz_table_at(table, row, "median_us");
        }
    }
    return NAN;
}

static void test_the_sum_is_about_all_together(void **state)
{
    const struct rz_figure_options options = {.seed = 1, .effort = 0.001};
    struct rz_table *table = rz_table_create("");
    struct rz_chart *chart = rz_chart_create("", "", "");
    struct rz_figure_report *report = rz_figure_report_create();
    const char *why = NULL;
    (void)state;
    assert_true(rz_figure_find("reinit-recovery")->draw(&options, table, chart, report, &why));
    for (uint32_t daemons = 4; daemons <= DAEMONS_MAX; daemons *= 4) {
        double sum = in_the_figure_us(table, daemons * PER_NODE), whole = together_us(daemons);
        print_message("%u daemons: together %.1f us, added up %.1f us\n", daemons, whole, sum);
        assert_true(whole <= 1.25 * sum && whole >= 0.75 * sum);
    }
    rz_figure_report_destroy(report);
    rz_chart_destroy(chart);
    rz_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_sum_is_about_all_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
