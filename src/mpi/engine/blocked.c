/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the wait object of a sleeping call: a free record of the process's page of waits, with the
 * call, peer, tag and communicator that it waits for.
 */
#include "mpi/engine/blocked.h"

#include "mpi/engine/engine.h"
#include "mpi/engine/hooks.h"
#include "mpi/core/process_number.h"
#include "port/clock.h"

#include <string.h>

static void put_text(char *to, size_t room, const char *from)
{
    size_t n = strnlen(from, room - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

static struct rz_wait *free_wait(struct rz_waits *waits)
{
    for (int i = 0; waits && i < RZ_WAITS_MAX; i++) {
        if (!atomic_load_explicit(&waits->wait[i].in_use, memory_order_relaxed)) {
            return &waits->wait[i];
        }
    }
    return NULL;
}

static void write_wait(const struct rz_blocked_told *told)
{
    const struct rz_blocked *blocked = &told->what;
    struct rz_wait_text text = {
        .operation = blocked->operation,
        .peer = blocked->peer >= 0 ? rz_process_slot((uint32_t)blocked->peer) : RZ_WAIT_ANY,
        .tag = blocked->tag >= 0 ? (uint32_t)blocked->tag : RZ_WAIT_ANY,
        .flags = (blocked->others ? RZ_WAIT_OTHERS : 0) | (told->threads ? RZ_WAIT_THREADS : 0),
        .since_ns = told->since};
    put_text(text.call, sizeof(text.call), blocked->call);
    if (blocked->comm) {
        rz_hooks_describe_comm(blocked->comm, &text);
    }
    rz_wait_write(told->wait, &text);
}

static bool is_same(const struct rz_blocked *a, const struct rz_blocked *b)
{
    return a->comm == b->comm && a->operation == b->operation && a->peer == b->peer &&
           a->tag == b->tag && a->others == b->others;
}

void rz_blocked_tell(struct rz_blocked_told *told, const struct rz_blocked *blocked,
                     const void *arg)
{
    struct rz_blocked now = *blocked;
    bool first = told->since == 0;
    if (!first && !blocked->look) {
        return;
    }
    if (blocked->look) {
        blocked->look(&now, arg);
    }
    if (first) {
        told->wait = free_wait(rz_engine.info->waits);
        told->since = rz_clock_now();
        if (rz_engine.info->waits) {
            rz_waits_begin(rz_engine.info->waits, told->since);
        }
    }
    if (told->wait && (first || !is_same(&now, &told->what))) {
        told->what = now;
        write_wait(told);
    }
}

void rz_blocked_over(struct rz_blocked_told *told)
{
    if (told->since == 0) {
        return;
    }
    if (told->wait) {
        rz_wait_write(told->wait, NULL);
    }
    if (rz_engine.info->waits) {
        rz_waits_end(rz_engine.info->waits, rz_clock_now());
    }
}
