/* SPDX-License-Identifier: BSD-3-Clause */
/* A transport between nodes through its table: two transports in one process over loopback TCP. */
#include "ucx_rig.h"

#include "base/random.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef RZ_TEST_TCP
static void environment_is_checked(void **state)
{
    static const char *const wrong[] = {"all", NULL};
    struct rz_net *net;
    struct internode config = side_config(NULL);
    unsigned checked = 0;
    (void)state;
    assert_null(rz_ucx_environment_problem());
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name; v++) {
        for (unsigned i = 0; v->problem && i < 2; i++, checked++) {
            if (wrong[i]) {
                setenv(v->name, wrong[i], 1);
            } else {
                unsetenv(v->name);
            }
            last_complaint[0] = '\0';
            assert_int_equal(internode_open(&config, &net, &ops), RZ_ERR_INVALID);
            assert_non_null(strstr(last_complaint, v->name));
            setenv(v->name, v->value, 1);
        }
    }
    assert_true(checked > 0);
    setenv("UCX_NET_DEVICES", "none0", 1);
    last_complaint[0] = '\0';
    assert_int_equal(internode_open(&config, &net, &ops), RZ_ERR_SYSTEM);
    assert_non_null(strstr(last_complaint, "UCX_NET_DEVICES=none0"));
    setenv("UCX_NET_DEVICES", "lo", 1);
}
#endif

static void ep_addresses_are_refused_in_kind(void **state)
{
    struct side a, b;
    unsigned char ep_address[EP_ADDRESS_MAX], bad[EP_ADDRESS_MAX];
    size_t bytes = 8;
    (void)state;
    open_side(&a);
    open_side(&b);
    assert_int_equal(ops->ep_address(b.net, ep_address, &bytes), RZ_ERR_INVALID);
    bytes = sizeof(ep_address);
    assert_int_equal(ops->ep_address(b.net, ep_address, &bytes), RZ_OK);
    for (size_t length = 0; length < bytes; length++) {
        assert_int_equal(ops->connect(a.net, 0, ep_address, length), RZ_ERR_MALFORMED);
    }
    static const struct {
        size_t at;
        rz_status_t status;
    } damaged[] = {{0, RZ_ERR_MALFORMED}, {4, RZ_ERR_VERSION}, {8, RZ_ERR_AUTHENTICATION}};
    for (size_t i = 0; i < 3; i++) {
        memcpy(bad, ep_address, bytes);
        bad[damaged[i].at] ^= 1;
        assert_int_equal(ops->connect(a.net, 0, bad, bytes), damaged[i].status);
    }
    assert_int_equal(ops->connect(a.net, UINT32_MAX, ep_address, bytes), RZ_ERR_INVALID);
    size_t own_bytes = sizeof(bad);
    assert_int_equal(ops->ep_address(a.net, bad, &own_bytes), RZ_OK);
    assert_int_equal(ops->connect(a.net, 0, bad, own_bytes), RZ_ERR_INVALID);
    assert_int_equal(ops->connect(a.net, 3, ep_address, bytes), RZ_OK);
    assert_int_equal(ops->connect(a.net, 3, ep_address, bytes), RZ_ERR_INVALID);
    assert_int_equal(ops->connect(a.net, 4, ep_address, bytes), RZ_ERR_INVALID);
    ops->disconnect(a.net, 3, false, RZ_ERR_ROLLBACK);
    assert_int_equal(ops->connect(a.net, 5, ep_address, bytes), RZ_ERR_INVALID);
    struct result result;
    assert_int_equal(ops->send(a.net, 9, NULL, 0, fresh_op(&result, 1)), RZ_ERR_INVALID);
    close_side(&a);
    close_side(&b);
}

