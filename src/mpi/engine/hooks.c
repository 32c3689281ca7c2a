/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the two tables of the layers' structs (functions by kind of message, and by work of a
 * round), and calls the hooks of all layers in order.
 */
#include "mpi/engine/hooks.h"

#include "base/assert.h"

uint32_t rz_work_due;
rz_arrived_t rz_hooks_arrived[RZ_ENVELOPE_COUNT];

static const struct rz_hooks *const *hooks;
static unsigned n_hooks;
static unsigned (*works[RZ_WORK_COUNT])(void);

void rz_hooks_set(const struct rz_hooks *const *list, unsigned n)
{
    hooks = list;
    n_hooks = n;
    rz_work_due = 0;
    for (unsigned i = 0; i < n; i++) {
        for (int kind = 0; kind < RZ_ENVELOPE_COUNT; kind++) {
            rz_arrived_t arrived = list[i]->arrived[kind];
            rz_hooks_arrived[kind] = arrived ? arrived : rz_hooks_arrived[kind];
        }
        for (int work = 0; work < RZ_WORK_COUNT; work++) {
            works[work] = list[i]->work[work] ? list[i]->work[work] : works[work];
        }
    }
    for (int kind = 0; kind < RZ_ENVELOPE_COUNT; kind++) {
        rz_assert(rz_hooks_arrived[kind] != NULL);
    }
}

/* Work that becomes due meanwhile is done as well, unless its place in the order has passed. */
unsigned rz_hooks_work(uint32_t stage)
{
    unsigned events = 0;
    uint32_t left;
    while ((left = rz_work_due & stage) != 0) {
        int work = __builtin_ctz(left);
        stage &= ~((RZ_WORK_BIT(work) << 1) - 1);
        events += works[work]();
    }
    return events;
}

/* Calls a function of each struct that has it. */
#define TELL(event, ...)                                                                           \
    for (unsigned i = 0; i < n_hooks; i++) {                                                       \
        if (hooks[i]->event) {                                                                     \
            hooks[i]->event(__VA_ARGS__);                                                          \
        }                                                                                          \
    }

/* Calls a function of each struct that has it until one returns something else than `go_on`; yields
 * that value, or go_on. */
#define ASK(event, go_on, ...)                                                                     \
    for (unsigned i = 0; i < n_hooks; i++) {                                                       \
        if (hooks[i]->event) {                                                                     \
            __typeof__(go_on) answer = hooks[i]->event(__VA_ARGS__);                               \
            if (answer != (go_on)) {                                                               \
                return answer;                                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    return (go_on)

int rz_hooks_open(void)
{
    ASK(open, 0);
}

int rz_hooks_begin(void)
{
    ASK(begin, 0);
}

void rz_hooks_last_call(void)
{
    TELL(last_call)
}

bool rz_hooks_is_sent(void)
{
    ASK(is_sent, (bool)true);
}

void rz_hooks_retire(void)
{
    TELL(retire)
}

int rz_hooks_part(void)
{
    ASK(part, 0);
}

void rz_hooks_close(void)
{
    TELL(close)
}

void rz_hooks_check(rz_time now)
{
    TELL(check, now)
}

void rz_hooks_board_changed(void)
{
    TELL(board_changed)
}

void rz_hooks_safe_point(void)
{
    TELL(safe_point)
}

bool rz_hooks_answers(const struct rz_setup_message *message)
{
    ASK(answers, (bool)false, message);
}

void rz_hooks_leaving(uint32_t process, bool exited)
{
    TELL(leaving, process, exited)
}

void rz_hooks_gone(uint32_t process, bool failed)
{
    TELL(gone, process, failed)
}

void rz_hooks_adopted(uint32_t slot)
{
    TELL(adopted, slot)
}

bool rz_hooks_holds(uint32_t process)
{
    ASK(holds, (bool)false, process);
}

void rz_hooks_stop(void)
{
    TELL(stop)
}

void rz_hooks_forget(void)
{
    TELL(forget)
}

void rz_hooks_abandon(void)
{
    TELL(abandon)
}

void rz_hooks_discard(void)
{
    TELL(discard)
}

void rz_hooks_comm_begun(struct rz_comm *comm)
{
    TELL(comm_begun, comm)
}

void rz_hooks_comm_revoked(struct rz_comm *comm)
{
    TELL(comm_revoked, comm)
}

void rz_hooks_comm_ends(struct rz_comm *comm, bool goodbye)
{
    TELL(comm_ends, comm, goodbye)
}

void rz_hooks_describe_comm(const struct rz_comm *comm, struct rz_wait_text *text)
{
    TELL(describe_comm, comm, text)
}
