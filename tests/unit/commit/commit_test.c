/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequences of a group of stores, written by hand; and the consequences of a new epoch, as golden
 * cases. */
#include "../recover/group_rig.h"
#include "proto/commit/commit.h"
#include "proto/commit/stripes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NONE RZ_ID_NONE

static enum rz_more step(void *state, const struct rz_event *event, struct rz_actions *out)
{
    return rz_commit_step(state, event, out);
}

static void grow(void *state, size_t bytes)
{
    rz_commit_grow(state, bytes);
}

static struct rig *rig_open_with(struct rz_commit_config config)
{
    static struct rig rig;
    uint32_t n = config.n_daemons;
    config.view = 3;
    rig = (struct rig){.n = n, .step = step, .grow = grow};
    for (rz_id d = 0; d < n; d++) {
        rig.state[d] = malloc(rz_commit_size(&config));
        assert_non_null(rig.state[d]);
        rz_commit_init(rig.state[d], &config, d, 0, 17);
    }
    return &rig;
}

static struct rig *rig_open(uint32_t n, uint32_t n_ranks)
{
    return rig_open_with((struct rz_commit_config){.n_daemons = n, .n_ranks = n_ranks});
}

static rz_id buddy_of(const struct rz_commit *c, uint32_t rank)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    uint32_t n = rz_commit_keepers(c, rank, keepers);
    assert_true(n <= 1);
    return n ? keepers[0] : NONE;
}

static rz_id holder_of(const struct rz_commit *c, uint32_t rank)
{
    rz_id holders[2];
    return rz_commit_holders(c, rank, holders) ? holders[0] : NONE;
}

/* All keepers acknowledge. */
static void copied(struct rig *rig, rz_id owner, uint32_t epoch, uint64_t generation, uint32_t rank)
{
    rz_id keepers[RZ_COMMIT_MEMBERS_MAX];
    uint32_t n = rz_commit_keepers(rig->state[owner], rank, keepers);
    for (uint32_t i = 0; i < n; i++) {
        rig_call_4(rig, owner, RZ_COMMIT_COPIED, epoch, generation, rank, keepers[i]);
    }
}

#define ALL(rig, d)                                                                                \
    for (rz_id d = 0; d < (rig)->n; d++)                                                           \
        if ((rig)->state[d])

/* placement: a digit per rank; failed: a digit per daemon agreed failed. Every daemon receives
 * it. */
static void begin(struct rig *rig, uint32_t epoch, uint64_t generation, const char *placement,
                  const char *failed)
{
    uint64_t items[32];
    uint32_t n = 0;
    for (const char *at = placement; *at; at++) {
        items[n++] = (uint64_t)(*at - '0');
    }
    for (const char *at = failed; *at; at++) {
        items[n++] = (uint64_t)(*at - '0');
    }
    rig->seen = rig->n_notices;
    ALL(rig, d)
    rig_call_items(rig, d, RZ_COMMIT_EPOCH, epoch, generation, items, n);
    rig_run(rig);
}

static void open_barrier(struct rig *rig, uint32_t epoch)
{
    ALL(rig, d)
    rig_call(rig, d, RZ_COMMIT_OPENED, epoch, 0, 0);
    rig_run(rig);
}

static void store(struct rig *rig, uint32_t epoch, uint64_t generation, uint32_t rank,
                  const char *placement)
{
    rz_id owner = (rz_id)(placement[rank] - '0');
    rig_call(rig, owner, RZ_COMMIT_STORED, epoch, generation, rank);
    copied(rig, owner, epoch, generation, rank);
}

static void store_all(struct rig *rig, uint32_t epoch, uint64_t generation, const char *placement)
{
    for (uint32_t rank = 0; placement[rank]; rank++) {
        store(rig, epoch, generation, rank, placement);
    }
    rig_run(rig);
}

static void assert_generation(struct rig *rig, uint64_t generation)
{
    ALL(rig, d)
    assert_int_equal(rz_commit_generation(rig->state[d]), generation);
}