static void small_payloads_arrive_whole_and_in_order(void **state)
{
    const size_t most = ops->eager_max;
    const size_t sizes[] = {0, 1, 8, 100, 4096, 7900, 8192, 8193, 20000, most - 1, most};
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    struct side a, b;
    struct result results[COUNT];
    unsigned char *data[COUNT];
    (void)state;
    open_pair(&a, &b);
    for (size_t i = 0; i < COUNT; i++) {
        data[i] = malloc(sizes[i] + 1);
        fill_with(data[i], sizes[i], i);
        side_send(&a, 0, data[i], sizes[i], &results[i], i);
    }
    TURN_UNTIL(&a, &b, b.notes_count == COUNT && results[COUNT - 1].calls == 1);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].calls, 1);
        assert_int_equal(results[i].status, RZ_OK);
        assert_int_equal(b.notes[i].number, i);
        assert_int_equal(b.notes[i].bytes, sizes[i]);
        assert_int_equal(b.notes[i].sum, sum_of(data[i], sizes[i]));
        free(data[i]);
    }
    close_side(&a);
    close_side(&b);
}

/* wanted: bytes to fetch; at_once: from inside arrived. */
static void exchange_large(struct side *a, struct side *b, size_t bytes, size_t wanted,
                           bool at_once)
{
    struct result sending, fetching;
    unsigned char *data = malloc(bytes), *memory = malloc(wanted + 64);
    fill_with(data, bytes, bytes);
    memset(memory, 0x5a, wanted + 64);
    b->notes_count = 0;
    b->fetch_at_once = at_once;
    b->fetch_memory = memory;
    b->fetch_bytes = wanted;
    b->fetch_op = fresh_op(&fetching, 7);
    side_send(a, 0, data, bytes, &sending, bytes);
    TURN_UNTIL(a, b, b->notes_count == 1);
    assert_int_equal(sending.calls, 0);
    if (!at_once) {
        b->fetch_status = ops->fetch(b->net, b->notes[0].token, memory, wanted, &fetching.op);
    }
    if (wanted > 0) {
        assert_int_equal(b->fetch_status, RZ_IN_PROGRESS);
        TURN_UNTIL(a, b, fetching.calls == 1);
        assert_int_equal(fetching.status, RZ_OK);
    } else {
        assert_int_equal(b->fetch_status, RZ_OK);
    }
    TURN_UNTIL(a, b, sending.calls == 1);
    assert_int_equal(sending.status, RZ_OK);
    assert_memory_equal(data, memory, wanted);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(memory[wanted + i], 0x5a);
    }
    free(data);
    free(memory);
}

static void large_payloads_are_fetched_whole_or_in_part(void **state)
{
    const size_t sizes[] = {ops->eager_max + 1, 100000, 1 << 20, (5 << 20) + 3};
    struct side a, b;
    (void)state;
    open_pair(&a, &b);
    for (unsigned at_once = 0; at_once < 2; at_once++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            exchange_large(&a, &b, sizes[i], sizes[i], at_once);
            exchange_large(&a, &b, sizes[i], sizes[i] / 3, at_once);
            exchange_large(&a, &b, sizes[i], 1, at_once);
            exchange_large(&a, &b, sizes[i], 0, at_once);
        }
    }
    close_side(&a);
    close_side(&b);
}

static void a_dropped_payload_ends_its_send(void **state)
{
    struct side a, b;
    struct result result;
    unsigned char *data = calloc(1, 1 << 20);
    (void)state;
    open_pair(&a, &b);
    for (unsigned i = 0; i < 6; i++) {
        b.notes_count = 0;
        b.drop_at_once = i % 2;
        side_send(&a, 0, data, 1 << 20, &result, i);
        TURN_UNTIL(&a, &b, b.notes_count == 1);
        if (!b.drop_at_once) {
            ops->drop(b.net, b.notes[0].token);
        }
        TURN_UNTIL(&a, &b, result.calls == 1);
        assert_int_equal(result.status, RZ_OK);
    }
    close_side(&a);
    close_side(&b);
    free(data);
}

