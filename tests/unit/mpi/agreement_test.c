/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines of agreement, a group of each in one process: protocol messages in any order that
 * keeps that of each pair, members that propose late and fail at any time, messages of failed
 * members lost or not. All live members must reach one decision, with any engine.
 */
#include "mpi/agree/agreement.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMBERS_MAX 24
#define PROPOSALS 4
#define PROPOSALS_MAX 64
#define STEPS_MAX 4000000

struct protocol_message {
    struct protocol_message *next;
    rz_id from, to;
    struct rz_message message;
    uint64_t items[];
};

struct decision {
    uint64_t number, and, min, max;
    uint32_t n_failed;
    rz_id failed[MEMBERS_MAX];
};

struct member {
    rz_id id;
    struct rz_agreement *agreement;
    bool failed;
    bool told[MEMBERS_MAX]; /* the failures that it knows */
    uint64_t n_decided;
    bool waits; /* it has proposed, and has not received the decision yet */
    struct decision decided[PROPOSALS_MAX + 1];
};

static struct world {
    uint32_t n, n_proposals;
    rz_time now;
    struct rz_random random;
    struct member member[MEMBERS_MAX];
    struct protocol_message *first[MEMBERS_MAX][MEMBERS_MAX], *last[MEMBERS_MAX][MEMBERS_MAX];
    uint32_t n_protocol_messages;
    struct rz_agreement_config config;
    rz_id fails_in_check; /* fails at its first message of the check; RZ_ID_NONE: none */
} world;

static uint32_t chance(uint32_t n)
{
    return (uint32_t)rz_random_below(&world.random, n);
}

static void crash(rz_id id)
{
    world.member[id].failed = true;
}

static void send(void *arg, const struct rz_action *action)
{
    const struct member *member = arg;
    if (member->id == world.fails_in_check && action->message.protocol == RZ_PROTOCOL_AGREE) {
        crash(member->id);
    }
    for (uint32_t i = 0; i < action->n_to && !member->failed; i++) {
        size_t bytes = action->message.n_items * sizeof(uint64_t);
        struct protocol_message *protocol_message = malloc(sizeof(*protocol_message) + bytes);
        rz_id to = action->to[i];
        protocol_message->next = NULL;
        protocol_message->from = member->id;
        protocol_message->to = to;
        protocol_message->message = action->message;
        if (bytes > 0) {
            memcpy(protocol_message->items, action->items, bytes);
        }
        struct protocol_message **at = world.first[member->id][to]
                                           ? &world.last[member->id][to]->next
                                           : &world.first[member->id][to];
        *at = world.last[member->id][to] = protocol_message;
        world.n_protocol_messages++;
    }
}

static __attribute__((noreturn)) void no_memory(void)
{
    abort();
}

static void begin(uint32_t n, enum rz_agreement_engine engine, uint64_t seed)
{
    memset(&world, 0, sizeof(world));
    world.n = n;
    world.n_proposals = PROPOSALS;
    world.random.state = seed;
    world.fails_in_check = RZ_ID_NONE;
    world.now = RZ_SECOND;
    world.config = (struct rz_agreement_config){.engine = engine,
                                                .n_members = n,
                                                .per_node = seed % 3 == 0 ? 4 : 0,
                                                .context = rz_mix(seed, 1)};
    for (rz_id id = 0; id < n; id++) {
        world.member[id].id = id;
    }
}

static void open_member(struct member *member)
{
    struct rz_agreement_host host = {.send = send, .no_memory = no_memory, .arg = member};
    struct rz_agreement_config config = world.config;
    config.self = member->id;
    member->agreement = rz_agreement_open(&config, &host);
    assert_non_null(member->agreement);
    for (rz_id id = 0; id < world.n; id++) {
        if (member->told[id]) {
            rz_agreement_failure(member->agreement, world.now, id);
        }
    }
}

static void end(void)
{
    for (rz_id id = 0; id < world.n; id++) {
        rz_agreement_close(world.member[id].agreement);
        for (rz_id to = 0; to < world.n; to++) {
            for (struct protocol_message *protocol_message;
                 (protocol_message = world.first[id][to]) != NULL; free(protocol_message)) {
                world.first[id][to] = protocol_message->next;
            }
        }
    }
}