static void a_generation_needs_every_piece_in_both_places(void **state)
{
    (void)state;
    struct rig *rig = rig_open(3, 4);
    begin(rig, 1, 0, "0011", ""); /* daemon 2 carries no rank and still takes part */
    ALL(rig, d)
    {
        assert_int_equal(rig_next(rig, d, RZ_COMMIT_RESTORE)->arg[1], 0);
        assert_non_null(rig_next(rig, d, RZ_COMMIT_PROTECTED));
    }
    open_barrier(rig, 1);
    for (uint32_t rank = 0; rank < 3; rank++) {
        store(rig, 1, 1, rank, "0011");
    }
    rig_call(rig, 1, RZ_COMMIT_STORED, 1, 1, 3);
    rig_run(rig);
    assert_generation(rig, 0);
    copied(rig, 1, 2, 1, 3); /* another epoch */
    rig_run(rig);
    assert_generation(rig, 0);
    copied(rig, 1, 1, 1, 3);
    rig_run(rig);
    assert_generation(rig, 1);
    ALL(rig, d)
    {
        const struct rig_notice *committed = rig_next(rig, d, RZ_COMMIT_COMMITTED);
        assert_non_null(committed);
        assert_int_equal(committed->arg[0], 1);
        assert_int_equal(committed->arg[1], 1);
        assert_int_equal(rz_commit_next(rig->state[d]), 2);
    }
    store_all(rig, 1, 2, "0011");
    store_all(rig, 1, 3, "0011");
    assert_generation(rig, 3);
    rig_close(rig);
}

static void alone_there_is_no_buddy_to_wait_for(void **state)
{
    (void)state;
    struct rig *rig = rig_open(1, 2);
    begin(rig, 1, 0, "00", "");
    assert_int_equal(buddy_of(rig->state[0], 0), NONE);
    open_barrier(rig, 1);
    rig_call(rig, 0, RZ_COMMIT_STORED, 1, 1, 0);
    rig_call(rig, 0, RZ_COMMIT_STORED, 1, 1, 1);
    assert_generation(rig, 1);
    rig_close(rig);
}

static void nothing_commits_before_the_barrier_opens(void **state)
{
    (void)state;
    struct rig *rig = rig_open(2, 2);
    begin(rig, 1, 0, "01", "");
    store_all(rig, 1, 1, "01");
    assert_generation(rig, 0);
    open_barrier(rig, 1);
    assert_generation(rig, 1);
    rig_close(rig);
}

/* failed in the second epoch, the placement of it; then per rank: holder (x: none), whether all can
 * be restored. */
static const struct {
    const char *first, *failed, *second, *holders, *buddies;
    bool restorable;
} epochs[] = {
    {"0123", "", "0123", "0123", "1230", true},
    {"0123", "1", "0223", "0223", "2330", true}, /* rank 1 moves to its buddy */
    {"0123", "1", "0023", "0223", "2230",
     true}, /* rank 1 moves elsewhere: fetched from the buddy */
    {"0123", "3", "0120", "0120", "1201", true}, /* the last daemon's buddy is the first */
    {"0123", "13", "0220", "0220", "2002", true},
    {"0123", "02", "1133", "1133", "3311", true},
    {"0123", "12", "0303", "xxxx", "3030", false}, /* an owner and its buddy */
    {"0123", "012", "3333", "xxxx", "xxxx", false},
    {"0000", "23", "0000", "0000", "1111", true},
    {"0000", "12", "0000", "0000", "3333", true}, /* the buddy failed: the owner copies again */
    {"0000", "0", "1111", "1111", "2222", true},
    {"0000", "0", "2222", "1111", "3333", true},
    {"0000", "01", "2222", "xxxx", "3333", false},
    {"3333", "3", "0000", "0000", "1111", true},
};

static char digit(rz_id id)
{
    return (char)(id == NONE ? 'x' : '0' + id);
}

