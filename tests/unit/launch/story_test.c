/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told of failures, from events as the nodes tell them, in whatever order they come. */
#include "launch/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MS RZ_MILLISECOND

enum { RANKS = 2, OTHER = 0, REPORTED = 1 };

static struct rz_work work;
static struct rz_story story;
static char *told;
static size_t told_bytes;

static int open_story(void **state)
{
    (void)state;
    work = (struct rz_work){0};
    story = (struct rz_story){.terminal = open_memstream(&told, &told_bytes), .n_ranks = RANKS};
    assert_non_null(story.terminal);
    rz_timeline_open(&story.timeline, RANKS, &work, NULL);
    return 0;
}

static int close_story(void **state)
{
    (void)state;
    fclose(story.terminal);
    free(told);
    return 0;
}

/* Of a node; by: the one that tells. */
static void event(enum rz_event_record kind, uint32_t by, uint32_t node, uint32_t epoch, rz_time at)
{
    rz_story_event(&story, by,
                   &(struct rz_launch_event){.kind = kind,
                                             .epoch = epoch,
                                             .rank = RZ_ID_NONE,
                                             .node = node,
                                             .at_ns = at,
                                             .note = "broken connection"});
}

/* Whether the story told that the node failed, when epoch 3 runs. */
static bool is_told(void)
{
    struct rz_recovery_times before;
    event(RZ_EVENT_RECORD_EPOCH, OTHER, OTHER, 3, 310 * MS);
    event(RZ_EVENT_RECORD_RUN, OTHER, OTHER, 3, 330 * MS);
    rz_story_end(&story, 0, false, &before);
    fflush(story.terminal);
    return strstr(told, "node 1 failed; noticed by broken connection\n") != NULL;
}

static void test_word_of_a_failed_node_that_comes_late(void **state)
{
    (void)state;
    event(RZ_EVENT_RECORD_EPOCH, OTHER, OTHER, 2, 290 * MS);
    event(RZ_EVENT_RECORD_FAILURE_SEEN, OTHER, REPORTED, 2, 300 * MS);
    event(RZ_EVENT_RECORD_EPOCH, REPORTED, REPORTED, 2, 299 * MS);
    assert_true(is_told());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        test_word_of_a_failed_node_that_comes_late, open_story, close_story)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
