/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules by which a collective operation gets its algorithm, and the text of RZ_COLL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_world.h"
#include "mpi/impl.h"
#include "mpi/coll/algorithm.h"
#include "mpi/comm/comm_hints.h"
#include "mpi/comm/places.h"
#include "mpi/engine/liveness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum rz_coll_algorithm allreduce(MPI_Count bytes, unsigned traits)
{
    return rz_coll_choose(fake_comm(), RZ_COLL_ALLREDUCE, bytes, traits);
}

static void set_rules(const char *text)
{
    assert_int_equal(rz_coll_set_rules(text), MPI_SUCCESS);
}

static void the_last_rule_that_applies_counts(void **state)
{
    (void)state;
    enum rz_coll_algorithm usual = allreduce(8, 0);
    set_rules("allreduce=tree, allreduce=flat@1K allreduce=direct@64K:4");
    assert_int_equal(allreduce(8, 0), RZ_COLL_TREE);
    assert_int_equal(allreduce(1023, 0), RZ_COLL_TREE);
    assert_int_equal(allreduce(1024, RZ_COLL_ROW), RZ_COLL_FLAT);
    assert_int_equal(allreduce(65536, RZ_COLL_ELEMENTS | RZ_COLL_ROW), RZ_COLL_DIRECT);
    assert_int_equal(allreduce(65536, RZ_COLL_ROW), RZ_COLL_FLAT); /* fewer elements than ranks */
    set_rules("allreduce=direct@0:1M,bcast=chain");
    assert_int_equal(allreduce(65536, 0), usual); /* not so many ranks */
    set_rules("");
    assert_int_equal(allreduce(8, 0), usual);
}

/* A rule whose algorithm cannot be used is passed over. */
static void an_algorithm_gets_what_it_needs(void **state)
{
    (void)state;
    unsigned all = RZ_COLL_ELEMENTS | RZ_COLL_ROW | RZ_COLL_COMMUTES;
    assert_int_equal(rz_comm_size(fake_comm()) & (rz_comm_size(fake_comm()) - 1), 0);
    set_rules("allreduce=tree,allreduce=halving,alltoall=bruck");
    assert_int_equal(allreduce(8, 0), RZ_COLL_TREE);
    assert_int_equal(allreduce(8, all), RZ_COLL_HALVING);
    assert_int_equal(rz_coll_choose(fake_comm(), RZ_COLL_ALLTOALL, 8, 0), RZ_COLL_DIRECT);
    assert_int_equal(rz_coll_choose(fake_comm(), RZ_COLL_ALLTOALL, 8, RZ_COLL_REGULAR),
                     RZ_COLL_BRUCK);
    set_rules("allreduce=tree,allreduce=ring");
    assert_int_equal(allreduce(8, all), RZ_COLL_TREE); /* results are to be reproducible */
    rz_comm_set_hint(fake_comm(), RZ_HINT_REPRODUCIBLE, 1);
    assert_int_equal(allreduce(8, all), RZ_COLL_RING);
    assert_int_equal(allreduce(8, all & ~(unsigned)RZ_COLL_COMMUTES), RZ_COLL_TREE);
    assert_int_equal(allreduce(8, all & ~(unsigned)RZ_COLL_ROW), RZ_COLL_TREE);
    rz_comm_set_hint(fake_comm(), RZ_HINT_REPRODUCIBLE, 0);
    set_rules("");
}

/* A communicator whose ranks are on these nodes. */
static struct rz_comm *comm_on(const char *nodes)
{
    for (uint32_t i = 0; i < 8; i++) {
        rz_liveness.members[i].home = (uint32_t)(nodes[i] - '0');
    }
    return fake_duplicate();
}

