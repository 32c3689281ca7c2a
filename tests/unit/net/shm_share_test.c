/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads that both sides copy: the two sides step by step within one process, then a sender and a
 * receiver in a process each, of which one is stopped or fails while both copy. */
#include "../../patience.h"
#include "shm_rig.h"

#include "net/shm/shm_state.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/memory.h"
#include "port/process.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SENDER, RECEIVER, LANES };
enum { PIECE = SHM_SHARE_PIECE, PIECES = 5, BYTES = (PIECES - 1) * PIECE + 1234, GUARD = 64 };

static struct rig rig;

/* A side, and what has come to it. */
static struct side {
    struct rig_user user;
    struct rz_net *net;
    unsigned n;
    uint64_t number; /* of the last payload that came */
    size_t bytes;
    rz_net_token_t token;
} sides[LANES];

static void on_arrived(struct rig_user *user, const void *header, uint32_t header_bytes,
                       const void *data, size_t bytes, rz_net_token_t token)
{
    struct side *side = user->arg;
    (void)header_bytes, (void)data;
    memcpy(&side->number, header, sizeof(side->number));
    side->bytes = bytes;
    side->token = token;
    side->n++;
}

static void side_open(unsigned self)
{
    sides[self] =
        (struct side){.user = {.arrived = on_arrived, .arg = &sides[self], .shares = true}};
    sides[self].net = rig_join(&rig, self, &sides[self].user);
}

static unsigned char pattern(uint64_t number, size_t i)
{
    return (unsigned char)(number * 31 + i * 7 + (i >> 8) * 13 + (i >> 16) * 17);
}

static void fill(unsigned char *data, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = pattern(number, i);
    }
}

static bool is_filled(const unsigned char *data, uint64_t number, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        if (data[i] != pattern(number, i)) {
            return false;
        }
    }
    return true;
}

static bool is_all(const unsigned char *data, unsigned char byte, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != byte) {
            return false;
        }
    }
    return true;
}

/* ---- Step by step ---- */

static unsigned char *data, *to;
static struct rig_op sent;

static size_t length; /* of the payload */

/* Both sides in this process; the sender has offered a payload. */
static void begin(size_t n)
{
    length = n;
    rig_open(&rig, LANES, RZ_SHM_COPY_AUTO);
    side_open(SENDER);
    side_open(RECEIVER);
    for (unsigned i = 0; i < LANES; i++) {
        assert_int_equal(rig_connect(&rig, sides[i].net, 1 - i, 1 - i, (uint32_t)getpid()), RZ_OK);
    }
    data = malloc(length);
    to = calloc(1, length);
    fill(data, 1, length);
    uint64_t number = 1;
    rig_op_init(&sent, &number, sizeof(number));
    sent.op.waits = false;
    assert_int_equal(rz_shm_ops.send(sides[SENDER].net, RECEIVER, data, length, &sent.op),
                     RZ_IN_PROGRESS);
    rig_progress(sides[RECEIVER].net);
    assert_int_equal(sides[RECEIVER].n, 1);
}

/* The receiver begins to copy the payload to `where`. */
static bool share(unsigned char *where)
{
    struct rz_net_token *token = sides[RECEIVER].token;
    token->data = where;
    token->want = length;
    return shm_share_begin((struct shm *)sides[RECEIVER].net, token, 0);
}

static bool take(uint64_t i)
{
    return shm_share_take((struct shm *)sides[RECEIVER].net, sides[RECEIVER].token, i);
}

static bool has_left(void)
{
    return shm_share_left(sides[RECEIVER].token->pair, sides[RECEIVER].token->offer.id);
}

static bool has_failed(void)
{
    return shm_share_failed(sides[RECEIVER].token->pair, sides[RECEIVER].token->offer.id);
}

static void end(void)
{
    shm_share_end(sides[RECEIVER].token->pair);
    if (!sent.ended) {
        rz_shm_ops.drop(sides[RECEIVER].net, sides[RECEIVER].token);
        rig_progress(sides[SENDER].net);
        assert_int_equal(sent.status, RZ_OK);
    }
    for (unsigned i = 0; i < LANES; i++) {
        rz_shm_ops.close(sides[i].net);
    }
    rig_close(&rig);
    free(data);
    free(to);
}

