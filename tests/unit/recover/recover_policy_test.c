/* SPDX-License-Identifier: BSD-3-Clause */
/* The pure functions behind a decision: golden cases, input and decision. */
#include "proto/recover/recover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NONE RZ_ID_NONE

/* One letter per daemon: L live, s silent, . failed. */
static const struct {
    const char *votes;
    rz_id tie_breaker;
    bool quorum;
} quorum_cases[] = {
    {"L", NONE, true},        {"s", NONE, false},        {"LL", NONE, true},
    {"Ls", NONE, true},       {"sL", NONE, false},       {"sL", 1, true},
    {"Ls", 1, false},         {".L", NONE, true},        {"L.", NONE, true},
    {"LLs", NONE, true},      {"Lss", NONE, false},      {"ssL", 2, false},
    {"s.L", NONE, false},     {"s.L", 2, true},          {".sL", NONE, false},
    {"L.s", NONE, true},      {"..L", NONE, true},       {"LLss", NONE, true},
    {"ssLL", NONE, false},    {"ssLL", 3, true},         {"LLss", 2, false},
    {"LLLs", NONE, true},     {"Lsss", NONE, false},     {"Lsss", 0, false},
    {".LLs", NONE, true},     {".sLL", NONE, true},      {".sL.", NONE, false},
    {".sL.", 0, false},       {".Ls.", 0, true},         {"LLsss", NONE, false},
    {"sssLL", NONE, false},   {"LLLss", NONE, true},     {"ssLLL", NONE, true},
    {"s.LLs", NONE, false},   {"s.LLs", 2, true},        {"LsLs.", NONE, true},
    {"sLsL.", NONE, false},   {"....L", 0, true},        {"....s", NONE, false},
    {"sLLLss", NONE, false},  {"LsLLss", NONE, true},    {"sLLLss", 1, true},
    {"LLL.ss", 4, true},      {"sssssssL", 7, false},    {".......L", NONE, true},
    {"LLLLssss", NONE, true}, {"ssssLLLL", NONE, false}, {"ssssLLLL.", 8, false},
};

static void quorum_is_a_majority_of_those_not_gone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(quorum_cases) / sizeof(*quorum_cases); i++) {
        const char *text = quorum_cases[i].votes;
        uint32_t n = (uint32_t)strlen(text);
        uint8_t votes[16];
        for (uint32_t d = 0; d < n; d++) {
            votes[d] = text[d] == 'L'   ? RZ_VOTE_LIVE
                       : text[d] == 's' ? RZ_VOTE_SILENT
                                        : RZ_VOTE_GONE;
        }
        if (rz_recover_has_quorum(votes, n, quorum_cases[i].tie_breaker) !=
            quorum_cases[i].quorum) {
            fail_msg("votes %s, tie-breaker %d: quorum should be %d", text,
                     (int)quorum_cases[i].tie_breaker, quorum_cases[i].quorum);
        }
    }
}

/* Whatever way a partition cuts, whatever has failed with proof before: never two quorums. */
static void no_partition_has_two_quorums(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 6; n++) {
        for (uint32_t gone = 0; gone < 1u << n; gone++) {
            for (uint32_t side = 0; side < 1u << n; side++) {
                for (uint32_t tie = 0; tie <= n; tie++) {
                    uint8_t a[6], b[6];
                    for (uint32_t d = 0; d < n; d++) {
                        bool is_gone = gone >> d & 1, in_a = side >> d & 1;
                        a[d] = is_gone ? RZ_VOTE_GONE : in_a ? RZ_VOTE_LIVE : RZ_VOTE_SILENT;
                        b[d] = is_gone ? RZ_VOTE_GONE : in_a ? RZ_VOTE_SILENT : RZ_VOTE_LIVE;
                    }
                    rz_id breaker = tie == n ? NONE : tie;
                    bool both = rz_recover_has_quorum(a, n, breaker) &&
                                rz_recover_has_quorum(b, n, breaker);
                    bool none = !rz_recover_has_quorum(a, n, breaker) &&
                                !rz_recover_has_quorum(b, n, breaker);
                    assert_false(both);
                    assert_true(!none || gone == (1u << n) - 1);
                }
            }
        }
    }
}

/* Digits: the daemon of each rank, the slots of each daemon; x: failed. */
struct placement_case {
    const char *placement, *slots, *failed, *expected;
};

