/* SPDX-License-Identifier: BSD-3-Clause */
/* A lane serves one owner after the other: what a failed one left is removed, and so is its
 * memory. */
#include "shm_rig.h"

#include "net/shm/shm_layout.h"
#include "port/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The process that stays, in lane STAYS; the temporary ones use lane TEMPORARY. */
enum { TEMPORARY, STAYS, LANES, LARGE = 100 * 1000, OWNERS = 1000 };

static struct rig rig;

/* What has come to the one that stays. */
static struct {
    struct rig_user user;
    struct rz_net *net;
    unsigned n;
    uint64_t last;
    unsigned char first_byte;
    rz_net_token_t token;
} stays;

static struct rig_user temporary;
static struct rz_net *temporary_net;
static unsigned char large[LARGE];

static void on_stays(struct rig_user *user, const void *header, uint32_t header_bytes,
                     const void *data, size_t bytes, rz_net_token_t token)
{
    (void)user, (void)header_bytes;
    memcpy(&stays.last, header, sizeof(stays.last));
    stays.first_byte = data && bytes > 0 ? *(const unsigned char *)data : 0;
    stays.token = token;
    stays.n++;
}

static void on_temporary(struct rig_user *user, const void *header, uint32_t header_bytes,
                         const void *data, size_t bytes, rz_net_token_t token)
{
    (void)user, (void)header, (void)header_bytes, (void)data, (void)bytes;
    if (token) {
        rz_shm_ops.drop(temporary_net, token);
    }
}

static struct rz_identity temporary_identity(void)
{
    return (struct rz_identity){
        .job = 77, .rank = TEMPORARY, .incarnation = rig.incarnation[TEMPORARY]};
}

