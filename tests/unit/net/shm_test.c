/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared-memory transport within one process: several nets, each with an inbox of its own. */
#include "shm_rig.h"

#include "base/random.h"
#include "net/shm/shm_layout.h"
#include "port/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES = 3, LARGE = 300 * 1000, MESSAGES_MAX = 4096 };

struct message {
    uint64_t number;
    size_t bytes;
};

/* A member and what has come to it. */
struct member {
    struct rig_user user;
    struct rz_net *net;
    unsigned n;
    struct message got[MESSAGES_MAX];
    bool wrong;
    rz_net_token_t token[MESSAGES_MAX]; /* of got[i], or NULL */
};

static struct rig rig;
static struct member members[NODES];

static unsigned char pattern(uint64_t number, size_t at)
{
    return (unsigned char)(rz_mix(number, at / 8) >> at % 8 * 8);
}

static unsigned char *payload(uint64_t number, size_t bytes)
{
    unsigned char *data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        data[i] = pattern(number, i);
    }
    return data;
}

static bool is_payload(uint64_t number, const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != pattern(number, i)) {
            return false;
        }
    }
    return true;
}

static void on_arrived(struct rig_user *user, const void *header, uint32_t header_bytes,
                       const void *data, size_t bytes, rz_net_token_t token)
{
    struct member *member = user->arg;
    assert_true(member->n < MESSAGES_MAX);
    struct message message = {0};
    member->wrong |= header_bytes != sizeof(message.number);
    memcpy(&message.number, header, sizeof(message.number));
    message.bytes = bytes;
    if (!token) {
        member->wrong |= !is_payload(message.number, data, bytes);
    }
    member->token[member->n] = token;
    member->got[member->n++] = message;
}

static void setup(enum rz_shm_copy copy)
{
    rig_open(&rig, NODES, copy);
    memset(members, 0, sizeof(members));
    for (unsigned i = 0; i < NODES; i++) {
        members[i].user = (struct rig_user){.arrived = on_arrived, .arg = &members[i]};
        members[i].net = rig_join(&rig, i, &members[i].user);
    }
}

static void teardown(void)
{
    for (unsigned i = 0; i < NODES; i++) {
        assert_false(members[i].wrong);
        rz_shm_ops.close(members[i].net);
    }
    rig_close(&rig);
}

/* Peer numbers are the members' numbers, plus `base` after a roll-back. */
static void join(unsigned a, unsigned b, rz_peer_t base)
{
    assert_int_equal(rig_connect(&rig, members[a].net, b, base + b, (uint32_t)getpid()), RZ_OK);
}

static void join_both(unsigned a, unsigned b)
{
    join(a, b, 0);
    join(b, a, 0);
}

static unsigned progress(unsigned i)
{
    return rig_progress(members[i].net);
}

static rz_status_t send_to(unsigned from, rz_peer_t to, uint64_t number, const void *data,
                           size_t bytes, struct rig_op *op)
{
    rig_op_init(op, &number, sizeof(number));
    return rz_shm_ops.send(members[from].net, to, data, bytes, &op->op);
}

static void small_messages_arrive_whole_and_in_order(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join_both(0, 1);
    struct rz_random random = {.state = 1};
    struct rig_op op;
    for (uint64_t number = 0; number < MESSAGES_MAX; number++) {
        size_t bytes =
            number < 2 ? number * SHM_EAGER_MAX : rz_random_below(&random, SHM_EAGER_MAX + 1);
        unsigned char *data = payload(number, bytes);
        assert_int_equal(send_to(0, 1, number, data, bytes, &op), RZ_OK);
        free(data);
        if (number % 4 == 3) {
            progress(1);
        }
    }
    assert_int_equal(members[1].n, MESSAGES_MAX);
    for (uint64_t number = 0; number < MESSAGES_MAX; number++) {
        assert_int_equal(members[1].got[number].number, number);
    }
    teardown();
}