static void the_sender_takes_the_pieces_that_the_receiver_has_not(void **state)
{
    (void)state;
    for (uint64_t taken = 0; taken <= PIECES; taken++) {
        begin(BYTES);
        assert_true(share(to));
        for (uint64_t i = 0; i < taken; i++) {
            assert_true(take(i));
        }
        rig_progress(sides[SENDER].net);
        size_t from = taken < PIECES ? taken * PIECE : BYTES;
        assert_true(is_all(to, 0, from));
        assert_true(is_filled(to, 1, from, BYTES));
        assert_true(taken == PIECES || !take(taken));
        assert_true(has_left());
        assert_false(has_failed());
        end();
    }
}

static void assert_nothing_written(void)
{
    rig_progress(sides[SENDER].net);
    assert_true(is_all(to, 0, BYTES));
    assert_true(has_left());
    assert_false(has_failed());
    assert_true(take(PIECES - 1));
    end();
}

/* The sender may be awaited by others: it helps for a while, and again if there is much to do. */
static void a_sender_that_has_done_enough_is_asked_again(void **state)
{
    (void)state;
    enum { MANY = 64 };
    begin((size_t)MANY * PIECE);
    assert_true(share(to));
    uint64_t high = MANY, taken = 0;
    for (unsigned asked = 0; taken < high; asked++) {
        rig_progress(sides[SENDER].net);
        uint64_t before = high;
        high = atomic_load(&sides[RECEIVER].token->pair->in.page->high);
        assert_true(high < before && before - high < MANY / 2);
        assert_true(is_filled(to, 1, high * PIECE, length));
        assert_true(is_all(to, 0, high * PIECE));
        rig_progress(sides[SENDER].net); /* nothing: it was not asked */
        assert_int_equal(atomic_load(&sides[RECEIVER].token->pair->in.page->high), high);
        for (unsigned i = 0; i < 2 && take(taken); i++) {
            taken++;
        }
        assert_true(asked < MANY);
    }
    assert_true(high > 0 && !has_failed());
    end();
}

static void nothing_is_written_after_the_receiver_has_ended(void **state)
{
    (void)state;
    begin(BYTES);
    assert_true(share(to));
    shm_share_end(sides[RECEIVER].token->pair);
    assert_nothing_written();
}

static void nothing_is_written_of_a_withdrawn_payload(void **state)
{
    (void)state;
    begin(BYTES);
    assert_true(share(to));
    assert_true(rz_shm_ops.withdraw(sides[SENDER].net, RECEIVER, NULL, &sent.op));
    assert_nothing_written();
}

static void nothing_is_written_by_a_sender_that_has_no_time(void **state)
{
    (void)state;
    begin(BYTES);
    sides[SENDER].user.shares = false;
    assert_true(share(to));
    assert_nothing_written();
}

static void a_receiver_may_copy_alone(void **state)
{
    (void)state;
    begin(BYTES);
    sides[RECEIVER].user.shares = false;
    assert_false(share(to));
    sides[RECEIVER].user.shares = true;
    sides[RECEIVER].token->want = SHM_SHARE_MIN - 1;
    assert_false(shm_share_begin((struct shm *)sides[RECEIVER].net, sides[RECEIVER].token, 0));
    assert_nothing_written();
}

/* The other side has a payload to copy, too. */
static void two_receivers_copy_alone(void **state)
{
    (void)state;
    begin(BYTES);
    struct rig_op own;
    uint64_t number = 2;
    rig_op_init(&own, &number, sizeof(number));
    rz_shm_ops.send(sides[RECEIVER].net, SENDER, data, length, &own.op);
    assert_false(share(to));
    rig_progress(sides[SENDER].net);
    rz_shm_ops.drop(sides[SENDER].net, sides[SENDER].token);
    rig_progress(sides[RECEIVER].net);
    assert_int_equal(own.ended, 1);
    assert_true(share(to));
    end();
}

static void a_refused_write_is_reported(void **state)
{
    (void)state;
    begin(BYTES);
    unsigned char *where = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(where != MAP_FAILED);
    assert_true(share(where));
    rig_progress(sides[SENDER].net);
    assert_true(has_left());
    assert_true(has_failed());
    munmap(where, BYTES);
    end();
}

/* ---- Two processes ---- */

enum { LARGEST = 9 * 1024 * 1024, SHIFT_MAX = 5000 };

static size_t bytes_of(uint64_t number)
{
    static const size_t bytes[] = {SHM_SHARE_MIN + SHM_EARLY_MAX,
                                   LARGEST,
                                   LARGEST - 1,
                                   1 << 20,
                                   (1 << 20) + 1,
                                   300 * 1000,
                                   4 * PIECE - 1};
    return bytes[number % (sizeof(bytes) / sizeof(*bytes))];
}

static size_t shift_of(uint64_t number)
{
    return number * 97 % SHIFT_MAX;
}