/* The proposal of a member: a bit cleared, and a word that no other member has. */
static uint64_t bits_of(rz_id id)
{
    return ~(UINT64_C(1) << id);
}

static void propose(struct member *member)
{
    if (!member->agreement) {
        open_member(member);
    }
    member->waits = true;
    rz_agreement_propose(member->agreement, world.now, bits_of(member->id), 100 + member->id,
                         100 + member->id);
}

static void look(struct member *member)
{
    struct rz_decision decision;
    if (member->failed || !member->agreement) {
        return;
    }
    assert_false(rz_agreement_knows_failed(member->agreement, member->id));
    if (!rz_agreement_take(member->agreement, &decision)) {
        return;
    }
    assert_true(member->waits);
    member->waits = false;
    struct decision *kept = &member->decided[++member->n_decided];
    *kept = (struct decision){decision.number, decision.and,      decision.min,
                              decision.max,    decision.n_failed, {0}};
    memcpy(kept->failed, decision.failed, decision.n_failed * sizeof(rz_id));
    assert_int_equal(decision.number, member->n_decided);
    /* As the library does: a process that is agreed failed has failed. */
    for (uint32_t i = 0; i < kept->n_failed; i++) {
        if (!member->told[kept->failed[i]]) {
            member->told[kept->failed[i]] = true;
            rz_agreement_failure(member->agreement, world.now, kept->failed[i]);
        }
    }
}

/* ---- What may happen next ---- */

/* Protocol messages wait for a member that has not opened its engine yet, as its agreement context
 * keeps them. */
static bool deliver_one(void)
{
    uint32_t pairs = world.n * world.n, at = chance(pairs);
    for (uint32_t i = 0; i < pairs; i++, at = (at + 1) % pairs) {
        rz_id from = at / world.n, to = at % world.n;
        struct protocol_message *protocol_message = world.first[from][to];
        struct member *member = &world.member[to];
        if (!protocol_message || (!member->agreement && !member->failed)) {
            continue;
        }
        world.first[from][to] = protocol_message->next;
        world.n_protocol_messages--;
        if (!member->failed && !member->told[from]) {
            rz_agreement_message(member->agreement, world.now, &protocol_message->message,
                                 protocol_message->items);
            look(member);
        }
        free(protocol_message);
        return true;
    }
    return false;
}

static bool tell_one_failure(void)
{
    uint32_t pairs = world.n * world.n, at = chance(pairs);
    for (uint32_t i = 0; i < pairs; i++, at = (at + 1) % pairs) {
        rz_id failed = at / world.n;
        struct member *member = &world.member[at % world.n];
        if (!world.member[failed].failed || member->failed || member->told[failed]) {
            continue;
        }
        member->told[failed] = true;
        if (member->agreement) {
            rz_agreement_failure(member->agreement, world.now, failed);
            look(member);
        }
        return true;
    }
    return false;
}

static bool propose_one(void)
{
    uint32_t at = chance(world.n);
    for (uint32_t i = 0; i < world.n; i++, at = (at + 1) % world.n) {
        struct member *member = &world.member[at];
        if (!member->failed && !member->waits && member->n_decided < world.n_proposals) {
            propose(member);
            look(member);
            return true;
        }
    }
    return false;
}

static bool tick_due(void)
{
    bool any = false;
    for (rz_id id = 0; id < world.n; id++) {
        struct member *member = &world.member[id];
        if (!member->failed && member->agreement &&
            rz_agreement_deadline(member->agreement) <= world.now) {
            rz_agreement_tick(member->agreement, world.now);
            look(member);
            any = true;
        }
    }
    return any;
}

static bool pass_time(void)
{
    rz_time next = RZ_TIME_NEVER;
    for (rz_id id = 0; id < world.n; id++) {
        const struct member *member = &world.member[id];
        rz_time at = member->failed || !member->agreement
                         ? RZ_TIME_NEVER
                         : rz_agreement_deadline(member->agreement);
        next = at < next ? at : next;
    }
    world.now = next != RZ_TIME_NEVER && next > world.now ? next : world.now;
    return next != RZ_TIME_NEVER;
}