static void a_generation_is_restored_from_the_members_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(epochs) / sizeof(*epochs); i++) {
        struct rig *rig = rig_open(4, 4);
        begin(rig, 1, 0, epochs[i].first, "");
        open_barrier(rig, 1);
        store_all(rig, 1, 1, epochs[i].first);
        assert_generation(rig, 1);
        for (const char *failed = epochs[i].failed; *failed; failed++) {
            rig_kill(rig, (rz_id)(*failed - '0'));
        }
        begin(rig, 2, 1, epochs[i].second, epochs[i].failed);
        ALL(rig, d)
        {
            char holders[5] = "", buddies[5] = "";
            for (uint32_t rank = 0; rank < 4; rank++) {
                holders[rank] = digit(holder_of(rig->state[d], rank));
                buddies[rank] = digit(buddy_of(rig->state[d], rank));
            }
            if (strcmp(holders, epochs[i].holders) != 0 ||
                strcmp(buddies, epochs[i].buddies) != 0) {
                fail_msg("case %zu at %u: holders %s (%s), buddies %s (%s)", i, d, holders,
                         epochs[i].holders, buddies, epochs[i].buddies);
            }
            assert_int_equal(rig_next(rig, d, RZ_COMMIT_RESTORE)->arg[1], epochs[i].restorable);
            assert_int_equal(rz_commit_generation(rig->state[d]), epochs[i].restorable);
            assert_int_equal(rz_commit_written_in(rig->state[d]), epochs[i].restorable);
            assert_int_equal(rz_commit_next(rig->state[d]), 2);
        }
        rig_close(rig);
    }
}

static void protected_is_told_once_both_places_have_it(void **state)
{
    (void)state;
    struct rig *rig = rig_open(4, 4);
    begin(rig, 1, 0, "0123", "");
    open_barrier(rig, 1);
    store_all(rig, 1, 1, "0123");
    rig_kill(rig, 1);
    begin(rig, 2, 1, "0023", "1"); /* rank 1 to 0, whose new buddy is 2, as of rank 0 */
    assert_null(rig_next(rig, 0, RZ_COMMIT_PROTECTED));
    assert_null(rig_next(rig, 2, RZ_COMMIT_PROTECTED)); /* it has not looked at its piece */
    for (uint32_t rank = 2; rank < 4; rank++) {
        rig_call(rig, rank, RZ_COMMIT_STORED, 2, 1, rank);
    }
    rig_call(rig, 0, RZ_COMMIT_STORED, 2, 1, 0);
    assert_non_null(rig_next(rig, 2, RZ_COMMIT_PROTECTED));
    assert_non_null(rig_next(rig, 3, RZ_COMMIT_PROTECTED));
    assert_true(rz_commit_needs_copy(rig->state[0], 0));
    assert_false(rz_commit_needs_copy(rig->state[0], 1)); /* 2 was its buddy before */
    assert_false(rz_commit_needs_copy(rig->state[0], 2)); /* no rank of its own */
    rig_call(rig, 0, RZ_COMMIT_STORED, 2, 1, 1);
    assert_null(rig_next(rig, 0, RZ_COMMIT_PROTECTED));
    copied(rig, 0, 2, 1, 0);
    assert_int_equal(rig_count(rig, 0, RZ_COMMIT_PROTECTED), 1);
    copied(rig, 0, 2, 1, 0);
    assert_int_equal(rig_count(rig, 0, RZ_COMMIT_PROTECTED), 1);
    rig_close(rig);
}

/* Until the barrier of the new epoch opens, the old placement is where the pieces are. */
static void a_failure_before_the_barrier_counts_against_the_old_placement(void **state)
{
    (void)state;
    for (int opened = 0; opened < 2; opened++) {
        struct rig *rig = rig_open(4, 4);
        begin(rig, 1, 0, "0123", "");
        open_barrier(rig, 1);
        store_all(rig, 1, 1, "0123");
        rig_kill(rig, 1);
        begin(rig, 2, 1, "0023", "1");
        rig_call(rig, 0, RZ_COMMIT_STORED, 2, 1, 1);
        copied(rig, 0, 2, 1, 0);
        if (opened) {
            open_barrier(rig, 2);
        }
        /* 2 held rank 1 in the old placement; 0 and 2 do so in the new one. */
        rig_kill(rig, 2);
        begin(rig, 3, 1, "0033", "12");
        ALL(rig, d)
        assert_int_equal(rig_next(rig, d, RZ_COMMIT_RESTORE)->arg[1], opened);
        rig_close(rig);
    }
}

