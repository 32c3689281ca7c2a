/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks of files at several daemons that fail in any order, alone: overlay, links and processes are
 * played by this test. Of each mark that a process was told is safe, after any failures: a process
 * is given it, or the image is refused. And no process is told that all have restored before all
 * have.
 *
 *   daemon_marks_test [SEED]     one schedule, as a failure prints it
 */
#include "base/random.h"
#include "daemon/service/file_marks.h"
#include "daemon/service/restored_files.h"
#include "port/descriptor.h"
#include "port/file_mark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES = 5, RANKS = 5, MARKS_MAX = 64, UNDER_WAY_MAX = 4096, SCHEDULES = 6000 };

static struct node {
    struct rz_own_node own;
    struct rz_children children;
    struct rz_membership_slot slots[RANKS];
    uint8_t failed[NODES];
    struct rz_child processes[RANKS]; /* of those that are here */
    struct rz_file_marks *marks;
    struct rz_restored_files *restored;
    rz_link_handler_fn link[RZ_LINK_TYPE_COUNT];
    rz_overlay_handler_fn overlay[RZ_OVERLAY_TYPE_COUNT];
    void *link_arg[RZ_LINK_TYPE_COUNT], *overlay_arg[RZ_OVERLAY_TYPE_COUNT];
    bool lives;
} nodes[NODES];

/* A message on its way, or the news that a node has failed (bytes 0). */
static struct message_under_way {
    rz_id from, to;
    size_t bytes;
    uint8_t *message;
} under_way[UNDER_WAY_MAX];
static uint32_t n_under_way;

static struct told_mark {
    uint32_t rank;
    uint64_t moment;
    char path[32];
    bool renamed, safe;
    rz_id node;
    int answer;
    unsigned given;
} marks[MARKS_MAX];
static uint32_t n_marks;

static struct rz_random dice;
static uint64_t moment, oldest, seed;
static uint32_t epoch;
static bool refused, end_of_marks;
static uint64_t last_number;
static unsigned n_told, n_answered; /* of the barrier */

static uint32_t draw(uint32_t below)
{
    return (uint32_t)rz_random_below(&dice, below);
}

/* ---- The rest of the daemons ---- */

void rz_link_router_handle(struct rz_link_router *router, enum rz_link_type type,
                           rz_link_handler_fn handler, void *arg)
{
    struct node *node = (struct node *)(void *)router;
    node->link[type] = handler;
    node->link_arg[type] = arg;
}

void rz_overlay_router_handle(struct rz_overlay_router *router, enum rz_overlay_type type,
                              rz_overlay_handler_fn handler, void *arg)
{
    struct node *node = (struct node *)(void *)router;
    node->overlay[type] = handler;
    node->overlay_arg[type] = arg;
}

static void post(rz_id from, rz_id to, const void *message, size_t bytes)
{
    assert_true(n_under_way < UNDER_WAY_MAX);
    struct message_under_way *one = &under_way[n_under_way++];
    *one = (struct message_under_way){
        .from = from, .to = to, .bytes = bytes, .message = malloc(bytes + 1)};
    assert_non_null(one->message);
    if (bytes > 0) {
        memcpy(one->message, message, bytes);
    }
}

void rz_overlay_send(struct rz_overlay *overlay, rz_id to, const struct rz_overlay_message *message)
{
    static uint8_t bytes[65536];
    const struct node *node = (const struct node *)(const void *)overlay;
    size_t n = rz_overlay_encode(message, bytes, sizeof(bytes));
    assert_true(n > 0);
    post(node->own.job.node, to, bytes, n);
}

/* What a process gets. */
void rz_link_router_send(struct rz_child *process, const struct rz_link_message *message)
{
    const struct rz_link_file_mark_is *is = &message->file_mark_is;
    if (message->type == RZ_LINK_ALL_FILES_RESTORED) {
        assert_int_equal(message->all_files_restored.epoch, epoch);
        assert_int_equal(n_told, RANKS);
        assert_int_equal(process->files_restored, epoch);
        n_answered++;
        return;
    }
    end_of_marks = is->number == 0;
    last_number = is->number;
    for (uint32_t i = 0; is->number != 0 && i < n_marks; i++) {
        if (strcmp(marks[i].path, is->path) == 0) {
            assert_int_equal(marks[i].rank, is->rank);
            marks[i].given++;
        }
    }
}

