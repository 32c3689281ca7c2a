/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's part in spawns, alone: what it was asked, what other daemons tell and what is
 * decided come in every order. The rest of the daemon is played by this test. */
#include "daemon/service/spawns.h"
#include "wire/spawn_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { RANKS = 2, SLOTS = 8, NODES = 3, SELF = 0, ORIGIN = 1 };

static struct rig {
    struct rz_own_node own;
    struct rz_children children;
    struct rz_spawns *spawns;
    struct rz_membership_slot slots[SLOTS];
    uint8_t nodes[NODES]; /* of the membership */
    struct rz_child asker;
    bool repairing;
    rz_link_handler_fn link[RZ_LINK_TYPE_COUNT];
    rz_overlay_handler_fn overlay[RZ_OVERLAY_TYPE_COUNT];
    /* What recovery has decided, be it carried out here or not. */
    uint32_t incarnation[SLOTS];
    rz_id node_of[SLOTS];
    enum rz_recover_spawn spawn;
    uint32_t taken; /* but this slot was given to a cohort */
    /* What was done. */
    char did[1024];
    uint64_t wanted[16];
    uint32_t n_wanted;
} rig;

__attribute__((format(printf, 1, 2))) static void did(const char *format, ...)
{
    size_t n = strlen(rig.did);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(rig.did + n, sizeof(rig.did) - n, format, arguments);
    va_end(arguments);
}

static void done(const char *expected)
{
    assert_string_equal(rig.did, expected);
    rig.did[0] = '\0';
}

/* ---- the rest of the daemon ---- */

void rz_recovery_want(struct rz_recovery *recovery, const uint64_t *items, uint32_t n_items)
{
    (void)recovery;
    for (uint32_t i = 0; i < n_items; i++) {
        rig.wanted[rig.n_wanted++] = items[i];
    }
    did("want ");
}

enum rz_recover_spawn rz_recovery_spawn(const struct rz_recovery *recovery, uint32_t slot,
                                        uint32_t incarnation)
{
    (void)recovery, (void)incarnation;
    return slot == rig.taken ? RZ_SPAWN_TAKEN : rig.spawn;
}

bool rz_recovery_is_repairing(const struct rz_recovery *recovery)
{
    (void)recovery;
    return rig.repairing;
}

void rz_overlay_send(struct rz_overlay *overlay, rz_id to, const struct rz_overlay_message *message)
{
    (void)overlay;
    did("%s@%u ", rz_overlay_type_name(message->type), to);
}

struct rz_child *rz_child_of(const struct rz_children *children, uint32_t slot)
{
    (void)children;
    return slot == rig.asker.rank ? &rig.asker : NULL;
}

void rz_link_router_handle(struct rz_link_router *router, enum rz_link_type type,
                           rz_link_handler_fn handler, void *arg)
{
    (void)router, (void)arg;
    rig.link[type] = handler;
}

void rz_overlay_router_handle(struct rz_overlay_router *router, enum rz_overlay_type type,
                              rz_overlay_handler_fn handler, void *arg)
{
    (void)router, (void)arg;
    rig.overlay[type] = handler;
}

rz_status_t rz_link_router_send_to(const struct rz_children *children, uint32_t slot,
                                   const struct rz_link_message *message, int fd)
{
    (void)children, (void)fd;
    if (message->type == RZ_LINK_REPLACED) {
        did("replaced%u:%u ", slot, message->replaced.status);
    } else {
        did("spawned%u:%u+%u ", slot, message->spawned.status,
            message->spawned.processes_length / RZ_LINK_PAIR_BYTES);
    }
    return RZ_OK;
}

void rz_child_start(struct rz_child_life *life, uint32_t slot, uint32_t incarnation)
{
    struct rz_program program = {0};
    bool own = rz_spawns_program(rig.spawns, slot, &program);
    (void)life;
    did("fork%u.%u%s%s ", slot, incarnation, own ? "=" : "", own ? program.arguments[0] : "");
}

void rz_child_start_failed(struct rz_child_life *life, uint32_t slot, uint32_t incarnation,
                           const char *how)
{
    (void)life, (void)how;
    did("unstarted%u.%u ", slot, incarnation);
}