static void numbers_go_on_after_a_loss(void **state)
{
    (void)state;
    struct rig *rig = rig_open(3, 3);
    begin(rig, 1, 0, "012", "");
    open_barrier(rig, 1);
    for (uint64_t generation = 1; generation <= 4; generation++) {
        store_all(rig, 1, generation, "012");
    }
    rig_kill(rig, 0);
    rig_kill(rig, 1);
    begin(rig, 2, 4, "222", "01"); /* rank 0 is lost: 0 and its buddy 1 have failed */
    assert_int_equal(rig_next(rig, 2, RZ_COMMIT_RESTORE)->arg[1], 0);
    assert_non_null(rig_next(rig, 2, RZ_COMMIT_PROTECTED));
    assert_generation(rig, 0);
    open_barrier(rig, 2);
    for (uint32_t rank = 0; rank < 3; rank++) {
        rig_call(rig, 2, RZ_COMMIT_STORED, 2, 4, rank); /* a number of the past */
    }
    assert_generation(rig, 0);
    begin(rig, 3, 4, "222", "01"); /* a process failed: what was lost stays lost */
    assert_int_equal(rig_next(rig, 2, RZ_COMMIT_RESTORE)->arg[1], 0);
    open_barrier(rig, 3);
    for (uint32_t rank = 0; rank < 3; rank++) {
        rig_call(rig, 2, RZ_COMMIT_STORED, 3, 5, rank);
    }
    assert_generation(rig, 5);
    begin(rig, 4, 5, "222", "01");
    assert_int_equal(rig_next(rig, 2, RZ_COMMIT_RESTORE)->arg[1], 5);
    assert_int_equal(rz_commit_written_in(rig->state[2]), 3);
    rig_close(rig);
}

static void a_message_about_the_next_generation_is_proof(void **state)
{
    (void)state;
    struct rig *rig = rig_open(3, 3);
    begin(rig, 1, 0, "012", "");
    open_barrier(rig, 1);
    rig_call(rig, 1, RZ_COMMIT_PROOF, 1, 1, 0); /* not contributed to: cannot be */
    assert_generation(rig, 0);
    store(rig, 1, 1, 1, "012");
    rig_call(rig, 1, RZ_COMMIT_PROOF, 2, 1, 0); /* another epoch */
    assert_int_equal(rz_commit_generation(rig->state[1]), 0);
    rig_call(rig, 1, RZ_COMMIT_PROOF, 1, 1, 0);
    assert_int_equal(rz_commit_generation(rig->state[1]), 1);
    store(rig, 1, 1, 0, "012");
    store(rig, 1, 1, 2, "012");
    rig_run(rig);
    assert_int_equal(rig_count(rig, 1, RZ_COMMIT_COMMITTED), 1);
    assert_generation(rig, 1);
    rig_close(rig);
}

static void a_failure_ends_the_generations_of_its_epoch(void **state)
{
    (void)state;
    struct rig *rig = rig_open(3, 3);
    begin(rig, 1, 0, "012", "");
    open_barrier(rig, 1);
    store(rig, 1, 1, 0, "012");
    rig_run(rig);
    rig_kill(rig, 2);
    rig_tell(rig, 0, 2, true);
    rig_tell(rig, 1, 2, true);
    store(rig, 1, 1, 1, "012");
    rig_run(rig);
    assert_generation(rig, 0);
    /* The messages of the epoch are not taken for those of the next one. */
    begin(rig, 2, 0, "010", "2");
    open_barrier(rig, 2);
    store_all(rig, 2, 1, "010");
    assert_generation(rig, 1);
    rig_close(rig);
}

/* ---- schemes ---- */

/* Whether the generation can be restored when the daemons of the mask have failed, one rank on each
 * of n; all survivors must say the same. */
static bool survives(struct rz_commit_config config, uint32_t mask)
{
    char first[9] = "", second[9] = "", failed[9] = "";
    uint32_t n = config.n_daemons, replacement = 0;
    config.n_ranks = n;
    struct rig *rig = rig_open_with(config);
    while (mask >> replacement & 1) {
        replacement++;
    }
    for (uint32_t d = 0; d < n; d++) {
        first[d] = (char)('0' + d);
        second[d] = (char)('0' + (mask >> d & 1 ? replacement : d));
        if (mask >> d & 1) {
            failed[strlen(failed)] = (char)('0' + d);
        }
    }
    begin(rig, 1, 0, first, "");
    open_barrier(rig, 1);
    store_all(rig, 1, 1, first);
    assert_generation(rig, 1);
    for (uint32_t d = 0; d < n; d++) {
        if (mask >> d & 1) {
            rig_kill(rig, d);
        }
    }
    begin(rig, 2, 1, second, failed);
    bool restored = rig_next(rig, replacement, RZ_COMMIT_RESTORE)->arg[1] == 1;
    ALL(rig, d)
    assert_int_equal(rz_commit_generation(rig->state[d]), restored);
    rig_close(rig);
    return restored;
}