struct rz_child *rz_child_of(const struct rz_children *children, uint32_t rank)
{
    struct node *node = &nodes[children->own->job.node];
    return node->slots[rank].node == node->own.job.node ? &node->processes[rank] : NULL;
}

bool rz_child_is_current(const struct rz_child *process)
{
    (void)process;
    return true;
}

void rz_report_log(const struct rz_report *report, uint32_t level, const char *format, ...)
{
    (void)report, (void)level, (void)format;
}

static void unrestored(void *arg, struct rz_child *process, const char *why)
{
    (void)arg, (void)process, (void)why;
    refused = true;
}

/* ---- Schedules ---- */

static void open_node(rz_id n)
{
    struct node *node = &nodes[n];
    *node =
        (struct node){.lives = true,
                      .own = {.job = {.n_nodes = NODES,
                                      .n_ranks = RANKS,
                                      .n_slots = RANKS,
                                      .node = n,
                                      .flags = RZ_JOB_REWIND},
                              .membership = {.n_nodes = NODES, .n_slots = RANKS, .epoch = epoch}}};
    node->own.membership.slots = node->slots;
    node->own.membership.nodes = node->failed;
    node->children = (struct rz_children){.own = &node->own};
    void *played = node;
    const struct rz_file_marks_config config = {.own = &node->own,
                                                .router = played,
                                                .overlay = played,
                                                .overlay_router = played,
                                                .unrestored = unrestored};
    const struct rz_restored_files_config restored = {.own = &node->own,
                                                      .children = &node->children,
                                                      .router = played,
                                                      .overlay = played,
                                                      .overlay_router = played};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        node->processes[rank] = (struct rz_child){
            .rank = rank, .state = RZ_CHILD_JOINED, .restoring = true, .all = &node->children};
    }
    assert_int_equal(rz_file_marks_open(&node->marks, &config), RZ_OK);
    assert_int_equal(rz_restored_files_open(&node->restored, &restored), RZ_OK);
}

static void close_node(struct node *node)
{
    if (node->lives) {
        node->lives = false;
        rz_file_marks_close(node->marks);
        rz_restored_files_close(node->restored);
    }
}

static void place(uint32_t rank, rz_id at)
{
    for (rz_id n = 0; n < NODES; n++) {
        nodes[n].slots[rank].node = at;
    }
}

/* Removes it, in order. */
static struct message_under_way take_message(uint32_t i)
{
    struct message_under_way one = under_way[i];
    memmove(&under_way[i], &under_way[i + 1], (--n_under_way - i) * sizeof(one));
    return one;
}

/* The news comes behind what the node has sent, of which the end may be lost. */
static void fail_node(rz_id n)
{
    close_node(&nodes[n]);
    bool lost[NODES] = {false};
    for (uint32_t i = 0; i < n_under_way;) {
        rz_id to = under_way[i].to;
        if (under_way[i].from == n && to < NODES) {
            lost[to] = lost[to] || draw(2) == 0;
        }
        if (to == n || (under_way[i].from == n && lost[to])) {
            free(take_message(i).message);
        } else {
            i++;
        }
    }
    for (rz_id to = 0; to < NODES; to++) {
        if (nodes[to].lives) {
            post(n, to, NULL, 0);
        }
    }
}

/* The first one from its sender to its receiver, so that their order stays. */
static void deliver_some(void)
{
    uint32_t i = draw(n_under_way);
    for (uint32_t k = 0; k < i; k++) {
        i = under_way[k].from == under_way[i].from && under_way[k].to == under_way[i].to ? k : i;
    }
    struct message_under_way one = take_message(i);
    struct node *to = &nodes[one.to];
    if (to->lives && one.bytes == 0) {
        rz_membership_node_failed(&to->own.membership, one.from, true);
        rz_file_marks_node_failed(to->marks, one.from, true, true);
    } else if (to->lives) {
        struct rz_overlay_message message;
        assert_int_equal(rz_overlay_decode(&message, one.message, one.bytes), RZ_OK);
        to->overlay[message.type](to->overlay_arg[message.type], one.from, &message);
    }
    free(one.message);
}