static _Noreturn void send_for_ever(pid_t receiver, pid_t said)
{
    side_open(SENDER);
    rig_connect(&rig, sides[SENDER].net, RECEIVER, RECEIVER, (uint32_t)said);
    unsigned char *memory = malloc(LARGEST + SHIFT_MAX);
    for (uint64_t number = 1; getppid() == receiver; number++) {
        unsigned char *from = memory + shift_of(number * 5);
        struct rig_op op;
        fill(from, number, bytes_of(number));
        rig_op_init(&op, &number, sizeof(number));
        op.op.waits = number % 3 != 0;
        rz_shm_ops.send(sides[SENDER].net, RECEIVER, from, bytes_of(number), &op.op);
        while (!op.ended && getppid() == receiver) {
            if (!rig_turn(&rig, sides[SENDER].net, SENDER)) {
                _exit(2);
            }
        }
    }
    _exit(1);
}

/* Starts a sender that ends or stops at a kill point, and believes the receiver to be `said`. */
static pid_t start_sender(const char *plan, pid_t said)
{
    rig_open(&rig, LANES, RZ_SHM_COPY_AUTO);
    pid_t receiver = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (rz_process_fail_with_parent(receiver, SIGKILL) != RZ_OK || !rz_kill_arm(plan, SENDER)) {
            _exit(3);
        }
        send_for_ever(receiver, said);
    }
    side_open(RECEIVER);
    assert_int_equal(rig_connect(&rig, sides[RECEIVER].net, SENDER, SENDER, (uint32_t)pid), RZ_OK);
    to = malloc(GUARD + SHIFT_MAX + LARGEST + GUARD);
    return pid;
}

static const struct shm_lane_page *sender_page(void)
{
    return ((struct shm *)sides[RECEIVER].net)->pairs[SENDER]->in.page;
}

static void end_sender(pid_t pid)
{
    kill(pid, SIGKILL);
    kill(pid, SIGCONT);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (sides[RECEIVER].net) {
        rz_shm_ops.disconnect(sides[RECEIVER].net, SENDER, false, RZ_ERR_PROC_FAILED);
        rz_shm_ops.close(sides[RECEIVER].net);
    }
    rig_close(&rig);
    free(to);
}

/* A fetch of the receiver, and where it goes. */
struct fetch {
    struct rig_op op;
    rz_net_token_t token;
    uint64_t number;
    unsigned char *at;
    size_t want;
};

/* Waits for the next payload and fetches it, or the first part of it. Result of the fetch. */
static rz_status_t fetch_next(struct fetch *fetch)
{
    struct side *side = &sides[RECEIVER];
    unsigned before = side->n;
    while (side->n == before) {
        assert_true(rig_turn(&rig, side->net, RECEIVER));
    }
    assert_int_equal(side->bytes, bytes_of(side->number));
    fetch->token = side->token;
    fetch->number = side->number;
    fetch->want = side->number % 4 == 1 ? side->bytes - side->number % 2000 : side->bytes;
    fetch->at = to + GUARD + shift_of(side->number);
    memset(fetch->at - GUARD, 0, GUARD + fetch->want + GUARD);
    rig_op_init(&fetch->op, "", 0);
    return rz_shm_ops.fetch(side->net, side->token, fetch->at, fetch->want, &fetch->op.op);
}

static void assert_fetched(const struct fetch *fetch)
{
    assert_true(is_all(fetch->at - GUARD, 0, GUARD));
    assert_true(is_filled(fetch->at, fetch->number, 0, fetch->want));
    assert_true(is_all(fetch->at + fetch->want, 0, GUARD));
}

static void await_end(struct fetch *fetch)
{
    while (!fetch->op.ended) {
        assert_true(rig_turn(&rig, sides[RECEIVER].net, RECEIVER));
    }
    assert_int_equal(fetch->op.ended, 1);
}

/* Fetches the next payload whole. */
static void receive_next(void)
{
    struct fetch fetch;
    rz_status_t status = fetch_next(&fetch);
    if (status == RZ_IN_PROGRESS) {
        await_end(&fetch);
        status = fetch.op.status;
    }
    assert_int_equal(status, RZ_OK);
    assert_fetched(&fetch);
}

static void payloads_that_both_copy_are_whole(void **state)
{
    (void)state;
    pid_t pid = start_sender("", getpid());
    uint64_t helped = 0;
    rz_time until = rz_clock_now() + TEST_HANG_S * RZ_SECOND;
    for (unsigned helps = 0, n = 0; helps < 20 || n < 100; n++) {
        receive_next();
        helps += atomic_load(&sender_page()->helped) != helped;
        helped = atomic_load(&sender_page()->helped);
        assert_true(rz_clock_now() < until);
    }
    end_sender(pid);
}

