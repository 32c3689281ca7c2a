/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds what processes tell of their messages to a matrix. */
#include "launch/html_private.h"

#include "base/no_memory.h"
#include "wire/cursor.h"
#include "wire/slots.h"
#include "wire/traffic_groups.h"

#include <stdlib.h>

#define APART_MIN (2 * RZ_SECOND)
#define ASKED_APART_MAX (60 * RZ_SECOND)

static void *zeros(size_t n, size_t bytes)
{
    void *memory = calloc(n, bytes);
    rz_need_memory(memory, "for the traffic of a report");
    return memory;
}

void rz_html_traffic_open(struct rz_html_traffic *traffic, uint32_t n_ranks)
{
    uint32_t n_groups = rz_traffic_groups(n_ranks) + 1, n_slots = rz_slots_of(n_ranks);
    *traffic = (struct rz_html_traffic){
        .n_ranks = n_ranks,
        .n_groups = n_groups,
        .matrix = zeros((size_t)n_groups * n_groups, sizeof(*traffic->matrix)),
        .n_slots = n_slots,
        .tellers = zeros(n_slots, sizeof(*traffic->tellers))};
}

static void forget_tellers(struct rz_html_traffic *traffic)
{
    struct rz_html_teller *teller;
    for (uint32_t i = 0; i < traffic->n_slots; i++) {
        while ((teller = traffic->tellers[i]) != NULL) {
            traffic->tellers[i] = teller->next;
            free(teller);
        }
    }
}

void rz_html_traffic_close(struct rz_html_traffic *traffic)
{
    forget_tellers(traffic);
    free(traffic->tellers);
    free(traffic->matrix);
    *traffic = (struct rz_html_traffic){.n_ranks = 0};
}

void rz_html_traffic_attempt(struct rz_html_traffic *traffic, rz_time now)
{
    forget_tellers(traffic);
    traffic->asked = now;
    traffic->apart = APART_MIN;
}

/* What this process has told already. The last words of one may come after the first of the process
 * that replaces it on another node. */
static struct rz_html_sent *told_by(struct rz_html_traffic *traffic,
                                    const struct rz_launch_traffic *told)
{
    struct rz_html_teller **first = &traffic->tellers[told->rank], *teller = *first;
    while (teller && teller->incarnation != told->incarnation) {
        teller = teller->next;
    }
    if (!teller) {
        teller = zeros(1, sizeof(*teller) + traffic->n_groups * sizeof(*teller->told));
        teller->incarnation = told->incarnation;
        teller->next = *first;
        *first = teller;
    }
    return teller->told;
}

void rz_html_traffic_take(struct rz_html_traffic *traffic, const struct rz_launch_traffic *told)
{
    struct rz_wire_reader r;
    struct rz_html_sent *before = told->rank < traffic->n_slots ? told_by(traffic, told) : NULL;
    uint32_t from = rz_traffic_group_of(told->rank, traffic->n_ranks);
    rz_wire_reader_init(&r, told->sent, told->sent_length);
    while (before && r.at < r.end) {
        uint32_t to = rz_wire_get_u32(&r);
        struct rz_html_sent now = {.messages = rz_wire_get_u64(&r), .bytes = 0};
        now.bytes = rz_wire_get_u64(&r);
        if (r.malformed || to >= traffic->n_groups) {
            return;
        }
        struct rz_html_sent *sum = &traffic->matrix[(size_t)from * traffic->n_groups + to];
        sum->messages += now.messages - before[to].messages;
        sum->bytes += now.bytes - before[to].bytes;
        before[to] = now;
    }
}

bool rz_html_traffic_due(struct rz_html_traffic *traffic, rz_time now)
{
    if (now < traffic->asked + traffic->apart) {
        return false;
    }
    traffic->asked = now;
    traffic->apart = 2 * traffic->apart > ASKED_APART_MAX ? ASKED_APART_MAX : 2 * traffic->apart;
    return true;
}
