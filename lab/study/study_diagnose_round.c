/* SPDX-License-Identifier: BSD-3-Clause */
/* The agreement and the observations at the end of each interval. */
#include "study/study_diagnose_run.h"

#include "base/assert.h"
#include "proto/paxos/paxos.h"

#include <string.h>

bool rz_dgrp_is_in(const struct rz_dgrp_run *run, uint64_t interval, rz_id k)
{
    return run->composition[interval * run->words + k / 64] >> (k % 64) & 1;
}

uint32_t rz_dgrp_kept_out_longest(const struct rz_dgrp_run *run)
{
    uint32_t longest = 0;
    for (rz_id k = 0; k < run->n; k++) {
        longest = run->in_time_longest[k] > longest ? run->in_time_longest[k] : longest;
    }
    return longest;
}

/* ---- the agreed view ---- */

/* A first member that is recommended although it considers itself non-recommended is so by this
 * agreement. */
static uint32_t join(struct rz_dgrp_run *run, uint64_t *items)
{
    struct rz_diagnose_list lists[RZ_DGRP_MEMBERS_MAX];
    uint32_t joined[RZ_DGRP_MEMBERS_MAX], n_lists = 0, n_items = 0;
    for (rz_id id = 0; id < run->n; id++) {
        if (!rz_timing_alive(run->timing, id)) {
            continue;
        }
        uint64_t *own = run->lists + (size_t)id * run->n;
        struct rz_diagnose_list *list = &lists[n_lists++];
        *list = (struct rz_diagnose_list){.from = id, .items = own};
        for (rz_id k = 0; k < run->n; k++) {
            if (rz_diagnose_counter(rz_dgrp_state(run, id), k) > 0) {
                own[list->n_items++] =
                    RZ_DIAGNOSE_ITEM(k, rz_diagnose_counter(rz_dgrp_state(run, id), k));
            }
        }
    }
    rz_assert(n_lists > 0);
    rz_diagnose_join(run->n, n_lists, lists, joined);
    if (joined[lists[0].from] % 2 == 0 && joined[lists[0].from] > run->granted[lists[0].from]) {
        run->granted[lists[0].from] = joined[lists[0].from];
        run->takeovers++;
    }
    for (rz_id k = 0; k < run->n; k++) {
        if (joined[k] > 0) {
            items[n_items++] = RZ_DIAGNOSE_ITEM(k, joined[k]);
        }
    }
    return n_items;
}

static void agree(struct rz_dgrp_run *run)
{
    uint64_t items[RZ_DGRP_MEMBERS_MAX], view[RZ_DGRP_MEMBERS_MAX / 64] = {0};
    uint32_t n_items = join(run, items), words = run->words, size = run->n;
    for (rz_id k = 0; k < run->n; k++) {
        view[k / 64] |= UINT64_C(1) << (k % 64);
    }
    for (uint32_t i = 0; i < n_items; i++) {
        if ((uint32_t)items[i] % 2 == 1) {
            view[(items[i] >> 32) / 64] &= ~(UINT64_C(1) << (items[i] >> 32) % 64);
            size--;
        }
    }
    run->group_size[run->interval] = (uint16_t)size;
    memcpy(run->composition + run->interval * words, view, words * sizeof(*view));
    if (memcmp(view, run->view, words * sizeof(*view)) == 0) {
        return;
    }
    memcpy(run->view, view, sizeof(view));
    run->view_number++;
    run->views++;
    const uint64_t number[4] = {run->view_number};
    for (rz_id id = 0; id < run->n; id++) {
        if (!rz_timing_alive(run->timing, id)) {
            continue;
        }
        rz_timing_call(
            run->timing, id, RZ_DGRP_DIAGNOSE, 0,
            &(struct rz_timing_request){
                .call = RZ_DIAGNOSE_VIEW, .arg = number, .items = items, .n_items = n_items});
        rz_timing_call(run->timing, id, RZ_DGRP_PAXOS, 0,
                       &(struct rz_timing_request){
                           .call = RZ_PAXOS_VIEW, .arg = number, .items = view, .n_items = words});
    }
}

/* ---- observations ---- */

static bool is_member(const struct rz_dgrp_run *run, rz_id id)
{
    return rz_timing_alive(run->timing, id) && rz_diagnose_has(rz_dgrp_state(run, id), id);
}

static void count_apart(struct rz_dgrp_apart *apart, bool differ, uint64_t interval)
{
    apart->intervals += differ;
    apart->last = differ ? interval : apart->last;
    apart->row = differ ? apart->row + 1 : 0;
    apart->longest = apart->row > apart->longest ? apart->row : apart->longest;
}

static void compare_members(struct rz_dgrp_run *run)
{
    const struct rz_diagnose *first = NULL;
    bool groups = false, counters = false;
    for (rz_id id = 0; id < run->n; id++) {
        if (!is_member(run, id)) {
            continue;
        }
        first = first ? first : rz_dgrp_state(run, id);
        for (rz_id k = 0; k < run->n; k++) {
            const struct rz_diagnose *state = rz_dgrp_state(run, id);
            groups = groups || rz_diagnose_has(state, k) != rz_diagnose_has(first, k);
            counters = counters || rz_diagnose_counter(state, k) != rz_diagnose_counter(first, k);
        }
    }
    count_apart(&run->apart_groups, groups, run->interval);
    count_apart(&run->apart_counters, counters, run->interval);
}

/* S6-4, for all living processes, members or not. */
static void compare_views(struct rz_dgrp_run *run)
{
    const uint64_t *first = NULL;
    uint64_t round, first_round = 0;
    for (rz_id id = 0; id < run->n; id++) {
        if (!rz_timing_alive(run->timing, id)) {
            continue;
        }
        const uint64_t *view = rz_diagnose_view(rz_dgrp_state(run, id), &round);
        if (!first) {
            first = view;
            first_round = round;
        }
        run->views_apart +=
            round != first_round || memcmp(view, first, run->words * sizeof(*view)) != 0;
    }
}

static void count_in_time(struct rz_dgrp_run *run)
{
    uint32_t members = 0;
    for (rz_id id = 0; id < run->n; id++) {
        members += is_member(run, id);
    }
    for (rz_id k = 0; k < run->n; k++) {
        uint32_t passed = 0;
        for (rz_id id = 0; id < run->n; id++) {
            passed += is_member(run, id) && run->passed_at[id * run->n + k] == run->interval;
        }
        bool counts = !rz_dgrp_is_in(run, run->interval, k) && 2 * passed > members;
        run->in_time[k] = counts ? run->in_time[k] + 1 : 0;
        if (run->in_time[k] > run->in_time_longest[k]) {
            run->in_time_longest[k] = run->in_time[k];
        }
    }
}

/* The members' knowledge is compared before the agreement, which makes it equal. */
void rz_dgrp_end_interval(struct rz_dgrp_run *run)
{
    compare_members(run);
    compare_views(run);
    agree(run);
    count_in_time(run);
}