void rz_child_failed(struct rz_child *p, const char *how, rz_time at)
{
    (void)how, (void)at;
    did("failed%u.%u ", p->rank, p->incarnation);
}

void rz_board_writer_publish(struct rz_board_writer *writer)
{
    (void)writer;
    did("publish ");
}

/* As service/placement.c, without a board. */
bool rz_placement_spawn(struct rz_placement *placement, uint32_t slot, uint32_t incarnation,
                        bool replaces)
{
    (void)placement;
    if (!rz_membership_spawn(&rig.own.membership, slot, rig.node_of[slot], incarnation, replaces)) {
        return false;
    }
    did("word%u.%u@%u ", slot, rig.slots[slot].incarnation, rig.slots[slot].node);
    return true;
}

void rz_children_end_stale(struct rz_children *children)
{
    (void)children;
    did("stale ");
}

void rz_endpoints_spawned(struct rz_endpoints *endpoints, uint32_t slot, uint32_t incarnation)
{
    (void)endpoints, (void)slot, (void)incarnation;
}

void rz_names_look_at_failures(struct rz_names *names)
{
    (void)names;
}

void rz_children_recount(struct rz_children *children)
{
    (void)children;
    did("recount ");
}

void rz_report_event(const struct rz_report *report, const struct rz_launch_event *event)
{
    (void)report;
    if (event->kind == RZ_EVENT_RECORD_ENDED_BY) {
        did("by:%llu ", (unsigned long long)event->value);
    }
}

void rz_report_log(const struct rz_report *report, uint32_t level, const char *format, ...)
{
    (void)report, (void)format;
    did("log%u ", level);
}

/* ---- what is played ---- */

static int setup(void **state)
{
    (void)state;
    rig = (struct rig){.asker = {.rank = 1, .incarnation = 1, .state = RZ_CHILD_JOINED},
                       .taken = SLOTS};
    rig.own.job = (struct rz_daemon_job){
        .n_nodes = NODES, .n_ranks = RANKS, .n_slots = SLOTS, .node = SELF, .directory = ""};
    rig.own.membership = (struct rz_membership){.n_nodes = NODES,
                                                .n_slots = SLOTS,
                                                .epoch = 1,
                                                .phase = RZ_PHASE_RUN,
                                                .slots = rig.slots,
                                                .nodes = rig.nodes};
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        rig.slots[slot].node = RZ_ID_NONE;
    }
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        rig.slots[rank] = (struct rz_membership_slot){.node = rank, .incarnation = 1};
    }
    rig.slots[1].node = SELF;
    const struct rz_spawns_config config = {.own = &rig.own, .children = &rig.children};
    return rz_spawns_open(&rig.spawns, &config) == RZ_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    rz_spawns_close(rig.spawns);
    return 0;
}

static bool ask(const struct rz_link_message *message)
{
    int fd = -1;
    return rig.link[message->type](rig.spawns, &rig.asker, message, &fd);
}

static bool ask_replace(uint32_t slot, uint32_t incarnation)
{
    uint8_t pair[RZ_LINK_PAIR_BYTES];
    const struct rz_link_process wanted = {slot, incarnation};
    rz_link_put_pairs(pair, &wanted, 1);
    return ask(&(struct rz_link_message){
        .type = RZ_LINK_REPLACE, .replace = {.spawns = pair, .spawns_length = sizeof(pair)}});
}

/* An order of 2 processes: a program each. */
static uint32_t write_order(uint8_t *commands, size_t bytes)
{
    static const char *const one[] = {"one", NULL}, *const two[] = {"two", NULL};
    const struct rz_spawn_command list[2] = {{1, "", one, NULL}, {1, "", two, NULL}};
    return (uint32_t)rz_spawn_order_write(list, 2, commands, bytes);
}

static void ask_spawn_of(uint32_t count, const uint8_t *commands, uint32_t length)
{
    assert_true(ask(&(struct rz_link_message){.type = RZ_LINK_SPAWN,
                                              .spawn = {.count = count,
                                                        .commands = commands,
                                                        .commands_length = length,
                                                        .parent = (const uint8_t *)"",
                                                        .parent_length = 0}}));
}