static void a_sleeping_receiver_gets_all_in_order_later(void **state)
{
    enum { COUNT = 6000 };
    struct side a, b;
    struct result *results = calloc(COUNT, sizeof(*results));
    unsigned char data[1000];
    unsigned waiting = 0;
    (void)state;
    memset(data, 7, sizeof(data));
    open_pair(&a, &b);
    for (unsigned i = 0; i < COUNT; i++) {
        side_send(&a, 0, data, sizeof(data), &results[i], i);
    }
    for (unsigned i = 0; i < 1000; i++) {
        ops->progress(a.net);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        waiting += results[i].calls == 0;
    }
    assert_true(waiting > COUNT / 2); /* the kernel's memory is bounded */
    TURN_UNTIL(&a, &b, b.notes_count == COUNT && results[COUNT - 1].calls == 1);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(b.notes[i].number, i);
        assert_int_equal(results[i].calls, 1);
        assert_int_equal(results[i].status, RZ_OK);
    }
    close_side(&a);
    close_side(&b);
    free(results);
}

static void disconnect_ends_everything_with_its_status(void **state)
{
    enum { COUNT = 200 };
    struct side a, b;
    struct result results[COUNT], fetching, late;
    unsigned char *data = calloc(1, 1 << 20), *memory = malloc(1 << 20);
    (void)state;
    open_pair(&a, &b);
    side_send(&b, 0, data, 1 << 20, &late, 900);
    TURN_UNTIL(&a, &b, a.notes_count == 1);
    struct result kept;
    side_send(&b, 0, data, 1 << 20, &kept, 901);
    TURN_UNTIL(&a, &b, a.notes_count == 2);
    struct result dropped;
    side_send(&b, 0, data, 1 << 20, &dropped, 902);
    TURN_UNTIL(&a, &b, a.notes_count == 3);
    /* b does not turn any more: as one stopped. */
    for (unsigned i = 0; i < COUNT; i++) {
        side_send(&a, 0, data, i % 3 ? 8 : 1 << 20, &results[i], i);
    }
    assert_int_equal(ops->fetch(a.net, a.notes[0].token, memory, 1 << 20, fresh_op(&fetching, 1)),
                     RZ_IN_PROGRESS);
    struct side none = {.net = NULL};
    ops->disconnect(a.net, 0, true, RZ_ERR_PROC_FAILED);
    TURN_UNTIL(&a, &none, ops->quiet(a.net));
    memset(memory, 0xa5, 1 << 20);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(results[i].calls, 1);
        assert_true(results[i].status == RZ_OK || results[i].status == RZ_ERR_PROC_FAILED);
    }
    assert_int_equal(results[COUNT - 2].status, RZ_ERR_PROC_FAILED); /* a large one */
    assert_int_equal(fetching.calls, 1);
    assert_int_equal(fetching.status, RZ_ERR_PROC_FAILED);
    assert_int_equal(ops->send(a.net, 0, data, 8, fresh_op(&results[0], 1)), RZ_ERR_PROC_FAILED);
    assert_int_equal(ops->fetch(a.net, a.notes[1].token, memory, 1 << 20, fresh_op(&fetching, 1)),
                     RZ_ERR_PROC_FAILED);
    ops->drop(a.net, a.notes[2].token);
    /* b lives, but it need not notice the disconnect: it needs a failure report of its own. */
    for (unsigned i = 0; i < 1000; i++) {
        ops->progress(i % 2 ? a.net : b.net);
    }
    ops->disconnect(b.net, 0, false, RZ_ERR_ROLLBACK);
    TURN_UNTIL(&a, &b,
               late.calls == 1 && kept.calls == 1 && dropped.calls == 1 && ops->quiet(b.net));
    assert_true(kept.status == RZ_ERR_CLOSED || kept.status == RZ_ERR_ROLLBACK);
    for (unsigned i = 0; i < 1 << 20; i++) {
        if (memory[i] != 0xa5) {
            fail_msg("written after the end, byte %u", i);
        }
    }
    assert_int_equal(a.broken_count, 0);
    close_side(&a);
    close_side(&b);
    free(data);
    free(memory);
}