static void look_for_answers(void)
{
    for (uint32_t i = 0; i < n_marks; i++) {
        struct told_mark *mark = &marks[i];
        if (mark->answer >= 0 && nodes[mark->node].lives &&
            rz_descriptor_unread(mark->answer) > 0) {
            mark->safe = true;
        }
    }
}

static void deliver_all(void)
{
    while (n_under_way > 0) {
        deliver_some();
        look_for_answers();
    }
}

static bool from_process(struct node *node, uint32_t rank, const struct rz_link_message *message,
                         int *fd)
{
    return node->link[message->type](node->link_arg[message->type], &node->processes[rank], message,
                                     fd);
}

static void tell_mark(uint32_t rank)
{
    struct node *node = &nodes[nodes[0].slots[rank].node];
    int ends[2];
    if (!node->lives || n_marks == MARKS_MAX || rz_descriptor_pair(ends) != RZ_OK) {
        return;
    }
    struct told_mark *mark = &marks[n_marks++];
    *mark = (struct told_mark){.rank = rank,
                               .moment = moment,
                               .renamed = draw(3) == 0,
                               .node = node->own.job.node,
                               .answer = ends[0]};
    snprintf(mark->path, sizeof(mark->path), "/file-%u", n_marks);
    char name[40];
    snprintf(name, sizeof(name), "%s-new", mark->path);
    const struct rz_link_message message = {
        .type = RZ_LINK_FILE_MARK,
        .file_mark = {.moment = moment,
                      .inode = n_marks,
                      .bytes = 40000,
                      .flags = mark->renamed ? RZ_FILE_RENAMED : 0,
                      .path = mark->path,
                      .content = (const uint8_t *)name,
                      .content_length = mark->renamed ? (uint32_t)strlen(name) : 0}};
    assert_true(from_process(node, rank, &message, &ends[1]));
    rz_descriptor_close(ends[1]);
}

/* All that this process is to restore. */
static void ask_for_marks(struct node *node, uint32_t rank, uint64_t since)
{
    struct rz_link_message ask = {.type = RZ_LINK_FILE_MARK_ASK,
                                  .file_mark_ask = {.epoch = epoch, .since = since}};
    int none = -1;
    end_of_marks = false;
    while (!end_of_marks && !refused) {
        assert_true(from_process(node, rank, &ask, &none));
        ask.file_mark_ask.after = last_number;
    }
}

/* No process that has a node is left out, and none goes on before. */
static void restore_all(const uint32_t *order)
{
    n_told = n_answered = 0;
    for (rz_id n = 0; n < NODES; n++) {
        nodes[n].own.membership.epoch = epoch - 1;
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        struct node *node = &nodes[nodes[0].slots[order[i]].node];
        const struct rz_link_message told = {.type = RZ_LINK_FILES_RESTORED,
                                             .files_restored = {.epoch = epoch}};
        int none = -1;
        node->own.membership.epoch = epoch; /* at some nodes later than what others send */
        n_told++;
        node->children.first = &node->processes[0];
        for (uint32_t rank = 0; rank + 1 < RANKS; rank++) {
            node->processes[rank].next = &node->processes[rank + 1];
        }
        assert_true(from_process(node, order[i], &told, &none));
        for (uint32_t k = draw(4); k > 0 && n_under_way > 0; k--) {
            deliver_some();
        }
    }
    deliver_all();
    assert_int_equal(n_answered, RANKS);
}