static void a_full_ring_queues_sends_in_order(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join_both(0, 1);
    enum { SENDS = 100 };
    static struct rig_op ops[SENDS];
    unsigned char *data[SENDS];
    unsigned at_once = 0;
    for (unsigned i = 0; i < SENDS; i++) {
        data[i] = payload(i, 5000);
        rz_status_t status = send_to(0, 1, i, data[i], 5000, &ops[i]);
        at_once += status == RZ_OK;
        assert_true(status == RZ_OK || status == RZ_IN_PROGRESS);
        assert_true(status == RZ_IN_PROGRESS || at_once == i + 1);
    }
    assert_in_range(at_once, 4, SENDS - 1);
    for (unsigned turn = 0; members[1].n < SENDS && turn < 1000; turn++) {
        progress(1);
        progress(0);
    }
    assert_int_equal(members[1].n, SENDS);
    for (unsigned i = 0; i < SENDS; i++) {
        assert_int_equal(members[1].got[i].number, i);
        assert_int_equal(ops[i].ended, i >= at_once);
        free(data[i]);
    }
    teardown();
}

/* Without an operation a message leaves at once, or not at all: never before one that waits. */
static void an_injected_message_overtakes_none(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join_both(0, 1);
    enum { ROUNDS = 3000 };
    unsigned injected = 0, queued = 0;
    static struct rig_op ops[ROUNDS];
    static unsigned char *data[ROUNDS];
    struct rz_random random = {.state = 11};
    for (uint64_t i = 0; i < ROUNDS; i++) {
        size_t bytes = rz_random_below(&random, 600);
        data[i] = payload(i, bytes);
        if (rz_shm_ops.inject(members[0].net, 1, &i, sizeof(i), data[i], bytes) == RZ_OK) {
            injected++;
        } else {
            queued += send_to(0, 1, i, data[i], bytes, &ops[i]) == RZ_IN_PROGRESS;
        }
        if (rz_random_below(&random, 60) == 0) {
            progress(rz_random_below(&random, 2));
        }
    }
    for (unsigned turn = 0; members[1].n < ROUNDS && turn < 1000; turn++) {
        progress(0);
        progress(1);
    }
    assert_int_equal(members[1].n, ROUNDS);
    assert_false(members[1].wrong);
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(members[1].got[i].number, i);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        free(data[i]);
    }
    assert_true(injected > 100 && queued > 100);
    static const char large[9000];
    uint64_t number = 0;
    assert_int_not_equal(
        rz_shm_ops.inject(members[0].net, 1, &number, sizeof(number), large, sizeof(large)), RZ_OK);
    assert_int_not_equal(rz_shm_ops.inject(members[0].net, 77, &number, sizeof(number), large, 1),
                         RZ_OK);
    teardown();
}

/* Runs both sides until op has ended. */
static void settle(unsigned a, unsigned b, const struct rig_op *op)
{
    for (unsigned turn = 0; !op->ended && turn < 10000; turn++) {
        progress(a);
        progress(b);
    }
    assert_int_equal(op->ended, 1);
}

static void fetch_large(enum rz_shm_copy copy)
{
    setup(copy);
    join_both(0, 1);
    unsigned char *data = payload(5, LARGE), *to = malloc(LARGE);
    static const size_t wanted[] = {LARGE, LARGE - 1, 1, 0};
    for (unsigned i = 0; i < 4; i++) {
        struct rig_op sent, fetched;
        assert_int_equal(send_to(0, 1, 5, data, LARGE, &sent), RZ_IN_PROGRESS);
        progress(1);
        assert_int_equal(members[1].n, i + 1);
        assert_int_equal(members[1].got[i].bytes, LARGE);
        assert_non_null(members[1].token[i]);
        progress(0);
        assert_int_equal(sent.ended, 0);
        memset(to, 0, LARGE);
        rig_op_init(&fetched, "", 0);
        rz_status_t status =
            rz_shm_ops.fetch(members[1].net, members[1].token[i], to, wanted[i], &fetched.op);
        if (copy == RZ_SHM_COPY_DIRECT) {
            assert_int_equal(status, RZ_OK);
        }
        if (status == RZ_IN_PROGRESS) {
            settle(0, 1, &fetched);
        }
        assert_int_equal(fetched.status, RZ_OK);
        assert_true(is_payload(5, to, wanted[i]));
        assert_true(wanted[i] == LARGE || to[wanted[i]] == 0);
        settle(0, 1, &sent);
        assert_int_equal(sent.status, RZ_OK);
    }
    free(data);
    free(to);
    teardown();
}