static void a_fetch_from_a_stranger_waits_for_connect(void **state)
{
    struct side a, b;
    struct result sending[2], fetching[2];
    unsigned char *data = calloc(1, 8 << 20), *memory = malloc(8 << 20);
    (void)state;
    fill_with(data, 8 << 20, 3);
    for (unsigned end = 0; end < 2; end++) {
        open_side(&a);
        open_side(&b);
        introduce(&b, &a);
        for (unsigned i = 0; i < 2; i++) {
            side_send(&b, 0, data, 8 << 20, &sending[i], i);
        }
        TURN_UNTIL(&a, &b, a.notes_count == 2);
        assert_int_equal(
            ops->fetch(a.net, a.notes[0].token, memory, 8 << 20, fresh_op(&fetching[0], 1)),
            RZ_IN_PROGRESS);
        ops->drop(a.net, a.notes[1].token);
        for (unsigned i = 0; i < 100; i++) {
            ops->progress(a.net);
        }
        assert_int_equal(fetching[0].calls, 0);
        assert_false(ops->quiet(a.net));
        introduce(&a, &b);
        if (end) {
            ops->disconnect(a.net, 0, false, RZ_ERR_PROC_FAILED);
        } else {
            TURN_UNTIL(&a, &b, sending[0].calls == 1 && sending[1].calls == 1);
        }
        TURN_UNTIL(&a, &b, fetching[0].calls == 1 && ops->quiet(a.net));
        assert_int_equal(fetching[0].status, end ? RZ_ERR_PROC_FAILED : RZ_OK);
        if (!end) {
            assert_memory_equal(data, memory, 8 << 20);
        }
        close_side(&a);
        close_side(&b);
    }
    free(data);
    free(memory);
}

static void a_broken_connection_is_told_once(void **state)
{
    struct side a, b;
    struct result first, second;
    (void)state;
    open_pair(&a, &b);
    side_send(&a, 0, "x", 1, &first, 1);
    side_send(&b, 0, "x", 1, &second, 1);
    TURN_UNTIL(&a, &b, a.notes_count == 1 && b.notes_count == 1);
    close_side(&b);
    TURN_UNTIL(&a, &b, a.broken_count == 1);
    assert_int_equal(ops->send(a.net, 0, "x", 1, fresh_op(&first, 1)), RZ_ERR_CLOSED);
    for (unsigned i = 0; i < 1000; i++) {
        ops->progress(a.net);
    }
    assert_int_equal(a.broken_count, 1);
    ops->disconnect(a.net, 0, false, RZ_ERR_ROLLBACK);
    assert_int_equal(ops->send(a.net, 0, "x", 1, fresh_op(&first, 1)), RZ_ERR_ROLLBACK);
    close_side(&a);
}

static void disconnect_inside_a_callback_is_allowed(void **state)
{
    struct side a, b;
    struct result results[100];
    (void)state;
    open_pair(&a, &b);
    b.leave_at_once = true;
    struct side none = {.net = NULL};
    for (unsigned i = 0; i < 100; i++) {
        side_send(&a, 0, "x", 1, &results[i], i);
    }
    TURN_UNTIL(&a, &b, b.notes_count >= 1);
    ops->disconnect(a.net, 0, false, RZ_ERR_ROLLBACK);
    TURN_UNTIL(&a, &none, results[99].calls == 1);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(results[i].calls, 1);
    }
    assert_true(ops->quiet(b.net));
    close_side(&a);
    close_side(&b);
}

/* A roll-back: all part in any order, with any traffic before, and meet again by new endpoint
 * addresses. */
static void the_living_meet_again_by_new_ep_addresses(void **state)
{
    struct side side[2];
    struct result before[2], large, fetching;
    struct rz_random random = {1};
    unsigned char *data = calloc(1, 1 << 20), *memory = malloc(1 << 20);
    (void)state;
    fill_with(data, 1 << 20, 5);
    for (unsigned round = 0; round < 20; round++) {
        uint64_t choice = rz_random_next(&random);
        open_pair(&side[0], &side[1]);
        for (unsigned i = 0; i < 2; i++) {
            side_send(&side[i], 0, data, 1 << 20, &large, round);
            TURN_UNTIL(&side[0], &side[1], side[!i].notes_count == 1);
            assert_int_equal(side[!i].notes[0].number, round);
            assert_int_equal(ops->fetch(side[!i].net, side[!i].notes[0].token, memory, 1 << 20,
                                        fresh_op(&fetching, 1)),
                             RZ_IN_PROGRESS);
            TURN_UNTIL(&side[0], &side[1], fetching.calls == 1 && large.calls == 1);
            assert_memory_equal(data, memory, 1 << 20);
        }
        for (unsigned i = 0; i < 2; i++) {
            side_send(&side[i], 0, data, choice & (1u << i) ? 1 << 20 : 8, &before[i], 0);
        }
        for (unsigned turns = (unsigned)(choice >> 8) % 64; turns > 0; turns--) {
            ops->progress(side[turns % 2].net);
        }
        unsigned first = (choice >> 4) & 1;
        ops->disconnect(side[first].net, 0, choice & 16, RZ_ERR_ROLLBACK);
        if (choice & 32) {
            ops->progress(side[!first].net);
        }
        ops->disconnect(side[!first].net, 0, choice & 64, RZ_ERR_ROLLBACK);
        TURN_UNTIL(&side[0], &side[1],
                   before[0].calls == 1 && before[1].calls == 1 && ops->quiet(side[0].net) &&
                       ops->quiet(side[1].net));
        close_side(&side[first]);
        close_side(&side[!first]);
    }
    free(data);
    free(memory);
}