static bool all_done(void)
{
    for (rz_id id = 0; id < world.n; id++) {
        if (!world.member[id].failed && world.member[id].n_decided < world.n_proposals) {
            return false;
        }
    }
    return true;
}

/* One of `failures` fails about every this number of steps. */
static void run(uint32_t failures, uint32_t steps_per_failure)
{
    for (uint64_t step = 0; !all_done(); step++) {
        assert_true(step < STEPS_MAX);
        if (failures > 0 && chance(steps_per_failure) == 0) {
            rz_id victim = chance(world.n);
            failures -= !world.member[victim].failed;
            crash(victim);
        }
        world.now += chance(3) == 0 ? chance(100) * RZ_MICROSECOND : 0;
        switch (chance(6)) {
        case 0:
            if (propose_one()) {
                break;
            } /* fallthrough */
        case 1:
            if (tell_one_failure()) {
                break;
            } /* fallthrough */
        case 2:
            if (tick_due()) {
                break;
            } /* fallthrough */
        default:
            if (!deliver_one() && !tell_one_failure() && !propose_one() && !tick_due()) {
                assert_true(pass_time()); /* else they wait for nothing */
            }
        }
    }
}

static bool is_in(const struct decision *decision, rz_id id)
{
    for (uint32_t i = 0; i < decision->n_failed; i++) {
        if (decision->failed[i] == id) {
            return true;
        }
    }
    return false;
}

/* All live members decided the same, with the word of each member that is not among the failed
 * ones. */
static void check_alike(void)
{
    const struct member *first = NULL;
    for (rz_id id = 0; id < world.n; id++) {
        const struct member *member = &world.member[id];
        if (member->failed) {
            continue;
        }
        first = first ? first : member;
        assert_memory_equal(member->decided, first->decided, sizeof(first->decided));
    }
    for (uint32_t m = 1; first && m <= world.n_proposals; m++) {
        const struct decision *decision = &first->decided[m];
        for (rz_id id = 0; id < world.n; id++) {
            bool said = (decision->and &~bits_of(id)) == 0;
            assert_true(said || is_in(decision, id));
            assert_true(!is_in(decision, id) || world.member[id].failed);
            assert_true(is_in(decision, id) ||
                        (decision->min <= 100 + id && decision->max >= 100 + id));
            assert_true(m == 1 || !is_in(&first->decided[m - 1], id) || is_in(decision, id));
        }
        assert_true(decision->min >= 100 && decision->max < 100 + world.n);
    }
}

/* ---- Tests ---- */

static void all_living_members_decide_alike(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = 0; engine < RZ_AGREEMENT_ENGINES; engine++) {
        for (uint64_t seed = 1; seed <= 120; seed++) {
            uint32_t n = 2 + (uint32_t)(seed * 7 % (MEMBERS_MAX - 1));
            begin(n, engine, seed);
            run(seed % 3 == 0 ? 0 : (uint32_t)(seed % n), 20 + (uint32_t)(seed % 7) * 100);
            check_alike();
            end();
        }
    }
}

static void many_proposals_leave_nothing_behind(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = 0; engine < RZ_AGREEMENT_ENGINES; engine++) {
        begin(6, engine, 5);
        world.n_proposals = PROPOSALS_MAX;
        run(2, 3000);
        check_alike();
        end();
    }
}

static void without_failures_gossip_is_right(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = RZ_AGREEMENT_GOSSIP1; engine < RZ_AGREEMENT_ENGINES;
         engine++) {
        uint64_t before = rz_agreement_counters.fallbacks,
                 decided = rz_agreement_counters.decided[engine];
        begin(9, engine, 3);
        run(0, 1);
        check_alike();
        assert_int_equal(rz_agreement_counters.fallbacks, before);
        assert_int_equal(rz_agreement_counters.decided[engine], decided + 9 * PROPOSALS);
        end();
    }
}