static void ask_spawn(void)
{
    uint8_t commands[256];
    ask_spawn_of(2, commands, write_order(commands, sizeof(commands)));
}

static void order_comes(rz_id from, uint32_t serial)
{
    uint8_t commands[256];
    const struct rz_overlay_message order = {
        .type = RZ_OVERLAY_SPAWN_ORDER,
        .spawn_order = {.serial = serial,
                        .count = 2,
                        .commands = commands,
                        .commands_length = write_order(commands, sizeof(commands)),
                        .parent = (const uint8_t *)"",
                        .parent_length = 0}};
    rig.overlay[RZ_OVERLAY_SPAWN_ORDER](rig.spawns, from, &order);
}

/* Slots 2 and 3, one here and one elsewhere. */
static void cohort_decided(rz_id node, uint32_t serial)
{
    const uint64_t items[3] = {rz_recover_pack_cohort(node, serial, 2), rz_recover_pack_spawn(2, 1),
                               rz_recover_pack_spawn(3, 1)};
    rig.node_of[2] = SELF;
    rig.node_of[3] = 2;
    rz_spawns_decided(rig.spawns, RZ_OK, items, 3);
}

/* ---- tests ---- */

static void an_answer_comes_when_the_board_shows_it(void **state)
{
    const uint64_t spawn = rz_recover_pack_spawn(0, 2);
    (void)state;
    rig.slots[0].failed = 1;
    assert_true(ask_replace(0, 2));
    done("want ");
    assert_int_equal(rig.wanted[0], spawn);
    rig.spawn = RZ_SPAWN_SPAWNED; /* decided, and the notice is still on its way */
    rz_spawns_look(rig.spawns);
    done("");
    rig.node_of[0] = SELF;
    rz_spawns_decided(rig.spawns, RZ_OK, &spawn, 1);
    done("word0.2@0 publish stale fork0.2 recount ");
    assert_int_equal(rig.slots[0].failed, 1);
    rz_spawns_look(rig.spawns);
    done("replaced1:0 ");
    rz_spawns_look(rig.spawns);
    done("");
    assert_true(ask_replace(0, 2)); /* a late one */
    done("replaced1:0 ");
    assert_true(rz_membership_replaces(&rig.own.membership, 0, 2));
}

static void a_spawn_is_not_wanted_before_its_predecessor_is_known(void **state)
{
    (void)state;
    assert_true(ask_replace(0, 3));
    done("");
    rig.slots[0].incarnation = 2;
    rz_spawns_look(rig.spawns);
    done(""); /* it lives, as far as is known here */
    rig.slots[0].failed = 2;
    rz_spawns_look(rig.spawns);
    done("want ");
    rz_spawns_look(rig.spawns);
    done("");
}

static void the_first_refusal_is_the_answer(void **state)
{
    uint8_t pairs[2 * RZ_LINK_PAIR_BYTES];
    const struct rz_link_process wanted[2] = {{2, 2}, {0, 2}};
    const struct rz_link_message asked = {
        .type = RZ_LINK_REPLACE, .replace = {.spawns = pairs, .spawns_length = sizeof(pairs)}};
    char text[64];
    (void)state;
    rig.slots[2].incarnation = rig.slots[0].incarnation = 2;
    rig.spawn = RZ_SPAWN_SPAWNED;
    rig.taken = 2;
    rz_link_put_pairs(pairs, wanted, 2);
    assert_true(ask(&asked));
    snprintf(text, sizeof(text), "replaced1:%d ", RZ_ERR_EXISTS);
    done(text);
}

static void no_process_is_started_for_old_news(void **state)
{
    const uint64_t spawn = rz_recover_pack_spawn(0, 2);
    (void)state;
    rig.node_of[0] = SELF;
    rig.slots[0].failed = 2; /* the news of its failure were faster */
    rz_spawns_decided(rig.spawns, RZ_OK, &spawn, 1);
    done("word0.2@0 publish stale recount ");
    rig.slots[0].incarnation = 3;
    rz_spawns_decided(rig.spawns, RZ_OK, &spawn, 1);
    done("publish stale recount ");
    assert_int_equal(rig.slots[0].incarnation, 3);
}

