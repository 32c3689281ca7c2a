/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of the members, from the thread's snapshot and from the board; which members fall
 * out of the present view; and the calls of the program's on_change.
 */
#include "mpi/monitor/monitor.h"

#include "mpi/agree/comm_revoke.h"
#include "proto/diagnose/diagnose.h"

#include <math.h>

/* ---- Reading the snapshot and the board ---- */

static bool is_failed(const struct rz_monitor_group *group, int rank)
{
    return rank != group->self && rz_process_failed(group->comm->group->process[rank]);
}

static uint8_t why_of(const struct rz_monitor_group *group, int rank, uint32_t counter)
{
    if (is_failed(group, rank)) {
        return RZ_GROUP_FAILED;
    }
    return counter % 2 == 0 ? RZ_GROUP_RECOMMENDED : RZ_GROUP_SLOW;
}

/* Whether an odd number is greater than `from` and at most `to`: the member was recommended and has
 * been excluded since. */
static bool passes_odd(uint32_t from, uint32_t to)
{
    return to > from && (to + 1) / 2 > (from + 1) / 2;
}

static uint32_t counter_of(const struct rz_monitor_group *group, int rank)
{
    return !group->snapshot
               ? 0
               : atomic_load_explicit(&group->snapshot->member[rank].counter, memory_order_acquire);
}

/* The members of the round are told, whatever they wait for, so that none continues to compute with
 * a member that may not answer. */
static void note_fall(struct rz_monitor_group *group)
{
    if (!group->fallen) {
        group->fallen = true;
        if (group->round_comm) {
            rz_comm_revoke(group->round_comm);
        }
    }
}

static void look_at_member(struct rz_monitor *monitor, int rank)
{
    struct rz_monitor_group *group = monitor->group;
    uint32_t counter = counter_of(group, rank), before = group->counter[rank];
    group->counter[rank] = counter;
    group->why[rank] = why_of(group, rank, counter);
    if (group->round > 0 && rz_monitor_has(group, rank) &&
        (passes_odd(before, counter) || group->why[rank] == RZ_GROUP_FAILED)) {
        note_fall(group);
    }
    if (monitor->on_change && group->why[rank] != monitor->untold[rank]) {
        atomic_store_explicit(&rz_monitors_untold, true, memory_order_relaxed);
    }
}

void rz_monitor_look(struct rz_monitor *monitor)
{
    struct rz_monitor_group *group = monitor->group;
    if (group->snapshot) {
        group->news = atomic_load_explicit(&group->snapshot->news, memory_order_acquire);
    }
    for (int k = 0; k < group->n; k++) {
        look_at_member(monitor, k);
    }
}

static bool failures; /* a process is gone: the groups must be checked for it */

static void gone(uint32_t process, bool failed)
{
    (void)process, (void)failed;
    failures = true;
}

/*
 * If there are monitors: notes members that are excluded or recommended again, and revokes the
 * communicators of rounds that have lost a member. Not called from inside a callback of a
 * transport.
 */
static unsigned look_at_all(void)
{
    bool all = failures;
    failures = false;
    for (struct rz_monitor *monitor = rz_monitors; monitor; monitor = monitor->next) {
        const struct rz_monitor_group *group = monitor->group;
        if (all || (group->snapshot && atomic_load_explicit(&group->snapshot->news,
                                                            memory_order_acquire) != group->news)) {
            rz_monitor_look(monitor);
        }
    }
    return 0;
}

const struct rz_hooks rz_monitor_hooks = {
    .last_call = rz_monitors_stop,
    .work = {[RZ_WORK_MONITORS] = look_at_all},
    .gone = gone,
    .discard = rz_monitors_close,
};

/*
 * A member of the view was recommended by the counters that all members have sent. A greater
 * counter belongs to a later event; but a counter that this process has sent itself, even an odd
 * one, was superseded by those of other members.
 */
void rz_monitor_look_at_view(struct rz_monitor_group *group, const uint32_t *told)
{
    for (int k = 0; k < group->n; k++) {
        if (rz_monitor_has(group, k) &&
            (passes_odd(told[k], group->counter[k]) || is_failed(group, k))) {
            note_fall(group);
        }
    }
}

/* ---- Telling the program ---- */

_Atomic bool rz_monitors_untold;

/* A monitor and a rank whose change was not reported yet, or NULL. */
static struct rz_monitor *next_untold(int *rank)
{
    for (struct rz_monitor *monitor = rz_monitors; monitor; monitor = monitor->next) {
        for (int k = 0; monitor->on_change && k < monitor->group->n; k++) {
            if (monitor->untold[k] != monitor->group->why[k]) {
                *rank = k;
                return monitor;
            }
        }
    }
    return NULL;
}

