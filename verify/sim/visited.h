/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of states that exhaustive mode has visited: 64-bit keys, open addressing, no removal. */
#ifndef RZ_SIM_VISITED_H
#define RZ_SIM_VISITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rz_visited {
    uint64_t *slot; /* key | on-path bit; 0: free */
    size_t mask;    /* slots - 1 */
    size_t count;
};

enum rz_visit { RZ_VISIT_NEW, RZ_VISIT_SEEN, RZ_VISIT_ON_PATH };

void rz_visited_init(struct rz_visited *visited);
void rz_visited_free(struct rz_visited *visited);

/* Marks the state with this hash as on the path of the search. */
enum rz_visit rz_visited_enter(struct rz_visited *visited, uint64_t hash);

/* The search has left the state. */
void rz_visited_leave(struct rz_visited *visited, uint64_t hash);

#endif