static void a_spawned_process_is_one_in_its_first_epoch(void **state)
{
    const uint64_t spawn = rz_recover_pack_spawn(0, 2);
    (void)state;
    rz_spawns_decided(rig.spawns, RZ_OK, &spawn, 1);
    assert_true(rz_membership_is_spawned(&rig.own.membership, 0, 2));
    assert_false(rz_membership_is_spawned(&rig.own.membership, 0, 1));
    rig.own.membership.epoch = 2;
    assert_false(rz_membership_is_spawned(&rig.own.membership, 0, 2));
}

static void every_refusal_is_told(void **state)
{
    char text[128];
    (void)state;
    assert_false(ask_replace(SLOTS, 2)); /* no such slot: it breaks the protocol */
    assert_false(ask_replace(0, 1));     /* the first incarnation has no predecessor */
    done("");
    rig.slots[0].failed = 1;
    assert_true(ask_replace(0, 2));
    rig.spawn = RZ_SPAWN_REFUSED;
    rz_spawns_look(rig.spawns); /* before rz_spawns_decided has said why */
    snprintf(text, sizeof(text), "want replaced1:%d ", RZ_ERR_NO_SLOTS);
    done(text);
    ask_spawn();
    const uint64_t cohort = rz_recover_pack_cohort(SELF, 1, 2);
    rz_spawns_decided(rig.spawns, RZ_OK, &cohort, 1); /* not enough slots */
    rz_spawns_look(rig.spawns);
    snprintf(text, sizeof(text),
             "SPAWN_ORDER@1 SPAWN_ORDER@2 want publish stale recount spawned1:%d+0 ",
             RZ_ERR_NO_MEMORY);
    done(text);
    rig.repairing = true;
    ask_spawn();
    snprintf(text, sizeof(text), "log0 spawned1:%d+0 ", RZ_ERR_UNSUPPORTED);
    done(text);
}

static long resident_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* MPI_Comm_spawn takes any int: what cannot be must not cost the daemon its memory. */
static void too_many_cost_nothing(void **state)
{
    static const char *const one[] = {"one", NULL};
    const struct rz_spawn_command list[1] = {{1 << 28, "", one, NULL}};
    uint8_t commands[256];
    char text[64];
    uint32_t length = (uint32_t)rz_spawn_order_write(list, 1, commands, sizeof(commands));
    long before = resident_kib();
    (void)state;
    ask_spawn_of(1 << 28, commands, length);
    snprintf(text, sizeof(text), "spawned1:%d+0 ", RZ_ERR_NO_MEMORY);
    done(text);
    assert_true(resident_kib() - before < 100 * 1024);
    ask_spawn(); /* and it has used up no serial, for which all others would wait */
    assert_int_equal(rig.wanted[0], rz_recover_pack_cohort(SELF, 1, 2));
}

static void what_could_not_be_begun_is_not_begun_again(void **state)
{
    const uint64_t spawn = rz_recover_pack_spawn(0, 2);
    char text[64];
    (void)state;
    rz_spawns_decided(rig.spawns, RZ_OK, &spawn, 1);
    rig.did[0] = '\0';
    rz_membership_observe_process(&rig.own.membership, 0, 2, RZ_END_NEVER);
    rz_membership_observe_process(&rig.own.membership, 0, 1, RZ_END_NEVER); /* old news */
    assert_true(ask_replace(0, 3));
    snprintf(text, sizeof(text), "replaced1:%d ", RZ_ERR_SYSTEM);
    done(text);
    rig.slots[0].incarnation = rig.slots[0].failed =
        3; /* requested by a process that had not heard */
    assert_true(ask_replace(0, 4));
    done("want ");
}

static void an_order_goes_before_its_wish(void **state)
{
    (void)state;
    rig.nodes[2] = RZ_NODE_FAILED;
    ask_spawn();
    done("SPAWN_ORDER@1 want ");
    assert_int_equal(rig.wanted[0], rz_recover_pack_cohort(SELF, 1, 2));
    cohort_decided(SELF, 1);
    done("word2.1@0 word3.1@2 publish stale fork2.1=one recount ");
    rz_spawns_look(rig.spawns);
    done("spawned1:0+2 ");
}