/* Gossip returns the failures that all knew in time. */
static void known_failures_are_found_by_gossip(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = RZ_AGREEMENT_GOSSIP1; engine < RZ_AGREEMENT_ENGINES;
         engine++) {
        uint64_t before = rz_agreement_counters.fallbacks;
        begin(9, engine, 3);
        crash(2);
        crash(7);
        while (tell_one_failure()) {
        }
        run(0, 1);
        check_alike();
        assert_int_equal(world.member[0].decided[1].n_failed, 2);
        assert_int_equal(rz_agreement_counters.fallbacks, before);
        end();
    }
}

/* Gossip that gives up before it has found anything: the check decides, at all members. */
static void gossip_that_gives_up_falls_back(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = RZ_AGREEMENT_GOSSIP1; engine < RZ_AGREEMENT_ENGINES;
         engine++) {
        for (unsigned failures = 0; failures < 2; failures++) {
            uint64_t before = rz_agreement_counters.fallbacks;
            begin(9, engine, 4);
            world.config.cycles_max = 2;
            world.member[5].failed = failures == 1;
            run(0, 1);
            check_alike();
            assert_int_equal(rz_agreement_counters.fallbacks, before + (9 - failures) * PROPOSALS);
            end();
        }
    }
}

/* One fails between gossip and the check: it is in no member's set, and in every decision. */
static void a_failure_before_the_check_falls_back(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = RZ_AGREEMENT_GOSSIP1; engine < RZ_AGREEMENT_ENGINES;
         engine++) {
        uint64_t before = rz_agreement_counters.fallbacks;
        begin(9, engine, 4);
        world.fails_in_check = 8; /* a leaf: its word is missing */
        world.n_proposals = 1;
        run(0, 1);
        check_alike();
        assert_int_equal(world.member[0].decided[1].n_failed, 1);
        assert_true(rz_agreement_counters.fallbacks > before);
        end();
    }
}

/* A member that calls late does not make others run out of cycles. */
static void gossip_waits_for_late_callers(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = RZ_AGREEMENT_GOSSIP1; engine < RZ_AGREEMENT_ENGINES;
         engine++) {
        uint64_t before = rz_agreement_counters.fallbacks;
        begin(9, engine, 6);
        crash(4);
        while (tell_one_failure()) {
        }
        for (rz_id id = 0; id < 8; id++) {
            if (id != 4) {
                propose(&world.member[id]);
            }
        }
        for (int i = 0; i < 2000; i++) {
            world.now += 10 * RZ_MILLISECOND;
            tick_due();
            while (deliver_one()) {
            }
        }
        run(0, 1);
        check_alike();
        assert_int_equal(rz_agreement_counters.fallbacks, before);
        end();
    }
}

/* What the host does: asks for what the other has laid down, and takes it for its protocol message.
 */
static bool take_cached(struct member *member, struct member *of, uint64_t number)
{
    struct rz_message laid, protocol_message;
    const uint64_t *items = rz_agreement_cached(of->agreement, number, &laid);
    if (!items || rz_agreement_asked(member->agreement, 0) != of->id ||
        !rz_agreement_is_cached(member->agreement, of->id, number, laid.word[0], laid.n_items,
                                &protocol_message)) {
        return false;
    }
    rz_agreement_message(member->agreement, world.now, &protocol_message, items);
    look(member);
    return true;
}

/* The root has decided and its word has not come: its cached decision is as good. Of gossip that of
 * the check is; two-phase commit has none. */
static void a_cached_is_as_good_as_a_protocol_message(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = 0; engine < RZ_AGREEMENT_ENGINES; engine++) {
        begin(3, engine, 7);
        world.n_proposals = 2;
        run(0, 1);
        world.n_proposals = 3;
        for (rz_id id = 0; id < 3; id++) {
            propose(&world.member[id]);
        }
        while (world.member[0].n_decided < 3) {
            if (!deliver_one()) {
                world.now += RZ_MILLISECOND;
                tick_due();
            }
        }
        struct member *late = &world.member[2];
        assert_int_equal(world.member[0].n_decided, 3);
        assert_int_equal(late->n_decided, 2);
        assert_false(take_cached(late, &world.member[0], 2)); /* of the one before */
        assert_int_equal(take_cached(late, &world.member[0], 3), engine != RZ_AGREEMENT_TWOPHASE);
        run(0, 1);
        check_alike();
        end();
    }
}

