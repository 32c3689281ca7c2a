/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that writes checkpoint files: what is ordered is done, what is dropped has no answer,
 * and it ends with its writer. */
#include "../../patience.h"
#include "daemon/store/store_writer.h"

#include "ckpt/piece.h"
#include "port/memory.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#define BYTES ((size_t)100000)

static char folder_path[64];
static struct event_base *base;
static struct rz_store_writer *writer;
static struct {
    uint32_t n;
    char kinds[64];
    rz_status_t status, pruned;
    uint64_t hash;
} told;

static int remove_one(const char *name, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info, (void)kind, (void)ftw;
    return remove(name);
}

static void done(void *arg, const struct rz_store_order *order)
{
    (void)arg;
    told.kinds[told.n++] = "WRCX"[order->kind];
    told.status = order->status;
    told.pruned = order->pruned;
    if (order->kind == RZ_STORE_READ && order->status == RZ_OK) {
        told.hash = order->content.hash;
        close(order->content.fd);
    }
}

static int open_writer(void **state)
{
    struct rz_ckpt_words words;
    uint32_t run;
    (void)state;
    memset(&told, 0, sizeof(told));
    snprintf(folder_path, sizeof(folder_path), "/tmp/test-store-writer-XXXXXX");
    assert_non_null(mkdtemp(folder_path));
    base = event_base_new();
    const struct rz_store_writer_config config = {
        .base = base, .folder = {.path = folder_path, .name = "job", .n_ranks = 1}, .done = done};
    assert_int_equal(rz_ckpt_begin_run(&config.folder, &run, &words), RZ_OK);
    assert_int_equal(rz_store_writer_open(&writer, &config), RZ_OK);
    return 0;
}

static int close_writer(void **state)
{
    (void)state;
    if (writer) {
        rz_store_writer_close(writer);
    }
    writer = NULL;
    event_base_free(base);
    nftw(folder_path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

static struct rz_ckpt_generation generation(uint64_t number)
{
    return (struct rz_ckpt_generation){.run = 1, .epoch = 1, .number = number};
}

static void order(enum rz_store_order_kind kind, uint64_t number)
{
    struct rz_store_order what = {.kind = kind, .generation = generation(number), .keep = 2};
    what.before = generation(number - 1);
    assert_true(rz_store_writer_order(writer, &what));
}

/* The memory is given up at once: the writer has its own descriptor. */
static void order_piece(uint64_t number)
{
    struct rz_store_order what = {.kind = RZ_STORE_WRITE, .generation = generation(number)};
    void *at;
    what.content.bytes = BYTES;
    assert_int_equal(rz_memory_create("test", BYTES, &what.content.fd), RZ_OK);
    assert_int_equal(rz_memory_map(what.content.fd, BYTES, true, &at, NULL), RZ_OK);
    memset(at, (int)number, BYTES);
    what.content.hash = rz_piece_hash(at, BYTES);
    rz_memory_unmap(at, BYTES);
    assert_true(rz_store_writer_order(writer, &what));
    close(what.content.fd);
}

static void await(uint32_t n)
{
    for (int turns = 0; told.n < n && turns < TEST_HANG_S; turns++) {
        const struct timeval second = {.tv_sec = 1};
        event_base_loopexit(base, &second);
        event_base_loop(base, EVLOOP_ONCE);
    }
    assert_int_equal(told.n, n);
}

static bool there(const char *name)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/run-1/%s", folder_path, name);
    return access(path, F_OK) == 0;
}

static void what_is_ordered_is_done(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= 3; number++) {
        order_piece(number);
        await((uint32_t)(2 * number - 1));
        assert_int_equal(told.status, RZ_OK);
        order(RZ_STORE_COMMIT, number);
        await((uint32_t)(2 * number));
        assert_int_equal(told.status, RZ_OK);
        assert_int_equal(told.pruned, RZ_OK);
    }
    assert_false(there("generation-1.1"));
    assert_true(there("generation-2.1/committed") && there("generation-3.1/committed"));
    order(RZ_STORE_READ, 3);
    await(7);
    assert_int_equal(told.status, RZ_OK);
    assert_int_not_equal(told.hash, 0);
    order(RZ_STORE_READ, 1);
    await(8);
    assert_int_equal(told.status, RZ_ERR_NOT_FOUND);
    order(RZ_STORE_REMOVE, 3);
    await(9);
    assert_false(there("generation-3.1"));
    assert_string_equal(told.kinds, "WCWCWCRRX");
}

/* A checkpoint is as safe as before when an older one cannot be removed: this is reported
 * separately. */
static void what_cannot_be_removed_spoils_no_commit(void **state)
{
    char path[160];
    (void)state;
    for (uint64_t number = 1; number <= 3; number++) {
        order_piece(number);
        await((uint32_t)(2 * number - 1));
        if (number == 3) { /* a file cannot be removed that is none */
            snprintf(path, sizeof(path), "%s/run-1/generation-1.1/piece-7", folder_path);
            assert_int_equal(mkdir(path, 0777), 0);
        }
        order(RZ_STORE_COMMIT, number);
        await((uint32_t)(2 * number));
        assert_int_equal(told.status, RZ_OK);
        assert_int_equal(told.pruned, number < 3 ? RZ_OK : RZ_ERR_SYSTEM);
    }
    assert_true(there("generation-2.1/committed") && there("generation-3.1/committed"));
    assert_false(there("generation-1.1/committed"));
}

static void what_is_dropped_has_no_answer(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= 20; number++) {
        order_piece(number);
    }
    rz_store_writer_drop(writer);
    order_piece(50);
    await(1);
    assert_int_equal(told.status, RZ_OK);
    assert_true(there("generation-50.1/piece-0"));
}

static void it_ends_with_its_orders(void **state)
{
    (void)state;
    order_piece(1);
    await(1);
    order(RZ_STORE_COMMIT, 1);
    for (uint64_t number = 2; number <= 20; number++) {
        order_piece(number);
    }
    rz_store_writer_close(writer);
    writer = NULL;
    assert_true(there("generation-1.1/committed")); /* a mark is worth the wait */
    assert_int_equal(told.n, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_writer, close_writer)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_ordered_is_done), TEST(what_cannot_be_removed_spoils_no_commit),
        TEST(what_is_dropped_has_no_answer), TEST(it_ends_with_its_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
