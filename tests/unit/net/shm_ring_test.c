/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings that grow: which do, that no record is lost on the way, and that a full one never blocks
 * for good. */
#include "shm_rig.h"

#include "base/random.h"
#include "net/shm/shm_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The last member sends to all others. */
enum { PEERS = 10, SENDER = PEERS, MEMBERS, GROWING = 8, LONG = 4096, SHORT = 200 };

static struct rig rig;
static struct rig_user users[MEMBERS];
static struct rz_net *nets[MEMBERS];
static uint64_t expected[MEMBERS]; /* the number of the next message */
static unsigned char payload[SHM_EAGER_MAX];

static void on_arrived(struct rig_user *user, const void *header, uint32_t header_bytes,
                       const void *data, size_t bytes, rz_net_token_t token)
{
    uint64_t *next = user->arg, number;
    (void)header_bytes;
    memcpy(&number, header, sizeof(number));
    assert_null(token);
    assert_int_equal(number, *next);
    assert_true(bytes == 0 || memcmp(data, payload, bytes) == 0);
    ++*next;
}

static void setup(void)
{
    rig_open(&rig, MEMBERS, RZ_SHM_COPY_AUTO);
    for (size_t i = 0; i < sizeof(payload); i++) {
        payload[i] = (unsigned char)(i * 7);
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        expected[i] = 0;
        users[i] = (struct rig_user){.arrived = on_arrived, .arg = &expected[i]};
        nets[i] = rig_join(&rig, i, &users[i]);
    }
    for (unsigned i = 0; i < PEERS; i++) {
        assert_int_equal(rig_connect(&rig, nets[SENDER], i, i, (uint32_t)getpid()), RZ_OK);
        assert_int_equal(rig_connect(&rig, nets[i], SENDER, SENDER, (uint32_t)getpid()), RZ_OK);
    }
}

static void teardown(void)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        rz_shm_ops.close(nets[i]);
    }
    rig_close(&rig);
}

static bool inject(unsigned to, uint64_t number, size_t bytes)
{
    return rz_shm_ops.inject(nets[SENDER], to, &number, sizeof(number), payload, bytes) == RZ_OK;
}

/* Messages of that length through several rings, each read at once. */
static void send_rings(unsigned to, size_t bytes)
{
    for (size_t sent = 0; sent < 5 * SHM_RING; sent += bytes) {
        uint64_t number = expected[to];
        assert_true(inject(to, number, bytes));
        rig_progress(nets[to]);
        assert_int_equal(expected[to], number + 1);
    }
}

static size_t backed(unsigned i)
{
    struct stat stat;
    assert_int_equal(fstat(rig.inbox_fd[i], &stat), 0);
    return (size_t)stat.st_blocks * 512;
}

static void long_records_let_the_rings_of_the_first_peers_grow(void **state)
{
    (void)state;
    setup();
    for (unsigned i = 0; i < PEERS; i++) {
        size_t before = backed(i);
        send_rings(i, SHORT);
        assert_int_equal(backed(i), before);
        send_rings(i, LONG);
        /* A kernel that cannot back them leaves all small. */
        assert_true(backed(i) == before ||
                    (i < GROWING && backed(i) == before + SHM_RING - SHM_RING_FIRST));
    }
    teardown();
}

/* Whatever the lengths are, and however far the reader is behind: a writer without space goes on
 * when all is read. */
static void lengths_and_readers_at_random(unsigned to, uint64_t seed)
{
    struct rz_random random = {.state = seed};
    uint64_t number = expected[to];
    for (unsigned round = 0; round < 20000; round++) {
        size_t most = rz_random_below(&random, 4) == 0 ? SHM_EAGER_MAX : SHORT;
        size_t bytes = rz_random_below(&random, most + 1);
        if (!inject(to, number, bytes)) {
            rig_progress(nets[to]);
            assert_int_equal(expected[to], number);
            assert_true(inject(to, number, bytes));
        }
        number++;
        if (rz_random_below(&random, 8) == 0) {
            rz_shm_ops.progress(nets[to]);
        }
    }
    rig_progress(nets[to]);
    assert_int_equal(expected[to], number);
}

static void no_writer_waits_for_good(void **state)
{
    (void)state;
    setup();
    lengths_and_readers_at_random(0, 1);         /* it grows */
    lengths_and_readers_at_random(PEERS - 1, 2); /* it does not */
    teardown();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_records_let_the_rings_of_the_first_peers_grow),
        cmocka_unit_test(no_writer_waits_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