static void members_lie_on_nodes_in_one_of_three_ways(void **state)
{
    static const struct {
        const char *nodes;
        enum rz_grouping grouping;
        const char *numbers;
    } placements[] = {
        {"00000000", RZ_GROUPING_NONE, NULL},
        {"35741602", RZ_GROUPING_NONE, NULL},
        {"00001111", RZ_GROUPING_BLOCKS, "00001111"},
        {"11003322", RZ_GROUPING_BLOCKS, "00112233"},
        {"00011122", RZ_GROUPING_NODES, "00011122"}, /* no power of two */
        {"00112222", RZ_GROUPING_NODES, "00112222"}, /* of different lengths */
        {"00001122", RZ_GROUPING_NODES, "00001122"},
        {"00110022", RZ_GROUPING_NODES, "00110022"}, /* two blocks on a node */
        {"01010101", RZ_GROUPING_NODES, "01010101"},
        {"92345671", RZ_GROUPING_NONE, NULL},
        {"92345679", RZ_GROUPING_NODES, "01234560"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(placements) / sizeof(placements[0]); i++) {
        struct rz_comm *comm = comm_on(placements[i].nodes);
        assert_int_equal(rz_comm_grouping(comm), placements[i].grouping);
        int node[8];
        int n = placements[i].numbers ? rz_comm_number_nodes(comm, node) : 0;
        for (int j = 0; j < 8 && n > 0; j++) {
            assert_int_equal(node[j], placements[i].numbers[j] - '0');
            assert_in_range(node[j], 0, n - 1);
        }
        rz_comm_release(comm);
    }
}

static void the_last_block_may_be_shorter(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        rz_liveness.members[i].home = i / 4;
    }
    for (int size = 3; size <= 8; size++) {
        struct rz_comm *comm;
        struct rz_group *group = rz_group_new(size, fake_comm()->group->process);
        assert_int_equal(
            rz_comm_derive(fake_comm(), group, rz_comm_begin(fake_comm(), ""), 0, &comm),
            MPI_SUCCESS);
        assert_int_equal(rz_comm_grouping(comm), size > 4 ? RZ_GROUPING_BLOCKS : RZ_GROUPING_NONE);
        rz_comm_release(comm);
        rz_group_release(group);
    }
}

/* Not all members know where a process is that came later. */
static void nodes_of_a_later_process_are_not_known(void **state)
{
    (void)state;
    struct rz_comm *comm = comm_on("00001111");
    rz_liveness.members[5].first++;
    assert_int_equal(rz_comm_grouping(comm), RZ_GROUPING_NONE);
    rz_liveness.members[5].first--;
    rz_comm_release(comm);
}

/* Of a rank that is restored on another node: some members may have chosen by the first one. */
static void restored_members_keep_the_nodes_of_the_beginning(void **state)
{
    struct rz_member *member = &rz_liveness.members[5];
    const struct rz_member before = *member;
    bool rewinds = rz_engine.rewinds;
    (void)state;
    fake_reincarnate_on(5, 2, 7);
    member->home = 3;
    rz_engine.rewinds = true;
    rz_liveness_refresh(5);
    assert_int_equal(member->home, 3);
    member->word = 0; /* a process that has no image */
    rz_liveness_refresh(5);
    assert_int_equal(member->home, 7);
    member->home = 3;
    rz_engine.rewinds = false;
    rz_liveness_refresh(5);
    assert_int_equal(member->home, 7);
    rz_engine.rewinds = rewinds;
    fake_reincarnate(5, 1);
    *member = before;
    rz_liveness.failures = false;
}