static void large_messages_are_fetched_directly(void **state)
{
    (void)state;
    fetch_large(RZ_SHM_COPY_DIRECT);
}

static void large_messages_are_fetched_through_the_ring(void **state)
{
    (void)state;
    fetch_large(RZ_SHM_COPY_RING);
}

/* A fetch that begins as soon as the offer is read: before the early bytes are. */
static struct prompt {
    unsigned char *to;
    size_t wanted;
    struct rig_op op;
    bool early; /* the fetch waited for something */
} prompt;

static void on_arrived_fetch(struct rig_user *user, const void *header, uint32_t header_bytes,
                             const void *data, size_t bytes, rz_net_token_t token)
{
    struct member *member = user->arg;
    on_arrived(user, header, header_bytes, data, bytes, token);
    rig_op_init(&prompt.op, "", 0);
    rz_status_t status =
        rz_shm_ops.fetch(member->net, token, prompt.to, prompt.wanted, &prompt.op.op);
    prompt.early = status == RZ_IN_PROGRESS;
    if (!prompt.early) {
        prompt.op.ended = 1;
        prompt.op.status = status;
    }
}

static void fetch_promptly(size_t bytes, size_t wanted)
{
    struct rig_op sent;
    unsigned char *data = payload(bytes, bytes);
    prompt = (struct prompt){.to = calloc(1, bytes + 1), .wanted = wanted};
    members[1].n = 0;
    assert_int_equal(send_to(0, 1, bytes, data, bytes, &sent), RZ_IN_PROGRESS);
    progress(1);
    assert_int_equal(members[1].n, 1);
    settle(0, 1, &prompt.op);
    assert_int_equal(prompt.op.status, RZ_OK);
    assert_true(is_payload(bytes, prompt.to, wanted));
    assert_int_equal(prompt.to[wanted], 0);
    settle(0, 1, &sent);
    assert_int_equal(sent.status, RZ_OK);
    free(prompt.to);
    free(data);
}

static void early_bytes_and_the_rest_come_together(void **state)
{
    static const size_t sizes[] = {SHM_EAGER_MAX + 1, 2 * SHM_PIECE_MAX, SHM_EARLY_MAX - 1,
                                   SHM_EARLY_MAX,     SHM_EARLY_MAX + 1, 2 * LARGE};
    (void)state;
    for (unsigned copy = RZ_SHM_COPY_AUTO; copy <= RZ_SHM_COPY_RING; copy++) {
        setup(copy);
        join_both(0, 1);
        members[1].user.arrived = on_arrived_fetch;
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            for (size_t less = 0; less < sizes[i]; less = 3 * less + 1) {
                fetch_promptly(sizes[i], sizes[i] - less);
                assert_true(prompt.early);
            }
        }
        teardown();
    }
}

static void a_payload_of_another_process_is_never_taken_for_the_senders(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join(0, 1, 0);
    /* Another process stands at the pid that the endpoint address names, as after a failure and a
     * new start. */
    assert_int_equal(rig_connect(&rig, members[1].net, 0, 0, (uint32_t)getppid()), RZ_OK);
    unsigned char *data = payload(5, LARGE), *to = malloc(LARGE);
    struct rig_op sent, fetched;
    send_to(0, 1, 5, data, LARGE, &sent);
    progress(1);
    rig_op_init(&fetched, "", 0);
    assert_int_equal(rz_shm_ops.fetch(members[1].net, members[1].token[0], to, LARGE, &fetched.op),
                     RZ_IN_PROGRESS);
    settle(0, 1, &fetched);
    assert_true(is_payload(5, to, LARGE));
    settle(0, 1, &sent);
    free(data);
    free(to);
    teardown();
}

