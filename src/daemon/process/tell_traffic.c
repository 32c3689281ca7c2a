/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds up what a process has counted, by groups of ranks. */
#include "daemon/process/tell_traffic.h"

#include "wire/cursor.h"
#include "wire/traffic_groups.h"

struct sum {
    uint64_t messages, bytes;
};

static void add_up(const struct rz_child *p, struct sum *sums)
{
    const struct rz_daemon_job *job = &p->all->own->job;
    struct rz_traffic *traffic = rz_waits_traffic(p->share.waits, job->n_slots);
    for (uint32_t slot = 0; slot < job->n_slots; slot++) {
        struct rz_traffic *to = &traffic[slot];
        uint64_t messages = atomic_load_explicit(&to->messages, memory_order_relaxed);
        if (messages > 0) {
            struct sum *sum = &sums[rz_traffic_group_of(slot, job->n_ranks)];
            sum->messages += messages;
            sum->bytes += atomic_load_explicit(&to->bytes, memory_order_relaxed);
        }
    }
}

void rz_child_tell_traffic(const struct rz_child *p)
{
    struct sum sums[RZ_TRAFFIC_GROUPS_MAX + 1] = {{0, 0}};
    uint8_t sent[sizeof(sums) / sizeof(*sums) * RZ_TRAFFIC_ENTRY_BYTES];
    struct rz_wire_writer w;
    const struct rz_own_node *own = p->all->own;
    if (!p->share.waits || !(own->job.flags & RZ_JOB_TRAFFIC)) {
        return;
    }
    add_up(p, sums);
    rz_wire_writer_init(&w, sent, sizeof(sent));
    for (uint32_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
        if (sums[i].messages > 0) {
            rz_wire_put_u32(&w, i);
            rz_wire_put_u64(&w, sums[i].messages);
            rz_wire_put_u64(&w, sums[i].bytes);
        }
    }
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_TRAFFIC,
        .traffic = {.rank = p->rank,
                    .incarnation = p->incarnation,
                    .sent = sent,
                    .sent_length = (uint32_t)(w.at - w.start)}};
    rz_report_send(&own->report, &message);
}

void rz_children_tell_traffic(const struct rz_children *children)
{
    for (const struct rz_child *p = children->first; p; p = p->next) {
        rz_child_tell_traffic(p);
    }
}