static void make_inbox(unsigned i)
{
    rig.bell[i] = NULL;
    assert_int_equal(
        rz_memory_create("rhizome-test-inbox", rz_shm_inbox_bytes(LANES), &rig.inbox_fd[i]), RZ_OK);
    rig.event_fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void temporary_comes(void)
{
    make_inbox(TEMPORARY);
    rig.incarnation[TEMPORARY]++;
    temporary = (struct rig_user){.arrived = on_temporary};
    temporary_net = rig_join(&rig, TEMPORARY, &temporary);
    assert_int_equal(rig_connect(&rig, temporary_net, STAYS, 0, (uint32_t)getpid()), RZ_OK);
}

/* It fails: no process writes any more. */
static void temporary_goes(void)
{
    rz_shm_ops.close(temporary_net);
    close(rig.inbox_fd[TEMPORARY]);
    close(rig.event_fd[TEMPORARY]);
}

static void setup(void)
{
    rig = (struct rig){.n = LANES, .copy = RZ_SHM_COPY_RING};
    rig.incarnation[STAYS] = 1;
    make_inbox(STAYS);
    memset(&stays, 0, sizeof(stays));
    stays.user.arrived = on_stays;
    stays.net = rig_join(&rig, STAYS, &stays.user);
}

static void teardown(void)
{
    rz_shm_ops.close(stays.net);
    close(rig.inbox_fd[STAYS]);
    close(rig.event_fd[STAYS]);
}

static rz_status_t send_to(struct rz_net *net, rz_peer_t to, uint64_t number, size_t bytes,
                           struct rig_op *op)
{
    rig_op_init(op, &number, sizeof(number));
    return rz_shm_ops.send(net, to, large, bytes, &op->op);
}

static blkcnt_t inbox_blocks(void)
{
    struct stat stat;
    assert_int_equal(fstat(rig.inbox_fd[STAYS], &stat), 0);
    return stat.st_blocks;
}

/* Each owner fills the whole ring, so that all its pages are backed; every other one is connected
 * by the process that stays. */
static void one_owner(unsigned i)
{
    struct rig_op op, offer, back;
    bool met = i % 2;
    temporary_comes();
    if (met) {
        assert_int_equal(rig_connect(&rig, stays.net, TEMPORARY, i, (uint32_t)getpid()), RZ_OK);
    }
    for (unsigned sent = 0; sent < SHM_RING; sent += SHM_EAGER_MAX) {
        unsigned before = stays.n;
        large[0] = (unsigned char)i;
        assert_int_equal(send_to(temporary_net, 0, i, SHM_EAGER_MAX, &op), RZ_OK);
        rig_progress(stays.net);
        assert_int_equal(stays.n, before + 1);
        assert_int_equal(stays.last, i);
        assert_int_equal(stays.first_byte, (unsigned char)i);
    }
    if (met) {
        assert_int_equal(send_to(stays.net, i, i, 100, &back), RZ_OK);
    }
    assert_int_equal(send_to(temporary_net, 0, i, LARGE, &offer), RZ_IN_PROGRESS);
    rig_progress(stays.net);
    assert_non_null(stays.token);
    temporary_goes();
}

static void memory_does_not_grow_with_the_owners_of_a_lane(void **state)
{
    (void)state;
    setup();
    blkcnt_t empty = inbox_blocks(), full = 0;
    struct rig_op fetched;
    for (unsigned i = 0; i < OWNERS; i++) {
        one_owner(i);
        full = inbox_blocks() > full ? inbox_blocks() : full;
        assert_int_equal(rz_shm_lane_over(stays.net, TEMPORARY, temporary_identity()), RZ_OK);
        assert_true(inbox_blocks() <= empty);
        rig_op_init(&fetched, "", 0);
        assert_int_equal(rz_shm_ops.fetch(stays.net, stays.token, large, LARGE, &fetched.op),
                         RZ_ERR_PROC_FAILED);
    }
    /* Else the test has measured nothing; where the kernel backs no more, rings stay small. */
    assert_true(full * 512 >= empty * 512 + SHM_RING_FIRST);
    assert_true(full * 512 < empty * 512 + (blkcnt_t)(2 * shm_lane_bytes()));
    teardown();
}

/* Its next owner computes, and has not opened the lane yet. */
static void a_lane_with_a_new_owner_keeps_no_receiver_awake(void **state)
{
    (void)state;
    struct rig_op op;
    void *bell;
    setup();
    assert_int_equal(
        rz_memory_map(rig.inbox_fd[STAYS], sizeof(struct rz_doorbell), true, &bell, NULL), RZ_OK);
    rz_doorbell_spare(bell, true);
    temporary_comes();
    assert_int_equal(rig_connect(&rig, stays.net, TEMPORARY, 1, (uint32_t)getpid()), RZ_OK);
    assert_int_equal(send_to(temporary_net, 0, 1, 8, &op), RZ_OK);
    rig_progress(stays.net);
    (void)rz_shm_ops.arm(stays.net); /* takes the bit */
    rig_progress(stays.net);
    assert_true(rz_shm_ops.arm(stays.net));
    temporary_goes();
    assert_int_equal(rz_shm_lane_over(stays.net, TEMPORARY, temporary_identity()), RZ_OK);
    make_inbox(TEMPORARY);
    rig.incarnation[TEMPORARY]++;
    temporary_net = rig_join(&rig, TEMPORARY, &temporary);
    assert_int_equal(rig_connect(&rig, stays.net, TEMPORARY, 2, (uint32_t)getpid()), RZ_OK);
    rig_progress(stays.net);
    assert_true(rz_shm_ops.arm(stays.net));
    temporary_goes();
    rz_memory_unmap(bell, sizeof(struct rz_doorbell));
    teardown();
}

static void what_lies_unread_is_taken_and_pending_operations_end(void **state)
{
    (void)state;
    setup();
    temporary_comes();
    assert_int_equal(rig_connect(&rig, stays.net, TEMPORARY, 5, (uint32_t)getpid()), RZ_OK);
    struct rig_op op, offer, fetched;
    assert_int_equal(send_to(stays.net, 5, 1, LARGE, &offer), RZ_IN_PROGRESS);
    assert_int_equal(send_to(temporary_net, 0, 2, LARGE, &op), RZ_IN_PROGRESS);
    rig_progress(stays.net);
    rig_op_init(&fetched, "", 0);
    assert_int_equal(rz_shm_ops.fetch(stays.net, stays.token, large, LARGE, &fetched.op),
                     RZ_IN_PROGRESS);
    assert_int_equal(send_to(temporary_net, 0, 3, 10, &op), RZ_OK);
    temporary_goes();
    assert_int_equal(rz_shm_lane_over(stays.net, TEMPORARY, temporary_identity()), RZ_OK);
    assert_int_equal(stays.last, 3);
    assert_int_equal(fetched.ended, 1);
    assert_int_equal(fetched.status, RZ_ERR_PROC_FAILED);
    assert_int_equal(offer.ended, 1);
    assert_int_equal(offer.status, RZ_ERR_PROC_FAILED);
    assert_int_equal(send_to(stays.net, 5, 4, 8, &op), RZ_ERR_PROC_FAILED);
    teardown();
}

/* The user has tokens of several former owners, and drops them in any order, or never. */
static void tokens_outlive_the_owners(void **state)
{
    (void)state;
    enum { KEPT = 5 };
    setup();
    rz_net_token_t kept[KEPT];
    struct rig_op op, fetched;
    for (unsigned i = 0; i < KEPT; i++) {
        temporary_comes();
        assert_int_equal(send_to(temporary_net, 0, i, LARGE, &op), RZ_IN_PROGRESS);
        rig_progress(stays.net);
        kept[i] = stays.token;
        temporary_goes();
        assert_int_equal(rz_shm_lane_over(stays.net, TEMPORARY, temporary_identity()), RZ_OK);
    }
    temporary_comes();
    assert_int_equal(rig_connect(&rig, stays.net, TEMPORARY, 9, (uint32_t)getpid()), RZ_OK);
    assert_int_equal(send_to(temporary_net, 0, 77, 10, &op), RZ_OK);
    rig_progress(stays.net);
    assert_int_equal(stays.last, 77);
    rz_shm_ops.drop(stays.net, kept[3]);
    rig_op_init(&fetched, "", 0);
    assert_int_equal(rz_shm_ops.fetch(stays.net, kept[0], large, LARGE, &fetched.op),
                     RZ_ERR_PROC_FAILED);
    rz_shm_ops.drop(stays.net, kept[4]);
    rz_shm_ops.drop(stays.net, kept[1]);
    rz_shm_ops.drop(stays.net, kept[2]);
    temporary_goes();
    teardown();
}

static void a_lane_of_another_owner_is_left_alone(void **state)
{
    (void)state;
    setup();
    temporary_comes();
    assert_int_equal(rig_connect(&rig, stays.net, TEMPORARY, 5, (uint32_t)getpid()), RZ_OK);
    struct rz_identity other = temporary_identity();
    other.incarnation--;
    assert_int_equal(rz_shm_lane_over(stays.net, TEMPORARY, other), RZ_ERR_MALFORMED);
    assert_int_equal(rz_shm_lane_over(stays.net, STAYS, temporary_identity()), RZ_ERR_MALFORMED);
    assert_int_equal(rz_shm_lane_over(stays.net, LANES, temporary_identity()), RZ_ERR_MALFORMED);
    struct rig_op op;
    assert_int_equal(send_to(temporary_net, 0, 3, 10, &op), RZ_OK);
    rig_progress(stays.net);
    assert_int_equal(stays.last, 3);
    temporary_goes();
    teardown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow_with_the_owners_of_a_lane),
        cmocka_unit_test(a_lane_with_a_new_owner_keeps_no_receiver_awake),
        cmocka_unit_test(what_lies_unread_is_taken_and_pending_operations_end),
        cmocka_unit_test(tokens_outlive_the_owners),
        cmocka_unit_test(a_lane_of_another_owner_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
