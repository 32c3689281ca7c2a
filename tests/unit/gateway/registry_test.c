/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Published data under random schedules with failures of nodes. Each change is answered. What a
 * live process has published, and was told so, is known to all live nodes at that moment and at the
 * end; a key has one owner; what was taken back is gone. RZ_SEED=<seed> gateway_registry_test
 * replays one.
 */
#include "gateway/registry.h"
#include "schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SEEDS = 40000, KEYS = 4, CHANGES = 12 };

struct node {
    struct world *world;
    uint32_t self;
    struct rz_registry *registry;
};

struct change {
    struct node *node;
    uint32_t key;
    bool drop, answered;
    rz_status_t status;
};

/* The owner of each key is the node's only process: slot = node. */
struct world {
    struct schedule schedule;
    uint64_t seed;
    struct node nodes[NODES_MAX];
    struct change changes[CHANGES];
    uint32_t n_changes;
};

struct content {
    struct rz_registry_message message;
    char key[8];
    uint8_t value[8];
};

static void fail_with(const struct world *world, const char *what)
{
    fail_msg("%s; replay: RZ_SEED=%llu gateway_registry_test", what,
             (unsigned long long)world->seed);
}

static const char *key_name(uint32_t key)
{
    static const char *const names[KEYS] = {"a", "b", "c", "d"};
    return names[key];
}

static void send_message(void *arg, uint32_t to, const struct rz_registry_message *message)
{
    struct node *node = arg;
    struct content *content = calloc(1, sizeof(*content));
    content->message = *message;
    strcpy(content->key, message->key);
    if (message->bytes > 0) {
        memcpy(content->value, message->value, message->bytes);
    }
    content->message.key = content->key;
    content->message.value = content->value;
    schedule_send(&node->world->schedule, node->self, to, content, free);
}

static bool knows_owner(const struct world *world, uint32_t observer, uint32_t key, uint32_t owner)
{
    const struct rz_registry_entry *entry =
        rz_registry_find(world->nodes[observer].registry, key_name(key));
    return entry && entry->owner == owner && entry->bytes == 1 && entry->value[0] == owner;
}

static void answered(void *arg, void *waiter, rz_status_t status)
{
    struct change *change = waiter;
    const struct world *world = change->node->world;
    uint32_t owner = change->node->self;
    (void)arg;
    if (change->answered) {
        fail_with(world, "a change is answered twice");
    }
    change->answered = true;
    change->status = status;
    for (uint32_t i = 0; status == RZ_OK && i < world->schedule.n_nodes; i++) {
        if (!world->schedule.failed[i] && !world->schedule.knows[i][owner] &&
            knows_owner(world, i, change->key, owner) == change->drop) {
            fail_with(world, "a change was answered before all have it");
        }
    }
}

static void added(void *arg)
{
    (void)arg;
}

static bool node_is_live(void *arg, uint32_t node)
{
    const struct node *own = arg;
    return !own->world->schedule.knows[own->self][node];
}

static bool has_pending(const struct world *world, uint32_t node)
{
    for (uint32_t i = 0; i < world->n_changes; i++) {
        if (world->changes[i].node->self == node && !world->changes[i].answered) {
            return true;
        }
    }
    return false;
}

static bool ask(struct world *world)
{
    struct rz_random *random = &world->schedule.random;
    uint32_t node = (uint32_t)rz_random_below(random, world->schedule.n_nodes);
    if (world->n_changes == CHANGES || world->schedule.failed[node] || has_pending(world, node)) {
        return false;
    }
    struct change *change = &world->changes[world->n_changes++];
    struct rz_registry *registry = world->nodes[node].registry;
    *change = (struct change){.node = &world->nodes[node],
                              .key = (uint32_t)rz_random_below(random, KEYS),
                              .drop = rz_random_below(random, 3) == 0};
    uint8_t value = (uint8_t)node;
    if (change->drop) {
        rz_registry_drop(registry, key_name(change->key), node, change);
    } else {
        const struct rz_registry_value what = {
            .key = key_name(change->key), .owner = node, .data = &value, .bytes = 1};
        rz_registry_put(registry, &what, change);
    }
    return true;
}

static bool learn(struct world *world)
{
    uint32_t observer, failed;
    if (!schedule_learn(&world->schedule, &observer, &failed, free)) {
        return false;
    }
    rz_registry_process_ended(world->nodes[observer].registry, failed);
    rz_registry_node_failed(world->nodes[observer].registry, failed);
    return true;
}

static bool deliver(struct world *world)
{
    uint32_t from, to;
    struct content *content = schedule_next(&world->schedule, &from, &to, free);
    if (!content) {
        return false;
    }
    rz_registry_message(world->nodes[to].registry, from, &content->message);
    free(content);
    return true;
}

static void check_end(const struct world *world)
{
    for (uint32_t i = 0; i < world->n_changes; i++) {
        const struct change *change = &world->changes[i];
        if (!world->schedule.failed[change->node->self] && !change->answered) {
            fail_with(world, "a change is never answered");
        }
    }
    for (uint32_t key = 0; key < KEYS; key++) {
        const struct rz_registry_entry *first = NULL;
        bool some = false;
        for (uint32_t i = 0; i < world->schedule.n_nodes; i++) {
            if (world->schedule.failed[i]) {
                continue;
            }
            const struct rz_registry_entry *entry =
                rz_registry_find(world->nodes[i].registry, key_name(key));
            if (some && (entry ? !first || first->owner != entry->owner : first != NULL)) {
                fail_with(world, "two nodes know different owners of a key");
            }
            first = entry;
            some = true;
        }
    }
}

static void run(uint64_t seed)
{
    static struct world world;
    memset(&world, 0, sizeof(world));
    world.seed = seed;
    world.schedule.random.state = seed;
    struct rz_random *random = &world.schedule.random;
    world.schedule.n_nodes = 1 + (uint32_t)rz_random_below(random, NODES_MAX);
    for (uint32_t i = 0; i < world.schedule.n_nodes; i++) {
        struct node *node = &world.nodes[i];
        *node = (struct node){.world = &world, .self = i};
        node->registry =
            rz_registry_open(&(struct rz_registry_config){.n_nodes = world.schedule.n_nodes,
                                                          .self = i,
                                                          .arg = node,
                                                          .send = send_message,
                                                          .answered = answered,
                                                          .added = added,
                                                          .node_is_live = node_is_live,
                                                          .live = node_is_live});
    }
    uint32_t failures = (uint32_t)rz_random_below(random, world.schedule.n_nodes);
    for (bool more = true; more;) {
        switch (rz_random_below(random, 8)) {
        case 0:
            if (failures > 0) {
                failures--;
                schedule_fail(&world.schedule,
                              (uint32_t)rz_random_below(random, world.schedule.n_nodes));
            }
            break;
        case 1:
            more = learn(&world) || deliver(&world) || ask(&world);
            break;
        case 2:
            more = ask(&world) || deliver(&world) || learn(&world);
            break;
        default:
            more = deliver(&world) || learn(&world) || ask(&world);
        }
    }
    check_end(&world);
    for (uint32_t i = 0; i < world.schedule.n_nodes; i++) {
        rz_registry_close(world.nodes[i].registry);
    }
    schedule_clear(&world.schedule, free);
}

static void all_know_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = schedule_first_seed(); seed <= schedule_last_seed(SEEDS); seed++) {
        run(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_know_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
