/* SPDX-License-Identifier: BSD-3-Clause */
/* When a round ends, the members of the next one, the common progress: cases of the rule alone. */
#include "proto/view_change/view_change_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 4
#define NO 99 /* did not arrive */

/* Of four processes: the progress of each, and its counters, a digit for each process. */
struct story {
    const char *what;
    uint32_t round;
    uint64_t before; /* progress */
    uint64_t view, gone;
    uint64_t came[N];
    const char *counters[N];
    bool ends;
    uint64_t next, progress;
};

static void check(const struct story *story)
{
    struct rz_view_change_waiting waiting[N];
    struct rz_diagnose_list lists[N];
    uint64_t items[N][N], view = 0, progress = 0;
    uint32_t n = 0, counters[N];
    for (uint32_t rank = 0; rank < N; rank++) {
        if (story->came[rank] == NO) {
            continue;
        }
        uint32_t k = 0;
        for (uint32_t i = 0; story->counters[rank] && i < N; i++) {
            if (story->counters[rank][i] != '0') {
                items[rank][k++] = RZ_DIAGNOSE_ITEM(i, (uint32_t)(story->counters[rank][i] - '0'));
            }
        }
        waiting[n++] = (struct rz_view_change_waiting){rank, story->came[rank], items[rank], k};
    }
    const struct rz_view_change_situation now = {.n = N,
                                                 .round = story->round,
                                                 .progress = story->before,
                                                 .view = &story->view,
                                                 .gone = &story->gone,
                                                 .n_waiting = n,
                                                 .waiting = waiting};
    bool ends = rz_view_change_ends(&now, lists, counters, &view, &progress);
    if (ends != story->ends || (ends && (view != story->next || progress != story->progress))) {
        fail_msg("%s: ends %d, view %llx, progress %llu", story->what, ends,
                 (unsigned long long)view, (unsigned long long)progress);
    }
}

#define ALL 0xF

static const struct story stories[] = {
    {"no process has arrived", 1, 3, ALL, 0, {NO, NO, NO, NO}, {0}, false, 0, 0},
    {"one is awaited", 1, 3, ALL, 0, {4, 4, NO, 4}, {0}, false, 0, 0},
    {"all have arrived", 1, 3, ALL, 0, {4, 4, 4, 4}, {0}, true, ALL, 4},
    {"the least progress", 1, 3, ALL, 0, {9, 7, 8, 6}, {0}, true, ALL, 6},
    {"progress never falls", 1, 3, ALL, 0, {4, 4, 4, 1}, {0}, true, ALL, 3},
    {"the failed processes have not come far", 1, 3, ALL, 0x4, {4, 4, NO, 4}, {0}, true, 0xB, 3},
    {"an excluded process is not awaited", 1, 3, ALL, 0, {4, 4, NO, 4}, {"0010"}, true, 0xB, 3},
    {"any of them puts out", 1, 3, ALL, 0, {4, 4, NO, 4}, {0, 0, 0, "0010"}, true, 0xB, 3},
    {"a readmitted process is awaited", 1, 3, ALL, 0, {4, 4, NO, 4}, {"0010", "0020"}, false, 0, 0},
    {"an excluded process has done its part", 1, 3, ALL, 0, {4, 4, 5, 4}, {"0010"}, true, 0xB, 4},
    {"of two that report each other one stays",
     1,
     3,
     0x3,
     0,
     {4, 4, NO, NO},
     {"0100", "1000"},
     true,
     0x1,
     4},
    {"all hold themselves for out", 1, 3, 0x3, 0, {4, 5, NO, NO}, {"1000", "0100"}, true, 1, 4},
    {"an excluded process that waits stays so",
     1,
     3,
     0x3,
     0,
     {4, 4, 0, NO},
     {"0010", "0010"},
     true,
     3,
     4},
    {"a readmitted process comes in", 1, 3, 0x3, 0, {4, 4, 0, NO}, {"0020", "0010"}, true, 7, 4},
    {"a process that does not wait stays out", 1, 3, 0x3, 0, {4, 4, NO, NO}, {0}, true, 3, 4},
    {"outsiders have no word", 1, 3, 0x3, 0, {4, NO, 0, 0}, {0, 0, "0100", "0100"}, false, 0, 0},
    {"but where no process of the view is there",
     1,
     3,
     0x3,
     0,
     {NO, NO, 9, 9},
     {0, 0, "1100", 0},
     true,
     0xC,
     3},
    {"or the waiting one has been excluded meanwhile",
     1,
     3,
     0x3,
     0,
     {4, NO, 9, 9},
     {0, 0, "1100", 0},
     true,
     0xC,
     3},
    {"as it knows itself", 1, 3, 0x3, 0, {4, NO, 9, NO}, {"1000", 0, "1100"}, true, 0x4, 3},
    {"not where it has come back", 1, 3, 0x3, 0, {4, NO, 9, 9}, {"2000", 0, "1100"}, false, 0, 0},
    {"not by an excluded process", 1, 3, 0x3, 0, {4, NO, 9, NO}, {0, 0, "1110"}, false, 0, 0},
    {"not while one of the view may come", 1, 3, 0x3, 0, {NO, NO, 9, 9}, {0}, false, 0, 0},
    {"the view has failed", 1, 3, 0x3, 0x3, {NO, NO, 9, 9}, {0, 0, "1110", "1101"}, true, 0x4, 3},
    {"round 0 is for all", 0, 0, ALL, 0, {4, 4, 4, NO}, {0}, false, 0, 0},
    {"round 0 has the least progress", 0, 0, ALL, 0, {4, 6, 5, 7}, {0}, true, ALL, 4},
    {"round 0 does not count spawned processes",
     0,
     0,
     ALL,
     0,
     {57, 58, 57, 0},
     {"0001", "0001", "0001", "0001"},
     true,
     0x7,
     57},
    {"round 0 does not wait for spawned processes",
     0,
     0,
     ALL,
     0,
     {57, 58, 57, NO},
     {"0001", 0, 0, 0},
     true,
     0x7,
     57},
    {"a spawned process alone is no group",
     0,
     0,
     ALL,
     0,
     {NO, NO, NO, 0},
     {0, 0, 0, "0001"},
     false,
     0,
     0},
    {"round 0 without the failed", 0, 0, ALL, 0x8, {2, 2, 3, NO}, {0}, true, 0x7, 2},
};

