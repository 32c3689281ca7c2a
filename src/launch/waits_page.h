/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The waits of the whole job on one page: each daemon reports those of its processes; processes
 * that wait in the same operation are shown together, and cycles of waits are marked.
 *
 * A rank for which a message is under way is in no cycle: its wait ends when the message arrives,
 * and that is not for the program to do. The page says so if the message stays away.
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
    rz_time for_ns, still_ns;
};

/* Messages under way to a slot, and from it (wire/message_balance.h). */
struct rz_waits_balance {
    int64_t to, from;
};

struct rz_waits_page {
    struct rz_waits_entry *entries;
    size_t n, max;
    /* NULL: unknown; [n_balance], by slot. */
    struct rz_waits_balance *balance;
    uint32_t n_balance;
    rz_time least; /* so long a message is under way before the page says that it stays away */
};

/* One WAITING message of a node. */
void rz_waits_page_add(struct rz_waits_page *page, uint32_t node,
                       const struct rz_launch_waiting *told);

/* Which ranks waited on the first page: a bit for each slot, for DUMP_WAITING; the caller frees
 * them. The answers will be added to page, which is empty. */
uint8_t *rz_waits_page_ask(const struct rz_waits_page *first, struct rz_waits_page *page,
                           uint32_t *bytes);

/* One UNDER_WAY message of a node. */
void rz_waits_page_under_way(struct rz_waits_page *page, const struct rz_launch_under_way *told);

/* Not all nodes have answered: nothing is known of messages that are under way. */
void rz_waits_page_incomplete(struct rz_waits_page *page);

/* Whether every process does on page what it did on `earlier`, at least `apart` before: then there
 * is nothing new to show. */
bool rz_waits_page_same(const struct rz_waits_page *page, const struct rz_waits_page *earlier,
                        rz_time apart);

/* Writes the page, each line indented by two spaces. Nodes are asked one after the other, and a
 * rank that is waited for may have answered since. A cycle is called permanent if all its waits
 * were on `earlier` already, a sample taken at least `apart` before (NULL: there was none). True:
 * there is a cycle that is not proved permanent, or a message that may arrive yet. */
bool rz_waits_page_print(struct rz_waits_page *page, const struct rz_waits_page *earlier,
                         rz_time apart, FILE *out);

void rz_waits_page_clear(struct rz_waits_page *page);

#endif
