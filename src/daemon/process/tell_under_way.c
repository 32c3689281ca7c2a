/* SPDX-License-Identifier: BSD-3-Clause */
/* Balances what processes have handed to their transports with what has arrived, slot by slot. */
#include "daemon/process/tell_under_way.h"

#include "wire/cursor.h"
#include "wire/message_balance.h"

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