static void leaders_are_chosen_where_brackets_stay(void **state)
{
    (void)state;
    struct rz_comm *blocks = comm_on("00112233"), *apart;
    assert_int_equal(rz_coll_choose(blocks, RZ_COLL_ALLREDUCE, 8, 0), RZ_COLL_LEADERS);
    apart = comm_on("01230123");
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_ALLREDUCE, 8, RZ_COLL_COMMUTES),
                     RZ_COLL_DOUBLING);
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_REDUCE, 8, RZ_COLL_COMMUTES), RZ_COLL_TREE);
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_BARRIER, 0, 0), RZ_COLL_LEADERS);
    rz_comm_set_hint(apart, RZ_HINT_REPRODUCIBLE, 1);
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_ALLREDUCE, 8, 0), RZ_COLL_DOUBLING);
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_ALLREDUCE, 8, RZ_COLL_COMMUTES),
                     RZ_COLL_LEADERS);
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_REDUCE, 8, RZ_COLL_COMMUTES), RZ_COLL_LEADERS);
    set_rules("alltoall=leaders,barrier=leaders");
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_ALLTOALL, 8, 0), RZ_COLL_DIRECT);
    assert_int_equal(rz_coll_choose(apart, RZ_COLL_ALLTOALL, 4096, RZ_COLL_REGULAR),
                     RZ_COLL_LEADERS);
    struct rz_comm *one_node = comm_on("00000000");
    assert_int_equal(rz_coll_choose(one_node, RZ_COLL_BARRIER, 0, 0), RZ_COLL_DISSEMINATION);
    set_rules("");
    rz_comm_release(one_node);
    rz_comm_release(blocks);
    rz_comm_release(apart);
}

/* Where ranks outnumber processors, all on one node, few steps count: rank 0 serves all. Not where
 * its share of the bytes takes longer than the steps. */
static void few_steps_are_chosen_for_oversubscribed_ranks(void **state)
{
    static const struct {
        enum rz_coll_operation operation;
        int ranks;
        MPI_Count bytes;
        enum rz_coll_algorithm algorithm;
    } cases[] = {
        {RZ_COLL_BCAST, 2, 8, RZ_COLL_TREE},
        {RZ_COLL_BCAST, 3, 8, RZ_COLL_FLAT},
        {RZ_COLL_BCAST, 8, 1 << 20, RZ_COLL_FLAT},
        {RZ_COLL_ALLTOALL, 8, 64, RZ_COLL_DIRECT},
        {RZ_COLL_ALLTOALL, 12, 8, RZ_COLL_FLAT},
        {RZ_COLL_ALLTOALL, 16, 512, RZ_COLL_FLAT},
        {RZ_COLL_ALLTOALL, 16, 513, RZ_COLL_DIRECT},
        {RZ_COLL_ALLTOALL, 32, 257, RZ_COLL_DIRECT},
        {RZ_COLL_ALLTOALL, 64, 2048, RZ_COLL_FLAT},
        {RZ_COLL_ALLTOALL, 64, 2049, RZ_COLL_DIRECT},
        {RZ_COLL_ALLREDUCE, 4, 32768, RZ_COLL_DIRECT},
        {RZ_COLL_ALLREDUCE, 4, 65536, RZ_COLL_FLAT},
        {RZ_COLL_ALLREDUCE, 4, 98304, RZ_COLL_DIRECT},
        {RZ_COLL_ALLREDUCE, 12, 196608, RZ_COLL_DIRECT},
        {RZ_COLL_ALLREDUCE, 64, 1 << 20, RZ_COLL_TREE},
    };
    (void)state;
    enum { MOST = 64 };
    uint32_t process[MOST];
    for (int i = 0; i < MOST; i++) {
        process[i] = fake_process((uint32_t)i % 8);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rz_comm *comm;
        struct rz_group *group = rz_group_new(cases[i].ranks, process);
        assert_int_equal(
            rz_comm_derive(fake_comm(), group, rz_comm_begin(fake_comm(), ""), 0, &comm),
            MPI_SUCCESS);
        comm->oversubscribed = RZ_OVERSUBSCRIBED_NODE;
        comm->grouping = RZ_GROUPING_NONE;
        assert_int_equal(rz_coll_choose(comm, cases[i].operation, cases[i].bytes,
                                        RZ_COLL_ELEMENTS | RZ_COLL_ROW | RZ_COLL_REGULAR),
                         cases[i].algorithm);
        rz_comm_release(comm);
        rz_group_release(group);
    }
}

