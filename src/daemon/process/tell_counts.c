/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds up what processes have counted: what they sent, by groups of ranks; what is under way, by
 * slots. */
#include "daemon/process/tell_counts.h"

#include "wire/cursor.h"
#include "wire/message_balance.h"
#include "wire/traffic_groups.h"

/* ---- What was sent ---- */

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

/* ---- What is under way: what was handed to transports, balanced with what has arrived ---- */

struct asked {
    const uint8_t *bits;
    uint32_t bytes, n_slots;
};

static bool is_asked(const struct asked *asked, uint32_t slot)
{
    return rz_balance_asked(asked->bits, asked->bytes, slot);
}

static uint64_t shown_count(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

/* What this process adds to the balance of one slot: as the other end of messages, or as the slot
 * itself. */
static void add_part(const struct rz_child *p, uint32_t slot, const struct asked *asked,
                     uint64_t *to, uint64_t *from)
{
    struct rz_pair_counts *pairs = p->share.waits->pairs;
    if (p->rank != slot) {
        *to += shown_count(&pairs[slot].handed);
        *from -= shown_count(&pairs[slot].arrived);
        return;
    }
    for (uint32_t other = 0; other < asked->n_slots; other++) {
        if (other != slot && is_asked(asked, other)) {
            *to -= shown_count(&pairs[other].arrived);
            *from += shown_count(&pairs[other].handed);
        }
    }
}

static void send_balance(const struct rz_children *children, const struct rz_wire_writer *w)
{
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_UNDER_WAY,
        .under_way = {.balance = w->start, .balance_length = (uint32_t)(w->at - w->start)}};
    rz_report_send(&children->own->report, &message);
}

void rz_children_tell_under_way(const struct rz_children *children, const uint8_t *bits,
                                uint32_t bytes)
{
    static uint8_t entries[RZ_BALANCE_ENTRIES_MAX * RZ_BALANCE_ENTRY_BYTES];
    const struct asked asked = {bits, bytes, children->own->job.n_slots};
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, entries, sizeof(entries));
    for (uint32_t slot = 0; slot < asked.n_slots; slot++) {
        uint64_t to = 0, from = 0;
        for (const struct rz_child *p = children->first; p && is_asked(&asked, slot); p = p->next) {
            if (p->state == RZ_CHILD_JOINED && p->share.waits && is_asked(&asked, p->rank)) {
                add_part(p, slot, &asked, &to, &from);
            }
        }
        if (to == 0 && from == 0) {
            continue;
        }
        rz_wire_put_u32(&w, slot);
        rz_wire_put_u64(&w, to);
        rz_wire_put_u64(&w, from);
        if (w.at - w.start == sizeof(entries)) {
            send_balance(children, &w);
            rz_wire_writer_init(&w, entries, sizeof(entries));
        }
    }
    if (w.at > w.start) {
        send_balance(children, &w);
    }
}