static bool readable(struct side *side, int timeout_ms)
{
    struct pollfd fd = {.fd = ops->fd(side->net), .events = POLLIN};
    assert_true(fd.fd >= 0);
    return poll(&fd, 1, timeout_ms) == 1;
}

static void an_armed_sleeper_is_woken_by_news(void **state)
{
    static const size_t sizes[] = {8, 20000, 1 << 20};
    struct side a, b;
    struct result result;
    unsigned char *data = calloc(1, 1 << 20);
    (void)state;
    open_pair(&a, &b);
    b.drop_at_once = true;
    for (unsigned i = 0; i < 60; i++) {
        time_t limit = time(NULL) + TEST_HANG_S;
        while (!ops->arm(b.net)) {
            ops->progress(b.net);
            assert_true(time(NULL) <= limit);
        }
        unsigned before = b.notes_count;
        side_send(&a, 0, data, sizes[i % 3], &result, i);
        while (b.notes_count == before) {
            ops->progress(a.net);
            if (!ops->arm(b.net) || readable(&b, 1)) {
                ops->progress(b.net);
            }
            assert_true(time(NULL) <= limit);
        }
        TURN_UNTIL(&a, &b, result.calls == 1);
    }
    /* A failure wakes too. */
    while (ops->progress(b.net) != 0 || !ops->arm(b.net)) {
        ;
    }
    close_side(&a);
    assert_true(readable(&b, TEST_HANG_MS));
    close_side(&b);
    free(data);
}

/* It sleeps while the other has not taken what fills the socket. */
static void an_armed_sender_is_woken_by_room(void **state)
{
    struct side a, b;
    struct result result, fetching, more[100];
    unsigned char *data = calloc(1, 16 << 20), *memory = malloc(16 << 20);
    unsigned sleeps = 0;
    (void)state;
    open_pair(&a, &b);
    side_send(&a, 0, data, 16 << 20, &result, 1);
    TURN_UNTIL(&a, &b, b.notes_count == 1);
    assert_int_equal(ops->fetch(b.net, b.notes[0].token, memory, 16 << 20, fresh_op(&fetching, 1)),
                     RZ_IN_PROGRESS);
    for (unsigned i = 0; i < 100; i++) {
        side_send(&a, 0, data, ops->eager_max, &more[i], i);
    }
    time_t limit = time(NULL) + TEST_HANG_S;
    while (fetching.calls == 0 || more[99].calls == 0 || b.notes_count < 101) {
        if (!ops->arm(a.net) || readable(&a, 0)) {
            ops->progress(a.net);
        } else if (++sleeps > 0) {
            ops->progress(b.net);
        }
        assert_true(time(NULL) <= limit);
    }
    assert_true(sleeps > 0);
    TURN_UNTIL(&a, &b, result.calls == 1);
    close_side(&a);
    close_side(&b);
    free(data);
    free(memory);
}

static unsigned descriptors_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