static void dropped_payloads_end_their_sends(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join_both(0, 1);
    enum { SENDS = 3 * SHM_SLOTS }; /* more than there are slots */
    static struct rig_op ops[SENDS];
    unsigned char *data = payload(9, LARGE);
    for (unsigned i = 0; i < SENDS; i++) {
        assert_int_equal(send_to(0, 1, i, data, LARGE, &ops[i]), RZ_IN_PROGRESS);
    }
    unsigned dropped = 0;
    for (unsigned turn = 0; turn < 1000 && dropped < SENDS; turn++) {
        progress(1);
        progress(0);
        for (; dropped < members[1].n; dropped++) {
            rz_shm_ops.drop(members[1].net, members[1].token[dropped]);
        }
    }
    for (unsigned turn = 0; turn < 10; turn++) {
        progress(0);
    }
    for (unsigned i = 0; i < SENDS; i++) {
        assert_int_equal(members[1].got[i].number, i);
        assert_int_equal(ops[i].ended, 1);
        assert_int_equal(ops[i].status, RZ_OK);
    }
    free(data);
    teardown();
}

enum { PENDING = 5 * SHM_SLOTS, PENDING_BYTES = 3 * SHM_EAGER_MAX };

/* Sends more payloads than there are slots, and none is fetched; a message behind them arrives. */
static void send_many(struct rig_op ops[PENDING], const unsigned char *data)
{
    struct rig_op behind;
    unsigned char *last = payload(PENDING, 8);
    unsigned before = members[1].n;
    for (unsigned i = 0; i < PENDING; i++) {
        assert_int_equal(send_to(0, 1, i, data + i, PENDING_BYTES, &ops[i]), RZ_IN_PROGRESS);
    }
    send_to(0, 1, PENDING, last, 8, &behind);
    for (unsigned turn = 0; turn < 100 && members[1].n < before + PENDING + 1; turn++) {
        progress(0);
        progress(1);
    }
    assert_int_equal(members[1].n, before + PENDING + 1);
    for (unsigned i = 0; i <= PENDING; i++) {
        assert_int_equal(members[1].got[before + i].number, i);
    }
    free(last);
}

/* In reverse: each fourth is dropped, each fourth withdrawn by its sender, before or while it is
 * fetched. */
static void fetch_drop_and_withdraw(struct rig_op ops[PENDING], const unsigned char *data)
{
    static struct rig_op fetched[PENDING];
    static unsigned char to[PENDING][PENDING_BYTES];
    for (unsigned i = PENDING; i-- > 0;) {
        bool drops = i % 4 == 1, withdraws = i % 4 == 2, waits = i % 8 == 2;
        if (withdraws && !waits) {
            assert_true(rz_shm_ops.withdraw(members[0].net, 1, NULL, &ops[i].op));
        }
        if (drops || (withdraws && !waits)) {
            rz_shm_ops.drop(members[1].net, members[1].token[i]);
            continue;
        }
        rig_op_init(&fetched[i], "", 0);
        rz_status_t status = rz_shm_ops.fetch(members[1].net, members[1].token[i], to[i],
                                              PENDING_BYTES - i % 3, &fetched[i].op);
        fetched[i].ended += status == RZ_OK;
        if (waits && status == RZ_IN_PROGRESS &&
            rz_shm_ops.withdraw(members[1].net, 0, members[1].token[i], &fetched[i].op)) {
            assert_true(rz_shm_ops.withdraw(members[0].net, 1, NULL, &ops[i].op));
        }
        if (i % 16 == 0) {
            progress(0);
            progress(1);
        }
    }
    for (unsigned turn = 0; turn < 10000 && (fetched[0].ended == 0 || ops[0].ended == 0); turn++) {
        progress(0);
        progress(1);
    }
    for (unsigned i = 0; i < PENDING; i++) {
        bool withdrawn = i % 4 == 2;
        assert_true(ops[i].ended == 1 || (withdrawn && ops[i].ended == 0));
        if (i % 4 == 0 || i % 4 == 3) {
            assert_int_equal(fetched[i].ended, 1);
            assert_memory_equal(to[i], data + i, PENDING_BYTES - i % 3);
        }
    }
}