/* They end before their daemon has found the time to answer. */
static void the_asker_hears_of_a_cohort_that_has_ended_already(void **state)
{
    (void)state;
    ask_spawn();
    cohort_decided(SELF, 1);
    rz_spawns_process_failed(rig.spawns, 2, 1, RZ_END_ORDER);
    rz_spawns_process_failed(rig.spawns, 3, 1, RZ_END_ORDER);
    rig.did[0] = '\0';
    rz_spawns_look(rig.spawns);
    done("spawned1:0+2 ");
}

/* The process that was requested outlives the process that requested it. */
static void a_cohort_is_begun_though_its_asker_is_failed(void **state)
{
    (void)state;
    ask_spawn();
    rz_spawns_forget(rig.spawns, 1, 1);
    rig.did[0] = '\0';
    cohort_decided(SELF, 1);
    rz_spawns_look(rig.spawns);
    done("word2.1@0 word3.1@2 publish stale fork2.1=one recount ");
}

static void a_process_that_hears_the_decision_first_waits_for_the_order(void **state)
{
    (void)state;
    cohort_decided(ORIGIN, 1);
    done("word2.1@0 word3.1@2 publish stale recount ");
    order_comes(ORIGIN, 1);
    done("fork2.1=one ");
    order_comes(ORIGIN, 1); /* again: nothing */
    done("");
}

static void an_order_of_the_failed_is_not_waited_for(void **state)
{
    (void)state;
    cohort_decided(ORIGIN, 1);
    done("word2.1@0 word3.1@2 publish stale recount ");
    rig.nodes[2] = RZ_NODE_FAILED;
    rz_spawns_node_failed(rig.spawns, 2, true, true); /* another one */
    done("");
    rig.nodes[ORIGIN] = RZ_NODE_FAILED;
    rz_spawns_node_failed(rig.spawns, ORIGIN, true, true);
    done("unstarted2.1 ");
}

static void nor_when_it_was_failed_before_the_decision(void **state)
{
    (void)state;
    rig.nodes[ORIGIN] = RZ_NODE_FAILED;
    cohort_decided(ORIGIN, 1);
    done("word2.1@0 word3.1@2 publish stale unstarted2.1 recount ");
    rz_spawns_node_failed(rig.spawns, ORIGIN, true, true); /* the news, behind it */
    order_comes(ORIGIN, 1);                                /* and what it still sent */
    done("");
}

static void an_order_is_kept_for_replacements_only(void **state)
{
    const uint64_t again = rz_recover_pack_spawn(3, 2), third = rz_recover_pack_spawn(3, 3);
    (void)state;
    order_comes(ORIGIN, 1);
    cohort_decided(ORIGIN, 1);
    done("word2.1@0 word3.1@2 publish stale fork2.1=one recount ");
    rz_spawns_process_failed(rig.spawns, 2, 1, RZ_END_ORDER);
    rig.node_of[3] = SELF; /* its node failed: it begins here, as what it was */
    rz_spawns_decided(rig.spawns, RZ_OK, &again, 1);
    done("word3.2@0 publish stale fork3.2=two recount ");
    struct rz_link_message message;
    struct rz_link_process told[2];
    assert_true(rz_spawns_cohort(rig.spawns, 3, 2, &message));
    assert_int_equal(
        rz_link_get_pairs(message.cohort.processes, message.cohort.processes_length, told, 2), 2);
    assert_int_equal(told[0].incarnation, 1);
    assert_int_equal(told[1].incarnation, 2);
    assert_false(rz_spawns_cohort(rig.spawns, 3, 1, &message)); /* it is that no more */
    struct rz_program program;
    rz_spawns_process_failed(rig.spawns, 3, 1, RZ_END_ORDER); /* old news */
    assert_true(rz_spawns_program(rig.spawns, 3, &program));
    rz_spawns_process_failed(rig.spawns, 3, 2, RZ_END_ORDER);
    rz_spawns_decided(rig.spawns, RZ_OK, &third, 1);
    done("word3.3@0 publish stale unstarted3.3 recount ");
}

