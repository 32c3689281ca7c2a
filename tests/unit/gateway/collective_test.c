/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences under random schedules with failures of processes and nodes. Each set of participants goes
 * through several fences. At the end all live participants have left all fences; each fence had one
 * result for all survivors; a whole result has the part of every node, and no result has one twice.
 * RZ_SEED=<seed> gateway_collective_test replays one.
 */
#include "gateway/collective.h"
#include "schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SEEDS = 40000, SETS = 2, FENCES = 4, SLOTS_MAX = 12 };

struct result {
    bool there, whole;
    uint8_t data[NODES_MAX];
    size_t bytes;
};

/* One node's gateway. */
struct node {
    struct world *world;
    uint32_t self;
    struct rz_collectives *collectives;
    bool ended[SLOTS_MAX]; /* as it knows */
    uint32_t joined[SETS]; /* fences that it has begun */
    uint32_t left[SETS];   /* and ended */
    struct result results[SETS][FENCES];
};

struct waiter {
    struct node *node;
    uint32_t set;
};

struct world {
    struct schedule schedule;
    uint64_t seed;
    uint32_t n_slots, node_of[SLOTS_MAX];
    bool ended[SLOTS_MAX]; /* in truth */
    struct node nodes[NODES_MAX];
    uint32_t sets[SETS][SLOTS_MAX], set_sizes[SETS];
    struct waiter waiters[NODES_MAX][SETS];
};

struct content {
    struct rz_collective_message message;
    uint32_t slots[SLOTS_MAX];
    uint8_t data[NODES_MAX];
};

static void fail_with(const struct world *world, const char *what)
{
    fail_msg("%s; replay: RZ_SEED=%llu gateway_collective_test", what,
             (unsigned long long)world->seed);
}

static void send_message(void *arg, uint32_t to, const struct rz_collective_message *message)
{
    struct node *node = arg;
    struct content *content = calloc(1, sizeof(*content));
    content->message = *message;
    memcpy(content->slots, message->slots, message->n_slots * sizeof(uint32_t));
    memcpy(content->data, message->data, message->bytes);
    content->message.slots = content->slots;
    content->message.data = content->data;
    schedule_send(&node->world->schedule, node->self, to, content, free);
}

static void done(void *arg, void *waiter, bool whole, const uint8_t *data, size_t bytes)
{
    const struct waiter *w = waiter;
    struct node *node = w->node;
    struct world *world = node->world;
    struct result *result = &node->results[w->set][node->left[w->set]++];
    bool seen[NODES_MAX] = {false};
    (void)arg;
    for (size_t i = 0; i < bytes; i++) {
        if (seen[data[i]]) {
            fail_with(world, "a part is there twice");
        }
        seen[data[i]] = true;
    }
    for (uint32_t i = 0; whole && i < world->set_sizes[w->set]; i++) {
        if (!seen[world->node_of[world->sets[w->set][i]]]) {
            fail_with(world, "a whole result lacks a part");
        }
    }
    *result = (struct result){.there = true, .whole = whole, .bytes = bytes};
    memcpy(result->data, data, bytes);
}

static uint32_t node_of(void *arg, uint32_t slot)
{
    return ((struct node *)arg)->world->node_of[slot];
}

static bool live(void *arg, uint32_t slot)
{
    return !((struct node *)arg)->ended[slot];
}

static bool node_is_live(void *arg, uint32_t node)
{
    const struct node *own = arg;
    return !own->world->schedule.knows[own->self][node];
}

static bool has_participant(const struct world *world, uint32_t node, uint32_t set)
{
    for (uint32_t i = 0; i < world->set_sizes[set]; i++) {
        uint32_t slot = world->sets[set][i];
        if (world->node_of[slot] == node && !world->ended[slot]) {
            return true;
        }
    }
    return false;
}

static void world_open(struct world *world, uint64_t seed)
{
    memset(world, 0, sizeof(*world));
    world->seed = seed;
    world->schedule.random.state = seed;
    struct rz_random *random = &world->schedule.random;
    uint32_t n_nodes = world->schedule.n_nodes = 1 + (uint32_t)rz_random_below(random, NODES_MAX);
    world->n_slots = 1 + (uint32_t)rz_random_below(random, SLOTS_MAX);
    for (uint32_t slot = 0; slot < world->n_slots; slot++) {
        world->node_of[slot] = (uint32_t)rz_random_below(random, n_nodes);
        for (uint32_t set = 0; set < SETS; set++) { /* set 0: all */
            if (set == 0 || rz_random_below(random, 2)) {
                world->sets[set][world->set_sizes[set]++] = slot;
            }
        }
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        struct node *node = &world->nodes[i];
        node->world = world;
        node->self = i;
        node->collectives =
            rz_collectives_open(&(struct rz_collectives_config){.n_nodes = n_nodes,
                                                                .self = i,
                                                                .arg = node,
                                                                .send = send_message,
                                                                .done = done,
                                                                .node_of = node_of,
                                                                .live = live,
                                                                .node_is_live = node_is_live});
    }
}