static void what_the_sender_may_not_write_the_receiver_copies(void **state)
{
    (void)state;
    pid_t pid = start_sender("", getppid());
    struct shm *shm;
    do {
        receive_next();
        shm = (struct shm *)sides[RECEIVER].net;
    } while (!shm->pairs[SENDER]->help_refused);
    for (unsigned n = 0; n < 10; n++) {
        receive_next();
    }
    assert_int_equal(atomic_load(&shm->pairs[SENDER]->out.page->shared), 0);
    end_sender(pid);
}

/* ---- A side that is stopped, or fails, while both copy ---- */

static pid_t sender; /* the stopped one */

static bool has_stopped(void)
{
    int status;
    return waitpid(sender, &status, WNOHANG | WUNTRACED) == sender && WIFSTOPPED(status);
}

/* Starts a sender, and fetches until it has stopped before it writes a piece of this fetch. */
static void stop_the_sender(struct fetch *fetch)
{
    sender = start_sender("helping:1+stop", getpid());
    for (;;) {
        rz_status_t status = fetch_next(fetch);
        while (status == RZ_IN_PROGRESS && !fetch->op.ended) {
            if (has_stopped()) {
                return;
            }
            rz_shm_ops.progress(sides[RECEIVER].net);
            sched_yield();
        }
        assert_fetched(fetch);
    }
}

static void assert_waits(const struct fetch *fetch)
{
    struct rz_net *net = sides[RECEIVER].net;
    rig_progress(net); /* early bytes may have come */
    assert_int_equal(fetch->op.ended, 0);
    assert_true(rz_shm_shares(net));
    assert_false(rz_shm_ops.quiet(net));
    rz_doorbell_prepare(rig.bell[RECEIVER], RZ_DOORBELL_FUTEX);
    assert_true(rz_shm_ops.arm(net));
    rz_doorbell_awake(rig.bell[RECEIVER]);
}

static void assert_ended(struct fetch *fetch, rz_status_t status)
{
    assert_int_equal(fetch->op.ended, 1);
    assert_int_equal(fetch->op.status, status);
    assert_false(rz_shm_shares(sides[RECEIVER].net));
    assert_true(rz_shm_ops.quiet(sides[RECEIVER].net));
}

static void fail_the_sender(void)
{
    siginfo_t info;
    kill(sender, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)sender, &info, WEXITED | WNOWAIT), 0);
}

static void a_fetch_waits_for_a_stopped_sender(void **state)
{
    (void)state;
    struct fetch fetch;
    stop_the_sender(&fetch);
    assert_waits(&fetch);
    kill(sender, SIGCONT);
    await_end(&fetch);
    assert_ended(&fetch, RZ_OK);
    assert_fetched(&fetch);
    for (unsigned n = 0; n < 10; n++) {
        receive_next();
    }
    end_sender(sender);
}

static void no_memory_is_given_back_while_a_stopped_sender_may_write(void **state)
{
    (void)state;
    enum { WITHDRAW, DISCONNECT, RENEW, WAYS };
    for (unsigned way = 0; way < WAYS; way++) {
        struct fetch fetch;
        stop_the_sender(&fetch);
        struct rz_net *net = sides[RECEIVER].net;
        if (way == WITHDRAW) {
            assert_false(rz_shm_ops.withdraw(net, SENDER, fetch.token, &fetch.op.op));
        } else if (way == DISCONNECT) {
            rz_shm_ops.disconnect(net, SENDER, false, RZ_ERR_ROLLBACK);
        } else {
            rz_shm_ops.renew(net, SENDER, RZ_ERR_ROLLBACK);
        }
        assert_waits(&fetch);
        kill(sender, SIGCONT);
        await_end(&fetch);
        assert_ended(&fetch, way == WITHDRAW ? RZ_OK : RZ_ERR_ROLLBACK);
        end_sender(sender);
    }
}

