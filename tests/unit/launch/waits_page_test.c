/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of waits: which are grouped, which ranks are missing, and circles. */
#include "launch/waits_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct rz_launch_waiting in_call(uint32_t rank, const char *call, const char *name,
                                        uint64_t operation, uint32_t peer)
{
    return (struct rz_launch_waiting){.rank = rank,
                                      .pid = 100 + rank,
                                      .state = RZ_WAITING_IN_CALL,
                                      .call = call,
                                      .communicator = name,
                                      .context = name[0] ? 0x40 : 0x80,
                                      .members = 8,
                                      .operation = operation,
                                      .peer = peer,
                                      .tag = operation ? RZ_WAIT_ANY : 7,
                                      .for_ns = (30 + rank) * RZ_SECOND};
}

static struct rz_launch_waiting idle(uint32_t rank, enum rz_waiting_state state)
{
    return (struct rz_launch_waiting){
        .rank = rank, .pid = 100 + rank, .state = state, .call = "", .communicator = ""};
}

static void expect(const struct rz_launch_waiting *told, size_t n, const char *expected)
{
    struct rz_waits_page page = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = n; i-- > 0;) { /* in any order */
        rz_waits_page_add(&page, told[i].rank / 4, &told[i]);
    }
    rz_waits_page_print(&page, &page, RZ_SECOND, out); /* nothing has changed since */
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    rz_waits_page_clear(&page);
}

static void test_collective(void **state)
{
    (void)state;
    const struct rz_launch_waiting told[] = {
        in_call(0, "MPI_Barrier", "MPI_COMM_WORLD", 17, 1),
        in_call(1, "MPI_Barrier", "MPI_COMM_WORLD", 17, 3),
        in_call(2, "MPI_Barrier", "MPI_COMM_WORLD", 17, RZ_WAIT_ANY),
        in_call(5, "MPI_Barrier", "MPI_COMM_WORLD", 17, 3),
        idle(3, RZ_WAITING_COMPUTES),
        idle(6, RZ_WAITING_LEFT),
        idle(7, RZ_WAITING_LEFT),
        idle(4, RZ_WAITING_NOT_JOINED)};
    expect(told, sizeof(told) / sizeof(*told),
           "  rank 4 (node 1, pid 104) has not called MPI_Init\n"
           "  rank 3 (node 0, pid 103) computes\n"
           "  ranks 6-7 have left MPI\n"
           "  ranks 0-2,5 wait 35 s in MPI_Barrier on MPI_COMM_WORLD (4 of 8 are there), "
           "operation 17, for rank 3\n");
}

/* Differences are distinguished: another operation, another communicator, another tag. */
static void test_apart(void **state)
{
    (void)state;
    struct rz_launch_waiting told[] = {in_call(0, "MPI_Bcast", "world", 4, RZ_WAIT_ANY),
                                       in_call(1, "MPI_Bcast", "world", 5, RZ_WAIT_ANY),
                                       in_call(2, "MPI_Recv", "", 0, 3),
                                       in_call(4, "MPI_Recv", "", 0, RZ_WAIT_ANY)};
    expect(told, 4,
           "  rank 0 waits 30 s in MPI_Bcast on world (1 of 8 are there), operation 4\n"
           "  rank 1 waits 31 s in MPI_Bcast on world (1 of 8 are there), operation 5\n"
           "  rank 2 waits 32 s in MPI_Recv on communicator 80, for rank 3, tag 7\n"
           "  rank 4 waits 34 s in MPI_Recv on communicator 80, tag 7\n");
    told[1].operation = 4;
    expect(told, 2,
           "  ranks 0-1 wait 31 s in MPI_Bcast on world (2 of 8 are there), operation 4\n");
}

static void expect_no_circle(const struct rz_launch_waiting *told, size_t n)
{
    struct rz_waits_page page = {0};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < n; i++) {
        rz_waits_page_add(&page, 0, &told[i]);
    }
    rz_waits_page_print(&page, &page, RZ_SECOND, out);
    fclose(out);
    assert_null(strstr(text, "cycle"));
    free(text);
    rz_waits_page_clear(&page);
}

static void test_circle(void **state)
{
    (void)state;
    struct rz_launch_waiting told[] = {
        in_call(0, "MPI_Recv", "", 0, 2), in_call(1, "MPI_Recv", "", 0, 0),
        in_call(2, "MPI_Recv", "", 0, 1), in_call(3, "MPI_Recv", "", 0, 1)};
    expect(told, 4,
           "  rank 1 waits 31 s in MPI_Recv on communicator 80, for rank 0, tag 7\n"
           "  ranks 2-3 wait 33 s in MPI_Recv on communicator 80, for rank 1, tag 7\n"
           "  rank 0 waits 30 s in MPI_Recv on communicator 80, for rank 2, tag 7\n"
           "  a cycle that no rank will leave: rank 0 waits for 2 waits for 1 waits for 0\n");
    told[1].state = RZ_WAITING_COMPUTES; /* a rank that computes may call MPI again */
    expect_no_circle(told, 4);
    struct rz_launch_waiting threads[] = {in_call(0, "MPI_Recv", "", 0, 1),
                                          in_call(1, "MPI_Recv", "", 0, 0),
                                          in_call(1, "MPI_Wait", "", 0, 5)};
    expect_no_circle(threads, 3); /* and one thread may free the other */
}

