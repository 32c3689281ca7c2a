/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues, from which messages are drawn by the seed. */
#include "schedule.h"

#include <stdlib.h>

void schedule_send(struct schedule *schedule, uint32_t from, uint32_t to, void *content,
                   schedule_drop_fn drop)
{
    struct schedule_message **at = &schedule->first[from][to];
    if (schedule->failed[from] || schedule->failed[to] || schedule->knows[to][from]) {
        drop(content);
        return;
    }
    while (*at) {
        at = &(*at)->next;
    }
    *at = malloc(sizeof(**at));
    **at = (struct schedule_message){NULL, content};
}

static void *take(struct schedule *schedule, uint32_t from, uint32_t to)
{
    struct schedule_message *message = schedule->first[from][to];
    void *content = message->content;
    schedule->first[from][to] = message->next;
    free(message);
    return content;
}

void *schedule_next(struct schedule *schedule, uint32_t *from, uint32_t *to, schedule_drop_fn drop)
{
    uint32_t pairs[NODES_MAX * NODES_MAX], n = 0;
    for (uint32_t i = 0; i < schedule->n_nodes * schedule->n_nodes; i++) {
        *from = i / schedule->n_nodes;
        *to = i % schedule->n_nodes;
        while (schedule->first[*from][*to] &&
               (schedule->failed[*to] || schedule->knows[*to][*from])) {
            drop(take(schedule, *from, *to));
        }
        if (schedule->first[*from][*to]) {
            pairs[n++] = i;
        }
    }
    if (n == 0) {
        return NULL;
    }
    uint32_t pair = pairs[rz_random_below(&schedule->random, n)];
    *from = pair / schedule->n_nodes;
    *to = pair % schedule->n_nodes;
    return take(schedule, *from, *to);
}

void schedule_fail(struct schedule *schedule, uint32_t node)
{
    schedule->failed[node] = true;
}

bool schedule_learn(struct schedule *schedule, uint32_t *observer, uint32_t *node,
                    schedule_drop_fn drop)
{
    uint32_t pairs[NODES_MAX * NODES_MAX], n = 0;
    for (uint32_t i = 0; i < schedule->n_nodes * schedule->n_nodes; i++) {
        *observer = i / schedule->n_nodes;
        *node = i % schedule->n_nodes;
        if (!schedule->failed[*observer] && schedule->failed[*node] &&
            !schedule->knows[*observer][*node]) {
            pairs[n++] = i;
        }
    }
    if (n == 0) {
        return false;
    }
    uint32_t pair = pairs[rz_random_below(&schedule->random, n)];
    *observer = pair / schedule->n_nodes;
    *node = pair % schedule->n_nodes;
    schedule->knows[*observer][*node] = true;
    while (schedule->first[*node][*observer]) {
        drop(take(schedule, *node, *observer));
    }
    return true;
}

void schedule_clear(struct schedule *schedule, schedule_drop_fn drop)
{
    for (uint32_t i = 0; i < NODES_MAX * NODES_MAX; i++) {
        while (schedule->first[i / NODES_MAX][i % NODES_MAX]) {
            drop(take(schedule, i / NODES_MAX, i % NODES_MAX));
        }
    }
}

uint64_t schedule_first_seed(void)
{
    const char *seed = getenv("RZ_SEED");
    return seed ? strtoull(seed, NULL, 10) : 0;
}

uint64_t schedule_last_seed(uint64_t n)
{
    return getenv("RZ_SEED") ? schedule_first_seed() : n - 1;
}