static void each_operation_has_a_rule_for_all_cases(void **state)
{
    (void)state;
    for (int operation = 0; operation < RZ_COLL_OPERATIONS; operation++) {
        for (MPI_Count bytes = 0; bytes < (MPI_Count)1 << 40; bytes = 2 * bytes + 1) {
            enum rz_coll_algorithm chosen =
                rz_coll_choose(fake_comm(), (enum rz_coll_operation)operation, bytes, 0);
            assert_non_null(rz_coll_algorithm_name((enum rz_coll_operation)operation, chosen));
        }
        assert_non_null(rz_coll_operation_name((enum rz_coll_operation)operation));
    }
    assert_null(rz_coll_operation_name(RZ_COLL_OPERATIONS));
    assert_null(rz_coll_algorithm_name(RZ_COLL_BARRIER, RZ_COLL_RING));
}

static void a_wrong_rule_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"allreduce", "'OPERATION='"},
        {"sort=tree", "barrier, bcast"},
        {"=tree", "'OPERATION='"},
        {"allreduce=", "'' is no algorithm of allreduce, which has: tree, flat, doubling, direct"},
        {"allreduce=bruck", "'bruck' is no algorithm of allreduce"},
        {"allreduce=flat,bcast=oak@1", "'oak' is no algorithm of bcast"},
        {"allreduce=flat@", "'@BYTES'"},
        {"allreduce=flat@x", "'@BYTES'"},
        {"allreduce=flat@-1", "'@BYTES'"},
        {"allreduce=flat@1:0", "'@BYTES'"},
        {"allreduce=flat@1:", "'@BYTES'"},
        {"allreduce=flat@1KK", "'@BYTES'"},
        {"allreduce=flat@99999999999999999999", "'@BYTES'"},
        {"allreduce=flat@9999999999G", "'@BYTES'"},
        {"allreduce=flat:4", "'flat:4' is no algorithm"},
        {"@/nowhere/rules", "'/nowhere/rules' cannot be read"},
        {"@/", "'/' cannot be read"},
    };
    set_rules("allreduce=flat");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(rz_coll_set_rules(wrong[i].text), MPI_ERR_OTHER);
        assert_non_null(strstr(rzm_error_reason(MPI_ERR_OTHER), wrong[i].says));
        assert_int_equal(allreduce(8, RZ_COLL_ROW), RZ_COLL_FLAT);
    }
    set_rules("");
}

static void rules_come_from_a_file_too(void **state)
{
    (void)state;
    char path[] = "/tmp/rules.XXXXXX", text[32];
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputs("# of this machine\nallreduce=tree # short ones\n\n\tallreduce=flat@4K\r\n#allreduce=x",
          file);
    assert_int_equal(fclose(file), 0);
    snprintf(text, sizeof(text), "@%s", path);
    set_rules(text);
    assert_int_equal(allreduce(8, 0), RZ_COLL_TREE);
    assert_int_equal(allreduce(4096, RZ_COLL_ROW), RZ_COLL_FLAT);
    unlink(path);
    set_rules("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(the_last_rule_that_applies_counts),
        IN_WORLD(an_algorithm_gets_what_it_needs),
        IN_WORLD(members_lie_on_nodes_in_one_of_three_ways),
        IN_WORLD(the_last_block_may_be_shorter),
        IN_WORLD(nodes_of_a_later_process_are_not_known),
        IN_WORLD(restored_members_keep_the_nodes_of_the_beginning),
        IN_WORLD(leaders_are_chosen_where_brackets_stay),
        IN_WORLD(few_steps_are_chosen_for_oversubscribed_ranks),
        IN_WORLD(each_operation_has_a_rule_for_all_cases),
        IN_WORLD(a_wrong_rule_is_refused_and_changes_nothing),
        IN_WORLD(rules_come_from_a_file_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