static void go_back(void)
{
    uint32_t order[RANKS];
    uint64_t since = oldest + draw((uint32_t)(moment - oldest) + 1);
    deliver_all();
    epoch++;
    refused = false;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        rz_id at = nodes[0].slots[rank].node;
        while (!nodes[at].lives) {
            at = draw(NODES);
        }
        place(rank, at);
        order[rank] = rank;
    }
    for (uint32_t i = 0; i < n_marks; i++) {
        marks[i].given = 0;
    }
    for (rz_id n = 0; n < NODES; n++) {
        nodes[n].own.membership.epoch = epoch;
    }
    for (uint32_t i = RANKS; i > 1; i--) {
        uint32_t k = draw(i), rank = order[k];
        order[k] = order[i - 1];
        order[i - 1] = rank;
    }
    for (uint32_t i = 0; i < RANKS && !refused; i++) {
        ask_for_marks(&nodes[nodes[0].slots[order[i]].node], order[i], since);
    }
    for (uint32_t i = 0; i < n_marks && !refused; i++) {
        if (marks[i].safe && marks[i].moment >= since) {
            assert_true(marks[i].given > 0);
            assert_true(marks[i].given == 1 || !marks[i].renamed);
        }
    }
    restore_all(order);
    oldest = since;
    moment++;
}

static uint32_t alive(void)
{
    uint32_t n = 0;
    for (rz_id node = 0; node < NODES; node++) {
        n += nodes[node].lives;
    }
    return n;
}

static void commit_at_some(void)
{
    uint64_t before = oldest + draw((uint32_t)(moment - oldest) + 1);
    for (rz_id n = 0; n < NODES; n++) {
        if (nodes[n].lives && draw(2) == 0) {
            rz_file_marks_committed(nodes[n].marks, before);
            oldest = before;
        }
    }
}

/* One, or it and its keeper soon after. */
static void fail_some(void)
{
    rz_id n = draw(NODES);
    for (uint32_t k = 1 + draw(2); k > 0 && alive() > 1; k--, n = (n + 1) % NODES) {
        while (!nodes[n].lives) {
            n = (n + 1) % NODES;
        }
        fail_node(n);
        for (uint32_t some = draw(24); some > 0 && n_under_way > 0; some--) {
            deliver_some();
            look_for_answers();
        }
    }
}

static void play(uint64_t with)
{
    seed = with;
    dice = (struct rz_random){.state = seed};
    n_under_way = n_marks = 0;
    moment = oldest = epoch = 1;
    for (rz_id n = 0; n < NODES; n++) {
        open_node(n);
    }
    for (uint32_t fewer = draw(3); fewer > 0; fewer--) {
        fail_node(draw(2) + 2 * (fewer - 1));
    }
    deliver_all();
    bool apart = draw(3) > 0; /* else some nodes have no ranks */
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        rz_id at = apart ? rank : draw(2) * 2;
        while (!nodes[at].lives) {
            at = (at + 1) % NODES;
        }
        place(rank, at);
    }
    for (int step = 0; step < 60; step++) {
        uint32_t what = draw(40);
        if (what < 12) {
            tell_mark(draw(RANKS));
        } else if (what < 30 && n_under_way > 0) {
            deliver_some();
        } else if (what < 32) {
            moment++;
        } else if (what < 34) {
            commit_at_some();
        } else if (what < 36 && alive() > 1) {
            fail_some();
            if (draw(2) == 0) {
                go_back();
            }
        }
        look_for_answers();
    }
    go_back();
    for (rz_id n = 0; n < NODES; n++) {
        close_node(&nodes[n]);
    }
    for (uint32_t i = 0; i < n_marks; i++) {
        rz_descriptor_close(marks[i].answer);
    }
}

static int failed_schedule(void **state)
{
    (void)state;
    fprintf(stderr, "the last schedule was that of: daemon_marks_test %llu\n",
            (unsigned long long)seed);
    return 0;
}

static uint64_t only;

static void no_mark_is_lost_without_a_word(void **state)
{
    (void)state;
    for (uint64_t i = only ? only : 1; i <= (only ? only : SCHEDULES); i++) {
        play(i);
    }
}

int main(int argc, char **argv)
{
    only = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(no_mark_is_lost_without_a_word, failed_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
