/*
 * Who waits for whom, of the whole job on one page: what each daemon tells of its processes, those
 * that wait in the same operation taken together, and who waits for each other in a circle.
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
 * is nothing new to be shown. */
bool rz_waits_page_same(const struct rz_waits_page *page, const struct rz_waits_page *earlier,
                        rz_time apart);

/* Writes the page, each line indented by two spaces. Nodes are asked one after the other, and who
 * is waited for may have answered since: that nobody will leave a circle is said where all its
 * waits stood on `earlier` already, a look at least `apart` before (NULL: there was none). True:
 * there is a circle of which that cannot be said. */
bool rz_waits_page_print(struct rz_waits_page *page, const struct rz_waits_page *earlier,
                         rz_time apart, FILE *out);

void rz_waits_page_clear(struct rz_waits_page *page);

#endif