static uint32_t count(uint32_t mask)
{
    uint32_t n = 0;
    for (; mask; mask &= mask - 1) {
        n++;
    }
    return n;
}

static void each_scheme_bears_what_it_promises(void **state)
{
    (void)state;
    for (uint32_t mask = 0; mask < 31; mask++) {
        struct rz_commit_config config = {.n_daemons = 5, .scheme = RZ_COMMIT_MEMORY};
        assert_int_equal(survives(config, mask), mask == 0);
        config.scheme = RZ_COMMIT_FILES;
        assert_true(survives(config, mask));
        config.scheme = RZ_COMMIT_BUDDY; /* no neighbours in the ring */
        assert_int_equal(survives(config, mask), !(mask & (mask >> 1 | mask << 4)));
        config = (struct rz_commit_config){
            .n_daemons = 5, .scheme = RZ_COMMIT_GROUPS, .data = 3, .parity = 2};
        assert_int_equal(survives(config, mask), count(mask) <= 2);
        config.data = 1, config.parity = 4; /* all have everything */
        assert_true(survives(config, mask));
    }
    for (uint32_t mask = 0; mask < 255; mask++) { /* two groups of four: 0 to 3, 4 to 7 */
        struct rz_commit_config config = {
            .n_daemons = 8, .scheme = RZ_COMMIT_GROUPS, .data = 2, .parity = 1};
        assert_int_equal(survives(config, mask), count(mask & 15) <= 1 && count(mask >> 4) <= 1);
    }
}

static void groups_are_of_equal_size_or_one_more(void **state)
{
    static const struct {
        uint32_t n, data, parity, failed;
        const char *sizes; /* of the group of each live daemon */
        uint32_t kept;     /* parity of each group */
    } cases[] = {{5, 3, 2, 0, "55555", 2},    {7, 2, 1, 0, "4444333", 1},
                 {8, 2, 2, 0, "44444444", 2}, {8, 2, 2, 1, "7777777", 2},
                 {5, 3, 2, 1, "4444", 2},     {5, 3, 2, 2, "333", 2},
                 {5, 3, 2, 3, "22", 1},       {5, 3, 2, 4, "1", 0},
                 {6, 1, 1, 0, "222222", 1},   {1, 1, 1, 0, "1", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig *rig = rig_open_with((struct rz_commit_config){.n_daemons = cases[i].n,
                                                                  .n_ranks = 1,
                                                                  .scheme = RZ_COMMIT_GROUPS,
                                                                  .data = cases[i].data,
                                                                  .parity = cases[i].parity});
        char last[2] = {(char)('0' + cases[i].n - 1)}, failed[9] = "";
        for (uint32_t d = 0; d < cases[i].failed; d++) {
            failed[d] = (char)('0' + d);
        }
        for (uint32_t d = 0; d < cases[i].failed; d++) {
            rig_kill(rig, d);
        }
        begin(rig, 1, 0, last, failed);
        const struct rz_commit *c = rig->state[cases[i].n - 1];
        for (rz_id d = cases[i].failed; d < cases[i].n; d++) {
            struct rz_commit_group group;
            assert_true(rz_commit_group(c, RZ_COMMIT_NOW, d, &group));
            assert_false(rz_commit_group(c, RZ_COMMIT_HOME, d, &group) && group.n == 0);
            assert_true(rz_commit_group(c, RZ_COMMIT_NOW, d, &group));
            assert_int_equal(group.n, cases[i].sizes[d - cases[i].failed] - '0');
            assert_int_equal(group.parity, cases[i].kept);
            assert_int_equal(group.members[group.place], d);
        }
        for (rz_id d = 0; d < cases[i].failed; d++) {
            struct rz_commit_group group;
            assert_false(rz_commit_group(c, RZ_COMMIT_NOW, d, &group));
        }
        rig_close(rig);
    }
}

/* Each chunk in a stripe of its own, in the column of its own number; each stripe has all columns;
 * each daemon keeps something of each other. */
static void stripes_are_even(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 20; n++) {
        for (uint32_t parity = 1; parity < n; parity++) {
            uint32_t data = n - parity;
            for (uint32_t place = 0; place < n; place++) {
                uint32_t stripes = 0, keepers = 0;
                for (uint32_t chunk = 0; chunk < data; chunk++) {
                    uint32_t stripe = rz_stripe_of(n, parity, place, chunk), columns = 0;
                    stripes |= 1u << stripe;
                    assert_int_equal(rz_stripe_column(n, parity, stripe, place), chunk);
                    for (uint32_t other = 0; other < n; other++) {
                        uint32_t column = rz_stripe_column(n, parity, stripe, other);
                        columns |= 1u << column;
                        keepers |= column >= data ? 1u << other : 0;
                    }
                    assert_int_equal(columns, (1u << n) - 1);
                }
                assert_int_equal(count(stripes), data);
                assert_int_equal(keepers, ((1u << n) - 1) & ~(1u << place));
            }
        }
    }
}

