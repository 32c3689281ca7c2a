/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrivals in dynamic groups that do not agree on who is in the group, in one turn of the daemon's
 * loop. The rest of the daemon is played by this test. */
#include "daemon/service/groups.h"
#include "proto/diagnose/diagnose.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SLOTS = 2, NODES = 2, LARGE = 4000, REFUSED_MAX = 8, GROUP = 1000 };

static struct rig {
    struct rz_own_node own;
    struct rz_children children;
    struct rz_groups *groups;
    struct rz_membership_slot slots[SLOTS];
    uint8_t nodes[NODES]; /* of the membership */
    struct rz_child asker;
    rz_link_handler_fn arrive;
    rz_overlay_protocol_fn message;
    void *arg;
    uint32_t told[REFUSED_MAX], n_told; /* statuses */
} rig;

/* ---- the rest of the daemon ---- */

struct rz_child *rz_child_of(const struct rz_children *children, uint32_t slot)
{
    (void)children;
    return slot == rig.asker.rank ? &rig.asker : NULL;
}

void rz_link_router_handle(struct rz_link_router *router, enum rz_link_type type,
                           rz_link_handler_fn handler, void *arg)
{
    (void)router, (void)arg;
    rig.arrive = type == RZ_LINK_GROUP_ARRIVE ? handler : rig.arrive;
}

void rz_overlay_router_protocol(struct rz_overlay_router *router, uint32_t core, uint32_t view,
                                rz_overlay_protocol_fn handler, void *arg)
{
    (void)router, (void)core, (void)view;
    rig.message = handler;
    rig.arg = arg;
}

void rz_link_router_send(struct rz_child *p, const struct rz_link_message *message)
{
    assert_ptr_equal(p, &rig.asker);
    assert_true(rig.n_told < REFUSED_MAX);
    rig.told[rig.n_told++] = message->group_round.status;
}

void rz_link_router_send_with(struct rz_child *p, const struct rz_link_message *message,
                              const int *fds, unsigned n_fds)
{
    (void)p, (void)message, (void)fds, (void)n_fds;
    fail();
}

rz_status_t rz_link_peer_open(struct rz_link_peer *peer, struct event_base *base, int fd,
                              event_callback_fn readable, void (*sent)(void *arg), void *arg)
{
    (void)peer, (void)base, (void)fd, (void)readable, (void)sent, (void)arg;
    return RZ_ERR_UNSUPPORTED;
}

rz_status_t rz_link_peer_send(struct rz_link_peer *peer, const struct rz_link_message *message,
                              const int *fds, unsigned n_fds)
{
    (void)peer, (void)message, (void)fds, (void)n_fds;
    return RZ_ERR_UNSUPPORTED;
}

void rz_link_peer_close(struct rz_link_peer *peer)
{
    (void)peer;
}

void rz_overlay_send_protocol(struct rz_overlay *overlay, rz_id to,
                              const struct rz_message *message, const uint64_t *items,
                              bool datagram)
{
    (void)overlay, (void)to, (void)message, (void)items, (void)datagram;
}

void rz_job_group_key(const struct rz_daemon_job *job, uint8_t key[RZ_JOB_KEY_BYTES])
{
    (void)job;
    memset(key, 0, RZ_JOB_KEY_BYTES);
}

/* ---- what is played ---- */

static int setup(void **state)
{
    (void)state;
    rig = (struct rig){.asker = {.rank = 0, .incarnation = 1, .state = RZ_CHILD_JOINED}};
    rig.own.base = event_base_new();
    rig.own.job = (struct rz_daemon_job){.n_nodes = NODES, .n_ranks = SLOTS, .n_slots = SLOTS};
    rig.own.membership = (struct rz_membership){.n_nodes = NODES,
                                                .n_slots = SLOTS,
                                                .epoch = 1,
                                                .phase = RZ_PHASE_RUN,
                                                .slots = rig.slots,
                                                .nodes = rig.nodes};
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        rig.slots[slot] = (struct rz_membership_slot){.node = slot, .incarnation = 1};
    }
    rig.children.own = &rig.own;
    rig.asker.all = &rig.children;
    const struct rz_groups_config config = {.own = &rig.own, .children = &rig.children};
    return rz_groups_open(&rig.groups, &config) == RZ_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    rz_groups_close(rig.groups);
    event_base_free(rig.own.base);
    return 0;
}

