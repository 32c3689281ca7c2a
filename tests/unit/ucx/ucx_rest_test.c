/* SPDX-License-Identifier: BSD-3-Clause */
/* A roll-back of the users of a transport between nodes: connections rest, and are woken. */
#include "ucx_rig.h"

#include "base/random.h"

#include <stdlib.h>

/* The last record is that of the message `number`; those before are dropped, as a user's epoch
 * check does. */
static bool has_come(struct side *side, uint64_t number)
{
    unsigned last = side->notes_count - 1;
    if (side->notes_count == 0 || side->notes[last].number != number) {
        return false;
    }
    for (unsigned i = 0; i < last; i++) {
        if (side->notes[i].token) {
            ops->drop(side->net, side->notes[i].token);
        }
    }
    side->notes[0] = side->notes[last];
    side->notes_count = 0;
    return true;
}

/* A roll-back of both, in any order, with any traffic before: all of that ends, the connections
 * rest, and the same endpoint addresses wake them; nothing of the next round is lost or mixed with
 * it. */
static void what_rests_is_woken_by_the_same_ep_address(void **state)
{
    enum { BYTES = 1 << 20, BEFORE = 4 };
    struct side side[2];
    struct result before[2 * BEFORE], large, fetching;
    struct rz_random random = {7};
    unsigned char *data = calloc(1, BYTES), *memory = malloc(BYTES);
    (void)state;
    open_side(&side[0]);
    open_side(&side[1]);
    for (rz_peer_t round = 0; round < 50; round++) {
        uint64_t choice = rz_random_next(&random), number = 1000 + round;
        fill_with(data, BYTES, round);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(
                introduce_as(&side[i ^ (choice & 1)], &side[!(i ^ (choice & 1))], round), RZ_OK);
        }
        for (unsigned i = 0; i < 2; i++) {
            struct side *to = &side[!i];
            side_send(&side[i], round, data, BYTES, &large, number);
            TURN_UNTIL(&side[0], &side[1], has_come(to, number));
            assert_int_equal(
                ops->fetch(to->net, to->notes[0].token, memory, BYTES, fresh_op(&fetching, 1)),
                RZ_IN_PROGRESS);
            TURN_UNTIL(&side[0], &side[1], fetching.calls == 1 && large.calls == 1);
            assert_memory_equal(data, memory, BYTES);
        }
        for (unsigned i = 0; i < 2 * BEFORE; i++) {
            side_send(&side[i % 2], round, data, choice & (2u << i) ? BYTES : 8, &before[i], round);
        }
        for (unsigned turns = (unsigned)(choice >> 16) % 64; turns > 0; turns--) {
            ops->progress(side[turns % 2].net);
        }
        unsigned first = (choice >> 12) & 1;
        assert_true(ops->rest(side[first].net, round, RZ_ERR_ROLLBACK));
        for (unsigned turns = (unsigned)(choice >> 24) % 16; turns > 0; turns--) {
            ops->progress(side[turns % 2].net);
        }
        assert_true(ops->rest(side[!first].net, round, RZ_ERR_ROLLBACK));
        for (unsigned i = 0; i < 2 * BEFORE; i++) {
            assert_int_equal(before[i].calls, 1);
            assert_true(before[i].status == RZ_OK || before[i].status == RZ_ERR_ROLLBACK);
        }
        assert_true(ops->quiet(side[0].net) && ops->quiet(side[1].net));
        assert_int_equal(ops->send(side[0].net, round, data, 8, fresh_op(&large, 1)),
                         RZ_ERR_INVALID);
    }
    assert_int_equal(side[0].broken_count + side[1].broken_count, 0);
    close_side(&side[0]);
    close_side(&side[1]);
    free(data);
    free(memory);
}

static void a_broken_connection_does_not_rest(void **state)
{
    struct side a, b, none = {.net = NULL};
    struct result first, second;
    (void)state;
    for (unsigned rests = 0; rests < 2; rests++) {
        unsigned char ep_address[EP_ADDRESS_MAX];
        size_t bytes = sizeof(ep_address);
        open_pair(&a, &b);
        assert_int_equal(ops->ep_address(b.net, ep_address, &bytes), RZ_OK);
        side_send(&a, 0, "x", 1, &first, 1);
        side_send(&b, 0, "x", 1, &second, 1);
        TURN_UNTIL(&a, &b, a.notes_count == 1 && b.notes_count == 1);
        if (rests) {
            assert_true(ops->rest(a.net, 0, RZ_ERR_ROLLBACK));
        }
        close_side(&b);
        if (!rests) {
            TURN_UNTIL(&a, &none, a.broken_count == 1);
            assert_false(ops->rest(a.net, 0, RZ_ERR_ROLLBACK));
        }
        /* A connection that breaks while it rests is not reported; a process that tries to wake it
         * learns of it. */
        rz_peer_t number = 1;
        TURN_UNTIL(&a, &none,
                   ops->connect(a.net, number, ep_address, bytes) != RZ_OK ||
                       !ops->rest(a.net, number++, RZ_ERR_ROLLBACK));
        assert_int_equal(a.broken_count, !rests);
        assert_true(ops->quiet(a.net));
        close_side(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_rests_is_woken_by_the_same_ep_address),
        cmocka_unit_test(a_broken_connection_does_not_rest),
    };
    internode_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