static void every_keeper_must_acknowledge(void **state)
{
    (void)state;
    struct rig *rig = rig_open_with((struct rz_commit_config){
        .n_daemons = 4, .n_ranks = 1, .scheme = RZ_COMMIT_GROUPS, .data = 2, .parity = 2});
    begin(rig, 1, 0, "1", "");
    open_barrier(rig, 1);
    rig_call(rig, 1, RZ_COMMIT_STORED, 1, 1, 0);
    static const rz_id acks[] = {0, 0, 1, 2, 2}; /* 1 is the owner and counts for nothing */
    for (size_t i = 0; i < sizeof(acks) / sizeof(*acks); i++) {
        rig_call_4(rig, 1, RZ_COMMIT_COPIED, 1, 1, 0, acks[i]);
    }
    rig_run(rig);
    assert_generation(rig, 0);
    rig_call_4(rig, 1, RZ_COMMIT_COPIED, 1, 1, 0, 3);
    rig_run(rig);
    assert_generation(rig, 1);
    for (rz_id keeper = 0; keeper < 3; keeper++) { /* those of the next one are counted again */
        rig_call_4(rig, 1, RZ_COMMIT_COPIED, 1, 2, 0, keeper);
    }
    rig_call(rig, 1, RZ_COMMIT_STORED, 1, 2, 0);
    rig_run(rig);
    assert_generation(rig, 1);
    rig_call_4(rig, 1, RZ_COMMIT_COPIED, 1, 2, 0, 3);
    rig_run(rig);
    assert_generation(rig, 2);
    rig_close(rig);
}

/* A process fails, no daemon: the parities stay; a daemon fails: all are made again, and until the
 * barrier the old ones count. */
static void parities_are_made_anew_when_the_layout_changes(void **state)
{
    (void)state;
    struct rz_commit_config config = {
        .n_daemons = 4, .n_ranks = 4, .scheme = RZ_COMMIT_GROUPS, .data = 2, .parity = 2};
    struct rig *rig = rig_open_with(config);
    begin(rig, 1, 0, "0123", "");
    open_barrier(rig, 1);
    store_all(rig, 1, 1, "0123");
    begin(rig, 2, 1, "0123", "");
    assert_int_equal(rz_commit_layout(rig->state[2], RZ_COMMIT_NOW), 1);
    assert_false(rz_commit_needs_copy(rig->state[2], 2));
    ALL(rig, d)
    {
        assert_null(rig_next(rig, d, RZ_COMMIT_PROTECTED));
        rig_call(rig, d, RZ_COMMIT_STORED, 2, 1, d);
        assert_non_null(rig_next(rig, d, RZ_COMMIT_PROTECTED));
    }
    open_barrier(rig, 2);
    rig_kill(rig, 1);
    begin(rig, 3, 1, "0223", "1");
    assert_int_equal(rz_commit_layout(rig->state[2], RZ_COMMIT_NOW), 3);
    assert_int_equal(rz_commit_layout(rig->state[2], RZ_COMMIT_HOME), 1);
    assert_int_equal(rz_commit_row_of(rig->state[0], RZ_COMMIT_NOW, 2), 1);
    assert_int_equal(rz_commit_rank_at(rig->state[0], RZ_COMMIT_NOW, 2, 1), 2);
    assert_int_equal(rz_commit_rank_at(rig->state[0], RZ_COMMIT_NOW, 0, 1), NONE);
    rz_id holders[2];
    assert_int_equal(rz_commit_holders(rig->state[2], 1, holders), 0); /* its group gives it */
    assert_true(rz_commit_needs_copy(rig->state[0], 0));
    rig_kill(rig, 3); /* with the first one two: as many as the old groups bear */
    begin(rig, 4, 1, "0222", "13");
    assert_int_equal(rig_next(rig, 0, RZ_COMMIT_RESTORE)->arg[1], 1);
    store_all(rig, 4, 1, "0222");
    assert_non_null(rig_next(rig, 2, RZ_COMMIT_PROTECTED));
    open_barrier(rig, 4);
    assert_int_equal(rz_commit_layout(rig->state[0], RZ_COMMIT_HOME), 4);
    rig_kill(rig, 2); /* of the two that are left either is enough */
    begin(rig, 5, 1, "0000", "123");
    assert_int_equal(rig_next(rig, 0, RZ_COMMIT_RESTORE)->arg[1], 1);
    rig_close(rig);
}