static void no_number_of_payloads_stops_a_message(void **state)
{
    (void)state;
    static struct rig_op ops[PENDING];
    const enum rz_shm_copy ways[] = {RZ_SHM_COPY_AUTO, RZ_SHM_COPY_RING};
    unsigned char *data = payload(1, PENDING + PENDING_BYTES);
    for (unsigned way = 0; way < 2; way++) {
        setup(ways[way]);
        join_both(0, 1);
        send_many(ops, data);
        fetch_drop_and_withdraw(ops, data);
        members[1].n = 0;
        send_many(ops, data);
        rz_shm_ops.renew(members[0].net, 1, RZ_ERR_ROLLBACK);
        for (unsigned i = 0; i < PENDING; i++) {
            assert_int_equal(ops[i].ended, 1);
            assert_int_equal(ops[i].status, RZ_ERR_ROLLBACK);
        }
        rz_shm_ops.renew(members[1].net, 0, RZ_ERR_ROLLBACK);
        for (unsigned i = 0; i < PENDING; i++) {
            rz_shm_ops.drop(members[1].net, members[1].token[i]);
        }
        members[1].n = 0;
        send_many(ops, data);
        fetch_drop_and_withdraw(ops, data);
        teardown();
    }
    free(data);
}

static void pieces_and_messages_share_the_ring(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_RING);
    join_both(0, 1);
    enum { LARGE_SENDS = 5, SMALL_SENDS = 200 };
    static struct rig_op ops[LARGE_SENDS + SMALL_SENDS], fetched[LARGE_SENDS];
    unsigned char *data[LARGE_SENDS + SMALL_SENDS], *to[LARGE_SENDS];
    for (unsigned i = 0; i < LARGE_SENDS; i++) {
        data[i] = payload(i, LARGE);
        send_to(0, 1, i, data[i], LARGE, &ops[i]);
    }
    progress(1);
    for (unsigned i = 0; i < LARGE_SENDS; i++) {
        to[i] = malloc(LARGE);
        rig_op_init(&fetched[i], "", 0);
        rz_shm_ops.fetch(members[1].net, members[1].token[i], to[i], LARGE, &fetched[i].op);
    }
    for (unsigned i = LARGE_SENDS; i < LARGE_SENDS + SMALL_SENDS; i++) {
        data[i] = payload(i, 3000);
        send_to(0, 1, i, data[i], 3000, &ops[i]);
        progress(0);
    }
    settle(0, 1, &fetched[LARGE_SENDS - 1]);
    for (unsigned turn = 0; turn < 10000 && members[1].n < LARGE_SENDS + SMALL_SENDS; turn++) {
        progress(0);
        progress(1);
    }
    for (unsigned i = 0; i < LARGE_SENDS + SMALL_SENDS; i++) {
        assert_int_equal(members[1].got[i].number, i);
        assert_true(i >= LARGE_SENDS || is_payload(i, to[i], LARGE));
        if (i < LARGE_SENDS) {
            assert_int_equal(fetched[i].ended, 1);
            free(to[i]);
        }
        free(data[i]);
    }
    teardown();
}

