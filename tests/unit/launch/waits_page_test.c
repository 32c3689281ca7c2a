/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of waits: which are grouped, which ranks are missing, and circles. */
#include "launch/waits_page.h"

#include "wire/cursor.h"
#include "wire/message_balance.h"

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
           "  a cycle that none of these ranks will leave by itself: rank 0 waits for 2 waits for "
           "1 waits for 0\n");
    told[1].state = RZ_WAITING_COMPUTES; /* a rank that computes may call MPI again */
    expect_no_circle(told, 4);
    struct rz_launch_waiting threads[] = {in_call(0, "MPI_Recv", "", 0, 1),
                                          in_call(1, "MPI_Recv", "", 0, 0),
                                          in_call(1, "MPI_Wait", "", 0, 5)};
    expect_no_circle(threads, 3); /* and one thread may free the other */
}

/* A wait for any of several requests, or for a lock that a third process has, ends otherwise. */
static void test_others_may_end_a_wait(void **state)
{
    (void)state;
    struct rz_launch_waiting told[] = {in_call(0, "MPI_Waitany", "", 0, 1),
                                       in_call(1, "MPI_Recv", "", 0, 0)};
    told[0].flags = RZ_WAIT_OTHERS | RZ_WAIT_THREADS;
    expect_no_circle(told, 2);
    expect(told, 2,
           "  rank 1 waits 31 s in MPI_Recv on communicator 80, for rank 0, tag 7\n"
           "  rank 0 waits 30 s in MPI_Waitany on communicator 80, for rank 1 or another, tag 7\n");
    told[0].flags = RZ_WAIT_THREADS;
    expect(told, 2,
           "  rank 1 waits 31 s in MPI_Recv on communicator 80, for rank 0, tag 7\n"
           "  rank 0 waits 30 s in MPI_Waitany on communicator 80, for rank 1, tag 7\n"
           "  a cycle, unless another thread of these ranks ends it: rank 0 waits for 1 waits for "
           "0\n");
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
        "  a cycle that none of these ranks will leave by itself: rank 0 waits for 1 waits for "
        "0\n");
    struct rz_launch_waiting two[] = {in_call(0, "MPI_Allreduce", "world", 3, 3),
                                      in_call(1, "MPI_Recv", "", 0, 0),
                                      in_call(3, "MPI_Allreduce", "world", 3, 1)};
    expect(two, 3,
           "  ranks 0,3 wait 33 s in MPI_Allreduce on world (2 of 8 are there), operation 3, for "
           "rank 1\n"
           "  rank 1 waits 31 s in MPI_Recv on communicator 80, for rank 0, tag 7\n"
           "  a cycle that none of these ranks will leave by itself: rank 0 waits for 3 waits for "
           "1 waits for 0\n");
    told[1] = in_call(1, "MPI_Bcast", "other", 9, 0); /* nor here, on another communicator */
    told[1].context = 0x50;
    expect(
        told, 2,
        "  rank 0 waits 30 s in MPI_Allreduce on world (1 of 8 are there), operation 3, for rank "
        "1\n"
        "  rank 1 waits 31 s in MPI_Bcast on other (1 of 8 are there), operation 9, for rank 0\n"
        "  a cycle that none of these ranks will leave by itself: rank 0 waits for 1 waits for "
        "0\n");
}

static void test_nonsense(void **state)
{
    (void)state;
    struct rz_launch_waiting told = idle(0, RZ_WAITING_STATE_COUNT);
    expect(&told, 1, "");
    expect(NULL, 0, "");
}

/* The daemon may be another user's, who is no friend of the one that attaches to it. */
static void test_texts_for_a_terminal(void **state)
{
    (void)state;
    struct rz_launch_waiting told =
        in_call(0, "\033]0;x\007MPI_Barrier", "\342\200\256world", 0, RZ_WAIT_ANY);
    expect(&told, 1, "  rank 0 waits 30 s in ?]0;x?MPI_Barrier on ???world, tag 7\n");
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
        assert_true((strstr(text, "that none of these ranks") != NULL) == (kind == 0));
        assert_true((strstr(text, "a cycle") != NULL) == (kind == 0 || kind == 3));
        assert_true(rz_waits_page_same(&second, &first, apart) == (kind == 0 || kind == 3));
        free(text);
        rz_waits_page_clear(&first);
        rz_waits_page_clear(&second);
    }
}

/* ---- messages under way ---- */

struct part {
    uint32_t slot;
    int64_t to, from;
};

/* Two ranks wait for each other, and rank 2 for one of them, since `still`; parts: the answers of
 * nodes. Returns what the page says; *moves: what it returns. The caller frees it. */