static void close_ends_all_and_leaves_no_descriptor(void **state)
{
    struct side a, b;
    unsigned char *data = calloc(1, 4 << 20), *memory = malloc(4 << 20);
    unsigned before = 0;
    (void)state;
    for (unsigned i = 0; i < 12; i++) {
        struct result results[50], fetching, owed;
        open_pair(&a, &b);
        side_send(&b, 0, data, 4 << 20, &owed, 1);
        TURN_UNTIL(&a, &b, a.notes_count == 1);
        for (unsigned j = 0; j < 50; j++) {
            side_send(&a, 0, data, j % 2 ? 4 << 20 : 4000, &results[j], j);
        }
        if (i % 2) {
            assert_int_equal(
                ops->fetch(a.net, a.notes[0].token, memory, 4 << 20, fresh_op(&fetching, 1)),
                RZ_IN_PROGRESS);
        }
        close_side(&a);
        for (unsigned j = 0; j < 50; j++) {
            assert_int_equal(results[j].calls, 1);
        }
        assert_int_equal(results[49].status, RZ_ERR_CANCELLED);
        if (i % 2) {
            assert_int_equal(fetching.calls, 1);
        }
        close_side(&b);
        assert_int_equal(owed.calls, 1);
        if (i == 1) {
            before = descriptors_open();
        }
    }
    assert_int_equal(descriptors_open(), before);
    free(data);
    free(memory);
}

static void what_send_accepted_leaves_before_close(void **state)
{
    struct side a, b;
    struct result first, results[20];
    (void)state;
    open_pair(&a, &b);
    side_send(&a, 0, "x", 1, &first, 0);
    TURN_UNTIL(&a, &b, b.notes_count == 1);
    unsigned accepted = 0;
    for (unsigned i = 0; i < 20; i++) {
        side_send(&a, 0, "x", 1, &results[i], i + 1);
        accepted += results[i].calls == 1;
    }
    assert_true(accepted > 0);
    close_side(&a);
    TURN_UNTIL(&a, &b, b.notes_count == accepted + 1);
    close_side(&b);
}

#ifndef RZ_TEST_TCP
static void helper_threads_take_no_signals(void **state)
{
    struct side a;
    DIR *folder;
    struct dirent *entry;
    unsigned helpers = 0;
    (void)state;
    open_side(&a);
    folder = opendir("/proc/self/task");
    while ((entry = readdir(folder)) != NULL) {
        char path[300], line[256];
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) {
            continue;
        }
        snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(path, "r");
        while (file && fgets(line, sizeof(line), file)) {
            if (strncmp(line, "SigBlk:", 7) == 0) {
                unsigned long long blocked = strtoull(line + 7, NULL, 16);
                assert_true((blocked & 0x7fffu & ~(1u << 8)) ==
                            (0x7fffu & ~(1u << 8))); /* KILL cannot be */
                helpers++;
            }
        }
        fclose(file);
    }
    closedir(folder);
    assert_true(helpers > 0);
    close_side(&a);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifndef RZ_TEST_TCP
        cmocka_unit_test(environment_is_checked),
#endif
        cmocka_unit_test(ep_addresses_are_refused_in_kind),
        cmocka_unit_test(small_payloads_arrive_whole_and_in_order),
        cmocka_unit_test(large_payloads_are_fetched_whole_or_in_part),
        cmocka_unit_test(a_dropped_payload_ends_its_send),
        cmocka_unit_test(a_sleeping_receiver_gets_all_in_order_later),
        cmocka_unit_test(disconnect_ends_everything_with_its_status),
        cmocka_unit_test(a_fetch_from_a_stranger_waits_for_connect),
        cmocka_unit_test(a_broken_connection_is_told_once),
        cmocka_unit_test(disconnect_inside_a_callback_is_allowed),
        cmocka_unit_test(the_living_meet_again_by_new_ep_addresses),
        cmocka_unit_test(an_armed_sleeper_is_woken_by_news),
        cmocka_unit_test(an_armed_sender_is_woken_by_room),
        cmocka_unit_test(close_ends_all_and_leaves_no_descriptor),
        cmocka_unit_test(what_send_accepted_leaves_before_close),
#ifndef RZ_TEST_TCP
        cmocka_unit_test(helper_threads_take_no_signals),
#endif
    };
    internode_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