static void a_stranger_is_heard_and_announced_once(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join(0, 1, 0); /* one way only */
    unsigned char *data = payload(1, LARGE), *to = malloc(LARGE);
    struct rig_op small, large, fetched;
    assert_int_equal(send_to(0, 1, 0, "", 0, &small), RZ_OK);
    send_to(0, 1, 1, data, LARGE, &large);
    progress(1);
    assert_int_equal(members[1].n, 2);
    assert_int_equal(members[1].user.strangers, 1);
    assert_int_equal(members[1].user.stranger.rank, 0);
    assert_int_equal(members[1].user.stranger.incarnation, 1);
    rig_op_init(&fetched, "", 0);
    assert_int_equal(rz_shm_ops.fetch(members[1].net, members[1].token[1], to, LARGE, &fetched.op),
                     RZ_IN_PROGRESS);
    progress(1);
    assert_int_equal(fetched.ended, 0);
    join(1, 0, 0);
    settle(0, 1, &fetched);
    assert_true(is_payload(1, to, LARGE));
    settle(0, 1, &large);
    assert_int_equal(members[1].user.strangers, 1);
    free(data);
    free(to);
    teardown();
}

static void fetches_from_a_failed_stranger_end(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join(0, 1, 0);
    unsigned char *data = payload(1, LARGE);
    struct rig_op sent, fetched;
    send_to(0, 1, 1, data, LARGE, &sent);
    progress(1);
    rig_op_init(&fetched, "", 0);
    rz_shm_ops.fetch(members[1].net, members[1].token[0], data, LARGE, &fetched.op);
    rz_shm_forget(members[1].net, members[1].user.stranger, RZ_ERR_PROC_FAILED);
    assert_int_equal(fetched.ended, 1);
    assert_int_equal(fetched.status, RZ_ERR_PROC_FAILED);
    send_to(0, 1, 2, data, 8, &fetched);
    progress(1);
    assert_int_equal(members[1].n, 1);
    free(data);
    teardown();
}

static void disconnect_drains_then_ends_everything(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_RING);
    join_both(0, 1);
    unsigned char *data = payload(1, LARGE);
    struct rig_op small, offered, own, asked, unread, late;
    send_to(0, 1, 1, data, LARGE, &offered);
    progress(1);
    rig_op_init(&asked, "", 0);
    rz_net_token_t held;
    rz_shm_ops.fetch(members[1].net, members[1].token[0], data, LARGE, &asked.op);
    send_to(0, 1, 2, data, LARGE, &late);
    progress(1);
    held = members[1].token[1];
    unsigned char *three = payload(3, 100);
    send_to(0, 1, 3, three, 100, &small);   /* complete in the ring, not seen yet */
    send_to(0, 1, 4, data, LARGE, &unread); /* an offer; fetching it after the failure fails */
    send_to(1, 0, 5, data, LARGE, &own);
    rz_shm_ops.disconnect(members[1].net, 0, true, RZ_ERR_PROC_FAILED);
    assert_int_equal(members[1].n, 4);
    assert_int_equal(members[1].got[2].number, 3);
    assert_int_equal(members[1].got[3].number, 4);
    assert_int_equal(asked.ended, 1);
    assert_int_equal(asked.status, RZ_ERR_PROC_FAILED);
    assert_int_equal(own.ended, 1);
    assert_int_equal(own.status, RZ_ERR_PROC_FAILED);
    struct rig_op fetched;
    rig_op_init(&fetched, "", 0);
    assert_int_equal(rz_shm_ops.fetch(members[1].net, held, data, LARGE, &fetched.op),
                     RZ_ERR_PROC_FAILED);
    rz_shm_ops.drop(members[1].net, members[1].token[3]);
    assert_int_equal(send_to(1, 0, 6, data, 8, &small), RZ_ERR_PROC_FAILED);
    assert_int_equal(rig_connect(&rig, members[1].net, 0, 7, 1), RZ_ERR_INVALID);
    send_to(0, 1, 7, three, 100, &small); /* from beyond the grave */
    progress(1);
    assert_int_equal(members[1].n, 4);
    assert_true(rz_shm_ops.quiet(members[1].net));
    free(three);
    free(data);
    teardown();
}