static const struct placement_case placement_cases[] = {
    {"0123", "1111", "----", "0123"},
    {"0011", "22", "x-", "1111"}, /* no daemon has a free slot: oversubscribed */
    {"0011", "22", "-x", "0000"},
    {"00112233", "2222", "-x--", "00022233"},   /* both overfull: 0 first, then 2 */
    {"00112233", "22222", "x----", "44112233"}, /* the spare has the free slots */
    {"00112233", "22223", "-x---", "00442233"},
    {"00112233", "222211", "--x---", "00114533"}, /* two spares with one slot each */
    {"00112233", "3333", "---x", "00112201"},     /* least loaded first, then lower id */
    {"00112233", "2242", "---x", "00112222"},     /* a free slot before a lower load */
    {"01230123", "2222", "xx--", "22233323"},     /* two each: runs, not in turn */
    {"0", "1111", "xxx-", "3"},
    {"01", "11", "x-", "11"},
    {"000111222", "3333", "x---", "333111222"},
    {"000111222", "33333", "x----", "334111222"}, /* spread over two spares */
    {"000011112222", "6666", "-x--", "000033332222"},
    {"000011112222", "555", "-x-", "000000222222"}, /* in runs, as neighbours they were */
    {"000111222", "444", "-x-", "000002222"}, /* one each, and the third: all full, equal, lowest */
};

/* The ranks of each lost daemon stay together if one has slots for all of them. */
static const struct placement_case together_cases[] = {
    {"0011", "44", "x-", "1111"},
    {"00112233", "2222", "-x--", "00022233"},   /* none has: one by one */
    {"00112233", "4444", "-x--", "00002233"},   /* 0, not half of them 2 */
    {"00112233", "22222", "x----", "44112233"}, /* the spare */
    {"000111222", "33333", "x----", "333111222"},
    {"000111222", "33333", "xx---", "333444222"},
    {"000111222", "33333", "xxx--", "333444334"}, /* the last three one by one */
    {"0001222", "3436", "x---", "3331222"},       /* the least loaded of those with room */
    {"0001222", "3436", "x--x", "1111222"},
};

static void look_at_case(const struct placement_case *one, bool together)
{
    uint32_t n_ranks = (uint32_t)strlen(one->placement), n = (uint32_t)strlen(one->slots);
    uint32_t placement[16], slots[16], load[16];
    bool failed[16];
    char result[17] = "";
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        placement[rank] = (uint32_t)(one->placement[rank] - '0');
    }
    for (uint32_t d = 0; d < n; d++) {
        slots[d] = (uint32_t)(one->slots[d] - '0');
        failed[d] = one->failed[d] == 'x';
    }
    if (together) {
        rz_recover_place_together(placement, n_ranks, slots, failed, n, load);
    }
    rz_recover_place(placement, n_ranks, slots, failed, n, load);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        result[rank] = (char)('0' + placement[rank]);
    }
    if (strcmp(result, one->expected) != 0) {
        fail_msg("%s, slots %s, failed %s: %s, should be %s", one->placement, one->slots,
                 one->failed, result, one->expected);
    }
}

static void lost_ranks_go_where_there_is_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(placement_cases) / sizeof(*placement_cases); i++) {
        look_at_case(&placement_cases[i], false);
    }
    for (size_t i = 0; i < sizeof(together_cases) / sizeof(*together_cases); i++) {
        look_at_case(&together_cases[i], true);
    }
}

static void only_the_slots_of_the_living_count(void **state)
{
    static const uint32_t slots[] = {2, UINT32_MAX, UINT32_MAX, 5};
    (void)state;
    assert_true(rz_recover_slots_left(slots, (bool[]){true, true, true, true}, 4) == 0);
    assert_true(rz_recover_slots_left(slots, (bool[]){false, true, true, false}, 4) == 7);
    assert_true(rz_recover_slots_left(slots, (bool[]){true, false, false, true}, 4) ==
                2 * (uint64_t)UINT32_MAX);
}

static void failures_travel_as_items(void **state)
{
    uint32_t rank, incarnation;
    rz_id daemon;
    bool proof;
    (void)state;
    uint64_t process = rz_recover_pack_process(0x0FFFFFFF, 0xFFFFFFFE);
    assert_true(rz_recover_unpack_process(process, &rank, &incarnation));
    assert_int_equal(rank, 0x0FFFFFFF);
    assert_int_equal(incarnation, 0xFFFFFFFE);
    assert_false(rz_recover_unpack_daemon(process, &daemon, &proof));
    for (int with = 0; with < 2; with++) {
        uint64_t item = rz_recover_pack_daemon(0xFFFFFFFE, with);
        assert_true(rz_recover_unpack_daemon(item, &daemon, &proof));
        assert_int_equal(daemon, 0xFFFFFFFE);
        assert_int_equal(proof, with);
        assert_false(rz_recover_unpack_process(item, &rank, &incarnation));
        assert_true(item > process);
    }
}

