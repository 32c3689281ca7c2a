/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory is requested for what may become a record, not for any received bytes. Junk of every other
 * kind: tests/fuzz. */
#include "proto/swim/swim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define ITEMS_MAX 200

static void asks_no_room_for_junk(void **state)
{
    (void)state;
    struct rz_swim_config config = rz_swim_config_scaled(1000, 5);
    struct rz_swim *swim = malloc(rz_swim_size(&config));
    uint64_t items[ITEMS_MAX];
    for (uint32_t i = 0; i < ITEMS_MAX; i++) {
        items[i] = i % 2 ? (uint64_t)RZ_SWIM_SUSPECT << 32 : (uint64_t)1 << 32 | (5 + i);
    }
    struct rz_message message = {
        .protocol = RZ_PROTOCOL_SWIM, .type = RZ_SWIM_GOSSIP, .from = 1, .n_items = ITEMS_MAX};
    struct rz_event event = {.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items};
    struct rz_action v[RZ_ACTIONS_MIN];
    struct rz_actions out = {.v = v, .max = RZ_ACTIONS_MIN};
    rz_swim_init(swim, &config, 0, 0, 1);
    assert_int_equal(rz_swim_step(swim, &event, &out), RZ_DONE);
    assert_int_equal(rz_swim_records(swim), 0);
    for (uint32_t i = 0; i < ITEMS_MAX; i += 2) {
        items[i] = (uint64_t)1 << 32 | 2;
    }
    assert_int_equal(rz_swim_step(swim, &event, &out), RZ_NEED);
    assert_true(out.need <= rz_swim_size(&(struct rz_swim_config){.records_max = 5}));
    free(swim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(asks_no_room_for_junk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