static void a_fetch_ends_with_the_failure_of_its_sender(void **state)
{
    (void)state;
    enum { DISCONNECT, LANE_OVER, FORGET, WAYS };
    for (unsigned way = 0; way < WAYS; way++) {
        struct fetch fetch;
        stop_the_sender(&fetch);
        struct rz_net *net = sides[RECEIVER].net;
        const struct rz_identity identity = {
            .job = 77, .rank = SENDER, .incarnation = rig.incarnation[SENDER]};
        if (way == FORGET) {
            rz_shm_ops.disconnect(net, SENDER, false, RZ_ERR_ROLLBACK);
            assert_waits(&fetch);
        }
        fail_the_sender();
        assert_waits(&fetch);
        if (way == DISCONNECT) {
            rz_shm_ops.disconnect(net, SENDER, true, RZ_ERR_PROC_FAILED);
        } else if (way == LANE_OVER) {
            assert_int_equal(rz_shm_lane_over(net, SENDER, identity), RZ_OK);
        } else {
            rz_shm_forget(net, identity, RZ_ERR_PROC_FAILED);
        }
        assert_ended(&fetch, RZ_ERR_PROC_FAILED);
        end_sender(sender);
    }
}

static void close_ends_a_fetch_that_waits(void **state)
{
    (void)state;
    struct fetch fetch;
    stop_the_sender(&fetch);
    rz_shm_ops.close(sides[RECEIVER].net);
    sides[RECEIVER].net = NULL;
    assert_int_equal(fetch.op.ended, 1);
    assert_int_equal(fetch.op.status, RZ_ERR_CLOSED);
    end_sender(sender);
}

static _Noreturn void receive_for_ever(pid_t parent)
{
    side_open(RECEIVER);
    rig_connect(&rig, sides[RECEIVER].net, SENDER, SENDER, (uint32_t)parent);
    unsigned char *at = malloc(LARGEST);
    for (unsigned n = 0; getppid() == parent;) {
        if (sides[RECEIVER].n == n) {
            rz_shm_ops.progress(sides[RECEIVER].net);
            continue;
        }
        n++;
        struct rig_op op;
        rig_op_init(&op, "", 0);
        rz_status_t status = rz_shm_ops.fetch(sides[RECEIVER].net, sides[RECEIVER].token, at,
                                              sides[RECEIVER].bytes, &op.op);
        while (status == RZ_IN_PROGRESS && !op.ended) {
            rz_shm_ops.progress(sides[RECEIVER].net);
        }
    }
    _exit(1);
}

/* The receiver fails when it has copied its part, before the sender has written all of its own. */
static void a_sender_survives_the_failure_of_the_receiver(void **state)
{
    (void)state;
    rig_open(&rig, LANES, RZ_SHM_COPY_AUTO);
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (rz_process_fail_with_parent(parent, SIGKILL) != RZ_OK ||
            !rz_kill_arm("helped:1", RECEIVER)) {
            _exit(3);
        }
        receive_for_ever(parent);
    }
    side_open(SENDER);
    struct rz_net *net = sides[SENDER].net;
    assert_int_equal(rig_connect(&rig, net, RECEIVER, RECEIVER, (uint32_t)pid), RZ_OK);
    data = calloc(1, LARGEST);
    bool failed = false;
    while (!failed) {
        uint64_t number = 1;
        rig_op_init(&sent, &number, sizeof(number));
        assert_int_equal(rz_shm_ops.send(net, RECEIVER, data, LARGEST, &sent.op), RZ_IN_PROGRESS);
        while (!sent.ended && !failed) {
            rz_shm_ops.progress(net);
            failed = waitpid(pid, NULL, WNOHANG) == pid;
        }
    }
    rz_shm_ops.disconnect(net, RECEIVER, true, RZ_ERR_PROC_FAILED);
    assert_int_equal(sent.ended, 1);
    assert_int_equal(sent.status, RZ_ERR_PROC_FAILED);
    rz_shm_ops.close(net);
    rig_close(&rig);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sender_takes_the_pieces_that_the_receiver_has_not),
        cmocka_unit_test(a_sender_that_has_done_enough_is_asked_again),
        cmocka_unit_test(nothing_is_written_after_the_receiver_has_ended),
        cmocka_unit_test(nothing_is_written_of_a_withdrawn_payload),
        cmocka_unit_test(nothing_is_written_by_a_sender_that_has_no_time),
        cmocka_unit_test(a_receiver_may_copy_alone),
        cmocka_unit_test(two_receivers_copy_alone),
        cmocka_unit_test(a_refused_write_is_reported),
        cmocka_unit_test(payloads_that_both_copy_are_whole),
        cmocka_unit_test(what_the_sender_may_not_write_the_receiver_copies),
        cmocka_unit_test(a_fetch_waits_for_a_stopped_sender),
        cmocka_unit_test(no_memory_is_given_back_while_a_stopped_sender_may_write),
        cmocka_unit_test(a_fetch_ends_with_the_failure_of_its_sender),
        cmocka_unit_test(close_ends_a_fetch_that_waits),
        cmocka_unit_test(a_sender_survives_the_failure_of_the_receiver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