static void every_story(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(stories) / sizeof(*stories); i++) {
        check(&stories[i]);
    }
}

/* Whatever is said: a view of some that wait, progress between the old one and the least. */
static void the_view_is_never_empty(void **state)
{
    (void)state;
    uint64_t seed = 1;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < 200000; i++) {
        struct rz_view_change_waiting waiting[N];
        struct rz_diagnose_list lists[N];
        uint64_t items[N][N], view = 0, progress = 0, old_view, gone, arrived = 0;
        uint32_t n = 0, counters[N];
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t bits = seed >> 8;
        old_view = (bits & 0xF) ? bits & 0xF : 1;
        gone = bits >> 4 & bits >> 8 & 0xF;
        for (uint32_t rank = 0; rank < N; rank++) {
            uint64_t own = seed >> (12 + 12 * rank);
            if (gone >> rank & 1 || (own & 1)) {
                continue;
            }
            uint32_t k = 0;
            for (uint32_t j = 0; j < N; j++) {
                if (own >> (1 + 2 * j) & 3) {
                    items[rank][k++] = RZ_DIAGNOSE_ITEM(j, (uint32_t)(own >> (1 + 2 * j) & 3));
                }
            }
            waiting[n++] =
                (struct rz_view_change_waiting){rank, 5 + (own >> 9 & 3), items[rank], k};
            arrived |= UINT64_C(1) << rank;
        }
        const struct rz_view_change_situation now = {.n = N,
                                                     .round = 1,
                                                     .progress = 6,
                                                     .view = &old_view,
                                                     .gone = &gone,
                                                     .n_waiting = n,
                                                     .waiting = waiting};
        if (!rz_view_change_ends(&now, lists, counters, &view, &progress)) {
            assert_true((old_view & ~arrived & ~gone) || n == 0); /* a process is awaited */
            continue;
        }
        ended++;
        assert_true(view != 0 && (view & ~arrived) == 0);
        assert_true(progress >= 6 && (progress == 6 || (old_view & ~arrived) == 0));
    }
    assert_true(ended > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_story),
        cmocka_unit_test(the_view_is_never_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