/* The newest generation is damaged: the next epoch goes back to the previous one, and its number is
 * used again. */
static void the_generation_before_takes_the_place_of_a_damaged_one(void **state)
{
    (void)state;
    struct rig *rig = rig_open(3, 3);
    begin(rig, 1, 0, "012", "");
    open_barrier(rig, 1);
    for (uint64_t generation = 1; generation <= 3; generation++) {
        store_all(rig, 1, generation, "012");
    }
    begin(rig, 2, 3, "012", "");
    ALL(rig, d)
    assert_int_equal(rz_commit_older_written_in(rig->state[d]), 1);
    rig_kill(rig, 1);
    begin(rig, 3, 2, "022", "1");
    ALL(rig, d)
    {
        assert_int_equal(rig_next(rig, d, RZ_COMMIT_RESTORE)->arg[1], 2);
        assert_int_equal(rz_commit_written_in(rig->state[d]), 1);
        assert_int_equal(rz_commit_older_written_in(rig->state[d]), 0); /* no further */
        assert_int_equal(rz_commit_next(rig->state[d]), 3);
    }
    store_all(rig, 3, 2, "022");
    assert_non_null(rig_next(rig, 0, RZ_COMMIT_PROTECTED));
    open_barrier(rig, 3);
    store_all(rig, 3, 3, "022");
    assert_generation(rig, 3);
    begin(rig, 4, 3, "022", "1");
    ALL(rig, d)
    {
        assert_int_equal(rz_commit_written_in(rig->state[d]), 3);
        assert_int_equal(rz_commit_older_written_in(rig->state[d]), 1); /* restored by epoch 3 */
    }
    open_barrier(rig, 4);
    begin(rig, 5, 3, "022", "1"); /* nothing new: there is none before it */
    ALL(rig, d)
    assert_int_equal(rz_commit_older_written_in(rig->state[d]), 0);
    rig_close(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_generation_needs_every_piece_in_both_places),
        cmocka_unit_test(alone_there_is_no_buddy_to_wait_for),
        cmocka_unit_test(nothing_commits_before_the_barrier_opens),
        cmocka_unit_test(a_generation_is_restored_from_the_members_left),
        cmocka_unit_test(protected_is_told_once_both_places_have_it),
        cmocka_unit_test(a_failure_before_the_barrier_counts_against_the_old_placement),
        cmocka_unit_test(numbers_go_on_after_a_loss),
        cmocka_unit_test(a_message_about_the_next_generation_is_proof),
        cmocka_unit_test(a_failure_ends_the_generations_of_its_epoch),
        cmocka_unit_test(each_scheme_bears_what_it_promises),
        cmocka_unit_test(groups_are_of_equal_size_or_one_more),
        cmocka_unit_test(stripes_are_even),
        cmocka_unit_test(every_keeper_must_acknowledge),
        cmocka_unit_test(parities_are_made_anew_when_the_layout_changes),
        cmocka_unit_test(the_generation_before_takes_the_place_of_a_damaged_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