static void damage_travels_as_items(void **state)
{
    uint32_t epoch, slot, count;
    rz_id daemon;
    bool proof;
    (void)state;
    uint64_t damage = rz_recover_pack_damage(RZ_RECOVER_SLOTS_MAX - 1, 0xFFFFFFFE);
    assert_true(rz_recover_unpack_damage(damage, &daemon, &epoch));
    assert_int_equal(daemon, RZ_RECOVER_SLOTS_MAX - 1);
    assert_int_equal(epoch, 0xFFFFFFFE);
    assert_false(rz_recover_unpack_process(damage, &slot, &epoch));
    assert_false(rz_recover_unpack_daemon(damage, &daemon, &proof));
    assert_false(rz_recover_unpack_spawn(damage, &slot, &epoch));
    assert_false(rz_recover_unpack_cohort(damage, &daemon, &slot, &count));
    assert_false(
        rz_recover_unpack_damage(rz_recover_pack_daemon(0xFFFFFFFE, true), &daemon, &epoch));
    assert_true(damage > rz_recover_pack_daemon(0xFFFFFFFE, true));
    assert_true(damage < rz_recover_pack_spawn(0, 2));
}

static void spawns_travel_as_items(void **state)
{
    uint32_t slot, incarnation, serial, count;
    rz_id node;
    bool proof;
    (void)state;
    uint64_t spawn = rz_recover_pack_spawn(RZ_RECOVER_SLOTS_MAX - 1, 0xFFFFFFFE);
    assert_true(rz_recover_unpack_spawn(spawn, &slot, &incarnation));
    assert_int_equal(slot, RZ_RECOVER_SLOTS_MAX - 1);
    assert_int_equal(incarnation, 0xFFFFFFFE);
    assert_false(rz_recover_unpack_process(spawn, &slot, &incarnation));
    assert_false(rz_recover_unpack_daemon(spawn, &node, &proof));
    assert_false(rz_recover_unpack_cohort(spawn, &node, &serial, &count));
    assert_true(spawn > rz_recover_pack_daemon(0xFFFFFFFE, true));
    uint64_t refused = rz_recover_pack_refused(RZ_RECOVER_SLOTS_MAX - 1, 7);
    assert_true(rz_recover_unpack_refused(refused, &slot, &incarnation));
    assert_int_equal(slot, RZ_RECOVER_SLOTS_MAX - 1);
    assert_int_equal(incarnation, 7);
    assert_false(rz_recover_unpack_spawn(refused, &slot, &incarnation));
    assert_false(rz_recover_unpack_cohort(refused, &node, &serial, &count));
    assert_false(rz_recover_unpack_refused(spawn, &slot, &incarnation));

    uint64_t cohort =
        rz_recover_pack_cohort(RZ_RECOVER_COHORT_NODES_MAX - 1, RZ_RECOVER_COHORT_SERIALS_MAX - 1,
                               RZ_RECOVER_COHORT_COUNT_MAX - 1);
    assert_true(rz_recover_unpack_cohort(cohort, &node, &serial, &count));
    assert_int_equal(node, RZ_RECOVER_COHORT_NODES_MAX - 1);
    assert_int_equal(serial, RZ_RECOVER_COHORT_SERIALS_MAX - 1);
    assert_int_equal(count, RZ_RECOVER_COHORT_COUNT_MAX - 1);
    cohort = rz_recover_pack_cohort(0, 1, 1);
    assert_true(cohort > refused && refused > spawn);
    assert_true(rz_recover_pack_cohort(0, 2, 1) > rz_recover_pack_cohort(0, 1, 9));
    assert_true(rz_recover_pack_cohort(1, 1, 1) > rz_recover_pack_cohort(0, 2, 1));
    assert_false(rz_recover_unpack_process(cohort, &slot, &incarnation));
    assert_false(rz_recover_unpack_daemon(cohort, &node, &proof));
    assert_false(rz_recover_unpack_spawn(cohort, &slot, &incarnation));
}

/* A flag of the hosts makes of the item of a process nothing else. */
static void flags_of_the_hosts_leave_no_item(void **state)
{
    uint32_t slot, incarnation, count;
    rz_id node;
    bool proof;
    (void)state;
    for (uint64_t flag = UINT64_C(1) << 61; flag <= UINT64_C(1) << 62; flag <<= 1) {
        uint64_t item = rz_recover_pack_process(5, 7) | flag;
        assert_true((item & RZ_RECOVER_HOST_FLAGS) == flag);
        assert_false(rz_recover_unpack_process(item, &slot, &incarnation));
        assert_false(rz_recover_unpack_daemon(item, &node, &proof));
        assert_false(rz_recover_unpack_spawn(item, &slot, &incarnation));
        assert_false(rz_recover_unpack_cohort(item, &node, &slot, &count));
        assert_true(rz_recover_unpack_process(item & ~RZ_RECOVER_HOST_FLAGS, &slot, &incarnation));
        assert_int_equal(slot, 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quorum_is_a_majority_of_those_not_gone),
        cmocka_unit_test(no_partition_has_two_quorums),
        cmocka_unit_test(lost_ranks_go_where_there_is_room),
        cmocka_unit_test(only_the_slots_of_the_living_count),
        cmocka_unit_test(failures_travel_as_items),
        cmocka_unit_test(damage_travels_as_items),
        cmocka_unit_test(spawns_travel_as_items),
        cmocka_unit_test(flags_of_the_hosts_leave_no_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