static void tell_all(void)
{
    int rank;
    struct rz_monitor *monitor;
    while ((monitor = next_untold(&rank)) != NULL) {
        int why = monitor->untold[rank] = monitor->group->why[rank];
        RZ_Group_monitor_change_function function = monitor->on_change;
        void *state = monitor->change_state;
        rz_engine_unlock_for_user();
        function(rank, why, state);
        rz_engine_lock_after_user();
    }
    atomic_store_explicit(&rz_monitors_untold, false, memory_order_relaxed);
}

void rz_monitors_tell(void)
{
    bool shared = rz_engine_shared;
    if (rz_engine_runs_user()) {
        return; /* the enclosing call reports the rest */
    }
    if (shared) {
        rz_engine_enter();
    }
    tell_all();
    if (shared) {
        rz_engine_leave();
    }
}

int rzm_group_monitor_on_change(struct rz_monitor *monitor,
                                RZ_Group_monitor_change_function function, void *extra_state)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS) {
        memcpy(monitor->untold, monitor->group->why, (size_t)monitor->group->n);
        monitor->on_change = function;
        monitor->change_state = extra_state;
    }
    return error;
}

/* ---- Inquiries ---- */

int rzm_group_monitor_get_round(struct rz_monitor *monitor, MPI_Count *round, int *size,
                                int members[])
{
    const struct rz_monitor_group *group = monitor->group;
    int error = rz_engine_begin(), n = 0;
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int k = 0; k < group->n; k++) {
        if (!rz_monitor_has(group, k)) {
            continue;
        }
        if (members) {
            members[n] = k;
        }
        n++;
    }
    *size = n;
    *round = group->round;
    return MPI_SUCCESS;
}

int rzm_group_monitor_owner(struct rz_monitor *monitor, int v, int *rank)
{
    const struct rz_monitor_group *group = monitor->group;
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (v < 0) {
        return rzm_error(MPI_ERR_ARG, "v is %d, less than 0", v);
    }
    uint32_t places = UINT32_C(1) << rz_diagnose_dimensions((uint32_t)group->n);
    rz_id owner = rz_diagnose_owner(group->view, (uint32_t)group->n, (uint32_t)v % places);
    rz_assert(owner != RZ_ID_NONE);
    *rank = (int)owner;
    return MPI_SUCCESS;
}

static double seconds(uint64_t time)
{
    return (double)time / (double)RZ_SECOND;
}

int rzm_group_monitor_get_state(struct rz_monitor *monitor, int rank, RZ_Group_monitor_state *state)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    const struct rz_monitor_group *group = monitor->group;
    if (rank < 0 || rank >= group->n) {
        return rzm_error(MPI_ERR_RANK, "rank is %d, not in 0..%d", rank, group->n - 1);
    }
    rz_monitor_look(monitor);
    *state = (RZ_Group_monitor_state){.why = group->why[rank],
                                      .events = group->counter[rank],
                                      .test_time = (double)NAN,
                                      .threshold = (double)NAN};
    if (!group->snapshot) {
        return MPI_SUCCESS;
    }
    const struct rz_tester_member *member = &group->snapshot->member[rank];
    uint64_t time = atomic_load(&member->test_time), threshold = atomic_load(&member->threshold);
    state->passed = (int)atomic_load(&member->passed);
    state->test_time = time != RZ_TIME_NEVER ? seconds(time) : state->test_time;
    state->threshold = threshold > 0 ? seconds(threshold) : state->threshold;
    if (state->why == RZ_GROUP_SLOW && state->passed > 0) {
        state->why = RZ_GROUP_COOLING;
    }
    return MPI_SUCCESS;
}

int rzm_group_monitor_changed(struct rz_monitor *monitor, int *flag)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS) {
        rz_monitor_look(monitor);
        *flag = monitor->group->fallen;
    }
    return error;
}

/* ---- Process sets ---- */

int rz_monitors_count(void)
{
    int n = 0;
    for (const struct rz_monitor *monitor = rz_monitors; monitor; monitor = monitor->next) {
        n++;
    }
    return n;
}

const char *rz_monitors_name(int i)
{
    const struct rz_monitor *monitor = rz_monitors;
    while (i-- > 0) {
        monitor = monitor->next;
    }
    return monitor->terms.name;
}

struct rz_group *rz_monitors_pset(const char *pset, bool *found)
{
    size_t length = strlen(RZ_MONITOR_PSET);
    const struct rz_monitor *monitor = rz_monitors;
    bool ours = strncmp(pset, RZ_MONITOR_PSET, length) == 0;
    while (monitor && !(ours && strcmp(pset + length, monitor->terms.name) == 0)) {
        monitor = monitor->next;
    }
    *found = monitor != NULL;
    return *found ? rz_monitor_group_of(monitor) : NULL;
}