static void a_withdrawn_payload_is_not_delivered(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_DIRECT);
    join_both(0, 1);
    unsigned char *data = payload(1, LARGE);
    struct rig_op sent, fetched;
    send_to(0, 1, 1, data, LARGE, &sent);
    progress(1);
    rz_shm_ops.disconnect(members[0].net, 1, false, RZ_ERR_ROLLBACK);
    assert_int_equal(sent.status, RZ_ERR_ROLLBACK);
    rig_op_init(&fetched, "", 0);
    assert_int_equal(
        rz_shm_ops.fetch(members[1].net, members[1].token[0], data, LARGE, &fetched.op),
        RZ_ERR_CANCELLED);
    free(data);
    teardown();
}

static void after_a_roll_back_the_same_processes_connect_anew(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    join_both(0, 1);
    unsigned char *data = payload(1, LARGE), *eight = payload(2, 8), *to = malloc(LARGE);
    for (rz_peer_t base = 10; base < 100; base += 10) {
        struct rig_op small, old, fresh, fetched;
        unsigned before = members[1].n;
        rz_peer_t now = base == 10 ? 0 : base - 10;
        send_to(0, now + 1, 1, data, LARGE, &old);
        progress(1);
        send_to(0, now + 1, 2, eight, 8, &small); /* in the ring over the roll-back */
        rz_shm_ops.disconnect(members[0].net, now + 1, false, RZ_ERR_ROLLBACK);
        rz_shm_ops.disconnect(members[1].net, now + 0, false, RZ_ERR_ROLLBACK);
        assert_int_equal(old.ended, 1);
        assert_int_equal(members[1].n, before + 1);
        rz_shm_ops.drop(members[1].net, members[1].token[before]);
        join(0, 1, base);
        send_to(0, base + 1, 1, data, LARGE, &fresh);
        if (base % 20) {
            join(1, 0, base);
        }
        progress(1);
        assert_int_equal(members[1].n, before + 3); /* the old one too: its header tells the user */
        if (base % 20 == 0) {
            join(1, 0, base);
        }
        rig_op_init(&fetched, "", 0);
        rz_status_t status =
            rz_shm_ops.fetch(members[1].net, members[1].token[before + 2], to, LARGE, &fetched.op);
        if (status == RZ_IN_PROGRESS) {
            settle(0, 1, &fetched);
        }
        assert_true(is_payload(1, to, LARGE));
        settle(0, 1, &fresh);
        assert_int_equal(old.ended, 1);
    }
    free(data);
    free(eight);
    free(to);
    teardown();
}

/* What a failing or hostile writer may leave in its own lane. */
static void tear(unsigned from, unsigned in, uint64_t seed)
{
    void *at;
    size_t offset = shm_lane_offset(from, rig.n);
    assert_int_equal(rz_memory_map_range(rig.inbox_fd[in], offset, shm_lane_bytes(), true, &at),
                     RZ_OK);
    struct shm_lane_page *page = at;
    struct rz_random random = {.state = seed};
    unsigned char *ring = (unsigned char *)at + shm_page_bytes();
    for (unsigned i = 0; i < SHM_RING; i++) {
        ring[i] = (unsigned char)rz_random_below(&random, i % 64 < 8 ? 6 : 256);
    }
    atomic_store(&page->tail, rz_random_next(&random));
    rz_memory_unmap(at, shm_lane_bytes());
    rz_doorbell_ring_lane(rig.bell[in], from, rig.event_fd[in]);
}

static void on_garbage(struct rig_user *user, const void *header, uint32_t header_bytes,
                       const void *data, size_t bytes, rz_net_token_t token)
{
    /* Whatever is delivered lies within the ring: the sanitizers and the page tables watch. */
    struct member *member = user->arg;
    unsigned char sum = 0;
    for (uint32_t i = 0; i < header_bytes; i++) {
        sum ^= ((const unsigned char *)header)[i];
    }
    for (size_t i = 0; data && i < bytes; i++) {
        sum ^= ((const unsigned char *)data)[i];
    }
    member->got[0].bytes += sum;
    if (token) {
        rz_shm_ops.drop(member->net, token);
    } else {
        member->n++;
    }
}