static char *page_of(const struct part *parts, size_t n, rz_time still, bool *moves)
{
    struct rz_waits_page first = {0}, page = {0};
    const uint32_t peers[] = {1, 0, 0};
    uint32_t bytes;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    for (uint32_t rank = 0; rank < 3; rank++) {
        add(&first, rank, peers[rank], 9 * RZ_SECOND);
    }
    uint8_t *asked = rz_waits_page_ask(&first, &page, &bytes);
    assert_int_equal(bytes, 1);
    assert_int_equal(asked[0], 7);
    free(asked);
    page.least = RZ_SECOND;
    for (uint32_t rank = 0; rank < 3; rank++) {
        struct rz_launch_waiting told = in_call(rank, "MPI_Recv", "", 0, peers[rank]);
        told.for_ns = 10 * RZ_SECOND;
        told.still_ns = still + rank * RZ_SECOND;
        rz_waits_page_add(&page, 0, &told);
    }
    for (size_t i = 0; i < n; i++) { /* one message each */
        uint8_t entry[RZ_BALANCE_ENTRY_BYTES];
        struct rz_wire_writer w;
        rz_wire_writer_init(&w, entry, sizeof(entry));
        rz_wire_put_u32(&w, parts[i].slot);
        rz_wire_put_u64(&w, (uint64_t)parts[i].to);
        rz_wire_put_u64(&w, (uint64_t)parts[i].from);
        const struct rz_launch_under_way told = {.balance = entry, .balance_length = sizeof(entry)};
        rz_waits_page_under_way(&page, &told);
    }
    *moves = rz_waits_page_print(&page, &first, RZ_SECOND, out);
    fclose(out);
    rz_waits_page_clear(&first);
    rz_waits_page_clear(&page);
    return text;
}

static void expect_under_way(const struct part *parts, size_t n, rz_time still, bool moves,
                             const char *line, bool cycle)
{
    bool moving;
    char *text = page_of(parts, n, still, &moving);
    assert_int_equal(moving, moves);
    assert_int_equal(strstr(text, "under way") != NULL, line != NULL);
    assert_true(!line || strstr(text, line));
    assert_int_equal(strstr(text, "cycle") != NULL, cycle);
    free(text);
}

static void test_under_way(void **state)
{
    const struct part one[] = {{0, 0, 1}, {1, 1, 0}};
    /* each node has its part: of rank 0 seven were sent, and at rank 1 five have arrived */
    const struct part nodes[] = {{1, 7, 0}, {0, 0, 7}, {1, -5, 0}, {0, 0, -5}};
    const struct part many[] = {{0, 3, 1}, {1, 1, 2}, {2, 0, 1}};
    const struct part none[] = {{1, 4, 0}, {1, -4, 0}};
    (void)state;
    expect_under_way(one, 2, 2 * RZ_SECOND, false,
                     "  1 message from rank 0 to rank 1 has been under way for 2 s and does not "
                     "arrive: this is not the program's doing\n",
                     false);
    expect_under_way(nodes, 4, 2 * RZ_SECOND, false,
                     "  2 messages from rank 0 to rank 1 have been under way for 2 s and do not "
                     "arrive: this is not the program's doing\n",
                     false);
    expect_under_way(many, 3, 3 * RZ_SECOND, false,
                     "  4 messages from ranks 0-2 to ranks 0-1 have been under way for 3 s and do "
                     "not arrive",
                     false);
    expect_under_way(none, 2, 2 * RZ_SECOND, false, NULL, true);
    expect_under_way(NULL, 0, 2 * RZ_SECOND, false, NULL, true);
}

/* What may arrive yet is none of the network's doing so far, and makes a cycle doubtful. */
static void test_under_way_for_a_moment(void **state)
{
    const struct part one[] = {{0, 0, 1}, {1, 1, 0}};
    const struct part half[] = {{1, 1, 0}};                 /* the two ends are not of one time */
    const struct part elsewhere[] = {{0, 0, 1}, {2, 1, 0}}; /* rank 2 is in no cycle */
    const struct part strange[] = {{3, 1, 0}, {UINT32_MAX, 1, 1}};
    (void)state;
    expect_under_way(one, 2, RZ_SECOND / 2, true, NULL, false);
    expect_under_way(half, 1, 2 * RZ_SECOND, false, NULL, false);
    expect_under_way(elsewhere, 2, 2 * RZ_SECOND, false, "1 message from rank 0 to rank 2 has",
                     true);
    expect_under_way(strange, 2, 2 * RZ_SECOND, false, NULL, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collective),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_others_may_end_a_wait),
        cmocka_unit_test(test_no_circle_in_one_collective),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_texts_for_a_terminal),
        cmocka_unit_test(test_a_circle_that_both_looks_prove),
        cmocka_unit_test(test_under_way),
        cmocka_unit_test(test_under_way_for_a_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