/* A node whose participants can reach their next fence does so. */
static bool join_some(struct world *world)
{
    struct rz_random *random = &world->schedule.random;
    uint32_t n_nodes = world->schedule.n_nodes;
    uint32_t begin = (uint32_t)rz_random_below(random, n_nodes * SETS);
    for (uint32_t i = 0; i < n_nodes * SETS; i++) {
        uint32_t at = (begin + i) % (n_nodes * SETS), set = at % SETS;
        struct node *node = &world->nodes[at / SETS];
        if (world->schedule.failed[node->self] || node->joined[set] == FENCES ||
            node->joined[set] > node->left[set] || !has_participant(world, node->self, set)) {
            continue;
        }
        uint8_t part = (uint8_t)node->self;
        struct waiter *waiter = &world->waiters[node->self][set];
        *waiter = (struct waiter){node, set};
        node->joined[set]++;
        const struct rz_collective_message fence = {.kind = set,
                                                    .whole = true,
                                                    .slots = world->sets[set],
                                                    .n_slots = world->set_sizes[set],
                                                    .data = &part,
                                                    .bytes = 1};
        assert_true(rz_collectives_join(node->collectives, &fence, waiter));
        return true;
    }
    return false;
}

/* The failure of a process becomes known everywhere at once here: that of nodes does not. */
static void fail_process(struct world *world)
{
    uint32_t slot = (uint32_t)rz_random_below(&world->schedule.random, world->n_slots);
    if (world->ended[slot]) {
        return;
    }
    world->ended[slot] = true;
    for (uint32_t i = 0; i < world->schedule.n_nodes; i++) {
        world->nodes[i].ended[slot] = true;
        if (!world->schedule.failed[i]) {
            rz_collectives_failure(world->nodes[i].collectives);
        }
    }
}

static void fail_node(struct world *world)
{
    uint32_t node = (uint32_t)rz_random_below(&world->schedule.random, world->schedule.n_nodes);
    schedule_fail(&world->schedule, node);
    for (uint32_t slot = 0; slot < world->n_slots; slot++) {
        world->ended[slot] |= world->node_of[slot] == node;
    }
}

static bool learn(struct world *world)
{
    uint32_t observer, failed;
    if (!schedule_learn(&world->schedule, &observer, &failed, free)) {
        return false;
    }
    struct node *node = &world->nodes[observer];
    for (uint32_t slot = 0; slot < world->n_slots; slot++) {
        node->ended[slot] |= world->node_of[slot] == failed;
    }
    rz_collectives_failure(node->collectives);
    return true;
}

static bool deliver(struct world *world)
{
    uint32_t from, to;
    struct content *content = schedule_next(&world->schedule, &from, &to, free);
    if (!content) {
        return false;
    }
    rz_collectives_message(world->nodes[to].collectives, from, &content->message);
    free(content);
    return true;
}

static void check_results(const struct world *world, uint32_t set)
{
    for (uint32_t fence = 0; fence < FENCES; fence++) {
        const struct result *first = NULL;
        for (uint32_t i = 0; i < world->schedule.n_nodes; i++) {
            const struct result *result = &world->nodes[i].results[set][fence];
            if (world->schedule.failed[i] || !has_participant(world, i, set) || !result->there) {
                continue;
            }
            if (first && (result->whole != first->whole || result->bytes != first->bytes ||
                          memcmp(result->data, first->data, first->bytes) != 0)) {
                fail_with(world, "two survivors have different results");
            }
            first = result;
        }
    }
}

static void run(uint64_t seed)
{
    static struct world world;
    world_open(&world, seed);
    struct rz_random *random = &world.schedule.random;
    uint32_t failures = (uint32_t)rz_random_below(random, 5);
    for (bool more = true; more;) {
        switch (rz_random_below(random, 8)) {
        case 0:
            if (failures > 0) {
                failures--;
                rz_random_below(random, 2) ? fail_node(&world) : fail_process(&world);
            }
            break;
        case 1:
            more = learn(&world) || deliver(&world) || join_some(&world);
            break;
        case 2:
        case 3:
            more = join_some(&world) || deliver(&world) || learn(&world);
            break;
        default:
            more = deliver(&world) || join_some(&world) || learn(&world);
        }
    }
    for (uint32_t i = 0; i < world.schedule.n_nodes; i++) {
        for (uint32_t set = 0; set < SETS; set++) {
            if (!world.schedule.failed[i] && has_participant(&world, i, set) &&
                world.nodes[i].left[set] != FENCES) {
                fail_with(&world, "a fence does not end");
            }
        }
        rz_collectives_close(world.nodes[i].collectives);
    }
    for (uint32_t set = 0; set < SETS; set++) {
        check_results(&world, set);
    }
    schedule_clear(&world.schedule, free);
}

static void all_fences_end_alike(void **state)
{
    (void)state;
    for (uint64_t seed = schedule_first_seed(); seed <= schedule_last_seed(SEEDS); seed++) {
        run(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_fences_end_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