static void a_torn_ring_spoils_its_own_lane_alone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        setup(RZ_SHM_COPY_AUTO);
        join_both(0, 1);
        join_both(1, 2);
        members[1].user.arrived = on_garbage;
        tear(0, 1, seed);
        for (unsigned turn = 0; turn < 10; turn++) {
            progress(1);
        }
        members[1].user.arrived = on_arrived;
        members[1].n = 0;
        unsigned char *data = payload(3, 1000);
        struct rig_op op;
        assert_int_equal(send_to(2, 1, 3, data, 1000, &op), RZ_OK);
        progress(1);
        assert_int_equal(members[1].n, 1);
        assert_false(members[1].wrong);
        rz_shm_ops.disconnect(members[1].net, 0, true, RZ_ERR_PROC_FAILED);
        free(data);
        teardown();
    }
}

static void put(unsigned from, unsigned to, unsigned cell, uint64_t stamp, const char *text)
{
    rz_shm_ops.cell_put(members[from].net, to, cell, stamp, text, strlen(text) + 1);
}

static const char *see(unsigned by, unsigned from, unsigned cell, uint64_t stamp)
{
    size_t bytes;
    const char *text = rz_shm_ops.cell_see(members[by].net, from, cell, stamp, &bytes);
    assert_true(!text || bytes == strlen(text) + 1);
    return text;
}

/* A cell is seen with its stamp, by the peer alone, and after its writer has failed. */
static void cells_are_seen_by_their_stamp(void **state)
{
    (void)state;
    setup(RZ_SHM_COPY_AUTO);
    put(0, 1, 3, 7, "not connected");
    join_both(0, 1);
    join_both(0, 2);
    assert_null(see(1, 0, 3, 7));
    send_to(0, 1, 1, "", 0, &(struct rig_op){0}); /* the first record opens the lane */
    progress(1);
    put(0, 1, 3, 8, "first");
    put(0, 1, RZ_NET_CELLS - 1, 8, "last cell");
    assert_string_equal(see(1, 0, 3, 8), "first");
    assert_string_equal(see(1, 0, RZ_NET_CELLS - 1, 8), "last cell");
    assert_null(see(1, 0, 3, 9));
    assert_null(see(1, 0, 4, 8));
    assert_null(see(2, 0, 3, 8));
    put(0, 1, 3, 9, "second");
    assert_null(see(1, 0, 3, 8));
    rz_shm_ops.disconnect(members[1].net, 0, true, RZ_ERR_PROC_FAILED);
    assert_string_equal(see(1, 0, 3, 9), "second");
    const struct rz_identity gone = {.job = 77, .rank = 0, .incarnation = rig.incarnation[0]};
    assert_int_equal(rz_shm_lane_over(members[1].net, 0, gone), RZ_OK);
    assert_null(see(1, 0, 3, 9));
    teardown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_messages_arrive_whole_and_in_order),
        cmocka_unit_test(a_full_ring_queues_sends_in_order),
        cmocka_unit_test(an_injected_message_overtakes_none),
        cmocka_unit_test(large_messages_are_fetched_directly),
        cmocka_unit_test(large_messages_are_fetched_through_the_ring),
        cmocka_unit_test(early_bytes_and_the_rest_come_together),
        cmocka_unit_test(a_payload_of_another_process_is_never_taken_for_the_senders),
        cmocka_unit_test(dropped_payloads_end_their_sends),
        cmocka_unit_test(no_number_of_payloads_stops_a_message),
        cmocka_unit_test(pieces_and_messages_share_the_ring),
        cmocka_unit_test(a_stranger_is_heard_and_announced_once),
        cmocka_unit_test(fetches_from_a_failed_stranger_end),
        cmocka_unit_test(disconnect_drains_then_ends_everything),
        cmocka_unit_test(a_withdrawn_payload_is_not_delivered),
        cmocka_unit_test(after_a_roll_back_the_same_processes_connect_anew),
        cmocka_unit_test(a_torn_ring_spoils_its_own_lane_alone),
        cmocka_unit_test(cells_are_seen_by_their_stamp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