static void names_lead_back(void **state)
{
    (void)state;
    for (enum rz_agreement_engine engine = 0; engine < RZ_AGREEMENT_ENGINES; engine++) {
        assert_int_equal(rz_agreement_find(rz_agreement_name(engine)), engine);
    }
    assert_null(rz_agreement_name(RZ_AGREEMENT_ENGINES));
    assert_int_equal(rz_agreement_find("paxos"), RZ_AGREEMENT_ENGINES);
    setenv(RZ_AGREEMENT_ENVIRONMENT, "gossip2", 1);
    assert_int_equal(rz_agreement_of_job(), RZ_AGREEMENT_GOSSIP2);
    setenv(RZ_AGREEMENT_ENVIRONMENT, "paxos", 1);
    assert_int_equal(rz_agreement_of_job(), RZ_AGREEMENT_ERA);
    unsetenv(RZ_AGREEMENT_ENVIRONMENT);
    assert_int_equal(rz_agreement_of_job(), RZ_AGREEMENT_ERA);
}

static void wrong_words_are_named(void **state)
{
    (void)state;
    static const char *const values[][3] = {{NULL, NULL, NULL},
                                            {"", "", NULL},
                                            {"gossip1", "bin", NULL},
                                            {"paxos", "bin", RZ_AGREEMENT_ENVIRONMENT},
                                            {"era", "oak", RZ_AGREEMENT_TREE_ENVIRONMENT}};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const char *name, *words;
        for (int v = 0; v < 2 && values[i][v]; v++) {
            setenv(v == 0 ? RZ_AGREEMENT_ENVIRONMENT : RZ_AGREEMENT_TREE_ENVIRONMENT, values[i][v],
                   1);
        }
        assert_int_equal(rz_agreement_environment_is_known(&name, &words), !values[i][2]);
        if (values[i][2]) {
            assert_string_equal(name, values[i][2]);
            assert_non_null(strstr(words, values[i][2][8] == '\0' ? "twophase" : "star"));
        }
    }
    unsetenv(RZ_AGREEMENT_ENVIRONMENT);
    unsetenv(RZ_AGREEMENT_TREE_ENVIRONMENT);
}

static void a_process_that_is_too_many_takes_era(void **state)
{
    (void)state;
    assert_int_equal(rz_agreement_for(RZ_AGREEMENT_GOSSIP1, 2048), RZ_AGREEMENT_GOSSIP1);
    assert_int_equal(rz_agreement_for(RZ_AGREEMENT_GOSSIP1, 2049), RZ_AGREEMENT_ERA);
    assert_int_equal(rz_agreement_for(RZ_AGREEMENT_TWOPHASE, 1 << 14), RZ_AGREEMENT_TWOPHASE);
    assert_int_equal(rz_agreement_for(RZ_AGREEMENT_TWOPHASE, (1 << 14) + 1), RZ_AGREEMENT_ERA);
    assert_int_equal(rz_agreement_for(RZ_AGREEMENT_GOSSIP3, 1), RZ_AGREEMENT_ERA);
    assert_int_equal(rz_agreement_for(RZ_AGREEMENT_GOSSIP3, 1 << 20), RZ_AGREEMENT_GOSSIP3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lead_back),
        cmocka_unit_test(wrong_words_are_named),
        cmocka_unit_test(a_cached_is_as_good_as_a_protocol_message),
        cmocka_unit_test(a_process_that_is_too_many_takes_era),
        cmocka_unit_test(all_living_members_decide_alike),
        cmocka_unit_test(many_proposals_leave_nothing_behind),
        cmocka_unit_test(without_failures_gossip_is_right),
        cmocka_unit_test(known_failures_are_found_by_gossip),
        cmocka_unit_test(gossip_that_gives_up_falls_back),
        cmocka_unit_test(a_failure_before_the_check_falls_back),
        cmocka_unit_test(gossip_waits_for_late_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