static void a_refused_order_that_comes_late_is_forgotten(void **state)
{
    const uint64_t cohort = rz_recover_pack_cohort(ORIGIN, 1, 2);
    (void)state;
    rz_spawns_decided(rig.spawns, RZ_ERR_UNSUPPORTED, &cohort, 1);
    done("log0 ");
    order_comes(ORIGIN, 1);
    order_comes(ORIGIN, 2);
    cohort_decided(ORIGIN, 2);
    done("word2.1@0 word3.1@2 publish stale fork2.1=one recount ");
}

/* ---- requests before the job runs ---- */

static void an_early_wish_waits_for_the_phase(void **state)
{
    (void)state;
    rig.own.membership.phase = RZ_PHASE_ENTER;
    ask_spawn();
    rz_spawns_phase(rig.spawns);
    done("SPAWN_ORDER@1 SPAWN_ORDER@2 ");
    rig.own.membership.phase = RZ_PHASE_RUN;
    rz_spawns_phase(rig.spawns);
    done("want ");
    rz_spawns_phase(rig.spawns);
    done("");
    cohort_decided(SELF, 1);
    rz_spawns_look(rig.spawns);
    done("word2.1@0 word3.1@2 publish stale fork2.1=one recount spawned1:0+2 ");
}

/* The serial number of its request is used: later ones wait for it. */
static void an_early_asker_that_fails_leaves_its_wish(void **state)
{
    (void)state;
    rig.own.membership.phase = RZ_PHASE_ENTER;
    ask_spawn();
    rz_spawns_forget(rig.spawns, 1, 1);
    done("SPAWN_ORDER@1 SPAWN_ORDER@2 want ");
    assert_int_equal(rig.wanted[0], rz_recover_pack_cohort(SELF, 1, 2));
}

/* ---- a server ---- */

static enum rz_spawns_server_state server_is;

static void serve_world(void *arg, rz_id node, const struct rz_link_process *processes, uint32_t n)
{
    (void)arg, (void)node;
    did("world%u.%u+%u ", processes[0].slot, processes[0].incarnation, n);
}

static void serve_programs(void *arg, uint32_t world, const uint32_t *commands, uint32_t n,
                           const uint8_t *parent, uint32_t parent_bytes)
{
    (void)arg, (void)parent, (void)parent_bytes;
    did("programs%u:%u+%u ", world, n > 0 ? commands[n - 1] : 0, n);
}

static enum rz_spawns_server_state state_of_world(void *arg, uint32_t world)
{
    (void)arg;
    assert_true(world > 0);
    return server_is;
}

static void serve_answer(void *arg, uint64_t question, rz_status_t status, uint32_t world)
{
    (void)arg, (void)question;
    did("answer%u:%u ", status, world);
}

static void open_server(void)
{
    const struct rz_spawns_server server = {.world = serve_world,
                                            .programs = serve_programs,
                                            .state = state_of_world,
                                            .answer = serve_answer};
    rz_spawns_serve(rig.spawns, &server);
    server_is = RZ_SERVER_NOT_READY;
}

static void the_server_is_awaited(void **state)
{
    uint32_t world;
    (void)state;
    open_server();
    ask_spawn();
    rig.did[0] = '\0';
    cohort_decided(SELF, 1);
    rz_spawns_look(rig.spawns);
    done("word2.1@0 word3.1@2 world2.1+2 programs1:1+2 publish stale recount answer0:1 ");
    assert_int_equal(rz_spawns_world(rig.spawns, 3, &world), 1);
    assert_int_equal(world, 1);
    assert_int_equal(rz_spawns_world(rig.spawns, 1, &world), 1);
    assert_int_equal(world, 0);
    rz_spawns_end(rig.spawns, 2, 1, 7, "rank 0"); /* it has not begun */
    rz_spawns_look_at_server(rig.spawns);
    done("");
    server_is = RZ_SERVER_READY;
    rz_spawns_look_at_server(rig.spawns);
    done("fork2.1=one ");
    rz_spawns_look_at_server(rig.spawns);
    done("");
}