/* Ranks that wait for each other in one collective operation wait for one that is not there, or for
 * what is on its way. */
static void test_no_circle_in_one_collective(void **state)
{
    (void)state;
    struct rz_launch_waiting told[] = {
        in_call(0, "MPI_Allreduce", "world", 3, 1), in_call(1, "MPI_Allreduce", "world", 3, 0),
        in_call(3, "MPI_Allreduce", "world", 3, 0), idle(2, RZ_WAITING_COMPUTES)};
    expect_no_circle(told, 4);
    told[1].operation = 4; /* rank 1 has left the operation in which rank 0 waits for it */
    expect_no_circle(told, 4);
    told[1] = in_call(1, "MPI_Recv", "", 0, 0); /* and here it has not come */
    expect(
        told, 2,
        "  rank 0 waits 30 s in MPI_Allreduce on world (1 of 8 are there), operation 3, for rank "
        "1\n"
        "  rank 1 waits 31 s in MPI_Recv on communicator 80, for rank 0, tag 7\n"
        "  a cycle that no rank will leave: rank 0 waits for 1 waits for 0\n");
    struct rz_launch_waiting two[] = {in_call(0, "MPI_Allreduce", "world", 3, 3),
                                      in_call(1, "MPI_Recv", "", 0, 0),
                                      in_call(3, "MPI_Allreduce", "world", 3, 1)};
    expect(two, 3,
           "  ranks 0,3 wait 33 s in MPI_Allreduce on world (2 of 8 are there), operation 3, for "
           "rank 1\n"
           "  rank 1 waits 31 s in MPI_Recv on communicator 80, for rank 0, tag 7\n"
           "  a cycle that no rank will leave: rank 0 waits for 3 waits for 1 waits for 0\n");
    told[1] = in_call(1, "MPI_Bcast", "other", 9, 0); /* nor here, on another communicator */
    told[1].context = 0x50;
    expect(
        told, 2,
        "  rank 0 waits 30 s in MPI_Allreduce on world (1 of 8 are there), operation 3, for rank "
        "1\n"
        "  rank 1 waits 31 s in MPI_Bcast on other (1 of 8 are there), operation 9, for rank 0\n"
        "  a cycle that no rank will leave: rank 0 waits for 1 waits for 0\n");
}

static void test_nonsense(void **state)
{
    (void)state;
    struct rz_launch_waiting told = idle(0, RZ_WAITING_STATE_COUNT);
    expect(&told, 1, "");
    expect(NULL, 0, "");
}

static void add(struct rz_waits_page *page, uint32_t rank, uint32_t peer, rz_time for_ns)
{
    struct rz_launch_waiting told = in_call(rank, "MPI_Recv", "", 0, peer);
    told.for_ns = for_ns;
    rz_waits_page_add(page, 0, &told);
}

/* Nodes are asked one after the other: their answers need not be of one time. */
static void test_a_circle_that_both_looks_prove(void **state)
{
    const rz_time apart = RZ_SECOND;
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct rz_waits_page first = {0}, second = {0};
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        add(&first, 0, 1, RZ_SECOND);
        add(&first, 1, kind == 1 ? 2 : 0, RZ_SECOND); /* 1: it waited for another rank then */
        add(&second, 0, 1, 2 * RZ_SECOND);
        add(&second, 1, 0, kind == 2 ? apart / 2 : 2 * RZ_SECOND); /* 2: that was another wait */
        bool doubtful = rz_waits_page_print(&second, kind == 3 ? NULL : &first, apart, out);
        fclose(out);
        assert_true(doubtful == (kind == 1 || kind == 2));
        assert_true((strstr(text, "that no rank will leave") != NULL) == (kind == 0));
        assert_true((strstr(text, "a cycle") != NULL) == (kind == 0 || kind == 3));
        assert_true(rz_waits_page_same(&second, &first, apart) == (kind == 0 || kind == 3));
        free(text);
        rz_waits_page_clear(&first);
        rz_waits_page_clear(&second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collective), cmocka_unit_test(test_apart),
        cmocka_unit_test(test_circle),     cmocka_unit_test(test_no_circle_in_one_collective),
        cmocka_unit_test(test_nonsense),   cmocka_unit_test(test_a_circle_that_both_looks_prove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