/* Rank 0 of n processes, of which the others are nowhere, with counters of all but the first and
 * the last. */
static bool arrives(uint32_t round, uint32_t n)
{
    static uint8_t processes[LARGE * RZ_LINK_PAIR_BYTES], counters[LARGE * 8];
    uint32_t n_counters = n > 2 ? n - 2 : 0;
    int fd = -1;
    for (uint32_t rank = 0; rank < n; rank++) {
        const struct rz_link_process pair = {rank == 0 ? 0 : 7, 1};
        rz_link_put_pairs(processes + (size_t)rank * RZ_LINK_PAIR_BYTES, &pair, 1);
    }
    for (uint32_t i = 0; i < n_counters; i++) {
        for (uint32_t byte = 0; byte < 8; byte++) {
            counters[8 * i + byte] = (uint8_t)(RZ_DIAGNOSE_ITEM(i + 1, 0x3fffffff) >> 8 * byte);
        }
    }
    return rig.arrive(
        rig.groups, &rig.asker,
        &(struct rz_link_message){.type = RZ_LINK_GROUP_ARRIVE,
                                  .group_arrive = {.group = GROUP,
                                                   .round = round,
                                                   .rank = 0,
                                                   .name = "test",
                                                   .processes = processes,
                                                   .processes_length = n * RZ_LINK_PAIR_BYTES,
                                                   .counters = counters,
                                                   .counters_length = n_counters * 8}},
        &fd);
}

/* Of rank 1, which is of another node, in a group of both. */
static void the_other_node_says_that_one_has_arrived(void)
{
    const uint64_t items[] = {UINT64_C(1) << 32 | 2, RZ_VIEW_CHANGE_PROCESS(0, 1),
                              RZ_VIEW_CHANGE_PROCESS(1, 1)};
    rig.message(rig.arg,
                &(struct rz_message){.protocol = RZ_PROTOCOL_VIEW_CHANGE,
                                     .type = RZ_VIEW_CHANGE_ARRIVED,
                                     .view = 1,
                                     .from = 1,
                                     .origin = 1,
                                     .seq = GROUP,
                                     .word = {UINT64_C(1) << 32},
                                     .n_items = 3},
                items);
}

static void turn(void)
{
    event_base_loop(rig.own.base, EVLOOP_NONBLOCK);
}

/* ---- tests ---- */

static void another_size_is_refused_before_the_first_is_told_so(void **state)
{
    (void)state;
    assert_true(arrives(5, 1)); /* of a round that no group has reached */
    assert_int_equal(rig.n_told, 0);
    assert_true(arrives(5, LARGE));
    assert_int_equal(rig.n_told, 1);
    assert_int_equal(rig.told[0], RZ_ERR_INVALID);
    turn();
    assert_int_equal(rig.n_told, 2);
    assert_int_equal(rig.told[1], RZ_ERR_NOT_FOUND);
    assert_true(arrives(5, LARGE)); /* there is no group of that number any more */
    assert_int_equal(rig.n_told, 2);
}

static void a_group_of_another_size_is_not_shown(void **state)
{
    struct rz_groups_look look;
    (void)state;
    assert_true(arrives(5, 1));
    assert_false(rz_groups_at(rig.groups, 0, &look));
    the_other_node_says_that_one_has_arrived();
    assert_false(rz_groups_at(rig.groups, 0, &look));
    turn();
    assert_true(arrives(0, 1)); /* the other one was first */
    assert_int_equal(rig.told[rig.n_told - 1], RZ_ERR_INVALID);
    assert_false(rz_groups_at(rig.groups, 0, &look));
}

static void a_group_is_shown(void **state)
{
    struct rz_groups_look look;
    (void)state;
    assert_true(arrives(0, 1));
    assert_true(rz_groups_at(rig.groups, 0, &look));
    assert_string_equal(look.name, "test");
    assert_int_equal(look.view_change.n, 1);
    assert_int_equal(look.events[0], 0);
    assert_false(rz_groups_at(rig.groups, 1, &look));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(another_size_is_refused_before_the_first_is_told_so, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_group_of_another_size_is_not_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_is_shown, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