static void a_failed_server_starts_nothing(void **state)
{
    (void)state;
    open_server();
    order_comes(ORIGIN, 1);
    cohort_decided(ORIGIN, 1);
    done("word2.1@0 word3.1@2 world2.1+2 programs1:1+2 publish stale recount ");
    server_is = RZ_SERVER_FAILED;
    rz_spawns_look_at_server(rig.spawns);
    done("unstarted2.1 ");
}

static void the_server_learns_that_programs_are_lost(void **state)
{
    (void)state;
    open_server();
    cohort_decided(ORIGIN, 1);
    done("word2.1@0 word3.1@2 world2.1+2 publish stale recount ");
    rig.nodes[ORIGIN] = RZ_NODE_FAILED;
    rz_spawns_node_failed(rig.spawns, ORIGIN, true, true);
    done("programs1:0+0 unstarted2.1 ");
    order_comes(ORIGIN, 1); /* what it still sent */
    done("");
}

static void the_failed_get_no_answers(void **state)
{
    (void)state;
    rig.slots[0].failed = 1;
    assert_true(ask_replace(0, 2));
    rz_spawns_forget(rig.spawns, 1, 1);
    rig.spawn = RZ_SPAWN_REFUSED;
    rz_spawns_look(rig.spawns);
    done("want ");
    rig.spawn = RZ_SPAWN_OPEN;
    assert_true(ask_replace(0, 2));
    rig.asker.incarnation = 2; /* in its slot another lives now */
    rig.spawn = RZ_SPAWN_REFUSED;
    rz_spawns_look(rig.spawns);
    done("want ");
}

static void an_end_waits_for_the_spawn(void **state)
{
    (void)state;
    rz_spawns_end(rig.spawns, 1, 1, 7, "rank 0");
    done("by:7 failed1.1 ");
    rz_spawns_end(rig.spawns, 0, 2, 7, "rank 0"); /* its spawn is not known here yet */
    done("");
    const uint64_t spawn = rz_recover_pack_spawn(0, 2);
    rig.node_of[0] = 2;
    rz_spawns_decided(rig.spawns, RZ_OK, &spawn, 1);
    done("word0.2@2 publish stale END_PROCESS@2 recount ");
    rz_spawns_end(rig.spawns, 0, 1, 7, "rank 0"); /* that one has failed anyway */
    rig.nodes[2] = RZ_NODE_FAILED;
    rz_spawns_end(rig.spawns, 0, 2, 7, "rank 0"); /* so is this one now */
    done("");
}

static void an_end_waits_for_the_order(void **state)
{
    (void)state;
    cohort_decided(ORIGIN, 1);
    rig.did[0] = '\0';
    rz_spawns_end(rig.spawns, 2, 1, 7, "rank 0");
    done(""); /* no process is there yet to be ended */
    rig.asker.rank = 2;
    order_comes(ORIGIN, 1);
    done("fork2.1=one by:7 failed2.1 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_comes_when_the_board_shows_it),
        TEST(a_spawn_is_not_wanted_before_its_predecessor_is_known),
        TEST(the_first_refusal_is_the_answer),
        TEST(no_process_is_started_for_old_news),
        TEST(a_spawned_process_is_one_in_its_first_epoch),
        TEST(every_refusal_is_told),
        TEST(too_many_cost_nothing),
        TEST(what_could_not_be_begun_is_not_begun_again),
        TEST(an_order_goes_before_its_wish),
        TEST(the_asker_hears_of_a_cohort_that_has_ended_already),
        TEST(a_cohort_is_begun_though_its_asker_is_failed),
        TEST(a_process_that_hears_the_decision_first_waits_for_the_order),
        TEST(an_order_of_the_failed_is_not_waited_for),
        TEST(nor_when_it_was_failed_before_the_decision),
        TEST(an_order_is_kept_for_replacements_only),
        TEST(a_refused_order_that_comes_late_is_forgotten),
        TEST(an_early_wish_waits_for_the_phase),
        TEST(an_early_asker_that_fails_leaves_its_wish),
        TEST(the_server_is_awaited),
        TEST(a_failed_server_starts_nothing),
        TEST(the_server_learns_that_programs_are_lost),
        TEST(the_failed_get_no_answers),
        TEST(an_end_waits_for_the_spawn),
        TEST(an_end_waits_for_the_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
