/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The waits of the whole job on one page: each daemon reports those of its processes; processes
 * that wait in the same operation are shown together, and cycles of waits are marked.
 */
#ifndef RZ_LAUNCH_WAITS_PAGE_H
#define RZ_LAUNCH_WAITS_PAGE_H

#include "wire/launch_messages.h"
#include "wire/wait_text.h"

#include <stdio.h>

struct rz_waits_entry {
    uint32_t rank, node, pid;
    enum rz_waiting_state state;
    struct rz_wait_text text; /* with WAITS; since_ns is unused */
    rz_time for_ns;
};

struct rz_waits_page {
    struct rz_waits_entry *entries;
    size_t n, max;
};

/* One WAITING message of a node. */
void rz_waits_page_add(struct rz_waits_page *page, uint32_t node,
                       const struct rz_launch_waiting *told);

/* Whether every process does on page what it did on `earlier`, at least `apart` before: then there
 * is nothing new to show. */
bool rz_waits_page_same(const struct rz_waits_page *page, const struct rz_waits_page *earlier,
                        rz_time apart);

/* Writes the page, each line indented by two spaces. Nodes are asked one after the other, and a
 * rank that is waited for may have answered since. A cycle is called permanent if all its waits
 * were on `earlier` already, a sample taken at least `apart` before (NULL: there was none). True:
 * there is a cycle that is not proved permanent. */
bool rz_waits_page_print(struct rz_waits_page *page, const struct rz_waits_page *earlier,
                         rz_time apart, FILE *out);

void rz_waits_page_clear(struct rz_waits_page *page);

#endif
